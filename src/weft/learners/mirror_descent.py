r"""Multitask online gradient descent: every task's step moves the others too, as far as they are alike.

Cesa-Bianchi, Laforgue, Paudice and Pontil (2022), Multitask Online Mirror Descent. With an interaction matrix A over
the N tasks, the task i of an event with row phi predicts <x_i, phi>, suffers a convex loss with gradient g, and

    x  <-  Proj_A ( x - eta_t A^-1[:, i] g )                                                            Eq. 7

On the clique, A = I + b (I - 11^T/N), every model is an own part plus a shared one, and an event costs no more than its
non-zeros, whatever the number of tasks. b = 0 makes the tasks independent, b = inf makes them one.

>>> import weft
>>> model = weft.Model("mt-ogd", b=1.0, eta=0.5, loss="square", tasks=["ann", "bob"])
>>> model.learn_one({"x": 1.0}, 2.0, "ann"), model.learn_one({"x": 1.0}, 2.0, "bob")
(0.0, 0.5)
>>> model.weights().tolist(), model.relations().tolist()
([[1.875], [1.625]], [[0.75, 0.25], [0.25, 0.75]])

Reading. The rate is a number; or by theory (Prop. 2) if `D`, `L`, `sigma` and `T` are given; or adaptive (Prop. 6),
eta_t = c / sqrt(sum of |g|^2 so far, this one included), which needs no horizon. Without any of them the rate is adaptive
with D = 1, sigma = 0.3, and nothing is projected. Prop. 2 sets b = N, which its own text contradicts at sigma = 0 (b = inf): that is
`rule="paper"`; `rule="best"` minimises its bound over b. The Mahalanobis ball has the smallest radius that holds all comparators,
N D^2 (1 + b sigma^2 (N-1)/N), slightly less than the paper's. Tasks that turn up later start at the shared part,
and what contains N is computed again; the guarantees speak of tasks declared up front (`tasks=`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from weft.batch import Ints
from weft.geometry.descent import (
    ADAPTIVE,
    BALL,
    CONSTANT,
    LEADER,
    LEADER_SQRT,
    MAHALANOBIS,
    NONE,
    PROJECTIONS,
    THEORY,
    V_SIGMA,
    VARIANCE,
    Rule,
)
from weft.geometry.interaction import CliqueBlocks, General
from weft.geometry.losses import CODES
from weft.geometry.tuning import adaptive_constant
from weft.learner import Kernels
from weft.learners import descent_dense, descent_graph, descent_parts
from weft.learners.descent_parameters import DEFAULT_D, DEFAULT_SIGMA, Descent, largest_norm
from weft.learners.parameters import Choice, Real, parameter
from weft.names import Name
from weft.state import Array, Plan

RESYNC = 100_000
"""Rounds after which sums kept in passing are made anew."""


@dataclass(frozen=True)
class _Euclidean(Descent):
    """Descent in Euclidean geometry: which of the three forms of the models fits, and what they hold."""

    @property
    def projection_code(self) -> int:
        return NONE

    @property
    def form(self) -> ModuleType:
        """Parts on cliques, neighbours on graphs, a dense table where a projection moves every task."""
        if self.projection_code in (BALL, V_SIGMA):
            return descent_dense
        return descent_graph if self.named and self.graph_kind != "cliques" else descent_parts

    @property
    def graph_kind(self) -> str:
        return "complete" if self.graph is None else self.graph.kind

    @cached_property
    def matrix(self) -> CliqueBlocks | General:
        """A of a graph, in the order of its names."""
        return self.interaction(self.task_names)

    @property
    def plan(self) -> Plan:
        if self.form is not descent_parts:
            plan: Plan = self.form.PLAN
            return plan
        clusters = len(self.matrix.sizes) if self.named and isinstance(self.matrix, CliqueBlocks) else 1
        return descent_parts.plan(clusters, self.projection_code == VARIANCE)

    @property
    def kernels(self) -> Kernels:
        return Kernels(self.form.predict, self.form.learn, self.form.predict_one, self.form.learn_one)

    def _clusters(self, order: Ints) -> descent_parts.Clusters:
        A = self.matrix
        assert isinstance(A, CliqueBlocks)
        return descent_parts.Clusters(order, A.labels[order], *A.coefficients(-1.0))

    def init(self, tasks: Sequence[Name] = ()) -> Any:
        if self.graph is None or not self.named:
            return self.form.blank(len(tasks))
        order = self.graph.order(tasks)
        if self.form is descent_parts:
            return descent_parts.blank(len(tasks), self._clusters(order))
        return self.form.blank_on_graph(self.matrix, order)

    @property
    def prepares(self) -> bool:
        """Are rows of A^-1 solved for when their task turns up?"""
        return self.form is descent_graph

    def prepare(self, state: Any, needed: Ints) -> Any:
        """The state with the rows of A^-1 that the tasks in slots `needed` read."""
        return descent_graph.with_rows(state, self.matrix, needed)

    def parts(self, state: Any, tasks: int, features: int) -> tuple[Array, Array]:
        """Own and shared part of every model, (tasks, features) each; models are their sums."""
        if self.form is descent_parts:
            return descent_parts.both_parts(self.hyper, state, self.plan, tasks, features)
        if self.form is descent_graph:
            return descent_graph.both_parts(self.hyper, state, self.matrix, features)
        return descent_dense.both_parts(state, tasks, features)

    def weights(self, state: Any, tasks: int, features: int) -> Array:
        own, shared = self.parts(state, tasks, features)
        return own + shared

    def relations(self, state: Any, tasks: int) -> Array:
        if not self.named:
            return super().relations(state, tasks)
        inverse, order = self.matrix.dense(-1.0), state.order
        return inverse[np.ix_(order, order)]


@dataclass(frozen=True)
class MtOgd(_Euclidean):
    """Multitask online gradient descent: own and shared parts, tied by a clique or a graph of tasks."""

    name: ClassVar[str] = "mt-ogd"

    eta: float | str | None = parameter(
        None,
        "the rate; None: by theory from D, L, sigma and T, or adaptive if none of them is given",
        Real(above=0, optional=True, words=("adaptive",)),
    )
    D: float | None = parameter(None, "bound on the length of every task's model", Real(above=0, optional=True))
    L: float | None = parameter(None, "bound on the length of every gradient", Real(above=0, optional=True))
    sigma: float | None = parameter(
        None,
        "how much tasks differ: their variance is at most sigma^2 D^2",
        Real(at_least=0, at_most=1, optional=True),
    )
    T: float | None = parameter(None, "number of rounds to come", Real(above=0, optional=True))
    projection: str | None = parameter(
        None,
        "where models are kept: nowhere, in the Mahalanobis ball of `radius`, every task in the ball of radius D, all "
        "within the variance sigma^2 D^2, or both; None: mahalanobis with adaptive steps, else none",
        Choice(PROJECTIONS, optional=True),
    )
    radius: float | None = parameter(
        None, "of the Mahalanobis ball; None: the smallest that D and sigma allow", Real(above=0, optional=True)
    )
    rule: str = parameter("paper", "how b follows from N and sigma", Choice(("paper", "best")))

    def _settle(self) -> None:
        given = [letter for letter in ("D", "L", "sigma", "T") if getattr(self, letter) is not None]
        if self.eta is None and given:
            self._need(("D", "L", "sigma", "T"), "a rate by theory (or give eta)")
            if self.named:
                raise ValueError(f'{self.name}: on a graph D and sigma do not determine the rate; give eta or "adaptive"')
        if self.eta == "adaptive":
            self._need(("D", "sigma"), "adaptive steps")
        if self.projection_code == MAHALANOBIS and self.radius is None:
            self._need(("D", "sigma"), 'the radius of projection="mahalanobis" (or give radius)')
        if self.projection_code == BALL:
            self._need(("D",), 'projection="ball"')
        if self.projection_code in (VARIANCE, V_SIGMA):
            self._need(("D", "sigma"), f'projection="{self.projection}"')
            if self.named:
                raise ValueError(
                    f'{self.name}: projection="{self.projection}" is for the clique of all tasks; '
                    'a graph takes "none", "mahalanobis" or "ball"'
                )
        if self.radius is not None and self.projection_code != MAHALANOBIS:
            raise ValueError(f'{self.name}: radius belongs to projection="mahalanobis"')
        if self.rule == "best" and self.sigma is None and self.b is None and not self.named:
            raise ValueError(f'{self.name}: rule="best" finds b from sigma; give sigma')

    def _need(self, letters: tuple[str, ...], what: str) -> None:
        missing = [letter for letter in letters if getattr(self, letter) is None]
        if missing:
            raise ValueError(f"{self.name}: {what} needs {', '.join(letters)}; missing: {', '.join(missing)}")

    @property
    def projection_code(self) -> int:
        if self.projection is None:
            return MAHALANOBIS if self.eta == "adaptive" else NONE
        return PROJECTIONS.index(self.projection)

    @property
    def rate(self) -> int:
        if self.eta is None:
            return ADAPTIVE if self.T is None else THEORY
        return ADAPTIVE if self.eta == "adaptive" else CONSTANT

    @cached_property
    def hyper(self) -> Rule:
        """The parameters as compiled code takes them."""
        plain = self.eta is None and self.D is None  # nothing given: adaptive steps with what is assumed
        D, sigma = (DEFAULT_D, DEFAULT_SIGMA) if plain else (_number(self.D), _number(self.sigma))
        eta, radius = self.eta if isinstance(self.eta, float) else math.nan, _number(self.radius)
        if self.named:
            if math.isnan(radius) and not math.isnan(D) and not math.isnan(sigma):
                radius = largest_norm(self.matrix, D, sigma, laplacian=self.graph_kind != "matrix")
            if self.rate == ADAPTIVE:
                eta = adaptive_constant(self.matrix, radius)
        return Rule(
            loss=CODES[self.loss],
            epsilon=self.epsilon,
            rate=self.rate,
            eta=eta,
            b=0.0 if self.named else self.given_b,
            best=self.rule == "best",
            D=D,
            L=_number(self.L),
            sigma=sigma,
            T=_number(self.T),
            projection=self.projection_code,
            radius=radius,
            clusters=self.graph_kind == "cliques",
            resync=RESYNC,
        )


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
