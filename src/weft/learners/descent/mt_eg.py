r"""Multitask exponentiated gradient: models are weights that sum to one, as in weighing experts.

Cesa-Bianchi, Laforgue, Paudice and Pontil (2022), Sec. 3.2, 3.3 and 4. The models are x = A^{-1/2} y, and every task's
y is the image of a dual vector that gradients move (`mirror_descent`), with psi = sum y ln y on the simplex.

>>> import weft
>>> model = weft.Model("mt-eg", b=3.0, eta=1.0, loss="square", tasks=["ann", "bob"], features=["x", "z"])
>>> model.learn_one({"x": 1.0}, 1.0, "ann")
0.5
>>> model.weights().round(3).tolist()
[[0.65, 0.35], [0.591, 0.409]]

Interpretation. A^{-1/2} must be stochastic, which it is for every clique and graph; `sigma` is a standard deviation,
b = (1 - sigma^2)/sigma^2. Without a horizon `T` the rate of round t is that for T = t, and without `L` the largest
gradient so far takes its place.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from weft.learners.descent.forms import Form, OnDuals
from weft.learners.descent.mirror_map import ENTROPY
from weft.learners.descent.mirror_rule import ANYTIME, CONSTANT, HORIZON
from weft.learners.descent.parameters import (
    DEFAULT_SIGMA,
    HORIZON_PARAMETER,
    LIPSCHITZ_PARAMETER,
    SIGMA,
    Descent,
)
from weft.learners.parameters import Real, parameter


@dataclass(frozen=True)
class MtEg(Descent):
    """Multitask exponentiated gradient: models are weights that sum to one.

    Take it when models mix experts or forecasts.

    `theta_k -= eta_t A^{-1/2}_ki g`; models are mixed from the softmax of the theta_k. Defaults: sigma = 0.3, so that b
    = 10.1, and in round t the rate for T = t. At least two features are needed: declare them with `features=`.
    """

    name: ClassVar[str] = "mt-eg"

    eta: float | None = parameter(
        None, "the rate; None: by theory from sigma (or b), L and T", Real(above=0, optional=True)
    )
    sigma: float | None = parameter(
        None,
        f"{SIGMA}: gives b; None: {DEFAULT_SIGMA:g} if b and graph are not given",
        Real(at_least=0, at_most=1, optional=True),
    )
    L: float | None = LIPSCHITZ_PARAMETER
    T: float | None = HORIZON_PARAMETER

    def _settle(self) -> None:
        if self.sigma is not None and (self.b is not None or self.graph is not None):
            other = "b" if self.b is not None else "graph"
            raise ValueError(f"{self.name}: sigma and {other} are both given; either says how the tasks are tied")
        if self.named is not None and not self.named.matrix.is_stochastic:
            raise ValueError(
                f"{self.name}: A^-1/2 must be non-negative with unit row sums, as it is for every clique and graph"
            )

    @cached_property
    def form(self) -> Form:
        rate = CONSTANT if self.eta is not None else ANYTIME if self.T is None else HORIZON
        sigma = DEFAULT_SIGMA if self.sigma is None else self.sigma
        rule = self.mirror_rule(ENTROPY, rate, simplex_b=True, eta=self.eta, L=self.L, sigma=sigma, T=self.T)
        return OnDuals(rule, self.named)
