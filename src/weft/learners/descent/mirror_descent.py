r"""Mirror descent with an entropy or a p-norm, over a table of dual vectors (`mirror_map`).

    theta_k -= eta_t A^{-1/2}_ki g     for every task k                                   Eq. 10 and 18
    x_i = sum_k A^{-1/2}_ik y_k        y_k the image of theta_k

On the clique A^{-1/2} = own I + shared 11^T, with own = 1/sqrt(1+b) and shared = (1 - own)/N. At b = inf all columns
are equal, and there is one. Follow-the-leader sums gradients, and y_k is the image of eta_t theta_k. The p-norm on the
simplex keeps y itself, and finds the threshold that makes a column sum to one.

An event costs O(tasks x non-zeros); with b = 0 only the column of its task. The number of features d is that of the
declared ones, of the columns of tables, and of the named ones met so far.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import Handle, compiled, helper, helper_no_alloc, inlined_only
from weft.learners.descent.dual_growth import into_ball, refresh_all, welcome
from weft.learners.descent.dual_table import Table, columns_of, factor_of, map_of
from weft.learners.descent.links import link, project_simplex_pnorm
from weft.learners.descent.mirror_map import P_NORM, P_SIMPLEX, Map, add_to_sum, dual_norm, image, refresh
from weft.learners.descent.mirror_rule import ADAPTIVE, ANYTIME, HORIZON, LEADER, LEADER_SQRT, MirrorRule, root_of
from weft.learners.descent.positions import Count, Trace
from weft.learners.descent.positions import DualScalar as S
from weft.maths.limits import LONGEST
from weft.maths.losses import loss_value, slope
from weft.storage.batch import Batch, importance, learn_single, predict_single, widest_round


class Work(NamedTuple):
    """Of every row of a round: the score, the slope g of its loss (the gradient is g x), |g x|_*; `none` is empty."""

    scores: Floats
    g: Floats
    norms: Floats
    none: Floats


LEAST = 1e-290
"""Gradients that are no longer than this have no direction: their inverse may be infinite."""

TOUCHES = 16
"""Sums are computed again when this many times d non-zeros have changed them."""


@helper
def work_for(batch: Batch) -> Work:
    """Room for the widest round."""
    widest = widest_round(batch.rounds)
    return Work(np.empty(widest), np.empty(widest), np.empty(widest), np.empty(0))


@helper_no_alloc
def score_row(rule: MirrorRule, state: Table, mirror: Map, batch: Batch, i: int, start: Floats) -> float:
    """<x_i, phi> = sum_k A^{-1/2}_ik <y_k, phi>; for a task that is not known, as if it came now, at `start`."""
    theta, _, sums, known, counts, scalars, root, _ = state
    task, _, row, indptr, indices, values, _, _ = batch
    j, N = task[i], counts[Count.TASKS]
    columns, own, shared, total = columns_of(state), scalars[S.OWN], scalars[S.SHARED], 0.0
    if j >= N:
        if rule.graph:
            return 0.0
        _, own, shared = root_of(rule, N + 1)
    for e in range(indptr[row[i]], indptr[row[i] + 1]):
        feature, dot = indices[e], 0.0
        if rule.kind != P_NORM and known[feature] == 0:
            continue  # a feature that never held anything is not in the simplex
        if rule.graph:
            for k in range(N):
                if root[j, k] != 0.0:
                    dot += root[j, k] * image(mirror, theta[feature, k], sums, k)
        elif math.isinf(scalars[S.B]) and N > 0:
            dot = image(mirror, theta[feature, 0], sums, 0)
        else:
            if shared != 0.0:
                for k in range(columns):
                    dot += image(mirror, theta[feature, k], sums, k)
                if j >= N:
                    dot += start[feature]
                dot *= shared
            if own != 0.0:
                dot += own * (image(mirror, theta[feature, j], sums, j) if j < N else start[feature])
        total += dot * values[e]
    return float(scalars[S.SCALE] * total)


@helper
def newcomer(rule: MirrorRule, state: Table, batch: Batch) -> Floats:
    """Where a task starts that is not known yet, if the batch has one and it can come."""
    if not rule.graph:
        for i in range(len(batch.task)):
            if batch.task[i] >= state.counts[Count.TASKS]:
                return start_of_newcomer(rule, state)
    return np.zeros(0)


@compiled
def start_of_newcomer(rule: MirrorRule, state: Table) -> Floats:
    """y of the shared part; on the simplex of p-norms the mean of all."""
    theta, shared, _, known, counts, _, _, _ = state
    N, mirror, start = counts[Count.TASKS], map_of(rule, state), np.zeros(theta.shape[0])
    if rule.kind == P_SIMPLEX or N == 0:
        for j in range(len(start)):
            if N > 0:
                for k in range(N):
                    start[j] += theta[j, k]
                start[j] /= N
            elif rule.kind != P_NORM and known[j] != 0:
                start[j] = 1.0 / counts[Count.FEATURES]
        return start
    column, own_sums = shared.copy().reshape(-1, 1), np.zeros((1, state.sums.shape[1]))
    refresh(mirror, column, known, own_sums, 0)
    for j in range(len(start)):
        start[j] = image(mirror, column[j, 0], own_sums, 0)
    return start


@inlined_only
def _reach(rule: MirrorRule, state: Table, j: int, k: int) -> float:
    """A^{-1/2}_kj, or of the one column that stands for all."""
    if rule.graph:
        return float(state.root[k, j])
    if k == j or columns_of(state) == 1:
        return float(state.scalars[S.OWN] + state.scalars[S.SHARED])
    return float(state.scalars[S.SHARED])


@helper_no_alloc
def _step(rule: MirrorRule, state: Table, mirror: Map, batch: Batch, i: int, size: float) -> None:
    """theta_k += size A^{-1/2}_ki phi for all k."""
    theta, shared_part, sums, known, _, scalars, _, _ = state
    task, _, row, indptr, indices, values, _, _ = batch
    j, first, last = task[i], 0, columns_of(state)
    if not rule.graph and scalars[S.SHARED] == 0.0:
        first, last = j, j + 1
    for e in range(indptr[row[i]], indptr[row[i] + 1]):
        feature, step = indices[e], size * values[e]
        shared_part[feature] += scalars[S.SHARED] * step
        for k in range(first, last):
            reach = _reach(rule, state, j, k)
            if reach != 0.0:
                add_to_sum(mirror, theta, known, sums, feature, k, reach * step)
    scalars[S.TOUCHED] += indptr[row[i] + 1] - indptr[row[i]]


@helper
def _step_on_simplex(rule: MirrorRule, state: Table, batch: Batch, lo: int, hi: int, g: Floats, eta: float) -> None:
    """y_k = f_q([f_p(y_k) - eta (A^{-1/2} G)_k + nu]_+) for all k, with sum y_k = 1 (Sec. 3.3)."""
    theta, _, _, _, _, scalars, _, _ = state
    task, _, row, indptr, indices, values, _, _ = batch
    d, p = theta.shape[0], scalars[S.P]
    y, dual = np.empty(d), np.empty(d)
    for k in range(columns_of(state)):
        moved = False
        for i in range(lo, hi):
            moved = moved or (g[i - lo] != 0.0 and _reach(rule, state, task[i], k) != 0.0)
        if not moved:
            continue
        for j in range(d):
            y[j] = theta[j, k]
        link(p, y, dual)
        for i in range(lo, hi):
            size = eta * g[i - lo] * _reach(rule, state, task[i], k)
            for e in range(indptr[row[i]], indptr[row[i] + 1]):
                dual[indices[e]] -= size * values[e]
        _keep_known(state, dual)
        project_simplex_pnorm(p, dual, y)
        for j in range(d):
            theta[j, k] = y[j]


@helper_no_alloc
def _keep_known(state: Table, dual: Floats) -> None:
    """Features that do not count yet stay at zero: their dual weight is below every threshold."""
    for j in range(len(dual)):
        if state.known[j] == 0:
            dual[j] = -np.inf


@helper
def _energy(rule: MirrorRule, state: Table, batch: Batch, lo: int, hi: int, g: Floats) -> float:
    """sum_k |sum_i A^{-1/2}_ki g_i|_q^2 of a round."""
    task, _, row, indptr, indices, values, _, _ = batch
    total, gradient, q = 0.0, np.zeros(state.theta.shape[0]), map_of(rule, state).q
    for k in range(state.counts[Count.TASKS]):
        for j in range(len(gradient)):
            gradient[j] = 0.0
        for i in range(lo, hi):
            reach = g[i - lo] * _reach(rule, state, task[i], k)
            for e in range(indptr[row[i]], indptr[row[i] + 1]):
                gradient[indices[e]] += reach * values[e]
        size = dual_norm(q, gradient, 0, len(gradient))
        total += size * size
    return total


@helper_no_alloc
def _rate(rule: MirrorRule, state: Table) -> float:
    """eta_t, with what this round has added to the counts and sums."""
    scalars = state.scalars
    L = scalars[S.STEEPEST] if math.isnan(rule.L) else rule.L
    if rule.rate == ADAPTIVE:
        return scalars[S.ETA] / math.sqrt(scalars[S.SQUARES]) if scalars[S.SQUARES] > 0.0 else 0.0
    if rule.rate == ANYTIME:
        return scalars[S.ETA] / (L * math.sqrt(scalars[S.LABELLED])) if L > LEAST else 0.0
    if rule.rate == HORIZON:
        return scalars[S.ETA] / (L * math.sqrt(rule.T)) if L > LEAST else 0.0
    return factor_of(rule, state) if rule.rate >= LEADER else rule.eta


@compiled
def predict(rule: MirrorRule, state: Table, batch: Batch, scores: Floats) -> None:
    mirror, start = map_of(rule, state), newcomer(rule, state, batch)
    for i in range(len(scores)):
        scores[i] = score_row(rule, state, mirror, batch, i, start)


@inlined_only
def _score(rule: MirrorRule, state: Table, batch: Batch, lo: int, hi: int, work: Work) -> tuple[float, int, bool]:
    """Scores, slopes and |g|_* of a round; returns |g|_*^2 of the last gradient, their number, if a row has a label."""
    scalars, mirror = state.scalars, map_of(rule, state)
    squares, moving, labelled = 0.0, 0, False
    for i in range(lo, hi):
        begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
        score = score_row(rule, state, mirror, batch, i, work.none)
        weight = importance(batch, i)
        g = weight * slope(rule.loss, score, batch.label[i], rule.epsilon)
        size = dual_norm(mirror.q, batch.values, begin, end)
        norm = abs(g) * size
        if norm > LONGEST:  # as `limits.cut` does, in the norm of this rule
            g, norm = math.copysign(LONGEST / size, g), LONGEST
        work.scores[i - lo], work.g[i - lo], work.norms[i - lo] = score, g, norm
        scalars[S.STEEPEST] = max(scalars[S.STEEPEST], norm)
        if norm > 0.0:
            moving += 1
            squares = norm * norm
        labelled = labelled or (weight > 0.0 and not math.isnan(batch.label[i]))
    return squares, moving, labelled


@helper
def descend(rule: MirrorRule, state: Table, batch: Batch, lo: int, hi: int, work: Work) -> float:
    """One round, after `welcome` for its newcomers: fills `work`, moves theta; returns eta_t."""
    counts, scalars, g, norms, mirror = state.counts, state.scalars, work.g, work.norms, map_of(rule, state)
    squares, moving, labelled = _score(rule, state, batch, lo, hi, work)
    if not labelled:
        return 0.0
    scalars[S.LABELLED] += 1.0
    if rule.rate == ADAPTIVE and moving > 0:
        if moving > 1:
            squares = _energy(rule, state, batch, lo, hi, g) / scalars[S.LARGEST]
        scalars[S.SQUARES] += squares
    eta = _rate(rule, state)
    if moving == 0:
        return eta
    scalars[S.ROUNDS] += 1.0
    if rule.kind == P_SIMPLEX:
        _step_on_simplex(rule, state, batch, lo, hi, g, eta)
        return eta
    size = -1.0 if rule.rate >= LEADER else -eta / scalars[S.SCALE]
    for i in range(lo, hi):
        if norms[i - lo] > 0.0:
            _step(rule, state, mirror, batch, i, size * g[i - lo])
    if rule.rate == LEADER_SQRT or scalars[S.TOUCHED] > TOUCHES * max(counts[Count.FEATURES], 64):
        refresh_all(rule, state)
    if rule.ball:
        into_ball(rule, state)
    return eta


@compiled
def learn(rule: MirrorRule, state: Table, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    task, label, rounds, work = batch.task, batch.label, batch.rounds, work_for(batch)
    issued, norms = work.scores, work.norms
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        welcome(rule, state, batch, lo, hi)
        eta = descend(rule, state, batch, lo, hi, work)
        for i in range(lo, hi):
            scores[i] = issued[i - lo]
            if trace.shape[0] and not math.isnan(label[i]):
                trace[i, Trace.LOSS] = loss_value(rule.loss, scores[i], label[i], rule.epsilon)
                trace[i, Trace.ETA], trace[i, Trace.G2] = eta, norms[i - lo] * norms[i - lo]
                trace[i, Trace.DIAGONAL] = _diagonal(rule, state, task[i])
    return len(rounds) - 1


@helper_no_alloc
def _diagonal(rule: MirrorRule, state: Table, i: int) -> float:
    """A^-1_ii."""
    if not rule.graph:
        return float(state.scalars[S.LARGEST])
    square = 0.0
    for k in range(state.counts[Count.TASKS]):
        square += state.root[i, k] * state.root[i, k]
    return square


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    return predict_single(predict, handle, task, count)


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    return learn_single(learn, handle, task, label, count)
