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
from weft.jit import PLAIN, inner, kernel, prefetch

DENSE_LIMIT = 1 << 23
"""Most entries (tasks x features, by counts) of a dense table: 64 MiB for learners with one number per pair."""

FAR = 1 << 16
"""More weights than this do not stay in the cache: rows are asked for ahead of their turn."""
AHEAD = 4
"""How many examples ahead."""

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

    @inner
    def _mix(key: int) -> np.uint64:
        """Spread a key over 64 bits: the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
        h = np.uint64(key)
        h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return h ^ (h >> np.uint64(31))


@inner
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


@inner
def fits(pairs: Pairs, batch: Batch, lo: int, hi: int) -> bool:
    """Is there room for every pair that the examples lo..hi could open?"""
    need = pairs.layout[USED]
    for i in range(lo, hi):
        r = batch.row[i]
        need += batch.indptr[r + 1] - batch.indptr[r]
    return bool(need <= len(pairs.keys))


# The functions below run once per row, a row being (indices, values, begin, end). They take arrays, not the tuples that
# hold them: a kernel that touches a tuple of arrays once per row pays Numba an atomic count for each of them.


@inner
def find_row(table: Ints, weights: Floats, task: int, indices: Ints, begin: int, end: int, slots: Ints) -> None:
    """The slots of a row's hashed pairs in `slots`, -1 where a pair was never opened; asks for the weights."""
    for e in range(end - begin):
        key = (task << _FEATURE_BITS) | indices[begin + e]
        at = _place(table, key)
        slot = table[at, 1] if table[at, 0] == key else -1
        slots[e] = slot
        prefetch(weights, max(slot, 0))


@inner
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


@inner
def dot_hashed(weights: Floats, values: Floats, begin: int, end: int, slots: Ints) -> tuple[float, float]:
    """w_task . x and |x|^2 in one pass, for a row whose slots `find_row` has put into `slots`."""
    total, square = 0.0, 0.0
    for e in range(end - begin):
        value, slot = values[begin + e], slots[e]
        square += value * value
        if slot >= 0:
            total += weights[slot] * value
    return total, square


@inner
def dot_table(
    layout: Ints, weights: Floats, task: int, indices: Ints, values: Floats, begin: int, end: int
) -> tuple[float, float]:
    """w_task . x and |x|^2 in one pass."""
    base, stride = np.uint64(task * layout[TASK_STRIDE]), np.uint64(layout[FEATURE_STRIDE])
    total, square = 0.0, 0.0
    # A run of features, as in dense data: the indices need not be read.
    if end > begin and indices[end - 1] - indices[begin] == end - begin - 1:
        base += np.uint64(indices[begin]) * stride
        for e in range(np.uint64(0), np.uint64(end - begin)):
            value = values[np.uint64(begin) + e]
            square += value * value
            total += weights[base + e * stride] * value
    else:
        for e in range(np.uint64(begin), np.uint64(end)):
            value = values[e]
            square += value * value
            total += weights[base + np.uint64(indices[e]) * stride] * value
    return total, square


@inner
def ask_table(layout: Ints, weights: Floats, task: int, indices: Ints, begin: int, end: int) -> None:
    """Ask memory for the weights of a row that will be needed soon."""
    base, stride = task * layout[TASK_STRIDE], layout[FEATURE_STRIDE]
    if stride == 1 and end > begin and indices[end - 1] - indices[begin] == end - begin - 1:  # eight to a cache line
        for e in range(0, end - begin, 8):
            prefetch(weights, base + indices[begin] + e)
    else:
        for e in range(begin, end):
            prefetch(weights, base + indices[e] * stride)


@inner
def ask_hashed(table: Ints, task: int, indices: Ints, begin: int, end: int) -> None:
    """Ask memory for the index entries of a row that will be needed soon."""
    mask = np.uint64(table.shape[0] - 1)
    for e in range(begin, end):
        prefetch(table, (_mix((task << _FEATURE_BITS) | indices[e]) & mask) * np.uint64(2))


@inner
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
) -> None:
    """w_task += scale x, for a row whose slots `find_row` has put into `slots`."""
    open_row(layout, keys, table, task, indices, begin, end, slots)
    for e in range(end - begin):
        weights[slots[e]] += scale * values[begin + e]


@inner
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


@inner
def score_example(
    layout: Ints,
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
            ask_hashed(table, 0 if pooled else task[ahead], indices, begin, end)
        else:
            ask_table(layout, weights, 0 if pooled else task[ahead], indices, begin, end)
    j, begin, end = 0 if pooled else task[i], indptr[row[i]], indptr[row[i] + 1]
    if is_hashed:
        find_row(table, weights, j, indices, begin, end, slots)
        return dot_hashed(weights, values, begin, end, slots)
    return dot_table(layout, weights, j, indices, values, begin, end)


@inner
def move_example(
    layout: Ints,
    keys: Ints,
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


@kernel
def dot_rows(pairs: Pairs, weights: Floats, pooled: bool, batch: Batch, lo: int, hi: int, scores: Floats) -> None:
    """scores[i] = w . x(i) for the examples lo..hi, with w of the example's task, or of task 0 if `pooled`."""
    layout, _, table = pairs
    task, _, row, indptr, indices, values, _ = batch
    slots = slot_space(pairs, batch)
    for i in range(lo, hi):
        j, begin, end = 0 if pooled else task[i], indptr[row[i]], indptr[row[i] + 1]
        if layout[HASHED]:
            find_row(table, weights, j, indices, begin, end, slots)
            scores[i] = dot_hashed(weights, values, begin, end, slots)[0]
        else:
            scores[i] = dot_table(layout, weights, j, indices, values, begin, end)[0]


# --- between kernel calls ----------------------------------------------------------------------------------------


@kernel
def _index(keys: Ints, used: int, table: Ints) -> None:
    mask = np.uint64(table.shape[0] - 1)
    for slot in range(used):
        if slot + 8 < used:
            prefetch(table, (_mix(keys[slot + 8]) & mask) * np.uint64(2))
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
        np.array([task_stride, feature_stride, 0, 0], np.int64),
        np.zeros(0, np.int64),
        np.full((1, 2), -1, np.int64),
    )


def pack(tasks: Ints, features: Ints) -> Ints:
    """Keys of pairs."""
    return (tasks << _FEATURE_BITS) | features


def unpack(keys: Ints) -> tuple[Ints, Ints]:
    """Tasks and features of keys."""
    return keys >> _FEATURE_BITS, keys & ((1 << _FEATURE_BITS) - 1)


# --- one row, for looking at -----------------------------------------------------------------------------------------


@kernel
def read_row(pairs: Pairs, weights: Floats, task: int, indices: Ints) -> Floats:
    """The weights of a task for these features; 0 where a pair was never opened."""
    layout, n = pairs.layout, len(indices)
    found = np.zeros(n)
    if layout[HASHED]:
        slots = np.empty(n, np.int64)
        find_row(pairs.table, weights, task, indices, 0, n, slots)
        for e in range(n):
            if slots[e] >= 0:
                found[e] = weights[slots[e]]
    else:
        for e in range(n):
            found[e] = weights[task * layout[TASK_STRIDE] + indices[e] * layout[FEATURE_STRIDE]]
    return found
