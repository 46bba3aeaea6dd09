"""Scratch space of one event, and the context that all functions of an event are passed.

`Context` holds the parameters, the state, the batch and the scratch space. Compiled functions pass it on as one
pointer, a `Bundle[Context]`, and open it where they need it.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints, ShortFloats
from weft.compiled.jit import helper
from weft.compiled.lanes import WIDTH
from weft.learners.adaptive.missing import Gaps
from weft.learners.adaptive.state import (
    GRID_COLUMNS,
    HALF,
    PART_WIDTH,
    POOLED_WIDTH,
    SEATS,
    Hyper,
    State,
    Total,
)
from weft.storage.batch import Batch, longest_row


class Progress(IntEnum):
    """Positions in `Scratch.progress`."""

    LEARNING = 0  # whether the example that is scored is learned next, which prefetches the next one's pairs
    LEARNED = 1  # up to which example the batch was learned
    SUMMED = 2  # up to which example its rows were added to `State.sums`


class Scratch(NamedTuple):
    """Arrays for one event, reused by the next one. Symbols are those of `learners`."""

    features: Ints  # of the scaled row
    z: Floats  # their scaled values
    slots: Ints  # of their pairs, if these are hashed
    shared_starts: Ints  # where the shared and the own parts of the features begin, flat
    own_starts: Ints
    shared_bets: Floats  # b of every entry
    own_bets: Floats
    shared_tail: Floats  # the last rows, which do not fill a vector, and the bias
    own_tail: Floats
    pooled_tail: Floats
    shared_copies: Floats  # of a row's parts, where it has features that are not known yet
    own_copies: ShortFloats
    pooled_copies: Floats
    x: Floats  # the row at its seats, and the matrix P times that
    px: Floats
    e: Floats  # scores of the experts
    c: Floats  # the same, clipped
    errors: Floats  # of the experts
    stack_scores: Floats  # of both stacks, if there are two
    f: Floats  # scores of the components
    g: Floats  # what they predict
    w: Floats  # their weights in the mixture
    losses: Floats  # of the components and of the mixture: likelihoods, or half squares
    progress: Ints
    gaps: Gaps  # entries that are explicitly missing
    sparse: Ints  # of `bayes`: how many entries are sparse, then their positions
    evidence: Floats  # its v
    task_factors: Floats  # of `low_rank`: P of the task, h of the row
    row_factors: Floats
    factor_starts: Ints  # where the factors of the features begin, in the state's array or in the copies
    columns: Floats  # of `second`: the row at its seats, and a matrix times that
    times_matrix: Floats
    in_seats: Ints  # has a feature of the row a seat? of `grid`: how many columns; of `fading`: is one of them dense?
    fading: Floats  # the row at its seats, as far as its features are dense
    is_kept: Ints  # of `grid`: whether a column has a value, its lower cell, and the share of the upper one
    cells: Ints
    grid_values: Floats  # the values of the columns
    shares: Floats  # of both columns of a pair, how much each of the four cells counts
    factor_copies: ShortFloats  # of a row's factors, where it has features that were never learned


class Context(NamedTuple):
    """All that an event needs."""

    hyper: Hyper
    state: State
    batch: Batch
    scratch: Scratch


@helper
def scratch_for(state: State, batch: Batch, gaps: Gaps) -> Scratch:
    """Space for a row of the batch and for all dense features.

    The densities of all features add up to the mean length of the rows, which limits how many can be dense. Most of the
    arrays are parts of a few: a single event waits 0.05 us for each that is allocated.
    """
    longest, totals = longest_row(batch), state.totals
    mean = int(totals[Total.NONZEROS] / max(totals[Total.EVENTS], 1.0)) + 1
    room = longest + int(max(longest, mean) / HALF) + 2 + WIDTH
    copies = room if _has_new_features(state, batch) else 0
    own_width, pooled_width, numbers = state.own.shape[1], state.pooled.shape[1], state.factors.shape[1]
    experts, matrix, rank, factor_rows = state.stack.shape[1], len(state.matrix), numbers // 2, room if numbers else 0
    ints, floats = np.empty((6, room), np.int64), np.empty((3, room))
    rows = np.zeros((20, max(experts, matrix, rank, SEATS, GRID_COLUMNS)))
    counters, tails = np.zeros((4, GRID_COLUMNS), np.int64), np.zeros((2, WIDTH, PART_WIDTH))
    progress = counters[0][:3]
    progress[Progress.LEARNED] = progress[Progress.SUMMED] = batch.rounds[0]
    return Scratch(
        features=ints[0],
        z=floats[0],
        slots=ints[1],
        shared_starts=ints[2],
        own_starts=ints[3],
        shared_bets=floats[1],
        own_bets=floats[2],
        shared_tail=tails[0],
        own_tail=tails[1],
        pooled_tail=np.zeros((WIDTH, POOLED_WIDTH)),
        shared_copies=np.empty((copies, PART_WIDTH)),
        own_copies=np.empty((copies, own_width), np.float32),
        pooled_copies=np.empty((copies, pooled_width)),
        x=rows[0][:matrix],
        px=rows[1][:matrix],
        e=rows[2][:experts],
        c=rows[3][:experts],
        errors=rows[4][:experts],
        stack_scores=rows[14][:2],
        f=rows[5][:experts],
        g=rows[6][:experts],
        w=rows[7][:experts],
        losses=rows[8][:experts],
        progress=progress,
        gaps=gaps,
        sparse=ints[4],
        evidence=rows[9][:1],
        task_factors=np.zeros((1, rank)),
        row_factors=rows[10][:rank],
        factor_starts=ints[5],
        columns=rows[11][:SEATS],
        times_matrix=rows[12][:SEATS],
        in_seats=counters[1][:3],
        fading=rows[15][:SEATS],
        is_kept=counters[2],
        cells=counters[3],
        grid_values=rows[13][:GRID_COLUMNS],
        shares=rows[16:].reshape(-1)[: 2 * WIDTH * GRID_COLUMNS],
        factor_copies=np.empty((factor_rows, numbers), np.float32),
    )


@helper
def _has_new_features(state: State, batch: Batch) -> bool:
    """Whether some row has features that were never learned: in a sorted row, the last ones."""
    for row in range(len(batch.indptr) - 1):
        end = batch.indptr[row + 1]
        if end > batch.indptr[row] and batch.indices[end - 1] >= len(state.features):
            return True
    return False
