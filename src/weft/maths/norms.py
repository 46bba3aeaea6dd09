"""Norms that make one global loss of the losses of a round (Dekel, Long and Singer 2007, Appendix A).

Three families, all absolute norms: the p-norms; the r-max norms, the sum of the r largest entries (Eq. 1;
for a real r the next entry counts by the fraction); and Peetre's interpolation K(p1, p2, alpha), the least
|w|_p1 + alpha |z|_p2 over w + z = v. Users hold `Lp`, `RMax` and `Interpolation`, or the names that `parse`
reads; kernels hold a `NormCode`.

>>> parse("3-max").value(np.array([1.0, -4.0, 2.0, 0.5]))
7.0
>>> str(parse(" K(1.5, INF, 2) "))
'k(1.5,inf,2)'

Reading: the remoteness of r-max is sqrt(r) for integers (Lemma 3); for other r that is an upper bound, the
exact value being sqrt(floor(r) + frac(r)^2). For K the paper bounds it by two terms; log-convexity of the
p-norms in 1/p gives a third, alpha^h, which is sharper for p1 < 2 < p2.
"""

import math
import re
from dataclasses import dataclass
from typing import NamedTuple, Protocol

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


class _Norm(Protocol):
    """What the norms offer to users: one vector in, a number or a vector out."""

    @property
    def code(self) -> NormCode:
        """For compiled code."""

    def value(self, v: Vector) -> float:
        """||v||."""
        return float(norm_value(self.code, _vector(v)))

    def dual(self, u: Vector) -> float:
        """The dual norm of u."""
        return float(norm_dual(self.code, _vector(u)))

    def maximizer(self, l: Vector) -> Vector:
        """A tau >= 0 of dual norm 1 with tau.l = ||l||, zero where l is; l >= 0."""
        l = _vector(l)
        tau = np.zeros_like(l)
        maximize(self.code, l, tau)
        return tau

    def remoteness(self, k: int) -> float:
        """rho_dual: the largest Euclidean length in the dual unit ball on k tasks, or a bound on it."""
        return float(remoteness(self.code, int(k)))

    def implicit(self, l: Vector, n2: Vector, C: float) -> Vector:
        """The weights tau of the implicit update for losses l and squared instance lengths n2."""
        from weft.maths.steps import implicit

        l = _vector(l)
        tau = np.zeros_like(l)
        implicit(self.code, l, _vector(n2), float(C), tau)
        return tau


@dataclass(frozen=True)
class Lp(_Norm):
    """The p-norm, 1 <= p <= inf."""

    p: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", _number(self.p, 1.0, True, "p of a p-norm"))

    @property
    def code(self) -> NormCode:
        """For compiled code."""
        return NormCode(LP, self.p, self.p, 1.0)

    def __str__(self) -> str:
        return f"l{_text(self.p)}"


@dataclass(frozen=True)
class RMax(_Norm):
    """The sum of the r largest entries, r >= 1 and not necessarily whole; with r >= k entries the 1-norm."""

    r: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "r", _number(self.r, 1.0, False, "r of an r-max norm"))

    @property
    def code(self) -> NormCode:
        """For compiled code."""
        return NormCode(RMAX, 1.0, np.inf, self.r)

    def __str__(self) -> str:
        return f"{_text(self.r)}-max"


@dataclass(frozen=True)
class Interpolation(_Norm):
    """Peetre's K(p1, p2, alpha): the least |w|_p1 + alpha |z|_p2 over w + z = v."""

    p1: float
    p2: float
    alpha: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "p1", _number(self.p1, 1.0, True, "p1 of K(p1,p2,alpha)"))
        object.__setattr__(self, "p2", _number(self.p2, 1.0, True, "p2 of K(p1,p2,alpha)"))
        object.__setattr__(self, "alpha", _number(self.alpha, 0.0, False, "alpha of K(p1,p2,alpha)"))

    @property
    def code(self) -> NormCode:
        """For compiled code."""
        return NormCode(INTERPOLATION, self.p1, self.p2, self.alpha)

    def __str__(self) -> str:
        return f"k({_text(self.p1)},{_text(self.p2)},{_text(self.alpha)})"


Norm = Lp | RMax | Interpolation

_ALLOWED = 'a norm is "l1", "l2", "l1.5", "linf", "3-max", "2.5-max" or "k(1,inf,2.5)" (p >= 1, r >= 1, alpha > 0)'


def parse(norm: str | object) -> Norm:
    """The norm of a name; a norm is handed back as it is."""
    if isinstance(norm, Lp | RMax | Interpolation):
        return norm
    text = re.sub(r"\s+", "", norm).lower() if isinstance(norm, str) else ""
    number = r"([0-9.]+(?:e[+-]?[0-9]+)?|inf)"
    try:
        if found := re.fullmatch(f"l{number}", text):
            return Lp(float(found[1]))
        if found := re.fullmatch(f"{number}-max", text):
            return RMax(float(found[1]))
        if found := re.fullmatch(rf"k\({number},{number},{number}\)", text):
            return Interpolation(float(found[1]), float(found[2]), float(found[3]))
    except ValueError:
        pass
    raise ValueError(f"{norm!r} is not a norm: {_ALLOWED}")


def _number(value: float, least: float, infinite: bool, name: str) -> float:
    number = float(value) if isinstance(value, int | float | np.integer | np.floating) else math.nan
    fits = number >= least if least > 0.0 else number > least
    if isinstance(value, bool) or not fits or (math.isinf(number) and not infinite):
        raise ValueError(f"The {name} is {value!r}, which is not allowed: {_ALLOWED}.")
    return number


def _text(number: float) -> str:
    return str(int(number)) if number.is_integer() and number < 1e15 else repr(number)


def _vector(v: Vector) -> Vector:
    return np.array(v, dtype=np.float64)
