"""Perceptrons whose steps move every task by a column of A^-1, which is given or learned: a table of all weights.

For an event of task i that is due, W += C y A^-1[:, i] x'. A mistake costs O(tasks x non-zeros), and where A is learned
O(tasks^2) more, or O(tasks^3) for an exponential.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.bundle import Bundle, hold, opened, packed
from weft.compiled.jit import Handle, compiled, helper_no_alloc, inlined_only
from weft.learner import Kernels
from weft.learners.relations.relation_steps import COVARIANCE, FIXED, VONNEUMANN, move_gram, relation_step
from weft.maths.losses import HINGE, loss_value
from weft.storage.batch import Batch, learn_single, predict_single, record
from weft.storage.own import OwnWeights, move_task, score, score_batch, score_rows, score_task
from weft.storage.pairs import Pairs, dense, slot_space
from weft.storage.state import Plan

MISTAKE, MARGIN = range(2)
CONDITIONS = ("mistake", "margin")

TASKS, FEATURES = range(2)
"""Positions in `counts`: tasks, and features up to the last one that occurred."""


class Hyper(NamedTuple):
    """The parameters as compiled code takes them."""

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
    events: Floats  # labelled ones, an integer
    order: Ints  # the position of a task in its graph; follows from the parameters, as A^-1 then does


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
    return Plan(axes, always_dense=True, counts={"counts": ("task", "feature")}, counters={"events": (0,)})


def blank(tasks: int, kind: int = FIXED) -> Related:
    """Tasks that are declared are independent: A = I."""
    square, none = np.zeros((tasks, tasks)), np.zeros((0, 0))
    return Related(
        pairs=dense(0, 1),
        weights=np.zeros(0),
        inverse=np.eye(tasks),
        logarithm=square if kind == VONNEUMANN else none,
        gram=none.copy() if kind == FIXED else square.copy(),
        sums=np.zeros(tasks if kind == COVARIANCE else 0),
        counts=np.array([tasks, 0]),
        events=np.zeros(1),
        order=np.zeros(0, np.int64),
    )


def blank_on_graph(inverse: Floats, order: Ints) -> Related:
    """A^-1 is given; slot i is task order[i] of the graph."""
    here = np.ascontiguousarray(inverse[np.ix_(order, order)])
    return blank(0)._replace(inverse=here, counts=np.array([len(order), 0]), order=order)


class Work(NamedTuple):
    """All that a call of `learn` works on; the scratch has an entry per task."""

    hyper: Hyper
    state: Related
    own: Bundle[OwnWeights]
    batch: Batch
    a: Floats  # C y A^-1[:, i], the steps of all tasks
    s: Floats  # W x


@compiled
def predict(hyper: Hyper, state: Related, batch: Batch, scores: Floats) -> None:
    score_batch(state.pairs, state.weights, batch, False, scores)


@compiled
def learn(hyper: Hyper, state: Related, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    pairs, W, inverse, logarithm, gram, sums, counts, events, _ = state
    parts, space = OwnWeights(pairs, W, False, batch, slot_space(pairs, batch)), np.empty((2, len(inverse)))
    own, task, label, rounds = packed(parts), batch.task, batch.label, batch.rounds
    work = packed(
        Work(hyper, state, packed(parts), batch, space[0], space[1])
    )  # `own` stays in registers if no call is given it
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        _admit(task, lo, hi, inverse, counts)
        if hi - lo > 1:  # all of a round is scored before any of it is learned
            score_rows(own, lo, hi, scores)
        for i in range(lo, hi):
            s, n2 = score(own, i)
            if hi - lo == 1:
                scores[i] = s
            y = label[i]
            if np.isnan(y):
                continue
            due = n2 > 0.0 and (y * s <= 0.0 if hyper.condition == MISTAKE else y * s < 1.0)
            record(trace, i, loss_value(HINGE, s, y, 0.0), hyper.C if due else 0.0, n2, hyper.C)
            events[0] += 1.0
            counts[FEATURES] = max(counts[FEATURES], _features_up_to(own, i))
            if due:
                _move_all(work, i, n2)
                if hyper.kind != FIXED and events[0] > hyper.warmup:
                    N, d = counts[TASKS], counts[FEATURES]
                    relation_step(hyper.kind, hyper.rate, inverse, logarithm, gram, sums, N, d)
    hold(parts)
    hold(space)
    return len(rounds) - 1


@inlined_only
def _admit(task: Ints, lo: int, hi: int, inverse: Floats, counts: Ints) -> None:
    """Newcomers of a round are tied to nobody."""
    for i in range(lo, hi):
        for k in range(counts[TASKS], task[i] + 1):
            inverse[k, k] = 1.0
            counts[TASKS] += 1


@inlined_only
def _features_up_to(own: Bundle[OwnWeights], i: int) -> int:
    """One more than the last feature of an example, 0 if it has none."""
    batch = opened(own).batch
    begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    return batch.indices[end - 1] + 1 if end > begin else 0


@helper_no_alloc
def _move_all(work: Bundle[Work], i: int, n2: float) -> None:
    """W += C y A^-1[:, task] x', and G = W W' with it."""
    hyper, state, own, batch, a, s = opened(work)
    N, j, weights = state.counts[TASKS], batch.task[i], opened(own)
    for k in range(N):
        a[k] = hyper.C * batch.label[i] * state.inverse[k, j]
        if hyper.kind != FIXED:
            s[k] = score_task(weights, k, i)[0]
    for k in range(N):
        if a[k] != 0.0:
            move_task(weights, k, i, a[k])
    if hyper.kind != FIXED:
        move_gram(state.gram, N, a, s, n2)
    if hyper.kind == COVARIANCE:
        total = 0.0
        for e in range(batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]):
            total += batch.values[e]
        for k in range(N):
            state.sums[k] += a[k] * total


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    return predict_single(predict, handle, task, count)


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    return learn_single(learn, handle, task, label, count)


KERNELS = Kernels(predict, learn, predict_one, learn_one)
