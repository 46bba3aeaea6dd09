"""How `adaptive` and `auto` see an event: a row is scaled, its slots are looked up once, and all experts score it."""

import math
from typing import Any, NamedTuple

import numpy as np

from weft.batch import Batch, Floats, Ints, longest_row
from weft.bundle import opened
from weft.geometry.asking import ask_own, ask_shared, next_row
from weft.geometry.harmless import mixture
from weft.geometry.newton import seat_row, seated_score
from weft.geometry.parts import (
    OTHER,
    PART_WIDTH,
    POOLED_WIDTH,
    behind,
    copy_bias,
    copy_rows,
    other_scored,
    scored,
    starts_in_rest,
    starts_of,
    starts_of_pairs,
)
from weft.geometry.row_scaling import EVENTS, HALF, NONZEROS, scale_row, sum_rows
from weft.geometry.target_frame import HI, LO, UHI, ULO, frame
from weft.jit import lean, part
from weft.lanes import WIDTH, added_up, four_at, spread
from weft.learners.adaptive_state import EVENTS_OF_TASK, EXPERTS, TASK_DEV, WEIGHT, YSUM, Hyper, Parts, V
from weft.pairs import (
    HASHED,
    TASK_STRIDE,
    find_row,
)

SMAX, QMAX = 8.0, 14.0
"""Scores are clipped where they enter the stack, log-odds where they become probabilities."""


class Space(NamedTuple):
    """Scratch of one event: its features, their slots and scaled values, the bets, and all that was predicted."""

    found: Ints
    slots: Ints
    z: Floats
    own_bets: Floats
    shared_bets: Floats
    own_rest: Floats  # copies of the last rows, which do not fill a vector, and of the bias
    shared_rest: Floats
    pooled_rest: Floats
    x: Floats  # the row at its seats, and the matrix times that
    px: Floats
    e: Floats  # scores of the experts
    c: Floats  # the same, clipped
    f: Floats  # stack, own, pooled
    g: Floats  # what they predict
    w: Floats  # their weights
    l: Floats  # likelihoods, or half squares, of these and of the mixture
    errors: Floats  # of the experts
    learns: Ints  # whether the example that is looked at is learned next, which asks memory for the next one's pairs
    learned: Ints  # up to which example
    summed: Ints  # and up to which one its rows are in the sums of features


class World(NamedTuple):
    """All that an event concerns; compiled functions hand it on as a bundle."""

    hyper: Hyper
    state: Parts
    batch: Batch
    space: Space


@part
def space_for(state: Parts, batch: Batch) -> Space:
    """Room for a row and for all dense features: their densities add up to the mean length of the rows so far."""
    longest, totals = longest_row(batch), state.totals
    mean = int(totals[NONZEROS] / max(totals[EVENTS], 1.0)) + 1
    most = longest + int(max(longest, mean) / HALF) + 2 + WIDTH
    ints, floats, seats = np.empty((2, most), np.int64), np.empty((3, most)), np.zeros((2, len(state.matrix)))
    small = np.zeros((7, EXPERTS))
    return Space(
        ints[0],
        ints[1],
        floats[0],
        floats[1],
        floats[2],
        np.zeros((WIDTH, PART_WIDTH)),
        np.zeros((WIDTH, PART_WIDTH)),
        np.zeros((WIDTH, POOLED_WIDTH)),
        seats[0],
        seats[1],
        small[0],
        small[1],
        small[2],
        small[3],
        small[4],
        small[5],
        small[6],
        np.zeros(1, np.int64),
        np.full(1, batch.rounds[0]),
        np.full(1, batch.rounds[0]),
    )


@lean
def sigma(q: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(q, -QMAX), QMAX)))


@lean
def _find(world: Any, k: int, count: int) -> None:
    """The slots of the pairs of task k with the features found, -1 where there is none yet."""
    _, state, _, space = opened(world)
    layout, keys, table = state.pairs
    found, slots = space.found, space.slots
    if layout[HASHED]:
        find_row(keys, table, state.own, k, found, 0, count, slots)
    else:
        for a in range(count):
            slots[a] = k * layout[TASK_STRIDE] + found[a] if found[a] < len(state.features) else -1


@lean
def _score(world: Any, i: int, count: int) -> None:
    """Scores of the experts, summed up in turns of four, the bias last: first shared parts, then own ones.

    Of the next example memory is asked for half of the features in either loop; for pairs when this one is learned.
    """
    hyper, state, batch, space = opened(world)
    found, slots, z, own_bets, shared_bets, own_rest, shared_rest, pooled_rest = space[:8]
    own, features, pooled, auto = state.own, state.features, state.pooled, hyper.auto
    e, k, indices = space.e, batch.task[i], batch.indices
    then, end, next_task = next_row(own, features, batch, i)
    coming, coming_end = (0, 0) if space.learns[0] else (then, end)
    known, whole, a, none = len(features), count // WIDTH * WIDTH, spread(state.totals[WEIGHT]), spread(0.0)
    z[count] = 1.0
    for n in range(count + 1, whole + WIDTH):
        z[n] = 0.0
    row, row_end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    last, usual = four_at(z, np.uint64(whole)), row == row_end or indices[row_end - 1] < known
    sums, others, rest = (none, none), none, starts_in_rest(PART_WIDTH)
    for n in range(0, whole, WIDTH):
        value = four_at(z, np.uint64(n))
        if usual:
            sums = scored(features, starts_of(found, n, PART_WIDTH), value, a, shared_bets, n, sums)
        else:
            copy_rows(features, known, found, found, n, n + WIDTH, shared_rest)
            sums = scored(shared_rest, rest, value, a, shared_bets, n, sums)
        if auto and usual:
            others = other_scored(pooled, starts_of(found, n, POOLED_WIDTH), value, others)
        elif auto:
            copy_rows(pooled, known, found, found, n, n + WIDTH, pooled_rest)
            others = other_scored(pooled_rest, starts_in_rest(POOLED_WIDTH), value, others)
        if then + 2 <= end:
            ask_shared(features, pooled, state.pairs, next_task, indices, then, 2)
            then += 2
    copy_rows(features, known, found, found, whole, count, shared_rest)
    copy_bias(state.bias, 0, 0, count - whole, shared_rest)
    sums = scored(shared_rest, rest, last, a, shared_bets, whole, sums)
    if auto:
        copy_rows(pooled, known, found, found, whole, count, pooled_rest)
        copy_bias(state.bias, 0, OTHER, count - whole, pooled_rest)
        others = other_scored(pooled_rest, starts_in_rest(POOLED_WIDTH), last, others)
    e[3], others = added_up(others), none
    for n in range(0, whole, WIDTH):
        value = four_at(z, np.uint64(n))
        if usual:
            starts = starts_of_pairs(slots, n)
            sums = scored(own, starts, value, a, own_bets, n, sums)
            if auto:
                others = other_scored(own, behind(starts, OTHER), value, others)
        else:
            copy_rows(own, known, slots, found, n, n + WIDTH, own_rest)
            sums = scored(own_rest, rest, value, a, own_bets, n, sums)
            others = other_scored(own_rest, behind(rest, OTHER), value, others)
        if then + 2 <= end:
            ask_shared(features, pooled, state.pairs, next_task, indices, then, 2)
            then += 2
        if coming + WIDTH <= coming_end:
            ask_own(state.pairs, own, next_task, indices, coming, WIDTH)
            coming += WIDTH
    ask_shared(features, pooled, state.pairs, next_task, indices, then, end - then)
    ask_own(state.pairs, own, next_task, indices, coming, coming_end - coming)
    copy_rows(own, known, slots, found, whole, count, own_rest)
    copy_bias(state.own_bias, k, 0, count - whole, own_rest)
    sums = scored(own_rest, rest, last, a, own_bets, whole, sums)
    others = other_scored(own_rest, behind(rest, OTHER), last, others)
    e[0], e[1], e[2], e[4] = added_up(sums[0]), added_up(sums[1]), added_up(others), 0.0


@lean
def bring_sums_up_to_date(world: Any) -> None:
    """Examples that were learned, and are not in the sums of their features yet, are added."""
    _, state, batch, space = opened(world)
    sum_rows(state.sums, batch, space.summed[0], space.learned[0])
    space.summed[0] = space.learned[0]


@lean
def _scale(world: Any, begin: int, end: int) -> int:
    """Bring a row to its scale; -1 if that needs sums which are not up to date."""
    _, state, batch, space = opened(world)
    return scale_row(
        state.totals,
        state.features,
        state.sums,
        state.dense,
        state.n_dense[0],
        batch.indices,
        batch.values,
        begin,
        end,
        space.found,
        space.z,
        space.own_bets,
        space.summed[0] == space.learned[0],
    )


@lean
def view(world: Any, i: int) -> tuple[int, float, float]:
    """Scale and score example i: the number of its features, the stack's score s, and the prediction p."""
    hyper, state, batch, space = opened(world)
    found, z, e, c = space.found, space.z, space.e, space.c
    stack = state.stack
    k, begin, end = batch.task[i], batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    count = _scale(world, begin, end)
    if count < 0:
        bring_sums_up_to_date(world)
        count = _scale(world, begin, end)
    _find(world, k, count)
    _score(world, i, count)
    if hyper.second:
        seat_row(state.seat, state.n_seats[0], found, z, count, space.x)
        e[4] = seated_score(state.seated, state.n_seats[0], space.x)
    s = 0.0
    for m in range(EXPERTS):
        c[m] = min(max(e[m], -SMAX), SMAX)
        s += stack[V, m] * c[m]
    return count, s, _predicted(world, k, s)


@lean
def _predicted(world: Any, k: int, s: float) -> float:
    """The stack's prediction, or that of the mixture of stack, own and pooled model."""
    hyper, state, _, space = opened(world)
    low, high = state.labels[ULO], state.labels[UHI]
    c, f, g, w = space.c, space.f, space.g, space.w
    f[0], f[1], f[2] = s, c[2], c[3]
    p = 0.0
    if hyper.auto:
        mixture(state.tasks, k, hyper.square, w)
    for m in range(3 if hyper.auto else 1):
        if hyper.square:
            f[m] = min(max(f[m], low), high)
        g[m] = f[m] if hyper.square else sigma(f[m])
        p += (w[m] if hyper.auto else 1.0) * g[m]
    return p


@lean
def answer(world: Any, k: int, p: float) -> float:
    """Log-odds, or the value in the frame of the task's labels."""
    hyper, state, _, _ = opened(world)
    if not hyper.square:
        return math.log(p / (1.0 - p))
    labels, tasks, t = state.labels, state.tasks, state.totals[EVENTS]
    if t == 0.0:
        return 0.0
    mu, sd, _, _ = frame(labels, t, tasks[k, EVENTS_OF_TASK], tasks[k, YSUM], tasks[k, TASK_DEV])
    return float(min(max(mu + sd * p, labels[LO]), labels[HI]))
