r"""The active set of kernel learners: rows that are kept, with their coefficients, for all tasks together.

    f(x, i) = sum_s b_s (A^-1)_{i, i_s} K'(x_s, x)

Rows are kept sparse, one after the other. The room of rows that left is reclaimed when half of all room is holes.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import helper, helper_no_alloc, inlined_only
from weft.graphs.relation import Relation
from weft.learners.budget.ties import unit
from weft.maths.kernels import KernelCode, row_scale, self_value
from weft.storage.batch import Batch
from weft.storage.sparse_rows import Row
from weft.storage.state import NONZERO, SUPPORT

MARKS = 3
OWNER, BEGIN, END = range(MARKS)
"""Columns of `marks`: the task, and where the row lies in `indices` and `values`."""

NUMBERS = 4
COEFFICIENT, ENTERED, SQUARE, SCALE = range(NUMBERS)
"""Columns of `numbers`: b, the event at which the row entered, |x|^2 and `row_scale` of x."""

COUNTS = 3
TASKS, NONZEROS, SUMS = range(COUNTS)
"""Positions in `counts`: tasks seen, non-zeros of the rows kept (those of `used` have holes), rows of `sums`."""

SCALARS = 11
EVENTS, MISTAKES, EVICTIONS, DAMAGE, LARGEST, FACTOR, Q, SINCE, CHANGES, REBUILDS, TOO_LARGE = range(SCALARS)
"""Positions in `scalars`: events with a label, mistakes on rows with a direction, rows evicted, the length of what that
changed in the function, the largest K'(x, x), the common factor of all coefficients, the Forgetron's Q; evictions and
changes of the active set since the inverse was recomputed, how often it was; rows larger than the whole budget."""

PLACES = 2
ROW, SUM = range(PLACES)
"""Columns of `places`: a task's row of `weights`, a clique's row of `sums`, both plus one; 0: none yet."""

TRACE = ("mistake", "kept", "evicted", "damage")
"""What a traced run records of an example: was it a mistake, rows kept after it, rows evicted at it, their damage."""

LARGEST_KERNEL = 1e300
"""A row with a larger K(x, x) cannot be kept: its products overflow."""

HOLES = 1024
"""This many non-zeros may be unused before half of the room has to be in use."""

ROW_BYTES = 56
"""Of a row that is kept, beside its features and values."""


class Budget(NamedTuple):
    """The parameters as compiled code takes them."""

    rule: int
    ties: int  # how tasks are related in the score
    column_ties: int  # the same in the columns of kernels: NO_TASKS if rows are compared without their tasks
    kernel: KernelCode
    B: int
    bytes: float  # the most that may be kept
    square: float  # bytes per pair of rows
    c2: float  # c_G^2 of a graph that does not grow
    eta: float = 0.0
    relative: bool = False
    R2: float = 1.0


class ActiveSet(NamedTuple):
    """Rows, and what their learners keep about them. Each learner uses the arrays that its plan names."""

    marks: Ints
    numbers: Floats
    indices: Ints
    values: Floats
    used: Ints
    counts: Ints
    scalars: Floats
    generator: Ints
    gram: Floats  # H, lower triangle
    inverse: Floats  # H^-1, lower triangle
    weights: Floats  # of every task for every row
    sums: Floats  # of the weights of a component's tasks
    places: Ints
    wide: Floats  # working space: an event's values by feature, 0 elsewhere
    relation: Relation  # follows from the parameters, so not part of a file


class Rows(NamedTuple):
    """The active set S: the rows themselves."""

    marks: Ints
    numbers: Floats
    indices: Ints
    values: Floats
    used: Ints
    counts: Ints
    scalars: Floats


class Mistake(NamedTuple):
    """The example t with y f(x) <= 0, in the paper's symbols."""

    x: Row
    task: int
    y: float
    xx: float  # |x|^2
    tt: float  # K(t, t)
    k: Floats  # the kernels of t with all rows of S


@helper
def rows_of(state: ActiveSet) -> Rows:
    return Rows(state.marks, state.numbers, state.indices, state.values, state.used, state.counts, state.scalars)


# --- room ---


@helper_no_alloc
def has_room(hyper: Budget, rows: Rows, batch: Batch, lo: int, hi: int) -> bool:
    """Can all rows of a round be kept?"""
    nonzeros = rows.used[NONZERO]
    for i in range(lo, hi):
        nonzeros += batch.indptr[batch.row[i] + 1] - batch.indptr[batch.row[i]]
    support = min(rows.used[SUPPORT] + hi - lo, hyper.B)
    return bool(support <= len(rows.marks) and nonzeros <= len(rows.values))


@helper_no_alloc
def over(hyper: Budget, count: int, nonzeros: int, movers: int) -> bool:
    """Are this many rows and non-zeros more than the budget allows? `movers` tasks have weights of their own."""
    if count > hyper.B:
        return True
    if math.isinf(hyper.bytes):
        return False
    per_row = ROW_BYTES + 8.0 * movers + hyper.square * count
    return bool(16.0 * nonzeros + per_row * count > hyper.bytes)


@helper_no_alloc
def count_tasks(counts: Ints, batch: Batch, lo: int, hi: int) -> None:
    """N counts the tasks of a round before it is scored."""
    for i in range(lo, hi):
        counts[TASKS] = max(counts[TASKS], batch.task[i] + 1)


@inlined_only
def unit_for(hyper: Budget, counts: Ints, task: int) -> float:
    """What ties are multiplied by. A task that was never seen is counted as if it had just arrived."""
    return unit(hyper.ties, max(counts[TASKS], task + 1))


# --- the function ---


@helper_no_alloc
def combine(rows: Rows, column: Floats) -> float:
    """sum_s b_s column_s."""
    total = 0.0
    for s in range(rows.used[SUPPORT]):
        total += rows.numbers[s, COEFFICIENT] * column[s]
    return float(rows.scalars[FACTOR] * total)


@helper_no_alloc
def counts_as_mistake(code: KernelCode, value: float, xx: float, scalars: Floats) -> bool:
    """Is K(t, t) positive and not too large? A row without direction never enters the active set."""
    if not 0.0 < value < LARGEST_KERNEL:
        return False
    scalars[LARGEST] = max(scalars[LARGEST], self_value(code, xx))
    scalars[MISTAKES] += 1.0
    return True


@inlined_only
def record(trace: Floats, i: int, is_mistake: bool, rows: Rows, before: tuple[float, float]) -> None:
    """One row of the trace, if there is one; `before` has the evictions and the damage before the example."""
    if trace.shape[0]:
        trace[i, 0], trace[i, 1] = 1.0 if is_mistake else 0.0, rows.used[SUPPORT]
        trace[i, 2], trace[i, 3] = rows.scalars[EVICTIONS] - before[0], rows.scalars[DAMAGE] - before[1]


# --- rows enter and leave ---


@helper
def keep_row(code: KernelCode, rows: Rows, t: Mistake, s: int, coefficient: float) -> None:
    """Example t in slot s, which is free or that of a row to be overwritten."""
    marks, numbers, used, counts = rows.marks, rows.numbers, rows.used, rows.counts
    indices, values, first, last = t.x
    nonzeros = last - first
    if s < used[SUPPORT]:
        counts[NONZEROS] -= marks[s, END] - marks[s, BEGIN]
    else:
        used[SUPPORT] = s + 1
    marks[s, BEGIN], marks[s, END] = 0, 0
    counts[NONZEROS] += nonzeros
    if used[NONZERO] + nonzeros > 2 * counts[NONZEROS] + HOLES:
        close_holes(rows)
    at = used[NONZERO]
    marks[s, OWNER], marks[s, BEGIN], marks[s, END] = t.task, at, at + nonzeros
    for e in range(nonzeros):
        rows.indices[at + e] = indices[first + e]
        rows.values[at + e] = values[first + e]
    used[NONZERO] += nonzeros
    numbers[s, COEFFICIENT], numbers[s, ENTERED] = coefficient, rows.scalars[EVENTS]
    numbers[s, SQUARE], numbers[s, SCALE] = t.xx, row_scale(code, t.xx)


@helper_no_alloc
def drop_row(rows: Rows, s: int) -> None:
    """Free slot s; the last row moves there."""
    marks, numbers, last = rows.marks, rows.numbers, rows.used[SUPPORT] - 1
    rows.counts[NONZEROS] -= marks[s, END] - marks[s, BEGIN]
    for c in range(MARKS):
        marks[s, c] = marks[last, c]
    for c in range(NUMBERS):
        numbers[s, c] = numbers[last, c]
    rows.used[SUPPORT] = last


@helper
def close_holes(rows: Rows) -> None:
    """Store the rows without gaps between them, in the order of their slots."""
    marks, n, total = rows.marks, rows.used[SUPPORT], 0
    for s in range(n):
        total += marks[s, END] - marks[s, BEGIN]
    indices, values = np.empty(total, np.int64), np.empty(total)
    at = 0
    for s in range(n):
        begin, end = marks[s, BEGIN], marks[s, END]
        marks[s, BEGIN] = at
        for e in range(begin, end):
            indices[at], values[at] = rows.indices[e], rows.values[e]
            at += 1
        marks[s, END] = at
    for e in range(total):
        rows.indices[e], rows.values[e] = indices[e], values[e]
    rows.used[NONZERO] = total


@helper_no_alloc
def note_eviction(scalars: Floats, damage: float) -> None:
    scalars[EVICTIONS] += 1.0
    scalars[CHANGES] += 1.0
    scalars[DAMAGE] += damage
    scalars[SINCE] += 1.0


@helper_no_alloc
def oldest(numbers: Floats, n: int, after: float) -> int:
    """The slot of the first row that entered later than `after`, or -1."""
    found = -1
    for s in range(n):
        if numbers[s, ENTERED] > after and (found < 0 or numbers[s, ENTERED] < numbers[found, ENTERED]):
            found = s
    return found
