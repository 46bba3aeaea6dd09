"""Rows against models of two parts, own + shared: one pass over a row's non-zeros serves both.

Every task's own part lies with its pairs (`pairs`; a table goes task by task), the shared parts are vectors over
the features, one per cluster of tasks. A row is (indices, values, begin, end); the functions run once per row and take
plain arrays for the reason given in `pairs`.
"""

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.instructions import prefetch
from weft.compiled.jit import inlined_only
from weft.storage.pairs import AHEAD, FAR, HASHED, TASK_STRIDE, Keys, ask_hashed, ask_table, find_row, open_row

LONG = 24
"""Non-zeros of a long row."""


@inlined_only
def ask_ahead(
    layout: Ints,
    keys: Keys,
    table: Ints,
    own: Floats,
    shared: Floats,
    task: Ints,
    row: Ints,
    indptr: Ints,
    indices: Ints,
    i: int,
) -> None:
    """Ask memory for what a later example will need: the next one, if rows are so long that several fill the cache."""
    length = indptr[row[i] + 1] - indptr[row[i]]
    ahead = i + (AHEAD if layout[HASHED] or length <= LONG else 1)
    if len(own) <= FAR or ahead >= len(task):
        return
    begin, end = indptr[row[ahead]], indptr[row[ahead] + 1]
    if layout[HASHED]:
        if ahead + AHEAD < len(task):
            prefetch(table, task[ahead + AHEAD] * table.shape[1])
        ask_hashed(keys, table, own, task[ahead], indices, begin, end)
    else:
        ask_table(layout, own, task[ahead], indices, begin, end)


@inlined_only
def dot_parts(
    layout: Ints,
    keys: Keys,
    table: Ints,
    own: Floats,
    shared: Floats,
    task: int,
    cluster: int,
    indices: Ints,
    values: Floats,
    begin: int,
    end: int,
    slots: Ints,
) -> tuple[float, float, float]:
    """own_task . x, shared_cluster . x and |x|^2; the slots of hashed pairs stay in `slots`."""
    c, one, two, three = np.uint64(cluster), np.uint64(1), np.uint64(2), np.uint64(3)
    z0, z1, z2, z3, m0, m1, m2, m3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    first, whole = np.uint64(begin), np.uint64(begin + (end - begin) // 4 * 4)
    # Four sums side by side, as in `pairs`.
    if layout[HASHED]:
        find_row(keys, table, own, task, indices, begin, end, slots)
        for e in range(first, whole, np.uint64(4)):
            v0, v1, v2, v3 = values[e], values[e + one], values[e + two], values[e + three]
            s0 += v0 * v0
            s1 += v1 * v1
            s2 += v2 * v2
            s3 += v3 * v3
            m0 += shared[c, np.uint64(indices[e])] * v0
            m1 += shared[c, np.uint64(indices[e + one])] * v1
            m2 += shared[c, np.uint64(indices[e + two])] * v2
            m3 += shared[c, np.uint64(indices[e + three])] * v3
            at = e - first
            if slots[at] >= 0:
                z0 += own[slots[at]] * v0
            if slots[at + one] >= 0:
                z1 += own[slots[at + one]] * v1
            if slots[at + two] >= 0:
                z2 += own[slots[at + two]] * v2
            if slots[at + three] >= 0:
                z3 += own[slots[at + three]] * v3
        for e in range(whole, np.uint64(end)):
            v0 = values[e]
            s0 += v0 * v0
            m0 += shared[c, np.uint64(indices[e])] * v0
            if slots[e - first] >= 0:
                z0 += own[slots[e - first]] * v0
    else:
        base = np.uint64(task * layout[TASK_STRIDE])
        for e in range(first, whole, np.uint64(4)):
            v0, v1, v2, v3 = values[e], values[e + one], values[e + two], values[e + three]
            f0, f1 = np.uint64(indices[e]), np.uint64(indices[e + one])
            f2, f3 = np.uint64(indices[e + two]), np.uint64(indices[e + three])
            s0 += v0 * v0
            s1 += v1 * v1
            s2 += v2 * v2
            s3 += v3 * v3
            m0 += shared[c, f0] * v0
            m1 += shared[c, f1] * v1
            m2 += shared[c, f2] * v2
            m3 += shared[c, f3] * v3
            z0 += own[base + f0] * v0
            z1 += own[base + f1] * v1
            z2 += own[base + f2] * v2
            z3 += own[base + f3] * v3
        for e in range(whole, np.uint64(end)):
            v0, f0 = values[e], np.uint64(indices[e])
            s0 += v0 * v0
            m0 += shared[c, f0] * v0
            z0 += own[base + f0] * v0
    return (z0 + z1) + (z2 + z3), (m0 + m1) + (m2 + m3), (s0 + s1) + (s2 + s3)


@inlined_only
def add_parts(
    layout: Ints,
    keys: Keys,
    table: Ints,
    own: Floats,
    shared: Floats,
    task: int,
    cluster: int,
    indices: Ints,
    values: Floats,
    begin: int,
    end: int,
    own_step: float,
    shared_step: float,
    slots: Ints,
) -> None:
    """own_task += own_step x and shared_cluster += shared_step x, right after `dot_parts` of the same row."""
    c = np.uint64(cluster)
    if layout[HASHED]:
        open_row(layout, keys, table, task, indices, begin, end, slots)
        for e in range(end - begin):
            value = values[begin + e]
            own[slots[e]] += own_step * value
            shared[c, np.uint64(indices[begin + e])] += shared_step * value
        return
    base = np.uint64(task * layout[TASK_STRIDE])
    for e in range(np.uint64(begin), np.uint64(end)):
        value, feature = values[e], np.uint64(indices[e])
        own[base + feature] += own_step * value
        shared[c, feature] += shared_step * value


@inlined_only
def dot_vector(vector: Floats, indices: Ints, values: Floats, begin: int, end: int) -> tuple[float, float]:
    """v . x and |x|^2, summed as in `dot_parts`."""
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    t0, t1, t2, t3, s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    first, whole = np.uint64(begin), np.uint64(begin + (end - begin) // 4 * 4)
    for e in range(first, whole, np.uint64(4)):
        v0, v1, v2, v3 = values[e], values[e + one], values[e + two], values[e + three]
        s0 += v0 * v0
        s1 += v1 * v1
        s2 += v2 * v2
        s3 += v3 * v3
        t0 += vector[np.uint64(indices[e])] * v0
        t1 += vector[np.uint64(indices[e + one])] * v1
        t2 += vector[np.uint64(indices[e + two])] * v2
        t3 += vector[np.uint64(indices[e + three])] * v3
    for e in range(whole, np.uint64(end)):
        v0 = values[e]
        s0 += v0 * v0
        t0 += vector[np.uint64(indices[e])] * v0
    return (t0 + t1) + (t2 + t3), (s0 + s1) + (s2 + s3)


@inlined_only
def add_vector(vector: Floats, indices: Ints, values: Floats, begin: int, end: int, step: float) -> None:
    """v += step x."""
    for e in range(np.uint64(begin), np.uint64(end)):
        vector[np.uint64(indices[e])] += step * values[e]
