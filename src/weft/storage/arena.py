"""Regions of hashed pairs: how they are made, and how they grow between kernel calls.

Every task has a region of its own (see `pairs`). A region that becomes too small is copied to the end of the
arrays, and leaves a hole. When the end is reached all regions are laid out again, one behind the other, with a quarter
of the total kept free behind the last. Because a region grows by a half at least, and all of them together by a
quarter, a pair is copied a bounded number of times, whether it came in a batch or as a single event.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled.arrays import Ints
from weft.storage.batch import Batch
from weft.storage.pairs import BASE, COUNT, END, SIZE, TASK_STRIDE, USED, Pairs, fits, has_room, unpack
from weft.storage.regions import (
    Need,
    copy_rows,
    horizon,
    insert,
    lay_out,
    read_all,
    relocate,
    shows,
    size_regions,
    too_small,
    transfer,
)

FLOOR = 128
"""A region is made for this many coming pairs at once; for more of them only when it has as many already."""
HORIZON = 1 << 20
"""Room is made for as many coming non-zeros at a time, or for as many as there are pairs."""

LINE = 64
"""Bytes of a cache line."""

_NOWHERE = 8  # keys that stay 0
_ENDLESS = 1 << 60


class Moves(NamedTuple):
    """Pairs after a change: `counts[i]` slots from `sources[i]` on of the old arrays are those from `targets[i]` on.

    The arrays are the old ones as long as `pairs` are.
    """

    pairs: Pairs
    sources: Ints
    targets: Ints
    counts: Ints


def slots_of(pairs: Pairs) -> int:
    """How long an array over pairs is."""
    return len(pairs.keys) // 4 * 3


def zeros(shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
    """Zeros that begin with a cache line, so that rows of 64 bytes are one each (NumPy begins anywhere)."""
    size = math.prod(shape)
    room = np.zeros(size + LINE // 8, kind)  # of 8 bytes each
    first = -room.ctypes.data % LINE // 8
    return room[first : first + size].reshape(shape)


def hashed(keys: Ints, tasks: int, pooled: bool = False) -> tuple[Pairs, Ints]:
    """Regions that hold the pairs `keys` of tasks 0 .. tasks-1, and the slot of each pair."""
    task, feature = unpack(keys)
    table = np.zeros((tasks, 4), np.int64)
    table[:, COUNT] = np.bincount(task, minlength=tasks)
    size_regions(table)
    pairs = _empty(table, not pooled)
    slots = np.empty(len(keys), np.int64)
    insert(pairs, task, feature, slots)
    return pairs, slots


def for_tasks(pairs: Pairs, tasks: int) -> Pairs:
    """The same pairs, with a region for every task."""
    have = len(pairs.table)
    if have >= tasks:
        return pairs
    table = np.zeros((max(tasks, 2 * have), 4), np.int64)
    table[:have] = pairs.table
    return pairs._replace(table=table)


def make_room(pairs: Pairs, batch: Batch, done: int, features: int, extra: int = 0) -> Moves | None:
    """Room for the pairs of the round after `done` rounds of a batch, and of many rounds behind it.

    None if the next round fits as it is. If a task turns out to need more, this is called again. Every example may open
    `extra` pairs that are not in its row.
    """
    lo, hi = int(batch.rounds[done]), int(batch.rounds[done + 1])
    if has_room(pairs, batch, lo, hi, extra, features) if extra else fits(pairs, batch, lo, hi):
        return None
    last = horizon(batch, done, max(HORIZON, int(pairs.layout[USED])))
    regions, sizes = too_small(pairs, batch, lo, last, Need(FLOOR, features, extra))
    # The next round must fit, with more than its share of the rounds to come, and pooled tasks that show one feature.
    most = features if pairs.layout[TASK_STRIDE] else _ENDLESS
    first, least = too_small(pairs, batch, lo, hi, Need(_ENDLESS, most, extra))
    regions, sizes = _larger(regions, sizes, first, least)
    return _move_to_end(pairs, regions, sizes) or _lay_out_again(pairs, regions, sizes)


def sorted_keys(pairs: Pairs) -> tuple[Ints, Ints]:
    """Keys of all pairs, ascending, and their slots."""
    keys, slots = np.empty(pairs.layout[USED], np.int64), np.empty(pairs.layout[USED], np.int64)
    read_all(pairs, keys, slots)
    order = np.argsort(keys, kind="stable")
    return keys[order], slots[order]


def fills(batch: Batch, tasks: int, features: int) -> bool:
    """Does a batch show at least half of all pairs of tasks and features?"""
    rows, table = batch.row, tasks * features
    if 2 * int(np.sum(batch.indptr[rows + 1] - batch.indptr[rows])) < table:
        return False
    return shows(batch, features, (table + 1) // 2, np.zeros(table // 64 + 1, np.uint64))


def all_slots(pairs: Pairs) -> tuple[Ints, Ints, Ints]:
    """Task, feature and slot of all pairs, in any order."""
    keys, slots = np.empty(pairs.layout[USED], np.int64), np.empty(pairs.layout[USED], np.int64)
    read_all(pairs, keys, slots)
    return *unpack(keys), slots


def move_rows(array: NDArray[Any], pairs: Pairs, moves: Moves) -> NDArray[Any]:
    """An array over `pairs` after `moves`: the same one if there is room in it, else a new one."""
    target = array if moves.pairs is pairs else zeros((slots_of(moves.pairs), *array.shape[1:]), array.dtype)
    bits = [a.reshape(len(a), math.prod(a.shape[1:])).view(np.int64) for a in (array, target)]
    copy_rows(bits[0], bits[1], moves.sources, moves.targets, moves.counts)
    return target


# --- changes -------------------------------------------------------------------------------------------------------


def _empty(table: Ints, apart: bool) -> Pairs:
    """Free slots for the regions of a table, one behind the other, with a quarter to spare."""
    end = lay_out(table, _NOWHERE)
    layout = np.array([int(apart), 0, 0, 1, end], np.int64)
    return Pairs(layout, np.zeros((end + end // 4) // 8 * 8, np.uint64), table)


def _first_slots(pairs: Pairs, regions: Any) -> Ints:
    bases: Ints = pairs.table[regions, BASE]
    return bases // 4 * 3


def _larger(regions: Ints, sizes: Ints, others: Ints, least: Ints) -> tuple[Ints, Ints]:
    """Two lists of regions as one, with the larger size of each."""
    found = dict(zip(others.tolist(), least.tolist(), strict=True))
    for at in np.flatnonzero(np.isin(regions, others)).tolist():
        sizes[at] = max(sizes[at], found.pop(int(regions[at])))
    return (
        np.concatenate([regions, np.array(list(found), np.int64)]),
        np.concatenate([sizes, np.array(list(found.values()), np.int64)]),
    )


def _move_to_end(pairs: Pairs, regions: Ints, sizes: Ints) -> Moves | None:
    if pairs.layout[END] + np.sum(sizes) > len(pairs.keys):
        return None
    sources, counts = _first_slots(pairs, regions), pairs.table[regions, COUNT]
    relocate(pairs, regions, sizes)
    return Moves(pairs, sources, _first_slots(pairs, regions), counts)


def _lay_out_again(pairs: Pairs, regions: Ints, sizes: Ints) -> Moves:
    table = pairs.table.copy()
    table[regions, SIZE] = sizes
    fresh = _empty(table, bool(pairs.layout[TASK_STRIDE]))
    fresh.layout[USED] = pairs.layout[USED]
    transfer(pairs, fresh)
    everywhere = slice(None)
    return Moves(fresh, _first_slots(pairs, everywhere), _first_slots(fresh, everywhere), table[:, COUNT].copy())
