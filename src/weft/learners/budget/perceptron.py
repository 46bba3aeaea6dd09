r"""Kernel Perceptrons over one active set S: unbounded, with random eviction, and the self-tuned Forgetron.

Cavallanti and Cesa-Bianchi (2012), Sec. 2 to 4. With a coefficient b_s for every row of S, and the multitask kernel K,

    f(x, i) = sum_s b_s K([x_s, i_s], [x, i])

On a mistake, y f(x, i) <= 0, the row enters S with weight y:

    MT-Perceptron   and stays
    MTRBP           and takes the place of a row drawn at random, if S is full      `mtrbp`, Algorithm 3
    MTFORG          and the oldest row leaves, if S is full; all weights shrink     `mtforg`, Sec. 4.3

Scoring is the same for MTBPRJ (`mtbprj`).
"""

import math

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import Handle, compiled, helper
from weft.learner import Kernels
from weft.learners.budget.active_set import (
    DAMAGE,
    EVENTS,
    EVICTIONS,
    FACTOR,
    NONZEROS,
    TOO_LARGE,
    ActiveSet,
    Budget,
    Mistake,
    Rows,
    combine,
    count_tasks,
    counts_as_mistake,
    has_room,
    keep_row,
    over,
    record,
    rows_of,
    unit_for,
)
from weft.learners.budget.column_blocks import column_block, combine_columns, event_columns
from weft.learners.budget.kernel_columns import Workspace, event_column, workspace
from weft.learners.budget.mtforg import forget, lacks_ties_of_kept
from weft.learners.budget.mtrbp import replace_at_random
from weft.learners.budget.ties import TaskKernel, lacks_ties
from weft.maths.kernels import self_value
from weft.storage.batch import NO_ROOM, Batch, learn_single, set_single
from weft.storage.sparse_rows import Row
from weft.storage.state import SUPPORT

PERCEPTRON, RANDOM, FORGETRON = range(3)
"""Rules: which row leaves a full active set."""


@compiled
def learn(hyper: Budget, state: ActiveSet, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    rows, k, work = rows_of(state), np.empty(len(state.marks)), workspace(state, state.wide, len(scores))
    kernel, scalars = TaskKernel(hyper.kernel, hyper.ties, state.relation), rows.scalars
    task, label, rounds = batch.task, batch.label, batch.rounds
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if not has_room(hyper, rows, batch, lo, hi) or lacks_ties(hyper.ties, state.relation, task, lo, hi):
            return t
        if hyper.rule == FORGETRON and lacks_ties_of_kept(kernel, rows):
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
            if is_mistake and counts_as_mistake(hyper.kernel, self_value(hyper.kernel, xx), xx, scalars):
                x = Row(batch.indices, batch.values, batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1])
                new = Mistake(x, task[i], y, xx, self_value(hyper.kernel, xx), k)
                _enter(hyper, kernel, rows, state.generator, new, work)
            record(trace, i, is_mistake, rows, before)
    return len(rounds) - 1


@helper
def _enter(hyper: Budget, kernel: TaskKernel, rows: Rows, generator: Ints, t: Mistake, work: Workspace) -> None:
    """Example t joins the active set with weight y, and a row leaves if there is no room for both."""
    n, nonzeros = rows.used[SUPPORT], t.x.end - t.x.begin
    if over(hyper, 1, nonzeros, 0):
        rows.scalars[TOO_LARGE] += 1.0
    elif not over(hyper, n + 1, rows.counts[NONZEROS] + nonzeros, 0):
        keep_row(hyper.kernel, rows, t, n, t.y / rows.scalars[FACTOR])
    elif hyper.rule == RANDOM:
        replace_at_random(hyper, kernel, rows, generator, t)
    else:
        forget(hyper, kernel, rows, t, work)


@compiled
def predict(hyper: Budget, state: ActiveSet, batch: Batch, scores: Floats) -> None:
    rows, block, i = rows_of(state), column_block(hyper.ties, state, len(scores)), 0
    kernel = TaskKernel(hyper.kernel, hyper.ties, state.relation)
    while i < len(scores):
        last = event_columns(kernel, rows, batch, i, block)
        combine_columns(rows, block, last - i, scores[i:last])
        for j in range(i, last):
            scores[j] = unit_for(hyper, rows.counts, batch.task[j]) * scores[j]
        i = last


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    hyper, state, batch, scores, _ = handle.parts
    bad = set_single(batch, task, 0.0, count)
    if bad < 0:
        if lacks_ties(hyper.ties, state.relation, batch.task, 0, 1):
            return NO_ROOM
        rows, work, k = rows_of(state), workspace(state, state.wide, 1), np.empty(state.used[SUPPORT])
        event_column(TaskKernel(hyper.kernel, hyper.ties, state.relation), rows, batch, 0, work, k)
        scores[0] = unit_for(hyper, rows.counts, task) * combine(rows, k)
    return bad


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    return learn_single(learn, handle, task, label, count)


KERNELS = Kernels(predict, learn, predict_one, learn_one)
