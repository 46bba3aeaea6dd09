r"""The grid expert: for every pair of dense columns a table of weights, shared by all tasks, over the columns' ranks.

The rank of a value, from 0 to 1, is the share of the column's values so far that are smaller: of RESERVOIR of them,
drawn at random, and the row's own value. Five points from 0 to 1 divide it; a value counts for the point below and the
one above, by how near they are, and a pair of columns for four points of its grid of 25. Weights w of points that are
hit by the shares a and b move by AdaGrad,

    s = sum over pairs and points of w a b / sqrt(pairs)

with eta of the gradient expert. The columns are the first GRID_COLUMNS in seats (`second_order.assign_seats`). A row in
which no feature has a seat is left alone. A value that is missing counts as the column's mean, and is not kept.
"""

import math

from weft.compiled.bundle import Bundle, opened
from weft.compiled.jit import helper_no_alloc, inlined_only
from weft.learners.adaptive.coordinates import Step, step_one
from weft.learners.adaptive.draws import hashed
from weft.learners.adaptive.experts import EPS
from weft.learners.adaptive.missing import gaps_of
from weft.learners.adaptive.row_statistics import row_of
from weft.learners.adaptive.scratch import Context
from weft.learners.adaptive.state import CELLS, GRID_COLUMNS, RESERVOIR, Total

POINTS = 5
DRAWN = 3
"""The kind of draws (`draws`)."""
MOST = 1 << 31
"""Positions are drawn among so many values at most."""


@inlined_only
def score_grid(context: Bundle[Context], i: int) -> float:
    """The score; keeps the points that the row hits."""
    _, state, _, scratch = opened(context)
    _find_points(context, i)
    columns, total = scratch.in_seats[1], 0.0
    for b in range(1, columns):
        for a in range(b):
            for corner in range(4):
                total += state.grid[_cell(context, a, b, corner), 0] * _share(context, a, b, corner)
    return total / math.sqrt(max(columns * (columns - 1) // 2, 1))


@helper_no_alloc
def update_grid(context: Bundle[Context], error: float) -> None:
    """Learn from the expert's error."""
    hyper, state, _, scratch = opened(context)
    columns = scratch.in_seats[1]
    scale = error / math.sqrt(max(columns * (columns - 1) // 2, 1))
    step = Step(error, hyper.eta, EPS, 1.0)
    for b in range(1, columns):
        for a in range(b):
            for corner in range(4):
                step_one(state.grid, _cell(context, a, b, corner), 0, scale * _share(context, a, b, corner), step)


@helper_no_alloc
def keep_values(context: Bundle[Context]) -> None:
    """Let the values of a row that was learned join those from which ranks are told."""
    _, state, _, scratch = opened(context)
    for column in range(scratch.in_seats[1]):
        if not scratch.is_kept[column]:
            continue
        state.reservoir_counts[column] += 1
        count = min(state.reservoir_counts[column], MOST)
        at = count - 1 if count <= RESERVOIR else (hashed(DRAWN + column, count) * count) >> 32
        if at < RESERVOIR:
            state.reservoir[column, at] = scratch.grid_values[column]


@inlined_only
def _find_points(context: Bundle[Context], i: int) -> None:
    """The columns of the row, the point below the rank of each, and how much the point above counts."""
    _, state, batch, scratch = opened(context)
    row, columns = row_of(batch, i), min(state.n_seats[0] - 1, GRID_COLUMNS) if scratch.in_seats[0] else 0
    for column in range(columns):
        scratch.grid_values[column], scratch.is_kept[column] = 0.0, 1
    for e in range(row.begin, row.end):
        f = row.indices[e]
        if f < len(state.seat) and 0 < state.seat[f] <= columns:
            scratch.grid_values[state.seat[f] - 1] = row.values[e]
    first, last = gaps_of(scratch.gaps, batch, i)
    for n in range(first, last):
        f = scratch.gaps.features[n]
        if f < len(state.seat) and 0 < state.seat[f] <= columns and state.place[f] > 0:
            column = state.seat[f] - 1
            scratch.grid_values[column] = state.sums[f] / (state.totals[Total.EVENTS] - state.missing[f])
            scratch.is_kept[column] = 0
    scratch.in_seats[1] = columns
    for column in range(columns):
        place = _rank(context, column) * (POINTS - 1)
        below = min(int(place), POINTS - 2)
        scratch.cells[column], scratch.shares[column] = below, place - below


@inlined_only
def _rank(context: Bundle[Context], column: int) -> float:
    """Of the row's value among the values kept and itself: those that equal it count half."""
    _, state, _, scratch = opened(context)
    x, kept, less, equal = scratch.grid_values[column], min(state.reservoir_counts[column], RESERVOIR), 0, 1
    for v in range(kept):
        less += 1 if state.reservoir[column, v] < x else 0
        equal += 1 if state.reservoir[column, v] == x else 0
    return float((less + 0.5 * equal) / (kept + 1))


@inlined_only
def _cell(context: Bundle[Context], a: int, b: int, corner: int) -> int:
    """The row of a pair's cell, at one of the four corners around the ranks."""
    _, _, _, scratch = opened(context)
    pair = b * (b - 1) // 2 + a
    return int(pair * CELLS + (scratch.cells[a] + corner // 2) * POINTS + scratch.cells[b] + corner % 2)


@inlined_only
def _share(context: Bundle[Context], a: int, b: int, corner: int) -> float:
    """How much that corner counts."""
    _, _, _, scratch = opened(context)
    one, other = scratch.shares[a], scratch.shares[b]
    return float((one if corner // 2 else 1.0 - one) * (other if corner % 2 else 1.0 - other))
