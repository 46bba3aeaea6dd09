r"""Multitask mirror descent with a p-norm, which favours few relevant features.

Cesa-Bianchi, Laforgue, Paudice and Pontil (2022), Sec. 3.2, 3.3 and 4. The models are x = A^{-1/2} y, and every task's
y is the image of a dual vector that gradients move (`mirror_descent`), with psi = |y|_p^2 / 2, 1 < p <= 2. p = 2 is
mt-ogd; for p near 1 the regret grows as sqrt(ln d).

>>> import weft
>>> model = weft.Model("mt-pnorm", p=1.5, b=3.0, eta=1.0, loss="square", tasks=["ann", "bob"])
>>> model.learn_one({"x": 1.0}, 1.0, "ann"), round(model.predict_one({"x": 1.0}, "bob"), 3)
(0.0, 0.75)

Interpretation. |.|_p^2/2 is (p-1)-strongly convex, a factor that Props. 5 to 7 leave out. On the simplex the p-norm
starts at x = 1/d (the paper's 0 is not in the simplex), and y, not x, is kept in it, as in MT-EG: a subset, so that
Prop. 8 holds. Without a horizon `T` the rate of round t is that for T = t, and without `L` the largest gradient so far
takes its place.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from weft.learners.descent.forms import Form, OnDuals
from weft.learners.descent.mirror_map import P_NORM, P_SIMPLEX
from weft.learners.descent.mirror_rule import ADAPTIVE, ANYTIME, CONSTANT, HORIZON
from weft.learners.descent.parameters import (
    DEFAULT_D,
    DEFAULT_SIGMA,
    HORIZON_PARAMETER,
    LIPSCHITZ_PARAMETER,
    SIGMA,
    Descent,
)
from weft.learners.parameters import Choice, Real, parameter


@dataclass(frozen=True)
class MtPnorm(Descent):
    """Mirror descent with a p-norm: like mt-ogd, for models in which few features matter.

    Take it when few of many features matter.

    `theta_k -= eta_t A^{-1/2}_ki g`; models are mixed from the images of the theta_k under the p-norm's link. Defaults:
    p = 1.5, adaptive steps with D = 1 and sigma = 0.3, b the number of tasks.
    """

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
    L: float | None = LIPSCHITZ_PARAMETER
    sigma: float | None = parameter(None, SIGMA, Real(at_least=0, at_most=1, optional=True))
    T: float | None = HORIZON_PARAMETER
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
        given = [name for name in ("D", "L", "sigma", "T") if getattr(self, name) is not None]
        if self.eta is None and given:
            self.need(("D", "L", "sigma", "T"), "a rate by theory (or give eta)")
            if self.named is not None:
                raise ValueError(
                    f'{self.name}: on a graph D and sigma do not determine the rate; give eta or "adaptive"'
                )
        if self.eta == "adaptive":
            self.need(("D", "sigma"), 'eta="adaptive"')

    @cached_property
    def form(self) -> Form:
        eta = self.eta if isinstance(self.eta, float) else None
        if self.domain == "simplex":
            rate = CONSTANT if eta is not None else ANYTIME if self.T is None else HORIZON
            sigma = DEFAULT_SIGMA if self.sigma is None else self.sigma
            rule = self.mirror_rule(P_SIMPLEX, rate, simplex_b=True, p=self.p, eta=eta, L=self.L, sigma=sigma, T=self.T)
            return OnDuals(rule, self.named)
        plain = self.eta is None and self.D is None
        D, sigma_or_none = (DEFAULT_D, DEFAULT_SIGMA) if plain else (self.D, self.sigma)
        rate = CONSTANT if eta is not None else ADAPTIVE if plain or self.eta == "adaptive" else HORIZON
        radius = self.radius
        if self.named is not None and radius is None and D is not None and sigma_or_none is not None:
            radius = math.sqrt(2.0) * self.largest_norm(D, sigma_or_none)
        rule = self.mirror_rule(
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
        return OnDuals(rule, self.named)
