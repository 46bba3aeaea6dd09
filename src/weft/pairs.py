"""Own parts of many tasks: where the numbers of a (task, feature) pair lie.

Every task has its own weight for every feature it has met. While tasks x features is small the weights fill a table
and the place of a pair is `task * task_stride + feature * feature_stride`. Above `DENSE_LIMIT` only the pairs that
occurred are kept, one after the other in the order of their first occurrence, and a hash index finds them; memory then
grows with the pairs seen, whatever the number of tasks. Kernels read and write through the functions below and do not
know which of the two they have.

The index is no part of a model's state: it is made again from the pairs' keys whenever it grows or is loaded.
"""

from typing import NamedTuple

import numpy as np

from weft.batch import Batch, Floats, Ints, longest_row
from weft.jit import PLAIN, inner, kernel

DENSE_LIMIT = 1 << 23
"""Most entries (tasks x features, by counts) of a dense table: 64 MiB for learners with one number per pair."""

TASK_STRIDE, FEATURE_STRIDE, USED, HASHED = 0, 1, 2, 3
_FEATURE_BITS = 32  # a key is task << 32 | feature


class Pairs(NamedTuple):
    """The index of pairs: `layout` = (task stride, feature stride, pairs used, 1 if hashed)."""

    layout: Ints
    keys: Ints
    table: Ints  # (size, 2): key or -1, slot; size a power of two, at most half full


if PLAIN:  # NumPy warns where the products below wrap around; only the place of a pair depends on its hash

    def _mix(key: int) -> np.uint64:
        return np.uint64(hash((int(key),)) & 0x7FFFFFFFFFFFFFFF)

else:

    @kernel
    def _mix(key: int) -> np.uint64:
        """Spread a key over 64 bits: the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
        h = np.uint64(key)
        h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return h ^ (h >> np.uint64(31))



@kernel
def _place(table: Ints, key: int) -> np.uint64:
    """The entry of `key`, or the free one where it belongs."""
    mask = np.uint64(table.shape[0] - 1)
    at = _mix(key) & mask
    while table[at, 0] != key and table[at, 0] != -1:
        at = (at + np.uint64(1)) & mask
    return at


@kernel
def slot_space(pairs: Pairs, batch: Batch) -> Ints:
    """Scratch space for the slots of a row; only hashed pairs need any."""
    return np.empty(longest_row(batch) if pairs.layout[HASHED] else 0, np.int64)


@kernel
def fits(pairs: Pairs, batch: Batch, lo: int, hi: int) -> bool:
    """Is there room for every pair that the examples lo..hi could open?"""
    need = pairs.layout[USED]
    for i in range(lo, hi):
        r = batch.row[i]
        need += batch.indptr[r + 1] - batch.indptr[r]
    return need <= pairs.keys.shape[0]


# The functions below run once per row, a row being (indices, values, begin, end). They take arrays, not the tuples that
# hold them, and kernels choose between `_table` and `_hashed` themselves: an unpacked tuple, or a helper that calls
# one of two helpers, costs Numba an atomic count per array and call, twice the work of a row of 50.


@kernel
def find_row(table: Ints, task: int, indices: Ints, begin: int, end: int, slots: Ints) -> None:
    """The slots of a row's hashed pairs, -1 where a pair was never opened."""
    for e in range(end - begin):
        key = (task << _FEATURE_BITS) | indices[begin + e]
        at = _place(table, key)
        slots[e] = table[at, 1] if table[at, 0] == key else -1


@kernel
def open_row(
    layout: Ints, keys: Ints, table: Ints, task: int, indices: Ints, begin: int, end: int, slots: Ints
) -> None:
    """Open the pairs that `find_row` did not find (slot -1); the caller asked `fits` before."""
    for e in range(end - begin):
        if slots[e] >= 0:
            continue
        key = (task << _FEATURE_BITS) | indices[begin + e]
        at = _place(table, key)
        if table[at, 0] == -1:
            used = layout[USED]
            table[at, 0] = key
            table[at, 1] = used
            keys[used] = key
            layout[USED] = used + 1
        slots[e] = table[at, 1]


@kernel
def dot_hashed(
    table: Ints, weights: Floats, task: int, indices: Ints, values: Floats, begin: int, end: int, slots: Ints
) -> tuple[float, float]:
    """w_task . x and |x|^2 in one pass; leaves the row's slots in `slots`."""
    find_row(table, task, indices, begin, end, slots)
    total, square = 0.0, 0.0
    for e in range(end - begin):
        value = values[begin + e]
        square += value * value
        if slots[e] >= 0:
            total += weights[slots[e]] * value
    return total, square


@inner
def dot_table(
    layout: Ints, weights: Floats, task: int, indices: Ints, values: Floats, begin: int, end: int
) -> tuple[float, float]:
    """w_task . x and |x|^2 in one pass."""
    base, stride = np.uint64(task * layout[TASK_STRIDE]), np.uint64(layout[FEATURE_STRIDE])
    total, square = 0.0, 0.0
    for e in range(np.uint64(begin), np.uint64(end)):
        value = values[e]
        square += value * value
        total += weights[base + np.uint64(indices[e]) * stride] * value
    return total, square


@kernel
def add_hashed(
    layout: Ints,
    keys: Ints,
    table: Ints,
    weights: Floats,
    task: int,
    indices: Ints,
    values: Floats,
    begin: int,
    end: int,
    scale: float,
    slots: Ints,
    fresh: bool,
) -> None:
    """w_task += scale x. `fresh`: `slots` still holds what `dot_hashed` found for this very row and task."""
    if not fresh:
        find_row(table, task, indices, begin, end, slots)
    open_row(layout, keys, table, task, indices, begin, end, slots)
    for e in range(end - begin):
        weights[slots[e]] += scale * values[begin + e]


@inner
def add_table(
    layout: Ints, weights: Floats, task: int, indices: Ints, values: Floats, begin: int, end: int, scale: float
) -> None:
    """w_task += scale x."""
    base, stride = np.uint64(task * layout[TASK_STRIDE]), np.uint64(layout[FEATURE_STRIDE])
    for e in range(np.uint64(begin), np.uint64(end)):
        weights[base + np.uint64(indices[e]) * stride] += scale * values[e]


# --- whole rounds --------------------------------------------------------------------------------------------------


@kernel
def dot_rows(pairs: Pairs, weights: Floats, pooled: bool, batch: Batch, lo: int, hi: int, scores: Floats) -> None:
    """scores[i] = w . x(i) for the examples lo..hi, with w of the example's task, or of task 0 if `pooled`."""
    layout, _, table = pairs
    task, _, row, indptr, indices, values, _ = batch
    slots = slot_space(pairs, batch)
    for i in range(lo, hi):
        j, begin, end = 0 if pooled else task[i], indptr[row[i]], indptr[row[i] + 1]
        if layout[HASHED]:
            scores[i] = dot_hashed(table, weights, j, indices, values, begin, end, slots)[0]
        else:
            scores[i] = dot_table(layout, weights, j, indices, values, begin, end)[0]


@kernel
def dot_shared(pairs: Pairs, weights: Floats, batch: Batch, lo: int, hi: int, scores: Floats) -> None:
    """scores[i] = w_task(i) . x for the examples lo..hi, which all show the same row, over a dense table.

    The loop over features is the outer one: in a feature-major table the weights of one feature lie side by side.
    """
    task, _, row, indptr, indices, values, _ = batch
    for i in range(lo, hi):
        scores[i] = 0.0
    by_task, by_feature = np.uint64(pairs.layout[TASK_STRIDE]), np.uint64(pairs.layout[FEATURE_STRIDE])
    for e in range(np.uint64(indptr[row[lo]]), np.uint64(indptr[row[lo] + 1])):
        base, value = np.uint64(indices[e]) * by_feature, values[e]
        for i in range(np.uint64(lo), np.uint64(hi)):
            scores[i] += weights[base + np.uint64(task[i]) * by_task] * value


@kernel
def add_shared(
    pairs: Pairs, weights: Floats, batch: Batch, row: int, tasks: Ints, steps: Floats, count: int
) -> None:
    """w_j += steps[a] x for j = tasks[a], a < count, over a dense table: again one feature after the other."""
    _, _, _, indptr, indices, values, _ = batch
    by_task, by_feature = np.uint64(pairs.layout[TASK_STRIDE]), np.uint64(pairs.layout[FEATURE_STRIDE])
    for e in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
        base, value = np.uint64(indices[e]) * by_feature, values[e]
        for a in range(np.uint64(0), np.uint64(count)):
            weights[base + np.uint64(tasks[a]) * by_task] += steps[a] * value


# --- between kernel calls ----------------------------------------------------------------------------------------


@kernel
def _index(keys: Ints, used: int, table: Ints) -> None:
    for slot in range(used):
        at = _place(table, keys[slot])
        table[at, 0] = keys[slot]
        table[at, 1] = slot


def hashed(keys: Ints, used: int, capacity: int) -> Pairs:
    """A hash index with room for `capacity` pairs, of which `keys[:used]` are there."""
    grown = np.zeros(capacity, np.int64)
    grown[:used] = keys[:used]
    table = np.full((1 << max(4, (2 * capacity - 1).bit_length()), 2), -1, np.int64)
    _index(grown, used, table)
    return Pairs(np.array([0, 0, used, 1], np.int64), grown, table)


def dense(task_stride: int, feature_stride: int) -> Pairs:
    """A table layout."""
    return Pairs(
        np.array([task_stride, feature_stride, 0, 0], np.int64), np.zeros(0, np.int64), np.full((1, 2), -1, np.int64)
    )


def pack(tasks: Ints, features: Ints) -> Ints:
    """Keys of pairs."""
    return (tasks << _FEATURE_BITS) | features


def unpack(keys: Ints) -> tuple[Ints, Ints]:
    """Tasks and features of keys."""
    return keys >> _FEATURE_BITS, keys & ((1 << _FEATURE_BITS) - 1)
