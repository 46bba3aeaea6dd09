"""One model from the models of all shards, as one machine would have; and the models of shards from one model."""

from collections.abc import Mapping, Sequence

import numpy as np

from weft.cluster.placement import shard_of
from weft.compiled.arrays import Array, Ints
from weft.model import Model
from weft.names import Name, Names
from weft.storage import saving
from weft.storage.state import Plan
from weft.store.model_file import Contents
from weft.vocabulary import Vocabulary


def joined(models: Sequence[Model], orders: Sequence[Sequence[int]]) -> Model:
    """One model with the tasks of all shards, in the order in which they came; all shards have the same version.

    `orders` has a number per task of every shard.
    """
    names = [name for model in models for name in model.vocabulary.tasks]
    order = np.argsort(np.concatenate([np.array(some, np.int64) for some in orders]), kind="stable")
    slots = np.empty(len(order), np.int64)
    slots[order] = np.arange(len(order))
    first, tasks = models[0], [names[at] for at in order.tolist()]
    parts = [_live(model) for model in models]
    arrays = _joined_arrays(first.learner.plan, parts, [len(model.vocabulary.tasks) for model in models], slots, order)
    if first.traits.exchange is not None:
        arrays = _counted(first, arrays, len(tasks))
    tally = np.concatenate([model._tally.live for model in models])[order]
    recent = np.concatenate([model._tally.live_recent for model in models])[order]
    return _model(first, models, tasks, arrays, tally, recent)


def split(model: Model, shards: int) -> tuple[list[Model], list[list[int]]]:
    """A model's tasks as the models of shards, and where each of them came among all; the inverse of `joined`."""
    plan, arrays, names = model.learner.plan, _live(model), list(model.vocabulary.tasks)
    found, orders = [], []
    where = np.array([shard_of(name, shards) for name in names], np.int64)
    for number in range(shards):
        chosen = np.flatnonzero(where == number)
        kept = _cut(plan, arrays, chosen, len(names))
        tasks = [names[at] for at in chosen.tolist()]
        if model.traits.exchange is not None:
            kept = _counted(model, kept, len(tasks))
        found.append(_model(model, [model], tasks, kept, model._tally.live[chosen], model._tally.live_recent[chosen]))
        orders.append((chosen - len(names)).tolist())
    return found, orders


def without_tasks(model: Model) -> Model:
    """What a model's tasks share."""
    none, shape = np.zeros(0, np.int64), len(model.vocabulary.tasks)
    kept = _cut(model.learner.plan, _live(model), none, shape)
    if model.traits.exchange is not None:
        kept = _counted(model, kept, 0)
    return _model(model, [model], [], kept, model._tally.live[:0], model._tally.live_recent[:0])


def _live(model: Model) -> dict[str, Array]:
    tasks, features = model._sizes
    return saving.live(model.state, model.learner.plan, tasks, features)


def _joined_arrays(
    plan: Plan, parts: list[dict[str, Array]], counts: list[int], slots: Ints, order: Ints
) -> dict[str, Array]:
    """Arrays of tasks one after the other in their new order, pairs with their new slots; the rest is the same."""
    found, begins = dict(parts[0]), np.concatenate([[0], np.cumsum(counts)])
    for name, axes in plan.axes.items():
        if "task" in axes and "pair" not in axes:
            axis = axes.index("task")
            found[name] = np.take(np.concatenate([part[name] for part in parts], axis), order, axis)
    if plan.has_pairs:
        pairs = np.concatenate([part["pairs"] for part in parts])
        shard = np.repeat(np.arange(len(parts)), [len(part["pairs"]) for part in parts])
        pairs[:, 0] = slots[pairs[:, 0] + begins[shard]]
        ascending = np.lexsort((pairs[:, 1], pairs[:, 0]))
        found["pairs"] = pairs[ascending]
        for name in plan.pair_arrays:
            found[name] = np.concatenate([part[name] for part in parts])[ascending]
    return found


def _cut(plan: Plan, arrays: Mapping[str, Array], chosen: Ints, tasks: int) -> dict[str, Array]:
    """The arrays with these tasks only."""
    found = dict(arrays)
    for name, axes in plan.axes.items():
        if "task" in axes and "pair" not in axes:
            found[name] = np.take(arrays[name], chosen, axes.index("task"))
    if plan.has_pairs:
        slots = np.full(tasks, -1, np.int64)
        slots[chosen] = np.arange(len(chosen))
        pairs = arrays["pairs"].copy()
        pairs[:, 0] = slots[pairs[:, 0]]
        keep = pairs[:, 0] >= 0
        found["pairs"] = pairs[keep]
        for name in plan.pair_arrays:
            found[name] = arrays[name][keep]
    return found


def _counted(model: Model, arrays: dict[str, Array], tasks: int) -> dict[str, Array]:
    """The arrays of a state that knows of so many tasks."""
    exchange = model.traits.exchange
    assert exchange is not None
    copies = {name: array.copy() for name, array in arrays.items() if hasattr(model.state, name) and name != "pairs"}
    exchange.set_tasks(model.state._replace(**copies), tasks)
    return arrays | copies


def _model(
    like: Model, models: Sequence[Model], tasks: list[Name], arrays: dict[str, Array], tally: Array, recent: Array
) -> Model:
    """A model of these tasks with all that the models have in common."""
    features = like.vocabulary.features
    names = Names(features.later, features.columns)
    vocabulary = Vocabulary(Names(tasks), names, like.vocabulary.fields.copy())
    learner = like.learner
    state = saving.restore(learner.init(tasks), learner.plan, arrays, len(tasks), len(names))
    schema = next((model.schema for model in models if model.schema is not None), None)
    width = next((model._width for model in models if model._width is not None), None)
    made = Model.__new__(Model)
    made._set(Contents(learner, vocabulary, state, tally.copy(), like.label_classes, schema, recent.copy(), width))
    return made
