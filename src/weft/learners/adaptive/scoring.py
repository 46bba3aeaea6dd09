"""How `adaptive` and `auto` see an event: a row is scaled, its slots are looked up once, and all experts score it."""

import math
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.bundle import opened
from weft.compiled.jit import helper, helper_no_alloc, inlined_only
from weft.compiled.lanes import WIDTH, Four, broadcast, horizontal_sum, load_four
from weft.learners.adaptive.harmless import mixture
from weft.learners.adaptive.newton import seat_row, seated_score
from weft.learners.adaptive.parts import (
    OTHER,
    PART_WIDTH,
    POOLED_WIDTH,
    behind,
    copy_bias,
    copy_known,
    copy_rows,
    other_scored,
    pooled_starts,
    scored,
    starts_at,
    starts_in_rest,
)
from weft.learners.adaptive.prefetch import Coming, ask_keys, ask_last, ask_own, ask_some, next_row
from weft.learners.adaptive.row_scaling import EVENTS, HALF, NONZEROS, scale_row, sum_rows
from weft.learners.adaptive.state import EVENTS_OF_TASK, EXPERTS, TASK_DEV, WEIGHT, YSUM, Hyper, Parts, V
from weft.learners.adaptive.target_frame import HI, LO, UHI, ULO, frame
from weft.storage.batch import Batch, longest_row
from weft.storage.pairs import HASHED, TASK_STRIDE, find_row

SMAX, QMAX = 8.0, 14.0
"""Scores are clipped where they enter the stack, log-odds where they become probabilities."""


class Space(NamedTuple):
    """Scratch of one event: its features, their slots and scaled values, the bets, and all that was predicted."""

    found: Ints
    slots: Ints
    at_shared: Ints  # where parts of the features and of the pairs begin, counted in numbers
    at_own: Ints
    z: Floats
    own_bets: Floats
    shared_bets: Floats
    own_rest: Floats  # copies of the last rows, which do not fill a vector, and of the bias
    shared_rest: Floats
    pooled_rest: Floats
    features: Floats  # copies of a row's parts, where it has features that are not known yet
    own: Floats
    pooled: Floats
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


@helper
def space_for(state: Parts, batch: Batch) -> Space:
    """Room for a row and for all dense features: their densities add up to the mean length of the rows so far."""
    longest, totals = longest_row(batch), state.totals
    mean = int(totals[NONZEROS] / max(totals[EVENTS], 1.0)) + 1
    most = longest + int(max(longest, mean) / HALF) + 2 + WIDTH
    copies = 0
    for row in range(len(batch.indptr) - 1):
        end = batch.indptr[row + 1]
        if end > batch.indptr[row] and batch.indices[end - 1] >= len(state.features):
            copies = most
    ints, floats, seats = np.empty((4, most), np.int64), np.empty((3, most)), np.zeros((2, len(state.matrix)))
    small = np.zeros((7, EXPERTS))
    return Space(
        ints[0],
        ints[1],
        ints[2],
        ints[3],
        floats[0],
        floats[1],
        floats[2],
        np.zeros((WIDTH, PART_WIDTH)),
        np.zeros((WIDTH, PART_WIDTH)),
        np.zeros((WIDTH, POOLED_WIDTH)),
        np.empty((copies, PART_WIDTH)),
        np.empty((copies, PART_WIDTH)),
        np.empty((copies, POOLED_WIDTH)),
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


@helper_no_alloc
def sigma(q: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(q, -QMAX), QMAX)))


@helper_no_alloc
def _find(world: Any, k: int, count: int) -> None:
    """Where the parts of the features found begin, and those of their pairs with task k.

    A hashed pair that was never opened reads the first slot, which no task has.
    """
    _, state, _, space = opened(world)
    layout, keys, table = state.pairs
    found, slots, at_shared, at_own = space.found, space.slots, space.at_shared, space.at_own
    first = k * layout[TASK_STRIDE] * PART_WIDTH
    for n in range(count):
        at_shared[n] = found[n] * PART_WIDTH
        at_own[n] = first + found[n] * PART_WIDTH
    if layout[HASHED]:
        find_row(keys, table, state.own, k, found, 0, count, slots)
        for n in range(count):
            at_own[n] = max(slots[n], 0) * PART_WIDTH


@inlined_only
def _scored_rows(
    parts: Floats,
    at: Ints,
    z: Floats,
    a: Four,
    bets: Floats,
    whole: int,
    sums: tuple[Four, Four],
    features: Floats,
    coming: Coming,
) -> tuple[Four, Four]:
    """Scores with parts of whole vectors added; every turn asks memory for two features of the next example."""
    for n in range(0, whole, WIDTH):
        sums = scored(parts, starts_at(at, n), load_four(z, np.uint64(n)), a, bets, n, sums)
        ask_some(features, PART_WIDTH, 0, coming, n // 2, 2)
    return sums


@helper_no_alloc
def _score(world: Any, i: int, count: int) -> None:
    """Scores of the experts, summed up in turns of four, the bias last: first shared parts, then own ones.

    Of the next example memory is asked for half of the features in either loop; for pairs when this one is learned.
    """
    hyper, state, batch, space = opened(world)
    z, e, at_shared, at_own = space.z, space.e, space.at_shared, space.at_own
    k, whole, a, none = batch.task[i], count // WIDTH * WIDTH, broadcast(state.totals[WEIGHT]), broadcast(0.0)
    z[count] = 1.0
    for n in range(count + 1, whole + WIDTH):
        z[n] = 0.0
    last, rest, at_last = load_four(z, np.uint64(whole)), starts_in_rest(PART_WIDTH), count - whole
    features, own, pooled = state.features, state.own, state.pooled
    row_end = batch.indptr[batch.row[i] + 1]
    if row_end > batch.indptr[batch.row[i]] and batch.indices[row_end - 1] >= len(state.features):
        _copy_known(world, count)
        features, own, pooled = space.features, space.own, space.pooled
    coming = next_row(state.own, state.features, batch, i)
    if state.pairs.layout[HASHED]:
        ask_keys(state.pairs, coming)
    shared_bets, shared_rest = space.shared_bets, space.shared_rest
    sums = (none, none)
    sums = _scored_rows(features, at_shared, z, a, shared_bets, whole, sums, state.features, coming)
    copy_rows(features, at_shared, whole, count, shared_rest)
    copy_bias(state.bias, 0, 0, at_last, shared_rest)
    sums = scored(shared_rest, rest, last, a, shared_bets, whole, sums)
    own_bets, own_rest = space.own_bets, space.own_rest
    later = Coming(coming.indices, coming.begin + whole // 2, coming.end, coming.task)
    sums = _scored_rows(own, at_own, z, a, own_bets, whole, sums, state.features, later)
    ask_last(state.features, PART_WIDTH, 0, coming, whole, 2)
    copy_rows(own, at_own, whole, count, own_rest)
    copy_bias(state.own_bias, k, 0, at_last, own_rest)
    sums = scored(own_rest, rest, last, a, own_bets, whole, sums)
    e[0], e[1], e[2], e[3], e[4] = horizontal_sum(sums[0]), horizontal_sum(sums[1]), 0.0, 0.0, 0.0
    if hyper.auto:
        _score_others(world, own, pooled, coming, count)
    if not space.learns[0]:
        ask_own(state.pairs, state.own, coming)


@inlined_only
def _score_others(world: Any, own: Floats, pooled: Floats, coming: Coming, count: int) -> None:
    """Scores of the own and the pooled expert."""
    _, state, _, space = opened(world)
    z, at_shared, at_own, rest = space.z, space.at_shared, space.at_own, space.pooled_rest
    whole, alone, together = count // WIDTH * WIDTH, broadcast(0.0), broadcast(0.0)
    last, others = load_four(z, np.uint64(whole)), behind(starts_in_rest(PART_WIDTH), OTHER)
    for n in range(0, whole, WIDTH):
        value = load_four(z, np.uint64(n))
        alone = other_scored(own, behind(starts_at(at_own, n), OTHER), value, alone)
        together = other_scored(pooled, pooled_starts(at_shared, n), value, together)
        ask_some(state.pooled, POOLED_WIDTH, 0, coming, n, WIDTH)
    ask_last(state.pooled, POOLED_WIDTH, 0, coming, whole, WIDTH)
    copy_rows(pooled, at_shared, whole, count, rest)
    copy_bias(state.bias, 0, OTHER, count - whole, rest)
    alone = other_scored(space.own_rest, others, last, alone)
    together = other_scored(rest, starts_in_rest(POOLED_WIDTH), last, together)
    space.e[2], space.e[3] = horizontal_sum(alone), horizontal_sum(together)


@helper_no_alloc
def _copy_known(world: Any, count: int) -> None:
    """Parts of a row with features that nothing was learned about: copies, with zeros for these."""
    _, state, _, space = opened(world)
    at_shared, at_own, found, known = space.at_shared, space.at_own, space.found, len(state.features)
    copy_known(state.features, known, at_shared, found, count, space.features)
    copy_known(state.own, known, at_own, found, count, space.own)
    if len(state.pooled):
        copy_known(state.pooled, known, at_shared, found, count, space.pooled)
    for n in range(count):
        at_shared[n], at_own[n] = n * PART_WIDTH, n * PART_WIDTH


@helper_no_alloc
def bring_sums_up_to_date(world: Any) -> None:
    """Examples that were learned, and are not in the sums of their features yet, are added."""
    _, state, batch, space = opened(world)
    sum_rows(state.sums, batch, space.summed[0], space.learned[0])
    space.summed[0] = space.learned[0]


@helper_no_alloc
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


@helper_no_alloc
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


@helper_no_alloc
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


@helper_no_alloc
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
