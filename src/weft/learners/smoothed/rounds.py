"""Rounds of the adaptive smoothed learners (Murugesan et al. 2016, Algorithm 2).

A round costs O(|A|^2 non-zeros) for |A| present tasks. The update of task k reads and writes w_k and row p_k alone, so
that tasks can be gone through one after the other and still all learn from the same W and P. Weights are a table of
tasks x features, since a task learns features from rows that are not its own.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import Handle, compiled, helper, helper_no_alloc
from weft.learners.smoothed.attention import attend, normalise, read_near, widen, widen_near, write_near
from weft.maths.rounds import widest_round
from weft.storage.batch import Batch, set_single, shares_row, status
from weft.storage.pairs import Pairs, add_table, dense, dot_rows, dot_table
from weft.storage.state import Plan

EXPONENTIAL, THRESHOLD = range(2)
MARGIN, MISTAKE, ACTIVE = range(3)
CONDITIONS = ("margin", "mistake", "active")

ROUNDS, EPOCH, DUE, MOVED, FLAT = range(5)
"""Positions in `progress`: rounds with a label, rounds of this epoch, its updates with company, those of them that
moved attention, and whether a whole epoch of updates moved none. Whole numbers."""

LONG_EPOCH = 64
"""Epochs shorter than this say nothing about whether attention can move."""
SETTLE = 4096.0
"""Updates of a task after which its row of P is brought to the sum 1 again."""


class Hyper(NamedTuple):
    variant: int
    condition: int
    alpha: float  # NaN: from T
    C: float
    lam: float  # NaN: C (1 - alpha)
    T: float  # NaN: doubling epochs
    restart: bool
    p_min: float
    near: bool


class Smoothed(NamedTuple):
    """W as pairs, P (whole rows, or own entry, rest and neighbours), and when every row was made."""

    pairs: Pairs
    weights: Floats
    P: Floats
    ids: Ints  # neighbours kept, as slot + 1
    widths: Ints  # the number of tasks when the row was made; 0: uniform
    updates: Floats  # whole numbers
    progress: Floats
    tasks: Ints  # their number


def plan(neighbours: int | None) -> Plan:
    axes: dict[str, tuple[str | int, ...]] = {
        "weights": ("pair",),
        "P": ("task", "task") if neighbours is None else ("task", neighbours + 2),
        "ids": ("task", neighbours or 0),
        "widths": ("task",),
        "updates": ("task",),
        "progress": (5,),
        "tasks": (1,),
    }
    return Plan(axes, always_dense=True, counts={"ids": ("task",), "widths": ("task",), "tasks": ("task",)})


def blank(tasks: int, neighbours: int | None) -> Smoothed:
    """`tasks` are declared, nothing is learned."""
    P, ids = np.zeros((0, 0 if neighbours is None else neighbours + 2)), np.zeros((0, neighbours or 0), np.int64)
    progress = np.array([0.0, 1.0, 0.0, 0.0, 0.0])
    return Smoothed(dense(0, 1), np.zeros(0), P, ids, np.zeros(0, np.int64), np.zeros(0), progress, np.array([tasks]))


@compiled
def letters(hyper: Hyper, progress: Floats) -> tuple[float, float]:
    """alpha and C of the next round (Corollary 2)."""
    T = progress[EPOCH] if math.isnan(hyper.T) else hyper.T
    root = math.sqrt(T)
    alpha = root / (1.0 + root) if math.isnan(hyper.alpha) else hyper.alpha
    return alpha, (1.0 + root) / T if math.isnan(hyper.C) else hyper.C


@helper_no_alloc
def _is_due(condition: int, margins: Floats, n: int, own: int) -> bool:
    if condition == MARGIN:
        return bool(margins[own] < 1.0)
    if condition == MISTAKE:
        return bool(margins[own] <= 0.0)
    for j in range(n):
        if margins[j] < 1.0:
            return True
    return False


@helper_no_alloc
def _end_round(hyper: Hyper, state: Smoothed) -> None:
    """Count the round; at the end of an epoch look whether attention moved, and start anew if that is wanted."""
    progress = state.progress
    progress[ROUNDS] += 1.0
    if progress[ROUNDS] + 1.0 < 2.0 * progress[EPOCH]:
        return
    if progress[EPOCH] >= LONG_EPOCH and progress[DUE] > 0.0 and progress[MOVED] == 0.0:
        progress[FLAT] = 1.0
    progress[EPOCH], progress[DUE], progress[MOVED] = 2.0 * progress[EPOCH], 0.0, 0.0
    if hyper.restart:
        state.weights[:] = 0.0
        state.widths[:] = 0


@helper_no_alloc
def _attention(hyper: Hyper, state: Smoothed, k: int, present: Ints, n: int, p: Floats) -> None:
    """The entries of the present tasks in row k, which is made for the tasks of now."""
    N = state.tasks[0]
    if state.widths[k] != N:
        if hyper.near:
            widen_near(state.P, state.ids, k, state.widths[k], N)
        else:
            widen(state.P, k, state.widths[k], N, hyper.p_min)
        state.widths[k] = N
    if hyper.near:
        read_near(state.P, state.ids, k, present, n, N, p)
    else:
        for j in range(n):
            p[j] = state.P[k, present[j]]


@helper
def _attend(hyper: Hyper, state: Smoothed, k: int, present: Ints, n: int, p: Floats, l: Floats, kappa: float) -> None:
    """The step of row k."""
    N = state.tasks[0]
    strength = kappa if hyper.variant == EXPONENTIAL else hyper.lam
    if math.isinf(hyper.lam) or n < 2:
        return
    state.progress[DUE] += 1.0
    if not attend(p, l, n, hyper.variant == EXPONENTIAL, strength, min(hyper.p_min, 1.0 / N)):
        return
    state.progress[MOVED] += 1.0
    if hyper.near:
        write_near(state.P, state.ids, k, present, n, N, p)
    else:
        for j in range(n):
            state.P[k, present[j]] = p[j]


@compiled
def predict(hyper: Hyper, state: Smoothed, batch: Batch, scores: Floats) -> None:
    dot_rows(state.pairs, state.weights, False, batch, 0, len(scores), scores)


@helper_no_alloc
def _record(batch: Batch, i: int, margin: float, C: float, alpha: float, trace: Floats) -> None:
    square = 0.0
    for e in range(batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]):
        square += batch.values[e] * batch.values[e]
    trace[i, 0], trace[i, 1], trace[i, 2], trace[i, 3], trace[i, 4] = max(1.0 - margin, 0.0), 0.0, square, C, alpha


@compiled
def learn(hyper: Hyper, state: Smoothed, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    pairs, W, P, _, _, updates, progress, tasks = state
    layout = pairs.layout
    task, label, row, indptr, indices, values, rounds = batch
    most = widest_round(rounds)
    at, present = np.empty(most, np.int64), np.empty(most, np.int64)
    margins, p, l = np.empty(most), np.empty(most), np.empty(most)
    for t in range(start, len(rounds) - 1):
        lo, hi, n = rounds[t], rounds[t + 1], 0 * most  # a bare 0 would compile helpers once more
        dot_rows(pairs, W, False, batch, lo, hi, scores)
        for i in range(lo, hi):
            tasks[0] = max(tasks[0], task[i] + 1)
            if not np.isnan(label[i]):
                at[n], present[n] = i, task[i]
                n += 1
        if n == 0:
            continue
        alpha, C = letters(hyper, progress)
        kappa = 1.0 if math.isnan(hyper.lam) else C * (1.0 - alpha) / hyper.lam
        one_row = shares_row(batch, lo, hi)
        for own in range(n):
            k, i = present[own], at[own]
            margins[own] = label[i] * scores[i]
            if trace.shape[0]:
                _record(batch, i, margins[own], C, alpha, trace)
            if hyper.condition != ACTIVE and not _is_due(hyper.condition, margins, n, own):
                continue
            for j in range(n):  # y_j <w_k, x_j>
                if j != own:
                    s, begin, end = scores[i], indptr[row[at[j]]], indptr[row[at[j]] + 1]
                    if not one_row:
                        s = dot_table(layout, W, k, indices, values, begin, end)[0]
                    margins[j] = label[at[j]] * s
            if not _is_due(hyper.condition, margins, n, own):
                continue
            _attention(hyper, state, k, present, n, p)
            together = 0.0
            for j in range(n):
                l[j] = max(1.0 - margins[j], 0.0)
                if margins[j] < 1.0:  # Eq. 9
                    step = C * ((1.0 - alpha) * p[j] + (alpha if j == own else 0.0)) * label[at[j]]
                    if one_row:
                        together += step
                    else:
                        add_table(layout, W, k, indices, values, indptr[row[at[j]]], indptr[row[at[j]] + 1], step)
            if together != 0.0:
                add_table(layout, W, k, indices, values, indptr[row[lo]], indptr[row[lo] + 1], together)
            _attend(hyper, state, k, present, n, p, l, kappa)
            updates[k] += 1.0
            if updates[k] % SETTLE == 0.0:
                normalise(P, k, P.shape[1] if hyper.near else tasks[0])
            if trace.shape[0]:
                trace[i, 1] = 1.0
        _end_round(hyper, state)
    return len(rounds) - 1


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    hyper, state, batch, scores, _ = handle.parts
    bad = set_single(batch, task, 0.0, count)
    if bad < 0:
        predict(hyper, state, batch, scores)
    return bad


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    hyper, state, batch, scores, trace = handle.parts
    bad = set_single(batch, task, label, count)
    return bad if bad >= 0 else status(learn(hyper, state, batch, batch.rounds[0], scores, trace))
