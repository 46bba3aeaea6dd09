r"""Collaborative learners: every task has a model of its own, which is drawn to one global model at each step.

    coml      personal models are Passive-Aggressive        Li et al. 2014
    cw-col    they are Gaussians, with confidence           named by Yang, Zhao and Gao 2017

The rules are in the modules of these names.

>>> import weft
>>> model = weft.Model("coml", e2=3.0)
>>> model.learn_one({"free": 1.0}, +1, "ann"), model.learn_one({"free": 1.0}, +1, "bob")
(0.0, 0.0)
>>> model.weights().tolist(), model.outliers().tolist()
([[0.25], [1.0]], [0.75, 0.0])

Interpretation. Yang, Zhao and Gao (2017) compare themselves with both, and define neither; `coml` follows its own
paper, and `cw-col` is derived here from the sentence that the models are confidence-weighted. With e2 = 0 `coml` is
`pa`. The personal model predicts, so that a new task begins with scores of 0, and takes the global model in with its
first step. Rows of zeros change nothing. In a round of several rows all are scored, then every row looks at its margins
again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.learner import Hooks, Kernels, Shares, Target, Traits
from weft.learners.collaborative import coml, cw_col
from weft.learners.parameters import Bytes, Real, check, parameter
from weft.learners.task_matrix import LIMIT, refuse_tables
from weft.maths.losses import HINGE
from weft.maths.similarity import cosines
from weft.storage.state import Plan


@dataclass(frozen=True)
class _Collaborative:
    """What both have in common."""

    name: ClassVar[str]
    tables: ClassVar[int]
    traits: ClassVar[Traits] = Traits(similarities=True, keeps_integers=False)
    target: ClassVar[Target] = "binary"
    tally_loss: ClassVar[tuple[int, float]] = (HINGE, 0.0)

    def __post_init__(self) -> None:
        check(self)

    @property
    def hooks(self) -> Hooks:
        return Hooks(refuse=self.refuse)

    def refuse(self, tasks: int, features: int) -> None:
        """Too many tasks or features for whole tables."""
        refuse_tables(self, tasks, features, self.tables)

    def weights(self, state: Any, tasks: int, features: int) -> Array:
        found: Array = state.u[:tasks, :features].copy()
        return found

    def relations(self, state: Any, tasks: int) -> Array:
        """Cosines between the tasks' models; tasks are tied to the global model only, see `outliers`."""
        return cosines(state.u[:tasks])

    def outliers(self, state: Any, tasks: int, features: int) -> Floats:
        """How far every personal model is from the global one."""
        away: Floats = np.linalg.norm(state.u[:tasks, :features] - state.w[:features], axis=1)
        return away

    def explain(self, state: Any, slot: int, tasks: int, indices: Ints) -> Shares:
        """The global model is shared, and a task's own is what it has beyond; a new task has nothing yet."""
        own, shared = np.zeros(len(indices)), np.zeros(len(indices))
        if slot < tasks:
            shared = state.w[indices]
            own = state.u[slot, indices] - shared
        return Shares(own, shared, np.zeros(0, np.int64), np.zeros((0, len(indices))))


@dataclass(frozen=True)
class Coml(_Collaborative):
    """Personal Passive-Aggressive models that are drawn to a global one.

    Take it when each task differs a little from one common model.

    `u_k = m + min(C/(e1 + e2), l/|x|^2) y x`, m = (e1 u_k + e2 w)/(e1 + e2), where the margin is below 1; then w by
    PA-I. A step costs O(features).
    """

    name: ClassVar[str] = "coml"
    paper: ClassVar[str] = "Li et al. 2014"
    kernels: ClassVar[Kernels] = coml.KERNELS
    tables: ClassVar[int] = 1
    plan: ClassVar[Plan] = Plan(axes={"u": ("task", "feature"), "w": ("feature",)})

    C: float = parameter(1.0, "aggressiveness: the largest step of the global model", Real(above=0))
    e1: float = parameter(1.0, "how much a personal model keeps to itself", Real(above=0, at_most=1e100))
    e2: float = parameter(1.0, "how much it is drawn to the global model", Real(at_least=0, at_most=1e100))
    matrix_limit: int = parameter(LIMIT, "the most bytes for a table of tasks x features", Bytes())

    @property
    def hyper(self) -> coml.Hyper:
        """The parameters as compiled code takes them."""
        return coml.Hyper(self.C, self.e1, self.e2)

    def init(self, tasks: Sequence[Any] = ()) -> coml.Models:
        return coml.Models(np.zeros((0, 0)), np.zeros(0))


@dataclass(frozen=True)
class CwCol(_Collaborative):
    """Personal confidence-weighted models that are drawn to a global one.

    Take it when each task differs a little from one common model, and features differ in how often they occur.

    The same with Gaussians with a variance per feature: own and global model are mixed by their precisions, then both
    take a step of AROW.
    """

    name: ClassVar[str] = "cw-col"
    paper: ClassVar[str] = "Yang, Zhao and Gao 2017"
    kernels: ClassVar[Kernels] = cw_col.KERNELS
    tables: ClassVar[int] = 2
    plan: ClassVar[Plan] = Plan(
        axes={"u": ("task", "feature"), "w": ("feature",), "personal": ("task", "feature"), "shared": ("feature",)}
    )

    r: float = parameter(1.0, "how slowly steps and variances shrink", Real(above=0))
    mix: float = parameter(
        0.5, "weight of the personal model in the prior of a step; 1: no global model", Real(at_least=0, at_most=1)
    )
    matrix_limit: int = parameter(LIMIT, "the most bytes for two tables of tasks x features", Bytes())

    @property
    def hyper(self) -> cw_col.Hyper:
        """The parameters as compiled code takes them."""
        return cw_col.Hyper(self.r, self.mix)

    def init(self, tasks: Sequence[Any] = ()) -> cw_col.Gaussians:
        return cw_col.Gaussians(np.zeros((0, 0)), np.zeros(0), np.zeros((0, 0)), np.zeros(0))
