r"""Follow the regularised leader in the geometry of multitask mirror descent.

Cesa-Bianchi, Laforgue, Paudice and Pontil (2022), end of Sec. 4. The models are the image of the sum of all gradients,

    euclidean   x = -eta_t A^-1 sum_s g_s
    entropy     x = A^{-1/2} y,  y_k = softmax(-eta_t sum_s A^{-1/2}_{k i_s} g_s)

with a rate that may fall over time, where mirror descent with the entropy needs a constant one. With a constant rate
it is mt-ogd without projection, and mt-eg.

>>> import weft
>>> model = weft.Model("mt-ftrl", eta=0.5, b=1.0, loss="square", tasks=["ann", "bob"])
>>> model.learn_one({"x": 1.0}, 2.0, "ann"), model.learn_one({"x": 1.0}, 2.0, "bob")
(0.0, 0.5)

Interpretation. eta_t = eta0 / sqrt(t), where t counts the rounds that had a gradient, and the one to come.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from weft.learners.descent import mirror_rule
from weft.learners.descent import rule as descent
from weft.learners.descent.forms import Form, OnDuals, euclidean_form
from weft.learners.descent.mirror_map import ENTROPY
from weft.learners.descent.parameters import Descent
from weft.learners.parameters import Choice, Real, parameter
from weft.maths.losses import CODES


@dataclass(frozen=True)
class MtFtrl(Descent):
    """Follow the regularised leader: all gradients so far, scaled by the rate of now.

    Take it when rates must decrease over time.

    `x = -eta_t A^-1 sum of g`, or mixed softmaxes of the sums. Defaults: Euclidean, rates of 1/sqrt(t), b the number of
    tasks. With a constant rate it is `mt-ogd` without projection, or with the entropy `mt-eg`.
    """

    name: ClassVar[str] = "mt-ftrl"

    regularizer: str = parameter(
        "euclidean", "euclidean: models anywhere; entropy: weights that sum to one", Choice(("euclidean", "entropy"))
    )
    eta: float | str = parameter(
        "sqrt", 'the rate: a number, or "sqrt" for eta0 / sqrt(t) in round t', Real(above=0, words=("sqrt",))
    )
    eta0: float = parameter(1.0, 'the rate of the first round, with eta="sqrt"', Real(above=0))

    def _settle(self) -> None:
        if self.regularizer == "entropy" and self.named is not None and not self.named.matrix.is_stochastic:
            raise ValueError(f"{self.name}: with the entropy A^-1/2 must be non-negative with unit row sums")

    @cached_property
    def form(self) -> Form:
        falls = self.eta == "sqrt"
        eta = self.eta0 if isinstance(self.eta, str) else self.eta
        if self.regularizer == "entropy":
            rate = mirror_rule.LEADER_SQRT if falls else mirror_rule.LEADER
            return OnDuals(self.mirror_rule(ENTROPY, rate, eta=eta, sigma=0.0), self.named)
        rule = descent.Rule(
            loss=CODES[self.loss],
            epsilon=self.epsilon,
            rate=descent.LEADER_SQRT if falls else descent.LEADER,
            eta=eta,
            b=self.given_b,
            clusters=self.graph_kind == "cliques",
        )
        return euclidean_form(rule, self.named)
