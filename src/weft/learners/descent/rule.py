"""Multitask mirror descent in numbers: rates, interaction strength and radius for N tasks, fixed by a rule.

Cesa-Bianchi, Laforgue, Paudice and Pontil (2022). Everything that contains N is computed here, when N changes, from
the same parameters, so that tasks may be declared up front or arrive one by one.
"""

import math
from typing import NamedTuple

from weft.compiled.jit import compiled, helper_no_alloc
from weft.learners.descent.tuning import best_b, clique_inverse_diagonal, paper_b, radius, theory_eta

CONSTANT, THEORY, ADAPTIVE, LEADER, LEADER_SQRT = range(5)
"""How eta_t is found; the last two are follow-the-leader, where eta_t scales the sum of all gradients."""

NONE, MAHALANOBIS, BALL, VARIANCE, V_SIGMA = range(5)
PROJECTIONS = ("none", "mahalanobis", "ball", "variance", "v-sigma")

TRACE = ("loss", "eta", "g2", "diagonal")
"""What a traced run records of every example: its loss, the rate eta_t of its round, |g|_*^2 and A^-1_ii."""


class Rule(NamedTuple):
    """The parameters as compiled code takes them; NaN stands for what follows from the others."""

    loss: int
    epsilon: float
    rate: int
    b: float  # NaN: by the rule, from N (and sigma)
    clusters: bool  # a shared part per cluster instead of one
    eta: float = math.nan  # the rate, or with `ADAPTIVE` the constant c; NaN: from D, sigma and N
    best: bool = False
    D: float = math.nan
    L: float = math.nan
    sigma: float = math.nan
    T: float = math.nan
    projection: int = NONE
    radius: float = math.nan
    resync: int = 0  # rounds after which running sums are computed again


class Tuned(NamedTuple):
    """What a rule gives for N tasks: b, eta (or c), and the radius of the Mahalanobis ball."""

    b: float
    eta: float
    radius: float


@compiled
def tune(rule: Rule, N: int) -> Tuned:
    """b, eta and radius for N tasks on a clique (Prop. 2, Prop. 6, Sec. 4)."""
    b = rule.b
    if math.isnan(b):
        sigma = 0.0 if math.isnan(rule.sigma) else rule.sigma
        b = best_b(N, sigma) if rule.best else paper_b(N, sigma)
    rho = rule.radius
    if math.isnan(rho) and not math.isnan(rule.D):
        rho = radius(N, b, rule.D, rule.sigma)
    eta = rule.eta
    if rule.rate == THEORY:
        eta = theory_eta(N, b, rule.D, rule.L, rule.sigma, rule.T)
    elif rule.rate == ADAPTIVE and math.isnan(eta):
        eta = rho * math.sqrt(2.0 / clique_inverse_diagonal(N, b))
    return Tuned(b, eta, rho)


@helper_no_alloc
def rate_of(rule: Rule, eta: float, squares: float, t: float) -> float:
    """eta_t of round t = 1, 2, ..., with `squares` the sum of |g_s|^2, s <= t (Prop. 6)."""
    if rule.rate == ADAPTIVE:
        return eta / math.sqrt(squares) if squares > 0.0 else 0.0
    if rule.rate == LEADER_SQRT:
        return eta / math.sqrt(t)
    return eta
