"""Rounds of the adaptive smoothed learners (Murugesan et al. 2016, Algorithm 2).

A round costs O(|A|^2 non-zeros) for |A| present tasks. The update of task k reads and writes w_k and row p_k alone, so
that tasks can be updated one after the other and still all learn from the same W and P.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.bundle import Bundle, hold, opened, packed
from weft.compiled.jit import Handle, compiled, helper, helper_no_alloc
from weft.learners.smoothed.attention import (
    exponential_step,
    normalise,
    read_near,
    threshold_step,
    widen,
    widen_near,
    write_near,
)
from weft.learners.smoothed.state import ACTIVE, DUE, EPOCH, EXPONENTIAL, FLAT, MISTAKE, MOVED, ROUNDS, Hyper, Smoothed
from weft.storage.batch import Batch, learn_single, predict_single, shares_row, widest_round
from weft.storage.own import OwnWeights, move_task, score_batch, score_rows, score_task
from weft.storage.pairs import slot_space
from weft.storage.sparse_rows import row_of, square_in_order

LONG_EPOCH = 64
"""Epochs shorter than this say nothing about whether attention can move."""
SETTLE = 4096.0
"""Updates of a task after which its row of P is brought to the sum 1 again."""


class Present(NamedTuple):
    """The present tasks A of a round, and what task k, whose turn it is, makes of each; scratch of the widest round."""

    example: Ints  # the number of the task's example in the batch
    task: Ints
    margins: Floats  # y_j <w_k, x_j>
    l: Floats  # l_kj
    p: Floats  # p_kj
    space: Floats


class Work(NamedTuple):
    """All that a call of `learn` works on."""

    hyper: Hyper
    state: Smoothed
    own: Bundle[OwnWeights]
    batch: Batch
    scores: Floats
    trace: Floats
    present: Present


@compiled
def alpha_and_C(hyper: Hyper, progress: Floats) -> tuple[float, float]:
    """alpha and C of the next round (Corollary 2)."""
    T = progress[EPOCH] if math.isnan(hyper.T) else hyper.T
    root = math.sqrt(T)
    alpha = root / (1.0 + root) if math.isnan(hyper.alpha) else hyper.alpha
    return alpha, (1.0 + root) / T if math.isnan(hyper.C) else hyper.C


@compiled
def predict(hyper: Hyper, state: Smoothed, batch: Batch, scores: Floats) -> None:
    score_batch(state.pairs, state.weights, batch, False, scores)


@helper
def _space(most: int) -> Present:
    ints, floats = np.empty((2, most), np.int64), np.empty((4, most))
    return Present(ints[0], ints[1], floats[0], floats[1], floats[2], floats[3])


@compiled
def learn(hyper: Hyper, state: Smoothed, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    pairs, rounds, present = state.pairs, batch.rounds, _space(widest_round(batch.rounds))
    parts = OwnWeights(pairs, state.weights, False, batch, slot_space(pairs, batch))
    work = packed(Work(hyper, state, packed(parts), batch, scores, trace, present))
    for t in range(start, len(rounds) - 1):
        _learn_round(work, rounds[t], rounds[t + 1])
    hold(parts)
    hold(present)
    return len(rounds) - 1


@helper_no_alloc
def _learn_round(work: Bundle[Work], lo: int, hi: int) -> None:
    """Algorithm 2: every present task that is due learns from its own example and from those of the others."""
    hyper, state, own, batch, scores, trace, present = opened(work)
    score_rows(own, lo, hi, scores)
    n = _find_present(work, lo, hi)
    if n == 0:
        return
    alpha, C = alpha_and_C(hyper, state.progress)
    one_row = shares_row(batch, lo, hi)
    for a in range(n):
        i = present.example[a]
        margin = batch.label[i] * scores[i]
        if trace.shape[0]:
            _record(work, i, margin, C, alpha)
        if _is_due(work, a, n, margin, one_row):
            _read_attention(work, present.task[a], n)
            _move_weights(work, a, n, alpha, C, one_row)
            _move_attention(work, present.task[a], n, alpha, C)
            if trace.shape[0]:
                trace[i, 1] = 1.0
    _end_round(hyper, state)


@helper_no_alloc
def _find_present(work: Bundle[Work], lo: int, hi: int) -> int:
    """List the labelled examples of a round; returns their number."""
    _, state, _, batch, _, _, present = opened(work)
    n = lo - lo  # a bare 0 would compile helpers once more
    for i in range(lo, hi):
        state.tasks[0] = max(state.tasks[0], batch.task[i] + 1)
        if not np.isnan(batch.label[i]):
            present.example[n], present.task[n] = i, batch.task[i]
            n += 1
    return n


@helper_no_alloc
def _is_due(work: Bundle[Work], a: int, n: int, margin: float, one_row: bool) -> bool:
    """Whether the a-th present task k learns; if so, y_j <w_k, x_j> and l_kj of all present j are known."""
    hyper, _, own, batch, scores, _, present = opened(work)
    if hyper.condition != ACTIVE and not (margin <= 0.0 if hyper.condition == MISTAKE else margin < 1.0):
        return False
    fails, weights = False, opened(own)
    for j in range(n):
        i, s = present.example[j], scores[present.example[a]]
        if j != a and not one_row:
            s = score_task(weights, present.task[a], i)[0]
        present.margins[j] = batch.label[i] * s
        present.l[j] = max(1.0 - present.margins[j], 0.0)
        fails = fails or present.margins[j] < 1.0
    return fails or hyper.condition != ACTIVE


@helper_no_alloc
def _move_weights(work: Bundle[Work], a: int, n: int, alpha: float, C: float, one_row: bool) -> None:
    """w_k += C sum_{j in A, l_kj > 0} eta_kj y_j x_j (Eq. 9), k being the a-th present task."""
    _, _, own, batch, _, _, present = opened(work)
    k, together, weights = present.task[a], 0.0, opened(own)
    for j in range(n):
        if present.margins[j] < 1.0:
            eta = (1.0 - alpha) * present.p[j] + (alpha if j == a else 0.0)
            step = C * eta * batch.label[present.example[j]]
            if one_row:
                together += step
            else:
                move_task(weights, k, present.example[j], step)
    if together != 0.0:
        move_task(weights, k, present.example[a], together)


@helper_no_alloc
def _read_attention(work: Bundle[Work], k: int, n: int) -> None:
    """p_kj of the present tasks j, after row k has been widened to the tasks there are now."""
    hyper, state, _, _, _, _, present = opened(work)
    N = state.tasks[0]
    if state.widths[k] != N:
        if hyper.near:
            widen_near(state.P, state.ids, k, state.widths[k], N)
        else:
            widen(state.P, k, state.widths[k], N, hyper.p_min)
        state.widths[k] = N
    if hyper.near:
        read_near(state.P, state.ids, k, present.task, n, N, present.p)
    else:
        for j in range(n):
            present.p[j] = state.P[k, present.task[j]]


@helper_no_alloc
def _move_attention(work: Bundle[Work], k: int, n: int, alpha: float, C: float) -> None:
    """The step of row p_k (Eq. 11, Sec. 3.2); attention moves in company only."""
    hyper, state, _, _, _, _, present = opened(work)
    N, moved = state.tasks[0], False
    if not math.isinf(hyper.lam) and n > 1:
        state.progress[DUE] += 1.0
        floor = min(hyper.p_min, 1.0 / N)
        if hyper.variant == EXPONENTIAL:
            kappa = 1.0 if math.isnan(hyper.lam) else C * (1.0 - alpha) / hyper.lam
            moved = exponential_step(present.p, present.l, n, kappa, floor, present.space)
        else:
            moved = threshold_step(present.p, present.l, n, hyper.lam, floor, present.space)
    if moved:
        state.progress[MOVED] += 1.0
        if hyper.near:
            write_near(state.P, state.ids, k, present.task, n, N, present.p, present.space)
        else:
            for j in range(n):
                state.P[k, present.task[j]] = present.p[j]
    state.updates[k] += 1.0
    if state.updates[k] % SETTLE == 0.0:
        normalise(state.P, k, state.P.shape[1] if hyper.near else N)


@helper_no_alloc
def _end_round(hyper: Hyper, state: Smoothed) -> None:
    """Count the round; at the end of an epoch check whether attention moved, and restart if that is wanted."""
    progress = state.progress
    progress[ROUNDS] += 1.0
    if progress[ROUNDS] + 1.0 < 2.0 * progress[EPOCH]:
        return
    if progress[EPOCH] >= LONG_EPOCH and progress[DUE] > 0.0 and progress[MOVED] == 0.0:
        progress[FLAT] = 1.0
    progress[EPOCH], progress[DUE], progress[MOVED] = 2.0 * progress[EPOCH], 0.0, 0.0
    if hyper.restart:
        state.weights[:] = 0.0
        state.widths[:] = 0


@helper_no_alloc
def _record(work: Bundle[Work], i: int, margin: float, C: float, alpha: float) -> None:
    """Note an example's loss, whether it moved its task (not yet), |x|^2, C and alpha."""
    parts = opened(work)
    trace, square = parts.trace, square_in_order(row_of(parts.batch, i))
    trace[i, 0], trace[i, 1], trace[i, 2], trace[i, 3], trace[i, 4] = max(1.0 - margin, 0.0), 0.0, square, C, alpha


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    return predict_single(predict, handle, task, count)


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    return learn_single(learn, handle, task, label, count)
