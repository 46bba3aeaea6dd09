"""The rounds of `romco-nucl` and `romco-logd`, Algorithms 1 and 2 of Yang, Zhao and Gao (2017), and their state.

Up to SMALL tasks all of it is compiled code, on the pieces of U (`gram_prox`). With more tasks LAPACK does the
work, called from Python: on the whole of U where that is cheap for the rows that came, else on its pieces. Which it is
depends on the round and on the state alone.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import compiled
from weft.learner import interpreted
from weft.learners.low_rank import gram_prox
from weft.learners.low_rank.gram_prox import FEATURES, NONZEROS, ROOM, TASKS, LowRank, own_score
from weft.learners.low_rank.personal import lengthen, personal_score, shorten
from weft.learners.low_rank.small_prox import Desk, add, desk, few_dots, few_rows_dots, fold, reach, shrink
from weft.learners.low_rank.wide import WIDE
from weft.maths.proximal import log_values, soft_values
from weft.storage.batch import Batch, squared_norm
from weft.storage.state import Plan

SCHEDULES = ("constant", "sqrt", "geometric")
T, NUCLEAR, LENGTHS = range(3)
"""Positions in `scalars`: labelled rounds, the sum of U's singular values, the sum of V's lengths."""

NOTHING = np.zeros((0, 0))
SMALL = WIDE
"""Up to so many tasks everything happens in compiled code."""
DONE, LARGE, NO_ROOM = range(3)
"""Why it came to an end: no more rounds, more tasks than that or a row that X can never hold, no room."""
WORTH = 1 << 19
"""A row taken into the pieces of U costs about as much as so many numbers of d m^2 in a whole step."""


def _check_rows(arrays: Any) -> None:
    """Rows of X begin one after the other, and none of them is empty."""
    begins, (rows, numbers) = arrays["begins"], arrays["used"].tolist()
    ends = np.append(begins[1:], numbers)
    if (rows == 0) != (numbers == 0) or (rows and begins[0] != 0) or np.any(ends <= begins):
        raise ValueError("the state's begins are not where rows can begin")


PLAN = Plan(
    axes={
        "B": ("feature", "task"),
        "S": ("task", "task"),
        "C": ("support", "task"),
        "G": ("task", "task"),
        "begins": ("support",),
        "indices": ("nonzero",),
        "values": ("nonzero",),
        "used": (2,),
        "counts": (3,),
        "V": ("task", "feature"),
        "lengths": ("task", 2),
        "scalars": (3,),
    },
    names={"indices": "feature"},
    counts={"counts": ("feature", "task", 1)},
    scratch={"space": ("feature",)},
    most={"support": ROOM, "nonzero": NONZEROS},
    check=_check_rows,
)


class Parts(NamedTuple):
    """U as the arrays of a `LowRank`, V as those of `personal`, and the scalars."""

    B: Floats
    S: Floats
    C: Floats
    G: Floats
    begins: Ints
    indices: Ints
    values: Floats
    used: Ints
    counts: Ints
    V: Floats
    lengths: Floats
    scalars: Floats
    space: Floats

    @property
    def U(self) -> LowRank:
        """The low-rank part."""
        return LowRank(*self[:9])


class Hyper(NamedTuple):
    eta1: float
    eta2: float
    rho: float
    tau: float
    lam1: float
    lam2: float
    schedule: int
    kappa: float
    rho_only: bool
    always_prox: bool
    logd: bool


def _predict(hyper: Hyper, state: Parts, batch: Batch, scores: Floats) -> None:
    steps, space = np.empty(len(scores)), np.zeros(len(state.B))  # of its own: several threads may predict at once
    _look(state.U, state.V, state.lengths, batch, 0, len(scores), space, scores, steps, NOTHING, desk())


def _learn(hyper: Hyper, state: Parts, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    U, t, stop = state.U, start, len(batch.rounds) - 1
    longest = int(np.diff(batch.rounds).max(initial=0))
    steps, c = np.zeros(longest), np.zeros((longest, WIDE))
    while t < stop:
        t, why = _rounds(
            hyper, U, state.V, state.lengths, state.scalars, batch, t, scores, trace, state.space, steps, c, SMALL
        )
        if why == NO_ROOM or (why == LARGE and not _round(hyper, state, U, batch, t, scores, trace, steps)):
            break
        t += 1 if why == LARGE else 0
    return t


def _round(
    hyper: Hyper, state: Parts, U: LowRank, batch: Batch, t: int, scores: Floats, trace: Floats, steps: Floats
) -> bool:
    """A round with losses that `_rounds` has looked at and left; False if there is no room for it."""
    lo, hi = int(batch.rounds[t]), int(batch.rounds[t + 1])
    _, active, numbers, features, tasks = _look(
        U, state.V, state.lengths, batch, lo, hi, state.space, scores, steps, NOTHING, desk()
    )
    m = max(int(U.counts[TASKS]), tasks)
    whole = max(int(U.counts[FEATURES]), features) * m * m <= WORTH * (1 + active)
    if not whole and not _fits(U, active, numbers):
        return False
    _note(hyper, state.scalars, batch, lo, hi, scores, steps, True, trace)
    state.scalars[T] += 1.0
    gram_prox.reach(U, features, tasks)
    _move(hyper, state, U, batch, lo, hi, steps, whole)
    return True


def _fits(U: LowRank, rows: int, numbers: int) -> bool:
    """Whether X has as much room as these rows may need, or all that it can ever have."""
    return (len(U.C) == ROOM or len(U.C) >= U.used[0] + rows) and (
        len(U.values) == NONZEROS or len(U.values) >= U.used[1] + numbers
    )


def _move(hyper: Hyper, state: Parts, U: LowRank, batch: Batch, lo: int, hi: int, steps: Floats, whole: bool) -> None:
    """Lines 10 to 13 of Algorithms 1 and 2: on the whole of U where that is cheap, else on its pieces."""
    factor = _factor(hyper, float(state.scalars[T]))
    step, rho = (1.0 if hyper.rho_only else factor), factor * hyper.rho
    values = log_values if hyper.logd else soft_values
    if whole:
        gram_prox.fold(U)
        _take(U.B, batch, lo, hi, steps, step * hyper.eta1)
        spectrum = gram_prox.settle(U, lambda s: values(s, rho))
    else:
        for i in (lo + np.flatnonzero(steps[: hi - lo])).tolist():
            begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
            a = np.zeros(len(U.G))
            a[batch.task[i]] = step * hyper.eta1 * steps[i - lo]
            gram_prox.add(U, batch.indices[begin:end], batch.values[begin:end], a)
        spectrum = gram_prox.shrink(U, lambda s: values(s, rho))
    state.scalars[NUCLEAR] = spectrum.values[: U.counts[TASKS]].sum()
    state.scalars[LENGTHS] = _personal(
        state.V, state.lengths, batch, lo, hi, steps, step * hyper.eta2, step * hyper.tau
    )


KERNELS = interpreted(_predict, _learn)


@compiled
def _rounds(
    hyper: Hyper,
    U: LowRank,
    V: Floats,
    lengths: Floats,
    scalars: Floats,
    batch: Batch,
    start: int,
    scores: Floats,
    trace: Floats,
    space: Floats,
    steps: Floats,
    c: Floats,
    small: int,
) -> tuple[int, int]:
    """Algorithms 1 and 2 from round `start` on, until the end, or a round that Python has to do something for.

    A round for which U is folded keeps the scores that it has: `predict` gives these, to the bit.
    """
    rounds, used, counts, working = batch.rounds, U.used, U.counts, desk()
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        labelled, active, numbers, features, tasks = _look(
            U, V, lengths, batch, lo, hi, space, scores, steps, c, working
        )
        moves = active > 0 or (labelled > 0 and hyper.always_prox)
        if moves:
            if max(counts[TASKS], tasks) > small or active > ROOM or numbers > NONZEROS:
                return t, LARGE
            full = used[0] + active > ROOM or used[1] + numbers > NONZEROS
            rows, count = (0, 0) if full else (used[0], used[1])
            if rows + active > len(U.C) or count + numbers > len(U.values):
                return t, NO_ROOM
            if full:
                fold(U, working)
        _note(hyper, scalars, batch, lo, hi, scores, steps, moves, trace)
        if labelled > 0:
            scalars[T] += 1.0
        if moves:
            factor = _factor(hyper, scalars[T])
            step = 1.0 if hyper.rho_only else factor
            reach(U, features, tasks)
            before = used[0]
            for i in range(lo, hi):
                if steps[i - lo] != 0.0:
                    begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
                    a = step * hyper.eta1 * steps[i - lo]
                    few_rows_dots(U, before, batch.indices, batch.values, begin, end, space, working, c[i - lo])
                    add(U, batch.task[i], batch.indices, batch.values, begin, end, a, c[i - lo])
            scalars[NUCLEAR] = shrink(U, hyper.logd, factor * hyper.rho, working)
            scalars[LENGTHS] = _personal(V, lengths, batch, lo, hi, steps, step * hyper.eta2, step * hyper.tau)
    return len(rounds) - 1, DONE


@compiled
def _factor(hyper: Hyper, t: float) -> float:
    """What the schedule multiplies with in round t = 1, 2, ..."""
    if hyper.schedule == 0:
        return 1.0
    return 1.0 / np.sqrt(t) if hyper.schedule == 1 else math.pow(hyper.kappa, t - 1.0)


@compiled
def _note(
    hyper: Hyper,
    scalars: Floats,
    batch: Batch,
    lo: int,
    hi: int,
    scores: Floats,
    steps: Floats,
    moves: bool,
    trace: Floats,
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
            trace[i, 3] = hyper.lam1 * scalars[NUCLEAR] + hyper.lam2 * scalars[LENGTHS]


@compiled
def _look(
    U: LowRank,
    V: Floats,
    lengths: Floats,
    batch: Batch,
    lo: int,
    hi: int,
    space: Floats,
    scores: Floats,
    steps: Floats,
    c: Floats,
    working: Desk,
) -> tuple[int, int, int, int, int]:
    """Score a round; steps are y where there is a loss, else 0, and the rows of c are U'x where they are long enough.

    Returns the numbers of labels and of losses; and of rows with a loss their non-zeros, and how many features and
    tasks there must be.
    """
    labelled, active, numbers, features, tasks = 0, 0, 0, 0, 0
    task, indices, values = batch.task, batch.indices, batch.values
    for i in range(lo, hi):
        y, begin, end = batch.label[i], batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
        if len(c) and U.counts[TASKS] <= WIDE:
            few_dots(U, indices, values, begin, end, space, working, c[i - lo])
            s = c[i - lo, task[i]] if task[i] < U.counts[TASKS] else 0.0
        else:
            s = own_score(U, task[i], indices, values, begin, end, space)
        scores[i] = s + personal_score(V, lengths, task[i], indices, values, begin, end)
        steps[i - lo] = 0.0
        if not np.isnan(y):
            labelled += 1
            if y * scores[i] < 1.0:
                steps[i - lo] = y
                active += 1
                if end > begin:
                    numbers += end - begin
                    features = max(features, batch.indices[end - 1] + 1)
                    tasks = max(tasks, batch.task[i] + 1)
    return labelled, active, numbers, features, tasks


@compiled
def _take(B: Floats, batch: Batch, lo: int, hi: int, steps: Floats, eta: float) -> None:
    """U - eta1 g, where U is B."""
    task, _, row, indptr, indices, values, _ = batch
    for i in range(lo, hi):
        if steps[i - lo] != 0.0:
            for e in range(indptr[row[i]], indptr[row[i] + 1]):
                B[indices[e], task[i]] += eta * steps[i - lo] * values[e]


@compiled
def _personal(
    V: Floats, lengths: Floats, batch: Batch, lo: int, hi: int, steps: Floats, eta: float, tau: float
) -> float:
    """V - eta2 g, and Eq. 18 for all columns."""
    task, _, row, indptr, indices, values, _ = batch
    for i in range(lo, hi):
        if steps[i - lo] != 0.0:
            begin, end = indptr[row[i]], indptr[row[i] + 1]
            n2 = squared_norm(values, begin, end)
            lengthen(V, lengths, task[i], indices, values, begin, end, eta * steps[i - lo], n2)
    return shorten(lengths, tau)
