"""Arrays over pairs between kernel calls: as a table, as regions, and from one to the other."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from weft.compiled.arrays import Array, Ints
from weft.storage import arena
from weft.storage.listing import Listing, RegionListing, TableListing
from weft.storage.memory import longer, zeros
from weft.storage.pairs import FEATURE_STRIDE, HASHED, ROOM, TASK_STRIDE, Pairs, dense
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
    at_the_end = room[1] == have[1] if plan.task_major else room[0] == have[0]
    for name, array in arrays_over_pairs(state, plan).items():
        if at_the_end:
            grown[name] = longer(array, room[0] * room[1])
        else:
            grown[name] = zeros((room[0] * room[1], *array.shape[1:]), array.dtype)
            as_table(grown[name], room, plan)[: have[0], : have[1]] = as_table(array, have, plan)
    return grown


def regions_to_table(state: Any, plan: Plan, room: tuple[int, int]) -> dict[str, Any]:
    """The parts of a state that change when hashed pairs become a table of so many tasks and features."""
    task, feature, slots = arena.all_slots(state.pairs)
    found = table_layout(plan, room)
    grown: dict[str, Any] = {"pairs": found}
    for name, array in arrays_over_pairs(state, plan).items():
        grown[name] = zeros((room[0] * room[1], *array.shape[1:]), array.dtype)
        grown[name][table_slots(found, task, feature)] = array[slots]
    return grown


def regions_of(tasks: int, pairs: Ints, arrays: Mapping[str, Array], padded: Mapping[str, int] = {}) -> dict[str, Any]:
    """Regions that hold these (task, feature) pairs, and their numbers; `padded`: the last axis where it is longer."""
    found = arena.hashed(pairs, tasks)
    grown: dict[str, Any] = {"pairs": found}
    for name, array in arrays.items():
        shape = (*array.shape[1:-1], padded[name]) if name in padded else array.shape[1:]
        grown[name] = zeros((int(found.layout[ROOM]), *shape), array.dtype)
        rows = grown[name][1 : len(pairs) + 1]  # slots are 1, 2, ... in this order
        (rows[..., : array.shape[-1]] if name in padded else rows)[:] = array
    return grown


def longer_regions(state: Any, plan: Plan, pairs: Pairs) -> dict[str, Any]:
    """The parts of a state that change when its regions become `pairs`, which have more room."""
    room = int(pairs.layout[ROOM])
    arrays = arrays_over_pairs(state, plan)
    return {"pairs": pairs} | {name: longer(array, room) for name, array in arrays.items() if len(array) < room}


def listing(state: Any, plan: Plan, tasks: int, features: int) -> Listing:
    """The pairs that hold anything but zeros, block by block."""
    arrays = arrays_over_pairs(state, plan)
    if state.pairs.layout[HASHED]:
        return RegionListing(state.pairs, arrays)
    shape = table_shape(state, plan)
    return TableListing({name: as_table(array, shape, plan)[:tasks, :features] for name, array in arrays.items()})


def live_pairs(state: Any, plan: Plan, tasks: int, features: int) -> tuple[Ints, dict[str, Array]]:
    """Ascending (task, feature) slots and numbers of the pairs that hold anything but zeros."""
    found = listing(state, plan, tasks, features)
    pairs = joined(found.pairs(), (0, 2), np.int64)
    arrays = arrays_over_pairs(state, plan)
    return pairs, {n: joined(found.numbers(n), (0, *a.shape[1:]), a.dtype) for n, a in arrays.items()}


def joined(blocks: Iterable[Array], shape: tuple[int, ...], kind: Any) -> Array:
    """Blocks as one array; `shape` is that of none."""
    found: Array = np.concatenate([np.zeros(shape, kind), *blocks])
    return found
