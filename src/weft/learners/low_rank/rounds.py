r"""Algorithms 1 and 2 of Yang, Zhao and Gao (2017), `romco-nucl` and `romco-logd`, and their state.

The rounds are written once, in compiled code (`rounds`). Only the step on U, a proximal step on its singular values,
has two implementations: compiled code for up to SMALL tasks (`compiled_steps`), and LAPACK, called from Python, for
more (`lapack_steps`): on the whole of U where that is cheap for the rows that came, else on its pieces. Which one it is
depends on the round and on the state alone.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import compiled, inlined_only
from weft.learner import interpreted
from weft.learners.low_rank import lapack_steps
from weft.learners.low_rank.compiled_steps import add_scaled, few_dots, few_rows_dots, fold, shrink
from weft.learners.low_rank.eigen import Desk, new_desk
from weft.learners.low_rank.personal import Personal, lengthen, personal_score, shorten
from weft.learners.low_rank.pieces import (
    FEATURES,
    NONZEROS,
    NUMBERS,
    ROOM,
    ROWS,
    TASKS,
    LowRank,
    own_score,
    reach,
)
from weft.learners.low_rank.state import GEOMETRIC, LENGTH_SUM, NUCLEAR, SQRT, Hyper, Model, Parts, T
from weft.learners.low_rank.vector_rows import WIDE
from weft.maths.proximal import log_values, soft_values
from weft.storage.batch import Batch, squared_norm, widest_round
from weft.storage.sparse_rows import Row

SMALL = WIDE
"""Up to this many tasks the step on U is compiled code."""
WORTH = 1 << 19
"""A row added to the pieces of U costs about as much as this many of the d m^2 numbers of a whole step."""

DONE, NO_ROOM, COMPILED, WHOLE, PIECES = range(5)
"""How a step on U is taken: in compiled code, by LAPACK on the whole of U, or by LAPACK on its pieces; and why `rounds`
returned, if not for one of the latter: no more rounds, or no room for the next one."""


class Buffers(NamedTuple):
    """Working space that Python sees."""

    space: Floats  # a number per feature, 0 between uses
    steps: Floats  # per example of a round: y if it has a loss, else 0


class Work(NamedTuple):
    """Working space for a round."""

    space: Floats
    steps: Floats
    c: Floats  # per example U'x, a row of WIDE numbers; no rows if they are not needed
    desk: Desk


class Seen(NamedTuple):
    """Labels and losses of a round; non-zeros of rows with a loss, and how many features and tasks these need."""

    labelled: int
    active: int
    numbers: int
    features: int
    tasks: int


class Limits(NamedTuple):
    """SMALL and WORTH."""

    small: int
    worth: int


# --- the rule ---


@compiled
def rounds(
    hyper: Hyper,
    model: Model,
    batch: Batch,
    start: int,
    scores: Floats,
    trace: Floats,
    buffers: Buffers,
    limits: Limits,
) -> tuple[int, int]:
    """Algorithms 1 and 2 from round `start` on; returns a round, and one of the codes above.

    With WHOLE or PIECES, only the step on U is left to do in that round. A round for which U is folded keeps the scores
    that it has: `predict` gives these, to the bit.
    """
    U, V, scalars = model
    bounds = batch.rounds
    work = Work(buffers.space, buffers.steps, np.empty((len(buffers.steps), WIDE)), new_desk())
    for t in range(start, len(bounds) - 1):
        lo, hi = bounds[t], bounds[t + 1]
        seen = look(model, batch, lo, hi, scores, work)  # lines 3 to 8: scores, losses and g
        moves = seen.active > 0 or (seen.labelled > 0 and hyper.always_prox)
        way = _way(U, seen, limits) if moves else DONE
        if way == NO_ROOM:
            return t, NO_ROOM
        penalty = hyper.lam1 * scalars[NUCLEAR] + hyper.lam2 * scalars[LENGTH_SUM]
        _record(batch, lo, hi, scores, work.steps, moves, penalty, trace)
        if seen.labelled > 0:
            scalars[T] += 1.0
        if moves:  # lines 10 to 13
            eta1, eta2, rho, tau = scaled(hyper, scalars[T])
            scalars[LENGTH_SUM] = _step_on_V(V, batch, lo, hi, work.steps, eta2, tau)
            reach(U, seen.features, seen.tasks)
            if way != COMPILED:
                return t, way
            _add_rows(U, batch, lo, hi, eta1, seen, work)
            scalars[NUCLEAR] = shrink(U, hyper.logd, rho, work.desk)
    return len(bounds) - 1, DONE


def _learn(hyper: Hyper, state: Parts, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    model, t, stop = state.model, start, len(batch.rounds) - 1
    buffers, limits = Buffers(state.space, _steps_for(batch.rounds)), Limits(SMALL, WORTH)
    while t < stop:
        t, way = rounds(hyper, model, batch, t, scores, trace, buffers, limits)
        if way in (DONE, NO_ROOM):
            break
        _lapack_step(hyper, model, batch, t, buffers.steps, way)
        t += 1
    return t


@compiled
def _steps_for(rounds: Ints) -> Floats:
    """Room for the steps of any round."""
    return np.zeros(widest_round(rounds))


def _predict(hyper: Hyper, state: Parts, batch: Batch, scores: Floats) -> None:
    _score_all(state.model, batch, scores)


@compiled
def _score_all(model: Model, batch: Batch, scores: Floats) -> None:
    space = np.zeros(len(model.U.B))  # of its own: several threads may predict at once
    work = Work(space, np.empty(len(scores)), np.empty((0, WIDE)), new_desk())
    look(model, batch, 0, len(scores), scores, work)


KERNELS = interpreted(_predict, _learn)


@compiled
def scaled(hyper: Hyper, t: float) -> tuple[float, float, float, float]:
    """eta1, eta2, rho and tau in round t = 1, 2, ..., as the schedule has them."""
    factor = 1.0
    if hyper.schedule == SQRT:
        factor = 1.0 / np.sqrt(t)
    elif hyper.schedule == GEOMETRIC:
        factor = math.pow(hyper.kappa, t - 1.0)
    step = 1.0 if hyper.rho_only else factor
    return step * hyper.eta1, step * hyper.eta2, factor * hyper.rho, step * hyper.tau


@inlined_only
def look(model: Model, batch: Batch, lo: int, hi: int, scores: Floats, work: Work) -> Seen:
    """Score a round; `steps` become y where there is a loss, else 0, and rows of `c` U'x if they are long enough."""
    U, V = model.U, model.V
    labelled, active, numbers, features, tasks = 0, 0, 0, 0, 0
    for i in range(lo, hi):
        y, k, begin, end = batch.label[i], batch.task[i], batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
        x = Row(batch.indices, batch.values, begin, end)
        if len(work.c) and U.counts[TASKS] <= WIDE:
            few_dots(U, x, work.space, work.desk, work.c[i - lo])
            s = work.c[i - lo, k] if k < U.counts[TASKS] else 0.0
        else:
            s = own_score(U, k, x, work.space)
        scores[i] = s + personal_score(V, k, x)
        work.steps[i - lo] = 0.0
        if not np.isnan(y):
            labelled += 1
            if y * scores[i] < 1.0:
                work.steps[i - lo] = y
                active += 1
                if end > begin:
                    numbers += end - begin
                    features = max(features, x.indices[end - 1] + 1)
                    tasks = max(tasks, k + 1)
    return Seen(labelled, active, numbers, features, tasks)


@inlined_only
def _way(U: LowRank, seen: Seen, limits: Limits) -> int:
    """How the step on U is taken after this round, or NO_ROOM if X has to grow first."""
    rows, numbers, m = U.used[ROWS], U.used[NUMBERS], max(U.counts[TASKS], seen.tasks)
    if m <= limits.small and seen.active <= ROOM and seen.numbers <= NONZEROS:
        if _is_full(U, seen):
            rows, numbers = 0, 0
        is_room = rows + seen.active <= len(U.C) and numbers + seen.numbers <= len(U.values)
        return COMPILED if is_room else NO_ROOM
    if max(U.counts[FEATURES], seen.features) * m * m <= limits.worth * (1 + seen.active):
        return WHOLE
    # As much room as these rows may need, or all that there can ever be.
    is_room = len(U.C) == ROOM or len(U.C) >= rows + seen.active
    is_room = is_room and (len(U.values) == NONZEROS or len(U.values) >= numbers + seen.numbers)
    return PIECES if is_room else NO_ROOM


@inlined_only
def _is_full(U: LowRank, seen: Seen) -> bool:
    """Has U to be folded before the rows of a round are added?"""
    return bool(U.used[ROWS] + seen.active > ROOM or U.used[NUMBERS] + seen.numbers > NONZEROS)


@inlined_only
def _record(
    batch: Batch, lo: int, hi: int, scores: Floats, steps: Floats, moves: bool, penalty: float, trace: Floats
) -> None:
    """What the regret bound needs of a round, if it is asked for."""
    if trace.shape[0] == 0:
        return
    for i in range(lo, hi):
        if not np.isnan(batch.label[i]):
            begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
            trace[i, 0] = max(0.0, 1.0 - batch.label[i] * scores[i])
            trace[i, 1] = 1.0 if moves else 0.0
            trace[i, 2] = squared_norm(batch.values, begin, end) if steps[i - lo] != 0.0 else 0.0
            trace[i, 3] = penalty


@inlined_only
def _step_on_V(V: Personal, batch: Batch, lo: int, hi: int, steps: Floats, eta: float, tau: float) -> float:
    """V - eta2 g, and Eq. 18 for all columns; returns the sum of their lengths."""
    for i in range(lo, hi):
        if steps[i - lo] != 0.0:
            begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
            x, n2 = Row(batch.indices, batch.values, begin, end), squared_norm(batch.values, begin, end)
            lengthen(V, batch.task[i], x, eta * steps[i - lo], n2)
    return shorten(V, tau)


# --- U - eta1 g: the rows of a round, in compiled code and for LAPACK ---


@inlined_only
def _add_rows(U: LowRank, batch: Batch, lo: int, hi: int, eta: float, seen: Seen, work: Work) -> None:
    """U - eta1 g in compiled code; c is U'x before the round."""
    if _is_full(U, seen):
        fold(U, work.desk)
    before = U.used[ROWS]
    for i in range(lo, hi):
        if work.steps[i - lo] != 0.0:
            begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
            x = Row(batch.indices, batch.values, begin, end)
            few_rows_dots(U, before, x, work.space, work.desk, work.c[i - lo])
            add_scaled(U, batch.task[i], x, eta * work.steps[i - lo], work.c[i - lo])


def _lapack_step(hyper: Hyper, model: Model, batch: Batch, t: int, steps: Floats, way: int) -> None:
    """U <- prox(U - eta1 g) by LAPACK, for many tasks."""
    U, lo, hi = model.U, int(batch.rounds[t]), int(batch.rounds[t + 1])
    eta, _, rho, _ = scaled(hyper, float(model.scalars[T]))
    shrunk = log_values if hyper.logd else soft_values
    if way == WHOLE:
        lapack_steps.fold(U)
        _add_to_whole(U.B, batch, lo, hi, steps, eta)
        spectrum = lapack_steps.settle(U, lambda s: shrunk(s, rho))
    else:
        for i in (lo + np.flatnonzero(steps[: hi - lo])).tolist():
            begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
            a = np.zeros(len(U.G))
            a[batch.task[i]] = eta * steps[i - lo]
            lapack_steps.add(U, batch.indices[begin:end], batch.values[begin:end], a)
        spectrum = lapack_steps.shrink(U, lambda s: shrunk(s, rho))
    model.scalars[NUCLEAR] = spectrum.values[: U.counts[TASKS]].sum()


@compiled
def _add_to_whole(B: Floats, batch: Batch, lo: int, hi: int, steps: Floats, eta: float) -> None:
    """U - eta1 g, where U is B."""
    task, _, row, indptr, indices, values, _, _ = batch
    for i in range(lo, hi):
        if steps[i - lo] != 0.0:
            for e in range(indptr[row[i]], indptr[row[i] + 1]):
                B[indices[e], task[i]] += eta * steps[i - lo] * values[e]
