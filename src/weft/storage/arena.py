"""Regions of hashed pairs: how they are made, and how they grow between kernel calls.

Every task has a region of its own (see `pairs`). A region that becomes too small is copied to the end of the
arrays, and leaves a hole. When the end is reached all regions are laid out again, one behind the other, with a quarter
of the total kept free behind the last. Because a region grows by a half at least, and all of them together by a quarter,
a pair is copied a bounded number of times, whether it came in a batch or as a single event.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled.arrays import Ints
from weft.compiled.instructions import prefetch
from weft.compiled.jit import compiled, inlined, inlined_only
from weft.storage.batch import Batch
from weft.storage.pairs import (
    BASE,
    COUNT,
    END,
    SIZE,
    TASK_STRIDE,
    USED,
    WANTED,
    Keys,
    Pairs,
    first_slot,
    fits,
    has_room,
    new_key,
    number_of,
    place,
    unpack,
)

FLOOR = 128
"""A region is made for this many coming pairs at once; for more of them only when it has as many already."""
HORIZON = 1 << 20
"""Room is made for as many coming non-zeros at a time, or for as many as there are pairs."""

LINE = 64
"""Bytes of a cache line."""

_NOWHERE = 8  # keys that stay 0
_ENDLESS = 1 << 60


class Need(NamedTuple):
    """What regions are made large enough for, see `_too_small`."""

    floor: int
    features: int  # the most pairs of a region
    extra: int  # pairs that an example may open besides those of its row


class Moves(NamedTuple):
    """Pairs after a change: `counts[i]` slots from `sources[i]` on of the old arrays are those from `targets[i]` on.

    The arrays are the old ones as long as `pairs` are.
    """

    pairs: Pairs
    sources: Ints
    targets: Ints
    counts: Ints


@inlined
def region_size(count: int) -> int:
    """Keys for so many pairs: twice as many, in whole cache lines; three quarters can be used."""
    return (2 * count + 7) // 8 * 8


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
    _size_regions(table)
    pairs = _empty(table, not pooled)
    slots = np.empty(len(keys), np.int64)
    _insert(pairs, task, feature, slots)
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
    last = _horizon(batch, done, max(HORIZON, int(pairs.layout[USED])))
    regions, sizes = _too_small(pairs, batch, lo, last, Need(FLOOR, features, extra))
    # The next round must fit, with more than its share of the rounds to come, and pooled tasks that show one feature.
    most = features if pairs.layout[TASK_STRIDE] else _ENDLESS
    first, least = _too_small(pairs, batch, lo, hi, Need(_ENDLESS, most, extra))
    regions, sizes = _larger(regions, sizes, first, least)
    return _move_to_end(pairs, regions, sizes) or _lay_out_again(pairs, regions, sizes)


def sorted_keys(pairs: Pairs) -> tuple[Ints, Ints]:
    """Keys of all pairs, ascending, and their slots."""
    keys, slots = np.empty(pairs.layout[USED], np.int64), np.empty(pairs.layout[USED], np.int64)
    _read_all(pairs, keys, slots)
    order = np.argsort(keys, kind="stable")
    return keys[order], slots[order]


def fills(batch: Batch, tasks: int, features: int) -> bool:
    """Does a batch show at least half of all pairs of tasks and features?"""
    rows, table = batch.row, tasks * features
    if 2 * int(np.sum(batch.indptr[rows + 1] - batch.indptr[rows])) < table:
        return False
    return _shown(batch, features, (table + 1) // 2, np.zeros(table // 64 + 1, np.uint64))


def all_slots(pairs: Pairs) -> tuple[Ints, Ints, Ints]:
    """Task, feature and slot of all pairs, in any order."""
    keys, slots = np.empty(pairs.layout[USED], np.int64), np.empty(pairs.layout[USED], np.int64)
    _read_all(pairs, keys, slots)
    return *unpack(keys), slots


def move_rows(array: NDArray[Any], pairs: Pairs, moves: Moves) -> NDArray[Any]:
    """An array over `pairs` after `moves`: the same one if there is room in it, else a new one."""
    target = array if moves.pairs is pairs else zeros((slots_of(moves.pairs), *array.shape[1:]), array.dtype)
    bits = [a.reshape(len(a), math.prod(a.shape[1:])).view(np.int64) for a in (array, target)]
    _copy_rows(bits[0], bits[1], moves.sources, moves.targets, moves.counts)
    return target


# --- changes -------------------------------------------------------------------------------------------------------


def _empty(table: Ints, apart: bool) -> Pairs:
    """Free slots for the regions of a table, one behind the other, with a quarter to spare."""
    end = _lay_out(table, _NOWHERE)
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
    _relocate(pairs, regions, sizes)
    return Moves(pairs, sources, _first_slots(pairs, regions), counts)


def _lay_out_again(pairs: Pairs, regions: Ints, sizes: Ints) -> Moves:
    table = pairs.table.copy()
    table[regions, SIZE] = sizes
    fresh = _empty(table, bool(pairs.layout[TASK_STRIDE]))
    fresh.layout[USED] = pairs.layout[USED]
    _transfer(pairs, fresh)
    everywhere = slice(None)
    return Moves(fresh, _first_slots(pairs, everywhere), _first_slots(fresh, everywhere), table[:, COUNT].copy())


# --- kernels -------------------------------------------------------------------------------------------------------


@compiled
def _horizon(batch: Batch, done: int, most: int) -> int:
    """The end of the rounds, from round `done` on, that hold so many non-zeros; of that round at least."""
    need = 0
    for t in range(done, len(batch.rounds) - 1):
        for i in range(batch.rounds[t], batch.rounds[t + 1]):
            need += batch.indptr[batch.row[i] + 1] - batch.indptr[batch.row[i]]
        if need > most:
            return int(batch.rounds[t + 1])
    return int(batch.rounds[len(batch.rounds) - 1])


@compiled
def _shown(batch: Batch, features: int, enough: int, seen: Keys) -> bool:
    """Whether a batch shows so many pairs; `seen` has a bit for each that there can be."""
    for i in range(len(batch.task)):
        first, new = np.uint64(batch.task[i] * features), np.uint64(0)
        for e in range(np.uint64(batch.indptr[batch.row[i]]), np.uint64(batch.indptr[batch.row[i] + 1])):
            at = first + np.uint64(batch.indices[e])
            word, bit = at >> np.uint64(6), at & np.uint64(63)
            had = seen[word]
            seen[word] = had | np.uint64(1) << bit
            new += ~(had >> bit) & np.uint64(1)  # a branch would be guessed wrong too often
        enough -= int(new)
        if enough <= 0:
            return True
    return False


@compiled
def _too_small(pairs: Pairs, batch: Batch, first: int, last: int, need: Need) -> tuple[Ints, Ints]:
    """The regions without room for the examples first..last, and the sizes they should have.

    Pairs that come are counted as new, but no more than there are features. Because they need not be, a region's pairs
    at most double at a time once there are more than `need.floor`.
    """
    floor, features, extra = need
    regions, sizes = np.empty(last - first, np.int64), np.empty(last - first, np.int64)
    layout, _, table = pairs
    touched, found = 0, 0
    for i in range(first, last):
        if i + 8 < last:
            prefetch(table, batch.task[i + 8] * layout[TASK_STRIDE] * table.shape[1])
        region = batch.task[i] * layout[TASK_STRIDE]
        nonzeros = batch.indptr[batch.row[i] + 1] - batch.indptr[batch.row[i]]
        if table[region, WANTED] == 0 and nonzeros + extra > 0:  # every region once
            regions[touched] = region
            table[region, WANTED] = extra
            touched += 1
        table[region, WANTED] += nonzeros
    for k in range(touched):
        region = regions[k]
        count, size = table[region, COUNT], table[region, SIZE]
        pairs_to_come = min(count + table[region, WANTED], features)
        table[region, WANTED] = 0
        if region_size(min(pairs_to_come, max(count + count // 2, floor))) > size:
            wanted = region_size(min(pairs_to_come, max(2 * count, floor)))
            regions[found] = region
            sizes[found] = max(wanted, min((size + size // 2 + 7) // 8 * 8, region_size(features)))
            found += 1
    return regions[:found], sizes[:found]


@compiled
def _size_regions(table: Ints) -> None:
    """Sizes by counts; the counts begin again."""
    for region in range(table.shape[0]):
        table[region, SIZE] = region_size(table[region, COUNT])
        table[region, COUNT] = 0


@compiled
def _lay_out(table: Ints, end: int) -> int:
    """Regions one behind the other; returns the end of the last."""
    for region in range(table.shape[0]):
        table[region, BASE] = end if table[region, SIZE] > 0 else 0
        end += table[region, SIZE]
    return end


@compiled
def _insert(pairs: Pairs, task: Ints, feature: Ints, slots: Ints) -> None:
    layout, keys, table = pairs
    for i in range(task.shape[0]):
        region = task[i]
        table[region, COUNT] += 1
        layout[USED] += 1
        at = place(keys, np.uint64(table[region, BASE]), np.uint64(table[region, SIZE]), feature[i])
        keys[at] = new_key(feature[i], table[region, COUNT])
        slots[i] = first_slot(table[region, BASE]) + table[region, COUNT] - 1


@inlined_only
def _refill(old: Keys, begin: int, end: int, keys: Keys, base: int, size: int) -> None:
    """Put the keys of old[begin:end] into a region."""
    for at in range(begin, end):
        if old[at] != 0:
            feature = np.int64(old[at] >> np.uint64(32))
            keys[place(keys, np.uint64(base), np.uint64(size), feature)] = old[at]  # type: ignore[arg-type]


@compiled
def _relocate(pairs: Pairs, regions: Ints, sizes: Ints) -> None:
    layout, keys, table = pairs
    for k in range(regions.shape[0]):
        region, size = regions[k], sizes[k]
        begin, base = table[region, BASE], layout[END]
        _refill(keys, begin, begin + table[region, SIZE], keys, base, size)
        table[region, BASE], table[region, SIZE] = base, size
        layout[END] = base + size


@compiled
def _transfer(old: Pairs, new: Pairs) -> None:
    for region in range(old.table.shape[0]):
        begin, base = old.table[region, BASE], new.table[region, BASE]
        _refill(old.keys, begin, begin + old.table[region, SIZE], new.keys, base, new.table[region, SIZE])


@compiled
def _copy_rows(source: Ints, target: Ints, sources: Ints, targets: Ints, counts: Ints) -> None:
    for k in range(counts.shape[0]):
        for i in range(counts[k]):
            for c in range(source.shape[1]):
                target[targets[k] + i, c] = source[sources[k] + i, c]


@compiled
def _read_all(pairs: Pairs, keys: Ints, slots: Ints) -> None:
    _, features, table = pairs
    found = 0
    for region in range(table.shape[0]):
        base = table[region, BASE]
        for at in range(base, base + table[region, SIZE]):
            if features[at] != 0:
                keys[found] = (region << 32) | np.int64(features[at] >> np.uint64(32))
                slots[found] = first_slot(base) + number_of(features[at]) - 1
                found += 1
