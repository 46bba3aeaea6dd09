r"""Mirror descent with an entropy or a p-norm, over a table of dual vectors (`mirror`).

    theta_k -= eta_t A^{-1/2}_ki g     for every task k                                   Eq. 10 and 18
    x_i = sum_k A^{-1/2}_ik y_k        y_k the image of theta_k

On the clique A^{-1/2} = own I + shared 11^T, with own = 1/sqrt(1+b) and shared = (1 - own)/N. At b = inf all columns
are equal, and there is one. Follow-the-leader sums gradients, and y_k is the image of eta_t theta_k. The p-norm on the
simplex keeps y itself, and finds the threshold that makes a column sum to one.

An event costs O(tasks x non-zeros); with b = 0 only the column of its task. The number of features d is that of the
declared ones, of the columns of tables, and of the named ones met so far.
"""

import math

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import Handle, compiled, helper
from weft.learners.descent.links import link, project_simplex_pnorm
from weft.learners.descent.mirror import P_NORM, P_SIMPLEX, add_to_sum, dual_norm, image, refresh
from weft.learners.descent.mirror_table import (
    ADAPTIVE,
    ANYTIME,
    ETA,
    FEATURES,
    HORIZON,
    LABELLED,
    LARGEST,
    LEADER,
    LEADER_SQRT,
    OWN,
    ROUNDS,
    SCALE,
    SHARED,
    SQUARES,
    STEEPEST,
    TASKS,
    TOUCHED,
    TOUCHES,
    B,
    MirrorRule,
    P,
    Table,
    columns_of,
    conjugate,
    factor_of,
    into_ball,
    refresh_all,
    root_of,
    welcome,
)
from weft.maths.losses import loss_value, slope
from weft.maths.rounds import widest_round
from weft.storage.batch import Batch, set_single, status


@helper
def score_row(rule: MirrorRule, state: Table, f: float, batch: Batch, i: int, start: Floats) -> float:
    """<x_i, phi> = sum_k A^{-1/2}_ik <y_k, phi>; for a task that is not known, as if it came now, at `start`."""
    theta, _, sums, known, counts, scalars, root, _ = state
    task, _, row, indptr, indices, values, _ = batch
    j, q, N = task[i], conjugate(scalars[P]), counts[TASKS]
    columns, own, shared, total = columns_of(state), scalars[OWN], scalars[SHARED], 0.0
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
                    dot += root[j, k] * image(rule.kind, q, f, theta[feature, k], sums, k)
        elif math.isinf(scalars[B]) and N > 0:
            dot = image(rule.kind, q, f, theta[feature, 0], sums, 0)
        else:
            if shared != 0.0:
                for k in range(columns):
                    dot += image(rule.kind, q, f, theta[feature, k], sums, k)
                if j >= N:
                    dot += start[feature]
                dot *= shared
            if own != 0.0:
                dot += own * (image(rule.kind, q, f, theta[feature, j], sums, j) if j < N else start[feature])
        total += dot * values[e]
    return float(scalars[SCALE] * total)


@helper
def newcomer(rule: MirrorRule, state: Table, f: float, batch: Batch) -> Floats:
    """Where a task starts that is not known yet, if the batch has one and it can come."""
    if not rule.graph:
        for i in range(len(batch.task)):
            if batch.task[i] >= state.counts[TASKS]:
                return start_of_newcomer(rule, state, f)
    return np.zeros(0)


@compiled
def start_of_newcomer(rule: MirrorRule, state: Table, f: float) -> Floats:
    """y of the shared part; on the simplex of p-norms the mean of all."""
    theta, shared, _, known, counts, scalars, _, _ = state
    N, q, start = counts[TASKS], conjugate(scalars[P]), np.zeros(theta.shape[0])
    if rule.kind == P_SIMPLEX or N == 0:
        for j in range(len(start)):
            if N > 0:
                for k in range(N):
                    start[j] += theta[j, k]
                start[j] /= N
            elif rule.kind != P_NORM and known[j] != 0:
                start[j] = 1.0 / counts[FEATURES]
        return start
    column, own_sums = shared.copy().reshape(-1, 1), np.zeros((1, 3))
    refresh(rule.kind, q, f, column, known, own_sums, 0)
    for j in range(len(start)):
        start[j] = image(rule.kind, q, f, column[j, 0], own_sums, 0)
    return start


@helper
def _reach(rule: MirrorRule, state: Table, j: int, k: int) -> float:
    """A^{-1/2}_kj, or of the one column that stands for all."""
    if rule.graph:
        return float(state.root[k, j])
    if k == j or columns_of(state) == 1:
        return float(state.scalars[OWN] + state.scalars[SHARED])
    return float(state.scalars[SHARED])


@helper
def _step(rule: MirrorRule, state: Table, f: float, batch: Batch, i: int, size: float) -> None:
    """theta_k += size A^{-1/2}_ki phi for all k."""
    theta, shared_part, sums, known, _, scalars, _, _ = state
    task, _, row, indptr, indices, values, _ = batch
    j, q, columns = task[i], conjugate(scalars[P]), columns_of(state)
    first, last = 0, columns
    if not rule.graph and scalars[SHARED] == 0.0:
        first, last = j, j + 1
    for e in range(indptr[row[i]], indptr[row[i] + 1]):
        feature, step = indices[e], size * values[e]
        shared_part[feature] += scalars[SHARED] * step
        for k in range(first, last):
            reach = _reach(rule, state, j, k)
            if reach != 0.0:
                add_to_sum(rule.kind, q, f, theta, known, sums, feature, k, reach * step)
    scalars[TOUCHED] += indptr[row[i] + 1] - indptr[row[i]]


@helper
def _step_on_simplex(rule: MirrorRule, state: Table, batch: Batch, lo: int, hi: int, g: Floats, eta: float) -> None:
    """y_k = f_q([f_p(y_k) - eta (A^{-1/2} G)_k + nu]_+) for all k, with sum y_k = 1 (Sec. 3.3)."""
    theta, _, _, _, _, scalars, _, _ = state
    task, _, row, indptr, indices, values, _ = batch
    d, p = theta.shape[0], scalars[P]
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


@helper
def _keep_known(state: Table, dual: Floats) -> None:
    """Features that do not count yet stay at zero: their dual weight is below every threshold."""
    for j in range(len(dual)):
        if state.known[j] == 0:
            dual[j] = -np.inf


@helper
def _energy(rule: MirrorRule, state: Table, batch: Batch, lo: int, hi: int, g: Floats, q: float) -> float:
    """sum_k |sum_i A^{-1/2}_ki g_i|_q^2 of a round."""
    task, _, row, indptr, indices, values, _ = batch
    total, gradient = 0.0, np.zeros(state.theta.shape[0])
    for k in range(state.counts[TASKS]):
        for j in range(len(gradient)):
            gradient[j] = 0.0
        for i in range(lo, hi):
            reach = g[i - lo] * _reach(rule, state, task[i], k)
            for e in range(indptr[row[i]], indptr[row[i] + 1]):
                gradient[indices[e]] += reach * values[e]
        size = dual_norm(q, gradient, 0, len(gradient))
        total += size * size
    return total


@helper
def _rate(rule: MirrorRule, state: Table) -> float:
    """eta_t, with what this round has added to the counts and sums."""
    scalars = state.scalars
    L = scalars[STEEPEST] if math.isnan(rule.L) else rule.L
    if rule.rate == ADAPTIVE:
        return scalars[ETA] / math.sqrt(scalars[SQUARES]) if scalars[SQUARES] > 0.0 else 0.0
    if rule.rate == ANYTIME:
        return scalars[ETA] / (L * math.sqrt(scalars[LABELLED])) if L > 0.0 else 0.0
    if rule.rate == HORIZON:
        return scalars[ETA] / (L * math.sqrt(rule.T)) if L > 0.0 else 0.0
    return factor_of(rule, state) if rule.rate >= LEADER else rule.eta


@compiled
def predict(rule: MirrorRule, state: Table, batch: Batch, scores: Floats) -> None:
    f = factor_of(rule, state)
    start = newcomer(rule, state, f, batch)
    for i in range(len(scores)):
        scores[i] = score_row(rule, state, f, batch, i, start)


@helper
def descend(
    rule: MirrorRule,
    state: Table,
    batch: Batch,
    lo: int,
    hi: int,
    issued: Floats,
    g: Floats,
    norms: Floats,
) -> float:
    """One round, whose newcomers are welcomed already: fills scores, slopes and |g|_*, moves theta; returns eta_t."""
    counts, scalars = state.counts, state.scalars
    _, label, row, indptr, _, values, _ = batch
    f, q, labelled, moving, squares = factor_of(rule, state), conjugate(scalars[P]), False, 0, 0.0
    nobody = np.zeros(0)
    for i in range(lo, hi):
        a = i - lo
        issued[a] = score_row(rule, state, f, batch, i, nobody)
        g[a] = slope(rule.loss, issued[a], label[i], rule.epsilon)
        norms[a] = abs(g[a]) * dual_norm(q, values, indptr[row[i]], indptr[row[i] + 1])
        scalars[STEEPEST] = max(scalars[STEEPEST], norms[a])
        if norms[a] > 0.0:
            moving += 1
            squares = norms[a] * norms[a]
        labelled = labelled or not math.isnan(label[i])
    if not labelled:
        return 0.0
    scalars[LABELLED] += 1.0
    if rule.rate == ADAPTIVE and moving > 0:
        if moving > 1:
            squares = _energy(rule, state, batch, lo, hi, g, q) / scalars[LARGEST]
        scalars[SQUARES] += squares
    eta = _rate(rule, state)
    if moving == 0:
        return eta
    scalars[ROUNDS] += 1.0
    if rule.kind == P_SIMPLEX:
        _step_on_simplex(rule, state, batch, lo, hi, g, eta)
        return eta
    size = -1.0 if rule.rate >= LEADER else -eta / scalars[SCALE]
    for i in range(lo, hi):
        if norms[i - lo] > 0.0:
            _step(rule, state, f, batch, i, size * g[i - lo])
    if rule.rate == LEADER_SQRT or scalars[TOUCHED] > TOUCHES * max(counts[FEATURES], 64):
        refresh_all(rule, state, factor_of(rule, state))
    if rule.ball:
        into_ball(rule, state, q)
    return eta


@compiled
def learn(rule: MirrorRule, state: Table, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    task, label, _, _, _, _, rounds = batch
    widest = widest_round(rounds)
    issued, g, norms = np.empty(widest), np.empty(widest), np.empty(widest)
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        welcome(rule, state, batch, lo, hi)
        eta = descend(rule, state, batch, lo, hi, issued, g, norms)
        for i in range(lo, hi):
            scores[i] = issued[i - lo]
            if trace.shape[0] and not math.isnan(label[i]):
                trace[i, 0] = loss_value(rule.loss, scores[i], label[i], rule.epsilon)
                trace[i, 1], trace[i, 2] = eta, norms[i - lo] * norms[i - lo]
                trace[i, 3] = _diagonal(rule, state, task[i])
    return len(rounds) - 1


@helper
def _diagonal(rule: MirrorRule, state: Table, i: int) -> float:
    """A^-1_ii."""
    if not rule.graph:
        return float(state.scalars[LARGEST])
    square = 0.0
    for k in range(state.counts[TASKS]):
        square += state.root[i, k] * state.root[i, k]
    return square


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    rule, state, batch, scores, _ = handle.parts
    bad = set_single(batch, task, 0.0, count)
    if bad < 0:
        predict(rule, state, batch, scores)
    return bad


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    rule, state, batch, scores, trace = handle.parts
    bad = set_single(batch, task, label, count)
    return bad if bad >= 0 else status(learn(rule, state, batch, batch.rounds[0], scores, trace))
