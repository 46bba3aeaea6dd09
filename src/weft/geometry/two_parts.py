"""Rows against models of two parts, own + shared: one pass over a row's non-zeros serves both.

Every task's own part lies with its pairs (`weft.pairs`; a table goes task by task), the shared parts are vectors over
the features, one per cluster of tasks. A row is (indices, values, begin, end); the functions run once per row and take
plain arrays for the reason given in `pairs`.
"""

import numpy as np

from weft.batch import Floats, Ints
from weft.jit import inner, prefetch
from weft.pairs import (
    AHEAD,
    FAR,
    HASHED,
    TASK_STRIDE,
    Keys,
    ask_hashed,
    ask_table,
    find_row,
    open_row,
)

LONG = 24
"""Non-zeros of a long row."""


@inner
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


@inner
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
    z, m, square, c = 0.0, 0.0, 0.0, np.uint64(cluster)
    if layout[HASHED]:
        find_row(keys, table, own, task, indices, begin, end, slots)
        for e in range(end - begin):
            value, slot = values[begin + e], slots[e]
            square += value * value
            m += shared[c, np.uint64(indices[begin + e])] * value
            if slot >= 0:
                z += own[slot] * value
        return z, m, square
    base = np.uint64(task * layout[TASK_STRIDE])
    for e in range(np.uint64(begin), np.uint64(end)):
        value, feature = values[e], np.uint64(indices[e])
        square += value * value
        m += shared[c, feature] * value
        z += own[base + feature] * value
    return z, m, square


@inner
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


@inner
def dot_vector(vector: Floats, indices: Ints, values: Floats, begin: int, end: int) -> tuple[float, float]:
    """v . x and |x|^2."""
    total, square = 0.0, 0.0
    for e in range(np.uint64(begin), np.uint64(end)):
        value = values[e]
        square += value * value
        total += vector[np.uint64(indices[e])] * value
    return total, square


@inner
def add_vector(vector: Floats, indices: Ints, values: Floats, begin: int, end: int, step: float) -> None:
    """v += step x."""
    for e in range(np.uint64(begin), np.uint64(end)):
        vector[np.uint64(indices[e])] += step * values[e]
