"""Rows against models of two parts, own + shared: one pass over a row's non-zeros serves both.

Every task's own part lies with its pairs (`pairs`; a table goes task by task), the shared parts are vectors over the
features, one per cluster of tasks. Everything here is compiled into the kernel that calls it, and costs nothing but the
arithmetic if that kernel counts no references (`inlined_only` or `helper_no_alloc`).
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.instructions import prefetch
from weft.compiled.jit import inlined_only
from weft.storage.batch import Batch
from weft.storage.pair_rows import prefetch_hashed, prefetch_table
from weft.storage.pairs import AHEAD, FAR, HASHED, TASK_STRIDE, Pairs, find_row, open_row
from weft.storage.sparse_rows import Row

LONG = 24
"""Non-zeros of a long row."""


class TwoParts(NamedTuple):
    """The own parts of all tasks, the shared part of every cluster, and scratch for the slots of a row's pairs."""

    pairs: Pairs
    own: Floats
    shared: Floats
    slots: Ints


@inlined_only
def prefetch_ahead(parts: TwoParts, batch: Batch, i: int) -> None:
    """Prefetch what an example after i will need: the next one, if rows are so long that several fill the cache."""
    pairs, own, _, _ = parts
    layout, keys, table = pairs
    task, _, row, indptr, indices, _, _, _ = batch
    length = indptr[row[i] + 1] - indptr[row[i]]
    ahead = i + (AHEAD if layout[HASHED] or length <= LONG else 1)
    if len(own) <= FAR or ahead >= len(task):
        return
    begin, end = indptr[row[ahead]], indptr[row[ahead] + 1]
    if layout[HASHED]:
        if ahead + AHEAD < len(task):
            prefetch(table, task[ahead + AHEAD] * table.shape[1])
        prefetch_hashed(keys, table, task[ahead], indices, begin, end)
    else:
        prefetch_table(layout, own, task[ahead], indices, begin, end)


@inlined_only
def find_pairs(parts: TwoParts, task: int, x: Row) -> None:
    """The slots of a row's hashed pairs, for `add_parts`; `dot_parts` leaves those of its row."""
    _, keys, table = parts.pairs
    find_row(keys, table, parts.own, task, x.indices, x.begin, x.end, parts.slots)


@inlined_only
def dot_parts(parts: TwoParts, task: int, cluster: int, x: Row) -> tuple[float, float, float]:
    """own_task . x, shared_cluster . x and |x|^2, each by four sums side by side, as in `sparse_rows.dot`."""
    if parts.pairs.layout[HASHED]:
        find_pairs(parts, task, x)
        return _dot_hashed(parts, cluster, x)
    return _dot_table(parts, task, cluster, x)


@inlined_only
def _dot_hashed(parts: TwoParts, cluster: int, x: Row) -> tuple[float, float, float]:
    """The same for a row whose slots are found; a pair that was never opened adds nothing to its sum."""
    _, own, shared, slots = parts
    indices, values, begin, end = x
    c, one, two, three = np.uint64(cluster), np.uint64(1), np.uint64(2), np.uint64(3)
    z0, z1, z2, z3, m0, m1, m2, m3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    first, whole = np.uint64(begin), np.uint64(begin + (end - begin) // 4 * 4)
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
    return (z0 + z1) + (z2 + z3), (m0 + m1) + (m2 + m3), (s0 + s1) + (s2 + s3)


@inlined_only
def _dot_table(parts: TwoParts, task: int, cluster: int, x: Row) -> tuple[float, float, float]:
    """The same where own parts fill a table."""
    pairs, own, shared, _ = parts
    indices, values, begin, end = x
    c, one, two, three = np.uint64(cluster), np.uint64(1), np.uint64(2), np.uint64(3)
    z0, z1, z2, z3, m0, m1, m2, m3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    first, whole = np.uint64(begin), np.uint64(begin + (end - begin) // 4 * 4)
    base = np.uint64(task * pairs.layout[TASK_STRIDE])
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
def add_parts(parts: TwoParts, task: int, cluster: int, x: Row, own_step: float, shared_step: float) -> None:
    """own_task += own_step x and shared_cluster += shared_step x, right after `dot_parts` of the same row."""
    pairs, own, shared, slots = parts
    layout, keys, table = pairs
    indices, values, begin, end = x
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
