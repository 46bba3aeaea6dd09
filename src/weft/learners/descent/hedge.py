r"""Hedge over a grid of task variances: nobody needs to know how alike the tasks are.

Cesa-Bianchi, Laforgue, Paudice and Pontil (2022), Sec. 3.4. K experts run mt-ogd or mt-eg, each for another variance
sigma_k^2 between 0 (one model for all) and 1 (every task for itself); each plays its own models and suffers its own
losses. The prediction is their mean with the weights p_k ~ exp(-eta_h sum of the losses of expert k), at K times the
cost of one.

>>> import weft
>>> model = weft.Model("hedge-mt-ogd", variances=[0.0, 1.0], loss="square", D=2.0, tasks=["ann", "bob"])
>>> model.learn_one({"x": 1.0}, 1.0, "ann"), round(model.learn_one({"x": 1.0}, 1.0, "bob"), 3)
(0.0, 0.5)

Interpretation. The paper leaves the experts and the rate open. mt-ogd experts have b = N (b = 0 at variance 1), stay in
the ball of radius `D` task by task, and take steps by theory for `T` rounds, or adaptive ones without `T`; mt-eg
experts have b = (1 - sigma^2)/sigma^2. eta_h = sqrt(8 ln K / T) / B with the range B = 2 D L of the losses (2 L on the
simplex), without `T` for T = t in round t, and without `L` for the largest gradient so far. Theorem 9 wants the
variances k/N, k = 1..N.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from weft.compiled.arrays import Array, Ints
from weft.graphs.interaction import clique
from weft.learner import Distances, Hooks, Kernels, Shares, Target, Traits
from weft.learners.descent import distances as descent_distances
from weft.learners.descent import dual_table, hedge_entropy, hedge_gradient
from weft.learners.descent import shares as descent_shares
from weft.learners.descent.file_checks import check_duals, check_tables
from weft.learners.descent.forgetting import from_dual_tables, from_tables
from weft.learners.descent.mirror_map import ENTROPY
from weft.learners.descent.mirror_rule import ANYTIME, HORIZON, MirrorRule, simplex_b
from weft.learners.descent.parameters import LOSSES
from weft.learners.descent.positions import Count
from weft.learners.descent.rule import ADAPTIVE, BALL, THEORY, Rule
from weft.learners.descent.tuning import paper_b
from weft.learners.parameters import Choice, Parsed, Real, check, number, parameter
from weft.maths.losses import CLASSIFY, CODES
from weft.names import Name
from weft.storage.state import Plan

FIVE = (0.0, 0.25, 0.5, 0.75, 1.0)


def _variances(value: Any) -> tuple[float, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ValueError("give a list of numbers")
    found = tuple(Real(at_least=0, at_most=1).convert(part) for part in value)
    if not found or len(set(found)) != len(found):
        raise ValueError("give at least one, none twice")
    return tuple(float(part) for part in found if part is not None)


@dataclass(frozen=True)
class _Hedge:
    """What both have in common."""

    name: ClassVar[str]
    paper: ClassVar[str] = "Cesa-Bianchi et al. 2022"

    variances: tuple[float, ...] = parameter(
        FIVE, "the task variances of the experts", Parsed("a list of different numbers from 0 to 1", _variances)
    )
    loss: str = parameter(
        "logistic",
        "logistic and hinge classify; square, absolute and epsilon-insensitive predict a number",
        Choice(LOSSES),
    )
    epsilon: float = parameter(0.1, "deviations up to this cost nothing (epsilon-insensitive loss)", Real(at_least=0))
    L: float | None = parameter(
        None, "bound on the dual norm of every gradient; None: the largest so far", Real(above=0, optional=True)
    )
    T: float | None = parameter(None, "number of rounds to come; None: unknown", Real(above=0, optional=True))
    eta_h: float | None = parameter(
        None, "the rate at which experts lose weight; None: by theory", Real(at_least=0, optional=True)
    )

    def __post_init__(self) -> None:
        check(self)
        if self.T is not None and self.L is None:
            raise ValueError(
                f"{self.name}: with T the experts' rates follow theory, which needs L; give L, or leave T out"
            )

    @property
    def sigmas(self) -> Array:
        sigmas: Array = np.sqrt(np.array(self.variances))
        return sigmas

    @property
    def traits(self) -> Traits:
        """The trace has the loss and eta_h, then the loss and the weight of every expert."""
        experts = range(len(self.variances))
        trace = ("loss", "eta_h", *(f"loss {k}" for k in experts), *(f"weight {k}" for k in experts))
        # The weight multiplies the gradients of the experts, and the losses by which they are weighed.
        return Traits(counts_tasks=True, conservative=False, takes_weights=True, trace=trace)

    @property
    def target(self) -> Target:
        return "binary" if self.loss in CLASSIFY else "real"

    @property
    def tally_loss(self) -> tuple[int, float]:
        return CODES[self.loss], self.epsilon

    def weights(self, state: Any, tasks: int, features: int) -> Array:
        own, shared = self.parts(state, tasks, features)
        return own + shared

    def parts(self, state: Any, tasks: int, features: int) -> tuple[Array, Array]:
        raise NotImplementedError

    def distances(self, state: Any, tasks: int, features: int) -> Distances:
        """How far every task is from the mean of the others."""
        others = descent_distances.mean_of_clique(np.zeros(tasks, np.int64))
        return descent_distances.of_tables(*self.parts(state, tasks, features), others)


@dataclass(frozen=True)
class HedgeMtOgd(_Hedge):
    """Hedge over mt-ogd with several task variances.

    Take it when you do not know how similar the tasks are.

    Every expert is an `mt-ogd` with every task in the ball of radius D, b = N (0 at variance 1), and adaptive steps, or
    with `T` and `L` the rates of theory; the experts' weights decrease as `exp(-eta_h losses)`.
    """

    name: ClassVar[str] = "hedge-mt-ogd"

    hooks: ClassVar[Hooks] = Hooks()

    D: float = parameter(1.0, "bound on the length of every task's model", Real(above=0))

    @property
    def traits(self) -> Traits:
        return replace(super().traits, iterates=True)

    @cached_property
    def hyper(self) -> hedge_gradient.HedgeRule:
        """The parameters as compiled code takes them."""
        rule = Rule(
            loss=CODES[self.loss],
            epsilon=self.epsilon,
            rate=ADAPTIVE if self.T is None else THEORY,
            b=math.nan,
            clusters=False,
            D=self.D,
            L=number(self.L),
            T=number(self.T),
            projection=BALL,
        )
        return hedge_gradient.HedgeRule(rule, number(self.eta_h))

    @cached_property
    def plan(self) -> Plan:
        rules = [self.hyper.rule._replace(sigma=float(sigma)) for sigma in self.sigmas]
        forget = partial(from_tables, rules)
        return replace(hedge_gradient.plan(len(rules)), check=partial(check_tables, rules), forget=forget)

    @property
    def kernels(self) -> Kernels:
        module = hedge_gradient
        return Kernels(module.predict, module.learn, module.predict_one, module.learn_one)

    def init(self, tasks: Sequence[Name] = ()) -> Any:
        return hedge_gradient.blank(len(tasks), self.sigmas)

    def mixture(self, state: Any) -> Array:
        """The experts' weights now."""
        weights = np.empty(len(self.variances))
        hedge_gradient.mixture(self.hyper, state, weights)
        return weights

    def parts(self, state: Any, tasks: int, features: int) -> tuple[Array, Array]:
        """What a task has for itself, and the mean of all."""
        models = np.tensordot(self.mixture(state), state.X[:, :tasks, :features], axes=1)
        mean = np.repeat(models.mean(axis=0, keepdims=True), tasks, axis=0) if tasks else models
        return models - mean, mean

    def explain(self, state: Any, slot: int, tasks: int, indices: Ints) -> Shares:
        """Where the weights of a task come from, for some features: the experts', weighted as they are."""
        experts = [
            descent_shares.on_table(
                self.hyper.rule._replace(sigma=float(sigma)),
                state.X[k],
                int(state.counts[k, Count.TASKS]),
                graph=False,
                slot=slot,
                indices=indices,
            )
            for k, sigma in enumerate(self.sigmas)
        ]
        return descent_shares.mixed(self.mixture(state), experts)

    def relations(self, state: Any, tasks: int) -> Array:
        """The experts' A^-1, weighted as they are."""
        if tasks == 0:
            return np.zeros((0, 0))
        matrices = [clique(tasks, float(paper_b(tasks, sigma))).dense(-1.0) for sigma in self.sigmas]
        return np.tensordot(self.mixture(state), np.array(matrices), axes=1)


@dataclass(frozen=True)
class HedgeMtEg(_Hedge):
    """Hedge over mt-eg with several task variances.

    Take it when you do not know how similar the tasks are, for weights that sum to one.

    Every expert is an `mt-eg` with b = (1 - variance)/variance. At least two features are needed: declare them with
    `features=`.
    """

    name: ClassVar[str] = "hedge-mt-eg"

    @property
    def traits(self) -> Traits:
        return replace(super().traits, least_features=2)

    @property
    def hooks(self) -> Hooks:
        return Hooks(admit=self.admit)

    @cached_property
    def hyper(self) -> hedge_entropy.HedgeRule:
        """The parameters as compiled code takes them."""
        rule = MirrorRule(
            loss=CODES[self.loss],
            epsilon=self.epsilon,
            kind=ENTROPY,
            rate=ANYTIME if self.T is None else HORIZON,
            b=math.nan,
            simplex_b=True,
            ball=False,
            graph=False,
            L=number(self.L),
            T=number(self.T),
        )
        return hedge_entropy.HedgeRule(rule, number(self.eta_h))

    @cached_property
    def plan(self) -> Plan:
        rules = [self.hyper.rule._replace(sigma=float(sigma)) for sigma in self.sigmas]
        forget = partial(from_dual_tables, rules)
        return replace(hedge_entropy.plan(len(rules)), check=partial(check_duals, rules), forget=forget)

    @property
    def kernels(self) -> Kernels:
        module = hedge_entropy
        return Kernels(module.predict, module.learn, module.predict_one, module.learn_one)

    def init(self, tasks: Sequence[Name] = ()) -> Any:
        return hedge_entropy.blank(len(tasks), self.sigmas)

    def admit(self, state: Any, features: int) -> None:
        """Features 0 .. features-1 count from now on."""
        hedge_entropy.admit(self.hyper, state, features)

    def mixture(self, state: Any) -> Array:
        """The experts' weights now."""
        weights = np.empty(len(self.variances))
        hedge_entropy.mixture(self.hyper, state, weights)
        return weights

    def parts(self, state: Any, tasks: int, features: int) -> tuple[Array, Array]:
        """What a task has for itself, and what it has from all."""
        own, shared = np.zeros((tasks, features)), np.zeros((tasks, features))
        for k, weight in enumerate(self.mixture(state)):
            table = hedge_entropy.table_of(state, k)
            parts = dual_table.both_parts(self.hyper.rule, table, tasks, features)
            own += weight * parts[0]
            shared += weight * parts[1]
        return own, shared

    def explain(self, state: Any, slot: int, tasks: int, indices: Ints) -> Shares:
        """Where the weights of a task come from, for some features: the experts', weighted as they are."""
        experts = [
            descent_shares.on_duals(
                self.hyper.rule._replace(sigma=float(sigma)), hedge_entropy.table_of(state, k), slot, indices
            )
            for k, sigma in enumerate(self.sigmas)
        ]
        return descent_shares.mixed(self.mixture(state), experts)

    def relations(self, state: Any, tasks: int) -> Array:
        """The experts' A^-1, weighted as they are."""
        if tasks == 0:
            return np.zeros((0, 0))
        matrices = [clique(tasks, float(simplex_b(sigma))).dense(-1.0) for sigma in self.sigmas]
        return np.tensordot(self.mixture(state), np.array(matrices), axes=1)
