"""Who taught a task what: the own part, the shared part and the neighbours of mirror descent, feature by feature.

One function per form in which models are kept (`forms`). Each reads the features that it is given and nothing else, so
that an event of a model with many tasks and features is explained at the cost of scoring it.

    parts on cliques        own s z_i, shared s m of the clique; with bounded variance own s (z_i - zbar), shared M
    graphs                  own s A^-1_ii G_i, neighbour j adds s A^-1_ij G_j
    tables of models        own x_i - xbar, shared xbar
    mirror maps             with A^{-1/2} = own I + shared 11^T, own y_i and shared sum y; on graphs A^{-1/2}_ij y_j

A task that is not known is explained as the newcomer that it would be: what it starts with, it has from the others.
"""

import math

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.graphs.relation import component_of
from weft.learner import Shares
from weft.learners.descent import cliques_state
from weft.learners.descent import graph as descent_graph
from weft.learners.descent.cliques_state import Parts
from weft.learners.descent.dual_table import Table, images
from weft.learners.descent.graph import Sums
from weft.learners.descent.mirror_descent import start_of_newcomer
from weft.learners.descent.mirror_map import P_NORM
from weft.learners.descent.mirror_rule import MirrorRule, root_of
from weft.learners.descent.positions import Count, DualScalar
from weft.learners.descent.rule import BALL, VARIANCE, Rule, tune
from weft.learners.descent.table import Models
from weft.storage.pairs import read_row

NOBODY = np.zeros(0, np.int64)


def two(own: Floats, shared: Floats) -> Shares:
    """Shares without neighbours."""
    return Shares(own, shared, NOBODY, np.zeros((0, len(own))))


def on_cliques(rule: Rule, state: Parts, slot: int, indices: Ints) -> Shares:
    """Of a task on a clique, or on one of several."""
    nothing, clusters = np.zeros(len(indices)), state.clusters
    if rule.clusters and slot >= len(clusters.label):
        return two(nothing, nothing)
    s, cluster = cliques_state.factor_of(rule, state), clusters.label[slot] if rule.clusters else 0
    own, shared = read_row(state.pairs, state.own, slot, indices), state.shared[cluster, indices]
    if rule.projection == VARIANCE:
        known = slot < state.counts[Count.TASKS]
        return two(s * (own - state.sums[indices]) if known else nothing, shared)
    return two(s * own, s * shared)


def on_graph(rule: Rule, state: Sums, slot: int, indices: Ints) -> Shares:
    """Of a task on a graph, whose row of A^-1 is there."""
    relation = state.relation
    if slot >= len(relation.component):
        return two(np.zeros(len(indices)), np.zeros(len(indices)))
    members, entries = component_of(relation, slot)
    taught = (state.touched[members] != 0) & (entries != 0.0)
    members, entries = members[taught], descent_graph.factor_of(rule, state) * entries[taught]
    weights = np.zeros((len(members), len(indices)))
    for k, (member, entry) in enumerate(zip(members.tolist(), entries.tolist(), strict=True)):
        weights[k] = entry * read_row(state.pairs, state.own, member, indices)
    return _apart(slot, members, weights)


def on_table(rule: Rule, X: Floats, N: int, graph: bool, slot: int, indices: Ints) -> Shares:
    """Of a task whose model is row `slot` of X."""
    mean = X[:N, indices].sum(axis=0) / max(N, 1)
    if slot < N:
        return two(X[slot, indices] - mean, mean)
    if graph or N == 0:
        return two(0.0 * mean, 0.0 * mean)
    b = tune(rule, N + 1).b
    return two(0.0 * mean, mean if rule.projection != BALL or math.isinf(b) else b / (1.0 + b) * mean)


def on_models(rule: Rule, state: Models, slot: int, indices: Ints) -> Shares:
    """Of a task in a table of models."""
    N = int(state.counts[Count.TASKS])
    return on_table(rule, state.X, N, len(state.inverse) > 0, slot, indices)


def on_duals(rule: MirrorRule, state: Table, slot: int, indices: Ints) -> Shares:
    """Of a task whose dual vector is column `slot` of a table."""
    nothing, scalars = np.zeros(len(indices)), state.scalars
    N = int(state.counts[Count.TASKS])
    if slot >= N and rule.graph:
        return two(nothing, nothing)
    y = images(rule, state, indices)
    if slot >= N:
        start = np.where(usable(rule, state, indices), start_of_newcomer(rule, state)[indices], 0.0)
        start = scalars[DualScalar.SCALE] * start
        _, own, shared = root_of(rule, N + 1)
        if math.isinf(scalars[DualScalar.B]) and N > 0:
            return two(nothing, y[0])
        return two(nothing, own * start + shared * (y.sum(axis=0) + start))
    if rule.graph:
        entries = state.root[slot]
        near = np.flatnonzero(entries)
        return _apart(slot, near, entries[near, None] * y[near])
    if math.isinf(scalars[DualScalar.B]):
        return two(nothing, y[0])
    return two(scalars[DualScalar.OWN] * y[slot], scalars[DualScalar.SHARED] * y.sum(axis=0))


def usable(rule: MirrorRule, state: Table, indices: Ints) -> Array:
    """Which features count: on a simplex those that have held something, or were declared."""
    counted: Array = (rule.kind == P_NORM) | (state.known[indices] != 0)
    return counted


def _apart(slot: int, members: Ints, weights: Array) -> Shares:
    """The weights that a task has from every member of its component, itself among them."""
    mine = members == slot
    others = members[~mine]
    return Shares(weights[mine].sum(axis=0), np.zeros(weights.shape[1]), others, weights[~mine])


def mixed(weights: Floats, shares: list[Shares]) -> Shares:
    """The mean of several experts, none of which knows neighbours."""
    scaled = [share.scaled(float(weight)) for weight, share in zip(weights, shares, strict=True)]
    return two(np.sum([share.own for share in scaled], axis=0), np.sum([share.shared for share in scaled], axis=0))
