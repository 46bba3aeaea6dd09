"""Mirror descent with an entropy or a p-norm in numbers: what follows from the parameters, N tasks and d features.

Cesa-Bianchi, Laforgue, Paudice and Pontil (2022), Prop. 5 to 8.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.jit import compiled, helper_no_alloc
from weft.learners.descent.mirror_map import ENTROPY

CONSTANT, HORIZON, ANYTIME, ADAPTIVE, LEADER, LEADER_SQRT = range(6)
"""How eta_t is found: a number, for T rounds, for t rounds in round t, from the gradients, and two of the leader."""


class MirrorRule(NamedTuple):
    """The parameters as compiled code takes them; NaN stands for what follows from the others."""

    loss: int
    epsilon: float
    kind: int
    rate: int
    b: float
    simplex_b: bool  # b = (1 - sigma^2)/sigma^2, else b = N
    ball: bool  # models are kept in the ball sum |y_k|_p^2 <= radius^2
    graph: bool
    p: float = math.nan
    eta: float = math.nan
    D: float = math.nan
    L: float = math.nan
    sigma: float = math.nan
    T: float = math.nan
    radius: float = math.nan


@compiled
def simplex_b(sigma: float) -> float:
    """b = (1 - sigma^2)/sigma^2 (Prop. 8)."""
    if sigma == 0.0:
        return np.inf
    return max(0.0, (1.0 - sigma * sigma) / (sigma * sigma))


@helper_no_alloc
def p_of(rule: MirrorRule, d: int) -> float:
    """p as given, or on the simplex 2 ln d / (2 ln d - 1), at most 2 (Prop. 5)."""
    if not math.isnan(rule.p):
        return rule.p
    if d < 3:
        return 2.0
    return min(2.0, 2.0 * math.log(d) / (2.0 * math.log(d) - 1.0))


@helper_no_alloc
def curvature(rule: MirrorRule, p: float, d: int) -> tuple[float, float]:
    """lambda, and C = max B_psi(., 1/d) on the simplex."""
    if rule.kind == ENTROPY:
        return 1.0, math.log(max(d, 1))
    return p - 1.0, 0.5 * (1.0 - math.pow(max(d, 1), 2.0 / p - 2.0))


@helper_no_alloc
def conjugate(p: float) -> float:
    """q = p/(p-1)."""
    return np.inf if p <= 1.0 else p / (p - 1.0)


@compiled
def root_of(rule: MirrorRule, N: int) -> tuple[float, float, float]:
    """b for N tasks, and A^{-1/2} = own I + shared 11^T."""
    b = rule.b
    if math.isnan(b):
        if rule.simplex_b:
            b = simplex_b(rule.sigma)
        else:
            b = 0.0 if rule.sigma >= 1.0 else float(N)
    if math.isinf(b):
        return b, 0.0, 1.0 / N
    root = math.sqrt(1.0 + b)
    return b, 1.0 / root, b / (1.0 + root) / root / N


@compiled
def radius_of(rule: MirrorRule, b: float, N: int) -> float:
    """rho^2 = 2 N D^2 (1 + b sigma^2 (N-1)/N), unless it is given."""
    if not math.isnan(rule.radius):
        return rule.radius
    spread = 0.0 if math.isinf(b) else b * rule.sigma * rule.sigma * (N - 1.0) / N
    return rule.D * math.sqrt(2.0 * N * (1.0 + spread))
