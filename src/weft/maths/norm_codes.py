"""Norms in compiled code: values, duals, maximisers and remoteness (Dekel, Long and Singer 2007, Appendix A).

Three families, all absolute norms: the p-norms; the r-max norms, the sum of the r largest entries (Eq. 1; for a real r
the next entry counts by the fraction); and Peetre's interpolation K(p1, p2, alpha), the least |w|_p1 + alpha |z|_p2
over w + z = v.

Interpretation. The remoteness of r-max is sqrt(r) for integers (Lemma 3); for other r that is an upper bound, the exact
value being sqrt(floor(r) + frac(r)^2). For K the paper bounds it by two terms; log-convexity of the p-norms in 1/p
gives a third, alpha^h, which is sharper for p1 < 2 < p2.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.jit import compiled, helper
from weft.maths.implicit import two_balls
from weft.maths.vectors import Vector, p_norm, sort

LP = 0
RMAX = 1
INTERPOLATION = 2


NEARLY_ONE = 1.0 + 1e-9


class NormCode(NamedTuple):
    """A norm as kernels take it: p-norm (p1), r-max (alpha is r) or K(p1, p2, alpha)."""

    kind: int
    p1: float
    p2: float
    alpha: float


@helper
def conjugate(p: float) -> float:
    """The exponent q with 1/p + 1/q = 1."""
    if p == 1.0:
        return np.inf
    return 1.0 if math.isinf(p) else p / (p - 1.0)


@helper
def simplify(norm: NormCode, k: int) -> tuple[float, NormCode]:
    """The same norm on k coordinates, as a factor times the simplest norm.

    That is a p-norm, an r-max with 1 < r < k, or a K with p1 < p2 and 1 < alpha < k^(1/p1 - 1/p2).
    """
    # An exponent that is 1 but for rounding has a conjugate beyond all powers.
    p1 = 1.0 if norm.p1 < NEARLY_ONE else norm.p1
    p2 = 1.0 if norm.p2 < NEARLY_ONE else norm.p2
    alpha = norm.alpha
    scale, alone = 1.0, alpha  # alone: the factor of |v|_p2 when z takes all
    if norm.kind == LP:
        return scale, NormCode(LP, p1, p1, 1.0)
    if norm.kind == RMAX:
        p1, p2 = 1.0, np.inf
    if p1 > p2:  # K(p1, p2, alpha) = alpha K(p2, p1, 1/alpha)
        scale, alone = alpha, 1.0
        p1, p2, alpha = p2, p1, 1.0 / alpha
    if alpha <= 1.0:
        return alone, NormCode(LP, p2, p2, 1.0)
    if alpha >= math.pow(float(k), 1.0 / p1 - 1.0 / p2):
        return scale, NormCode(LP, p1, p1, 1.0)
    if p1 == 1.0 and math.isinf(p2):
        return scale, NormCode(RMAX, p1, p2, alpha)
    return scale, NormCode(INTERPOLATION, p1, p2, alpha)


@compiled
def norm_value(norm: NormCode, v: Vector) -> float:
    """||v||."""
    scale, simple = simplify(norm, len(v))
    if simple.kind == LP:
        return scale * p_norm(simple.p1, v)
    size = np.empty(len(v))
    for j in range(len(v)):
        size[j] = abs(v[j])
    total = 0.0
    if simple.kind == RMAX:
        sort(size, len(v))
        left = simple.alpha
        for i in range(len(v)):
            total += min(left, 1.0) * size[len(v) - 1 - i]
            left -= 1.0
            if left <= 0.0:
                break
        return scale * total
    tau = np.empty(len(v))
    maximize(norm, size, tau)
    for j in range(len(v)):
        total += tau[j] * size[j]
    return total


@compiled
def norm_dual(norm: NormCode, u: Vector) -> float:
    """The dual norm (Eq. 2, 3 and Thm 10)."""
    scale, simple = simplify(norm, len(u))
    size = p_norm(conjugate(simple.p1), u)
    if simple.kind != LP:
        size = max(size, p_norm(conjugate(simple.p2), u) / simple.alpha)
    return size / scale


@compiled
def maximize(norm: NormCode, l: Vector, tau: Vector) -> None:
    """Fill tau >= 0 with dual norm 1, tau.l = ||l|| and zeros where l = 0 (Eq. 9 to 12); l >= 0.

    Among several maximisers of r-max the one with the lowest indices. All zeros if l is.
    """
    top, count = 0.0, 0
    for j in range(len(l)):
        tau[j] = 0.0
        top = max(top, l[j])
        count += l[j] > 0.0
    if count == 0:
        return
    scale, simple = simplify(norm, count)
    if simple.kind == LP:
        lp_maximizer(simple.p1, l, top, tau)
    elif simple.kind == RMAX:
        largest(simple.alpha, l, tau)
    else:
        two_balls(l, np.zeros(len(l)), 1.0, conjugate(simple.p1), conjugate(simple.p2), simple.alpha, tau)
        scale /= norm_dual(simple, tau)
    if scale != 1.0:
        for j in range(len(l)):
            tau[j] *= scale


@helper
def lp_maximizer(p: float, l: Vector, top: float, tau: Vector) -> None:
    """Eq. 11; for p = inf everything goes to the first of the largest."""
    if p == 2.0:
        size = p_norm(p, l)
    else:
        size = 1.0 if p == 1.0 or math.isinf(p) else math.pow(p_norm(p, l) / top, p - 1.0)
    for j in range(len(l)):
        if math.isinf(p):
            if l[j] == top:
                tau[j] = 1.0
                return
        elif l[j] > 0.0:
            if p == 1.0:
                tau[j] = 1.0
            elif p == 2.0:
                tau[j] = l[j] / size
            else:
                tau[j] = math.pow(l[j] / top, p - 1.0) / size


@helper
def largest(r: float, l: Vector, tau: Vector) -> None:
    """Eq. 12: 1 on the floor(r) largest, the fraction on the next; equal losses by index."""
    whole = math.floor(r)
    ranked = l.copy()
    sort(ranked, len(l))
    threshold = ranked[len(l) - 1 - whole]  # the (floor(r) + 1)-th largest
    left = r
    for j in range(len(l)):
        if l[j] > threshold:
            tau[j] = 1.0
            left -= 1.0
    for j in range(len(l)):
        if l[j] == threshold and left > 0.0:
            tau[j] = min(1.0, left)
            left -= 1.0


@helper
def lp_remoteness(p: float, k: int) -> float:
    """The remoteness of the dual of a p-norm (Lemma 2)."""
    return 1.0 if p >= 2.0 else math.pow(float(k), 1.0 / p - 0.5)


@compiled
def remoteness(norm: NormCode, k: int) -> float:
    """rho of the dual norm on k tasks (Eq. 13, Lemmas 2 and 3), or an upper bound on it (Appendix A)."""
    scale, simple = simplify(norm, k)
    if simple.kind == LP:
        return scale * lp_remoteness(simple.p1, k)
    if simple.kind == RMAX:
        return scale * math.sqrt(simple.alpha)
    rho = min(lp_remoteness(simple.p1, k), simple.alpha * lp_remoteness(simple.p2, k))
    h = (1.0 / simple.p1 - 0.5) / (1.0 / simple.p1 - 1.0 / simple.p2)
    if 0.0 <= h <= 1.0:
        rho = min(rho, math.pow(simple.alpha, h))
    return scale * rho
