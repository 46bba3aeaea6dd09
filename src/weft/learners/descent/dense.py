r"""Gradient descent where a projection moves every task: all models in one table, O(tasks x features) per event.

    X  <-  Proj ( X - eta_t A^-1 G )                                                                    Eq. 7 and 15

onto balls |x_i| <= D, or onto balls and variance together (V_sigma), in the norm of A. A round without violation costs
one look at all lengths; what is exact about the projections stands in `projections`.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.jit import Handle, compiled, helper
from weft.graphs.interaction import CliqueBlocks, General
from weft.learners.descent.projections import project_balls_clique, project_balls_general, project_v_sigma
from weft.learners.descent.strengths import ADAPTIVE, BALL, Rule, rate_of, tune
from weft.maths.losses import loss_value, slope
from weft.maths.rounds import widest_round
from weft.storage.batch import Batch, set_single, status
from weft.storage.state import Plan

TASKS, TUNED = 0, 1
"""Positions in `counts`: tasks seen, and those that the scalars hold for."""

SQUARES, ETA, B, OWN, SHARED, LARGEST, ROUNDS = range(7)
"""Positions in `scalars`: sum of |g|^2, eta or c, b, A^-1 in two numbers, max A^-1_ii, rounds with a gradient."""


class Models(NamedTuple):
    """X, counts and scalars; A and A^-1 of a graph follow from the parameters."""

    X: Floats
    counts: Ints
    scalars: Floats
    matrix: Floats
    inverse: Floats
    order: Ints


PLAN = Plan({"X": ("task", "feature"), "counts": (2,), "scalars": (7,)}, counts={"counts": ("task", "task")})


def blank(tasks: int) -> Models:
    """`tasks` are declared, nothing is learned."""
    none = np.zeros((0, 0))
    counts = np.array([tasks, 0])
    return Models(none, counts, np.zeros(7), none.copy(), none.copy(), np.zeros(0, np.int64))


def blank_on_graph(A: CliqueBlocks | General, order: Ints) -> Models:
    """The same on a graph; slot i is task order[i] of A."""
    here = np.ix_(order, order)
    matrix, inverse = (np.ascontiguousarray(A.dense(power)[here]) for power in (1.0, -1.0))
    return blank(len(order))._replace(matrix=matrix, inverse=inverse, order=order)


def both_parts(state: Models, tasks: int, features: int) -> tuple[Array, Array]:
    """What a task has for itself, and the mean of all."""
    models = state.X[:tasks, :features]
    mean = np.repeat(models.mean(axis=0, keepdims=True), tasks, axis=0) if tasks else models.copy()
    return models - mean, mean


@helper
def retune(rule: Rule, X: Floats, counts: Ints, scalars: Floats, inverse: Floats, N: int) -> None:
    """What contains N, for N tasks; newcomers start at the shared part b/(1+b) xbar, within V_sigma at the mean."""
    before = counts[TASKS]
    b, eta, _ = tune(rule, N)
    counts[TASKS], counts[TUNED] = N, N
    share = 1.0 if math.isinf(b) else b / (1.0 + b)
    scalars[ETA], scalars[B], scalars[OWN], scalars[SHARED] = eta, b, 1.0 - share, share / N
    if not math.isinf(b):
        scalars[OWN] = 1.0 / (1.0 + b)
    scalars[LARGEST] = scalars[OWN] + scalars[SHARED]
    if len(inverse):
        scalars[LARGEST] = 0.0
        for i in range(N):
            scalars[LARGEST] = max(scalars[LARGEST], inverse[i, i])
    elif 0 < before < N:
        for f in range(X.shape[1]):
            mean = 0.0
            for i in range(before):
                mean += X[i, f]
            mean /= before
            for i in range(before, N):
                X[i, f] = share * mean if rule.projection == BALL else mean


@helper
def move(X: Floats, scalars: Floats, inverse: Floats, N: int, batch: Batch, i: int, size: float) -> None:
    """X += size A^-1[:, task] x."""
    task, _, row, indptr, indices, values, _ = batch
    j, on_graph = task[i], len(inverse) > 0
    for k in range(N):
        reach = scalars[SHARED]
        if on_graph:
            reach = inverse[k, j]
        elif k == j:
            reach += scalars[OWN]
        if reach != 0.0:
            for e in range(indptr[row[i]], indptr[row[i] + 1]):
                X[k, indices[e]] += size * reach * values[e]


@helper
def project(rule: Rule, X: Floats, scalars: Floats, matrix: Floats, N: int) -> None:
    """Back into the balls, or into V_sigma."""
    if rule.projection != BALL:
        limit = (N - 1) * rule.sigma * rule.sigma * rule.D * rule.D
        project_v_sigma(X, N, X.shape[1], scalars[B], rule.D, limit)
    elif len(matrix):
        project_balls_general(X, N, X.shape[1], matrix, rule.D, np.empty((N, X.shape[1])))
    else:
        project_balls_clique(X, N, X.shape[1], scalars[B], rule.D)


@helper
def compound(scalars: Floats, inverse: Floats, N: int, batch: Batch, lo: int, hi: int, g: Floats, d: int) -> float:
    """sum_ij A^-1_ij <g_i, g_j> of a round."""
    task, _, row, indptr, indices, values, _ = batch
    total, step = 0.0, np.zeros(d)
    for one in range(lo, hi):
        for f in range(d):
            step[f] = 0.0
        for other in range(lo, hi):
            reach = scalars[SHARED]
            if len(inverse):
                reach = inverse[task[one], task[other]]
            elif one == other:
                reach += scalars[OWN]
            for e in range(indptr[row[other]], indptr[row[other] + 1]):
                step[indices[e]] += reach * g[other - lo] * values[e]
        for e in range(indptr[row[one]], indptr[row[one] + 1]):
            total += g[one - lo] * values[e] * step[indices[e]]
    return total


@helper
def row_dot(X: Floats, j: int, batch: Batch, i: int) -> tuple[float, float]:
    """<x_j, phi> and |phi|^2 of example i."""
    _, _, row, indptr, indices, values, _ = batch
    total, square = 0.0, 0.0
    for e in range(indptr[row[i]], indptr[row[i] + 1]):
        total += X[j, indices[e]] * values[e]
        square += values[e] * values[e]
    return total, square


@helper
def newcomer_dot(rule: Rule, X: Floats, N: int, batch: Batch, i: int) -> float:
    """The score of a task that is not known, at its start: see `retune`."""
    _, _, row, indptr, indices, values, _ = batch
    if N == 0:
        return 0.0
    b, total = tune(rule, N + 1).b, 0.0
    share = 1.0 if math.isinf(b) else b / (1.0 + b)
    for e in range(indptr[row[i]], indptr[row[i] + 1]):
        mean = 0.0
        for k in range(N):
            mean += X[k, indices[e]]
        mean /= N
        total += (share * mean if rule.projection == BALL else mean) * values[e]
    return total


@compiled
def predict(rule: Rule, state: Models, batch: Batch, scores: Floats) -> None:
    X, counts, _, _, inverse, _ = state
    for i in range(len(scores)):
        j = batch.task[i]
        if j < counts[TASKS]:
            scores[i] = row_dot(X, j, batch, i)[0]
        else:
            scores[i] = 0.0 if len(inverse) else newcomer_dot(rule, X, counts[TASKS], batch, i)


@helper
def descend(
    rule: Rule,
    X: Floats,
    counts: Ints,
    scalars: Floats,
    matrix: Floats,
    inverse: Floats,
    batch: Batch,
    lo: int,
    hi: int,
    scores: Floats,
    g: Floats,
    squares: Floats,
) -> float:
    """One round, whose newcomers are welcomed already: fills scores and slopes, moves X; returns eta_t."""
    task, label, _, _, _, _, _ = batch
    N, d = counts[TASKS], X.shape[1]
    g2, moving = 0.0, 0
    for i in range(lo, hi):
        a = i - lo
        scores[a], squares[a] = row_dot(X, task[i], batch, i)
        g[a] = slope(rule.loss, scores[a], label[i], rule.epsilon)
        if g[a] * g[a] * squares[a] > 0.0:
            moving += 1
        g2 += g[a] * g[a] * squares[a]
    if rule.rate == ADAPTIVE and moving > 0:
        if moving > 1:
            g2 = compound(scalars, inverse, N, batch, lo, hi, g, d) / scalars[LARGEST]
        scalars[SQUARES] += g2
    eta = rate_of(rule, scalars[ETA], scalars[SQUARES], scalars[ROUNDS] + 1.0)
    if moving > 0:
        scalars[ROUNDS] += 1.0
        for i in range(lo, hi):
            if g[i - lo] != 0.0:
                move(X, scalars, inverse, N, batch, i, -eta * g[i - lo])
        project(rule, X, scalars, matrix, N)
    return eta


@compiled
def learn(rule: Rule, state: Models, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    X, counts, scalars, matrix, inverse, _ = state
    task, label, _, _, _, _, rounds = batch
    widest = widest_round(rounds)
    issued, g, squares = np.empty(widest), np.empty(widest), np.empty(widest)
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        N = counts[TASKS]
        for i in range(lo, hi):
            N = max(N, task[i] + 1)
        if counts[TUNED] != N:
            retune(rule, X, counts, scalars, inverse, N)
        eta = descend(rule, X, counts, scalars, matrix, inverse, batch, lo, hi, issued, g, squares)
        for i in range(lo, hi):
            a = i - lo
            scores[i] = issued[a]
            if trace.shape[0] and not math.isnan(label[i]):
                trace[i, 0] = loss_value(rule.loss, issued[a], label[i], rule.epsilon)
                trace[i, 1], trace[i, 2] = eta, g[a] * g[a] * squares[a]
                trace[i, 3] = inverse[task[i], task[i]] if len(inverse) else scalars[LARGEST]
    return len(rounds) - 1


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
