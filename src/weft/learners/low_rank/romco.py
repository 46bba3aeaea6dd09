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

Interpretation. All columns are shrunk, also those of tasks that are absent or have no loss: on streams of one task a
round, that is up to m times as often, so that the lambdas should be smaller by as much. A round without labels does not
count. `schedule` multiplies both steps by 1, 1/sqrt(t) or kappa^(t-1) in round t, which counts rounds without loss as
well; with `rho_only` it multiplies rho alone, and `rho0` replaces eta1 lam1: the paper has 1/rho begin at 1 and grow,
which its grids for eta1 and lam1 contradict. The log-determinant sends no singular value to 0, contrary to a remark in
the paper: `rank` counts those that can be told from 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.learner import Hooks, Kernels, Shares, Target, Traits
from weft.learners.low_rank import pieces
from weft.learners.low_rank.personal import LENGTHS, NOW, Personal, vectors
from weft.learners.low_rank.pieces import FLOOR
from weft.learners.low_rank.rounds import KERNELS
from weft.learners.low_rank.state import PLAN, SCALARS, SCHEDULES, TRACE, Hyper, Parts
from weft.learners.parameters import Bytes, Choice, Flag, Real, check, parameter
from weft.learners.task_matrix import LIMIT, refuse_tables
from weft.maths.losses import HINGE
from weft.maths.proximal import CONVEX
from weft.maths.similarity import cosines
from weft.storage.state import Plan


@dataclass(frozen=True)
class _Romco:
    """What both have in common."""

    name: ClassVar[str]
    logd: ClassVar[bool]
    paper: ClassVar[str] = "Yang, Zhao and Gao 2017"
    plan: ClassVar[Plan] = PLAN
    target: ClassVar[Target] = "binary"
    tally_loss: ClassVar[tuple[int, float]] = (HINGE, 0.0)

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
    def traits(self) -> Traits:
        return Traits(
            sums_over_tasks=True,
            iterates=True,
            conservative=not self.always_prox,
            similarities=True,
            blas=True,
            cannot_forget="its low-rank part is a factorisation of all models together",
            trace=TRACE,
        )

    @property
    def hooks(self) -> Hooks:
        return Hooks(refuse=self.refuse)

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
        U = pieces.zeros(0, 0, room=0, nonzeros=0)
        return Parts(*U, np.zeros((0, 0)), np.zeros((0, LENGTHS)), np.zeros(SCALARS), np.zeros(0))

    def parts(self, state: Parts, tasks: int, features: int) -> tuple[Array, Array]:
        """The low-rank and the personal part, (tasks, features) each."""
        U = pieces.matrix(state.U)[:features, :tasks].T.copy()
        return U, vectors(state.personal)[:tasks, :features]

    def weights(self, state: Parts, tasks: int, features: int) -> Array:
        low, personal = self.parts(state, tasks, features)
        return low + personal

    def relations(self, state: Parts, tasks: int) -> Array:
        """Cosines between the columns of the low-rank part; 0 where a column is 0, and 1 on the diagonal."""
        return cosines(pieces.matrix(state.U)[:, :tasks].T)

    def outliers(self, state: Parts, tasks: int, features: int) -> Floats:
        """The lengths of the personal parts."""
        return state.lengths[:tasks, NOW].copy()

    def rank(self, state: Parts) -> int:
        """How many singular values of the low-rank part can be told from 0."""
        U = pieces.matrix(state.U)
        s = np.linalg.svd(U, compute_uv=False) if U.size else np.zeros(1)
        return int(np.count_nonzero(s > FLOOR * s[0]))

    def explain(self, state: Parts, slot: int, tasks: int, indices: Ints) -> Shares:
        """The personal part is a task's own, the low-rank part is shared."""
        own, shared = np.zeros(len(indices)), np.zeros(len(indices))
        if slot < tasks:
            shared = pieces.column(state.U, slot)[indices]
            own = vectors(Personal(state.V[slot : slot + 1], state.lengths[slot : slot + 1]))[0, indices]
        return Shares(own, shared, np.zeros(0, np.int64), np.zeros((0, len(indices))))


@dataclass(frozen=True)
class RomcoNucl(_Romco):
    """Low rank by the nuclear norm, and personal parts.

    Take it when tasks combine few unknown directions and you need a bound.

    Classifies, like all of this family. Models are u_i + v_i; with g the gradient of a round's hinge losses, the
    singular values of U - eta1 g shrink by eta1 lam1 and the columns of V - eta2 g by eta2 lam2, in every round with a
    loss. On streams with one task per round, divide both lambdas by the number of tasks.
    """

    name: ClassVar[str] = "romco-nucl"
    logd: ClassVar[bool] = False


@dataclass(frozen=True)
class RomcoLogd(_Romco):
    """Low rank by the log-determinant, and personal parts.

    Take it when tasks combine few unknown directions: start here for low rank online.

    The same, with singular values at the minimum of (s - h)^2 / 2 + rho log(1 + s^2), rho = eta1 lam1: large ones
    hardly change, small ones are divided by 1 + 2 rho, and none becomes 0.
    """

    name: ClassVar[str] = "romco-logd"
    logd: ClassVar[bool] = True

    @property
    def hooks(self) -> Hooks:
        return Hooks(refuse=self.refuse, warning=self.warning)

    def warning(self, state: Parts) -> str:
        """Beyond rho = 4 the step has two local minima and leaps from one to the other."""
        if self.rho <= CONVEX:
            return ""
        return (
            f"romco-logd: rho = {self.rho:g} is above 4, where the shrinkage of a singular value leaps as the value "
            "grows; take a smaller eta1, lam1 or rho0"
        )
