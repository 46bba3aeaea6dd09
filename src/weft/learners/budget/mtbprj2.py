r"""MTBPRJ-2, the second multitask budget Projectron: rows are projected without their tasks; all tasks have weights.

Cavallanti and Cesa-Bianchi (2012), Algorithm 2. With weights beta (tasks x active set) and the Gram matrix H of the
base kernel K', a mistake of task i moves all tasks by c = y A^-1[:, i]:

    f_l(x) = sum_s beta_ls K'(x_s, x)

    delta <= eta      beta += c a'                   a = H^-1 k, delta the distance of K'(x, .) to the span of S
    |S| < B           x enters with the column c
    else              x enters, and r leaves: the old member with the least |beta_:r| D_r; beta_:l += beta_:r g_l

The weights beta, and what a step does to them, are in `task_weights`.
"""

import math

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import Handle, compiled, helper
from weft.learner import Kernels
from weft.learners.budget.active_set import (
    CHANGES,
    DAMAGE,
    EVENTS,
    EVICTIONS,
    NONZEROS,
    TOO_LARGE,
    ActiveSet,
    Budget,
    Mistake,
    Rows,
    count_tasks,
    counts_as_mistake,
    drop_row,
    has_room,
    keep_row,
    note_eviction,
    over,
    record,
    rows_of,
)
from weft.learners.budget.column_blocks import column_block, event_columns
from weft.learners.budget.inverse import Gram, Vectors, append, extended_diagonal, projection, remove, replace
from weft.learners.budget.kernel_columns import event_column, workspace
from weft.learners.budget.projection import Damages, damages, least_damage, project, project_member, vectors
from weft.learners.budget.symmetric import move_last, set_member
from weft.learners.budget.task_weights import (
    TaskWeights,
    add_column,
    add_to_all,
    column_norms,
    move_last_column,
    movers_of,
    open_rows,
    score,
    share_out,
    task_weights,
)
from weft.learners.budget.ties import GRAPH, TaskKernel, lacks_ties
from weft.maths.kernels import self_value
from weft.storage.batch import Batch, learn_single, predict_single
from weft.storage.sparse_rows import Row
from weft.storage.state import SUPPORT, UPDATED_TASK


@compiled
def learn(hyper: Budget, state: ActiveSet, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    rows, k, work = rows_of(state), np.empty(len(state.marks)), workspace(state, state.wide, len(scores))
    kernel, scalars = TaskKernel(hyper.kernel, hyper.column_ties, state.relation), rows.scalars
    gram, v, beta = Gram(state.gram, state.inverse), vectors(len(state.marks)), task_weights(state)
    task, label, rounds = batch.task, batch.label, batch.rounds
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if not has_room(hyper, rows, batch, lo, hi) or lacks_ties(hyper.ties, state.relation, task, lo, hi):
            return t
        if hyper.ties != GRAPH and rows.used[UPDATED_TASK] + hi - lo > len(state.weights):
            return t
        count_tasks(rows.counts, batch, lo, hi)
        xx = 0.0
        for i in range(lo, hi):
            xx = event_column(kernel, rows, batch, i, work, k)
            scores[i] = score(hyper, beta, task[i], k)
        for i in range(lo, hi):
            if math.isnan(label[i]):
                continue
            scalars[EVENTS] += 1.0
            y, f, before = label[i], scores[i], (scalars[EVICTIONS], scalars[DAMAGE])
            if hi - lo > 1:  # an earlier row of the round may have moved this one's task
                xx = event_column(kernel, rows, batch, i, work, k)
                f = score(hyper, beta, task[i], k)
            is_mistake = not y * f > 0.0
            if is_mistake and counts_as_mistake(hyper.kernel, self_value(hyper.kernel, xx), xx, scalars):
                x = Row(batch.indices, batch.values, batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1])
                new = Mistake(x, task[i], y, xx, self_value(hyper.kernel, xx), k)
                _mistake(hyper, rows, beta, gram, new, v)
            record(trace, i, is_mistake, rows, before)
    return len(rounds) - 1


@helper
def _mistake(hyper: Budget, rows: Rows, beta: TaskWeights, gram: Gram, t: Mistake, v: Vectors) -> None:
    """Lines 5 to 14 of Algorithm 2."""
    n, scalars, a = rows.used[SUPPORT], rows.scalars, v.a
    H, Q, nonzeros = gram.H, gram.Q, t.x.end - t.x.begin
    delta2, is_dependent = project(hyper, rows, gram, t, 1.0, v)
    open_rows(hyper, beta, t.task)
    movers = movers_of(hyper, beta)
    if is_dependent:
        add_to_all(hyper, beta, t, a)
    elif over(hyper, 1, nonzeros, movers):
        scalars[TOO_LARGE] += 1.0
    elif not over(hyper, n + 1, rows.counts[NONZEROS] + nonzeros, movers):
        append(Q, n, a, delta2)
        scalars[CHANGES] += 1.0
        set_member(H, n + 1, n, t.k, t.tt)
        keep_row(hyper.kernel, rows, t, n, 0.0)
        add_column(hyper, beta, t, n)
    else:
        d, g = damages(n), v.rest
        column_norms(hyper, beta, d.size)
        extended_diagonal(Q, n, a, delta2, d.diagonal)
        r, damage = least_damage(n, d, rows.numbers, -1)
        projection(Q, n, r, a, delta2, g)
        share_out(hyper, beta, r, g)
        add_column(hyper, beta, t, r)
        replace(Q, n, r, a, delta2, v.column)
        set_member(H, n, r, t.k, t.tt)
        note_eviction(scalars, damage)
        keep_row(hyper.kernel, rows, t, r, 0.0)
        while over(hyper, rows.used[SUPPORT], rows.counts[NONZEROS], movers):
            r = _evict(hyper, rows, beta, gram, r, d, v)


@helper
def _evict(hyper: Budget, rows: Rows, beta: TaskWeights, gram: Gram, new: int, d: Damages, v: Vectors) -> int:
    """One more old member leaves, because the new one is longer than what it replaced; returns the new one's slot."""
    n, Q = rows.used[SUPPORT], gram.Q
    column_norms(hyper, beta, d.size)
    for j in range(n):
        d.diagonal[j] = Q[j, j]
    r, damage = least_damage(n, d, rows.numbers, new)
    project_member(Q, n, r, v.rest)
    share_out(hyper, beta, r, v.rest)
    move_last_column(hyper, beta, r)
    remove(Q, n, r, v.column)
    move_last(gram.H, n, r)
    note_eviction(rows.scalars, damage)
    drop_row(rows, r)
    return r if new == n - 1 else new


@compiled
def predict(hyper: Budget, state: ActiveSet, batch: Batch, scores: Floats) -> None:
    rows, block, i = rows_of(state), column_block(hyper.column_ties, state, len(scores)), 0
    kernel, beta = TaskKernel(hyper.kernel, hyper.column_ties, state.relation), task_weights(state)
    while i < len(scores):
        last = event_columns(kernel, rows, batch, i, block)
        for j in range(i, last):
            scores[j] = score(hyper, beta, batch.task[j], block.columns[j - i])
        i = last


@helper
def _predict_event(hyper: Budget, state: ActiveSet, batch: Batch, scores: Floats) -> None:
    """`predict` of a batch of one event, without the space for many."""
    rows, work, k = rows_of(state), workspace(state, state.wide, 1), np.empty(state.used[SUPPORT])
    event_column(TaskKernel(hyper.kernel, hyper.column_ties, state.relation), rows, batch, 0, work, k)
    scores[0] = score(hyper, task_weights(state), batch.task[0], k)


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    return predict_single(_predict_event, handle, task, count)


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    return learn_single(learn, handle, task, label, count)


KERNELS = Kernels(predict, learn, predict_one, learn_one)
