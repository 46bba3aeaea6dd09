"""Prefetching: loads what the next example needs into the cache while the present one is worked on.

A processor has few loads under way at a time, so that every step over four entries of the present row prefetches a few
entries of the next one. Nothing here changes a result: prefetching behind the end of an array does nothing.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Ints, ShortFloats
from weft.compiled.instructions import prefetch
from weft.compiled.jit import helper_no_alloc, inlined_only
from weft.learners.adaptive.state import TASK_WIDTH, State
from weft.storage.batch import Batch
from weft.storage.pairs import BASE, COLUMNS, FAR, HASHED, SIZE, TASK_STRIDE, Pairs, first_place, place, slot_of

TASKS_AHEAD = 8
"""How many examples ahead the numbers of a task are prefetched."""


class NextRow(NamedTuple):
    """The row of the next example, from `begin` to `end`, and its task; empty if all is in the cache anyway."""

    indices: Ints
    begin: int
    end: int
    task: int


class Target(NamedTuple):
    """What is prefetched: rows of `width` numbers, those of the entries counted from row `first` on."""

    rows: Array
    width: int
    first: int


@inlined_only
def next_row(state: State, batch: Batch, i: int) -> NextRow:
    """The row of the example after i."""
    if i + 1 < len(batch.task) and state.own.size + state.features.size > FAR:
        row = batch.row[i + 1]
        return NextRow(batch.indices, batch.indptr[row], batch.indptr[row + 1], batch.task[i + 1])
    return NextRow(batch.indices, 0, 0, 0)


@inlined_only
def next_table_row(state: State, batch: Batch, i: int) -> NextRow:
    """The same if pairs are in a table; hashed ones are prefetched together, by `prefetch_pairs`."""
    upcoming = next_row(state, batch, i)
    return NextRow(upcoming.indices, 0, 0, 0) if state.pairs.layout[HASHED] else upcoming


@inlined_only
def prefetch_entries(target: Target, upcoming: NextRow, begin: int, count: int) -> None:
    """Prefetch the rows of so many entries, from entry `begin` of the next row on."""
    for n in range(count):
        index = upcoming.indices[np.uint64(upcoming.begin + begin) + np.uint64(n)]
        prefetch(target.rows, (np.uint64(target.first) + np.uint64(index)) * np.uint64(target.width))


@inlined_only
def prefetch_some(target: Target, upcoming: NextRow, begin: int, count: int) -> None:
    """The same, if the next row is as long."""
    if upcoming.begin + begin + count <= upcoming.end:
        prefetch_entries(target, upcoming, begin, count)


@inlined_only
def prefetch_rest(target: Target, upcoming: NextRow, done: int, step: int) -> None:
    """Prefetch what calls of `prefetch_some` for the entries before `done`, `step` at a time, have left."""
    length = upcoming.end - upcoming.begin
    begin = min(done, length // step * step)
    prefetch_entries(target, upcoming, begin, length - begin)


@inlined_only
def prefetch_task(state: State, batch: Batch, i: int) -> None:
    """Prefetch what the task of a later example has: its region of hashed pairs, its bias and its mixture."""
    if i + TASKS_AHEAD < len(batch.task) and state.tasks.size > FAR:
        k = batch.task[i + TASKS_AHEAD]
        if state.pairs.layout[HASHED]:
            prefetch(state.pairs.table, k * COLUMNS)
        prefetch(state.own_bias, k * state.own_bias.shape[1])
        prefetch(state.tasks, k * TASK_WIDTH)
        prefetch(state.tasks, (k + 1) * TASK_WIDTH - 1)  # longer than a cache line


@helper_no_alloc
def prefetch_keys(pairs: Pairs, upcoming: NextRow) -> None:
    """Prefetch the keys of the next example's hashed pairs."""
    _, keys, table = pairs
    base, size = np.uint64(table[upcoming.task, BASE]), np.uint64(table[upcoming.task, SIZE])
    for e in range(upcoming.begin, upcoming.end):
        prefetch(keys, base + first_place(upcoming.indices[e], size))


@helper_no_alloc
def prefetch_pairs(pairs: Pairs, own: ShortFloats, upcoming: NextRow) -> None:
    """Prefetch the own parts of the next example; the keys of hashed pairs were prefetched before."""
    layout, keys, table = pairs
    if not layout[HASHED]:
        target = Target(own, own.shape[1], upcoming.task * layout[TASK_STRIDE])
        prefetch_entries(target, upcoming, 0, upcoming.end - upcoming.begin)
        return
    base, size = np.uint64(table[upcoming.task, BASE]), np.uint64(table[upcoming.task, SIZE])
    for e in range(upcoming.begin, upcoming.end):
        prefetch(own, slot_of(keys[place(keys, base, size, upcoming.indices[e])]) * own.shape[1])
