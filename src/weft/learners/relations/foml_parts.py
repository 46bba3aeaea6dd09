"""Multitask Perceptrons on cliques at O(non-zeros) per event: what every task put in, and what each clique put in.

A^-1 = own I + shared 11' per clique. W = A^-1 S, with S_k the sum of C y x over the updates of task k, needs two sums,
S_k itself and the total of its clique. Kept so, nothing has to change when the number of tasks does.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import Handle, compiled, helper
from weft.graphs.interaction import CliqueBlocks
from weft.maths.losses import HINGE, loss_value
from weft.storage.batch import Batch, set_single, status
from weft.storage.pairs import HASHED, Pairs, dense, fits, slot_space
from weft.storage.state import Plan
from weft.storage.two_parts import add_parts, ask_ahead, dot_parts

MISTAKE, MARGIN = range(2)


class Hyper(NamedTuple):
    condition: int
    C: float
    b: float  # NaN: the number of tasks
    cliques: bool  # of named tasks, instead of one clique of whoever turns up


class Cliques(NamedTuple):
    """The clique of every task, and A^-1 of every clique; follows from the parameters, so not part of a file."""

    order: Ints  # where a task stands in the graph's own order
    label: Ints
    own: Floats
    shared: Floats


class Sums(NamedTuple):
    """S_k (own), the totals of the cliques (shared), and the number of tasks."""

    pairs: Pairs
    own: Floats
    shared: Floats
    counts: Ints
    cliques: Cliques


def plan(cliques: int) -> Plan:
    axes: dict[str, tuple[str | int, ...]] = {"own": ("pair",), "shared": (cliques, "feature"), "counts": (1,)}
    return Plan(axes, counts={"counts": ("task",)})


def blank(tasks: int) -> Sums:
    """One clique of all tasks."""
    none = np.zeros(0, np.int64)
    everyone = Cliques(none, none.copy(), np.zeros(0), np.zeros(0))
    return Sums(dense(0, 1), np.zeros(0), np.zeros((1, 0)), np.array([tasks]), everyone)


def blank_on_graph(A: CliqueBlocks, order: Ints) -> Sums:
    """Disjoint cliques; slot i is task order[i] of A."""
    own, shared = map(np.ascontiguousarray, A.coefficients(-1.0))
    cliques = Cliques(order, A.components[order], own, shared)
    return blank(len(order))._replace(shared=np.zeros((len(own), 0)), cliques=cliques)


@compiled
def factors(hyper: Hyper, state: Sums, task: int) -> tuple[float, float]:
    """A^-1 = own I + shared 11' of the task's clique."""
    if hyper.cliques:
        c = state.cliques.label[task]
        return state.cliques.own[c], state.cliques.shared[c]
    N = max(state.counts[0], task + 1)  # somebody unknown is read as the newcomer that it would be
    b = float(N) if math.isnan(hyper.b) else hyper.b
    if math.isinf(b):
        return 0.0, 1.0 / N
    return 1.0 / (1.0 + b), b / ((1.0 + b) * N)


@compiled
def predict(hyper: Hyper, state: Sums, batch: Batch, scores: Floats) -> None:
    _score(hyper, state, batch, batch.rounds[0], len(scores), scores)


@helper
def _score(hyper: Hyper, state: Sums, batch: Batch, lo: int, hi: int, scores: Floats) -> None:
    pairs, own, shared, _, cliques = state
    layout, keys, table = pairs
    task, _, row, indptr, indices, values, _ = batch
    slots = slot_space(pairs, batch)
    for i in range(lo, hi):
        begin, end, c = indptr[row[i]], indptr[row[i] + 1], 0
        if hyper.cliques:
            if task[i] >= len(cliques.label):  # nobody that the graph names
                scores[i] = 0.0
                continue
            c = cliques.label[task[i]]
        z, m, _ = dot_parts(layout, keys, table, own, shared, task[i], c, indices, values, begin, end, slots)
        alone, together = factors(hyper, state, task[i])
        scores[i] = alone * z + together * m


@compiled
def learn(hyper: Hyper, state: Sums, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    pairs, own, shared, counts, cliques = state
    layout, keys, table = pairs
    task, label, row, indptr, indices, values, rounds = batch
    slots = slot_space(pairs, batch)
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if layout[HASHED] and not fits(pairs, batch, lo, hi):
            return t
        for i in range(lo, hi):
            counts[0] = max(counts[0], task[i] + 1)
        if hi - lo > 1:  # all of a round is scored before any of it is learned
            _score(hyper, state, batch, lo, hi, scores)
        for i in range(lo, hi):
            k, begin, end = task[i], indptr[row[i]], indptr[row[i] + 1]
            c = cliques.label[k] if hyper.cliques else 0
            ask_ahead(layout, keys, table, own, shared, task, row, indptr, indices, i)
            z, m, square = dot_parts(layout, keys, table, own, shared, k, c, indices, values, begin, end, slots)
            alone, together = factors(hyper, state, k)
            score, y = alone * z + together * m, label[i]
            if hi - lo == 1:
                scores[i] = score
            if np.isnan(y):
                continue
            due = square > 0.0 and (y * score <= 0.0 if hyper.condition == MISTAKE else y * score < 1.0)
            if trace.shape[0]:
                trace[i, 0], trace[i, 1] = loss_value(HINGE, score, y, 0.0), hyper.C if due else 0.0
                trace[i, 2], trace[i, 3] = square, hyper.C
            if due:
                step = hyper.C * y
                add_parts(layout, keys, table, own, shared, k, c, indices, values, begin, end, step, step, slots)
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
