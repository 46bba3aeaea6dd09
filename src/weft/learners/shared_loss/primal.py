"""The shared-loss skeleton over weights (Dekel, Long and Singer 2007, Fig. 1).

The table of weights is feature-major: when all tasks of a round see the same row, as the labels of one document do,
the weights of one feature lie side by side and a round costs O(tasks x non-zeros) with no jumps.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import Handle, compiled, helper
from weft.learners.own_parts import weight_matrix
from weft.learners.shared_loss.shared_rows import add_shared, dot_shared
from weft.maths.losses import UNICLASS, direction, loss_value
from weft.maths.rounds import first_aggressiveness, step_weights, widest_round
from weft.storage.batch import Batch, set_single, shares_row, squared_norm, status
from weft.storage.pairs import (
    HASHED,
    TASK_STRIDE,
    Pairs,
    add_hashed,
    add_table,
    dense,
    dot_hashed,
    dot_rows,
    dot_table,
    find_row,
    fits,
    slot_space,
)
from weft.storage.state import Plan

if TYPE_CHECKING:
    from weft.learners.shared_loss.learner import Hyper

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


@helper
def _distance(weights: Floats, width: int, task: int, indices: Ints, values: Floats, begin: int, end: int) -> float:
    """|z - w|, the score of a task that predicts the point z."""
    base, e, total = task * width, begin, 0.0
    for f in range(width):
        gap = -weights[base + f]
        if e < end and indices[e] == f:
            gap += values[e]
            e += 1
        total += gap * gap
    return math.sqrt(total)


@helper
def _approach(
    weights: Floats, width: int, task: int, indices: Ints, values: Floats, begin: int, end: int, share: float
) -> None:
    """w += share (z - w): the step tau along (z - w)/|z - w|, with share = tau/|z - w|."""
    base, e = task * width, begin
    for f in range(width):
        gap = -weights[base + f]
        if e < end and indices[e] == f:
            gap += values[e]
            e += 1
        weights[base + f] += share * gap


@compiled
def predict(hyper: "Hyper", state: Weights, batch: Batch, scores: Floats) -> None:
    task, _, row, indptr, indices, values, rounds = batch
    if hyper.loss != UNICLASS:
        for t in range(len(rounds) - 1):
            if shares_row(batch, rounds[t], rounds[t + 1]) and state.pairs.layout[HASHED] == 0:
                dot_shared(state.pairs, state.weights, batch, rounds[t], rounds[t + 1], scores)
            else:
                dot_rows(state.pairs, state.weights, False, batch, rounds[t], rounds[t + 1], scores)
        return
    width = state.pairs.layout[TASK_STRIDE]
    for i in range(task.shape[0]):
        begin, end = indptr[row[i]], indptr[row[i] + 1]
        scores[i] = _distance(state.weights, width, task[i], indices, values, begin, end)


@compiled
def learn(hyper: "Hyper", state: Weights, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    pairs, W, scalars = state
    layout, keys, table = pairs
    task, label, row, indptr, indices, values, rounds = batch
    slots, hashed, width = slot_space(pairs, batch), layout[HASHED] != 0, layout[TASK_STRIDE]
    k = widest_round(rounds)
    active, steps = np.empty(k, np.int64), np.zeros(k)
    l, n2, tau = np.empty(k), np.empty(k), np.empty(k)
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if hashed and not fits(pairs, batch, lo, hi):
            return t
        # scores and losses of the round
        shared = not hashed and hyper.loss != UNICLASS and shares_row(batch, lo, hi)
        if shared:
            dot_shared(pairs, W, batch, lo, hi, scores)
        square, k = squared_norm(values, indptr[row[lo]], indptr[row[lo] + 1]) if shared else 1.0, 0
        for i in range(lo, hi):
            begin, end = indptr[row[i]], indptr[row[i] + 1]
            if hyper.loss == UNICLASS:
                scores[i] = _distance(W, width, task[i], indices, values, begin, end)
            elif hashed:
                find_row(keys, table, W, task[i], indices, begin, end, slots)
                scores[i], square = dot_hashed(W, values, begin, end, slots)
            elif not shared:
                scores[i], square = dot_table(layout, W, task[i], indices, values, begin, end)
            if not np.isnan(label[i]):
                active[k], n2[k] = i, square
                l[k] = loss_value(hyper.loss, scores[i], label[i], hyper.epsilon)
                k += 1
        if k == 0:
            continue
        # the size of every step
        if scalars[0] == 0.0:
            scalars[0] = first_aggressiveness(hyper.norm, n2[:k], hyper.R)
        C = scalars[0]
        step_weights(hyper.rule, hyper.norm, l[:k], n2[:k], C, hyper.R, tau[:k])
        if trace.shape[0]:
            for a in range(k):
                i = active[a]
                trace[i, 0], trace[i, 1], trace[i, 2], trace[i, 3] = l[a], tau[a], n2[a], C
        # w_j += tau_j v_j
        if shared:
            steps[: hi - lo] = 0.0
        for a in range(k):
            if tau[a] <= 0.0 or n2[a] <= 0.0:
                continue
            scalars[1] = max(scalars[1], n2[a])
            i = active[a]
            begin, end = indptr[row[i]], indptr[row[i] + 1]
            step = tau[a] * direction(hyper.loss, scores[i], label[i])
            if hyper.loss == UNICLASS:
                _approach(W, width, task[i], indices, values, begin, end, step / scores[i])
            elif shared:
                steps[i - lo] = step
            elif hashed:
                if hi - lo > 1:
                    find_row(keys, table, W, task[i], indices, begin, end, slots)
                add_hashed(layout, keys, table, W, task[i], indices, values, begin, end, step, slots)
            else:
                add_table(layout, W, task[i], indices, values, begin, end, step)
        if shared:
            add_shared(pairs, W, batch, lo, hi, steps)
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
