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

Interpretation. The rate is a number; or by theory (Prop. 2) if `D`, `L`, `sigma` and `T` are given; or adaptive (Prop.
6), eta_t = c / sqrt(sum of |g|^2 so far, this one included), which needs no horizon. Without any of them the rate is
adaptive with D = 1, sigma = 0.3, and nothing is projected. Prop. 2 sets b = N, which the paper's own words contradict
at sigma = 0 (b = inf): that is `rule="paper"`; `rule="best"` minimises the bound over b. The Mahalanobis ball has the
least radius that holds all comparators, rho^2 = N D^2 (1 + b sigma^2 (N-1)/N), slightly less than the paper's. Tasks
that arrive later start at the shared part, and what contains N is computed again; the guarantees speak of tasks
declared up front (`tasks=`).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from weft.learner import Traits
from weft.learners.descent.exchanging import exchange, reason
from weft.learners.descent.forms import OnCliques, OnGraph, OnTable, euclidean_form
from weft.learners.descent.parameters import DEFAULT_D, DEFAULT_SIGMA, Descent
from weft.learners.descent.rule import (
    ADAPTIVE,
    BALL,
    CONSTANT,
    MAHALANOBIS,
    NONE,
    PROJECTIONS,
    THEORY,
    V_SIGMA,
    VARIANCE,
    Rule,
)
from weft.learners.descent.tuning import adaptive_constant
from weft.learners.parameters import Choice, Real, number, parameter
from weft.maths.losses import CODES

RESYNC = 100_000
"""Rounds after which running sums are computed again."""


@dataclass(frozen=True)
class MtOgd(Descent):
    """Multitask online gradient descent: own and shared parts, tied by a clique or a graph of tasks.

    Take it when tasks are similar and some have few events: start here.

    `x_k -= eta_t A^-1_ki g` for every task k at an event of task i, then a projection. Defaults: adaptive steps with D
    = 1 and sigma = 0.3, b the number of tasks, no projection.
    """

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
        given = [name for name in ("D", "L", "sigma", "T") if getattr(self, name) is not None]
        if self.eta is None and given:
            self.need(("D", "L", "sigma", "T"), "a rate by theory (or give eta)")
            if self.named is not None:
                raise ValueError(
                    f'{self.name}: on a graph D and sigma do not determine the rate; give eta or "adaptive"'
                )
        if self.eta == "adaptive":
            self.need(("D", "sigma"), 'eta="adaptive"')
        if self.projection_code == MAHALANOBIS and self.radius is None:
            self.need(("D", "sigma"), 'the radius of projection="mahalanobis" (or give radius)')
        if self.projection_code == BALL:
            self.need(("D",), 'projection="ball"')
        if self.projection_code in (VARIANCE, V_SIGMA):
            self.need(("D", "sigma"), f'projection="{self.projection}"')
            if self.named is not None:
                raise ValueError(
                    f'{self.name}: projection="{self.projection}" is for the clique of all tasks; '
                    'a graph takes "none", "mahalanobis" or "ball"'
                )
        if self.radius is not None and self.projection_code != MAHALANOBIS:
            raise ValueError(f'{self.name}: radius belongs to projection="mahalanobis"')
        if self.rule == "best" and self.sigma is None and self.b is None and self.named is None:
            raise ValueError(f'{self.name}: rule="best" finds b from sigma; give sigma')

    @property
    def traits(self) -> Traits:
        rule = self.form.hyper
        cannot = reason(rule, self.named is not None)
        return replace(
            super().traits, has_policies=True, exchange=None if cannot else exchange(rule), cannot_shard=cannot
        )

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
    def form(self) -> OnCliques | OnGraph | OnTable:
        plain = self.eta is None and self.D is None  # nothing given: adaptive steps with what is assumed
        D, sigma = (DEFAULT_D, DEFAULT_SIGMA) if plain else (self.D, self.sigma)
        eta, radius = self.eta if isinstance(self.eta, float) else None, self.radius
        if self.named is not None:
            if radius is None and D is not None and sigma is not None:
                radius = self.largest_norm(D, sigma)
            if self.rate == ADAPTIVE and radius is not None:
                eta = adaptive_constant(self.named.matrix, radius)
        rule = Rule(
            loss=CODES[self.loss],
            epsilon=self.epsilon,
            rate=self.rate,
            eta=number(eta),
            b=self.given_b,
            best=self.rule == "best",
            D=number(D),
            L=number(self.L),
            sigma=number(sigma),
            T=number(self.T),
            projection=self.projection_code,
            radius=number(radius),
            clusters=self.graph_kind == "cliques",
            resync=RESYNC,
        )
        return euclidean_form(rule, self.named)
