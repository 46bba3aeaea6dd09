"""Arrays over pairs between kernel calls: as a table, as regions, and from one to the other."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.compiled.arrays import Array, Ints
from weft.storage import arena
from weft.storage.pairs import FEATURE_STRIDE, HASHED, TASK_STRIDE, Pairs, dense, pack
from weft.storage.state import Plan


def arrays_over_pairs(state: Any, plan: Plan) -> dict[str, Array]:
    """The arrays of a state that run over pairs."""
    return {name: getattr(state, name) for name in plan.pair_arrays}


def numbers_per_pair(state: Any, plan: Plan) -> int:
    """How many numbers there are for a pair."""
    return sum(math.prod(array.shape[1:]) for array in arrays_over_pairs(state, plan).values())


def table_layout(plan: Plan, room: tuple[int, int]) -> Pairs:
    """The layout of a table of so many tasks and features."""
    return dense(room[1], 1) if plan.task_major else dense(1, room[0])


def table_slots(pairs: Pairs, task: Ints, feature: Ints) -> Ints:
    """The slots of pairs in a table."""
    found: Ints = task * pairs.layout[TASK_STRIDE] + feature * pairs.layout[FEATURE_STRIDE]
    return found


def table_shape(state: Any, plan: Plan) -> tuple[int, int]:
    """Capacity of a table in tasks and features."""
    stride = int(state.pairs.layout[TASK_STRIDE if plan.task_major else FEATURE_STRIDE])
    total = next(iter(arrays_over_pairs(state, plan).values())).shape[0]
    other = total // stride if stride else 0
    return (other, stride) if plan.task_major else (stride, other)


def as_table(array: Array, shape: tuple[int, int], plan: Plan) -> Array:
    """A flat array over a table of pairs as (task, feature, ...)."""
    if plan.task_major:
        return array.reshape(*shape, *array.shape[1:])
    return array.reshape(shape[1], shape[0], *array.shape[1:]).swapaxes(0, 1)


def grown_table(state: Any, plan: Plan, tasks: int, features: int) -> dict[str, Any]:
    """The parts of a state that change when its table makes room for so many tasks and features; at least doubled."""
    have = table_shape(state, plan)
    if have[0] >= tasks and have[1] >= features:
        return {}
    room = (
        have[0] if have[0] >= tasks else max(tasks, 2 * have[0]),
        have[1] if have[1] >= features else max(features, 2 * have[1]),
    )
    grown: dict[str, Any] = {"pairs": table_layout(plan, room)}
    for name, array in arrays_over_pairs(state, plan).items():
        grown[name] = arena.zeros((room[0] * room[1], *array.shape[1:]), array.dtype)
        as_table(grown[name], room, plan)[: have[0], : have[1]] = as_table(array, have, plan)
    return grown


def regions_to_table(state: Any, plan: Plan, room: tuple[int, int]) -> dict[str, Any]:
    """The parts of a state that change when hashed pairs become a table of so many tasks and features."""
    task, feature, slots = arena.all_slots(state.pairs)
    found = table_layout(plan, room)
    grown: dict[str, Any] = {"pairs": found}
    for name, array in arrays_over_pairs(state, plan).items():
        grown[name] = arena.zeros((room[0] * room[1], *array.shape[1:]), array.dtype)
        grown[name][table_slots(found, task, feature)] = array[slots]
    return grown


def regions_of(tasks: int, keys: Ints, arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Regions that hold these pairs, and their numbers."""
    found, slots = arena.hashed(keys, tasks)
    grown: dict[str, Any] = {"pairs": found}
    for name, array in arrays.items():
        grown[name] = arena.zeros((arena.slots_of(found), *array.shape[1:]), array.dtype)
        grown[name][slots] = array
    return grown


def live_pairs(state: Any, plan: Plan, tasks: int, features: int) -> tuple[Ints, dict[str, Array]]:
    """Keys in ascending order and values of the pairs that hold anything but zeros."""
    arrays = arrays_over_pairs(state, plan)
    if state.pairs.layout[HASHED]:
        keys, slots = arena.sorted_keys(state.pairs)
        arrays = {name: array[slots] for name, array in arrays.items()}
        held = _any_nonzero(arrays, len(keys))
        return keys[held], {name: array[held] for name, array in arrays.items()}
    shape = table_shape(state, plan)
    tables = {name: as_table(array, shape, plan)[:tasks, :features] for name, array in arrays.items()}
    held = np.zeros((min(tasks, shape[0]), min(features, shape[1])), bool)
    for table in tables.values():
        held |= np.any(table != 0, axis=tuple(range(2, table.ndim))) if table.ndim > 2 else table != 0
    at = np.nonzero(held)
    keys = pack(at[0].astype(np.int64), at[1].astype(np.int64))
    return keys, {name: np.ascontiguousarray(table[at]) for name, table in tables.items()}


def _any_nonzero(arrays: Mapping[str, Array], count: int) -> NDArray[np.bool_]:
    held = np.zeros(count, bool)
    for array in arrays.values():
        held |= np.any(array.reshape(count, -1) != 0, axis=1) if count else held
    return held
