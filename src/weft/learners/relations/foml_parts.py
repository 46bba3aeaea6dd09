"""Multitask Perceptrons on cliques at O(non-zeros) per event: what every task put in, and what each clique put in.

A^-1 = own I + shared 11' per clique. W = A^-1 S, with S_k the sum of C y x over the updates of task k, needs two sums,
S_k itself and the total of its clique. Kept so, nothing has to change when the number of tasks does.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.jit import Handle, compiled, helper_no_alloc, inlined, inlined_only
from weft.graphs.interaction import CliqueBlocks
from weft.learner import Kernels
from weft.maths.losses import HINGE, loss_value
from weft.storage.batch import Batch, learn_single, predict_single
from weft.storage.pairs import HASHED, Pairs, dense, slot_space
from weft.storage.regions import fits
from weft.storage.sparse_rows import row_of
from weft.storage.state import Plan
from weft.storage.two_parts import TwoParts, add_parts, dot_parts, prefetch_ahead

MISTAKE, MARGIN = range(2)
TASKS = 0
"""Position in `counts`: tasks seen."""


class Hyper(NamedTuple):
    condition: int
    C: float
    b: float  # NaN: the number of tasks
    cliques: bool  # of named tasks, instead of one clique of whoever turns up


class Cliques(NamedTuple):
    """The clique of every task, and A^-1 of every clique; follows from the parameters, so not part of a file."""

    order: Ints  # the position of every task in the graph's own order
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
    return Plan(axes, counts={"counts": ("task",)}, forget=_forget)


def _forget(before: Mapping[str, Array], after: dict[str, Array], slot: int) -> None:
    """What the task put into the total goes, up to rounding."""
    own = before["pairs"][:, 0] == slot
    np.subtract.at(after["shared"][0], before["pairs"][own, 1], before["own"][own])
    after["counts"][TASKS] -= slot < after["counts"][TASKS]


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


@inlined
def factors(hyper: Hyper, state: Sums, task: int) -> tuple[float, float]:
    """A^-1 = own I + shared 11' of the task's clique."""
    if hyper.cliques:
        c = state.cliques.label[task]
        return state.cliques.own[c], state.cliques.shared[c]
    N = max(state.counts[TASKS], task + 1)  # an unknown task is scored as the newcomer that it would be
    b = float(N) if math.isnan(hyper.b) else hyper.b
    if math.isinf(b):
        return 0.0, 1.0 / N
    return 1.0 / (1.0 + b), b / ((1.0 + b) * N)


@inlined_only
def _score_row(hyper: Hyper, state: Sums, parts: TwoParts, batch: Batch, i: int) -> tuple[float, float]:
    """<w_k, x> of example i, w_k = own S_k + shared (sum of its clique), and |x|^2."""
    k = batch.task[i]
    c = state.cliques.label[k] if hyper.cliques else 0
    z, m, square = dot_parts(parts, k, c, row_of(batch, i))
    own, shared = factors(hyper, state, k)
    return own * z + shared * m, square


@inlined_only
def _score(hyper: Hyper, state: Sums, parts: TwoParts, batch: Batch, lo: int, hi: int, scores: Floats) -> None:
    """Scores of the examples lo..hi; those of tasks that the graph does not name are 0."""
    for i in range(lo, hi):
        if hyper.cliques and batch.task[i] >= len(state.cliques.label):
            scores[i] = 0.0
        else:
            scores[i] = _score_row(hyper, state, parts, batch, i)[0]


@compiled
def predict(hyper: Hyper, state: Sums, batch: Batch, scores: Floats) -> None:
    slots = slot_space(state.pairs, batch)
    parts = TwoParts(state.pairs, state.own, state.shared, slots)
    _score(hyper, state, parts, batch, batch.rounds[0], len(scores), scores)


@compiled
def learn(hyper: Hyper, state: Sums, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    slots = slot_space(state.pairs, batch)
    return _learn(hyper, state, TwoParts(state.pairs, state.own, state.shared, slots), batch, start, scores, trace)


@helper_no_alloc
def _learn(hyper: Hyper, state: Sums, parts: TwoParts, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    """S_i += C y x on every mistake of task i, or on every margin below 1."""
    task, rounds, counts = batch.task, batch.rounds, state.counts
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if state.pairs.layout[HASHED] and not fits(state.pairs, batch, lo, hi):
            return t
        for i in range(lo, hi):
            counts[TASKS] = max(counts[TASKS], task[i] + 1)
        if hi - lo > 1:  # all of a round is scored before any of it is learned
            _score(hyper, state, parts, batch, lo, hi, scores)
        for i in range(lo, hi):
            prefetch_ahead(parts, batch, i)
            score, square = _score_row(hyper, state, parts, batch, i)
            y = batch.label[i]
            if hi - lo == 1:
                scores[i] = score
            if np.isnan(y):
                continue
            due = square > 0.0 and (y * score <= 0.0 if hyper.condition == MISTAKE else y * score < 1.0)
            if trace.shape[0]:
                trace[i, 0], trace[i, 1] = loss_value(HINGE, score, y, 0.0), hyper.C if due else 0.0
                trace[i, 2], trace[i, 3] = square, hyper.C
            if due:
                step, c = hyper.C * y, state.cliques.label[task[i]] if hyper.cliques else 0
                add_parts(parts, task[i], c, row_of(batch, i), step, step)
    return len(rounds) - 1


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    return predict_single(predict, handle, task, count)


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    return learn_single(learn, handle, task, label, count)


KERNELS = Kernels(predict, learn, predict_one, learn_one)
