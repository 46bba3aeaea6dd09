r"""Gradient descent on a graph of named tasks: a score reads the neighbours, a step touches one task.

Cesa-Bianchi, Laforgue, Paudice and Pontil (2022), Eq. 7: x <- Proj_A(x - eta_t A^-1[:, i] g) for an event of task i.
Every task keeps the sum of its own steps, G_j = -sum eta_t g_t over the events of j, and the models are

    x_i = s sum_j A^-1_ij G_j        j over the tasks of i's connected component

so that a step costs O(non-zeros), and a score O(component x non-zeros). The Mahalanobis ball stays lazy through the
factor s, as it does on a clique (`cliques_ball`).
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.jit import Handle, compiled, helper_no_alloc, inlined, inlined_only
from weft.graphs.interaction import General
from weft.graphs.relation import Relation, diagonal, lacks_row, relation_of, solve_rows
from weft.learners.descent.exact_sums import add_exactly
from weft.learners.descent.positions import GraphScalar as S
from weft.learners.descent.positions import Trace
from weft.learners.descent.rule import ADAPTIVE, LEADER, MAHALANOBIS, Rule, rate_of
from weft.maths.limits import cut
from weft.maths.losses import loss_value, slope
from weft.maths.vectors import sparse_dot
from weft.storage.batch import NO_ROOM, Batch, importance, learn_single, set_single, widest_round
from weft.storage.pair_rows import add_slots, add_table, dot_hashed, dot_table
from weft.storage.pairs import HASHED, Pairs, dense, find_row, open_row, rows_in_use, slot_space
from weft.storage.regions import fits
from weft.storage.saving import live
from weft.storage.sparse_rows import Row, row_of, square_in_order
from weft.storage.state import Plan

FOLD = 1e-100
"""A factor s below this is multiplied into the sums."""


class Sums(NamedTuple):
    """G (own), which tasks have one, and the scalars."""

    pairs: Pairs
    own: Floats
    touched: Ints
    scalars: Floats  # by `GraphScalar`
    relation: Relation  # follows from the parameters, so not part of a file

    @property
    def order(self) -> Ints:
        """The position of every task in the graph's own order."""
        return self.relation.order


PLAN = Plan(
    {"own": ("pair",), "touched": ("task",), "scalars": (len(S),)},
    counts={"touched": (1,)},
    counters={"scalars": (S.ROUNDS,)},
)


class Work(NamedTuple):
    """What a kernel fills: scores and trace, and scratch with an entry per row of a round."""

    scores: Floats
    trace: Floats
    g: Floats  # slope of the loss: the gradient is g x
    squares: Floats  # |x|^2
    slots: Ints


class Gradient(NamedTuple):
    """Of a round: sum |g_i|^2, <x, g>, how many rows have one, the last of them, and whether any row has a label."""

    g2: float
    xg: float
    moving: int
    last: int
    labelled: bool


def blank_on_graph(A: General, order: Ints) -> Sums:
    """Nothing is learned; slot i is task order[i] of A."""
    scalars = np.zeros(len(S))
    scalars[S.SCALE] = 1.0
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


@inlined
def factor_of(rule: Rule, state: Sums) -> float:
    """What the sums are multiplied with: s, or the rate of follow-the-leader."""
    if rule.rate >= LEADER:
        return rate_of(rule, rule.eta, 0.0, state.scalars[S.ROUNDS] + 1.0)
    return float(state.scalars[S.SCALE])


@inlined_only
def _dot_sum(state: Sums, j: int, x: Row, slots: Ints) -> float:
    """<G_j, x>."""
    layout, keys, table = state.pairs
    if layout[HASHED]:
        find_row(keys, table, state.own, j, x.indices, x.begin, x.end, slots)
        return dot_hashed(state.own, x.values, x.begin, x.end, slots)[0]
    return dot_table(layout, state.own, j, x.indices, x.values, x.begin, x.end)[0]


@helper_no_alloc
def _dot_model(state: Sums, i: int, x: Row, slots: Ints) -> float:
    """sum_j A^-1_ij <G_j, x>; 0 for a task that the graph does not name."""
    relation, total = state.relation, 0.0
    if i >= len(relation.component):
        return total
    c, start = relation.component[i], relation.start[i]
    for p in range(relation.bounds[c], relation.bounds[c + 1]):
        j = relation.members[p]
        if state.touched[j] != 0:
            total += relation.entries[start + relation.place[j]] * _dot_sum(state, j, x, slots)
    return total


@compiled
def predict(rule: Rule, state: Sums, batch: Batch, scores: Floats) -> None:
    _predict(rule, state, batch, scores, slot_space(state.pairs, batch))


@helper_no_alloc
def _predict(rule: Rule, state: Sums, batch: Batch, scores: Floats, slots: Ints) -> None:
    s = factor_of(rule, state)
    for i in range(len(scores)):
        scores[i] = s * _dot_model(state, batch.task[i], row_of(batch, i), slots)


@compiled
def learn(rule: Rule, state: Sums, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    widest = widest_round(batch.rounds)
    work = Work(scores, trace, np.empty(widest), np.empty(widest), slot_space(state.pairs, batch))
    return _descend(rule, state, batch, start, work)


@helper_no_alloc
def _descend(rule: Rule, state: Sums, batch: Batch, start: int, work: Work) -> int:
    """The rounds from `start` on; returns the first that there is no room or no row of A^-1 for."""
    scalars, relation, rounds = state.scalars, state.relation, batch.rounds
    largest = 2.0 * rule.radius * rule.radius / (rule.eta * rule.eta)  # max_i A^-1_ii, where steps are adaptive
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if state.pairs.layout[HASHED] and not fits(state.pairs, batch, lo, hi):
            return t
        if lacks_row(relation, batch.task, lo, hi):
            return t
        g2, xg, moving, last, labelled = _score(rule, state, batch, lo, hi, work)
        if not labelled:
            continue
        H = 0.0  # sum_ij A^-1_ij <g_i, g_j>
        if rule.projection == MAHALANOBIS or (rule.rate == ADAPTIVE and moving > 1):
            H = diagonal(relation, batch.task[last]) * g2 if moving <= 1 else _compound(relation, batch, lo, hi, work)
        if rule.rate == ADAPTIVE:
            scalars[S.SQUARES] += g2 if moving == 1 else H / largest
        eta = rate_of(rule, rule.eta, scalars[S.SQUARES], scalars[S.ROUNDS] + 1.0)
        if work.trace.shape[0]:
            _record(rule, state, batch, lo, hi, work, eta)
        if g2 == 0.0:
            continue
        scalars[S.ROUNDS] += 1.0
        step = -1.0 if rule.rate >= LEADER else -eta / scalars[S.SCALE]
        for i in range(lo, hi):
            if work.g[i - lo] != 0.0:
                _move(state, batch.task[i], row_of(batch, i), step * work.g[i - lo], work.slots)
        if rule.projection == MAHALANOBIS:
            _project(rule, state, -2.0 * eta * xg + eta * eta * H)
    return len(rounds) - 1


@inlined_only
def _score(rule: Rule, state: Sums, batch: Batch, lo: int, hi: int, work: Work) -> Gradient:
    """Scores <x_i, phi>, and the slopes of their losses."""
    s = factor_of(rule, state)
    g2, xg, moving, last, labelled = 0.0, 0.0, 0, lo, False
    for i in range(lo, hi):
        x, label = row_of(batch, i), batch.label[i]
        square, score = square_in_order(x), s * _dot_model(state, batch.task[i], x, work.slots)
        g = cut(importance(batch, i) * slope(rule.loss, score, label, rule.epsilon), square)
        work.scores[i], work.g[i - lo], work.squares[i - lo] = score, g, square
        if g * g * square > 0.0:
            moving, last = moving + 1, i
        g2 += g * g * square
        xg += g * score
        labelled = labelled or not math.isnan(label)
    return Gradient(g2, xg, moving, last, labelled)


@helper_no_alloc
def _compound(relation: Relation, batch: Batch, lo: int, hi: int, work: Work) -> float:
    """sum_ij A^-1_ij <g_i, g_j> of a round."""
    g, total = work.g, 0.0
    for one in range(lo, hi):
        j = batch.task[one]
        if g[one - lo] == 0.0:
            continue
        for other in range(lo, hi):
            k = batch.task[other]
            if g[other - lo] != 0.0 and relation.component[j] == relation.component[k]:
                entry = relation.entries[relation.start[j] + relation.place[k]]
                x, y = row_of(batch, one), row_of(batch, other)
                dot = sparse_dot(x.indices, x.values, x.begin, x.end, y.indices, y.values, y.begin, y.end)
                total += entry * g[one - lo] * g[other - lo] * dot
    return total


@helper_no_alloc
def _record(rule: Rule, state: Sums, batch: Batch, lo: int, hi: int, work: Work, eta: float) -> None:
    """The trace of a round."""
    for i in range(lo, hi):
        if not math.isnan(batch.label[i]):
            a, entry = i - lo, work.trace[i]
            entry[Trace.LOSS] = loss_value(rule.loss, work.scores[i], batch.label[i], rule.epsilon)
            entry[Trace.ETA] = eta
            entry[Trace.G2] = work.g[a] * work.g[a] * work.squares[a]
            entry[Trace.DIAGONAL] = diagonal(state.relation, batch.task[i])


@inlined_only
def _move(state: Sums, i: int, x: Row, step: float, slots: Ints) -> None:
    """G_i += step x."""
    layout, keys, table = state.pairs
    state.touched[i] = 1
    if layout[HASHED]:
        find_row(keys, table, state.own, i, x.indices, x.begin, x.end, slots)
        open_row(layout, keys, table, i, x.indices, x.begin, x.end, slots)
        add_slots(state.own, x.values, x.begin, x.end, step, slots)
    else:
        add_table(layout, state.own, i, x.indices, x.values, x.begin, x.end, step)


@helper_no_alloc
def _project(rule: Rule, state: Sums, change: float) -> None:
    """Q += change; then back into the ball |x|_A <= radius, by the factor s alone."""
    own, scalars, limit = state.own, state.scalars, rule.radius * rule.radius
    scalars[S.Q], scalars[S.Q_REST] = add_exactly(scalars[S.Q], scalars[S.Q_REST], change)
    size = max(0.0, scalars[S.Q] + scalars[S.Q_REST])
    if size > limit:
        scalars[S.SCALE] *= math.sqrt(limit / size)
        scalars[S.Q], scalars[S.Q_REST] = limit, 0.0
    if scalars[S.SCALE] < FOLD:
        for p in range(rows_in_use(state.pairs, own)):
            own[p] *= scalars[S.SCALE]
        scalars[S.SCALE] = 1.0


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    rule, state, batch, scores, _ = handle.parts
    bad = set_single(batch, task, 0.0, count)
    if bad < 0:
        if lacks_row(state.relation, batch.task, batch.rounds[0], batch.rounds[1]):
            return NO_ROOM
        predict(rule, state, batch, scores)
    return bad


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    return learn_single(learn, handle, task, label, count)
