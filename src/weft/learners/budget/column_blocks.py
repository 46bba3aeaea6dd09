"""The columns of several rows at once: each kept row is read from memory once for all of them.

Where all kept rows are without gaps and not too wide (columns of a table), events are written one after the other, each
with a place per feature. Three of them meet three kept rows at a time, so that what was loaded into registers serves
three sums, and a TILE of kept rows stays in the nearest cache until all events of the block have met it. Everywhere
else `event_column` is called for one event after the other. Every sum is the one that `event_column` takes, to the bit,
so nothing depends on which events come together.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.instructions import grid_dots
from weft.compiled.jit import compiled, helper_no_alloc, inlined_only
from weft.learners.budget.active_set import (
    BEGIN,
    COEFFICIENT,
    END,
    FACTOR,
    OWNER,
    SCALE,
    SQUARE,
    ActiveSet,
    Rows,
    combine,
)
from weft.learners.budget.kernel_columns import Workspace, event_column, first_of, row_dot, workspace
from weft.learners.budget.ties import COMPLETE, NO_TASKS, TaskKernel, tie
from weft.maths.kernels import LINEAR, POLY, KernelCode, row_scale, scaled_value
from weft.storage.batch import Batch
from weft.storage.sparse_rows import Row, clear, row_of, spread_out
from weft.storage.state import SUPPORT

TOGETHER = 24
"""Events in a block."""

THREE, TILE = 3, 15
"""Events, and kept rows, that meet at a time; and kept rows that wait for the next three events."""

XX, OF_ROW = range(2)
"""Columns of `sizes`."""

WIDEST = 1 << 12
"""Events come one by one if kept rows have features beyond this."""


class Block(NamedTuple):
    """Working space for the columns of up to TOGETHER events."""

    columns: Floats  # an event a row
    spread: Floats  # the events one after the other, by feature; empty if they come one by one
    width: int  # of an event in `spread`
    sizes: Floats  # |x|^2 and `row_scale` of every event
    firsts: Ints  # the first feature of every kept row
    work: Workspace


@compiled
def column_block(ties: int, state: ActiveSet, events: int) -> Block:
    """For this many events and the rows that are kept now."""
    n, width, marks = state.used[SUPPORT], 0, state.marks
    firsts = np.empty(n, np.int64)
    together = events >= THREE and ties in (COMPLETE, NO_TASKS)  # where every row counts for every task
    for s in range(n):
        firsts[s] = first_of(Row(state.indices, state.values, marks[s, BEGIN], marks[s, END]))
        width = max(width, firsts[s] + marks[s, END] - marks[s, BEGIN])
        together = together and firsts[s] >= 0
    together = together and 0 < width <= WIDEST
    count = min(events, TOGETHER) if together else 1
    work = workspace(state, np.zeros(len(state.wide)), events)
    return Block(
        np.empty((count, n)), np.zeros(count * width if together else 0), width, np.empty((count, 2)), firsts, work
    )


@helper_no_alloc
def event_columns(kernel: TaskKernel, rows: Rows, batch: Batch, first: int, block: Block) -> int:
    """The kernels of the examples from `first` on with all rows, in the rows of `columns`; returns the next example."""
    if len(block.spread) == 0:
        event_column(kernel, rows, batch, first, block.work, block.columns[0])
        return first + 1
    last, n = min(first + len(block.columns), len(batch.task)), rows.used[SUPPORT]
    for i in range(first, last):
        _spread(kernel.base, batch, i, i - first, block)
    for s in range(0, n, TILE):
        _products(rows, s, min(s + TILE, n), last - first, block)
        for i in range(first, last):
            _values(kernel, rows, batch.task[i], (s, min(s + TILE, n)), i - first, block)
    for e in range(len(block.spread)):
        block.spread[e] = 0.0
    return last


@helper_no_alloc
def _spread(code: KernelCode, batch: Batch, i: int, at: int, block: Block) -> None:
    """Example i by feature, and its sizes; features that no kept row has do not matter."""
    wide, shift = block.work.wide, at * block.width
    x = row_of(batch, i)
    spread_out(wide, x)
    for e in range(x.begin, x.end):
        if x.indices[e] < block.width:
            block.spread[shift + x.indices[e]] = x.values[e]
    xx = row_dot(wide, x, first_of(x))
    block.sizes[at, XX], block.sizes[at, OF_ROW] = xx, row_scale(code, xx)
    clear(wide, x)


@inlined_only
def _products(rows: Rows, first: int, last: int, count: int, block: Block) -> None:
    """<x_s, x> of the kept rows first .. last-1 with the events of a block."""
    columns, marks, width, s = block.columns, rows.marks, block.width, first
    while s < last:
        alike = _three_alike(marks, block.firsts, s, last)
        whole, following = (count // THREE * THREE, s + THREE) if alike else (0, s + 1)
        for i in range(0, whole, THREE):
            at, length = i * width + block.firsts[s], marks[s, END] - marks[s, BEGIN]
            events = (at, at + width, at + 2 * width)
            begins = (marks[s, BEGIN], marks[s + 1, BEGIN], marks[s + 2, BEGIN])
            grid_dots(block.spread, events, rows.values, begins, length, columns, i * columns.shape[1] + s)
        for r in range(s, following):
            for i in range(whole, count):
                z = Row(rows.indices, rows.values, marks[r, BEGIN], marks[r, END])
                columns[i, r] = row_dot(block.spread, z, float(i * width + block.firsts[r]))
        s = following


@inlined_only
def _three_alike(marks: Ints, firsts: Ints, s: int, last: int) -> bool:
    """Have the kept rows s, s + 1 and s + 2 the same features?"""
    if s + THREE > last:
        return False
    length = marks[s, END] - marks[s, BEGIN]
    for r in range(s + 1, s + THREE):
        if firsts[r] != firsts[s] or marks[r, END] - marks[r, BEGIN] != length:
            return False
    return True


@helper_no_alloc
def combine_columns(rows: Rows, block: Block, count: int, totals: Floats) -> None:
    """`combine` of the first `count` columns: a sum waits for each of its additions, four sums wait together."""
    columns, numbers = block.columns, rows.numbers
    whole = count // 4 * 4
    for i in range(0, whole, 4):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for s in range(rows.used[SUPPORT]):
            coefficient = numbers[s, COEFFICIENT]
            a += coefficient * columns[i, s]
            b += coefficient * columns[i + 1, s]
            c += coefficient * columns[i + 2, s]
            d += coefficient * columns[i + 3, s]
        factor = rows.scalars[FACTOR]
        totals[i], totals[i + 1], totals[i + 2], totals[i + 3] = factor * a, factor * b, factor * c, factor * d
    for i in range(whole, count):
        totals[i] = combine(rows, columns[i])


@inlined_only
def _values(kernel: TaskKernel, rows: Rows, task: int, tile: tuple[int, int], at: int, block: Block) -> None:
    """The kernels of event `at` of a block with a tile of kept rows, from its products with them."""
    code, ties, (first, last) = kernel.base, kernel.ties, tile
    columns, numbers, xx, scale = block.columns, rows.numbers, block.sizes[at, XX], block.sizes[at, OF_ROW]
    if code.kind == LINEAR and ties == COMPLETE:  # frequent cases, without the branches of the others
        for s in range(first, last):
            bond = 2.0 if rows.marks[s, OWNER] == task else 1.0
            columns[at, s] = bond * (columns[at, s] * (scale * numbers[s, SCALE]))
        return
    if code.kind == POLY and code.degree == 2 and ties == COMPLETE:
        for s in range(first, last):
            base = (code.gamma * columns[at, s] + code.coef0) * (scale * numbers[s, SCALE])
            bond = 2.0 if rows.marks[s, OWNER] == task else 1.0
            columns[at, s] = bond * (base * base)
        return
    for s in range(first, last):
        bond = tie(kernel, task, rows.marks[s, OWNER])
        value = scaled_value(code, columns[at, s], xx, numbers[s, SQUARE], scale * numbers[s, SCALE])
        columns[at, s] = bond * value
