r"""MTBPRJ, the multitask budget Projectron: a mistake is projected on the active set if little of it is lost by that.

Cavallanti and Cesa-Bianchi (2012), Algorithm 1. With H the Gram matrix of the active set S (task marks included), k the
kernels of the new row t with S, a = H^-1 k and delta^2 = K(t,t) - k'a, the squared distance of t to the span of S, a
mistake

    delta <= eta      b += y a                       t is replaced by its projection
    |S| < B           t enters with weight y
    else              t enters, and r leaves: the old member with the least |b_r| D_r, where D_r is its distance to the
                      span of the others (t included); b_l += b_r g_l with g the coefficients of its projection

The inverse Q = H^-1 makes both O(B^2): in the extended set, D_j = Q_jj^(-1/2) and g = -Q_.r / Q_rr.
"""

import math

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import Handle, compiled, helper
from weft.learner import Kernels
from weft.learners.budget.active_set import (
    CHANGES,
    COEFFICIENT,
    DAMAGE,
    EVENTS,
    EVICTIONS,
    NONZEROS,
    TOO_LARGE,
    ActiveSet,
    Budget,
    Mistake,
    Rows,
    combine,
    count_tasks,
    counts_as_mistake,
    drop_row,
    has_room,
    keep_row,
    note_eviction,
    over,
    record,
    rows_of,
    unit_for,
)
from weft.learners.budget.inverse import Gram, Vectors, append, extended_diagonal, projection, remove, replace
from weft.learners.budget.kernel_columns import event_column, workspace
from weft.learners.budget.perceptron import predict, predict_one
from weft.learners.budget.projection import Damages, damages, least_damage, project, project_member, vectors
from weft.learners.budget.symmetric import move_last, set_member
from weft.learners.budget.ties import TaskKernel, lacks_ties, tie
from weft.maths.kernels import self_value
from weft.storage.batch import Batch, learn_single
from weft.storage.sparse_rows import Row
from weft.storage.state import SUPPORT


@compiled
def learn(hyper: Budget, state: ActiveSet, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    rows, k, work = rows_of(state), np.empty(len(state.marks)), workspace(state, state.wide, len(scores))
    kernel, scalars = TaskKernel(hyper.kernel, hyper.ties, state.relation), rows.scalars
    gram, v = Gram(state.gram, state.inverse), vectors(len(state.marks))
    task, label, rounds = batch.task, batch.label, batch.rounds
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if not has_room(hyper, rows, batch, lo, hi) or lacks_ties(hyper.ties, state.relation, task, lo, hi):
            return t
        count_tasks(rows.counts, batch, lo, hi)
        xx = 0.0
        for i in range(lo, hi):
            xx = event_column(kernel, rows, batch, i, work, k)
            scores[i] = unit_for(hyper, rows.counts, task[i]) * combine(rows, k)
        for i in range(lo, hi):
            if math.isnan(label[i]):
                continue
            scalars[EVENTS] += 1.0
            y, f, before = label[i], scores[i], (scalars[EVICTIONS], scalars[DAMAGE])
            if hi - lo > 1:  # an earlier row of the round may have moved this one's task
                xx = event_column(kernel, rows, batch, i, work, k)
                f = combine(rows, k)
            is_mistake = not y * f > 0.0
            if is_mistake:
                tt = tie(kernel, task[i], task[i]) * self_value(hyper.kernel, xx)
                if counts_as_mistake(hyper.kernel, tt, xx, scalars):
                    first, last = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
                    x = Row(batch.indices, batch.values, first, last)
                    _mistake(hyper, rows, gram, Mistake(x, task[i], y, xx, tt, k), v)
            record(trace, i, is_mistake, rows, before)
    return len(rounds) - 1


@helper
def _mistake(hyper: Budget, rows: Rows, gram: Gram, t: Mistake, v: Vectors) -> None:
    """Lines 5 to 14 of Algorithm 1; kernels are in units of `unit`, distances are not."""
    n, b, scalars, a = rows.used[SUPPORT], rows.numbers, rows.scalars, v.a
    H, Q, nonzeros = gram.H, gram.Q, t.x.end - t.x.begin
    unit = unit_for(hyper, rows.counts, t.task)
    delta2, is_dependent = project(hyper, rows, gram, t, unit, v)
    if is_dependent:
        for j in range(n):
            b[j, COEFFICIENT] += t.y * a[j]
    elif over(hyper, 1, nonzeros, 0):
        scalars[TOO_LARGE] += 1.0
    elif not over(hyper, n + 1, rows.counts[NONZEROS] + nonzeros, 0):
        append(Q, n, a, delta2)
        scalars[CHANGES] += 1.0
        set_member(H, n + 1, n, t.k, t.tt)
        keep_row(hyper.kernel, rows, t, n, t.y)
    else:
        d, g = damages(n), v.rest
        for j in range(n):
            d.size[j] = abs(b[j, COEFFICIENT])
        extended_diagonal(Q, n, a, delta2, d.diagonal)
        r, damage = least_damage(n, d, b, -1)
        projection(Q, n, r, a, delta2, g)
        _share_out(b, n, r, g)
        replace(Q, n, r, a, delta2, v.column)
        set_member(H, n, r, t.k, t.tt)
        note_eviction(scalars, np.sqrt(unit) * damage)
        keep_row(hyper.kernel, rows, t, r, b[r, COEFFICIENT] + t.y)
        while over(hyper, rows.used[SUPPORT], rows.counts[NONZEROS], 0):
            r = _evict(rows, gram, r, unit, d, v)


@helper
def _share_out(numbers: Floats, n: int, r: int, g: Floats) -> None:
    """b_l += b_r g_l for all l but r, whose place becomes b_r g_r."""
    b_r = numbers[r, COEFFICIENT]
    numbers[r, COEFFICIENT] = 0.0
    for j in range(n):
        numbers[j, COEFFICIENT] += b_r * g[j]


@helper
def _evict(rows: Rows, gram: Gram, new: int, unit: float, d: Damages, v: Vectors) -> int:
    """One more old member leaves, because the new one is longer than what it replaced; returns the new one's slot."""
    n, numbers, Q = rows.used[SUPPORT], rows.numbers, gram.Q
    for j in range(n):
        d.size[j], d.diagonal[j] = abs(numbers[j, COEFFICIENT]), Q[j, j]
    r, damage = least_damage(n, d, numbers, new)
    project_member(Q, n, r, v.rest)
    _share_out(numbers, n, r, v.rest)
    remove(Q, n, r, v.column)
    move_last(gram.H, n, r)
    note_eviction(rows.scalars, np.sqrt(unit) * damage)
    drop_row(rows, r)
    return r if new == n - 1 else new


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    return learn_single(learn, handle, task, label, count)


KERNELS = Kernels(predict, learn, predict_one, learn_one)
