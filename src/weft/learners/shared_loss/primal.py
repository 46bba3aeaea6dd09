"""The shared-loss learners over weights (Dekel, Long and Singer 2007, Fig. 1): w_j += tau_j v_j.

The table of weights is feature-major: when all tasks of a round see the same row, as the labels of one document do,
the weights of one feature lie side by side and a round costs O(tasks x non-zeros) with no jumps.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.bundle import Bundle, hold, opened, packed
from weft.compiled.jit import Handle, compiled, inlined_only
from weft.learners.shared_loss.points import approach, distance
from weft.learners.shared_loss.rounds import Hyper, Work, choose_tau, space_for, step_of, suffer
from weft.learners.shared_loss.shared_rows import add_shared, dot_shared
from weft.maths.losses import UNICLASS
from weft.storage.batch import (
    Batch,
    learn_single,
    predict_single,
    shares_row,
    squared_norm,
    widest_round,
)
from weft.storage.own import OwnWeights, has_room, move, move_task, score, score_rows
from weft.storage.pairs import HASHED, Pairs, dense, slot_space
from weft.storage.state import Plan

_AXES: dict[str, tuple[str | int, ...]] = {"weights": ("pair",), "scalars": (2,)}
PLAN = Plan(axes=_AXES, task_major=False)
POINT_PLAN = Plan(axes=_AXES, task_major=True, always_dense=True)  # a point has all coordinates: no hashed pairs


class Weights(NamedTuple):
    """One weight per pair, and the `scalars` of `rounds`."""

    pairs: Pairs
    weights: Floats
    scalars: Floats


def blank(C: float, plan: Plan) -> Weights:
    """No task, no feature."""
    return Weights(dense(0, 1) if plan.task_major else dense(1, 0), np.zeros(0), np.array([C, 0.0]))


@compiled
def predict(hyper: Hyper, state: Weights, batch: Batch, scores: Floats) -> None:
    pairs, rounds = state.pairs, batch.rounds
    parts = OwnWeights(pairs, state.weights, False, batch, slot_space(pairs, batch))
    own = packed(parts)
    for t in range(len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if hyper.loss == UNICLASS:
            for i in range(lo, hi):
                scores[i] = distance(own, i)
        elif _one_row(own, lo, hi):
            dot_shared(state.pairs, state.weights, batch, lo, hi, scores)
        else:
            score_rows(own, lo, hi, scores)
    hold(parts)


@compiled
def learn(hyper: Hyper, state: Weights, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    pairs, W, scalars = state
    most, rounds = widest_round(batch.rounds), batch.rounds
    parts = OwnWeights(pairs, W, False, batch, slot_space(pairs, batch))
    active, steps = space_for(most), np.empty(most)
    _, l, n2, tau = active
    own, work = packed(parts), packed(Work(hyper, scalars, batch, scores, trace, active))
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if not has_room(own, lo, hi):
            return t
        one_row = hyper.loss != UNICLASS and _one_row(own, lo, hi)
        if one_row:
            dot_shared(pairs, W, batch, lo, hi, scores)
            k = _suffer_shared(work, lo, hi)
        else:
            k = _suffer_round(work, own, lo, hi)
        if k > 0:
            choose_tau(hyper, scalars, l[:k], n2[:k], tau[:k])
            if one_row:
                _steps_by_example(work, lo, hi, k, steps)
                add_shared(pairs, W, batch, lo, hi, steps)
            else:
                _move_round(work, own, lo, hi, k)
    hold(parts)
    hold(active)
    return len(rounds) - 1


@inlined_only
def _one_row(own: Bundle[OwnWeights], lo: int, hi: int) -> bool:
    """Do all examples of a round show the same row, over a table?"""
    pairs, _, _, batch, _ = opened(own)
    return bool(hi - lo > 1 and pairs.layout[HASHED] == 0 and shares_row(batch, lo, hi))


@inlined_only
def _suffer_round(work: Bundle[Work], own: Bundle[OwnWeights], lo: int, hi: int) -> int:
    """The scores of a round, and the losses of its active tasks; returns their number."""
    parts, k = opened(work), lo - lo  # a bare 0 would compile helpers once more
    for i in range(lo, hi):
        if parts.hyper.loss == UNICLASS:
            parts.scores[i], n2 = distance(own, i), 1.0
        else:
            parts.scores[i], n2 = score(own, i)
        k = suffer(work, i, n2, k)
    return k


@inlined_only
def _suffer_shared(work: Bundle[Work], lo: int, hi: int) -> int:
    """The losses of a round whose examples all show the same row, and are scored."""
    batch, k = opened(work).batch, lo - lo
    n2 = squared_norm(batch.values, batch.indptr[batch.row[lo]], batch.indptr[batch.row[lo] + 1])
    for i in range(lo, hi):
        k = suffer(work, i, n2, k)
    return k


@inlined_only
def _move_round(work: Bundle[Work], own: Bundle[OwnWeights], lo: int, hi: int, k: int) -> None:
    """w_j += tau_j v_j for the k active tasks of a round."""
    parts = opened(work)
    for a in range(k):
        i, step = parts.active.example[a], step_of(work, a)
        if step == 0.0:
            continue
        if parts.hyper.loss == UNICLASS:
            approach(own, i, step / parts.scores[i])
        elif hi - lo == 1:
            move(own, i, step)
        else:
            move_task(opened(own), parts.batch.task[i], i, step)


@inlined_only
def _steps_by_example(work: Bundle[Work], lo: int, hi: int, k: int, steps: Floats) -> None:
    """The steps of all examples of a round, active or not."""
    example = opened(work).active.example
    for i in range(hi - lo):
        steps[i] = 0.0
    for a in range(k):
        steps[example[a] - lo] = step_of(work, a)


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    return predict_single(predict, handle, task, count)


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    return learn_single(learn, handle, task, label, count)
