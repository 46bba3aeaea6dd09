r"""Gradient descent on a clique of tasks, or on disjoint cliques, at a cost of O(non-zeros) per event.

Cesa-Bianchi, Laforgue, Paudice and Pontil (2022), Eq. 7: x <- Proj_A(x - eta_t A^-1[:, i] g) for an event of task i.
A^-1 = own I + shared 11^T, with own = 1/(1+b) and shared = b/((1+b)N), moves every task by the same vector, and the
active one by another of its own. So two parts, updated where the row has entries, stand for all N models:

    x_i = s (z_i + m)              z_i -= (eta own / s) g      m -= (eta shared / s) g
    x_i = M + s (z_i - zbar)       projection="variance": the mean apart from the deviations

With disjoint cliques every cluster has an m, and `own` and `shared` of its own. The factor s is how projections stay
lazy (`cliques_ball`). In a round of several rows g is a compound gradient.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import Handle, compiled, helper_no_alloc, inlined_only
from weft.learners.descent.cliques_ball import Norms, Products, project, retune
from weft.learners.descent.cliques_state import Parts, factor_of
from weft.learners.descent.positions import CliqueScalar as S
from weft.learners.descent.positions import Count, Trace
from weft.learners.descent.rule import ADAPTIVE, LEADER, MAHALANOBIS, VARIANCE, Rule, rate_of
from weft.maths.limits import cut
from weft.maths.losses import loss_value, slope
from weft.storage.batch import Batch, importance, learn_single, predict_single, widest_round
from weft.storage.pairs import HASHED, slot_space
from weft.storage.regions import fits
from weft.storage.sparse_rows import add, dot, row_of
from weft.storage.two_parts import TwoParts, add_parts, dot_parts, find_pairs, prefetch_ahead


class Work(NamedTuple):
    """What a kernel fills: scores and trace, scratch with an entry per row of a round, and a vector of zeros."""

    scores: Floats
    trace: Floats
    g: Floats  # slope of the loss: the gradient is g x
    squares: Floats  # |x|^2
    z: Floats  # <z_i, x>
    m: Floats  # <m, x>
    sums: Floats  # <sum z, x>, or <zbar, x>
    total: Floats
    slots: Ints


class Gradient(NamedTuple):
    """Of a round: sum |g_i|^2, how many rows have one, the last of them, and whether any row has a label."""

    g2: float
    moving: int
    last: int
    labelled: bool


@inlined_only
def _projects(rule: Rule) -> bool:
    return rule.projection == MAHALANOBIS or rule.projection == VARIANCE


@inlined_only
def _cluster(rule: Rule, state: Parts, task: int) -> int:
    """The cluster of a task; 0 on one clique."""
    return state.clusters.label[task] if rule.clusters else 0


@inlined_only
def _inverse(rule: Rule, state: Parts, task: int) -> tuple[float, float]:
    """`own` and `shared` of A^-1 in the clique of a task."""
    if rule.clusters:
        c = state.clusters.label[task]
        return state.clusters.own[c], state.clusters.shared[c]
    return state.scalars[S.OWN], state.scalars[S.SHARED]


@compiled
def predict(rule: Rule, state: Parts, batch: Batch, scores: Floats) -> None:
    slots = slot_space(state.pairs, batch)
    _predict(rule, state, TwoParts(state.pairs, state.own, state.shared, slots), batch, scores)


@helper_no_alloc
def _predict(rule: Rule, state: Parts, parts: TwoParts, batch: Batch, scores: Floats) -> None:
    s = factor_of(rule, state)
    for i in range(len(scores)):
        j, x = batch.task[i], row_of(batch, i)
        if rule.clusters and j >= len(state.clusters.label):
            scores[i] = 0.0
            continue
        z, m, _ = dot_parts(parts, j, _cluster(rule, state, j), x)
        scores[i] = s * (z + m)
        if rule.projection == VARIANCE:  # a task that is not known yet is at the mean
            zbar = dot(state.sums, x)[0]
            scores[i] = m + s * (z - zbar) if j < state.counts[Count.TASKS] else m


@compiled
def learn(rule: Rule, state: Parts, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    widest = widest_round(batch.rounds)
    compound = widest > 1 and (_projects(rule) or rule.rate == ADAPTIVE)
    work = Work(
        scores,
        trace,
        np.empty(widest),
        np.empty(widest),
        np.empty(widest),
        np.empty(widest),
        np.empty(widest),
        np.zeros(state.shared.shape[1] if compound else 0),
        slot_space(state.pairs, batch),
    )
    return _descend(rule, state, batch, start, work)


@helper_no_alloc
def _descend(rule: Rule, state: Parts, batch: Batch, start: int, work: Work) -> int:
    """The rounds from `start` on; returns the first that there is no room for."""
    scalars, rounds = state.scalars, batch.rounds
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if state.pairs.layout[HASHED] and not fits(state.pairs, batch, lo, hi):
            return t
        N = state.counts[Count.TASKS]
        for i in range(lo, hi):
            N = max(N, batch.task[i] + 1)
        if state.counts[Count.TUNED] != N:
            retune(rule, state, N)
        gradient = _score(rule, state, batch, lo, hi, work)
        if not gradient.labelled:
            continue
        norms = _measure(rule, state, batch, lo, hi, work, gradient)
        if rule.rate == ADAPTIVE:
            scalars[S.SQUARES] += norms.g2 if gradient.moving == 1 else norms.H / _largest_diagonal(rule, state)
        eta = rate_of(rule, scalars[S.ETA], scalars[S.SQUARES], scalars[S.ROUNDS] + 1.0)
        if work.trace.shape[0]:
            _record(rule, state, batch, lo, hi, work, eta)
        if norms.g2 == 0.0:
            continue
        scalars[S.ROUNDS] += 1.0
        _move(rule, state, batch, lo, hi, work, eta)
        if _projects(rule):
            project(rule, state, eta, _products(work, lo, hi), norms)
    return len(rounds) - 1


@inlined_only
def _score(rule: Rule, state: Parts, batch: Batch, lo: int, hi: int, work: Work) -> Gradient:
    """Scores <x_i, phi>, and the slopes of their losses."""
    parts = TwoParts(state.pairs, state.own, state.shared, work.slots)
    s, only_shared = factor_of(rule, state), math.isinf(rule.b)
    g2, moving, last, labelled = 0.0, 0, lo, False
    for i in range(lo, hi):
        a, x, zbar = i - lo, row_of(batch, i), 0.0
        if only_shared:
            z = 0.0
            m, square = dot(state.shared[0], x)
        else:
            prefetch_ahead(parts, batch, i)
            z, m, square = dot_parts(parts, batch.task[i], _cluster(rule, state, batch.task[i]), x)
        score = s * (z + m)
        if _projects(rule):
            zbar = dot(state.sums, x)[0]
            if rule.projection == VARIANCE:
                score = m + s * (z - zbar)
        g = cut(importance(batch, i) * slope(rule.loss, score, batch.label[i], rule.epsilon), square)
        work.scores[i], work.g[a], work.squares[a] = score, g, square
        work.z[a], work.m[a], work.sums[a] = z, m, zbar
        if g * g * square > 0.0:
            moving, last = moving + 1, i
        g2 += g * g * square
        labelled = labelled or not math.isnan(batch.label[i])
    return Gradient(g2, moving, last, labelled)


@inlined_only
def _measure(rule: Rule, state: Parts, batch: Batch, lo: int, hi: int, work: Work, gradient: Gradient) -> Norms:
    """The norms of a round's gradient: of its rows, of their sum, and of A^-1 where something depends on it."""
    g2 = gradient.g2
    if not (_projects(rule) or rule.rate == ADAPTIVE):
        return Norms(g2, g2, 0.0)
    if gradient.moving > 1:
        return _compound(rule, state, batch, lo, hi, work, g2)
    if not rule.clusters:
        return Norms(g2, g2, state.scalars[S.OWN] * g2 + state.scalars[S.SHARED] * g2)
    own, shared = _inverse(rule, state, batch.task[gradient.last])
    return Norms(g2, g2, (own + shared) * g2)


@helper_no_alloc
def _compound(rule: Rule, state: Parts, batch: Batch, lo: int, hi: int, work: Work, g2: float) -> Norms:
    """The norms where several rows have gradients."""
    if not rule.clusters:
        G2 = _square_of_sum(state, batch, lo, hi, work, -1)
        return Norms(g2, G2, state.scalars[S.OWN] * g2 + state.scalars[S.SHARED] * G2)
    clusters, H = state.clusters, 0.0
    for i in range(lo, hi):
        a = i - lo
        H += clusters.own[clusters.label[batch.task[i]]] * work.g[a] * work.g[a] * work.squares[a]
    for c in range(len(clusters.own)):
        H += clusters.shared[c] * _square_of_sum(state, batch, lo, hi, work, c)
    return Norms(g2, g2, H)


@helper_no_alloc
def _square_of_sum(state: Parts, batch: Batch, lo: int, hi: int, work: Work, c: int) -> float:
    """|sum of the gradients g x of a round|^2, of the tasks of cluster c; c = -1: of all."""
    task, _, row, indptr, indices, _, _, _ = batch
    label, total, square = state.clusters.label, work.total, 0.0
    for i in range(lo, hi):
        if work.g[i - lo] != 0.0 and (c < 0 or label[task[i]] == c):
            add(total, row_of(batch, i), work.g[i - lo])
    for i in range(lo, hi):
        if work.g[i - lo] != 0.0 and (c < 0 or label[task[i]] == c):
            for e in range(indptr[row[i]], indptr[row[i] + 1]):
                square += total[indices[e]] * total[indices[e]]
                total[indices[e]] = 0.0
    return square


@helper_no_alloc
def _largest_diagonal(rule: Rule, state: Parts) -> float:
    """max_i A^-1_ii."""
    scalars, clusters = state.scalars, state.clusters
    if not rule.clusters:
        return float(scalars[S.OWN] + scalars[S.SHARED])
    largest = 0.0
    for c in range(len(clusters.own)):
        largest = max(largest, clusters.own[c] + clusters.shared[c])
    return largest


@helper_no_alloc
def _record(rule: Rule, state: Parts, batch: Batch, lo: int, hi: int, work: Work, eta: float) -> None:
    """The trace of a round."""
    for i in range(lo, hi):
        if not math.isnan(batch.label[i]):
            a, entry = i - lo, work.trace[i]
            own, shared = _inverse(rule, state, batch.task[i])
            entry[Trace.LOSS] = loss_value(rule.loss, work.scores[i], batch.label[i], rule.epsilon)
            entry[Trace.ETA] = eta
            entry[Trace.G2] = work.g[a] * work.g[a] * work.squares[a]
            entry[Trace.DIAGONAL] = own + shared


@inlined_only
def _move(rule: Rule, state: Parts, batch: Batch, lo: int, hi: int, work: Work, eta: float) -> None:
    """z_i -= (eta own / s) g and m -= (eta shared / s) g for every row; follow-the-leader only sums gradients."""
    parts = TwoParts(state.pairs, state.own, state.shared, work.slots)
    scalars, N = state.scalars, state.counts[Count.TASKS]
    step = -1.0 if rule.rate >= LEADER else -eta / scalars[S.SCALE]
    for i in range(lo, hi):
        g, j, x = work.g[i - lo], batch.task[i], row_of(batch, i)
        if g == 0.0:
            continue
        c = _cluster(rule, state, j)
        own, shared = _inverse(rule, state, j)
        own_step, shared_step = step * g * own, step * g * shared
        if rule.projection == VARIANCE:
            shared_step = -eta * g / N
            if scalars[S.LIMIT] == 0.0:
                own_step = 0.0  # no task may leave the mean
        if own_step == 0.0 or math.isinf(rule.b):  # `_score` has not looked for the own part of one model of all
            add(state.shared[c], x, shared_step)
        else:
            if state.pairs.layout[HASHED] and hi - lo > 1:
                find_pairs(parts, j, x)
            add_parts(parts, j, c, x, own_step, shared_step)
        if _projects(rule) and not rule.clusters:
            add(state.sums, x, own_step / N if rule.projection == VARIANCE else own_step)


@inlined_only
def _products(work: Work, lo: int, hi: int) -> Products:
    """<x_i, g_i> and the like, summed over a round."""
    x, z, m, sums = 0.0, 0.0, 0.0, 0.0
    for i in range(lo, hi):
        a = i - lo
        x += work.g[a] * work.scores[i]
        z += work.g[a] * work.z[a]
        m += work.g[a] * work.m[a]
        sums += work.g[a] * work.sums[a]
    return Products(x, z, m, sums)


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    return predict_single(predict, handle, task, count)


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    return learn_single(learn, handle, task, label, count)
