r"""Gradient descent where a projection moves every task: all models in one table, O(tasks x features) per event.

    X  <-  Proj ( X - eta_t A^-1 G )                                                                    Eq. 7 and 15

onto balls |x_i| <= D, or onto balls and variance together (V_sigma), in the norm of A. A round without violation costs
one look at all lengths; `projections` says how exact the projections are.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.jit import Handle, compiled, helper, helper_no_alloc, inlined, inlined_only
from weft.graphs.interaction import CliqueBlocks, General
from weft.learners.descent.positions import Count, Trace
from weft.learners.descent.positions import TableScalar as S
from weft.learners.descent.projections import project_balls_clique, project_balls_general, project_v_sigma
from weft.learners.descent.rule import ADAPTIVE, BALL, Rule, rate_of, tune
from weft.maths.limits import cut
from weft.maths.losses import loss_value, slope
from weft.storage.batch import Batch, importance, learn_single, predict_single, widest_round
from weft.storage.sparse_rows import dot_in_order, row_of
from weft.storage.state import Plan


class Models(NamedTuple):
    """X, counts and scalars; A and A^-1 of a graph follow from the parameters."""

    X: Floats
    counts: Ints  # by `Count`
    scalars: Floats  # by `TableScalar`
    matrix: Floats
    inverse: Floats
    order: Ints  # the position of every task in the graph's own order


class Work(NamedTuple):
    """Of every row of a round: the score, the slope g of its loss (the gradient is g x), and |x|^2."""

    scores: Floats
    g: Floats
    squares: Floats


PLAN = Plan(
    {"X": ("task", "feature"), "counts": (2,), "scalars": (len(S),)},
    counts={"counts": ("task", "task")},
    counters={"scalars": (S.ROUNDS,)},
)


def blank(tasks: int) -> Models:
    """`tasks` are declared, nothing is learned."""
    none = np.zeros((0, 0))
    counts = np.array([tasks, 0])
    return Models(none, counts, np.zeros(len(S)), none.copy(), none.copy(), np.zeros(0, np.int64))


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


@inlined
def _share(b: float) -> float:
    """b/(1+b)."""
    return 1.0 if math.isinf(b) else b / (1.0 + b)


@inlined
def numbers_for(rule: Rule, N: int) -> tuple[float, float, float, float]:
    """What follows from the rule and N tasks alone: eta, b, `own` and `shared` of A^-1 of a clique."""
    b, eta, _ = tune(rule, N)
    return eta, b, 0.0 if math.isinf(b) else 1.0 / (1.0 + b), _share(b) / N


@helper_no_alloc
def retune(rule: Rule, models: Models, N: int) -> None:
    """What contains N, for N tasks; newcomers start at the shared part b/(1+b) xbar, within V_sigma at the mean."""
    X, counts, scalars, _, inverse, _ = models
    before = counts[Count.TASKS]
    counts[Count.TASKS], counts[Count.TUNED] = N, N
    scalars[S.ETA], scalars[S.B], scalars[S.OWN], scalars[S.SHARED] = numbers_for(rule, N)
    share = _share(scalars[S.B])
    scalars[S.LARGEST] = scalars[S.OWN] + scalars[S.SHARED]
    if len(inverse):
        scalars[S.LARGEST] = 0.0
        for i in range(N):
            scalars[S.LARGEST] = max(scalars[S.LARGEST], inverse[i, i])
    elif 0 < before < N:
        for f in range(X.shape[1]):
            mean = 0.0
            for i in range(before):
                mean += X[i, f]
            mean /= before
            for i in range(before, N):
                X[i, f] = share * mean if rule.projection == BALL else mean


@inlined_only
def _reach(models: Models, k: int, j: int) -> float:
    """A^-1_kj."""
    if len(models.inverse) > 0:
        return models.inverse[k, j]  # type: ignore[no-any-return]
    reach = models.scalars[S.SHARED]
    if k == j:
        reach += models.scalars[S.OWN]
    return reach  # type: ignore[no-any-return]


@helper_no_alloc
def _move(models: Models, batch: Batch, i: int, size: float) -> None:
    """X += size A^-1[:, task] x."""
    X, task, row, indptr, indices, values = models.X, batch.task, batch.row, batch.indptr, batch.indices, batch.values
    for k in range(models.counts[Count.TASKS]):
        reach = _reach(models, k, task[i])
        if reach != 0.0:
            for e in range(indptr[row[i]], indptr[row[i] + 1]):
                X[k, indices[e]] += size * reach * values[e]


@helper
def _project(rule: Rule, models: Models) -> None:
    """Back into the balls, or into V_sigma."""
    X, N, d, b = models.X, models.counts[Count.TASKS], models.X.shape[1], models.scalars[S.B]
    if rule.projection != BALL:
        project_v_sigma(X, N, d, b, rule.D, (N - 1) * rule.sigma * rule.sigma * rule.D * rule.D)
    elif len(models.matrix):
        project_balls_general(X, N, d, models.matrix, rule.D, np.empty((N, d)))
    else:
        project_balls_clique(X, N, d, b, rule.D)


@helper
def _compound(models: Models, batch: Batch, lo: int, hi: int, g: Floats) -> float:
    """sum_ij A^-1_ij <g_i, g_j> of a round."""
    task, _, row, indptr, indices, values, _, _ = batch
    d = models.X.shape[1]
    total, step = 0.0, np.zeros(d)
    for one in range(lo, hi):
        for f in range(d):
            step[f] = 0.0
        for other in range(lo, hi):
            reach = _reach(models, task[one], task[other])
            for e in range(indptr[row[other]], indptr[row[other] + 1]):
                step[indices[e]] += reach * g[other - lo] * values[e]
        for e in range(indptr[row[one]], indptr[row[one] + 1]):
            total += g[one - lo] * values[e] * step[indices[e]]
    return total


@helper_no_alloc
def score_row(rule: Rule, models: Models, batch: Batch, i: int) -> float:
    """<x_j, phi> of example i; a task that is not known is scored at its start, see `retune`."""
    X, N, j = models.X, models.counts[Count.TASKS], batch.task[i]
    if j < N:
        return dot_in_order(X[j], row_of(batch, i))[0]
    if len(models.inverse) or N == 0:
        return 0.0
    share, total = _share(tune(rule, N + 1).b), 0.0
    for e in range(batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]):
        mean = 0.0
        for k in range(N):
            mean += X[k, batch.indices[e]]
        mean /= N
        total += (share * mean if rule.projection == BALL else mean) * batch.values[e]
    return total


@compiled
def predict(rule: Rule, state: Models, batch: Batch, scores: Floats) -> None:
    for i in range(len(scores)):
        scores[i] = score_row(rule, state, batch, i)


@helper_no_alloc
def _score(rule: Rule, models: Models, batch: Batch, lo: int, hi: int, work: Work) -> tuple[float, int]:
    """Scores and slopes of a round; returns sum |g_i|^2, and how many rows have a gradient."""
    scores, g, squares = work
    g2, moving = 0.0, 0
    for i in range(lo, hi):
        a = i - lo
        scores[a], squares[a] = dot_in_order(models.X[batch.task[i]], row_of(batch, i))
        g[a] = cut(importance(batch, i) * slope(rule.loss, scores[a], batch.label[i], rule.epsilon), squares[a])
        if g[a] * g[a] * squares[a] > 0.0:
            moving += 1
        g2 += g[a] * g[a] * squares[a]
    return g2, moving


@helper
def descend(rule: Rule, models: Models, batch: Batch, lo: int, hi: int, work: Work) -> float:
    """One round, after `retune` for its newcomers: fills `work`, moves X; returns eta_t."""
    scalars, g = models.scalars, work.g
    g2, moving = _score(rule, models, batch, lo, hi, work)
    if rule.rate == ADAPTIVE and moving > 0:
        if moving > 1:
            g2 = _compound(models, batch, lo, hi, g) / scalars[S.LARGEST]
        scalars[S.SQUARES] += g2
    eta = rate_of(rule, scalars[S.ETA], scalars[S.SQUARES], scalars[S.ROUNDS] + 1.0)
    if moving > 0:
        scalars[S.ROUNDS] += 1.0
        for i in range(lo, hi):
            if g[i - lo] != 0.0:
                _move(models, batch, i, -eta * g[i - lo])
        _project(rule, models)
    return eta


@compiled
def learn(rule: Rule, state: Models, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    counts, scalars, inverse = state.counts, state.scalars, state.inverse
    task, label, rounds = batch.task, batch.label, batch.rounds
    widest = widest_round(rounds)
    issued, g, squares = np.empty(widest), np.empty(widest), np.empty(widest)
    work = Work(issued, g, squares)
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        N = counts[Count.TASKS]
        for i in range(lo, hi):
            N = max(N, task[i] + 1)
        if counts[Count.TUNED] != N:
            retune(rule, state, N)
        eta = descend(rule, state, batch, lo, hi, work)
        for i in range(lo, hi):
            a = i - lo
            scores[i] = issued[a]
            if trace.shape[0] and not math.isnan(label[i]):
                trace[i, Trace.LOSS] = loss_value(rule.loss, issued[a], label[i], rule.epsilon)
                trace[i, Trace.ETA], trace[i, Trace.G2] = eta, g[a] * g[a] * squares[a]
                trace[i, Trace.DIAGONAL] = inverse[task[i], task[i]] if len(inverse) else scalars[S.LARGEST]
    return len(rounds) - 1


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    return predict_single(predict, handle, task, count)


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    return learn_single(learn, handle, task, label, count)
