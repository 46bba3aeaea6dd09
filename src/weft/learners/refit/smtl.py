r"""Smoothed multitask learning over all rows seen: tasks that learn from the rows of others which their model fits.

Murugesan, Liu, Carbonell and Yang (2016), Adaptive smoothed online multi-task learning, Sec. 2.3. With the mean hinge
loss L_j of task j they minimise

    smtl-e   sum_k [ sum_j eta_kj L_j(w_k) + reg/2 |w_k|^2 - lam H(p_k) ]   Eq. 4; H is the entropy
    smtl-t   the same steps in w, and p_kj ~ (lam - L_j(w_k))_+             thresholds instead of the entropy

with eta = alpha I + (1-alpha) P (Eq. 3), where row k of P says how much task k learns from the others. They alternate
(Alg. 1) from P = 1/K: every w_k is a support vector machine with weights eta_kj/N_j on the rows of task j, and then
p_kj ~ exp(-(1-alpha) L_j(w_k)/lam) (Eq. 6), until P no longer changes.

>>> import weft
>>> X = [[1.0, 0.2], [1.0, 1.0], [1.0, 0.5], [0.5, 1.0]]
>>> stream = weft.Stream(X, [1, 1, 1, -1], ["ann", "ann", "bob", "eve"])
>>> model = weft.Model("smtl-e", lam=0.5, reg=0.5).fit(stream)
>>> model.weights().round(3).tolist()
[[0.914, 0.172], [0.852, 0.296], [-0.248, -0.876]]
>>> model.relations().round(3).tolist()
[[0.724, 0.23, 0.045], [0.224, 0.734, 0.042], [0.063, 0.068, 0.869]]

Interpretation. The paper has no regulariser; reg makes every w unique. It says neither where P begins nor what
thresholds do when all L_j >= lam: P_k is then uniform over the least L_j. A task without rows has no L_j and no part in
the sums; its row of P is uniform over the tasks with rows, and its w the minimum of (1-alpha)/K sum_j L_j(w) + reg/2
|w|^2, so that it is 0 for alpha = 1, as with `itl`.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats
from weft.learner import Hooks
from weft.learners.parameters import Bytes, Real, parameter
from weft.learners.refit.kept_rows import Data, Refitted, data_of, store
from weft.learners.refit.machines import Machine
from weft.learners.refit.svm import hinge
from weft.learners.task_matrix import LIMIT, refuse_matrix

SWEEPS, REST = 50, 1e-4
"""Of the alternation: the most, and the change of P at which it ends."""


class Smoothed(NamedTuple):
    """`objectives` has a row per sweep: after its W, and after its P. W is the one that P was made from."""

    W: Floats
    P: Floats
    objectives: Floats


@dataclass(frozen=True)
class _Smtl(Machine):
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
    """Smoothed multitask learning: tasks listen to those whose rows their model fits, by softmax weights.

    Take it when the rows fit in memory and you want to see which tasks are similar.

    Classifies and keeps all rows, like all of this family. Alternates `w_k = argmin sum_j eta_kj L_j(w) + reg/2 |w|^2`
    with eta = alpha I + (1 - alpha) P and L_j the mean hinge loss of task j, and `P_kj ~ exp(-(1 - alpha)
    L_j(w_k)/lam)`.
    """

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
    """Smoothed multitask learning: tasks listen to those on whose rows their model loses less than a threshold.

    Take it when some tasks should be left out completely.

    The same with `P_kj ~ max(0, lam - L_j(w_k))`; if that is 0 for all j, uniform over the least L_j.
    """

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
