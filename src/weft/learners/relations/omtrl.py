r"""Learned task relationships: Perceptrons that move all tasks by A^-1, and an A that follows their weights.

Saha, Rai, Daume and Venkatasubramanian (2011), Online learning of multiple tasks and their relationships; baselines of
Murugesan et al. (2016) and Yang, Zhao and Gao. On a mistake of task i

    W += C y A^-1[:, i] x'

and then A takes the step that minimises D(A, A_t) + rate tr(A W W') with D the LogDet divergence (`omtrl-logdet`) or
von Neumann's (`omtrl-vonneumann`), or A^-1 becomes the covariance of the tasks' weights (`omtrl-cov`); see
`relation_steps`. For the first `warmup` events A = I.

>>> import weft
>>> model = weft.Model("omtrl-logdet", rate=0.5, warmup=3, condition="margin")
>>> for x, y in ({"free": 1.0}, 1), ({"meeting": 1.0}, -1), ({"free": 0.8, "offer": 0.6}, 1):
...     for task, opinion in {"ann": 1, "bob": 1, "eve": -1}.items():
...         score = model.learn_one(x, opinion * y, task)
>>> model.relations().round(2).tolist()
[[1.4, 1.09, -0.91], [1.09, 0.92, -0.75], [-0.91, -0.75, 0.68]]

Interpretation. The steps are exact minimisers (in terms of A^-1, and of its logarithm); after each, A^-1 is brought to
trace N, so that steps keep the size that they have with A = I: that is ours, without it they grow without bound. The
papers learn A after half of the stream; a stream has no half, so that `warmup` counts events. The counts of support
vectors that Murugesan et al. print are out of reach for updates on mistakes; `condition="margin"`, updates on margins
below 1, is offered for that reason. A newcomer is tied to nobody until A is next learned. A row of zeros changes
nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from weft.compiled.arrays import Array, Ints
from weft.learner import Hooks, Kernels, Shares, Target, Traits
from weft.learners.own_parts import shares, weight_matrix
from weft.learners.parameters import Bytes, Choice, Integer, Real, check, parameter
from weft.learners.relations.relation_steps import COVARIANCE, LOGDET, VONNEUMANN
from weft.learners.relations.rounds import (
    CONDITIONS,
    KERNELS,
    Hyper,
    Related,
    blank,
    plan,
)
from weft.learners.task_matrix import LIMIT, refuse_matrix
from weft.maths.losses import HINGE
from weft.names import Name
from weft.storage.state import Plan


@dataclass(frozen=True)
class _Omtrl:
    """What the three share."""

    name: ClassVar[str]
    paper: ClassVar[str] = "Saha et al. 2011"
    target: ClassVar[Target] = "binary"
    tally_loss: ClassVar[tuple[int, float]] = (HINGE, 0.0)
    kind: ClassVar[int]

    rate: float = parameter(0.1, "how fast the relations follow the weights", Real(above=0))
    warmup: int = parameter(200, "events during which all tasks are independent", Integer(at_least=0))
    condition: str = parameter("mistake", "when a task learns: on mistakes, or on margins below 1", Choice(CONDITIONS))
    C: float = parameter(1.0, "size of a step", Real(above=0))
    matrix_limit: int = parameter(LIMIT, "most bytes that the tables of all pairs of tasks may take", Bytes())

    def __post_init__(self) -> None:
        check(self)

    @property
    def traits(self) -> Traits:
        return Traits(
            counts_tasks=True,
            mistake_driven=self.condition == "mistake",
            cannot_forget="the matrix of relations was learned from all tasks together, and holds what each of them is",
        )

    @property
    def hooks(self) -> Hooks:
        return Hooks(refuse=self.refuse)

    @property
    def plan(self) -> Plan:
        return plan(self.kind)

    @property
    def hyper(self) -> Hyper:
        """The parameters as compiled code takes them."""
        return Hyper(CONDITIONS.index(self.condition), self.C, self.kind, self.rate, float(self.warmup))

    @property
    def kernels(self) -> Kernels:
        return KERNELS

    def init(self, tasks: Sequence[Name] = ()) -> Related:
        return blank(len(tasks), self.kind)

    def refuse(self, tasks: int, features: int) -> None:
        """Raise ValueError if numbers for all pairs of tasks would take too much."""
        refuse_matrix(self, tasks, 3 if self.kind == VONNEUMANN else 2)

    def weights(self, state: Related, tasks: int, features: int) -> Array:
        return weight_matrix(state, self.plan, tasks, features)

    def explain(self, state: Related, slot: int, tasks: int, indices: Ints) -> Shares:
        return shares(state, slot, indices)

    def relations(self, state: Related, tasks: int) -> Array:
        """A^-1 as it was learned; a task that has not come yet is tied to nobody."""
        known = int(state.counts[0])
        found = np.eye(tasks)
        found[:known, :known] = state.inverse[:known, :known]
        return found


@dataclass(frozen=True)
class OmtrlLogdet(_Omtrl):
    """Perceptrons with learned task relationships: steps of the LogDet divergence.

    Take it when you want relations, including negative ones.

    `W += C y A^-1[:, i] x'`, then `A^-1 += rate W W'`, scaled to trace N.
    """

    name: ClassVar[str] = "omtrl-logdet"
    kind: ClassVar[int] = LOGDET


@dataclass(frozen=True)
class OmtrlVonneumann(_Omtrl):
    """Perceptrons with learned task relationships: steps of the von Neumann divergence.

    Take it when you compare with the papers.

    The same step, then `log A^-1 += rate W W'`.
    """

    name: ClassVar[str] = "omtrl-vonneumann"
    kind: ClassVar[int] = VONNEUMANN


@dataclass(frozen=True)
class OmtrlCov(_Omtrl):
    """Perceptrons with learned task relationships: the covariance of the tasks' weights.

    Take it when you want relations, including negative ones, with nothing to tune.

    The same step, then `A^-1 = cov(W) + 1e-3 I`, over the features that have occurred.
    """

    name: ClassVar[str] = "omtrl-cov"
    kind: ClassVar[int] = COVARIANCE
