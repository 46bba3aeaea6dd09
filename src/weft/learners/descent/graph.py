r"""Gradient descent on a graph of named tasks: a prediction asks the neighbours, a step touches one task.

Every task keeps the sum of its own steps, G_j = -sum eta_t g_t over the events of j, and the models are

    x_i = s sum_j A^-1_ij G_j        j over the tasks of i's connected component

so that a step costs O(non-zeros), and a score O(component x non-zeros). The Mahalanobis ball stays lazy through the
factor s, as it does on a clique (`descent_parts`).
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.jit import Handle, compiled, helper
from weft.graphs.interaction import General
from weft.graphs.relation import Relation, diagonal, lacks_row, relation_of, solve_rows
from weft.learners.descent.strengths import ADAPTIVE, LEADER, MAHALANOBIS, Rule, add_exactly, rate_of
from weft.maths.losses import loss_value, slope
from weft.maths.rounds import widest_round
from weft.storage.batch import Batch, set_single, status
from weft.storage.pairs import (
    HASHED,
    Pairs,
    add_hashed,
    add_table,
    dense,
    dot_hashed,
    dot_table,
    find_row,
    fits,
    slot_space,
)
from weft.storage.state import Plan, live

SCALE, Q, Q_REST, SQUARES, ROUNDS = range(5)
"""Positions in `scalars`: s, Q = |x|_A^2 with its rest, sum of |g|^2, rounds with a gradient."""

FOLD = 1e-100


class Sums(NamedTuple):
    """G (own), which tasks have one, and the scalars."""

    pairs: Pairs
    own: Floats
    touched: Ints
    scalars: Floats
    relation: Relation  # follows from the parameters, so not part of a file

    @property
    def order(self) -> Ints:
        """Where a task stands in the graph's own order."""
        return self.relation.order


PLAN = Plan({"own": ("pair",), "touched": ("task",), "scalars": (5,)}, counts={"touched": (1,)})


def blank_on_graph(A: General, order: Ints) -> Sums:
    """Nothing is learned; slot i is task order[i] of A."""
    scalars = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    return Sums(dense(0, 1), np.zeros(0), np.zeros(0, np.int64), scalars, relation_of(A, order))


def with_rows(state: Sums, A: General, tasks: Ints) -> Sums:
    """The same with the rows of A^-1 that these tasks read."""
    found = solve_rows(state.relation, A, tasks)
    return state if found is state.relation else state._replace(relation=found)


def both_parts(rule: Rule, state: Sums, A: General, features: int) -> tuple[Array, Array]:
    """What a task taught itself, and what it has from its neighbours: both (tasks, features)."""
    order, active = state.relation.order, np.flatnonzero(state.touched[: A.N])
    state, parts = with_rows(state, A, active), live(state, PLAN, A.N, features)
    sums = np.zeros((A.N, features))
    sums[parts["pairs"][:, 0], parts["pairs"][:, 1]] = factor_of(rule, state) * parts["own"]
    in_order = np.empty_like(sums)
    in_order[order] = sums
    own = np.zeros_like(sums)
    for i in active.tolist():
        own[i] = diagonal(state.relation, i) * sums[i]
    return own, A.solve(in_order)[order] - own


@compiled
def factor_of(rule: Rule, state: Sums) -> float:
    if rule.rate >= LEADER:
        return rate_of(rule, rule.eta, 0.0, state.scalars[ROUNDS] + 1.0)
    return float(state.scalars[SCALE])


@helper
def _ask_neighbours(state: Sums, batch: Batch, i: int, slots: Ints) -> tuple[float, float]:
    """sum_j A^-1_ij <G_j, x> of example i, and |x|^2."""
    pairs, own, touched, _, relation = state
    layout, keys, table = pairs
    task, _, row, indptr, indices, values, _ = batch
    j, begin, end = task[i], indptr[row[i]], indptr[row[i] + 1]
    total, square = 0.0, 0.0
    for e in range(begin, end):
        square += values[e] * values[e]
    if j >= len(relation.component):
        return 0.0, square
    c, start = relation.component[j], relation.start[j]
    for p in range(relation.bounds[c], relation.bounds[c + 1]):
        k = relation.members[p]
        if touched[k] == 0:
            continue
        if layout[HASHED]:
            find_row(keys, table, own, k, indices, begin, end, slots)
            dot = dot_hashed(own, values, begin, end, slots)[0]
        else:
            dot = dot_table(layout, own, k, indices, values, begin, end)[0]
        total += relation.entries[start + relation.place[k]] * dot
    return total, square


@helper
def _rows_dot(batch: Batch, one: int, other: int) -> float:
    """<x, x'> of two rows, both sorted."""
    _, _, row, indptr, indices, values, _ = batch
    e, f, total = indptr[row[one]], indptr[row[other]], 0.0
    while e < indptr[row[one] + 1] and f < indptr[row[other] + 1]:
        if indices[e] == indices[f]:
            total += values[e] * values[f]
            e += 1
            f += 1
        elif indices[e] < indices[f]:
            e += 1
        else:
            f += 1
    return total


@helper
def _compound(relation: Relation, batch: Batch, lo: int, hi: int, g: Floats) -> float:
    """sum_ij A^-1_ij <g_i, g_j> of a round."""
    total = 0.0
    for one in range(lo, hi):
        j = batch.task[one]
        if g[one - lo] == 0.0:
            continue
        for other in range(lo, hi):
            k = batch.task[other]
            if g[other - lo] != 0.0 and relation.component[j] == relation.component[k]:
                entry = relation.entries[relation.start[j] + relation.place[k]]
                total += entry * g[one - lo] * g[other - lo] * _rows_dot(batch, one, other)
    return total


@compiled
def predict(rule: Rule, state: Sums, batch: Batch, scores: Floats) -> None:
    slots, s = slot_space(state.pairs, batch), factor_of(rule, state)
    for i in range(len(scores)):
        scores[i] = s * _ask_neighbours(state, batch, i, slots)[0]


@compiled
def learn(rule: Rule, state: Sums, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    pairs, own, touched, scalars, relation = state
    layout, keys, table = pairs
    task, label, row, indptr, indices, values, rounds = batch
    slots, widest = slot_space(pairs, batch), widest_round(rounds)
    g, squares = np.empty(widest), np.empty(widest)
    largest = 2.0 * rule.radius * rule.radius / (rule.eta * rule.eta)  # max_i A^-1_ii, where steps are adaptive
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if (layout[HASHED] and not fits(pairs, batch, lo, hi)) or lacks_row(relation, task, lo, hi):
            return t
        # scores and slopes of the round
        s = factor_of(rule, state)
        g2, xg, moving, last, labelled = 0.0, 0.0, 0, lo, False
        for i in range(lo, hi):
            a = i - lo
            total, squares[a] = _ask_neighbours(state, batch, i, slots)
            scores[i] = s * total
            g[a] = slope(rule.loss, scores[i], label[i], rule.epsilon)
            if g[a] * g[a] * squares[a] > 0.0:
                moving, last = moving + 1, i
            g2 += g[a] * g[a] * squares[a]
            xg += g[a] * scores[i]
            labelled = labelled or not math.isnan(label[i])
        if not labelled:
            continue
        H = 0.0
        if rule.projection == MAHALANOBIS or (rule.rate == ADAPTIVE and moving > 1):
            H = diagonal(relation, task[last]) * g2 if moving <= 1 else _compound(relation, batch, lo, hi, g)
        if rule.rate == ADAPTIVE:
            scalars[SQUARES] += g2 if moving == 1 else H / largest
        eta = rate_of(rule, rule.eta, scalars[SQUARES], scalars[ROUNDS] + 1.0)
        if trace.shape[0]:
            for i in range(lo, hi):
                if not math.isnan(label[i]):
                    trace[i, 0] = loss_value(rule.loss, scores[i], label[i], rule.epsilon)
                    trace[i, 1], trace[i, 2] = eta, g[i - lo] * g[i - lo] * squares[i - lo]
                    trace[i, 3] = diagonal(relation, task[i])
        if g2 == 0.0:
            continue
        scalars[ROUNDS] += 1.0
        # G_i -= (eta/s) g
        step = -1.0 if rule.rate >= LEADER else -eta / s
        for i in range(lo, hi):
            if g[i - lo] == 0.0:
                continue
            j, begin, end = task[i], indptr[row[i]], indptr[row[i] + 1]
            touched[j] = 1
            if layout[HASHED]:
                find_row(keys, table, own, j, indices, begin, end, slots)
                add_hashed(layout, keys, table, own, j, indices, values, begin, end, step * g[i - lo], slots)
            else:
                add_table(layout, own, j, indices, values, begin, end, step * g[i - lo])
        if rule.projection == MAHALANOBIS:
            add_exactly(scalars, Q, -2.0 * eta * xg + eta * eta * H)
            _project(rule, state)
    return len(rounds) - 1


@helper
def _project(rule: Rule, state: Sums) -> None:
    """Back into the ball |x|_A <= radius, by the factor s alone."""
    own, scalars = state.own, state.scalars
    size, limit = max(0.0, scalars[Q] + scalars[Q_REST]), rule.radius * rule.radius
    if size > limit:
        scalars[SCALE] *= math.sqrt(limit / size)
        scalars[Q], scalars[Q_REST] = limit, 0.0
    if scalars[SCALE] < FOLD:
        for p in range(len(own)):
            own[p] *= scalars[SCALE]
        scalars[SCALE] = 1.0


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    rule, state, batch, scores, _ = handle.parts
    bad = set_single(batch, task, 0.0, count)
    if bad < 0:
        if lacks_row(state.relation, batch.task, batch.rounds[0], batch.rounds[1]):
            return -2
        predict(rule, state, batch, scores)
    return bad


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    rule, state, batch, scores, trace = handle.parts
    bad = set_single(batch, task, label, count)
    return bad if bad >= 0 else status(learn(rule, state, batch, batch.rounds[0], scores, trace))
