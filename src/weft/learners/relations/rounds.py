"""Perceptrons whose steps move every task by a column of A^-1, which is given or learned: a table of all weights.

For an event of task i that is due, W += C y A^-1[:, i] x'. A mistake costs O(tasks x non-zeros), and where A is learned
O(tasks^2) more, or O(tasks^3) for an exponential.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import Handle, compiled, helper
from weft.learners.relations.relation_steps import COVARIANCE, FIXED, VONNEUMANN, move_gram, relation_step
from weft.maths.losses import HINGE, loss_value
from weft.storage.batch import Batch, set_single, status
from weft.storage.pairs import Pairs, add_table, dense, dot_rows, dot_table
from weft.storage.state import Plan

MISTAKE, MARGIN = range(2)
CONDITIONS = ("mistake", "margin")

TASKS, FEATURES = range(2)
"""Positions in `counts`: tasks, and features up to the last one that occurred."""


class Hyper(NamedTuple):
    condition: int
    C: float
    kind: int
    rate: float
    warmup: float


class Related(NamedTuple):
    """W, A^-1, and what its steps need: log A^-1, W W', and the sums of W over features."""

    pairs: Pairs
    weights: Floats
    inverse: Floats
    logarithm: Floats
    gram: Floats
    sums: Floats
    counts: Ints
    events: Floats  # labelled ones, a whole number
    order: Ints  # where a task stands in its graph; follows from the parameters, as A^-1 then does


def plan(kind: int) -> Plan:
    """A fixed A^-1 is not part of a file."""
    square: tuple[str | int, ...] = ("task", "task")
    axes: dict[str, tuple[str | int, ...]] = {"weights": ("pair",), "counts": (2,), "events": (1,)}
    if kind != FIXED:
        axes |= {"inverse": square, "gram": square}
    if kind == VONNEUMANN:
        axes["logarithm"] = square
    if kind == COVARIANCE:
        axes["sums"] = ("task",)
    return Plan(axes, always_dense=True, counts={"counts": ("task", "feature")})


def blank(tasks: int, kind: int = FIXED) -> Related:
    """Tasks that are declared are independent: A = I."""
    square, none = np.zeros((tasks, tasks)), np.zeros((0, 0))
    return Related(
        dense(0, 1),
        np.zeros(0),
        np.eye(tasks),
        square if kind == VONNEUMANN else none,
        none.copy() if kind == FIXED else square.copy(),
        np.zeros(tasks if kind == COVARIANCE else 0),
        np.array([tasks, 0]),
        np.zeros(1),
        np.zeros(0, np.int64),
    )


def blank_on_graph(inverse: Floats, order: Ints) -> Related:
    """A^-1 is given; slot i is task order[i] of the graph."""
    here = np.ascontiguousarray(inverse[np.ix_(order, order)])
    return blank(0)._replace(inverse=here, counts=np.array([len(order), 0]), order=order)


@compiled
def predict(hyper: Hyper, state: Related, batch: Batch, scores: Floats) -> None:
    dot_rows(state.pairs, state.weights, False, batch, 0, len(scores), scores)


@helper
def _step(hyper: Hyper, state: Related, batch: Batch, i: int, square: float, a: Floats, s: Floats) -> None:
    """W += C y A^-1[:, task] x', and G = W W' with it."""
    layout, W, N, j = state.pairs.layout, state.weights, state.counts[TASKS], batch.task[i]
    begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    for k in range(N):
        a[k] = hyper.C * batch.label[i] * state.inverse[k, j]
        if hyper.kind != FIXED:
            s[k] = dot_table(layout, W, k, batch.indices, batch.values, begin, end)[0]
    for k in range(N):
        if a[k] != 0.0:
            add_table(layout, W, k, batch.indices, batch.values, begin, end, a[k])
    if hyper.kind != FIXED:
        move_gram(state.gram, N, a, s, square)
    if hyper.kind == COVARIANCE:
        total = 0.0
        for e in range(begin, end):
            total += batch.values[e]
        for k in range(N):
            state.sums[k] += a[k] * total


@compiled
def learn(hyper: Hyper, state: Related, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    pairs, W, inverse, logarithm, gram, sums, counts, events, _ = state
    task, label, row, indptr, indices, values, rounds = batch
    a, s = np.empty(len(inverse)), np.empty(len(inverse))
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        for i in range(lo, hi):
            for k in range(counts[TASKS], task[i] + 1):  # a newcomer is tied to nobody
                inverse[k, k] = 1.0
                counts[TASKS] += 1
        if hi - lo > 1:  # all of a round is scored before any of it is learned
            dot_rows(pairs, W, False, batch, lo, hi, scores)
        for i in range(lo, hi):
            begin, end = indptr[row[i]], indptr[row[i] + 1]
            score, square = dot_table(pairs.layout, W, task[i], indices, values, begin, end)
            if hi - lo == 1:
                scores[i] = score
            y = label[i]
            if np.isnan(y):
                continue
            events[0] += 1.0
            if end > begin:
                counts[FEATURES] = max(counts[FEATURES], indices[end - 1] + 1)
            due = square > 0.0 and (y * score <= 0.0 if hyper.condition == MISTAKE else y * score < 1.0)
            if trace.shape[0]:
                trace[i, 0], trace[i, 1] = loss_value(HINGE, score, y, 0.0), hyper.C if due else 0.0
                trace[i, 2], trace[i, 3] = square, hyper.C
            if due:
                _step(hyper, state, batch, i, square, a, s)
                if hyper.kind != FIXED and events[0] > hyper.warmup:
                    N, d = counts[TASKS], counts[FEATURES]
                    relation_step(hyper.kind, hyper.rate, inverse, logarithm, gram, sums, N, d)
    return len(rounds) - 1


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    hyper, state, batch, scores, _ = handle.parts
    bad = set_single(batch, task, 0.0, count)
    if bad < 0:
        predict(hyper, state, batch, scores)
    return bad


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    hyper, state, batch, scores, trace = handle.parts
    bad = set_single(batch, task, label, count)
    return bad if bad >= 0 else status(learn(hyper, state, batch, batch.rounds[0], scores, trace))
