r"""Kernel Perceptrons over one active set: unbounded, with random eviction, and the self-tuned Forgetron.

Cavallanti and Cesa-Bianchi (2012), Algorithm 3 and Sec. 4.3. On a mistake, y f(x) <= 0, the row enters with weight y:

    MT-Perceptron   and stays
    MTRBP           in the place of one drawn at random, if the set is full
    MTFORG          the oldest leaves, if the set is full, and all weights shrink by phi, the largest in (0, 1] with

                        Psi(phi sigma, phi m) + Q <= (15/32) c^2 M      Psi(l, mu) = c^2 l^2 + 2 c^2 l - 2 l mu

                    for the oldest row r: sigma = y_r b_r, m = y_r f'(x_r), f' the function with the new row in it
"""

import math

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import Handle, compiled, helper
from weft.graphs.relation import UNKNOWN_ROW, Relation
from weft.learners.budget.active_set import (
    BEGIN,
    COEFFICIENT,
    DAMAGE,
    END,
    ENTERED,
    EVENTS,
    EVICTIONS,
    FACTOR,
    MISTAKES,
    NONZEROS,
    OWNER,
    SQUARE,
    TOO_LARGE,
    ActiveSet,
    Budget,
    Q,
    Rows,
    combine,
    count_tasks,
    counts_as_mistake,
    drop_row,
    has_room,
    keep_row,
    note_eviction,
    oldest,
    over,
    rows_of,
    unit_for,
)
from weft.learners.budget.column_blocks import column_block, combine_columns, event_columns
from weft.learners.budget.columns import Workspace, event_column, kernel_column, workspace
from weft.learners.budget.ties import COMPLETE, GRAPH, lacks_ties, tie
from weft.maths.generator import integer_below
from weft.maths.kernels import self_value
from weft.storage.batch import Batch, set_single, status
from weft.storage.state import SUPPORT

PERCEPTRON, RANDOM, FORGETRON = range(3)
"""Rules."""

FOLD = 1e-100
"""A common factor below this is multiplied into the coefficients."""


@compiled
def predict(hyper: Budget, state: ActiveSet, batch: Batch, scores: Floats) -> None:
    rows, block, i = rows_of(state), column_block(hyper.ties, state, len(scores)), 0
    while i < len(scores):
        last = event_columns(hyper.kernel, hyper.ties, rows, state.relation, batch, i, block)
        combine_columns(rows, block, last - i, scores[i:last])
        for j in range(i, last):
            scores[j] = unit_for(hyper, rows.counts, batch.task[j]) * scores[j]
        i = last


@compiled
def learn(hyper: Budget, state: ActiveSet, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    rows, relation, k = rows_of(state), state.relation, np.empty(len(state.marks))
    work = workspace(state, state.wide, len(scores))
    scalars, task, label, rounds = rows.scalars, batch.task, batch.label, batch.rounds
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if not has_room(hyper, rows, batch, lo, hi) or _lacks_ties(hyper, rows, relation, task, lo, hi):
            return t
        count_tasks(rows.counts, batch, lo, hi)
        xx = 0.0
        for i in range(lo, hi):
            xx = event_column(hyper.kernel, hyper.ties, rows, relation, batch, i, work, k)
            scores[i] = unit_for(hyper, rows.counts, task[i]) * combine(rows, k)
        for i in range(lo, hi):
            if math.isnan(label[i]):
                continue
            scalars[EVENTS] += 1.0
            y, f, evicted, damage = label[i], scores[i], scalars[EVICTIONS], scalars[DAMAGE]
            if hi - lo > 1:  # an earlier row of the round may have moved this one's task
                xx = event_column(hyper.kernel, hyper.ties, rows, relation, batch, i, work, k)
                f = combine(rows, k)
            if not y * f > 0.0 and counts_as_mistake(hyper.kernel, self_value(hyper.kernel, xx), xx, scalars):
                _enter(hyper, rows, relation, state.generator, batch, i, y, xx, work, k)
            if trace.shape[0]:
                trace[i, 0], trace[i, 1] = 0.0 if y * f > 0.0 else 1.0, rows.used[SUPPORT]
                trace[i, 2], trace[i, 3] = scalars[EVICTIONS] - evicted, scalars[DAMAGE] - damage
    return len(rounds) - 1


@helper
def _lacks_ties(hyper: Budget, rows: Rows, relation: Relation, task: Ints, lo: int, hi: int) -> bool:
    """The Forgetron asks for f at rows that it keeps, so that it needs their tasks' ties too."""
    if lacks_ties(hyper.ties, relation, task, lo, hi):
        return True
    if hyper.ties == GRAPH and hyper.rule == FORGETRON:
        for s in range(rows.used[SUPPORT]):
            if relation.start[rows.marks[s, OWNER]] == UNKNOWN_ROW:
                return True
    return False


@helper
def _enter(
    hyper: Budget,
    rows: Rows,
    relation: Relation,
    generator: Ints,
    batch: Batch,
    i: int,
    y: float,
    xx: float,
    work: Workspace,
    k: Floats,
) -> None:
    """Example i joins the active set with weight y, and somebody leaves if there is no room for both."""
    n, r = rows.used[SUPPORT], batch.row[i]
    nonzeros = batch.indptr[r + 1] - batch.indptr[r]
    if over(hyper, 1, nonzeros, 0):
        rows.scalars[TOO_LARGE] += 1.0
    elif not over(hyper, n + 1, rows.counts[NONZEROS] + nonzeros, 0):
        keep_row(hyper.kernel, rows, batch, i, n, y / rows.scalars[FACTOR], xx)
    elif hyper.rule == RANDOM:
        _replace_at_random(hyper, rows, relation, generator, batch, i, y, xx)
    else:
        last, phi = _shrinking(hyper, rows, relation, y, nonzeros, work, k)
        _forget(hyper, rows, relation, batch, i, y, xx, last, phi)


@helper
def _damage(hyper: Budget, rows: Rows, relation: Relation, s: int) -> float:
    """|b_s K(x_s, .)|, what the function loses with row s."""
    task = rows.marks[s, OWNER]
    bond = unit_for(hyper, rows.counts, task) * tie(hyper.ties, relation, task, task)
    size = np.sqrt(bond * self_value(hyper.kernel, rows.numbers[s, SQUARE]))
    return float(rows.scalars[FACTOR] * abs(rows.numbers[s, COEFFICIENT]) * size)


@helper
def _replace_at_random(
    hyper: Budget, rows: Rows, relation: Relation, generator: Ints, batch: Batch, i: int, y: float, xx: float
) -> None:
    """Algorithm 3, line 9: the new row takes the place of an old one; more go if it is longer than the room left."""
    place = integer_below(generator, rows.used[SUPPORT])
    note_eviction(rows.scalars, _damage(hyper, rows, relation, place))
    keep_row(hyper.kernel, rows, batch, i, place, y, xx)
    while over(hyper, rows.used[SUPPORT], rows.counts[NONZEROS], 0):
        drawn = integer_below(generator, rows.used[SUPPORT] - 1)
        if drawn >= place:
            drawn += 1
        note_eviction(rows.scalars, _damage(hyper, rows, relation, drawn))
        drop_row(rows, drawn)
        if place == rows.used[SUPPORT]:  # the new row was the last and has moved
            place = drawn


@helper
def _shrinking(
    hyper: Budget, rows: Rows, relation: Relation, y: float, nonzeros: int, work: Workspace, k: Floats
) -> tuple[float, float]:
    """When the last row came of the oldest, as many as the new one needs to leave, and phi for them (Eq. 3).

    Several rows leave as one function sum_r b_r K(x_r, .): sigma and sigma m are sums over them.
    """
    # In units of c_G^2, which on the complete graph do not change with the number of tasks.
    units = 0.5 if hyper.ties == COMPLETE else 1.0 / hyper.c2
    n, scalars, column = rows.used[SUPPORT], rows.scalars, np.empty(rows.used[SUPPORT])
    count, left, last = n + 1, rows.counts[NONZEROS] + nonzeros, -1.0
    sigma, sigma_m = 0.0, 0.0
    while over(hyper, count, left, 0):
        r = oldest(rows.numbers, n, last)
        task, begin, end = rows.marks[r, OWNER], rows.marks[r, BEGIN], rows.marks[r, END]
        indices, values = rows.indices, rows.values
        kernel_column(hyper.kernel, hyper.ties, rows, relation, task, indices, values, begin, end, work, column)
        b_r = scalars[FACTOR] * rows.numbers[r, COEFFICIENT]
        sigma += abs(b_r)
        sigma_m += b_r * units * (combine(rows, column) + y * k[r])  # f' has both the new row and r
        last, count, left = rows.numbers[r, ENTERED], count - 1, left - (end - begin)
    a, b = hyper.R2 * sigma * sigma - 2.0 * sigma_m, 2.0 * hyper.R2 * sigma
    e = 15.0 / 32.0 * hyper.R2 * scalars[MISTAKES] - scalars[Q]
    phi = 1.0 if a + b <= e else 2.0 * e / (b + np.sqrt(max(0.0, b * b + 4.0 * a * e)))
    scalars[Q] += a * phi * phi + b * phi
    return last, float(phi)


@helper
def _forget(
    hyper: Budget, rows: Rows, relation: Relation, batch: Batch, i: int, y: float, xx: float, last: float, phi: float
) -> None:
    """Weights shrink, rows that came no later than `last` leave, and example i takes the place of the first of them."""
    scalars, numbers, place = rows.scalars, rows.numbers, -1
    weight = y / scalars[FACTOR]  # that of the new row shrinks with the others
    scalars[FACTOR] *= phi
    r = oldest(numbers, rows.used[SUPPORT], -1.0)
    while r >= 0 and numbers[r, ENTERED] <= last:
        note_eviction(scalars, _damage(hyper, rows, relation, r))
        if place < 0:
            place, numbers[r, ENTERED] = r, math.inf
        else:
            drop_row(rows, r)
            if place == rows.used[SUPPORT]:
                place = r
        r = oldest(numbers, rows.used[SUPPORT], -1.0)
    keep_row(hyper.kernel, rows, batch, i, place, weight, xx)
    if scalars[FACTOR] < FOLD:
        for s in range(rows.used[SUPPORT]):
            numbers[s, COEFFICIENT] *= scalars[FACTOR]
        scalars[FACTOR] = 1.0


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    hyper, state, batch, scores, _ = handle.parts
    bad = set_single(batch, task, 0.0, count)
    if bad < 0:
        if lacks_ties(hyper.ties, state.relation, batch.task, 0, 1):
            return -2
        rows, work, k = rows_of(state), workspace(state, state.wide, 1), np.empty(state.used[SUPPORT])
        event_column(hyper.kernel, hyper.ties, rows, state.relation, batch, 0, work, k)
        scores[0] = unit_for(hyper, rows.counts, task) * combine(rows, k)
    return bad


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    hyper, state, batch, scores, trace = handle.parts
    bad = set_single(batch, task, label, count)
    return bad if bad >= 0 else status(learn(hyper, state, batch, batch.rounds[0], scores, trace))
