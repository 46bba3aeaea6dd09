r"""The active set of kernel learners: rows that are kept, with their coefficients, for all tasks together.

    f(x, i) = sum_s b_s (A^-1)_{i, i_s} K'(x_s, x)

Rows are kept sparse, one behind the other; room that a row leaves behind is won back when half of it is holes.
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
from weft.storage.state import NONZERO, SUPPORT

OWNER, BEGIN, END = range(3)
"""Columns of `marks`: the task, and where the row lies in `indices` and `values`."""

COEFFICIENT, ENTERED, SQUARE, SCALE = range(4)
"""Columns of `numbers`: b, the event at which the row came, |x|^2 and `row_scale` of x."""

TASKS, NONZEROS, SUMS = range(3)
"""Positions in `counts`: tasks seen, non-zeros of the rows kept (those of `used` have holes), rows of `sums`."""

EVENTS, MISTAKES, EVICTIONS, DAMAGE, LARGEST, FACTOR, Q, SINCE, CHANGES, REBUILDS, TOO_LARGE = range(11)
"""Positions in `scalars`: events with a label, mistakes on rows with a direction, rows evicted, what that changed in
the function, the largest K'(x, x), what coefficients are to be multiplied by, the Forgetron's Q; evictions and changes
of the active set since the inverse was made anew, how often that was; rows larger than the whole budget."""

TRACE = ("mistake", "kept", "evicted", "damage")
"""What a traced run records of an example: was it a mistake, rows kept after it, rows evicted at it, their damage."""

LARGEST_KERNEL = 1e300
"""A row with a larger K(x, x) cannot be kept: its products overflow."""

HOLES = 1024
"""So many non-zeros may lie idle before half of the room has to be in use."""

ROW_BYTES = 56
"""Of a row that is kept, beside its features and values."""


class Budget(NamedTuple):
    """The parameters as compiled code takes them."""

    rule: int
    ties: int  # what binds the tasks in the score
    kernel: KernelCode
    B: int
    bytes: float  # the most that may be kept
    square: float  # bytes per pair of rows
    eta: float
    relative: bool
    R2: float
    c2: float  # c_G^2 of a graph that does not grow


class ActiveSet(NamedTuple):
    """Rows, and what their learners keep about them; each uses the arrays that its plan names."""

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
    places: Ints  # a task's row of `weights` and a component's of `sums`, plus one; 0: none yet
    wide: Floats  # working space: an event's values by feature, zeros in between
    relation: Relation  # follows from the parameters, so not part of a file


class Rows(NamedTuple):
    """What there is to know about the rows themselves."""

    marks: Ints
    numbers: Floats
    indices: Ints
    values: Floats
    used: Ints
    counts: Ints
    scalars: Floats


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
    """Would so many rows and non-zeros be more than the budget allows?"""
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
    """What ties are multiplied by; a task that was never seen counts as the newcomer that it would be."""
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
    """Is K(t, t) a size that can be worked with? A row without direction never enters the active set."""
    if not 0.0 < value < LARGEST_KERNEL:
        return False
    scalars[LARGEST] = max(scalars[LARGEST], self_value(code, xx))
    scalars[MISTAKES] += 1.0
    return True


# --- rows come and go ---


@helper
def keep_row(code: KernelCode, rows: Rows, batch: Batch, i: int, s: int, coefficient: float, xx: float) -> None:
    """Example i in slot s, which is free or that of a row to be overwritten."""
    marks, numbers, used, counts = rows.marks, rows.numbers, rows.used, rows.counts
    first = batch.indptr[batch.row[i]]
    nonzeros = batch.indptr[batch.row[i] + 1] - first
    if s < used[SUPPORT]:
        counts[NONZEROS] -= marks[s, END] - marks[s, BEGIN]
    else:
        used[SUPPORT] = s + 1
    marks[s, BEGIN], marks[s, END] = 0, 0
    counts[NONZEROS] += nonzeros
    if used[NONZERO] + nonzeros > 2 * counts[NONZEROS] + HOLES:
        close_holes(rows)
    at = used[NONZERO]
    marks[s, OWNER], marks[s, BEGIN], marks[s, END] = batch.task[i], at, at + nonzeros
    for e in range(nonzeros):
        rows.indices[at + e] = batch.indices[first + e]
        rows.values[at + e] = batch.values[first + e]
    used[NONZERO] += nonzeros
    numbers[s, COEFFICIENT], numbers[s, ENTERED] = coefficient, rows.scalars[EVENTS]
    numbers[s, SQUARE], numbers[s, SCALE] = xx, row_scale(code, xx)


@helper_no_alloc
def drop_row(rows: Rows, s: int) -> None:
    """Give up slot s; the last row moves there."""
    marks, numbers, last = rows.marks, rows.numbers, rows.used[SUPPORT] - 1
    rows.counts[NONZEROS] -= marks[s, END] - marks[s, BEGIN]
    for c in range(3):
        marks[s, c] = marks[last, c]
    for c in range(4):
        numbers[s, c] = numbers[last, c]
    rows.used[SUPPORT] = last


@helper
def close_holes(rows: Rows) -> None:
    """The rows one behind the other, in the order of their slots."""
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
