r"""Multiple tasks with a shared loss: the consequences of a round's errors are shared, not the weights.

Dekel, Long and Singer (2007). Every round the losses l_j of its active tasks are combined by an absolute norm into one
number g = ||l||, and every task moves by w_j += tau_j v_j, where v_j is y_j x_j for the hinge loss (their Fig. 1). The
three learners differ in tau alone:

    finite-horizon    tau = argmax { tau.l : ||tau||* <= C }                               Eq. 9
    infinite-horizon  tau = argmax { tau.l : ||tau||* <= min(C, ||l|| / (R^2 rho^2)) }     Eq. 16
    implicit          tau = argmax { sum_j 2 tau_j l_j - tau_j^2 |v_j|^2 : tau >= 0, ||tau||* <= C }    Lemma 8

The norm says what matters: `l1` treats tasks as independent, `linf` cares for the worst task of a round only, `3-max`
for its three worst, `l2` lies between. `implicit` with `norm="l2"` is what later papers call OSGL.

>>> import weft
>>> X, y = [[1.0, 0.0], [0.0, 2.0]], [1, -1]
>>> model = weft.Model("implicit", norm="linf", C=0.3)
>>> model.learn(weft.Stream(X, y, ["ann", "bob"], rounds=[0, 0])).tolist()
[0.0, 0.0]
>>> model.weights().round(3).tolist()
[[0.24, 0.0], [0.0, -0.12]]

Interpretation. Dormant tasks (absent, or without a label) are left out of the round, which is the same as a loss of 0,
and the remoteness rho is that of the *dual* norm for the tasks active in the round. Without `C` the explicit
finite-horizon learner takes 1/(sqrt(T) R^2) if `T` and `R` are given and 1 otherwise; the other two take 1/(R^2 rho^2),
with R the largest row of the first round that has one if it is not given, and keep it. A row of zeros cannot move its
task, but its loss still counts in the norm. Where the maximiser is not unique, the task that comes first in the round
wins.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from weft.compiled.arrays import Array, Ints
from weft.learner import Hooks, Kept, Kernels, Shares, Target, Traits
from weft.learners.own_parts import relation_matrix, shares, weight_matrix
from weft.learners.parameters import Choice, Parsed, Real, check, parameter
from weft.learners.shared_loss import dual, primal
from weft.learners.shared_loss.rounds import FINITE_HORIZON, IMPLICIT, INFINITE_HORIZON, LONGEST, Hyper
from weft.maths import kernels, norms
from weft.maths.kernels import Kernel
from weft.maths.losses import CODES
from weft.storage.state import Plan

LOSSES = ("hinge", "epsilon-insensitive", "uniclass")
_TARGETS: dict[str, Target] = {"hinge": "binary", "epsilon-insensitive": "real", "uniclass": "point"}


class Form(NamedTuple):
    """The same rule over another state: weights, points, or kept rows."""

    kernels: Kernels
    plan: Plan
    blank: Callable[[float, Plan], Any]


_PRIMAL = Kernels(primal.predict, primal.learn, primal.predict_one, primal.learn_one)
PRIMAL = Form(_PRIMAL, primal.PLAN, primal.blank)
POINTS = Form(_PRIMAL, primal.POINT_PLAN, primal.blank)
DUAL = Form(Kernels(dual.predict, dual.learn, dual.predict_one, dual.learn_one), dual.PLAN, dual.blank)


def _parse_norm(norm: Any) -> str:
    return str(norms.parse(norm))


@dataclass(frozen=True)
class _SharedLoss:
    """What the three learners share: everything but the size of the step."""

    name: ClassVar[str]
    rule: ClassVar[int]
    paper: ClassVar[str] = "Dekel, Long and Singer 2007"

    norm: str = parameter(
        "l2",
        "how a round's losses become one: what matters is their sum (l1), the worst (linf), the r worst (r-max) ...",
        Parsed('a norm such as "l1", "l2", "l1.5", "linf", "3-max", "k(1,inf,2.5)"', _parse_norm),
    )
    C: float | None = parameter(
        None,
        "aggressiveness: bounds the round's step; None: 1/(sqrt(T) R^2) if T and R are given, else 1 for "
        "finite-horizon and 1/(R^2 rho^2) of the first round for the others",
        Real(above=0, optional=True),
    )
    R: float | None = parameter(
        None,
        "bound on the Euclidean norm of every row; None: taken from the rows",
        Real(above=0, optional=True),
    )
    loss: str = parameter(
        "hinge",
        "hinge classifies, epsilon-insensitive predicts a number, uniclass predicts the row itself",
        Choice(LOSSES),
    )
    epsilon: float = parameter(
        0.1, "deviations up to this cost nothing (epsilon-insensitive and uniclass loss)", Real(at_least=0)
    )
    kernel: Kernel | None = parameter(
        None,
        "None: weights; else the kernel form, which keeps the rows it learned from",
        Parsed(
            'None, "linear", "poly", "gaussian", or a dict such as {"name": "poly", "degree": 2}',
            kernels.parse,
        ),
    )

    def __post_init__(self) -> None:
        check(self)
        if self.kernel is not None and self.loss == "uniclass":
            raise ValueError(f"{self.name}: the uniclass loss has no kernel form; leave kernel=None")

    @property
    def traits(self) -> Traits:
        return Traits(keeps_rows=self.kernel is not None)

    @property
    def hooks(self) -> Hooks:
        return Hooks(warning=self.warning)

    @property
    def start_C(self) -> float:
        """C if it is known before the first round, else 0."""
        if self.C is not None:
            return self.C
        if self.horizon is not None and self.R is not None:
            return 1.0 / (math.sqrt(self.horizon) * self.R * self.R)
        return 1.0 if self.rule == FINITE_HORIZON else 0.0

    @property
    def horizon(self) -> float | None:
        """The number of rounds to come, if the learner uses it and it is known."""
        return None

    @property
    def form(self) -> Form:
        """Weights, or kept rows if there is a kernel."""
        if self.kernel is not None:
            return DUAL
        return POINTS if self.loss == "uniclass" else PRIMAL

    @property
    def hyper(self) -> Hyper:
        """The parameters as compiled code takes them."""
        kernel = self.kernel or Kernel()
        norm = norms.parse(self.norm).code
        return Hyper(self.rule, self.R or 0.0, CODES[self.loss], self.epsilon, norm, kernel.code)

    @property
    def plan(self) -> Plan:
        return self.form.plan

    @property
    def target(self) -> Target:
        return _TARGETS[self.loss]

    @property
    def tally_loss(self) -> tuple[int, float]:
        return CODES[self.loss], self.epsilon

    @property
    def kernels(self) -> Kernels:
        return self.form.kernels

    def init(self, tasks: Sequence[Any] = ()) -> Any:
        return self.form.blank(self.start_C, self.plan)

    def weights(self, state: Any, tasks: int, features: int) -> Array:
        if self.kernel is not None:
            raise ValueError(f"{self.name} with a kernel has no weight matrix; see model.support()")
        return weight_matrix(state, self.plan, tasks, features)

    def support(self, state: Any, tasks: int) -> list[Kept]:
        """The rows that the kernel form keeps, oldest first."""
        if self.kernel is None:
            raise ValueError(f"{self.name} without a kernel keeps no rows; see model.weights()")
        return dual.support(state)

    def explain(self, state: Any, slot: int, tasks: int, indices: Ints) -> Shares:
        """Where a task's weights come from, for some features: from its own events."""
        if self.kernel is not None:
            raise ValueError(f"{self.name} with a kernel has no weights to explain a score by; see model.support()")
        if self.loss == "uniclass":
            raise ValueError(
                f"{self.name}: with the uniclass loss a score is a distance, which does not split into parts"
            )
        return shares(state, slot, indices)

    def relations(self, state: Any, tasks: int) -> Array:
        return relation_matrix(tasks)

    def warning(self, state: Any) -> str | None:
        """A sentence if the stream broke what the guarantees assume, "" if not yet, None if it cannot."""
        if self.R is None:
            return None
        largest = math.sqrt(float(state.scalars[LONGEST]))
        if largest > self.R * (1 + 1e-12):
            return (
                f"{self.name}: a row of norm {largest:.6g} exceeds R={self.R:g}, so the loss bounds do not hold; "
                f"give R >= {largest:.6g} or scale the rows"
            )
        return ""


_HORIZON = parameter(
    None,
    "number of rounds to come, if known; with R it gives C = 1/(sqrt(T) R^2)",
    Real(above=0, optional=True),
)


@dataclass(frozen=True)
class FiniteHorizon(_SharedLoss):
    """Finite-horizon multitask Perceptron: a step of fixed dual norm C along the norm's maximiser.

    Take it when the number of rounds is known and you need its bound.

    `tau = argmax { tau.l : ||tau||* <= C }`. Without `C`: 1/(sqrt(T) R^2) if both `T` and `R` are given, else 1.
    """

    name: ClassVar[str] = "finite-horizon"
    rule: ClassVar[int] = FINITE_HORIZON

    T: float | None = _HORIZON

    @property
    def horizon(self) -> float | None:
        """The number of rounds to come, if it is known."""
        return self.T


@dataclass(frozen=True)
class InfiniteHorizon(_SharedLoss):
    """Infinite-horizon multitask Perceptron: the same direction, never a step so long that it overshoots.

    Take it when the stream has no end and steps must be cheap.

    The same direction, `||tau||* = min(C, ||l|| / (R^2 rho^2))`. Without `C`: 1/(R^2 rho^2) at the first round with a
    non-zero row, with the length of that round's longest row if `R` is not given either; then kept.
    """

    name: ClassVar[str] = "infinite-horizon"
    rule: ClassVar[int] = INFINITE_HORIZON


@dataclass(frozen=True)
class Implicit(_SharedLoss):
    """Implicit update: the step that trades the round's shared loss against the change of all weights exactly.

    Take it when events arrive together and a norm of their losses matters: start here.

    `tau = argmax { sum_j 2 tau_j l_j - tau_j^2 n_j^2 : tau >= 0, ||tau||* <= C }`. Without `C`: 1/(sqrt(T) R^2) if both
    `T` and `R` are given, else as `infinite-horizon`.
    """

    name: ClassVar[str] = "implicit"
    rule: ClassVar[int] = IMPLICIT

    T: float | None = _HORIZON

    @property
    def horizon(self) -> float | None:
        """The number of rounds to come, if it is known."""
        return self.T
