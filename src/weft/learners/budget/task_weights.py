r"""The weights of all tasks for all rows of the active set, as MTBPRJ-2 moves them.

Cavallanti and Cesa-Bianchi (2012), Algorithm 2: beta is tasks x active set, and a mistake of task i adds y A^-1[:, i]
a' to it. On cliques beta = A^-1 C is kept as its dual C, in which a step of task i touches row i alone, and as the sums
s_c of C over each clique:

    beta_l = (s_c + C_l) / (n_c + 1)                      for task l of clique c, which has n_c tasks

The complete graph is one clique. Tasks that never erred have no row. Other graphs keep beta itself.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import helper, helper_no_alloc, inlined_only
from weft.graphs.relation import Relation
from weft.learners.budget.active_set import ROW, SUM, SUMS, ActiveSet, Budget, Mistake, unit_for
from weft.learners.budget.ties import CLIQUES, COMPLETE, GRAPH, clique_size
from weft.storage.state import SUPPORT, UPDATED_TASK


class TaskWeights(NamedTuple):
    """beta."""

    weights: Floats
    sums: Floats
    places: Ints
    used: Ints
    counts: Ints
    relation: Relation


@helper
def task_weights(state: ActiveSet) -> TaskWeights:
    return TaskWeights(state.weights, state.sums, state.places, state.used, state.counts, state.relation)


@helper_no_alloc
def score(hyper: Budget, beta: TaskWeights, task: int, k: Floats) -> float:
    """f_task(x) from the kernels of x with the active set."""
    n, total = beta.used[SUPPORT], 0.0
    row = task if hyper.ties == GRAPH else beta.places[task, ROW] - 1
    if row >= 0:
        for s in range(n):
            total += beta.weights[row, s] * k[s]
    c = _clique_of(hyper, beta, task)
    if c >= 0 and beta.places[c, SUM] > 0:
        for s in range(n):
            total += beta.sums[beta.places[c, SUM] - 1, s] * k[s]
    return _unit(hyper, beta, task) * total


@helper_no_alloc
def movers_of(hyper: Budget, beta: TaskWeights) -> int:
    """Rows of `weights` in use: of the tasks that have erred, or on general graphs of all."""
    return len(beta.relation.component) if hyper.ties == GRAPH else int(beta.used[UPDATED_TASK])


@helper_no_alloc
def open_rows(hyper: Budget, beta: TaskWeights, task: int) -> None:
    """A row for a task that errs for the first time, and for its clique."""
    if hyper.ties == GRAPH:
        return
    places = beta.places
    if places[task, ROW] == 0:
        beta.used[UPDATED_TASK] += 1
        places[task, ROW] = beta.used[UPDATED_TASK]
    c = _clique_of(hyper, beta, task)
    if c >= 0 and places[c, SUM] == 0:
        beta.counts[SUMS] += 1
        places[c, SUM] = beta.counts[SUMS]


@helper
def add_to_all(hyper: Budget, beta: TaskWeights, t: Mistake, a: Floats) -> None:
    """beta += y A^-1[:, task] a'."""
    n = beta.used[SUPPORT]
    _add(hyper, beta, t, a, min(n, 0), n)  # a constant 0 would have a type of its own, and compile the same again


@helper
def add_column(hyper: Budget, beta: TaskWeights, t: Mistake, s: int) -> None:
    """beta_:s += y A^-1[:, task]."""
    _add(hyper, beta, t, np.ones(s + 1), s, s + 1)


@helper_no_alloc
def _add(hyper: Budget, beta: TaskWeights, t: Mistake, a: Floats, first: int, last: int) -> None:
    """beta += y A^-1[:, task] a' in the columns first .. last-1."""
    weights, sums, places, relation, task, y = beta.weights, beta.sums, beta.places, beta.relation, t.task, t.y
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
    c = _clique_of(hyper, beta, task)
    if c >= 0:
        for s in range(first, last):
            sums[places[c, SUM] - 1, s] += y * a[s]


@helper_no_alloc
def column_norms(hyper: Budget, beta: TaskWeights, size: Floats) -> None:
    """|beta_:j| of every member; on a clique of n tasks its square is ((n+2) s_j^2 + sum_l C_lj^2) / (n+1)^2."""
    n, places, relation = beta.used[SUPPORT], beta.places, beta.relation
    for j in range(n):
        size[j] = 0.0
    if hyper.ties == CLIQUES:
        for task in range(len(relation.component)):
            c, unit = relation.component[task], _unit(hyper, beta, task)
            if places[task, ROW] > 0:
                _add_squares(beta.weights, places[task, ROW] - 1, n, unit * unit, size)
            if places[c, SUM] > 0 and relation.place[task] == 0:  # once a clique
                _add_squares(beta.sums, places[c, SUM] - 1, n, (1.0 / unit + 1.0) * unit * unit, size)
    else:
        unit = unit_for(hyper, beta.counts, 0)
        for l in range(movers_of(hyper, beta)):
            _add_squares(beta.weights, l, n, unit * unit, size)
        if hyper.ties == COMPLETE:
            _add_squares(beta.sums, 0, n, (1.0 / unit + 1.0) * unit * unit, size)
    for j in range(n):
        size[j] = np.sqrt(size[j])


@helper_no_alloc
def share_out(hyper: Budget, beta: TaskWeights, r: int, g: Floats) -> None:
    """beta_:l += beta_:r g_l for all l but r, whose column becomes beta_:r g_r."""
    n = beta.used[SUPPORT]
    for l in range(movers_of(hyper, beta)):
        _share_row(beta.weights, l, n, r, g)
    for c in range(beta.counts[SUMS]):
        _share_row(beta.sums, c, n, r, g)


@helper_no_alloc
def move_last_column(hyper: Budget, beta: TaskWeights, r: int) -> None:
    """The last member moves to slot r."""
    last = beta.used[SUPPORT] - 1
    for l in range(movers_of(hyper, beta)):
        beta.weights[l, r] = beta.weights[l, last]
        beta.weights[l, last] = 0.0
    for c in range(beta.counts[SUMS]):
        beta.sums[c, r] = beta.sums[c, last]
        beta.sums[c, last] = 0.0


@helper_no_alloc
def _clique_of(hyper: Budget, beta: TaskWeights, task: int) -> int:
    """The clique of a task, or -1 if there is none: on graphs without cliques, and for tasks that a graph lacks."""
    if hyper.ties == COMPLETE:
        return 0
    if hyper.ties == CLIQUES and task < len(beta.relation.component):
        return int(beta.relation.component[task])
    return -1


@helper_no_alloc
def _unit(hyper: Budget, beta: TaskWeights, task: int) -> float:
    """1 / (n_c + 1) for the clique of a task, 1 where there is none."""
    if hyper.ties == CLIQUES:
        return 1.0 / clique_size(beta.relation, task) if task < len(beta.relation.component) else 1.0
    return unit_for(hyper, beta.counts, task)


@inlined_only
def _add_squares(weights: Floats, l: int, n: int, factor: float, size: Floats) -> None:
    """size_j += factor w_lj^2 for the weights of row l."""
    for j in range(n):
        size[j] += factor * weights[l, j] * weights[l, j]


@inlined_only
def _share_row(weights: Floats, l: int, n: int, r: int, g: Floats) -> None:
    """The weight w of member r in row l goes to all: w_j += w g_j, where g_r is that of the member in its place."""
    w = weights[l, r]
    if w != 0.0:
        weights[l, r] = 0.0
        for j in range(n):
            weights[l, j] += w * g[j]
