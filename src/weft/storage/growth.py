"""How a state grows: room for names before a batch is accepted, and room for the next round between kernel calls.

Capacities depend on counts alone, and at least double when they grow.
"""

from typing import Any

import numpy as np

from weft.storage import arena
from weft.storage import pairs as layouts
from weft.storage.batch import Batch
from weft.storage.memory import longer, zeros
from weft.storage.pair_arrays import (
    grown_table,
    live_pairs,
    longer_regions,
    numbers_per_pair,
    regions_of,
    regions_to_table,
    table_shape,
)
from weft.storage.pairs import HASHED, TASK_STRIDE, USED
from weft.storage.state import COUNTED, NO_LIMIT, Plan, Sizes, State, replaced

LONG = 8
"""A batch is long if it has at least one non-zero for so many pairs."""


def make_room_for_names(state: State, plan: Plan, tasks: int, features: int, one_by_one: bool = False) -> State:
    """The same state with room for so many tasks and features, and for one blank task that unknown names read.

    Names that come `one_by_one`, with single events, leave a table for regions earlier, because these never move.
    """
    limit = min(layouts.ONE_BY_ONE_LIMIT, layouts.DENSE_LIMIT) if one_by_one else layouts.DENSE_LIMIT
    return reserve(state, plan, _name_sizes(tasks, features), limit)


def make_room_for_round(
    state: State, plan: Plan, tasks: int, features: int, batch: Batch, done: int, pooled: bool = False
) -> State:
    """The same state with room for the round after `done` rounds of a batch, and for the pairs of many rounds after it.

    All names of the batch are among the `tasks` and `features`. If all tasks are `pooled` they share one region.
    """
    grown = reserve(state, plan, round_sizes(state, plan, tasks, features, batch, done))
    if not plan.has_pairs or done + 1 >= len(batch.rounds):
        return grown
    return reserve_pairs(grown, plan, tasks, features, batch, done, pooled)


def reserve(state: State, plan: Plan, sizes: Sizes, limit: int | None = None) -> State:
    """The same state with room for `sizes`; the pairs of regions are left to `reserve_pairs`.

    `limit` is the largest table of pairs, DENSE_LIMIT without it.
    """
    grown: dict[str, Any] = pairs_for_names(state, plan, sizes, limit) if plan.has_pairs else {}
    for name, axes in (*plan.axes.items(), *plan.scratch.items()):
        if "pair" in axes:
            continue
        array, wanted = getattr(state, name), plan.memory_axes(name)
        shape = [_length(have, axis, plan, sizes) for have, axis in zip(array.shape, wanted, strict=True)]
        if list(array.shape) != shape:
            if shape[1:] == list(array.shape[1:]):
                grown[name] = longer(array, shape[0])
            else:
                grown[name] = zeros(tuple(shape), array.dtype)
                grown[name][tuple(slice(0, have) for have in array.shape)] = array
    return replaced(state, grown) if grown else state


def room_for_names(state: Any, plan: Plan) -> Sizes:
    """For how many tasks and features, the blank task included, there is room."""
    room = {"task": NO_LIMIT, "feature": NO_LIMIT}
    for name in (*plan.axes, *plan.scratch):
        for have, axis in zip(getattr(state, name).shape, plan.memory_axes(name), strict=True):
            if axis in room and have < plan.most.get(axis, NO_LIMIT):
                room[axis] = min(room[axis], have)
    if plan.has_pairs:
        hashed = state.pairs.layout[HASHED]
        tasks, features = (len(state.pairs.table), NO_LIMIT) if hashed else table_shape(state, plan)
        room = {"task": min(room["task"], tasks), "feature": min(room["feature"], features)}
    return Sizes(**room)


def pairs_for_names(state: Any, plan: Plan, sizes: Sizes, limit: int | None = None) -> dict[str, Any]:
    """The parts of a state that change: a larger table, a region for every task, or regions in place of a table."""
    tasks, features = sizes.task - 1, sizes.feature
    if state.pairs.layout[HASHED]:
        found = arena.for_tasks(state.pairs, sizes.task)
        return {} if found is state.pairs else {"pairs": found}
    most = layouts.DENSE_LIMIT if limit is None else limit
    have, small = table_shape(state, plan), tasks * features * numbers_per_pair(state, plan) <= most
    if plan.always_dense or small or (have[0] >= sizes.task and have[1] >= features):
        return grown_table(state, plan, sizes.task, features)
    return regions_of(sizes.task, *live_pairs(state, plan, *have))  # too large: keep the pairs that hold something


def reserve_pairs(state: State, plan: Plan, tasks: int, features: int, batch: Batch, done: int, pooled: bool) -> State:
    """The same state with room for the hashed pairs that the next rounds of a batch may open.

    They become a table when half of the pairs of `tasks` and features come with a batch, or are present when a long
    batch comes or when their arrays have to be made longer: what that costs is no more than what was learned. Single
    events do not wait for a table.
    """
    named: Any = state
    pairs = named.pairs
    if not pairs.layout[HASHED]:
        return state
    pairs.layout[TASK_STRIDE] = 0 if pooled else 1
    shape = (tasks + 1, _feature_room(state, plan, features))
    entries, used = shape[0] * shape[1], int(pairs.layout[USED])
    large = entries * numbers_per_pair(state, plan) >= layouts.FULL_LIMIT and tasks > 0 and not pooled
    large = large and len(batch.task) > 1
    is_full = 2 * used >= entries
    if large and done == 0 and ((is_full and LONG * len(batch.indices) >= used) or arena.fills(batch, *shape)):
        return replaced(state, regions_to_table(state, plan, shape))
    extra, most = plan.extra_pairs(state, batch, done) if plan.extra_pairs else (0, features)
    found = arena.make_room(pairs, batch, done, most, extra)
    if found is pairs:
        return state
    if large and is_full:
        return replaced(state, regions_to_table(state, plan, shape))
    return replaced(state, longer_regions(state, plan, found))


def round_sizes(state: Any, plan: Plan, tasks: int, features: int, batch: Batch, done: int) -> Sizes:
    """What the next round of a batch may need: room for names, and for all of its rows if rows are kept."""
    sizes = _name_sizes(tasks, features)
    if done + 1 >= len(batch.rounds) or not plan.has_counts:
        return sizes
    rows = batch.row[batch.rounds[done] : batch.rounds[done + 1]]
    nonzeros = int(np.sum(batch.indptr[rows + 1] - batch.indptr[rows]))
    more = dict(zip(COUNTED, (len(rows) + 1, nonzeros + 1, len(rows) + 1), strict=True))
    used = {axis: int(n) for axis, n in zip(COUNTED, state.used, strict=False)}
    return sizes._replace(**{axis: n + more[axis] for axis, n in used.items()})


def _name_sizes(tasks: int, features: int) -> Sizes:
    return Sizes(tasks + 1, max(features, 1))


def _length(have: int, axis: str | int, plan: Plan, sizes: Sizes) -> int:
    """The length of an axis: at least doubled if it has to grow, but not beyond the most that it can need."""
    if isinstance(axis, int):
        return axis
    most = plan.most.get(axis, NO_LIMIT)
    want = min(int(getattr(sizes, axis)), most)
    return have if have >= want else min(max(want, 2 * have), most)


def _feature_room(state: Any, plan: Plan, features: int) -> int:
    """How many features the arrays of a state have room for."""
    rooms = [getattr(state, name).shape[axes.index("feature")] for name, axes in plan.axes.items() if "feature" in axes]
    return max(features, *rooms) if rooms else features
