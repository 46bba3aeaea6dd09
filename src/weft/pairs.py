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

from weft.batch import Batch, Floats, Ints, longest_row, shares_row
from weft.jit import PLAIN, kernel

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
    if pairs.layout[HASHED] == 0:
        return True
    need = pairs.layout[USED]
    for i in range(lo, hi):
        r = batch.row[i]
        need += batch.indptr[r + 1] - batch.indptr[r]
    return need <= pairs.keys.shape[0]


@kernel
def find_row(pairs: Pairs, task: int, batch: Batch, row: int, slots: Ints) -> None:
    """The slots of a row's pairs, -1 where a pair was never opened."""
    begin, end = batch.indptr[row], batch.indptr[row + 1]
    if pairs.layout[HASHED] == 0:
        base, stride = task * pairs.layout[TASK_STRIDE], pairs.layout[FEATURE_STRIDE]
        for e in range(end - begin):
            slots[e] = base + batch.indices[begin + e] * stride
        return
    for e in range(end - begin):
        key = (task << _FEATURE_BITS) | batch.indices[begin + e]
        at = _place(pairs.table, key)
        slots[e] = pairs.table[at, 1] if pairs.table[at, 0] == key else -1


@kernel
def open_row(pairs: Pairs, task: int, batch: Batch, row: int, slots: Ints) -> None:
    """Open the pairs that `find_row` did not find (slot -1); the caller asked `fits` before."""
    if pairs.layout[HASHED] == 0:
        return
    begin, end = batch.indptr[row], batch.indptr[row + 1]
    for e in range(end - begin):
        if slots[e] >= 0:
            continue
        key = (task << _FEATURE_BITS) | batch.indices[begin + e]
        at = _place(pairs.table, key)
        if pairs.table[at, 0] == -1:
            used = pairs.layout[USED]
            pairs.table[at, 0] = key
            pairs.table[at, 1] = used
            pairs.keys[used] = key
            pairs.layout[USED] = used + 1
        slots[e] = pairs.table[at, 1]


@kernel
def dot(pairs: Pairs, weights: Floats, task: int, batch: Batch, row: int, slots: Ints) -> float:
    """w_task . x; leaves the row's slots in `slots` when the pairs are hashed."""
    total = 0.0
    begin, end = batch.indptr[row], batch.indptr[row + 1]
    if pairs.layout[HASHED] == 0:
        base, stride = np.uint64(task * pairs.layout[TASK_STRIDE]), np.uint64(pairs.layout[FEATURE_STRIDE])
        if stride == 1:
            for e in range(np.uint64(begin), np.uint64(end)):
                total += weights[base + np.uint64(batch.indices[e])] * batch.values[e]
        else:
            for e in range(np.uint64(begin), np.uint64(end)):
                total += weights[base + np.uint64(batch.indices[e]) * stride] * batch.values[e]
        return total
    find_row(pairs, task, batch, row, slots)
    for e in range(end - begin):
        if slots[e] >= 0:
            total += weights[slots[e]] * batch.values[begin + e]
    return total


@kernel
def add(
    pairs: Pairs, weights: Floats, task: int, batch: Batch, row: int, scale: float, slots: Ints, fresh: bool
) -> None:
    """w_task += scale x. `fresh`: `slots` still holds what `dot` found for this very row and task."""
    begin, end = batch.indptr[row], batch.indptr[row + 1]
    if pairs.layout[HASHED] == 0:
        base, stride = np.uint64(task * pairs.layout[TASK_STRIDE]), np.uint64(pairs.layout[FEATURE_STRIDE])
        if stride == 1:
            for e in range(np.uint64(begin), np.uint64(end)):
                weights[base + np.uint64(batch.indices[e])] += scale * batch.values[e]
        else:
            for e in range(np.uint64(begin), np.uint64(end)):
                weights[base + np.uint64(batch.indices[e]) * stride] += scale * batch.values[e]
        return
    if not fresh:
        find_row(pairs, task, batch, row, slots)
    open_row(pairs, task, batch, row, slots)
    for e in range(end - begin):
        weights[slots[e]] += scale * batch.values[begin + e]


@kernel
def dot_rows(pairs: Pairs, weights: Floats, pooled: bool, batch: Batch, lo: int, hi: int, scores: Floats) -> None:
    """scores[i] = w . x(i) for the examples lo..hi, with w of the example's task, or of task 0 if `pooled`."""
    slots = slot_space(pairs, batch)
    for i in range(lo, hi):
        j = 0 if pooled else batch.task[i]
        scores[i] = dot(pairs, weights, j, batch, batch.row[i], slots)


@kernel
def dot_round(pairs: Pairs, weights: Floats, batch: Batch, lo: int, hi: int, scores: Floats, slots: Ints) -> None:
    """scores[i] = w_task(i) . x(i) for the examples lo..hi.

    When all of them show the same row, the loop over features is the outer one: the weights of one feature lie side
    by side for all tasks if the table is feature-major.
    """
    if pairs.layout[HASHED] or not shares_row(batch, lo, hi):
        for i in range(lo, hi):
            scores[i] = dot(pairs, weights, batch.task[i], batch, batch.row[i], slots)
        return
    for i in range(lo, hi):
        scores[i] = 0.0
    begin, end = batch.indptr[batch.row[lo]], batch.indptr[batch.row[lo] + 1]
    by_task, by_feature = np.uint64(pairs.layout[TASK_STRIDE]), np.uint64(pairs.layout[FEATURE_STRIDE])
    for e in range(np.uint64(begin), np.uint64(end)):
        base, value = np.uint64(batch.indices[e]) * by_feature, batch.values[e]
        for i in range(np.uint64(lo), np.uint64(hi)):
            scores[i] += weights[base + np.uint64(batch.task[i]) * by_task] * value


@kernel
def add_round(
    pairs: Pairs, weights: Floats, batch: Batch, examples: Ints, steps: Floats, count: int, slots: Ints
) -> None:
    """w_task(i) += steps[a] x(i) for i = examples[a], a < count; steps of 0 are left out by the caller."""
    for a in range(count):
        i = examples[a]
        add(pairs, weights, batch.task[i], batch, batch.row[i], steps[a], slots, False)


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
