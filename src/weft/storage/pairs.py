"""Where the numbers of a (task, feature) pair are stored: the layout, and how a pair is looked up.

Every task has its own weight for every feature it has met. While tasks x features is small the weights fill a table
and the slot of a pair is `task * task_stride + feature * feature_stride`. Above `DENSE_LIMIT` only the pairs that
occurred are kept: each task has a region of its own, which holds the numbers of its pairs in the order of their first
update, and a small hash table with linear probing that finds them, so that what an event needs lies together. Memory
then grows with the pairs seen, whatever the number of tasks. When half of all pairs are present, or come with a batch,
a table is no larger than the regions: it replaces them, until it would have to grow.

Kernels read and write through `weft.storage.own` and do not know which of the two layouts they have; `pair_rows` has
the loops over a row, `arena` makes the regions and moves them. Slots are not saved with a model: regions are laid out
again whenever they grow or are loaded.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled.arrays import Floats, Ints
from weft.compiled.instructions import prefetch
from weft.compiled.jit import PLAIN, compiled, inlined, inlined_only
from weft.storage.batch import Batch, longest_row

DENSE_LIMIT = 1 << 23
"""Most entries (tasks x features, by counts) of a dense table: 64 MiB for learners with one number per pair."""

FULL_LIMIT = 1 << 20
"""Fewest entries of a table that replaces hashed pairs when they are at least half of it: it is no larger than their
regions, and nothing has to be looked up."""

FAR = 1 << 16
"""More weights than this do not stay in the cache: rows are prefetched."""
AHEAD = 4
"""How many examples ahead rows are prefetched; a task's region, which says where its slots are, twice as many."""

TASK_STRIDE, FEATURE_STRIDE, USED, HASHED, END = 0, 1, 2, 3, 4
BASE, SIZE, COUNT, WANTED = 0, 1, 2, 3
_FEATURE_BITS = 32  # a key is task << 32 | feature


Keys = NDArray[np.uint64]


class Pairs(NamedTuple):
    """Where pairs lie.

    `layout` = (task stride, feature stride, pairs used, 1 if hashed, end of the last region). If hashed, row
    `task * task stride` of `table` is the task's region (the stride is 0 if all tasks are pooled in the first): the
    first of its `keys`, their number, a multiple of 8, the pairs it holds, and a number that is zero between calls. A
    key is feature << 32 | n for the n-th pair of its region, n = 1, 2, ..., or 0. There are three slots for four keys:
    the slot of the pair is `first_slot` of the region + n - 1. The first eight keys are always 0: they are the region,
    of size 0, of a task without pairs.
    """

    layout: Ints
    keys: Keys
    table: Ints


if PLAIN:  # NumPy warns where the products below wrap around; only the position of a key depends on its hash

    def _mix(feature: int) -> np.uint64:
        return np.uint64(hash((int(feature),)) & 0xFFFFFFFF)

else:

    @inlined_only
    def _mix(feature: int) -> np.uint64:
        """Spread a feature over 32 bits: two multiplicative hashes (Knuth 1973, section 6.4) with a fold between."""
        h = np.uint64(feature) * np.uint64(0x9E3779B97F4A7C15)
        return ((h ^ (h >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)) >> np.uint64(32)


@inlined
def first_place(feature: int, size: np.uint64) -> np.uint64:
    """Where in a region of `size` keys the search for a feature begins."""
    return (_mix(feature) * size) >> np.uint64(32)


@inlined_only
def place(keys: Keys, base: np.uint64, size: np.uint64, feature: int) -> np.uint64:
    """Where the key of a feature is in a region, or the 0 where it belongs."""
    at, wanted = first_place(feature, size), np.uint64(feature)
    while keys[base + at] != 0 and keys[base + at] >> np.uint64(_FEATURE_BITS) != wanted:
        at += np.uint64(1)
        if at == size:
            at = np.uint64(0)
    return base + at


@inlined
def first_slot(base: int) -> int:
    """The slot of a region's first pair."""
    return base // 4 * 3


@inlined_only
def new_key(feature: int, number: int) -> np.uint64:
    """The key of a region's pair of that number."""
    return (np.uint64(feature) << np.uint64(_FEATURE_BITS)) | np.uint64(number)


@inlined_only
def number_of(key: np.uint64) -> int:
    """Which pair of its region a key belongs to, counted from 1."""
    return np.int64(key & np.uint64((1 << _FEATURE_BITS) - 1))  # type: ignore[return-value]


@compiled
def slot_space(pairs: Pairs, batch: Batch) -> Ints:
    """Scratch space for the slots of a row; only hashed pairs need any."""
    return np.empty(longest_row(batch) if pairs.layout[HASHED] else 0, np.int64)


@inlined
def fits(pairs: Pairs, batch: Batch, lo: int, hi: int) -> bool:
    """Is there room for every pair that the examples lo..hi, one round, could open?"""
    layout, keys, table = pairs
    need = 0
    for i in range(lo, hi):
        begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
        region = batch.task[i] * layout[TASK_STRIDE]
        base, size = np.uint64(table[region, BASE]), np.uint64(table[region, SIZE])
        free = first_slot(table[region, SIZE]) - table[region, COUNT]
        if layout[TASK_STRIDE] != 0:
            need = 0  # tasks of a round are different, and so are their regions
        if need + end - begin <= free:
            need += end - begin
            continue
        for e in range(begin, end):  # some may be there already
            if keys[place(keys, base, size, batch.indices[e])] == 0:
                need += 1
        if need > free:
            return False
    return True


@inlined
def has_room(pairs: Pairs, batch: Batch, lo: int, hi: int, extra: int, features: int) -> bool:
    """The same if every example may open `extra` pairs that are not in its row; a task has at most `features` pairs."""
    layout, _, table = pairs
    for i in range(lo, hi):
        region = batch.task[i] * layout[TASK_STRIDE]
        need = batch.indptr[batch.row[i] + 1] - batch.indptr[batch.row[i]] + extra
        if first_slot(table[region, SIZE]) - table[region, COUNT] < min(need, features - table[region, COUNT]):
            return False
    return True


@inlined
def find_row(
    keys: Keys, table: Ints, weights: Floats, task: int, indices: Ints, begin: int, end: int, slots: Ints
) -> None:
    """The slots of a row's hashed pairs in `slots`, -1 where a pair was never opened; prefetches the weights."""
    base, size, start = np.uint64(table[task, BASE]), np.uint64(table[task, SIZE]), first_slot(table[task, BASE])
    width = weights.strides[0] // 8
    for e in range(end - begin):
        key = keys[place(keys, base, size, indices[begin + e])]
        slot = start + number_of(key) - 1 if key != 0 else -1
        slots[e] = slot
        prefetch(weights, max(slot, 0) * width)


@inlined
def open_row(
    layout: Ints, keys: Keys, table: Ints, task: int, indices: Ints, begin: int, end: int, slots: Ints
) -> None:
    """Open the pairs that `find_row` did not find (slot -1); the caller has checked `fits`."""
    base, size, start = np.uint64(table[task, BASE]), np.uint64(table[task, SIZE]), first_slot(table[task, BASE])
    for e in range(end - begin):
        if slots[e] >= 0:
            continue
        at = place(keys, base, size, indices[begin + e])
        if keys[at] == 0:
            table[task, COUNT] += 1
            layout[USED] += 1
            keys[at] = new_key(indices[begin + e], table[task, COUNT])
        slots[e] = start + number_of(keys[at]) - 1


# --- between kernel calls ----------------------------------------------------------------------------------------


def dense(task_stride: int, feature_stride: int) -> Pairs:
    """A table layout."""
    return Pairs(
        np.array([task_stride, feature_stride, 0, 0, 0], np.int64),
        np.zeros(0, np.uint64),
        np.zeros((1, 4), np.int64),
    )


def pack(tasks: Ints, features: Ints) -> Ints:
    """Keys of pairs."""
    return (tasks << _FEATURE_BITS) | features


def unpack(keys: Ints) -> tuple[Ints, Ints]:
    """Tasks and features of keys."""
    return keys >> _FEATURE_BITS, keys & ((1 << _FEATURE_BITS) - 1)


# --- one row, for looking at -----------------------------------------------------------------------------------------


@compiled
def read_row(pairs: Pairs, weights: Floats, task: int, indices: Ints) -> Floats:
    """The weights of a task for these features; 0 where a pair was never opened."""
    layout, n = pairs.layout, len(indices)
    found = np.zeros(n)
    if layout[HASHED]:
        slots = np.empty(n, np.int64)
        find_row(pairs.keys, pairs.table, weights, task, indices, 0, n, slots)
        for e in range(n):
            if slots[e] >= 0:
                found[e] = weights[slots[e]]
    else:
        for e in range(n):
            found[e] = weights[task * layout[TASK_STRIDE] + indices[e] * layout[FEATURE_STRIDE]]
    return found
