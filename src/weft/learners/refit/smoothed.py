r"""Batch learners over all rows seen: every task alone, all in one, groups of tasks, or tasks that heed each other.

Murugesan, Liu, Carbonell and Yang (2016), Adaptive smoothed online multi-task learning, Sec. 2.3 and 3.2. With the mean
hinge loss L_j of task j, all of them minimise

    itl      L_k(w_k) + reg/2 |w_k|^2                                       for every task k
    stl      (1/n) sum over all n rows of the hinge loss + reg/2 |w|^2      for all tasks together
    smtl-e   sum_k [ sum_j eta_kj L_j(w_k) + reg/2 |w_k|^2 - lam H(p_k) ]   Eq. 4; H is the entropy
    smtl-t   the same steps in w, and p_kj ~ (lam - L_j(w_k))_+             thresholds in the place of the entropy
    shamo    (1/n) sum_i (1 - y_i <x_i, h_a(i)>)_+ + reg/2 sum_c |h_c|^2    over m models, and every task's choice

with eta = alpha I + (1-alpha) P (Eq. 3), where row k of P says how much task k listens to the others. `smtl-e` and
`smtl-t` alternate (Alg. 1) from P = 1/K: every w_k is a support vector machine with weights eta_kj/N_j on the rows of
task j, and then p_kj ~ exp(-(1-alpha) L_j(w_k)/lam) (Eq. 6), until P rests.

>>> import weft
>>> X = [[1.0, 0.2], [1.0, 1.0], [1.0, 0.5], [0.5, 1.0]]
>>> stream = weft.Stream(X, [1, 1, 1, -1], ["ann", "ann", "bob", "eve"])
>>> model = weft.Model("smtl-e", lam=0.5, reg=0.5).fit(stream)
>>> model.weights().round(3).tolist()
[[0.914, 0.172], [0.852, 0.296], [-0.248, -0.876]]
>>> model.relations().round(3).tolist()
[[0.724, 0.23, 0.045], [0.224, 0.734, 0.042], [0.063, 0.068, 0.869]]

Reading. The paper has no regulariser; reg makes every w unique. It says neither where P begins nor what thresholds do
when all L_j >= lam: P_k is then uniform over the least L_j. A task without rows has no L_j and no part in the sums; its
row of P is uniform over the tasks with rows, and its w the minimum of (1-alpha)/K sum_j L_j(w) + reg/2 |w|^2, so that
it is 0 for alpha = 1, as with `itl`. `shamo` (after Crammer and Mansour 2012) is K-means of tasks: all rows weigh 1/n,
because with a mean per cluster neither a refit nor a reassignment would be sure to lower the total. A task that has not
chosen yet has the hypothesis of most tasks. A task with rows of one class is fitted like any other: its w puts them
on their side.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.learner import Hooks, Shares
from weft.learners.parameters import Bytes, Real, Whole, parameter
from weft.learners.refit.keeping import Data, Refitted, Refitting, data_of, store
from weft.learners.refit.svm import Fit, hinge, svm
from weft.learners.task_matrix import LIMIT, refuse_matrix
from weft.maths.generator import integer_below, seeded
from weft.storage.batch import Batch
from weft.storage.state import SUPPORT

SWEEPS, REST = 50, 1e-4
"""Of the alternation: the most, and the change of P at which it ends."""
STARTS, TIED = 5, 1e-9
"""Of `shamo`: random assignments, and the difference of losses that does not count."""


@dataclass(frozen=True)
class _Machine(Refitting):
    """Support vector machines with a common regulariser."""

    paper: ClassVar[str] = "Murugesan, Liu, Carbonell and Yang 2016"

    reg: float = parameter(1e-2, "regulariser: reg/2 |w|^2 is added to the mean hinge loss", Real(above=0))

    def train(self, data: Data, rows: Ints, c: Floats, ratio: Floats) -> Fit:
        """The machine of some rows with weights c; their dual variables begin at, and are left as, parts of c."""
        all_rows = len(rows) == len(data.y)
        X, y = (data.X, data.y) if all_rows else (data.X[rows], data.y[rows])
        fit = svm(X, y, c, self.reg, ratio[rows] * c)
        ratio[rows] = np.clip(fit.a / c, 0.0, 1.0)
        return fit


@dataclass(frozen=True)
class Stl(_Machine):
    """One support vector machine for the rows of all tasks."""

    name: ClassVar[str] = "stl"
    more: ClassVar[tuple[str, ...]] = ("ratio",)

    def refit(self, state: Refitted) -> None:
        data = data_of(state)
        n = len(data.y)
        w = self.train(data, np.arange(n), np.full(n, 1.0 / n), state.ratio).w
        store(state, data, np.tile(w, (data.K, 1)), w)

    def explain(self, state: Refitted, slot: int, tasks: int, indices: Ints) -> Shares:
        """All weights are shared."""
        none = np.zeros(len(indices))
        return Shares(none, state.fresh[indices], np.zeros(0, np.int64), np.zeros((0, len(indices))))

    def relations(self, state: Refitted, tasks: int) -> Array:
        """All tasks are one."""
        return np.ones((tasks, tasks))


@dataclass(frozen=True)
class Itl(_Machine):
    """One support vector machine per task."""

    name: ClassVar[str] = "itl"
    more: ClassVar[tuple[str, ...]] = ("ratio",)

    def refit(self, state: Refitted) -> None:
        data = data_of(state)
        rows = [data.of(k) for k in range(data.K)]
        W = [self.train(data, at, np.full(len(at), 1.0 / len(at)), state.ratio).w for at in rows]
        store(state, data, np.array(W))

    def relations(self, state: Refitted, tasks: int) -> Array:
        """No task learns from another."""
        return np.eye(tasks)


class Smoothed(NamedTuple):
    """`objectives` has a row per sweep: after its W, and after its P. W is the one that P was made from."""

    W: Floats
    P: Floats
    objectives: Floats


@dataclass(frozen=True)
class _Smtl(_Machine):
    more: ClassVar[tuple[str, ...]] = ("ratio", "ratios", "P")

    alpha: float = parameter(0.5, "how much a task counts by itself; 1: every task alone", Real(at_least=0, at_most=1))
    lam: float = parameter(1.0, "of the weights P", Real(above=0, infinite=True))
    matrix_limit: int = parameter(LIMIT, "the most bytes that P, a number per pair of tasks, may take", Bytes())

    @property
    def hooks(self) -> Hooks:
        return Hooks(refuse=self.refuse)

    def refuse(self, tasks: int, features: int) -> None:
        refuse_matrix(self, tasks, remedy="take itl or stl, ")

    def refit(self, state: Refitted) -> None:
        data = data_of(state)
        n, slots = len(data.y), data.slots
        ratios = np.ascontiguousarray(state.ratios[:n, slots].T)
        found = self.alternate(data, ratios)
        state.ratios[:n, slots] = ratios.T
        state.P[np.ix_(slots, slots)] = found.P
        fresh = np.zeros(data.X.shape[1])
        if self.alpha < 1.0:
            c = ((1.0 - self.alpha) / data.K / data.N)[data.task]
            fresh = self.train(data, np.arange(n), c, state.ratio).w
        store(state, data, found.W, fresh)

    def alternate(self, data: Data, ratios: Floats) -> Smoothed:
        """Algorithm 1; `ratios` has a row of dual variables per task."""
        K, alpha = data.K, self.alpha
        W, L, P = np.zeros((K, data.X.shape[1])), np.zeros((K, K)), np.full((K, K), 1.0 / K)
        objectives = []
        for _ in range(SWEEPS):
            for k in range(K):
                eta = (1.0 - alpha) * P[k]
                eta[k] += alpha
                c = (eta / data.N)[data.task]
                rows = np.flatnonzero(c)
                W[k] = self.train(data, rows, c[rows], ratios[k]).w
                L[k] = np.bincount(data.task, hinge(data.y * (data.X @ W[k])), K) / data.N
            before, P = P, np.array([self.attention(losses) for losses in L])
            objectives.append((self.objective(W, L, before), self.objective(W, L, P)))
            if np.abs(P - before).max() < REST:
                break
        return Smoothed(W, P, np.array(objectives))

    def objective(self, W: Floats, L: Floats, P: Floats) -> float:
        """Eq. 4 of all tasks, with the regulariser."""
        own, others = float(np.trace(L)), float(np.sum(P * L))
        fits = self.alpha * own + (1.0 - self.alpha) * others + self.reg / 2.0 * float(np.sum(W * W))
        return fits + self.penalty(P)

    def penalty(self, P: Floats) -> float:
        return 0.0

    def attention(self, L: Floats) -> Floats:
        """A row of P from the losses L_j(w_k)."""
        raise NotImplementedError

    def relations(self, state: Refitted, tasks: int) -> Array:
        """eta = alpha I + (1-alpha) P."""
        fitted = state.fitted[:tasks] > 0
        P = state.P[:tasks, :tasks].copy()
        some = fitted if fitted.any() else np.ones(tasks, bool)
        P[~fitted] = some / max(1, int(some.sum()))
        return self.alpha * np.eye(tasks) + (1.0 - self.alpha) * P


@dataclass(frozen=True)
class SmtlE(_Smtl):
    """Smoothed multitask learning: tasks listen to those whose rows their model fits, by softmax weights."""

    name: ClassVar[str] = "smtl-e"

    lam: float = parameter(
        1.0, "weight of the entropy: the larger, the more even is P; inf: P = 1/K", Real(above=0, infinite=True)
    )

    def attention(self, L: Floats) -> Floats:
        """Eq. 6."""
        q = np.exp(-(1.0 - self.alpha) * (L - L.min()) / self.lam)
        return np.asarray(q / q.sum())

    def penalty(self, P: Floats) -> float:
        if math.isinf(self.lam):
            return 0.0
        positive = P[P > 0.0]
        return self.lam * float(np.sum(positive * np.log(positive)))


@dataclass(frozen=True)
class SmtlT(_Smtl):
    """Smoothed multitask learning: tasks listen to those on whose rows their model loses less than a threshold."""

    name: ClassVar[str] = "smtl-t"

    lam: float = parameter(
        1.0,
        "threshold: a task whose mean hinge loss is as large is not listened to; inf: P = 1/K",
        Real(above=0, infinite=True),
    )

    def attention(self, L: Floats) -> Floats:
        q = np.ones(len(L)) if math.isinf(self.lam) else np.maximum(0.0, self.lam - L)
        if not q.any():
            q = (L.min() >= L).astype(np.float64)
        return np.asarray(q / q.sum())


class Shared(NamedTuple):
    """Hypotheses, the one of every task, and the total after every refit and every reassignment."""

    H: Floats
    choice: Ints
    totals: list[float]
    ratio: Floats


@dataclass(frozen=True)
class Shamo(_Machine):
    """Shared hypotheses: m models, and every task takes the one that fits its rows best."""

    name: ClassVar[str] = "shamo"
    paper: ClassVar[str] = "Crammer and Mansour 2012; Murugesan, Liu, Carbonell and Yang 2016"
    more: ClassVar[tuple[str, ...]] = ("ratio", "cluster")

    m: int = parameter(
        2, "the number of hypotheses; as long as fewer tasks have rows, there is one for each of them", Whole(1)
    )
    seed: int = parameter(0, "of the generator that draws the first assignments, the same at every fit", Whole(0))

    def refuse_fit(self, state: Refitted, batch: Batch) -> None:
        super().refuse_fit(state, batch)
        owners = np.concatenate([state.owner[: state.used[SUPPORT]], batch.task[~np.isnan(batch.label)]])
        tasks = len(np.unique(owners))
        if self.m > tasks:
            raise ValueError(f"shamo: m={self.m} hypotheses, but {tasks} tasks have rows; choose m <= {tasks}")

    def refit(self, state: Refitted) -> None:
        data, generator = data_of(state), seeded(self.seed)
        m = min(self.m, data.K)
        runs = []
        for _ in range(STARTS):
            start = np.array([integer_below(generator, m) for _ in range(data.K)], np.int64)
            runs.append(self.run(data, start, m, state.ratio[: len(data.y)].copy()))
        best = min(runs, key=lambda run: run.totals[-1])  # the first of equals
        state.ratio[: len(data.y)] = best.ratio
        state.cluster[data.slots] = best.choice + 1
        store(state, data, best.H[best.choice], best.H[np.argmax(np.bincount(best.choice, minlength=m))])

    def run(self, data: Data, choice: Ints, m: int, ratio: Floats) -> Shared:
        """From an assignment to one that stays; a hypothesis that no task has chosen stays too, at first at 0."""
        n, H = len(data.y), np.zeros((m, data.X.shape[1]))
        L, totals = np.ones((m, data.K)), []
        while True:
            for c in range(m):
                rows = np.flatnonzero(choice[data.task] == c)
                if len(rows):
                    H[c] = self.train(data, rows, np.full(len(rows), 1.0 / n), ratio).w
                    L[c] = np.bincount(data.task, hinge(data.y * (data.X @ H[c])), data.K) / data.N
            totals.append(self.total(data, H, L, choice))
            nearest = np.argmax(L.min(axis=0) + TIED >= L, axis=0)
            if np.array_equal(nearest, choice) or len(totals) >= 200:
                return Shared(H, choice, totals, ratio)
            choice = nearest
            totals.append(self.total(data, H, L, choice))

    def total(self, data: Data, H: Floats, L: Floats, choice: Ints) -> float:
        losses = float(data.N @ L[choice, np.arange(data.K)]) / len(data.y)
        return losses + self.reg / 2.0 * float(np.sum(H * H))

    def relations(self, state: Refitted, tasks: int) -> Array:
        """1 where two tasks have the same hypothesis."""
        cluster = state.cluster[:tasks]
        counts = np.bincount(cluster[cluster > 0])
        common = np.argmax(counts) if len(counts) else 0
        cluster = np.where(cluster > 0, cluster, common)
        return np.equal.outer(cluster, cluster).astype(np.float64)
