r"""The multitask budget Projectron: a mistake is kept as its projection on the active set, if little of it is lost.

Cavallanti and Cesa-Bianchi (2012), Algorithm 1. With H the Gram matrix of the active set S (task marks included), k the
kernels of the new row t with S, a = H^-1 k and delta^2 = K(t,t) - k'a, the squared distance of t to the span of S, a
mistake

    delta <= eta      b += y a                       t is replaced by its projection
    |S| < B           t enters with weight y
    else              t enters, and r leaves: the old member with the least |b_r| D_r, where D_r is its distance to the
                      span of the others (t included); b_l += b_r g_l with g its projection's coefficients

The inverse Q = H^-1 makes both O(B^2): in the extended set, D_j = Q_jj^(-1/2) and g = -Q_.r / Q_rr.
"""

import math

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import Handle, compiled, helper
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
    Rows,
    combine,
    count_tasks,
    counts_as_mistake,
    drop_row,
    has_room,
    keep_row,
    note_eviction,
    over,
    rows_of,
    unit_for,
)
from weft.learners.budget.column_blocks import column_block, combine_columns, event_columns
from weft.learners.budget.columns import event_column, workspace
from weft.learners.budget.inverse import append, extended_diagonal, projection, remove, replace
from weft.learners.budget.projection_steps import least_damage, project, project_member
from weft.learners.budget.symmetric import move_last, set_member
from weft.learners.budget.ties import lacks_ties, tie
from weft.maths.kernels import self_value
from weft.storage.batch import Batch, set_single, status
from weft.storage.state import SUPPORT


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
    a, space = np.empty(len(state.marks)), np.empty((3, len(state.marks)))
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if not has_room(hyper, rows, batch, lo, hi) or lacks_ties(hyper.ties, relation, task, lo, hi):
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
            if not y * f > 0.0:
                tt = tie(hyper.ties, relation, task[i], task[i]) * self_value(hyper.kernel, xx)
                if counts_as_mistake(hyper.kernel, tt, xx, scalars):
                    _mistake(hyper, rows, state.gram, state.inverse, batch, i, y, xx, tt, k, a, space)
            if trace.shape[0]:
                trace[i, 0], trace[i, 1] = 0.0 if y * f > 0.0 else 1.0, rows.used[SUPPORT]
                trace[i, 2], trace[i, 3] = scalars[EVICTIONS] - evicted, scalars[DAMAGE] - damage
    return len(rounds) - 1


@helper
def _mistake(
    hyper: Budget,
    rows: Rows,
    H: Floats,
    Q: Floats,
    batch: Batch,
    i: int,
    y: float,
    xx: float,
    tt: float,
    k: Floats,
    a: Floats,
    space: Floats,
) -> None:
    """Lines 5 to 14 of Algorithm 1; kernels are in units of `unit`, distances are not."""
    n, numbers, scalars = rows.used[SUPPORT], rows.numbers, rows.scalars
    unit = unit_for(hyper, rows.counts, batch.task[i])
    delta2, is_dependent = project(hyper, H, Q, n, k, tt, unit, a, space, scalars)
    nonzeros = batch.indptr[batch.row[i] + 1] - batch.indptr[batch.row[i]]
    if is_dependent:
        for j in range(n):
            numbers[j, COEFFICIENT] += y * a[j]
    elif over(hyper, 1, nonzeros, 0):
        scalars[TOO_LARGE] += 1.0
    elif not over(hyper, n + 1, rows.counts[NONZEROS] + nonzeros, 0):
        append(Q, n, a, delta2)
        scalars[CHANGES] += 1.0
        set_member(H, n + 1, n, k, tt)
        keep_row(hyper.kernel, rows, batch, i, n, y, xx)
    else:
        size, diagonal = np.empty(n), np.empty(n)
        for j in range(n):
            size[j] = abs(numbers[j, COEFFICIENT])
        extended_diagonal(Q, n, a, delta2, diagonal)
        r, damage = least_damage(n, size, diagonal, numbers, -1)
        projection(Q, n, r, a, delta2, space[0])
        _share_out(numbers, n, r, space[0])
        replace(Q, n, r, a, delta2, space[1])
        set_member(H, n, r, k, tt)
        note_eviction(scalars, np.sqrt(unit) * damage)
        keep_row(hyper.kernel, rows, batch, i, r, numbers[r, COEFFICIENT] + y, xx)
        while over(hyper, rows.used[SUPPORT], rows.counts[NONZEROS], 0):
            r = _evict(rows, H, Q, r, unit, size, diagonal, space)


@helper
def _share_out(numbers: Floats, n: int, r: int, g: Floats) -> None:
    """b_l += b_r g_l for all l but r, whose place becomes b_r g_r."""
    b_r = numbers[r, COEFFICIENT]
    numbers[r, COEFFICIENT] = 0.0
    for j in range(n):
        numbers[j, COEFFICIENT] += b_r * g[j]


@helper
def _evict(
    rows: Rows, H: Floats, Q: Floats, new: int, unit: float, size: Floats, diagonal: Floats, space: Floats
) -> int:
    """One more old member leaves, because the new one is longer than what it replaced; returns the new one's slot."""
    n, numbers = rows.used[SUPPORT], rows.numbers
    for j in range(n):
        size[j], diagonal[j] = abs(numbers[j, COEFFICIENT]), Q[j, j]
    r, damage = least_damage(n, size, diagonal, numbers, new)
    project_member(Q, n, r, space[0])
    _share_out(numbers, n, r, space[0])
    remove(Q, n, r, space[1])
    move_last(H, n, r)
    note_eviction(rows.scalars, np.sqrt(unit) * damage)
    drop_row(rows, r)
    return r if new == n - 1 else new


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
