"""What theory sets: the strength b of a clique, step sizes, radii, and variances of tasks.

Cesa-Bianchi, Laforgue, Paudice and Pontil (2022), Multitask Online Mirror Descent. There are N tasks and T events; the
comparators u_i have length at most D and variance Var(u) <= sigma^2 D^2, 0 <= sigma <= 1; subgradients have length at
most L. With s = sigma^2 (N-1)/N the tight Mahalanobis ball |u|_A^2 <= rho^2 = N D^2 (1 + b s) holds all of them.

>>> best_b(10, 1.0), best_b(10, 0.0), paper_b(10, 0.5)
(0.0, inf, 10.0)
>>> round(adaptive_constant_clique(4, 4.0, 1.0, 0.5, 1.0) ** 2, 9)  # N (N+1) (1 + (N-1) sigma^2), Prop. 6
35.0
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import compiled, helper

if TYPE_CHECKING:
    from weft.graphs.interaction import Interaction


@helper
def spread(N: int, sigma: float) -> float:
    """s = sigma^2 (N-1)/N: sum |u_i - ubar|^2 <= s N D^2."""
    return sigma * sigma * (N - 1.0) / N


@compiled
def clique_inverse_diagonal(N: int, b: float) -> float:
    """A^-1_ii = (b + N) / ((1 + b) N) of the clique; 1/N at b = inf."""
    if math.isinf(b):
        return 1.0 / N
    return 1.0 / (1.0 + b) + b / (1.0 + b) / N


@compiled
def paper_b(N: int, sigma: float) -> float:
    """Rule "paper" (Prop. 2): b = N, and independent tasks from sigma = 1 on."""
    return float(N) if sigma < 1.0 else 0.0


@compiled
def best_b(N: int, sigma: float) -> float:
    """Rule "best": b = sqrt((N-1)(1-s)/s) - 1, which makes the bound of Prop. 2 least.

    That is inf at sigma = 0, and 0 from sigma = 1 on.
    """
    if N == 1 or sigma >= 1.0:
        return 0.0
    s = spread(N, sigma)
    if s == 0.0:
        return np.inf
    return max(0.0, math.sqrt((N - 1.0) * (1.0 - s) / s) - 1.0)


@compiled
def radius(N: int, b: float, D: float, sigma: float) -> float:
    """rho of the tight Mahalanobis ball. At b = inf all u_i are equal: rho^2 = N D^2."""
    if math.isinf(b):
        return D * math.sqrt(float(N))
    return D * math.sqrt(N * (1.0 + b * spread(N, sigma)))


@compiled
def theory_eta(N: int, b: float, D: float, L: float, sigma: float, T: float) -> float:
    """The constant step size of Prop. 2: rho / (L sqrt(T A^-1_ii)) = (N D / L) sqrt((1+sb)(1+b) / ((b+N) T))."""
    return radius(N, b, D, sigma) / (L * math.sqrt(T * clique_inverse_diagonal(N, b)))


@compiled
def adaptive_constant_clique(N: int, b: float, D: float, sigma: float, lam: float) -> float:
    """c of the steps c / sqrt(sum |g|^2) on a clique: rho sqrt(2 lambda / A^-1_ii).

    At b = N this is D sqrt(lambda N (N+1) (1 + (N-1) sigma^2)), the constant of Prop. 6.
    """
    return radius(N, b, D, sigma) * math.sqrt(2.0 * lam / clique_inverse_diagonal(N, b))


def adaptive_constant(A: "Interaction", rho: float, lam: float = 1.0) -> float:
    """The same for any interaction matrix: rho sqrt(2 lambda / max_i A^-1_ii), rho the Mahalanobis radius."""
    return rho * math.sqrt(2.0 * lam / A.largest_diagonal)


def variance(U: Floats, p: float = 2.0) -> float:
    """Var_p(U) = sum_i |u_i - ubar|_p^2 / (N - 1), one row per task; 0 for a single task.

    >>> variance(np.array([[1.0, 0.0], [-1.0, 0.0]]))
    2.0
    """
    U = np.asarray(U, dtype=np.float64)
    if len(U) == 1:
        return 0.0
    lengths = np.linalg.norm(U - U.mean(axis=0), ord=p, axis=1)
    return float((lengths**2).sum() / (len(U) - 1))


def simplex_variance(U: Floats) -> float:
    """Var_Delta(U): the largest ((max_i - min_i) / max_i)^2 over the coordinates, 0/0 being 0 (Def. 2); U >= 0.

    >>> simplex_variance(np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]]))
    0.25
    """
    U = np.asarray(U, dtype=np.float64)
    top, bottom = U.max(axis=0), U.min(axis=0)
    gap = np.divide(top - bottom, top, out=np.zeros_like(top), where=top > 0.0)
    return float((gap**2).max())
