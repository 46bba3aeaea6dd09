r"""How far every task of mirror descent is from the tasks that it is tied to: who learns with the others, who alone.

The distance of a task is |x_i - xbar| / |xbar|, with xbar the mean of its neighbours: of the others in its clique, on a
graph weighted by the edges. The length of the own part does not tell it: of ten tasks that learned the same and one
that learned the opposite, all eleven have own parts of one length.

The forms that keep pairs do so at a cost that grows with the pairs. On a graph the models are made some features at a
time; where the state is a table of all models anyway, a second one is made.
"""

from collections.abc import Callable

import numpy as np
from scipy import sparse

from weft.compiled.arrays import Array, Floats, Ints
from weft.graphs.interaction import General
from weft.graphs.reading import Graph
from weft.graphs.relation import diagonal
from weft.learner import Distances
from weft.learners.descent import cliques_state
from weft.learners.descent import graph as descent_graph
from weft.learners.descent.cliques_state import Parts
from weft.learners.descent.graph import Sums, with_rows
from weft.learners.descent.rule import Rule
from weft.storage.saving import live
from weft.storage.state import Plan

Mean = Callable[[Array], Array]
"""From all models, (tasks, features), to the mean of every task's neighbours; 0 where there are none."""

AT_ONCE = 4_000_000
"""Most numbers that are made at a time."""


def mean_of_clique(label: Ints) -> Mean:
    """The mean of the other tasks with the same label."""
    sizes = np.bincount(label)
    others = np.maximum(sizes - 1, 1)[label][:, None]

    def mean(models: Array) -> Array:
        sums = np.zeros((len(sizes), models.shape[1]))
        np.add.at(sums, label, models)
        return np.where(sizes[label][:, None] > 1, (sums[label] - models) / others, 0.0)

    return mean


def mean_on_graph(graph: Graph, order: Ints) -> Mean:
    """The mean weighted by the edges, which are the negative entries of an interaction matrix."""
    weights = graph.matrix[order][:, order]
    if graph.kind == "matrix":
        weights = -(weights - sparse.diags_array(weights.diagonal()))
    degree = np.asarray(weights.sum(axis=1))
    shares = np.divide(1.0, degree, out=np.zeros(len(degree)), where=degree > 0.0)

    def mean(models: Array) -> Array:
        return np.asarray(shares[:, None] * (weights @ models))

    return mean


def _ratio(own: Floats, shared: Floats, gap: Floats, mean: Floats) -> Distances:
    """From squared lengths."""
    apart = np.full(len(own), np.nan)
    np.divide(np.sqrt(gap), np.sqrt(mean), out=apart, where=mean > 0.0)
    return Distances(np.sqrt(own), np.sqrt(shared), apart)


def _squares(own: Array, shared: Array, mean_of: Mean) -> Array:
    """Squared lengths of the parts, of x_i - xbar, and of xbar: (4, tasks)."""
    models = own + shared
    mean = mean_of(models)
    return np.array([(part * part).sum(axis=1) for part in (own, shared, models - mean, mean)])


def of_tables(own: Array, shared: Array, mean_of: Mean) -> Distances:
    """From the parts of all tasks."""
    return _ratio(*_squares(own, shared, mean_of))


def of_cliques(rule: Rule, state: Parts, plan: Plan, tasks: int, features: int) -> Distances:
    """On cliques, from the pairs.

    With n tasks in a clique, n - 1 times the mean of the others is rest - z_i, where rest = sum z + (n-1) m. That and
    x_i - xbar differ from a vector of the clique only where z_i has entries.
    """
    found, s = live(state, plan, tasks, features), cliques_state.factor_of(rule, state)
    label = state.clusters.label if rule.clusters else np.zeros(tasks, np.int64)
    task, feature, z, m = found["pairs"][:, 0], found["pairs"][:, 1], s * found["own"], s * found["shared"]
    sizes = np.bincount(label, minlength=len(m))
    sums, others = np.zeros((len(m), features)), np.maximum(sizes - 1, 1)[:, None]
    np.add.at(sums, (label[task], feature), z)

    def length(vector: Array, factor: Floats) -> Floats:
        """|vector_c + factor_c z_i|^2."""
        there = vector[label[task], feature]
        absent = (vector * vector).sum(axis=1)[label] - _per_task(task, there * there, tasks)
        moved = there + factor[label[task]] * z
        total: Floats = np.maximum(absent, 0.0) + _per_task(task, moved * moved, tasks)
        return total

    mean = length(sums / others + m, -1.0 / others[:, 0])
    gap = length(-sums / others, sizes / others[:, 0])
    mean[sizes[label] < 2] = 0.0
    return _ratio(_per_task(task, z * z, tasks), (m * m).sum(axis=1)[label], gap, mean)


def _per_task(task: Ints, values: Floats, tasks: int) -> Floats:
    return np.bincount(task, values, minlength=tasks).astype(np.float64, copy=False)


def of_graph(rule: Rule, state: Sums, A: General, mean_of: Mean, features: int) -> Distances:
    """On a graph, some features at a time, of those that have pairs: a file may name any number of others."""
    order, active = state.relation.order, np.flatnonzero(state.touched[: A.N])
    state = with_rows(state, A, active)
    reach = np.zeros(A.N)
    for i in active.tolist():
        reach[i] = diagonal(state.relation, i)
    found, s = live(state, descent_graph.PLAN, A.N, features), descent_graph.factor_of(rule, state)
    by_feature = np.argsort(found["pairs"][:, 1], kind="stable")
    task, G = found["pairs"][by_feature, 0], s * found["own"][by_feature]
    occurred, feature = np.unique(found["pairs"][by_feature, 1], return_inverse=True)
    squares, width = np.zeros((4, A.N)), max(1, AT_ONCE // max(A.N, 1))
    for first in range(0, len(occurred), width):
        last = min(first + width, len(occurred))
        here = slice(*np.searchsorted(feature, [first, last]))
        sums, in_order = np.zeros((2, A.N, last - first))
        sums[task[here], feature[here] - first] = G[here]
        in_order[order] = sums
        own = reach[:, None] * sums
        squares += _squares(own, A.solve(in_order)[order] - own, mean_of)
    return _ratio(*squares)
