"""The shared-loss skeleton over weights (Dekel, Long and Singer 2007, Fig. 1).

The table of weights is feature-major: when all tasks of a round see the same row, as the labels of one document do,
the weights of one feature lie side by side and a round costs O(tasks x non-zeros) with no jumps.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weft.batch import Batch, Floats, set_single, squared_norm
from weft.geometry.losses import UNICLASS, direction, loss_value
from weft.geometry.rounds import first_aggressiveness, step_weights, widest_round
from weft.jit import Handle, kernel
from weft.learners.own_parts import weight_matrix
from weft.pairs import FEATURE_STRIDE, TASK_STRIDE, Pairs, add, dense, dot_round, fits, slot_space
from weft.state import Plan

if TYPE_CHECKING:
    from weft.learners.shared_loss import Hyper

__all__ = ["PLAN", "POINT_PLAN", "blank", "learn", "learn_one", "predict", "predict_one", "weight_matrix"]

_AXES: dict[str, tuple[str | int, ...]] = {"weights": ("pair",), "scalars": (2,)}
PLAN = Plan(axes=_AXES, task_major=False)
POINT_PLAN = Plan(axes=_AXES, task_major=True, always_dense=True)  # a point has all coordinates: no hashed pairs


class Weights(NamedTuple):
    """One weight per pair; scalars = (C once known, largest squared norm of a row that moved its task)."""

    pairs: Pairs
    weights: Floats
    scalars: Floats


def blank(C: float, plan: Plan) -> Weights:
    """No task, no feature."""
    return Weights(dense(0, 1) if plan.task_major else dense(1, 0), np.zeros(0), np.array([C, 0.0]))


@kernel
def _distance(state: Weights, task: int, batch: Batch, row: int) -> float:
    """|z - w|, the score of a task that predicts the point z."""
    width = state.pairs.layout[TASK_STRIDE]
    base, e, end = task * width, batch.indptr[row], batch.indptr[row + 1]
    total = 0.0
    for f in range(width):
        gap = -state.weights[base + f]
        if e < end and batch.indices[e] == f:
            gap += batch.values[e]
            e += 1
        total += gap * gap
    return np.sqrt(total)


@kernel
def _approach(state: Weights, task: int, batch: Batch, row: int, share: float) -> None:
    """w += share (z - w): the step tau along (z - w)/|z - w|, with share = tau/|z - w|."""
    width = state.pairs.layout[TASK_STRIDE]
    base, e, end = task * width, batch.indptr[row], batch.indptr[row + 1]
    for f in range(width):
        gap = -state.weights[base + f]
        if e < end and batch.indices[e] == f:
            gap += batch.values[e]
            e += 1
        state.weights[base + f] += share * gap


@kernel
def _score_round(hyper: "Hyper", state: Weights, batch: Batch, lo: int, hi: int, scores: Floats, slots: Floats) -> None:
    if hyper.loss == UNICLASS:
        for i in range(lo, hi):
            scores[i] = _distance(state, batch.task[i], batch, batch.row[i])
    else:
        dot_round(state.pairs, state.weights, batch, lo, hi, scores, slots)


@kernel
def predict(hyper: "Hyper", state: Weights, batch: Batch, scores: Floats) -> None:
    slots = slot_space(state.pairs, batch)
    for t in range(batch.rounds.shape[0] - 1):
        _score_round(hyper, state, batch, batch.rounds[t], batch.rounds[t + 1], scores, slots)


@kernel
def learn(hyper: "Hyper", state: Weights, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    k = widest_round(batch.rounds)
    active, l, n2, tau = np.empty(k, np.int64), np.empty(k), np.empty(k), np.empty(k)
    slots = slot_space(state.pairs, batch)
    for t in range(start, batch.rounds.shape[0] - 1):
        lo, hi = batch.rounds[t], batch.rounds[t + 1]
        if not fits(state.pairs, batch, lo, hi):
            return t
        _score_round(hyper, state, batch, lo, hi, scores, slots)
        k = 0
        for i in range(lo, hi):
            if np.isnan(batch.label[i]):
                continue
            active[k] = i
            l[k] = loss_value(hyper.loss, scores[i], batch.label[i], hyper.epsilon)
            if hyper.loss == UNICLASS:
                n2[k] = 1.0
            elif k > 0 and batch.row[i] == batch.row[active[k - 1]]:
                n2[k] = n2[k - 1]
            else:
                n2[k] = squared_norm(batch, batch.row[i])
            k += 1
        if k == 0:
            continue
        if state.scalars[0] == 0.0:
            state.scalars[0] = first_aggressiveness(hyper.norm, n2[:k], hyper.R)
        C = state.scalars[0]
        step_weights(hyper.rule, hyper.norm, l[:k], n2[:k], C, hyper.R, tau[:k])
        for a in range(k):
            i = active[a]
            if trace.shape[0]:
                trace[i, 0], trace[i, 1], trace[i, 2], trace[i, 3] = l[a], tau[a], n2[a], C
            if tau[a] <= 0.0 or n2[a] <= 0.0:
                continue
            state.scalars[1] = max(state.scalars[1], n2[a])
            j, r = batch.task[i], batch.row[i]
            if hyper.loss == UNICLASS:
                _approach(state, j, batch, r, tau[a] / scores[i])
            else:
                d = direction(hyper.loss, scores[i], batch.label[i])
                add(state.pairs, state.weights, j, batch, r, tau[a] * d, slots, hi - lo == 1)
    return batch.rounds.shape[0] - 1


@kernel
def predict_one(handle: Handle, task: int, count: int) -> int:
    hyper, state, batch, scores, _ = handle.parts
    bad = set_single(batch, task, 0.0, count)
    if bad < 0:
        predict(hyper, state, batch, scores)
    return bad


@kernel
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    hyper, state, batch, scores, trace = handle.parts
    bad = set_single(batch, task, label, count)
    if bad >= 0:
        return bad
    return -1 if learn(hyper, state, batch, batch.rounds[0], scores, trace) == 1 else -2
