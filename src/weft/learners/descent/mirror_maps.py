r"""Multitask mirror descent in other geometries: p-norms, which favour few relevant features, and the entropy.

Cesa-Bianchi, Laforgue, Paudice and Pontil (2022), Sec. 3.2, 3.3 and 4. The models are x = A^{-1/2} y, and every task's
y is the image of a dual vector that gradients move (`descent_mirror`):

    mt-pnorm   psi = |y|_p^2 / 2, 1 < p <= 2; p = 2 is mt-ogd           regret ~ sqrt(ln d) for p near 1
    mt-eg      psi = sum y ln y on the simplex: models are weights that sum to one, as in weighing experts

>>> import weft
>>> model = weft.Model("mt-eg", b=3.0, eta=1.0, loss="square", tasks=["ann", "bob"], features=["x", "z"])
>>> model.learn_one({"x": 1.0}, 1.0, "ann")
0.5
>>> model.weights().round(3).tolist()
[[0.65, 0.35], [0.591, 0.409]]

Reading. |.|_p^2/2 is (p-1)-strongly convex, a factor that Props. 5 to 7 leave out. On the simplex the p-norm starts at
x = 1/d (the paper's 0 is not in the simplex), and y, not x, is kept in it, as in MT-EG: a subset, so that Prop. 8
holds. `mt-eg` needs A^{-1/2} to be stochastic, which it is for every clique and graph; `sigma` is a standard deviation,
b = (1 - sigma^2)/sigma^2. Without a horizon `T` the rate of round t is that for T = t, and without `L` the largest
gradient so far takes its place.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from weft.learners.descent.forms import MirrorForm
from weft.learners.descent.mirror import ENTROPY, P_NORM, P_SIMPLEX
from weft.learners.descent.mirror_table import ADAPTIVE, ANYTIME, CONSTANT, HORIZON, MirrorRule
from weft.learners.descent.parameters import DEFAULT_D, DEFAULT_SIGMA, Descent
from weft.learners.parameters import Choice, Real, number, parameter
from weft.maths.losses import CODES

_LIPSCHITZ = parameter(
    None, "bound on the dual norm of every gradient; None: the largest so far", Real(above=0, optional=True)
)
_HORIZON = parameter(None, "number of rounds to come; None: unknown", Real(above=0, optional=True))
_VARIANCE = "how much tasks differ, a standard deviation"


def mirror_form(
    learner: Descent, kind: int, rate: int, *, simplex_b: bool = False, ball: bool = False, **numbers: float | None
) -> MirrorForm:
    """The form of a learner, with those numbers of its rule that are given."""
    rule = MirrorRule(
        loss=CODES[learner.loss],
        epsilon=learner.epsilon,
        kind=kind,
        rate=rate,
        b=learner.given_b,
        simplex_b=simplex_b,
        ball=ball,
        graph=learner.named is not None,
        **{letter: number(value) for letter, value in numbers.items()},
    )
    return MirrorForm(rule, learner.named)


@dataclass(frozen=True)
class MtPnorm(Descent):
    """Mirror descent with a p-norm: like mt-ogd, for models in which few features matter."""

    name: ClassVar[str] = "mt-pnorm"

    p: float | None = parameter(
        None,
        "the norm; the nearer to 1, the fewer features matter; None: 1.5, on the simplex 2 ln d / (2 ln d - 1)",
        Real(above=1, at_most=2, optional=True),
    )
    eta: float | str | None = parameter(
        None,
        "the rate; None: by theory from D, L, sigma and T, or adaptive if none is given (simplex: from L and T)",
        Real(above=0, optional=True, words=("adaptive",)),
    )
    D: float | None = parameter(None, "bound on the p-norm of every task's model", Real(above=0, optional=True))
    L: float | None = _LIPSCHITZ
    sigma: float | None = parameter(None, _VARIANCE, Real(at_least=0, at_most=1, optional=True))
    T: float | None = _HORIZON
    domain: str = parameter("space", "where models live: anywhere, or on the simplex", Choice(("space", "simplex")))
    radius: float | None = parameter(
        None,
        "of the ball sum |y_i|_p^2 <= radius^2; None: no ball, with adaptive steps the one that D and sigma give",
        Real(above=0, optional=True),
    )

    def _settle(self) -> None:
        if self.domain == "simplex":
            if self.eta == "adaptive" or self.radius is not None or self.D is not None:
                raise ValueError(f'{self.name}: domain="simplex" takes no D, no radius, and no eta="adaptive"')
            if self.named is not None and not self.named.matrix.is_stochastic:
                raise ValueError(f"{self.name}: on the simplex A^-1/2 must be non-negative with unit row sums")
            return
        given = [letter for letter in ("D", "L", "sigma", "T") if getattr(self, letter) is not None]
        if self.eta is None and given:
            self.need(("D", "L", "sigma", "T"), "a rate by theory (or give eta)")
            if self.named is not None:
                raise ValueError(
                    f'{self.name}: on a graph D and sigma do not determine the rate; give eta or "adaptive"'
                )
        if self.eta == "adaptive":
            self.need(("D", "sigma"), 'eta="adaptive"')

    @cached_property
    def form(self) -> MirrorForm:
        eta = self.eta if isinstance(self.eta, float) else None
        if self.domain == "simplex":
            rate = CONSTANT if eta is not None else ANYTIME if self.T is None else HORIZON
            sigma = DEFAULT_SIGMA if self.sigma is None else self.sigma
            return mirror_form(
                self, P_SIMPLEX, rate, simplex_b=True, p=self.p, eta=eta, L=self.L, sigma=sigma, T=self.T
            )
        plain = self.eta is None and self.D is None
        D, sigma_or_none = (DEFAULT_D, DEFAULT_SIGMA) if plain else (self.D, self.sigma)
        rate = CONSTANT if eta is not None else ADAPTIVE if plain or self.eta == "adaptive" else HORIZON
        radius = self.radius
        if self.named is not None and radius is None and D is not None and sigma_or_none is not None:
            radius = math.sqrt(2.0) * self.largest_norm(D, sigma_or_none)
        return mirror_form(
            self,
            P_NORM,
            rate,
            ball=self.radius is not None or self.eta == "adaptive",
            p=1.5 if self.p is None else self.p,
            eta=eta,
            D=D,
            L=self.L,
            sigma=sigma_or_none,
            T=self.T,
            radius=radius,
        )


@dataclass(frozen=True)
class MtEg(Descent):
    """Multitask exponentiated gradient: models are weights that sum to one."""

    name: ClassVar[str] = "mt-eg"

    eta: float | None = parameter(
        None, "the rate; None: by theory from sigma (or b), L and T", Real(above=0, optional=True)
    )
    sigma: float | None = parameter(
        None,
        f"{_VARIANCE}: gives b; None: {DEFAULT_SIGMA:g} if b and graph are not given",
        Real(at_least=0, at_most=1, optional=True),
    )
    L: float | None = _LIPSCHITZ
    T: float | None = _HORIZON

    def _settle(self) -> None:
        if self.sigma is not None and (self.b is not None or self.graph is not None):
            other = "b" if self.b is not None else "graph"
            raise ValueError(f"{self.name}: sigma and {other} are both given; either says how the tasks are tied")
        if self.named is not None and not self.named.matrix.is_stochastic:
            raise ValueError(
                f"{self.name}: A^-1/2 must be non-negative with unit row sums, as it is for every clique and graph"
            )

    @cached_property
    def form(self) -> MirrorForm:
        rate = CONSTANT if self.eta is not None else ANYTIME if self.T is None else HORIZON
        sigma = DEFAULT_SIGMA if self.sigma is None else self.sigma
        return mirror_form(self, ENTROPY, rate, simplex_b=True, eta=self.eta, L=self.L, sigma=sigma, T=self.T)
