r"""Adaptive smoothed learners: every task learns whom to listen to while it learns.

Murugesan, Liu, Carbonell and Yang (2016), Adaptive Smoothed Online Multi-Task Learning. Task k has weights w_k and a
row p_k of attention over all tasks; eta = alpha I + (1 - alpha) P. In a round with the present tasks A, all from the
same W and P, every task k that is due learns from its own example and from those of the others (Algorithm 2):

    l_kj = (1 - y_j <w_k, x_j>)_+                      how well k's model would do on j's example
    w_k += C sum_{j in A, l_kj > 0} eta_kj y_j x_j     Eq. 9
    p_kj <- p_kj exp(-kappa l_kj), brought to its sum  Eq. 11, kappa = C (1 - alpha) / lam   (osmtl-e)
    p_kj <- (lam - l_kj)_+, brought to its sum         Sec. 3.2                              (osmtl-t)

A task is due if its own margin is below 1 (`"margin"`), if it made a mistake (`"mistake"`), or if its model fails the
margin on any present example (`"active"`).

>>> import weft
>>> model = weft.Model("osmtl-e", alpha=0.5, C=1.0, lam=0.5, tasks=["ann", "bob", "eve"])
>>> x, y = {"free": 1.0}, {"ann": 1, "bob": 1, "eve": -1}
>>> for _ in range(3):
...     scores = model.learn(weft.Stream([x] * 3, list(y.values()), list(y), rounds=[0] * 3))
>>> model.relations().round(2).tolist()
[[0.72, 0.22, 0.06], [0.22, 0.72, 0.06], [0.05, 0.05, 0.89]]

Interpretation. Eq. 9 belongs to |w - w_t|^2 / 2 in Eq. 7 and 8; as printed the step would be C/2. P starts uniform;
tasks that are absent from a round are not updated, and their p_kj are held. So P moves only where tasks meet in a
round: on a stream of single rows every task is a hinge Perceptron of step C (alpha + (1 - alpha) / N). alpha and C are
those of Corollary 2 for T rounds; if T is not given, epoch m = 0, 1, ... has 2^m rounds and takes T = 2^m, and W and P
go on (`restart` makes them anew, which the guarantee needs). These values are poor in practice: alpha = 0.9, C = 1 with
rows of length 1 is a better start. The text updates on mistakes, the algorithm on margins; the guarantee needs margins.
A newcomer gets 1/N of every row.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from weft.compiled.arrays import Array, Ints
from weft.learner import Hooks, Kernels, Shares, Target, Traits
from weft.learners.own_parts import shares, weight_matrix
from weft.learners.parameters import Bytes, Choice, Flag, Integer, Real, check, number, parameter
from weft.learners.smoothed.attention import NEAR, OWN, share_of_rest, widen, widen_near
from weft.learners.smoothed.rounds import alpha_and_C, learn, learn_one, predict, predict_one
from weft.learners.smoothed.state import CONDITIONS, EXPONENTIAL, FLAT, THRESHOLD, Hyper, Smoothed, blank, plan
from weft.learners.task_matrix import LIMIT, refuse_matrix
from weft.maths.losses import HINGE
from weft.names import Name
from weft.storage.state import Plan


@dataclass(frozen=True)
class _Osmtl:
    """What both variants share."""

    name: ClassVar[str]
    paper: ClassVar[str] = "Murugesan et al. 2016"
    target: ClassVar[Target] = "binary"
    tally_loss: ClassVar[tuple[int, float]] = (HINGE, 0.0)
    variant: ClassVar[int]

    alpha: float | None = parameter(
        None,
        "how much a task listens to itself alone: 1 not at all to others; None: by theory, from T",
        Real(at_least=0, at_most=1, optional=True),
    )
    C: float | None = parameter(None, "size of a step; None: by theory, from T", Real(above=0, optional=True))
    lam: float | None = parameter(
        None,
        "how slowly attention moves; inf: not at all; None: C (1 - alpha) for osmtl-e, 1 (a loss) for osmtl-t",
        Real(above=0, optional=True, infinite=True),
    )
    condition: str = parameter(
        "margin",
        "when a task learns: its margin is below 1, it made a mistake, or its model fails any present example",
        Choice(CONDITIONS),
    )
    T: float | None = parameter(
        None, "number of rounds to come; None: doubling epochs, where alpha or C need it", Real(above=0, optional=True)
    )
    restart: bool = parameter(False, "start anew with every epoch, as the guarantee with unknown T needs", Flag())
    p_min: float = parameter(
        0.0, "attention does not fall below this, so that a task stays within reach", Real(at_least=0, at_most=1)
    )
    neighbours: int | None = parameter(
        None,
        "keep only so many nearest tasks per task, and the mean of the rest: an approximation for many tasks",
        Integer(at_least=1, optional=True),
    )
    matrix_limit: int = parameter(LIMIT, "most bytes that the attention of all pairs of tasks may take", Bytes())

    def __post_init__(self) -> None:
        check(self)
        if self.neighbours is not None and self.p_min > 0.0:
            raise ValueError(f"{self.name}: p_min needs the attention of all pairs; leave neighbours out")
        if self.restart and not self._doubles:
            raise ValueError(f"{self.name}: restart belongs to doubling epochs; leave T and one of alpha and C out")

    @property
    def traits(self) -> Traits:
        """With condition="active" a task learns from the others' examples, also where its own has no loss."""
        return Traits(
            counts_tasks=True,
            conservative=self.condition != "active",
            mistake_driven=self.condition == "mistake",
            cannot_forget="" if self.neighbours is None else "rows of nearest neighbours do not say who comes next",
            trace=("loss", "updated", "n2", "C", "alpha"),
        )

    @property
    def hooks(self) -> Hooks:
        return Hooks(refuse=self.refuse)

    @property
    def _doubles(self) -> bool:
        return self.T is None and (self.alpha is None or self.C is None)

    @property
    def plan(self) -> Plan:
        return plan(self.neighbours)

    @property
    def hyper(self) -> Hyper:
        """The parameters as compiled code takes them."""
        lam = 1.0 if self.lam is None and self.variant == THRESHOLD else self.lam
        given = (number(self.alpha), number(self.C), number(lam), number(self.T))
        more = (self.restart, self.p_min, self.neighbours is not None)
        return Hyper(self.variant, CONDITIONS.index(self.condition), *given, *more)

    @property
    def kernels(self) -> Kernels:
        return Kernels(predict, learn, predict_one, learn_one)

    def init(self, tasks: Sequence[Name] = ()) -> Smoothed:
        return blank(len(tasks), self.neighbours)

    def refuse(self, tasks: int, features: int) -> None:
        """Raise ValueError if the attention of all pairs of tasks would take too much."""
        if self.neighbours is None:
            refuse_matrix(self, tasks, remedy="give neighbours=50 to keep the nearest tasks only (approximate), ")

    def weights(self, state: Smoothed, tasks: int, features: int) -> Array:
        return weight_matrix(state, self.plan, tasks, features)

    def explain(self, state: Smoothed, slot: int, tasks: int, indices: Ints) -> Shares:
        return shares(state, slot, indices)

    def attention(self, state: Smoothed, tasks: int) -> Array:
        """P, whose rows sum to 1; of neighbours that are not kept the mean."""
        N, P, ids = int(state.tasks[0]), state.P.copy(), state.ids.copy()
        whole = np.zeros((tasks, tasks))
        for k in range(N):
            if self.neighbours is None:
                if state.widths[k] != N:
                    widen(P, k, state.widths[k], N, self.p_min)
                whole[k, :N] = P[k, :N]
                continue
            if state.widths[k] != N:
                widen_near(P, ids, k, state.widths[k], N)
            whole[k, :N] = share_of_rest(P, ids, k, N)
            kept = ids[k] > 0
            whole[k, ids[k, kept] - 1], whole[k, k] = P[k, NEAR:][kept], P[k, OWN]
        return whole

    def relations(self, state: Smoothed, tasks: int) -> Array:
        """eta = alpha I + (1 - alpha) P of the next round."""
        alpha, _ = alpha_and_C(self.hyper, state.progress)
        return alpha * np.eye(tasks) + (1.0 - alpha) * self.attention(state, tasks)


@dataclass(frozen=True)
class OsmtlE(_Osmtl):
    """Adaptive smoothed learners: a task attends to others by exponential weights on how its model does for them.

    Take it when tasks meet in rounds, some agree, and it is unknown which.

    `w_k += C sum_j eta_kj y_j x_j` over the present tasks j on whose examples k's model fails, eta = alpha I + (1 -
    alpha) P; then `p_kj` decreases as `exp(-kappa l_kj)`. Defaults: alpha and C of Corollary 2 in epochs of 2^m rounds,
    kappa = 1. P changes only in rounds of several tasks.
    """

    name: ClassVar[str] = "osmtl-e"
    variant: ClassVar[int] = EXPONENTIAL


@dataclass(frozen=True)
class OsmtlT(_Osmtl):
    """Adaptive smoothed learners: a task attends to others by how far their losses stay below a threshold.

    Take it when tasks meet in rounds, some agree, and it is unknown which, where agreement changes over time.

    The same step; then `p_kj` is `(lam - l_kj)_+`, without memory. Warns if attention could not change for a whole
    epoch.
    """

    name: ClassVar[str] = "osmtl-t"
    variant: ClassVar[int] = THRESHOLD

    @property
    def hooks(self) -> Hooks:
        return Hooks(refuse=self.refuse, warning=self.warning)

    def warning(self, state: Smoothed) -> str:
        """A warning, once, if attention could not move."""
        lam = 1.0 if self.lam is None else self.lam
        if not state.progress[FLAT] or math.isinf(lam):
            return ""
        return (
            f"osmtl-t: for a whole epoch every loss was at or above lam={lam:g}, so that attention did not move; "
            "give a larger lam, or shorter rows"
        )
