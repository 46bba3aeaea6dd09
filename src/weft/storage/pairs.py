"""Own parts of many tasks: where the numbers of a (task, feature) pair lie.

Every task has its own weight for every feature it has met. While tasks x features is small the weights fill a table
and the place of a pair is `task * task_stride + feature * feature_stride`. Above `DENSE_LIMIT` only the pairs that
occurred are kept: each task has a region of its own, in which the numbers of its pairs stand in the order of their
first update and a small hash table with linear probing finds them, so that what an event needs lies together. Memory
then grows with the pairs seen, whatever the number of tasks. When half of all pairs are there, or come with a batch, a
table is no larger than the regions: it takes their place, until it would have to grow. Kernels read and write through
the functions below and do not know which of the two they have; `weft.storage.arena` makes the regions and moves them.

The slot of a pair is no part of a model's state: regions are laid out again whenever they grow or are loaded.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled.arrays import Floats, Ints
from weft.compiled.instructions import four_sums, prefetch
from weft.compiled.jit import PLAIN, compiled, inlined, inlined_only
from weft.storage.batch import Batch, longest_row

DENSE_LIMIT = 1 << 23
"""Most entries (tasks x features, by counts) of a dense table: 64 MiB for learners with one number per pair."""

FULL_LIMIT = 1 << 20
"""Fewest entries of a table that hashed pairs become when they are at least half of it: no larger than their regions,
and nothing is searched for."""

FAR = 1 << 16
"""More weights than this do not stay in the cache: rows are asked for ahead of their turn."""
AHEAD = 4
"""How many examples ahead; a task's region, which says where its slots are, twice as many."""

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


if PLAIN:  # NumPy warns where the products below wrap around; only the place of a pair depends on its hash

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
    """Which pair of its region a key stands for, counted from 1."""
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
    """The same if every example may open so many pairs more, that are not in its row; a task has no more than all."""
    layout, _, table = pairs
    for i in range(lo, hi):
        region = batch.task[i] * layout[TASK_STRIDE]
        need = batch.indptr[batch.row[i] + 1] - batch.indptr[batch.row[i]] + extra
        if first_slot(table[region, SIZE]) - table[region, COUNT] < min(need, features - table[region, COUNT]):
            return False
    return True


# The functions below run once per row, a row being (indices, values, begin, end). They take arrays, not the tuples that
# hold them: a kernel that touches a tuple of arrays once per row pays Numba an atomic count for each of them.


@inlined
def find_row(
    keys: Keys, table: Ints, weights: Floats, task: int, indices: Ints, begin: int, end: int, slots: Ints
) -> None:
    """The slots of a row's hashed pairs in `slots`, -1 where a pair was never opened; asks for the weights."""
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
    """Open the pairs that `find_row` did not find (slot -1); the caller asked `fits` before."""
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


# A sum of products waits for each addition before the next; four sums side by side do not. Whatever order a row is
# read in, its products go to the four in turn, and those of the last one to three entries to the first: the same bits
# everywhere.


@inlined
def dot_hashed(weights: Floats, values: Floats, begin: int, end: int, slots: Ints) -> tuple[float, float]:
    """w_task . x and |x|^2 in one pass, for a row whose slots `find_row` has put into `slots`."""
    t0, t1, t2, t3, s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    whole = (end - begin) // 4 * 4
    for e in range(0, whole, 4):
        v0, v1, v2, v3 = values[begin + e], values[begin + e + 1], values[begin + e + 2], values[begin + e + 3]
        s0 += v0 * v0
        s1 += v1 * v1
        s2 += v2 * v2
        s3 += v3 * v3
        if slots[e] >= 0:
            t0 += weights[slots[e]] * v0
        if slots[e + 1] >= 0:
            t1 += weights[slots[e + 1]] * v1
        if slots[e + 2] >= 0:
            t2 += weights[slots[e + 2]] * v2
        if slots[e + 3] >= 0:
            t3 += weights[slots[e + 3]] * v3
    for e in range(whole, end - begin):
        v0 = values[begin + e]
        s0 += v0 * v0
        if slots[e] >= 0:
            t0 += weights[slots[e]] * v0
    return (t0 + t1) + (t2 + t3), (s0 + s1) + (s2 + s3)


@inlined
def dot_table(
    layout: Ints, weights: Floats, task: int, indices: Ints, values: Floats, begin: int, end: int
) -> tuple[float, float]:
    """w_task . x and |x|^2 in one pass."""
    base, stride = np.uint64(task * layout[TASK_STRIDE]), np.uint64(layout[FEATURE_STRIDE])
    t0, t1, t2, t3, s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    first, whole, one = np.uint64(begin), np.uint64(begin + (end - begin) // 4 * 4), np.uint64(1)
    # A run of features, as in dense data: the indices need not be read.
    if end > begin and indices[end - 1] - indices[begin] == end - begin - 1:
        at = base + np.uint64(indices[begin]) * stride
        if stride == one:
            t0, t1, t2, t3, s0, s1, s2, s3 = four_sums(weights, at, values, first, whole)
            at += whole - first
        else:
            for e in range(first, whole, np.uint64(4)):
                v0, v1, v2, v3 = values[e], values[e + one], values[e + np.uint64(2)], values[e + np.uint64(3)]
                s0 += v0 * v0
                s1 += v1 * v1
                s2 += v2 * v2
                s3 += v3 * v3
                t0 += weights[at] * v0
                t1 += weights[at + stride] * v1
                t2 += weights[at + np.uint64(2) * stride] * v2
                t3 += weights[at + np.uint64(3) * stride] * v3
                at += np.uint64(4) * stride
        for e in range(whole, np.uint64(end)):
            v0 = values[e]
            s0 += v0 * v0
            t0 += weights[at] * v0
            at += stride
    else:
        for e in range(first, whole, np.uint64(4)):
            v0, v1, v2, v3 = values[e], values[e + one], values[e + np.uint64(2)], values[e + np.uint64(3)]
            s0 += v0 * v0
            s1 += v1 * v1
            s2 += v2 * v2
            s3 += v3 * v3
            t0 += weights[base + np.uint64(indices[e]) * stride] * v0
            t1 += weights[base + np.uint64(indices[e + one]) * stride] * v1
            t2 += weights[base + np.uint64(indices[e + np.uint64(2)]) * stride] * v2
            t3 += weights[base + np.uint64(indices[e + np.uint64(3)]) * stride] * v3
        for e in range(whole, np.uint64(end)):
            v0 = values[e]
            s0 += v0 * v0
            t0 += weights[base + np.uint64(indices[e]) * stride] * v0
    return (t0 + t1) + (t2 + t3), (s0 + s1) + (s2 + s3)


@inlined_only
def ask_table(layout: Ints, weights: Floats, task: int, indices: Ints, begin: int, end: int) -> None:
    """Ask memory for the weights of a row that will be needed soon."""
    base, stride = task * layout[TASK_STRIDE], layout[FEATURE_STRIDE]
    if stride == 1 and end > begin and indices[end - 1] - indices[begin] == end - begin - 1:  # eight to a cache line
        for e in range(0, end - begin, 8):
            prefetch(weights, base + indices[begin] + e)
    else:
        for e in range(begin, end):
            prefetch(weights, base + indices[e] * stride)


@inlined_only
def ask_hashed(keys: Keys, table: Ints, weights: Floats, task: int, indices: Ints, begin: int, end: int) -> None:
    """Ask memory for what a row will need soon: all of a small region, or the row's keys in a large one."""
    base, size = np.uint64(table[task, BASE]), np.uint64(table[task, SIZE])
    if size <= np.uint64(8 * (end - begin)):  # eight to a cache line
        for at in range(base, base + size, np.uint64(8)):
            prefetch(keys, at)
        start = first_slot(table[task, BASE])
        for slot in range(start, start + table[task, COUNT], 8):
            prefetch(weights, slot)
    else:
        for e in range(begin, end):
            prefetch(keys, base + first_place(indices[e], size))


@inlined
def add_hashed(
    layout: Ints,
    keys: Keys,
    table: Ints,
    weights: Floats,
    task: int,
    indices: Ints,
    values: Floats,
    begin: int,
    end: int,
    scale: float,
    slots: Ints,
) -> None:
    """w_task += scale x, for a row whose slots `find_row` has put into `slots`."""
    open_row(layout, keys, table, task, indices, begin, end, slots)
    for e in range(end - begin):
        weights[slots[e]] += scale * values[begin + e]


@inlined
def add_table(
    layout: Ints, weights: Floats, task: int, indices: Ints, values: Floats, begin: int, end: int, scale: float
) -> None:
    """w_task += scale x."""
    base, stride = np.uint64(task * layout[TASK_STRIDE]), np.uint64(layout[FEATURE_STRIDE])
    if stride == 1 and end > begin and indices[end - 1] - indices[begin] == end - begin - 1:  # several at a time
        base += np.uint64(indices[begin])
        for e in range(np.uint64(0), np.uint64(end - begin)):
            weights[base + e] += scale * values[np.uint64(begin) + e]
    else:
        for e in range(np.uint64(begin), np.uint64(end)):
            weights[base + np.uint64(indices[e]) * stride] += scale * values[e]


@inlined_only
def score_example(
    layout: Ints,
    keys: Keys,
    table: Ints,
    weights: Floats,
    pooled: bool,
    task: Ints,
    row: Ints,
    indptr: Ints,
    indices: Ints,
    values: Floats,
    i: int,
    slots: Ints,
) -> tuple[float, float]:
    """w . x(i) and |x(i)|^2 of one example after the other, asking for a later one on the way; see `move_example`."""
    ahead, is_hashed = i + AHEAD, layout[HASHED] != 0
    if len(weights) > FAR and ahead < len(task):
        begin, end = indptr[row[ahead]], indptr[row[ahead] + 1]
        if is_hashed:
            if ahead + AHEAD < len(task):
                prefetch(table, (0 if pooled else task[ahead + AHEAD]) * table.shape[1])
            ask_hashed(keys, table, weights, 0 if pooled else task[ahead], indices, begin, end)
        else:
            ask_table(layout, weights, 0 if pooled else task[ahead], indices, begin, end)
    j, begin, end = 0 if pooled else task[i], indptr[row[i]], indptr[row[i] + 1]
    if is_hashed:
        find_row(keys, table, weights, j, indices, begin, end, slots)
        return dot_hashed(weights, values, begin, end, slots)
    return dot_table(layout, weights, j, indices, values, begin, end)


@inlined_only
def move_example(
    layout: Ints,
    keys: Keys,
    table: Ints,
    weights: Floats,
    pooled: bool,
    task: Ints,
    row: Ints,
    indptr: Ints,
    indices: Ints,
    values: Floats,
    i: int,
    step: float,
    slots: Ints,
) -> None:
    """w += step x(i), right after `score_example` of the same i, whose slots are still there."""
    j, begin, end = 0 if pooled else task[i], indptr[row[i]], indptr[row[i] + 1]
    if layout[HASHED]:
        add_hashed(layout, keys, table, weights, j, indices, values, begin, end, step, slots)
    else:
        add_table(layout, weights, j, indices, values, begin, end, step)


# --- whole rounds --------------------------------------------------------------------------------------------------


@compiled
def dot_rows(pairs: Pairs, weights: Floats, pooled: bool, batch: Batch, lo: int, hi: int, scores: Floats) -> None:
    """scores[i] = w . x(i) for the examples lo..hi, with w of the example's task, or of task 0 if `pooled`."""
    layout, keys, table = pairs
    task, _, row, indptr, indices, values, _ = batch
    slots = slot_space(pairs, batch)
    for i in range(lo, hi):
        j, begin, end = 0 if pooled else task[i], indptr[row[i]], indptr[row[i] + 1]
        if layout[HASHED]:
            find_row(keys, table, weights, j, indices, begin, end, slots)
            scores[i] = dot_hashed(weights, values, begin, end, slots)[0]
        else:
            scores[i] = dot_table(layout, weights, j, indices, values, begin, end)[0]


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
