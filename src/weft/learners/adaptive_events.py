"""Events of `adaptive` and `auto`: a row is scaled, its slots are looked up once, all experts score and learn it."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from weft.batch import Batch, Floats, Ints, longest_row, set_single
from weft.geometry.experts import bet, descend, settle
from weft.geometry.harmless import LOSS, heed_likelihoods, heed_squares, mixture
from weft.geometry.row_scaling import EVENTS, count_row, scale_row
from weft.geometry.target_frame import HI, LO, UHI, ULO, UMAX, count_label, frame
from weft.jit import Handle, kernel
from weft.pairs import COUNT, HASHED, SIZE, TASK_STRIDE, Pairs, dense, find_row, first_slot, has_room, open_row
from weft.state import Array, Plan

STATISTICS = 3
"""Columns of a feature before its shared parts: see `row_scaling`."""
GRADIENT, BETTING, OTHER = 0, 2, 6
"""First columns of a part: w and its squares of the gradient expert; th, G, L, R of the betting one; w and its squares
of the own expert (of a pair) or of the pooled one (of a feature), which `auto` has."""

EVENTS_OF_TASK, YSUM, TASK_DEV = 0, 6, 7
"""Further columns of a task's row: see `harmless`."""

SMAX, QMAX, ETA_STACK = 8.0, 14.0, 0.1
V, H = 0, 1
"""Rows of the stack: its weights, and their sums of squares."""


class Hyper(NamedTuple):
    auto: bool
    square: bool
    eta: float


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

    def further(self, batch: Batch, done: int) -> int:
        """How many pairs a row of the next round may open beyond its own: dense features, and those that join in it."""
        lo, hi = batch.rounds[done], batch.rounds[done + 1]
        rows = batch.row[lo:hi]
        joining = int(np.sum(batch.indptr[rows + 1] - batch.indptr[rows])) if hi - lo > 1 else 0
        return int(self.n_dense[0]) + joining


def plan(auto: bool) -> Plan:
    """`adaptive` has no own and no pooled expert."""
    width = 8 if auto else 6
    return Plan(
        axes={
            "own": ("pair", width),
            "own_bias": ("task", width),
            "features": ("feature", STATISTICS + width),
            "bias": (1, STATISTICS + width),
            "dense": ("feature",),
            "place": ("feature",),
            "n_dense": (1,),
            "totals": (3,),
            "labels": (10,),
            "tasks": ("task", LOSS + 4),
            "stack": (2, 4),
        },
        names={"dense": "feature"},
        counts={"place": ("feature",), "n_dense": ("feature",)},
        check=_check,
    )


def _check(arrays: Mapping[str, Array]) -> None:
    """A file may claim anything: the dense features must be where they say they are."""
    n, dense, place = int(arrays["n_dense"][0]), arrays["dense"], arrays["place"]
    listed = np.zeros(len(place), np.int64)
    listed[dense[:n]] = np.arange(1, n + 1)
    if not np.array_equal(listed, place) or np.any(dense[n:]):
        raise ValueError("the state's list of dense features does not fit their places")


def blank(auto: bool) -> Parts:
    """Nothing is learned; `auto` begins as `adaptive`."""
    width, ints = 8 if auto else 6, np.zeros(0, np.int64)
    parts, shared = np.zeros((0, width)), np.zeros((0, STATISTICS + width))
    return Parts(
        pairs=dense(0, 1),
        own=parts,
        own_bias=parts.copy(),
        features=shared,
        bias=np.zeros((1, STATISTICS + width)),
        dense=ints,
        place=ints.copy(),
        n_dense=np.zeros(1, np.int64),
        totals=np.zeros(3),
        labels=np.zeros(10),
        tasks=np.zeros((0, LOSS + 4)),
        stack=np.array([[0.5, 0.5, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]),
    )


class Space(NamedTuple):
    """Scratch of one event: its features, their slots and scaled values, the bets, and all that was predicted."""

    found: Ints
    slots: Ints
    z: Floats
    own_bets: Floats
    shared_bets: Floats
    e: Floats  # scores of the four experts
    c: Floats  # the same, clipped
    f: Floats  # stack, own, pooled
    w: Floats  # their weights
    l: Floats  # likelihoods, or half squares, of these and of the mixture


@kernel
def space_for(state: Parts, batch: Batch) -> Space:
    most = longest_row(batch) + len(state.dense) + 1
    ints, floats = np.empty((2, most), np.int64), np.empty((3, most))
    small = np.zeros((5, 4))
    return Space(ints[0], ints[1], floats[0], floats[1], floats[2], small[0], small[1], small[2], small[3], small[4])


@kernel
def sigma(q: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(q, -QMAX), QMAX)))


@kernel
def view(hyper: Hyper, state: Parts, batch: Batch, i: int, space: Space) -> tuple[int, float, float]:
    """Scale and score example i: the number of its features, the stack's score s, and the prediction p."""
    found, slots, z, own_bets, shared_bets, e, c, f, w, _ = space
    pairs, own, own_bias, features, bias, listed, _, n_dense, totals, labels, tasks, stack = state
    k, begin, end = batch.task[i], batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    count = scale_row(totals, features, listed, n_dense[0], batch.indices, batch.values, begin, end, found, z)
    if pairs.layout[HASHED]:
        find_row(pairs.keys, pairs.table, labels, k, found, 0, count, slots)
    else:
        for a in range(count):
            slots[a] = k * pairs.layout[TASK_STRIDE] + found[a]
    e[0], e[1], e[2], e[3] = 0.0, 0.0, 0.0, 0.0
    for a in range(count):
        j, slot, x = found[a], slots[a], z[a]
        gradient, betting = features[j, STATISTICS + GRADIENT], bet(features, j, STATISTICS + BETTING)
        shared_bets[a], own_bets[a] = betting, 0.0
        if slot >= 0:
            own_bets[a] = bet(own, slot, BETTING)
            gradient += own[slot, GRADIENT]
            betting += own_bets[a]
            if hyper.auto:
                e[2] += own[slot, OTHER] * x
        e[0] += gradient * x
        e[1] += betting * x
        if hyper.auto:
            e[3] += features[j, STATISTICS + OTHER] * x
    own_bets[count], shared_bets[count] = bet(own_bias, k, BETTING), bet(bias, 0, STATISTICS + BETTING)
    e[0] += own_bias[k, GRADIENT] + bias[0, STATISTICS + GRADIENT]
    e[1] += own_bets[count] + shared_bets[count]
    if hyper.auto:
        e[2] += own_bias[k, OTHER]
        e[3] += bias[0, STATISTICS + OTHER]
    s = 0.0
    for m in range(4 if hyper.auto else 2):
        c[m] = min(max(e[m], -SMAX), SMAX)
        s += stack[V, m] * c[m]
    f[0], f[1], f[2] = s, c[2], c[3]
    if not hyper.auto:
        return count, s, min(max(s, labels[ULO]), labels[UHI]) if hyper.square else sigma(s)
    mixture(tasks, k, hyper.square, w)
    p = 0.0
    for m in range(3):
        if hyper.square:
            f[m] = min(max(f[m], labels[ULO]), labels[UHI])
        p += w[m] * (f[m] if hyper.square else sigma(f[m]))
    return count, s, p


@kernel
def answer(hyper: Hyper, state: Parts, k: int, p: float) -> float:
    """Log-odds, or the value in the frame of the task's labels."""
    if not hyper.square:
        return math.log(p / (1.0 - p))
    labels, tasks, t = state.labels, state.tasks, state.totals[EVENTS]
    if t == 0.0:
        return 0.0
    mu, sd, _, _ = frame(labels, t, tasks[k, EVENTS_OF_TASK], tasks[k, YSUM], tasks[k, TASK_DEV])
    return float(min(max(mu + sd * p, labels[LO]), labels[HI]))


@kernel
def _heed(hyper: Hyper, state: Parts, k: int, u: float, p: float, space: Space) -> None:
    """The layer that does no harm; `tasks[k, 0]` counts the event already."""
    _, _, _, _, _, _, _, f, w, l = space
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


@kernel
def _move(hyper: Hyper, state: Parts, k: int, count: int, u: float, ready: bool, space: Space) -> None:
    """Every expert learns from its own error."""
    found, slots, z, own_bets, shared_bets, e, c, _, _, _ = space
    own, own_bias, features, bias = state.own, state.own_bias, state.features, state.bias
    for m in range(4 if hyper.auto else 2):
        g = 0.0
        if ready:
            g = c[m] - u if hyper.square else sigma(e[m]) - u
        for a in range(count + 1):
            x = z[a] if a < count else 1.0
            h = g * x
            if h == 0.0:
                continue
            mine, slot, ours, j = own, slots[a], features, found[a]
            if a == count:
                mine, slot, ours, j = own_bias, k, bias, 0
            if m == 0:
                descend(mine, slot, GRADIENT, h, hyper.eta)
                descend(ours, j, STATISTICS + GRADIENT, h, hyper.eta)
            elif m == 1:
                settle(mine, slot, BETTING, h, own_bets[a])
                settle(ours, j, STATISTICS + BETTING, h, shared_bets[a])
            elif m == 2:
                descend(mine, slot, OTHER, h, hyper.eta)
            else:
                descend(ours, j, STATISTICS + OTHER, h, hyper.eta)


@kernel
def _learn_example(
    hyper: Hyper, state: Parts, batch: Batch, i: int, space: Space, count: int, s: float, p: float
) -> None:
    """Learn from an example that `view` has just looked at."""
    k, y = batch.task[i], batch.label[i]
    begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    tasks, labels, stack, pairs = state.tasks, state.labels, state.stack, state.pairs
    mu, sd, mk, ready = 0.0, 1.0, 0.0, True
    u = 1.0 if y > 0.0 else 0.0
    if hyper.square:
        mu, sd, mk, ready = frame(
            labels, state.totals[EVENTS], tasks[k, EVENTS_OF_TASK], tasks[k, YSUM], tasks[k, TASK_DEV]
        )
        u = min(max((y - mu) / sd, -UMAX), UMAX) if ready else p
    if pairs.layout[HASHED]:
        open_row(pairs.layout, pairs.keys, pairs.table, k, space.found, 0, count, space.slots)
    indices, values, n_dense = batch.indices, batch.values, state.n_dense
    n_dense[0] = count_row(
        state.totals, state.features, state.dense, state.place, n_dense[0], indices, values, begin, end
    )
    tasks[k, EVENTS_OF_TASK] += 1.0
    if hyper.auto:
        _heed(hyper, state, k, u, p, space)
    g = 0.0
    if ready:
        g = s - u if hyper.square else sigma(s) - u
    for m in range(4 if hyper.auto else 2):
        h = g * space.c[m]
        if h != 0.0:
            stack[H, m] += h * h
            stack[V, m] -= ETA_STACK * h / math.sqrt(stack[H, m])
    _move(hyper, state, k, count, u, ready, space)
    if hyper.square:
        n = tasks[k, EVENTS_OF_TASK]
        more, dev = count_label(labels, state.totals[EVENTS], n, tasks[k, YSUM], y, u, mk)
        tasks[k, YSUM] += more
        tasks[k, TASK_DEV] += dev


@kernel
def _missing(slots: Ints, count: int) -> int:
    """Pairs that were never opened."""
    missing = 0
    for a in range(count):
        if slots[a] < 0:
            missing += 1
    return missing


@kernel
def _free(pairs: Pairs, task: int) -> int:
    """Room in a task's region."""
    return int(first_slot(pairs.table[task, SIZE]) - pairs.table[task, COUNT])


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
                _learn_example(hyper, state, batch, i, space, count, s, p)
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
