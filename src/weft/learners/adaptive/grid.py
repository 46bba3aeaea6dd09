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

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.bundle import Bundle, opened
from weft.compiled.jit import helper_no_alloc, inlined_only
from weft.compiled.lanes import (
    WIDTH,
    Four,
    broadcast,
    horizontal_sum,
    load_four,
    load_two_columns,
    store_two_columns,
)
from weft.learners.adaptive.draws import hashed
from weft.learners.adaptive.experts import EPS, adagrad_step
from weft.learners.adaptive.missing import gaps_of
from weft.learners.adaptive.parts import Starts
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
    grid, cells, shares = state.grid, scratch.cells, scratch.shares
    columns, total = scratch.in_seats[1], broadcast(0.0)
    for b in range(1, columns):
        for a in range(b):
            w, _ = load_two_columns(grid, *_corners(cells, a, b))
            total += w * _shares(shares, a, b)
    return horizontal_sum(total) / math.sqrt(max(columns * (columns - 1) // 2, 1))


@helper_no_alloc
def update_grid(context: Bundle[Context], error: float) -> None:
    """Learn from the expert's error."""
    hyper, state, _, scratch = opened(context)
    grid, cells, shares = state.grid, scratch.cells, scratch.shares
    columns, eta, eps = scratch.in_seats[1], broadcast(hyper.eta), broadcast(EPS)
    scale = broadcast(error / math.sqrt(max(columns * (columns - 1) // 2, 1)))
    for b in range(1, columns):
        for a in range(b):
            corners, h = _corners(cells, a, b), scale * _shares(shares, a, b)
            w, squares = load_two_columns(grid, *corners)
            store_two_columns(grid, *corners, adagrad_step(w, squares, h, eps, eta))


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
        scratch.cells[column] = below
        above = place - below
        for corner in range(WIDTH):
            at = 2 * WIDTH * column + corner
            scratch.shares[at] = above if corner // 2 else 1.0 - above
            scratch.shares[at + WIDTH] = above if corner % 2 else 1.0 - above


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
def _corners(cells: Ints, a: int, b: int) -> Starts:
    """Where the numbers of a pair's four cells around the ranks begin, flat."""
    at = np.uint64(2 * ((b * (b - 1) // 2 + a) * CELLS + cells[a] * POINTS + cells[b]))
    return at, at + np.uint64(2), at + np.uint64(2 * POINTS), at + np.uint64(2 * POINTS + 2)


@inlined_only
def _shares(shares: Floats, a: int, b: int) -> Four:
    """How much these cells count."""
    return load_four(shares, np.uint64(2 * WIDTH * a)) * load_four(shares, np.uint64(2 * WIDTH * b + WIDTH))
