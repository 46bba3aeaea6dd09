"""A learner's state as a tree of arrays: how it grows, what of it is live, how it comes back from a file.

A learner declares a `Plan`: for each array of its state the axes it runs over. Everything else (growth by doubling,
slicing to what is in use, checking what a file holds) is generic, so that no learner writes a `save` of its own.

Axes: `task` and `feature` follow the vocabulary; `pair` the (task, feature) pairs; `support` and `nonzero` rows that a
learner keeps, and `mover` the tasks that have moved, with their numbers in use counted in the state's array `used`; an
integer is a fixed size.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from weft.compiled.arrays import Ints
from weft.storage import arena
from weft.storage import pairs as index
from weft.storage.batch import Batch
from weft.storage.pairs import HASHED, TASK_STRIDE, USED, Pairs

Array = NDArray[Any]
State = TypeVar("State", bound=tuple[Any, ...])

COUNTED = ("support", "nonzero", "mover")
SUPPORT, NONZERO, MOVER = range(3)
"""Positions in a state's array `used`, which may leave out the last."""

NO_LIMIT = 1 << 62


@dataclass(frozen=True)
class Plan:
    """The shape of a state: `axes` per array, which slots its integers name, and how own parts are laid out."""

    axes: Mapping[str, tuple[str | int, ...]]
    names: Mapping[str, str] = field(default_factory=dict)  # array of slots -> the axis they point into
    task_major: bool = True
    always_dense: bool = False
    counts: Mapping[str, tuple[str | int, ...]] = field(
        default_factory=dict
    )  # whole numbers -> axis or number, the most
    scratch: Mapping[str, tuple[str | int, ...]] = field(default_factory=dict)  # working space: grows, is not saved
    most: Mapping[str, int] = field(default_factory=dict)  # axis -> the most it can need
    padded: Mapping[str, int] = field(default_factory=dict)  # array -> its last axis in memory; zeros are not saved
    check: Callable[[Mapping[str, Array]], None] | None = None  # what else a file's arrays must satisfy


class Sizes(NamedTuple):
    """How much of each axis a batch may need."""

    task: int
    feature: int
    support: int = 0
    nonzero: int = 0
    mover: int = 0


def reserve(state: State, plan: Plan, sizes: Sizes) -> State:
    """The same state with room for `sizes`; capacities depend on counts only and at least double when they grow."""
    grown: dict[str, Any] = {}
    if hasattr(state, "pairs"):
        grown |= _reserve_pairs(state, plan, sizes)
    for name, axes in (*plan.axes.items(), *plan.scratch.items()):
        if "pair" in axes:
            continue
        array = getattr(state, name)
        shape = [_size(have, axis, plan, sizes) for have, axis in zip(array.shape, _widened(plan, name), strict=True)]
        if list(array.shape) != shape:
            grown[name] = arena.zeros(tuple(shape), array.dtype)
            grown[name][tuple(slice(0, have) for have in array.shape)] = array
    return _replaced(state, grown) if grown else state


def _widened(plan: Plan, name: str) -> tuple[str | int, ...]:
    """The axes of an array in memory."""
    axes = plan.axes.get(name) or plan.scratch[name]
    return (*axes[:-1], plan.padded[name]) if name in plan.padded else axes


def _size(have: int, axis: str | int, plan: Plan, sizes: Sizes) -> int:
    """The length of an axis: at least doubled if it has to grow, but not beyond the most that it can need."""
    if isinstance(axis, int):
        return axis
    most = plan.most.get(axis, NO_LIMIT)
    want = min(int(getattr(sizes, axis)), most)
    return have if have >= want else min(max(want, 2 * have), most)


def reserve_pairs(
    state: State, plan: Plan, features: int, batch: Batch, done: int, pooled: bool, tasks: int = 0
) -> State:
    """The same state with room for the hashed pairs that the next rounds of a batch may open.

    They become a table when half of the pairs of `tasks` and features come with a batch, or are there when all have to
    be copied anyway: what that costs is no more than what was learned.
    """
    named: Any = state
    if not hasattr(state, "pairs") or not named.pairs.layout[HASHED] or done + 1 >= len(batch.rounds):
        return state
    named.pairs.layout[TASK_STRIDE] = 0 if pooled else 1
    shape = (tasks + 1, _feature_room(state, plan, features))
    large = shape[0] * shape[1] * _numbers(state, plan) >= index.FULL_LIMIT and tasks > 0 and not pooled
    if large and done == 0 and arena.fills(batch, *shape):
        return _replaced(state, _tabulated(state, plan, shape))
    extra, features = named.further(batch, done) if hasattr(named, "further") else (0, features)
    moves = arena.make_room(named.pairs, batch, done, features, extra)
    if moves is None:
        return state
    if large and moves.pairs is not named.pairs and 2 * int(named.pairs.layout[USED]) >= shape[0] * shape[1]:
        return _replaced(state, _tabulated(state, plan, shape))
    grown = {name: arena.carry(array, named.pairs, moves) for name, array in _pair_arrays(state, plan).items()}
    return state if moves.pairs is named.pairs else _replaced(state, grown | {"pairs": moves.pairs})


def sizes_for(state: Any, tasks: int, features: int, batch: Batch, done: int) -> Sizes:
    """What the next round of a batch may need: one blank task for unknown names, and its rows kept if need be."""
    sizes = Sizes(tasks + 1, max(features, 1))
    if done + 1 >= len(batch.rounds):
        return sizes
    rows = batch.row[batch.rounds[done] : batch.rounds[done + 1]]
    if hasattr(state, "used"):
        nonzeros = int(np.sum(batch.indptr[rows + 1] - batch.indptr[rows]))
        more = dict(zip(COUNTED, (len(rows) + 1, nonzeros + 1, len(rows) + 1), strict=True))
        used = {axis: int(n) for axis, n in zip(COUNTED, state.used, strict=False)}
        sizes = sizes._replace(**{axis: n + more[axis] for axis, n in used.items()})
    return sizes


def live(state: Any, plan: Plan, tasks: int, features: int) -> dict[str, Array]:
    """The part of a state that matters, in an order that depends on nothing but what was learned."""
    out: dict[str, Array] = {}
    if hasattr(state, "pairs"):
        keys, arrays = _live_pairs(state, plan, tasks, features)
        out["pairs"] = np.stack(index.unpack(keys), axis=1)
        out |= {name: _narrow(array, plan, name) for name, array in arrays.items()}
    sizes = _live_sizes(state, tasks, features)
    for name, axes in plan.axes.items():
        if "pair" not in axes:
            array = getattr(state, name)
            out[name] = array[tuple(slice(0, sizes[a] if isinstance(a, str) else a) for a in axes)].copy()
    return out


def _narrow(array: Array, plan: Plan, name: str) -> Array:
    """An array over pairs without padding."""
    return np.ascontiguousarray(array[:, : plan.axes[name][-1]]) if name in plan.padded else array


def _wide(array: Array, plan: Plan, name: str) -> Array:
    """The same with it."""
    if name not in plan.padded:
        return array
    found = np.zeros((*array.shape[:-1], plan.padded[name]), array.dtype)
    found[..., : array.shape[-1]] = array
    return found


def restore(blank: State, plan: Plan, arrays: Mapping[str, Array], tasks: int, features: int) -> State:
    """The state whose live part is `arrays`. Raises ValueError unless every array is what `plan` allows."""
    expected = set(plan.axes) | ({"pairs"} if hasattr(blank, "pairs") else set())
    if set(arrays) != expected:
        raise ValueError(f"the state holds the arrays {sorted(arrays)}, expected {sorted(expected)}")
    found: dict[str, Any] = {}
    sizes = _live_sizes_of(arrays, plan, tasks, features)
    for name, axes in plan.axes.items():
        want = tuple(sizes[a] if isinstance(a, str) else a for a in axes)
        like = getattr(blank, name)
        if arrays[name].dtype != like.dtype or arrays[name].shape != want:
            raise ValueError(
                f"the state's {name} is {arrays[name].dtype} {arrays[name].shape}, expected {like.dtype} {want}"
            )
        if name in plan.names:
            _check_slots(name, arrays[name], sizes[plan.names[name]])
        if name in plan.counts:
            most = np.array([sizes[a] if isinstance(a, str) else a for a in plan.counts[name]])
            if np.any(arrays[name] < 0) or np.any(arrays[name] > most):
                raise ValueError(f"the state's {name} are not numbers from 0 to {most.tolist()}")
        if "pair" not in axes:
            found[name] = np.array(arrays[name], order="C")
    if plan.check is not None:
        plan.check(arrays)
    if "pairs" in arrays:
        found |= _restore_pairs(blank, plan, arrays, tasks, features)
    return reserve(_replaced(blank, found), plan, Sizes(tasks + 1, max(features, 1)))


def _replaced(state: State, arrays: Mapping[str, Any]) -> State:
    named: Any = state  # a NamedTuple, which no type says of tuples in general
    replaced: State = named._replace(**arrays)
    return replaced


# --- sizes in use --------------------------------------------------------------------------------------------------


def _live_sizes(state: Any, tasks: int, features: int) -> dict[str, int]:
    used = {axis: int(n) for axis, n in zip(COUNTED, getattr(state, "used", ()), strict=False)}
    return {"task": tasks, "feature": features} | used


def _live_sizes_of(arrays: Mapping[str, Array], plan: Plan, tasks: int, features: int) -> dict[str, int]:
    sizes = {"task": tasks, "feature": features, "pair": 0}
    if "used" in arrays:
        used = arrays["used"]
        if used.shape != plan.axes["used"] or used.dtype != np.int64 or np.any(used < 0):
            raise ValueError(f"the state's counts of what is kept are not {plan.axes['used'][0]} whole numbers")
        sizes |= {axis: int(n) for axis, n in zip(COUNTED, used, strict=False)}
        for axis, most in plan.most.items():
            if sizes[axis] > most:
                raise ValueError(f"the state's axis {axis} has {sizes[axis]} entries, more than {most}")
    if "pairs" in arrays:
        keys = arrays["pairs"]
        if keys.dtype != np.int64 or keys.ndim != 2 or keys.shape[1] != 2:
            raise ValueError("the state's pairs are not (task, feature) slots")
        _check_slots("pairs", keys[:, 0], tasks)
        _check_slots("pairs", keys[:, 1], features)
        sizes["pair"] = len(keys)
    return sizes


def _check_slots(name: str, slots: Array, size: int) -> None:
    if slots.size and (slots.min() < 0 or slots.max() >= size):
        raise ValueError(f"the state's {name} point outside 0..{size - 1}")


# --- pairs ---------------------------------------------------------------------------------------------------------


def _pair_arrays(state: Any, plan: Plan) -> dict[str, Array]:
    return {name: getattr(state, name) for name, axes in plan.axes.items() if "pair" in axes}


def _reserve_pairs(state: Any, plan: Plan, sizes: Sizes) -> dict[str, Any]:
    is_hashed = bool(state.pairs.layout[HASHED])
    tasks, features = sizes.task - 1, sizes.feature
    if not is_hashed:
        have, small = _dense_shape(state, plan), tasks * features * _numbers(state, plan) <= index.DENSE_LIMIT
        if plan.always_dense or small or (have[0] >= sizes.task and have[1] >= features):
            return _reserve_dense(state, plan, sizes.task, features)
    if is_hashed:
        found = arena.for_tasks(state.pairs, sizes.task)
        return {} if found is state.pairs else {"pairs": found}
    # The table has become too large: keep the pairs that hold something.
    return _hashed(sizes.task, *_live_pairs(state, plan, *_dense_shape(state, plan)))


def _numbers(state: Any, plan: Plan) -> int:
    """How many there are for a pair."""
    return sum(math.prod(array.shape[1:]) for array in _pair_arrays(state, plan).values())


def _feature_room(state: Any, plan: Plan, features: int) -> int:
    """How many features the arrays of a state have room for."""
    rooms = [getattr(state, name).shape[axes.index("feature")] for name, axes in plan.axes.items() if "feature" in axes]
    return max(features, *rooms) if rooms else features


def _tabulated(state: Any, plan: Plan, room: tuple[int, int]) -> dict[str, Any]:
    """Hashed pairs as a table of so many tasks and features."""
    task, feature, slots = arena.places(state.pairs)
    found = index.dense(room[1], 1) if plan.task_major else index.dense(1, room[0])
    target = task * found.layout[TASK_STRIDE] + feature * found.layout[TASK_STRIDE + 1]
    grown: dict[str, Any] = {"pairs": found}
    for name, array in _pair_arrays(state, plan).items():
        grown[name] = arena.zeros((room[0] * room[1], *array.shape[1:]), array.dtype)
        grown[name][target] = array[slots]
    return grown


def _hashed(tasks: int, keys: Ints, arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Regions that hold these pairs, and their numbers."""
    found, slots = arena.hashed(keys, tasks)
    grown: dict[str, Any] = {"pairs": found}
    for name, array in arrays.items():
        grown[name] = arena.zeros((arena.slots_of(found), *array.shape[1:]), array.dtype)
        grown[name][slots] = array
    return grown


def _dense_shape(state: Any, plan: Plan) -> tuple[int, int]:
    """Capacity of a dense table in tasks and features."""
    stride = int(state.pairs.layout[TASK_STRIDE if plan.task_major else TASK_STRIDE + 1])
    total = next(iter(_pair_arrays(state, plan).values())).shape[0]
    other = total // stride if stride else 0
    return (other, stride) if plan.task_major else (stride, other)


def _table(array: Array, shape: tuple[int, int], plan: Plan) -> Array:
    """A flat dense array as (task, feature, ...)."""
    if plan.task_major:
        return array.reshape(*shape, *array.shape[1:])
    return array.reshape(shape[1], shape[0], *array.shape[1:]).swapaxes(0, 1)


def _reserve_dense(state: Any, plan: Plan, tasks: int, features: int) -> dict[str, Any]:
    have = _dense_shape(state, plan)
    if have[0] >= tasks and have[1] >= features:
        return {}
    room = (
        have[0] if have[0] >= tasks else max(tasks, 2 * have[0]),
        have[1] if have[1] >= features else max(features, 2 * have[1]),
    )
    grown: dict[str, Any] = {"pairs": index.dense(room[1], 1) if plan.task_major else index.dense(1, room[0])}
    for name, array in _pair_arrays(state, plan).items():
        grown[name] = arena.zeros((room[0] * room[1], *array.shape[1:]), array.dtype)
        _table(grown[name], room, plan)[: have[0], : have[1]] = _table(array, have, plan)
    return grown


def _live_pairs(state: Any, plan: Plan, tasks: int, features: int) -> tuple[Ints, dict[str, Array]]:
    """Keys in ascending order and values of the pairs that hold anything but zeros."""
    arrays = _pair_arrays(state, plan)
    if state.pairs.layout[HASHED]:
        keys, slots = arena.listing(state.pairs)
        arrays = {name: array[slots] for name, array in arrays.items()}
        held = _any_nonzero(arrays, len(keys))
        return keys[held], {name: array[held] for name, array in arrays.items()}
    shape = _dense_shape(state, plan)
    tables = {name: _table(array, shape, plan)[:tasks, :features] for name, array in arrays.items()}
    held = np.zeros((min(tasks, shape[0]), min(features, shape[1])), bool)
    for table in tables.values():
        held |= np.any(table != 0, axis=tuple(range(2, table.ndim))) if table.ndim > 2 else table != 0
    at = np.nonzero(held)
    keys = index.pack(at[0].astype(np.int64), at[1].astype(np.int64))
    return keys, {name: np.ascontiguousarray(table[at]) for name, table in tables.items()}


def _any_nonzero(arrays: Mapping[str, Array], count: int) -> NDArray[np.bool_]:
    held = np.zeros(count, bool)
    for array in arrays.values():
        held |= np.any(array.reshape(count, -1) != 0, axis=1) if count else held
    return held


def _restore_pairs(blank: Any, plan: Plan, arrays: Mapping[str, Array], tasks: int, features: int) -> dict[str, Any]:
    """Pair arrays of a file, dense or hashed as the counts say."""
    keys = index.pack(arrays["pairs"][:, 0], arrays["pairs"][:, 1])
    if len(np.unique(keys)) != len(keys):
        raise ValueError("the state holds a (task, feature) pair twice")
    grown = _reserve_pairs(blank, plan, Sizes(tasks + 1, max(features, 1)))
    found: Pairs = grown.get("pairs", blank.pairs)
    if found.layout[HASHED]:
        return _hashed(tasks + 1, keys, {name: _wide(arrays[name], plan, name) for name in _pair_arrays(blank, plan)})
    task, feature = index.unpack(keys)
    slots = task * found.layout[TASK_STRIDE] + feature * found.layout[TASK_STRIDE + 1]
    for name in _pair_arrays(blank, plan):
        grown[name][slots] = _wide(arrays[name], plan, name)
    return grown
