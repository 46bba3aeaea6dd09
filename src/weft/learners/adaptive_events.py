"""Events of `adaptive` and `auto`: a row is scaled, its slots are looked up once, all experts score and learn it."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from weft.batch import Batch, Floats, Ints, longest_row, set_single
from weft.geometry.experts import EPS, TH, G, R, bet, descend, settle
from weft.geometry.harmless import LOSS, heed_likelihoods, heed_squares, mixture
from weft.geometry.newton import SEATS, SPREAD, hand_out_seats, newton_step, seat_row, seated_score
from weft.geometry.row_scaling import CNT, EVENTS, HALF, NONZEROS, count_row, scale_row
from weft.geometry.target_frame import HI, LO, UHI, ULO, UMAX, count_label, frame
from weft.instructions import prefetch
from weft.jit import Handle, inner, kernel, lean
from weft.pairs import (
    AHEAD,
    BASE,
    COUNT,
    FAR,
    HASHED,
    SIZE,
    TASK_STRIDE,
    Pairs,
    dense,
    find_row,
    first_place,
    first_slot,
    has_room,
    open_row,
)
from weft.state import Array, Plan

STATISTICS = 3
"""Columns of a feature before its shared parts: see `row_scaling`."""
GRADIENT, BETTING, OTHER = 0, 2, 6
"""First columns of a part: w and its squares of the gradient expert; th, G, L, R of the betting one; w and its squares
of the own expert (of a pair) or of the pooled one (of a feature), which `auto` has."""

EVENTS_OF_TASK, YSUM, TASK_DEV = 0, 6, 7
"""Further columns of a task's row: see `harmless`."""

WEIGHT = 3
"""Position in the totals, after those of `row_scaling`: what an event weighs (see `experts`)."""

SMAX, QMAX, ETA_STACK = 8.0, 14.0, 0.1
V, H = 0, 1
"""Rows of the stack: its weights, and their sums of squares, for the gradient, betting, own, pooled and second-order
expert. One that a learner does not have predicts 0, and keeps its weight."""
EXPERTS = 5

HEAVY = 2.0**500
"""When an event weighs as much, all sums are divided by it."""


class Hyper(NamedTuple):
    auto: bool
    square: bool
    second: bool
    eta: float
    prior: float
    growth: float


class Parts(NamedTuple):
    """Own parts of (task, feature) pairs and of every task's bias, shared parts of features and of the bias."""

    pairs: Pairs
    own: Floats
    own_bias: Floats
    features: Floats
    bias: Floats
    dense: Ints
    place: Ints
    n_dense: Ints
    totals: Floats
    labels: Floats
    tasks: Floats
    stack: Floats
    matrix: Floats
    seated: Floats
    seat: Ints
    n_seats: Ints

    def further(self, batch: Batch, done: int) -> tuple[int, int]:
        """How many pairs a row of the next round may open beyond its own, and how many a task can have.

        Beyond its own are dense features, and those that join in the round; see `learn`, which asks the same.
        """
        lo, hi = batch.rounds[done], batch.rounds[done + 1]
        rows = batch.row[lo:hi]
        joining = int(np.sum(batch.indptr[rows + 1] - batch.indptr[rows])) if hi - lo > 1 else 0
        return int(self.n_dense[0]) + joining, len(self.dense)


def plan(auto: bool, second: bool) -> Plan:
    """`adaptive` has no own and no pooled expert; the second-order one is an option."""
    width, seats = 8 if auto else 6, SEATS if second else 0
    return Plan(
        axes={
            "own": ("pair", width),
            "own_bias": ("task", width),
            "features": ("feature", STATISTICS + width),
            "bias": (1, STATISTICS + width),
            "dense": ("feature",),
            "place": ("feature",),
            "n_dense": (1,),
            "totals": (4,),
            "labels": (10,),
            "tasks": ("task", LOSS + 4),
            "stack": (2, EXPERTS),
            "matrix": (seats, seats),
            "seated": (seats,),
            "seat": ("feature" if second else 0,),
            "n_seats": (1,),
        },
        names={"dense": "feature"},
        counts={"place": ("feature",), "n_dense": ("feature",), "seat": (max(seats - 1, 0),), "n_seats": (seats,)},
        check=_check,
    )


def _check(arrays: Mapping[str, Array]) -> None:
    """A file may claim anything: the dense features must be where they say they are, and no more than there can be."""
    n, dense, place = int(arrays["n_dense"][0]), arrays["dense"], arrays["place"]
    listed = np.zeros(len(place), np.int64)
    listed[dense[:n]] = np.arange(1, n + 1)
    if not np.array_equal(listed, place) or np.any(dense[n:]):
        raise ValueError("the state's list of dense features does not fit their places")
    seen, totals = arrays["features"][:, CNT], arrays["totals"]
    if not (np.all(seen >= 0.0) and seen.sum() == totals[NONZEROS] and np.all(seen <= totals[EVENTS])):
        raise ValueError("the state's features have not occurred as often as its totals say")
    if np.any(seen[dense[:n]] < HALF * totals[EVENTS]):
        raise ValueError("the state's dense features occurred in less than half of the rows")
    seats, taken = int(arrays["n_seats"][0]), np.sort(arrays["seat"][arrays["seat"] > 0])
    if (seats < 1) != (len(arrays["matrix"]) == 0) or not np.array_equal(taken, np.arange(1, seats)):
        raise ValueError("the state's seats are not handed out one by one")


def blank(auto: bool, second: bool) -> Parts:
    """Nothing is learned; `auto` begins as `adaptive`."""
    width, seats, ints = 8 if auto else 6, SEATS if second else 0, np.zeros(0, np.int64)
    parts, shared = np.zeros((0, width)), np.zeros((0, STATISTICS + width))
    matrix = np.zeros((seats, seats))
    matrix[:1, :1] = SPREAD
    return Parts(
        pairs=dense(0, 1),
        own=parts,
        own_bias=parts.copy(),
        features=shared,
        bias=np.zeros((1, STATISTICS + width)),
        dense=ints,
        place=ints.copy(),
        n_dense=np.zeros(1, np.int64),
        totals=np.array([0.0, 0.0, 0.0, 1.0]),
        labels=np.zeros(10),
        tasks=np.zeros((0, LOSS + 4)),
        stack=np.array([[0.5, 0.5, 0.0, 0.0, 0.0], [1.0] * EXPERTS]),
        matrix=matrix,
        seated=np.zeros(seats),
        seat=ints.copy(),
        n_seats=np.array([int(second)]),
    )


class Space(NamedTuple):
    """Scratch of one event: its features, their slots and scaled values, the bets, and all that was predicted."""

    found: Ints
    slots: Ints
    z: Floats
    own_bets: Floats
    shared_bets: Floats
    x: Floats  # the row at its seats, and the matrix times that
    px: Floats
    e: Floats  # scores of the experts
    c: Floats  # the same, clipped
    f: Floats  # stack, own, pooled
    w: Floats  # their weights
    l: Floats  # likelihoods, or half squares, of these and of the mixture


@kernel
def space_for(state: Parts, batch: Batch) -> Space:
    """Room for a row and for all dense features: their densities add up to the mean length of the rows so far."""
    longest, totals = longest_row(batch), state.totals
    mean = int(totals[NONZEROS] / max(totals[EVENTS], 1.0)) + 1
    most = longest + int(max(longest, mean) / HALF) + 2
    ints, floats, seats = np.empty((2, most), np.int64), np.empty((3, most)), np.zeros((2, len(state.matrix)))
    small = np.zeros((5, EXPERTS))
    return Space(
        ints[0],
        ints[1],
        floats[0],
        floats[1],
        floats[2],
        seats[0],
        seats[1],
        small[0],
        small[1],
        small[2],
        small[3],
        small[4],
    )


@lean
def sigma(q: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(q, -QMAX), QMAX)))


@lean
def _ask(state: Parts, batch: Batch, i: int) -> None:
    """Ask memory for what example i will need soon: its features, and the keys or the numbers of its pairs."""
    pairs, own, features = state.pairs, state.own, state.features
    begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    k, width, last = batch.task[i], own.shape[1], features.shape[1] - 1
    for e in range(begin, end):
        at = min(batch.indices[e], len(features) - 1) * features.shape[1]
        prefetch(features, at)
        prefetch(features, at + last)
    if pairs.layout[HASHED]:
        base, size = np.uint64(pairs.table[k, BASE]), np.uint64(pairs.table[k, SIZE])
        for e in range(begin, end):
            prefetch(pairs.keys, base + first_place(batch.indices[e], size))
    else:
        for e in range(begin, end):
            prefetch(own, (k * pairs.layout[TASK_STRIDE] + min(batch.indices[e], len(features) - 1)) * width)


@lean
def _find(state: Parts, k: int, count: int, found: Ints, slots: Ints) -> None:
    """The slots of the pairs of task k with the features found, -1 where there is none yet."""
    layout, keys, table = state.pairs
    if layout[HASHED]:
        find_row(keys, table, state.own, k, found, 0, count, slots)
    else:
        for a in range(count):
            slots[a] = k * layout[TASK_STRIDE] + found[a]


@lean
def view(hyper: Hyper, state: Parts, batch: Batch, i: int, space: Space) -> tuple[int, float, float]:
    """Scale and score example i: the number of its features, the stack's score s, and the prediction p."""
    found, slots, z, own_bets, shared_bets, x, _, e, c, f, w, _ = space
    own, own_bias, features, bias, stack = state.own, state.own_bias, state.features, state.bias, state.stack
    if len(features) > FAR and i + AHEAD < len(batch.task):
        _ask(state, batch, i + AHEAD)
    k, begin, end = batch.task[i], batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    count = scale_row(
        state.totals, features, state.dense, state.n_dense[0], batch.indices, batch.values, begin, end, found, z
    )
    _find(state, k, count, found, slots)
    a = state.totals[WEIGHT]
    gradient, betting, other = bias[0, STATISTICS + GRADIENT], bet(bias, 0, STATISTICS + BETTING, a), 0.0
    shared_bets[count] = betting
    for n in range(count):
        j, value = np.uint64(found[n]), z[n]
        shared_bets[n] = bet(features, j, STATISTICS + BETTING, a)
        gradient += features[j, STATISTICS + GRADIENT] * value
        betting += shared_bets[n] * value
        if hyper.auto:
            other += features[j, STATISTICS + OTHER] * value
    e[3] = other + bias[0, STATISTICS + OTHER] if hyper.auto else 0.0
    own_bets[count], other = bet(own_bias, k, BETTING, a), 0.0
    gradient += own_bias[k, GRADIENT]
    betting += own_bets[count]
    for n in range(count):
        own_bets[n] = 0.0
        if slots[n] >= 0:
            slot, value = np.uint64(slots[n]), z[n]
            own_bets[n] = bet(own, slot, BETTING, a)
            gradient += own[slot, GRADIENT] * value
            betting += own_bets[n] * value
            if hyper.auto:
                other += own[slot, OTHER] * value
    e[2] = other + own_bias[k, OTHER] if hyper.auto else 0.0
    e[0], e[1], e[4] = gradient, betting, 0.0
    if hyper.second:
        seat_row(state.seat, state.n_seats[0], found, z, count, x)
        e[4] = seated_score(state.seated, state.n_seats[0], x)
    s = 0.0
    for m in range(EXPERTS):
        c[m] = min(max(e[m], -SMAX), SMAX)
        s += stack[V, m] * c[m]
    return count, s, _predicted(hyper, state, k, s, c, f, w)


@lean
def _predicted(hyper: Hyper, state: Parts, k: int, s: float, c: Floats, f: Floats, w: Floats) -> float:
    """The stack's prediction, or that of the mixture of stack, own and pooled model."""
    low, high = state.labels[ULO], state.labels[UHI]
    f[0], f[1], f[2] = s, c[2], c[3]
    if not hyper.auto:
        return min(max(s, low), high) if hyper.square else sigma(s)
    mixture(state.tasks, k, hyper.square, w)
    p = 0.0
    for m in range(3):
        if hyper.square:
            f[m] = min(max(f[m], low), high)
        p += w[m] * (f[m] if hyper.square else sigma(f[m]))
    return p


@lean
def answer(hyper: Hyper, state: Parts, k: int, p: float) -> float:
    """Log-odds, or the value in the frame of the task's labels."""
    if not hyper.square:
        return math.log(p / (1.0 - p))
    labels, tasks, t = state.labels, state.tasks, state.totals[EVENTS]
    if t == 0.0:
        return 0.0
    mu, sd, _, _ = frame(labels, t, tasks[k, EVENTS_OF_TASK], tasks[k, YSUM], tasks[k, TASK_DEV])
    return float(min(max(mu + sd * p, labels[LO]), labels[HI]))


@lean
def _heed(hyper: Hyper, state: Parts, k: int, u: float, p: float, space: Space) -> None:
    """The layer that does no harm; `tasks[k, 0]` counts the event already."""
    f, w, l = space.f, space.w, space.l
    for m in range(4):
        guess = p
        if m < 3:
            guess = f[m] if hyper.square else sigma(f[m])
        if hyper.square:
            l[m] = 0.5 * (guess - u) * (guess - u)
        else:
            l[m] = guess if u > 0.5 else 1.0 - guess
    if hyper.square:
        heed_squares(state.tasks, k, w, l)
    else:
        heed_likelihoods(state.tasks, k, w, l)


@lean
def _note(hyper: Hyper, u: float, p: float, s: float, space: Space, trace: Floats, i: int) -> None:
    """The losses of the prediction and of its parts."""
    c, f = space.c, space.f
    parts = (p, f[0], f[1], f[2]) if hyper.auto else (p, c[0], c[1], s)
    for m in range(4):
        if hyper.square:
            trace[i, m] = 0.5 * (parts[m] - u) * (parts[m] - u)
        else:
            guess = parts[m] if m == 0 else sigma(parts[m])
            trace[i, m] = -math.log(guess if u > 0.5 else 1.0 - guess)


@lean
def _move(hyper: Hyper, state: Parts, k: int, count: int, u: float, space: Space) -> None:
    """Every expert learns from its own error."""
    found, slots, z, own_bets, shared_bets, x, px, e, c, _, _, _ = space
    own, own_bias, features, bias = state.own, state.own_bias, state.features, state.bias
    a = state.totals[WEIGHT]
    heavier, eta = math.sqrt(a), hyper.eta
    eps, own_eps = a * EPS, a * (EPS + hyper.prior)
    # An expert's error; that of log-odds is not clipped where these enter the stack.
    by_steps = heavier * (c[0] - u if hyper.square else sigma(e[0]) - u)
    by_bets = c[1] - u if hyper.square else sigma(e[1]) - u
    alone = heavier * (c[2] - u if hyper.square else sigma(e[2]) - u)
    together = heavier * (c[3] - u if hyper.square else sigma(e[3]) - u)
    for n in range(count):
        slot, j, value = np.uint64(slots[n]), np.uint64(found[n]), z[n]
        descend(own, slot, GRADIENT, by_steps * value, own_eps, eta)
        descend(features, j, STATISTICS + GRADIENT, by_steps * value, eps, eta)
        settle(own, slot, BETTING, by_bets * value, own_bets[n], a)
        settle(features, j, STATISTICS + BETTING, by_bets * value, shared_bets[n], a)
        if hyper.auto:
            descend(own, slot, OTHER, alone * value, own_eps, eta)
            descend(features, j, STATISTICS + OTHER, together * value, eps, eta)
    descend(own_bias, k, GRADIENT, by_steps, own_eps, eta)
    descend(bias, 0, STATISTICS + GRADIENT, by_steps, eps, eta)
    settle(own_bias, k, BETTING, by_bets, own_bets[count], a)
    settle(bias, 0, STATISTICS + BETTING, by_bets, shared_bets[count], a)
    if hyper.auto:
        descend(own_bias, k, OTHER, alone, own_eps, eta)
        descend(bias, 0, STATISTICS + OTHER, together, eps, eta)
    if hyper.second:
        guess = c[4] if hyper.square else sigma(e[4])
        r = 1.0 if hyper.square else guess * (1.0 - guess)
        newton_step(state.matrix, state.seated, state.n_seats[0], x, px, u - guess, r)


@lean
def _stack(state: Parts, c: Floats, error: float) -> None:
    """The stack learns from the error of its own score."""
    stack, heavier = state.stack, math.sqrt(state.totals[WEIGHT])
    for m in range(EXPERTS):
        h = heavier * error * c[m]
        stack[H, m] += h * h
        stack[V, m] -= ETA_STACK * h / math.sqrt(stack[H, m])


@lean
def _learn_example(
    hyper: Hyper, state: Parts, batch: Batch, i: int, space: Space, count: int, s: float, p: float, trace: Floats
) -> None:
    """Learn from an example that `view` has just looked at."""
    k, y = batch.task[i], batch.label[i]
    begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    tasks, labels, n_dense, totals = state.tasks, state.labels, state.n_dense, state.totals
    layout, keys, table = state.pairs
    mk, ready = 0.0, True
    u = 1.0 if y > 0.0 else 0.0
    if hyper.square:
        mu, sd, mk, ready = frame(labels, totals[EVENTS], tasks[k, EVENTS_OF_TASK], tasks[k, YSUM], tasks[k, TASK_DEV])
        u = min(max((y - mu) / sd, -UMAX), UMAX) if ready else p
    if len(trace):
        _note(hyper, u, p, s, space, trace, i)
    if layout[HASHED]:
        open_row(layout, keys, table, k, space.found, 0, count, space.slots)
    n_dense[0] = count_row(
        totals, state.features, state.dense, state.place, n_dense[0], batch.indices, batch.values, begin, end
    )
    tasks[k, EVENTS_OF_TASK] += 1.0
    if hyper.auto:
        _heed(hyper, state, k, u, p, space)
    if ready:
        _stack(state, space.c, s - u if hyper.square else sigma(s) - u)
        _move(hyper, state, k, count, u, space)
    if hyper.second:
        state.n_seats[0] = hand_out_seats(
            state.matrix, state.seat, state.n_seats[0], state.place, batch.indices, begin, end
        )
    if hyper.square:
        n = tasks[k, EVENTS_OF_TASK]
        more, dev = count_label(labels, totals[EVENTS], n, tasks[k, YSUM], y, u, mk)
        tasks[k, YSUM] += more
        tasks[k, TASK_DEV] += dev
    if hyper.growth > 1.0:
        totals[WEIGHT] *= hyper.growth
        if totals[WEIGHT] > HEAVY:
            _lighten(hyper, state)


@lean
def _lighten(hyper: Hyper, state: Parts) -> None:
    """Divide all sums by HEAVY."""
    state.totals[WEIGHT] /= HEAVY
    _divide(state.own, hyper.auto)
    _divide(state.own_bias, hyper.auto)
    _divide(state.features, hyper.auto)
    _divide(state.bias, hyper.auto)
    for m in range(EXPERTS):
        state.stack[H, m] /= HEAVY


@inner
def _divide(parts: Floats, auto: bool) -> None:
    first = parts.shape[1] - (OTHER + 2 if auto else OTHER)  # behind the statistics
    for row in range(len(parts)):
        for column in (GRADIENT + 1, BETTING + TH, BETTING + G, BETTING + R):
            parts[row, first + column] /= HEAVY
        if auto:
            parts[row, first + OTHER + 1] /= HEAVY


@lean
def _missing(slots: Ints, count: int) -> int:
    """Pairs that were never opened."""
    missing = 0
    for a in range(count):
        if slots[a] < 0:
            missing += 1
    return missing


@lean
def _free(pairs: Pairs, task: int) -> int:
    """Room in a task's region."""
    return int(first_slot(pairs.table[task, SIZE]) - pairs.table[task, COUNT])


@kernel
def look(hyper: Hyper, state: Parts, batch: Batch) -> tuple[Ints, Floats, float]:
    """The first example as experts see it: its features and scaled values, and the stack's score."""
    space = space_for(state, batch)
    count, s, _ = view(hyper, state, batch, batch.rounds[0], space)
    return space.found[:count].copy(), space.z[:count].copy(), s


@kernel
def predict(hyper: Hyper, state: Parts, batch: Batch, scores: Floats) -> None:
    space = space_for(state, batch)
    for i in range(len(scores)):
        _, _, p = view(hyper, state, batch, i, space)
        scores[i] = answer(hyper, state, batch.task[i], p)


@kernel
def learn(hyper: Hyper, state: Parts, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    rounds, layout = batch.rounds, state.pairs.layout
    space = space_for(state, batch)
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if hi - lo > 1:  # all of a round is scored before any of it is learned
            joining = 0
            for i in range(lo, hi):
                _, _, p = view(hyper, state, batch, i, space)
                scores[i] = answer(hyper, state, batch.task[i], p)
                joining += batch.indptr[batch.row[i] + 1] - batch.indptr[batch.row[i]]
            extra = state.n_dense[0] + joining
            if layout[HASHED] and not has_room(state.pairs, batch, lo, hi, extra, len(state.dense)):
                return t
        for i in range(lo, hi):
            count, s, p = view(hyper, state, batch, i, space)
            if hi - lo == 1:
                if layout[HASHED] and _missing(space.slots, count) > _free(state.pairs, batch.task[i]):
                    return t
                scores[i] = answer(hyper, state, batch.task[i], p)
            if not np.isnan(batch.label[i]):
                _learn_example(hyper, state, batch, i, space, count, s, p, trace)
    return len(rounds) - 1


@kernel
def predict_one(handle: Handle, task: int, count: int) -> int:
    hyper, state, batch, scores, _ = handle.parts
    bad = set_single(batch, task, 0.0, count)
    if bad < 0:
        predict(hyper, state, batch, scores)
    return bad


@kernel
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    hyper, state, batch, scores, trace = handle.parts
    bad = set_single(batch, task, label, count)
    if bad >= 0:
        return bad
    return -1 if learn(hyper, state, batch, batch.rounds[0], scores, trace) == 1 else -2
