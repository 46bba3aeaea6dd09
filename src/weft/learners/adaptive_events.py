"""Events of `adaptive` and `auto`: a row is scaled, its slots are looked up once, all experts score and learn it."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from weft.batch import Batch, Floats, Ints, longest_row, set_single
from weft.geometry.experts import EPS
from weft.geometry.harmless import LOSS, heed_likelihoods, heed_squares, mixture
from weft.geometry.newton import SEATS, SPREAD, hand_out_seats, newton_step, seat_row, seated_score
from weft.geometry.parts import (
    HEAVY,
    PART_WIDTH,
    Errors,
    ask_features,
    copy_bias,
    copy_rows,
    lighten,
    moved,
    paste_rows,
    row_ahead,
    scored,
    starts_in_rest,
    starts_of,
)
from weft.geometry.row_scaling import CNT, EVENTS, HALF, NONZEROS, count_row, scale_row
from weft.geometry.target_frame import HI, LO, UHI, ULO, UMAX, count_label, frame
from weft.instructions import prefetch
from weft.jit import Handle, inner, kernel, lean
from weft.lanes import WIDTH, added_up, four_at, spread
from weft.pairs import (
    BASE,
    COUNT,
    HASHED,
    SIZE,
    TASK_STRIDE,
    Pairs,
    dense,
    find_row,
    first_place,
    first_slot,
    has_room,
    number_of,
    open_row,
    place,
)
from weft.state import Array, Plan

EVENTS_OF_TASK, YSUM, TASK_DEV = 0, 6, 7
"""Further columns of a task's row: see `harmless`."""

WEIGHT = 3
"""Position in the totals, after those of `row_scaling`: what an event weighs (see `experts`)."""

SMAX, QMAX, ETA_STACK = 8.0, 14.0, 0.1
V, H = 0, 1
"""Rows of the stack: its weights, and their sums of squares, for the gradient, betting, own, pooled and second-order
expert. One that a learner does not have predicts 0, and keeps its weight."""
EXPERTS = 5

AHEAD = 2
"""How many examples ahead memory is asked for features and keys; for pairs, whose keys are known by then, one."""

AHEAD = 2
"""How many examples ahead memory is asked for features and keys; for pairs, whose keys are known by then, one."""

STATISTICS_WIDTH = 4
"""Columns in memory."""


class Hyper(NamedTuple):
    auto: bool
    square: bool
    second: bool
    eta: float
    prior: float
    growth: float


class Parts(NamedTuple):
    """Own parts of (task, feature) pairs and of every task's bias, shared parts of features and of the bias.

    `statistics` of features are those of `row_scaling`.
    """

    pairs: Pairs
    own: Floats
    own_bias: Floats
    features: Floats
    bias: Floats
    statistics: Floats
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
    """`adaptive` has no own and no pooled expert; the second-order one is an option.

    In memory a row has the same width with either: a pair's is a cache line, and whole vectors can be read.
    """
    width, seats = 8 if auto else 6, SEATS if second else 0
    return Plan(
        axes={
            "own": ("pair", width),
            "own_bias": ("task", width),
            "features": ("feature", width),
            "bias": (1, width),
            "statistics": ("feature", 3),
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
        padded={
            **dict.fromkeys(("own", "own_bias", "features", "bias"), PART_WIDTH),
            "statistics": STATISTICS_WIDTH,
        },
    )


def _check(arrays: Mapping[str, Array]) -> None:
    """A file may claim anything: the dense features must be where they say they are, and no more than there can be."""
    n, dense, place = int(arrays["n_dense"][0]), arrays["dense"], arrays["place"]
    listed = np.zeros(len(place), np.int64)
    listed[dense[:n]] = np.arange(1, n + 1)
    if not np.array_equal(listed, place) or np.any(dense[n:]):
        raise ValueError("the state's list of dense features does not fit their places")
    seen, totals = arrays["statistics"][:, CNT], arrays["totals"]
    if not (np.all(seen >= 0.0) and seen.sum() == totals[NONZEROS] and np.all(seen <= totals[EVENTS])):
        raise ValueError("the state's features have not occurred as often as its totals say")
    if np.any(seen[dense[:n]] < HALF * totals[EVENTS]):
        raise ValueError("the state's dense features occurred in less than half of the rows")
    seats, taken = int(arrays["n_seats"][0]), np.sort(arrays["seat"][arrays["seat"] > 0])
    if (seats < 1) != (len(arrays["matrix"]) == 0) or not np.array_equal(taken, np.arange(1, seats)):
        raise ValueError("the state's seats are not handed out one by one")


def blank(second: bool) -> Parts:
    """Nothing is learned; `auto` begins as `adaptive`."""
    seats, ints = SEATS if second else 0, np.zeros(0, np.int64)
    parts = np.zeros((0, PART_WIDTH))
    matrix = np.zeros((seats, seats))
    matrix[:1, :1] = SPREAD
    return Parts(
        pairs=dense(0, 1),
        own=parts,
        own_bias=parts.copy(),
        features=parts.copy(),
        bias=np.zeros((1, PART_WIDTH)),
        statistics=np.zeros((0, STATISTICS_WIDTH)),
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
    own_rest: Floats  # copies of the last rows, which do not fill a vector, and of the bias
    shared_rest: Floats
    x: Floats  # the row at its seats, and the matrix times that
    px: Floats
    e: Floats  # scores of the experts
    c: Floats  # the same, clipped
    f: Floats  # stack, own, pooled
    g: Floats  # what they predict
    w: Floats  # their weights
    l: Floats  # likelihoods, or half squares, of these and of the mixture
    errors: Floats  # of the experts
    ahead: Ints  # how many examples ahead `view` asks for pairs: 0 if the example is learned next, which asks then


@kernel
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
        seats[0],
        seats[1],
        small[0],
        small[1],
        small[2],
        small[3],
        small[4],
        small[5],
        small[6],
        np.ones(1, np.int64),
    )


@lean
def sigma(q: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(q, -QMAX), QMAX)))


@inner
def _ask_keys(state: Parts, k: int, indices: Ints, begin: int, end: int) -> None:
    """Ask memory for the keys of hashed pairs of task k."""
    keys, table = state.pairs.keys, state.pairs.table
    base, size = np.uint64(table[k, BASE]), np.uint64(table[k, SIZE])
    for e in range(begin, end):
        prefetch(keys, base + first_place(indices[e], size))


@inner
def _ask_own(state: Parts, k: int, indices: Ints, begin: int, end: int) -> None:
    """Ask memory for pairs of task k."""
    layout, keys, table = state.pairs
    if layout[HASHED]:
        base, size, start = np.uint64(table[k, BASE]), np.uint64(table[k, SIZE]), first_slot(table[k, BASE])
        for e in range(begin, end):
            prefetch(state.own, max(start + number_of(keys[place(keys, base, size, indices[e])]) - 1, 0) * PART_WIDTH)
    else:
        last = len(state.features) - 1
        for e in range(begin, end):
            prefetch(state.own, (k * layout[TASK_STRIDE] + min(indices[e], last)) * PART_WIDTH)


@lean
def _find(state: Parts, k: int, count: int, found: Ints, slots: Ints) -> None:
    """The slots of the pairs of task k with the features found, -1 where there is none yet."""
    layout, keys, table = state.pairs
    if layout[HASHED]:
        find_row(keys, table, state.own, k, found, 0, count, slots)
    else:
        for a in range(count):
            slots[a] = k * layout[TASK_STRIDE] + found[a] if found[a] < len(state.features) else -1


@lean
def _score(state: Parts, batch: Batch, i: int, count: int, space: Space) -> None:
    """Scores of the experts, summed up in turns of four, the bias last: first shared parts, then own ones.

    Memory is asked for what the next examples need a little in every turn, since it takes few questions at a time.
    """
    found, slots, z, own_bets, shared_bets, own_rest, shared_rest = space[:7]
    own, features, e, k, indices = state.own, state.features, space.e, batch.task[i], batch.indices
    hashed, (then, then_end, then_task), (coming, coming_end, next_task) = (
        state.pairs.layout[HASHED],
        row_ahead(state.own, state.features, batch, i, AHEAD),
        row_ahead(state.own, state.features, batch, i, space.ahead[0]),
    )
    known, whole, a, none = len(features), count // WIDTH * WIDTH, spread(state.totals[WEIGHT]), spread(0.0)
    z[count] = 1.0
    for n in range(count + 1, whole + WIDTH):
        z[n] = 0.0
    begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    last, usual = four_at(z, np.uint64(whole)), begin == end or batch.indices[end - 1] < known
    sums = (none, none, none)
    for n in range(0, whole, WIDTH):
        value = four_at(z, np.uint64(n))
        if usual:
            sums = scored(features, starts_of(features, found, n), value, a, shared_bets, n, sums)
        else:
            copy_rows(features, known, found, found, n, n + WIDTH, shared_rest)
            sums = scored(shared_rest, starts_in_rest(shared_rest), value, a, shared_bets, n, sums)
        until = min(then + WIDTH, then_end)
        ask_features(features, indices, then, until)
        if hashed:
            _ask_keys(state, then_task, indices, then, until)
        then = until
    ask_features(features, indices, then, then_end)
    if hashed:
        _ask_keys(state, then_task, indices, then, then_end)
    copy_rows(features, known, found, found, whole, count, shared_rest)
    copy_bias(state.bias, 0, count - whole, shared_rest)
    sums = scored(shared_rest, starts_in_rest(shared_rest), last, a, shared_bets, whole, sums)
    e[3] = added_up(sums[2])
    sums = (sums[0], sums[1], none)
    for n in range(0, whole, WIDTH):
        value = four_at(z, np.uint64(n))
        if usual:
            sums = scored(own, starts_of(own, slots, n), value, a, own_bets, n, sums)
        else:
            copy_rows(own, known, slots, found, n, n + WIDTH, own_rest)
            sums = scored(own_rest, starts_in_rest(own_rest), value, a, own_bets, n, sums)
        until = min(coming + WIDTH, coming_end)
        _ask_own(state, next_task, indices, coming, until)
        coming = until
    _ask_own(state, next_task, indices, coming, coming_end)
    copy_rows(own, known, slots, found, whole, count, own_rest)
    copy_bias(state.own_bias, k, count - whole, own_rest)
    sums = scored(own_rest, starts_in_rest(own_rest), last, a, own_bets, whole, sums)
    e[0], e[1], e[2], e[4] = added_up(sums[0]), added_up(sums[1]), added_up(sums[2]), 0.0


@lean
def view(hyper: Hyper, state: Parts, batch: Batch, i: int, space: Space) -> tuple[int, float, float]:
    """Scale and score example i: the number of its features, the stack's score s, and the prediction p."""
    found, slots, z, e, c = space.found, space.slots, space.z, space.e, space.c
    stack = state.stack
    k, begin, end = batch.task[i], batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    then, then_end, _ = row_ahead(state.own, state.features, batch, i, AHEAD)
    count = scale_row(
        state.totals,
        state.statistics,
        state.dense,
        state.n_dense[0],
        batch.indices,
        batch.values,
        begin,
        end,
        found,
        z,
        space.own_bets,
        then,
        then_end,
    )
    _find(state, k, count, found, slots)
    _score(state, batch, i, count, space)
    if hyper.second:
        seat_row(state.seat, state.n_seats[0], found, z, count, space.x)
        e[4] = seated_score(state.seated, state.n_seats[0], space.x)
    s = 0.0
    for m in range(EXPERTS):
        c[m] = min(max(e[m], -SMAX), SMAX)
        s += stack[V, m] * c[m]
    return count, s, _predicted(hyper, state, k, s, space)


@lean
def _predicted(hyper: Hyper, state: Parts, k: int, s: float, space: Space) -> float:
    """The stack's prediction, or that of the mixture of stack, own and pooled model."""
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
    g, w, l = space.g, space.w, space.l
    for m in range(4):
        guess = g[m] if m < 3 else p
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


@inner
def _expert_error(hyper: Hyper, space: Space, m: int, u: float) -> float:
    """Of expert m; that of log-odds is not clipped where these enter the stack."""
    if hyper.square:
        return float(space.c[m] - u)
    if hyper.auto and (m == 2 or m == 3) and space.e[m] == space.c[m]:
        return float(space.g[m - 1] - u)
    return sigma(space.e[m]) - u


@lean
def _move(hyper: Hyper, state: Parts, batch: Batch, i: int, count: int, u: float, space: Space) -> None:
    """Every expert learns from its own error."""
    found, slots, z, own_bets, shared_bets, own_rest, shared_rest = space[:7]
    own, own_bias, features, bias, auto = state.own, state.own_bias, state.features, state.bias, hyper.auto
    a, whole, k = state.totals[WEIGHT], count // WIDTH * WIDTH, batch.task[i]
    coming, coming_end, next_task = row_ahead(state.own, state.features, batch, i, 1)
    heavier, eta, weight = math.sqrt(a), spread(hyper.eta), spread(a)
    errors = space.errors
    for m in range(4):
        errors[m] = _expert_error(hyper, space, m, u)
    by_steps, by_bets = spread(heavier * errors[0]), spread(errors[1])
    alone, together = spread(heavier * errors[2]), spread(heavier * errors[3])
    apart = Errors(by_steps, by_bets, alone, spread(a * (EPS + hyper.prior)), eta, weight)
    shared = Errors(by_steps, by_bets, together, spread(a * EPS), eta, weight)
    for n in range(0, whole, WIDTH):
        at = np.uint64(n)
        value = four_at(z, at)
        moved(own, starts_of(own, slots, n), value, four_at(own_bets, at), apart, auto)
        moved(features, starts_of(features, found, n), value, four_at(shared_bets, at), shared, auto)
        until = min(coming + WIDTH, coming_end)
        _ask_own(state, next_task, batch.indices, coming, until)
        coming = until
    _ask_own(state, next_task, batch.indices, coming, coming_end)
    at = np.uint64(whole)
    value = four_at(z, at)
    moved(own_rest, starts_in_rest(own_rest), value, four_at(own_bets, at), apart, auto)
    moved(shared_rest, starts_in_rest(shared_rest), value, four_at(shared_bets, at), shared, auto)
    paste_rows(own, slots, whole, count, own_rest)
    paste_rows(features, found, whole, count, shared_rest)
    for c in range(PART_WIDTH):
        own_bias[k, c] = own_rest[count - whole, c]
        bias[0, c] = shared_rest[count - whole, c]
    if hyper.second:
        guess = space.c[4] if hyper.square else sigma(space.e[4])
        r = 1.0 if hyper.square else guess * (1.0 - guess)
        newton_step(state.matrix, state.seated, state.n_seats[0], space.x, space.px, u - guess, r)


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
        totals, state.statistics, state.dense, state.place, n_dense[0], batch.indices, batch.values, begin, end
    )
    tasks[k, EVENTS_OF_TASK] += 1.0
    if hyper.auto:
        _heed(hyper, state, k, u, p, space)
    if ready:
        _stack(state, space.c, s - u if hyper.square else space.g[0] - u)
        _move(hyper, state, batch, i, count, u, space)
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
            _lighten(state)


@lean
def _lighten(state: Parts) -> None:
    """Divide all sums by HEAVY."""
    state.totals[WEIGHT] /= HEAVY
    lighten(state.own)
    lighten(state.own_bias)
    lighten(state.features)
    lighten(state.bias)
    for m in range(EXPERTS):
        state.stack[H, m] /= HEAVY


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
    known = space.found[:count] < len(state.features)
    return space.found[:count][known], space.z[:count][known], s


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
            joining, space.ahead[0] = 0, 1
            for i in range(lo, hi):
                _, _, p = view(hyper, state, batch, i, space)
                scores[i] = answer(hyper, state, batch.task[i], p)
                joining += batch.indptr[batch.row[i] + 1] - batch.indptr[batch.row[i]]
            extra = state.n_dense[0] + joining
            if layout[HASHED] and not has_room(state.pairs, batch, lo, hi, extra, len(state.dense)):
                return t
        space.ahead[0] = 0
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
