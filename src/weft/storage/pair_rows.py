"""Rows against the weights of one task: dot products, steps and prefetching, over a table or hashed pairs.

A row is (indices, values, begin, end). The functions run once per row and take arrays, not the tuples that hold them: a
kernel that counts references pays an atomic count for every array of a tuple that it touches once per row. Kernels use
`weft.storage.own`, which puts all of these arrays behind one argument.

Products go to four sums in turn, and those of the last one to three entries to the first: a single sum waits for each
addition before the next, four sums side by side do not. `dot_table`, `dot_hashed` and `batch.squared_norm` all use this
order, and so does `sparse_rows.dot`, so that the bits do not depend on the layout. `sparse_rows` has the only other
order, entry by entry.
"""

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.instructions import four_sums, prefetch
from weft.compiled.jit import inlined, inlined_only
from weft.storage.pairs import BASE, FEATURE_STRIDE, SIZE, TASK_STRIDE, Keys, first_place


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
def prefetch_table(layout: Ints, weights: Floats, task: int, indices: Ints, begin: int, end: int) -> None:
    """Prefetch the weights of a row that will be needed soon."""
    base, stride = task * layout[TASK_STRIDE], layout[FEATURE_STRIDE]
    if stride == 1 and end > begin and indices[end - 1] - indices[begin] == end - begin - 1:  # eight to a cache line
        for e in range(0, end - begin, 8):
            prefetch(weights, base + indices[begin] + e)
    else:
        for e in range(begin, end):
            prefetch(weights, base + indices[e] * stride)


@inlined_only
def prefetch_hashed(keys: Keys, table: Ints, task: int, indices: Ints, begin: int, end: int) -> None:
    """Prefetch the keys that a row will need soon: all of a small region, or the row's lines of a large one."""
    base, size = np.uint64(table[task, BASE]), np.uint64(table[task, SIZE])
    if size <= np.uint64(8 * (end - begin)):  # eight to a cache line
        for at in range(base, base + size, np.uint64(8)):
            prefetch(keys, at)
    else:
        for e in range(begin, end):
            prefetch(keys, base + first_place(indices[e], size))


@inlined
def add_slots(weights: Floats, values: Floats, begin: int, end: int, step: float, slots: Ints) -> None:
    """w_task += step x, for a row whose pairs have all been opened (`pairs.open_row`)."""
    for e in range(end - begin):
        weights[slots[e]] += step * values[begin + e]


@inlined
def add_table(
    layout: Ints, weights: Floats, task: int, indices: Ints, values: Floats, begin: int, end: int, step: float
) -> None:
    """w_task += step x."""
    base, stride = np.uint64(task * layout[TASK_STRIDE]), np.uint64(layout[FEATURE_STRIDE])
    if stride == 1 and end > begin and indices[end - 1] - indices[begin] == end - begin - 1:  # several at a time
        base += np.uint64(indices[begin])
        for e in range(np.uint64(0), np.uint64(end - begin)):
            weights[base + e] += step * values[np.uint64(begin) + e]
    else:
        for e in range(np.uint64(begin), np.uint64(end)):
            weights[base + np.uint64(indices[e]) * stride] += step * values[e]


# --- several numbers per pair: `found` and `changes` have an entry per non-zero of the row ---------------------------


@inlined
def read_slots(numbers: Floats, count: int, slots: Ints, found: Floats) -> None:
    """The numbers of a row's pairs, which have all been opened (`pairs.open_row`)."""
    for e in range(np.uint64(0), np.uint64(count)):
        found[e] = numbers[np.uint64(slots[e])]


@inlined
def read_table(layout: Ints, numbers: Floats, task: int, indices: Ints, begin: int, end: int, found: Floats) -> None:
    """The numbers of a row's pairs."""
    base, stride = np.uint64(task * layout[TASK_STRIDE]), np.uint64(layout[FEATURE_STRIDE])
    first, count = np.uint64(begin), np.uint64(end - begin)
    if stride == 1 and end > begin and indices[end - 1] - indices[begin] == end - begin - 1:  # several at a time
        base += np.uint64(indices[begin])
        for e in range(np.uint64(0), count):
            found[e] = numbers[base + e]
    else:
        for e in range(np.uint64(0), count):
            found[e] = numbers[base + np.uint64(indices[first + e]) * stride]


@inlined
def add_table_changes(
    layout: Ints, numbers: Floats, task: int, indices: Ints, begin: int, end: int, changes: Floats, step: float
) -> None:
    """numbers += step changes."""
    base, stride = np.uint64(task * layout[TASK_STRIDE]), np.uint64(layout[FEATURE_STRIDE])
    first, count = np.uint64(begin), np.uint64(end - begin)
    if stride == 1 and end > begin and indices[end - 1] - indices[begin] == end - begin - 1:  # several at a time
        base += np.uint64(indices[begin])
        for e in range(np.uint64(0), count):
            numbers[base + e] += step * changes[e]
    else:
        for e in range(np.uint64(0), count):
            numbers[base + np.uint64(indices[first + e]) * stride] += step * changes[e]


@inlined
def square_slots(numbers: Floats, values: Floats, begin: int, end: int, slots: Ints) -> None:
    """numbers += x^2, for a row whose pairs have all been opened."""
    for e in range(np.uint64(0), np.uint64(end - begin)):
        value = values[np.uint64(begin) + e]
        numbers[np.uint64(slots[e])] += value * value


@inlined
def square_table(layout: Ints, numbers: Floats, task: int, indices: Ints, values: Floats, begin: int, end: int) -> None:
    """numbers += x^2."""
    base, stride = np.uint64(task * layout[TASK_STRIDE]), np.uint64(layout[FEATURE_STRIDE])
    if stride == 1 and end > begin and indices[end - 1] - indices[begin] == end - begin - 1:  # several at a time
        base += np.uint64(indices[begin])
        for e in range(np.uint64(0), np.uint64(end - begin)):
            value = values[np.uint64(begin) + e]
            numbers[base + e] += value * value
    else:
        for e in range(np.uint64(begin), np.uint64(end)):
            numbers[base + np.uint64(indices[e]) * stride] += values[e] * values[e]


@inlined
def dot_changes(changes: Floats, values: Floats, begin: int, end: int) -> float:
    """The sum of changes x over the row, by four sums."""
    first, whole = np.uint64(begin), np.uint64(begin + (end - begin) // 4 * 4)
    t0, t1, t2, t3, _, _, _, _ = four_sums(changes, np.uint64(0), values, first, whole)
    for e in range(whole, np.uint64(end)):
        t0 += changes[e - first] * values[e]
    return (t0 + t1) + (t2 + t3)
