r"""The second multitask budget Projectron: rows are projected without their task marks, every task has its own weights.

Cavallanti and Cesa-Bianchi (2012), Algorithm 2. With weights beta (tasks x active set) and the Gram matrix H of the
base kernel K', a mistake of task i moves all tasks by c = y A^-1[:, i]:

    f_l(x) = sum_s beta_ls K'(x_s, x)

    delta <= eta      beta += c a'                   a = H^-1 k, delta the distance of K'(x, .) to the span of S
    |S| < B           x enters with the column c
    else              x enters, and r leaves: the old member with the least |beta_:r| D_r; beta_:l += beta_:r g_l

On cliques beta = A^-1 C is kept as its dual C, in which a step of task i touches row i alone, and as the sums s_c of C
over each clique: beta_l = (s_c + C_l) / (n_c + 1). Tasks that never erred have no row. Other graphs keep beta itself.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import Handle, compiled, helper
from weft.graphs.relation import Relation
from weft.learners.budget.active_set import (
    CHANGES,
    DAMAGE,
    EVENTS,
    EVICTIONS,
    NONZEROS,
    SUMS,
    TOO_LARGE,
    ActiveSet,
    Budget,
    Rows,
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
from weft.learners.budget.column_blocks import column_block, event_columns
from weft.learners.budget.columns import event_column, workspace
from weft.learners.budget.inverse import append, extended_diagonal, projection, remove, replace
from weft.learners.budget.projection_steps import add_squares, least_damage, project, project_member, share_out
from weft.learners.budget.symmetric import move_last, set_member
from weft.learners.budget.ties import CLIQUES, COMPLETE, GRAPH, NO_TASKS, clique_size, lacks_ties
from weft.maths.kernels import self_value
from weft.storage.batch import Batch, set_single, status
from weft.storage.state import SUPPORT, UPDATED_TASK

ROW, SUM = range(2)
"""Columns of `places`: a task's row of `weights`, a clique's row of `sums`, both plus one; 0: none yet."""


class Shares(NamedTuple):
    """The weights of all tasks."""

    weights: Floats
    sums: Floats
    places: Ints
    used: Ints
    counts: Ints


@helper
def _shares_of(state: ActiveSet) -> Shares:
    return Shares(state.weights, state.sums, state.places, state.used, state.counts)


@helper
def _clique_of(hyper: Budget, relation: Relation, task: int) -> int:
    """The clique of a task, or -1 if there is none: on graphs without cliques, and for tasks that a graph lacks."""
    if hyper.ties == COMPLETE:
        return 0
    if hyper.ties == CLIQUES and task < len(relation.component):
        return int(relation.component[task])
    return -1


@helper
def _unit(hyper: Budget, relation: Relation, counts: Ints, task: int) -> float:
    """1 / (n_c + 1) for the clique of a task, 1 where there is none."""
    if hyper.ties == CLIQUES:
        return 1.0 / clique_size(relation, task) if task < len(relation.component) else 1.0
    return unit_for(hyper, counts, task)


@helper
def _score(hyper: Budget, shares: Shares, relation: Relation, task: int, k: Floats) -> float:
    """f_task(x) from the kernels of x with the active set."""
    n, total = shares.used[SUPPORT], 0.0
    row = task if hyper.ties == GRAPH else shares.places[task, ROW] - 1
    if row >= 0:
        for s in range(n):
            total += shares.weights[row, s] * k[s]
    c = _clique_of(hyper, relation, task)
    if c >= 0 and shares.places[c, SUM] > 0:
        for s in range(n):
            total += shares.sums[shares.places[c, SUM] - 1, s] * k[s]
    return _unit(hyper, relation, shares.counts, task) * total


@compiled
def predict(hyper: Budget, state: ActiveSet, batch: Batch, scores: Floats) -> None:
    rows, block, i = rows_of(state), column_block(NO_TASKS, state, len(scores)), 0
    while i < len(scores):
        last = event_columns(hyper.kernel, NO_TASKS, rows, state.relation, batch, i, block)
        for j in range(i, last):
            scores[j] = _score(hyper, _shares_of(state), state.relation, batch.task[j], block.columns[j - i])
        i = last


@compiled
def learn(hyper: Budget, state: ActiveSet, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    rows, relation, k = rows_of(state), state.relation, np.empty(len(state.marks))
    work = workspace(state, state.wide, len(scores))
    scalars, task, label, rounds = rows.scalars, batch.task, batch.label, batch.rounds
    shares, a, space = _shares_of(state), np.empty(len(state.marks)), np.empty((3, len(state.marks)))
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if not has_room(hyper, rows, batch, lo, hi) or lacks_ties(hyper.ties, relation, task, lo, hi):
            return t
        if hyper.ties != GRAPH and rows.used[UPDATED_TASK] + hi - lo > len(shares.weights):
            return t
        count_tasks(rows.counts, batch, lo, hi)
        xx = 0.0
        for i in range(lo, hi):
            xx = event_column(hyper.kernel, NO_TASKS, rows, relation, batch, i, work, k)
            scores[i] = _score(hyper, shares, relation, task[i], k)
        for i in range(lo, hi):
            if math.isnan(label[i]):
                continue
            scalars[EVENTS] += 1.0
            y, f, evicted, damage = label[i], scores[i], scalars[EVICTIONS], scalars[DAMAGE]
            if hi - lo > 1:  # an earlier row of the round may have moved this one's task
                xx = event_column(hyper.kernel, NO_TASKS, rows, relation, batch, i, work, k)
                f = _score(hyper, shares, relation, task[i], k)
            if not y * f > 0.0 and counts_as_mistake(hyper.kernel, self_value(hyper.kernel, xx), xx, scalars):
                _mistake(hyper, rows, shares, relation, state.gram, state.inverse, batch, i, y, xx, k, a, space)
            if trace.shape[0]:
                trace[i, 0], trace[i, 1] = 0.0 if y * f > 0.0 else 1.0, rows.used[SUPPORT]
                trace[i, 2], trace[i, 3] = scalars[EVICTIONS] - evicted, scalars[DAMAGE] - damage
    return len(rounds) - 1


@helper
def _mistake(
    hyper: Budget,
    rows: Rows,
    shares: Shares,
    relation: Relation,
    H: Floats,
    Q: Floats,
    batch: Batch,
    i: int,
    y: float,
    xx: float,
    k: Floats,
    a: Floats,
    space: Floats,
) -> None:
    """Lines 5 to 14 of Algorithm 2."""
    n, task, scalars, tt = rows.used[SUPPORT], batch.task[i], rows.scalars, self_value(hyper.kernel, xx)
    delta2, is_dependent = project(hyper, H, Q, n, k, tt, 1.0, a, space, scalars)
    nonzeros = batch.indptr[batch.row[i] + 1] - batch.indptr[batch.row[i]]
    _open(hyper, shares, relation, task)
    movers = _movers(hyper, shares, relation)
    if is_dependent:
        first = min(n, 0)  # a constant would be a type of its own, and compile the same again
        _move_all(hyper, shares, relation, task, y, a, first, n)
        return
    if over(hyper, 1, nonzeros, movers):
        scalars[TOO_LARGE] += 1.0
        return
    one = np.ones(n + 1)
    if not over(hyper, n + 1, rows.counts[NONZEROS] + nonzeros, movers):
        append(Q, n, a, delta2)
        scalars[CHANGES] += 1.0
        set_member(H, n + 1, n, k, tt)
        keep_row(hyper.kernel, rows, batch, i, n, 0.0, xx)
        _move_all(hyper, shares, relation, task, y, one, n, n + 1)
        return
    size, diagonal = np.empty(n), np.empty(n)
    _column_norms(hyper, shares, relation, size)
    extended_diagonal(Q, n, a, delta2, diagonal)
    r, damage = least_damage(n, size, diagonal, rows.numbers, -1)
    projection(Q, n, r, a, delta2, space[0])
    _share_out(hyper, shares, relation, r, space[0])
    _move_all(hyper, shares, relation, task, y, one, r, r + 1)
    replace(Q, n, r, a, delta2, space[1])
    set_member(H, n, r, k, tt)
    note_eviction(scalars, damage)
    keep_row(hyper.kernel, rows, batch, i, r, 0.0, xx)
    while over(hyper, rows.used[SUPPORT], rows.counts[NONZEROS], movers):
        r = _evict(hyper, rows, shares, relation, H, Q, r, size, diagonal, space)


@helper
def _evict(
    hyper: Budget,
    rows: Rows,
    shares: Shares,
    relation: Relation,
    H: Floats,
    Q: Floats,
    new: int,
    size: Floats,
    diagonal: Floats,
    space: Floats,
) -> int:
    """One more old member leaves, because the new one is longer than what it replaced; returns the new one's slot."""
    n = rows.used[SUPPORT]
    _column_norms(hyper, shares, relation, size)
    for j in range(n):
        diagonal[j] = Q[j, j]
    r, damage = least_damage(n, size, diagonal, rows.numbers, new)
    project_member(Q, n, r, space[0])
    _share_out(hyper, shares, relation, r, space[0])
    _move_last(hyper, shares, relation, n, r)
    remove(Q, n, r, space[1])
    move_last(H, n, r)
    note_eviction(rows.scalars, damage)
    drop_row(rows, r)
    return r if new == n - 1 else new


# --- the weights of all tasks ---


@helper
def _movers(hyper: Budget, shares: Shares, relation: Relation) -> int:
    """Rows of `weights` in use."""
    return len(relation.component) if hyper.ties == GRAPH else int(shares.used[UPDATED_TASK])


@helper
def _open(hyper: Budget, shares: Shares, relation: Relation, task: int) -> None:
    """A row for a task that errs for the first time, and for its clique."""
    if hyper.ties == GRAPH:
        return
    places = shares.places
    if places[task, ROW] == 0:
        shares.used[UPDATED_TASK] += 1
        places[task, ROW] = shares.used[UPDATED_TASK]
    c = _clique_of(hyper, relation, task)
    if c >= 0 and places[c, SUM] == 0:
        shares.counts[SUMS] += 1
        places[c, SUM] = shares.counts[SUMS]


@helper
def _move_all(
    hyper: Budget, shares: Shares, relation: Relation, task: int, y: float, a: Floats, first: int, last: int
) -> None:
    """beta += y A^-1[:, task] a' in the columns first .. last-1."""
    weights, sums, places = shares.weights, shares.sums, shares.places
    if hyper.ties == GRAPH:
        c, start = relation.component[task], relation.start[task]
        for p in range(relation.bounds[c], relation.bounds[c + 1]):
            member = relation.members[p]
            step = y * relation.entries[start + relation.place[member]]
            for s in range(first, last):
                weights[member, s] += step * a[s]
        return
    for s in range(first, last):
        weights[places[task, ROW] - 1, s] += y * a[s]
    c = _clique_of(hyper, relation, task)
    if c >= 0:
        for s in range(first, last):
            sums[places[c, SUM] - 1, s] += y * a[s]


@helper
def _column_norms(hyper: Budget, shares: Shares, relation: Relation, size: Floats) -> None:
    """|beta_:j| of every member; on a clique of n tasks its square is ((n+2) s_j^2 + sum_l C_lj^2) / (n+1)^2."""
    n, places = shares.used[SUPPORT], shares.places
    for j in range(n):
        size[j] = 0.0
    if hyper.ties == CLIQUES:
        for task in range(len(relation.component)):
            c, unit = relation.component[task], _unit(hyper, relation, shares.counts, task)
            if places[task, ROW] > 0:
                add_squares(shares.weights, places[task, ROW] - 1, n, unit * unit, size)
            if places[c, SUM] > 0 and relation.place[task] == 0:  # once a clique
                add_squares(shares.sums, places[c, SUM] - 1, n, (1.0 / unit + 1.0) * unit * unit, size)
    else:
        unit = unit_for(hyper, shares.counts, 0)
        for l in range(_movers(hyper, shares, relation)):
            add_squares(shares.weights, l, n, unit * unit, size)
        if hyper.ties == COMPLETE:
            add_squares(shares.sums, 0, n, (1.0 / unit + 1.0) * unit * unit, size)
    for j in range(n):
        size[j] = np.sqrt(size[j])


@helper
def _share_out(hyper: Budget, shares: Shares, relation: Relation, r: int, g: Floats) -> None:
    """beta_:l += beta_:r g_l for all l but r, whose column becomes beta_:r g_r."""
    n = shares.used[SUPPORT]
    for l in range(_movers(hyper, shares, relation)):
        share_out(shares.weights, l, n, r, g)
    for c in range(shares.counts[SUMS]):
        share_out(shares.sums, c, n, r, g)


@helper
def _move_last(hyper: Budget, shares: Shares, relation: Relation, n: int, r: int) -> None:
    for l in range(_movers(hyper, shares, relation)):
        shares.weights[l, r] = shares.weights[l, n - 1]
        shares.weights[l, n - 1] = 0.0
    for c in range(shares.counts[SUMS]):
        shares.sums[c, r] = shares.sums[c, n - 1]
        shares.sums[c, n - 1] = 0.0


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    hyper, state, batch, scores, _ = handle.parts
    bad = set_single(batch, task, 0.0, count)
    if bad < 0:
        rows, work, k = rows_of(state), workspace(state, state.wide, 1), np.empty(state.used[SUPPORT])
        event_column(hyper.kernel, NO_TASKS, rows, state.relation, batch, 0, work, k)
        scores[0] = _score(hyper, _shares_of(state), state.relation, task, k)
    return bad


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    hyper, state, batch, scores, trace = handle.parts
    bad = set_single(batch, task, label, count)
    return bad if bad >= 0 else status(learn(hyper, state, batch, batch.rounds[0], scores, trace))
