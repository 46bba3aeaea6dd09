r"""Low rank + personal: what tasks have in common lies in few directions, and some tasks go their own way.

Yang, Zhao and Gao (2017), Algorithms 1 and 2. Task i predicts with z_i = u_i + v_i. U = [u_1 .. u_m] has a penalty on
its rank and V = [v_1 .. v_m] one on the number of its columns. With g the gradient of the round's hinge losses, which
is the same by U and by V, a round in which some task has a loss takes the steps

    U <- prox(U - eta1 g),    V <- (1 - eta2 lam2 / |v_i|)_+ v_i  of  V - eta2 g          (Eqs. 11, 12 and 18)

where the prox shrinks the singular values of U: by eta1 lam1 (`romco-nucl`: the nuclear norm, Eq. 16), or to the least
of (s - h)^2 / 2 + rho log(1 + s^2), rho = eta1 lam1 (`romco-logd`: the log-determinant, Eqs. 20 and 21).

>>> import weft
>>> model = weft.Model("romco-nucl", eta1=0.5, eta2=0.5, lam1=0.1, lam2=0.1)
>>> model.learn_one({"free": 1.0}, +1, "ann"), round(model.learn_one({"free": 1.0}, +1, "ann"), 3)
(0.0, 0.9)
>>> model.learn_one({"free": 1.0, "lunch": 1.0}, -1, "bob")
0.0
>>> model.relations().round(3).tolist(), model.outliers().round(3).tolist()
([[1.0, -0.743], [-0.743, 1.0]], [0.85, 0.657])

Reading. All columns are shrunk, also those of tasks that are absent or have no loss: on streams of one task a round,
that is up to m times as often, so that the lambdas should be smaller by as much. A round without labels is no round.
`schedule` multiplies both steps by 1, 1/sqrt(t) or kappa^(t-1) in round t, which counts rounds without loss as well;
with `rho_only` it multiplies rho alone, and `rho0` stands for eta1 lam1: the paper has 1/rho begin at 1 and grow, which
its grids for eta1 and lam1 contradict. The log-determinant sends no singular value to 0, contrary to a remark in the
paper: `rank` counts those that can be told from 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from weft.batch import Batch, Floats, Ints, squared_norm
from weft.geometry import gram_prox
from weft.geometry.gram_prox import FEATURES, FLOOR, NONZEROS, ROOM, TASKS, LowRank, own_score, row_dots, rows_dots
from weft.geometry.losses import HINGE
from weft.geometry.personal import lengthen, personal_score, shorten, vectors
from weft.geometry.proximal import CONVEX, log_values, soft_values
from weft.geometry.small_prox import add, reach, shrink
from weft.jit import kernel
from weft.learner import Kernels, Shares, Target, interpreted
from weft.learners.parameters import Bytes, Choice, Flag, Real, check, parameter
from weft.learners.task_matrix import LIMIT, refuse_tables
from weft.state import Array, Plan

SCHEDULES = ("constant", "sqrt", "geometric")
T, NUCLEAR, LENGTHS = range(3)
"""Positions in `scalars`: labelled rounds, the sum of U's singular values, the sum of V's lengths."""

NOTHING = np.zeros((0, 0))
SMALL = 16
"""Up to so many tasks everything happens in compiled code."""
DONE, FULL, LARGE, NO_ROOM = range(4)
"""Why it came to an end: no more rounds, X is full, more tasks than that or a row that X can never hold, no room."""
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
    """U as the arrays of a `LowRank`, V as those of `geometry.personal`, and the scalars."""

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


@dataclass(frozen=True)
class _Romco:
    """What both have in common."""

    name: ClassVar[str]
    logd: ClassVar[bool]
    paper: ClassVar[str] = "Yang, Zhao and Gao 2017"
    plan: ClassVar[Plan] = PLAN
    target: ClassVar[Target] = "binary"
    tally_loss: ClassVar[tuple[int, float]] = (HINGE, 0.0)
    trace: ClassVar[tuple[str, ...]] = ("loss", "moved", "n2", "penalty")

    eta1: float = parameter(0.1, "step of the low-rank part", Real(above=0, at_most=1e100))
    eta2: float = parameter(0.1, "step of the personal part", Real(above=0, at_most=1e100))
    lam1: float = parameter(1e-3, "penalty on the rank of what tasks have in common", Real(at_least=0, at_most=1e100))
    lam2: float = parameter(1e-3, "penalty on tasks that go their own way", Real(at_least=0, at_most=1e100))
    schedule: str = parameter(
        "constant", "what round t multiplies the steps with: 1, 1/sqrt(t) or kappa^(t-1)", Choice(SCHEDULES)
    )
    kappa: float = parameter(0.99, "the base of the geometric schedule", Real(above=0, at_most=1))
    rho_only: bool = parameter(False, "the schedule multiplies the shrinkage of singular values alone", Flag())
    rho0: float | None = parameter(
        None,
        "the shrinkage of singular values in round 1; None: eta1 lam1",
        Real(at_least=0, at_most=1e100, optional=True),
    )
    always_prox: bool = parameter(False, "shrink in rounds without loss as well", Flag())
    matrix_limit: int = parameter(LIMIT, "the most bytes for tables of tasks x features and tasks x tasks", Bytes())

    def __post_init__(self) -> None:
        check(self)

    @property
    def rho(self) -> float:
        """The shrinkage of singular values in round 1."""
        return self.eta1 * self.lam1 if self.rho0 is None else self.rho0

    @property
    def hyper(self) -> Hyper:
        """The parameters as the rule takes them."""
        return Hyper(
            eta1=self.eta1,
            eta2=self.eta2,
            rho=self.rho,
            tau=self.eta2 * self.lam2,
            lam1=self.rho / self.eta1,
            lam2=self.lam2,
            schedule=SCHEDULES.index(self.schedule),
            kappa=self.kappa,
            rho_only=self.rho_only,
            always_prox=self.always_prox,
            logd=self.logd,
        )

    @property
    def kernels(self) -> Kernels:
        return KERNELS

    def refuse(self, tasks: int, features: int) -> None:
        """Too many tasks or features for whole tables."""
        refuse_tables(self, tasks, features, tables=2, matrices=2)

    def init(self, tasks: Sequence[Any] = ()) -> Parts:
        U = gram_prox.zeros(0, 0, room=0, nonzeros=0)
        return Parts(*U, np.zeros((0, 0)), np.zeros((0, 2)), np.zeros(3), np.zeros(0))

    def parts(self, state: Parts, tasks: int, features: int) -> tuple[Array, Array]:
        """The low-rank and the personal part, (tasks, features) each."""
        U = gram_prox.matrix(state.U)[:features, :tasks].T.copy()
        return U, vectors(state.V, state.lengths)[:tasks, :features]

    def weights(self, state: Parts, tasks: int, features: int) -> Array:
        low, personal = self.parts(state, tasks, features)
        return low + personal

    def relations(self, state: Parts, tasks: int) -> Array:
        """Cosines between the columns of the low-rank part; 0 where a column is 0, and 1 on the diagonal."""
        U = gram_prox.matrix(state.U)[:, :tasks]
        lengths = np.sqrt(np.square(U).sum(axis=0))
        U = U / np.where(lengths > 0.0, lengths, 1.0)
        found = np.clip(U.T @ U, -1.0, 1.0)
        np.fill_diagonal(found, 1.0)
        return found

    def outliers(self, state: Parts, tasks: int, features: int) -> Floats:
        """The lengths of the personal parts."""
        return state.lengths[:tasks, 0].copy()

    def rank(self, state: Parts) -> int:
        """How many singular values of the low-rank part can be told from 0."""
        U = gram_prox.matrix(state.U)
        s = np.linalg.svd(U, compute_uv=False) if U.size else np.zeros(1)
        return int(np.count_nonzero(s > FLOOR * s[0]))

    def explain(self, state: Parts, slot: int, tasks: int, indices: Ints) -> Shares:
        """The personal part is a task's own, the low-rank part is shared."""
        own, shared = np.zeros(len(indices)), np.zeros(len(indices))
        if slot < tasks:
            shared = gram_prox.column(state.U, slot)[indices]
            own = vectors(state.V[slot : slot + 1], state.lengths[slot : slot + 1])[0, indices]
        return Shares(own, shared, np.zeros(0, np.int64), np.zeros((0, len(indices))))


@dataclass(frozen=True)
class RomcoNucl(_Romco):
    """Low rank by the nuclear norm, and personal parts."""

    name: ClassVar[str] = "romco-nucl"
    logd: ClassVar[bool] = False


@dataclass(frozen=True)
class RomcoLogd(_Romco):
    """Low rank by the log-determinant, and personal parts."""

    name: ClassVar[str] = "romco-logd"
    logd: ClassVar[bool] = True

    def remark(self, state: Parts) -> str:
        """Beyond rho = 4 the step has two local minima and leaps from one to the other."""
        if self.rho <= CONVEX:
            return ""
        return (
            f"romco-logd: rho = {self.rho:g} is above 4, where the shrinkage of a singular value leaps as the value "
            "grows; take a smaller eta1, lam1 or rho0"
        )


# --- the rule ------------------------------------------------------------------------------------------------------


def _predict(hyper: Hyper, state: Parts, batch: Batch, scores: Floats) -> None:
    steps = np.empty(len(scores))
    _look(state.U, state.V, state.lengths, batch, 0, len(scores), state.space, scores, steps, NOTHING, False)


def _learn(hyper: Hyper, state: Parts, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    U, t, stop = state.U, start, len(batch.rounds) - 1
    longest = int(np.diff(batch.rounds).max(initial=0))
    steps, c = np.zeros(longest), np.zeros((longest, SMALL))
    why = DONE
    while t < stop:
        t, why = _rounds(
            hyper,
            U,
            state.V,
            state.lengths,
            state.scalars,
            batch,
            t,
            scores,
            trace,
            state.space,
            steps,
            c,
            why == FULL,
            SMALL,
        )
        if why == FULL:
            gram_prox.fold(U)
        elif why == LARGE:
            if not _round(hyper, state, U, batch, t, scores, trace, steps):
                break
            t += 1
        elif why == NO_ROOM:
            break
    return t


def _round(
    hyper: Hyper, state: Parts, U: LowRank, batch: Batch, t: int, scores: Floats, trace: Floats, steps: Floats
) -> bool:
    """A round with losses that `_rounds` has looked at and left; False if there is no room for it."""
    lo, hi = int(batch.rounds[t]), int(batch.rounds[t + 1])
    _, active, numbers, features, tasks = _look(
        U, state.V, state.lengths, batch, lo, hi, state.space, scores, steps, NOTHING, False
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


@kernel
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
    folded: bool,
    small: int,
) -> tuple[int, int]:
    """Algorithms 1 and 2 from round `start` on, until the end, or a round that Python has to do something for.

    A round for which U was folded keeps the scores that it has: `predict` gives these, to the bit.
    """
    rounds, used, counts = batch.rounds, U.used, U.counts
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        labelled, active, numbers, features, tasks = _look(
            U, V, lengths, batch, lo, hi, space, scores, steps, c, folded and t == start
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
                return t, FULL
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
                    rows_dots(U, before, batch.indices, batch.values, begin, end, space, c[i - lo])
                    add(U, batch.task[i], batch.indices, batch.values, begin, end, a, c[i - lo])
            scalars[NUCLEAR] = shrink(U, hyper.logd, factor * hyper.rho)
            scalars[LENGTHS] = _personal(V, lengths, batch, lo, hi, steps, step * hyper.eta2, step * hyper.tau)
    return len(rounds) - 1, DONE


@kernel
def _factor(hyper: Hyper, t: float) -> float:
    """What the schedule multiplies with in round t = 1, 2, ..."""
    if hyper.schedule == 0:
        return 1.0
    return 1.0 / np.sqrt(t) if hyper.schedule == 1 else math.pow(hyper.kappa, t - 1.0)


@kernel
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


@kernel
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
    scored: bool,
) -> tuple[int, int, int, int, int]:
    """Score a round; steps are y where there is a loss, else 0, and the rows of c are U'x where they are long enough.

    Returns the numbers of labels and of losses; and of rows with a loss their non-zeros, and how many features and
    tasks there must be.
    """
    labelled, active, numbers, features, tasks = 0, 0, 0, 0, 0
    task, indices, values = batch.task, batch.indices, batch.values
    for i in range(lo, hi):
        y, begin, end = batch.label[i], batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
        if len(c) and U.counts[TASKS] <= c.shape[1]:
            row_dots(U, indices, values, begin, end, space, c[i - lo])
            s = c[i - lo, task[i]] if task[i] < U.counts[TASKS] else 0.0
        else:
            s = own_score(U, task[i], indices, values, begin, end, space)
        if not scored:
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


@kernel
def _take(B: Floats, batch: Batch, lo: int, hi: int, steps: Floats, eta: float) -> None:
    """U - eta1 g, where U is B."""
    task, _, row, indptr, indices, values, _ = batch
    for i in range(lo, hi):
        if steps[i - lo] != 0.0:
            for e in range(indptr[row[i]], indptr[row[i] + 1]):
                B[indices[e], task[i]] += eta * steps[i - lo] * values[e]


@kernel
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
