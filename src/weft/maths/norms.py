"""Norms that make one global loss of the losses of a round (Dekel, Long and Singer 2007, Appendix A).

Users hold `Lp`, `RMax` and `Interpolation`, or the names that `parse` reads; kernels hold a `NormCode`
(`weft.maths.norm_codes`).

>>> parse("3-max").value(np.array([1.0, -4.0, 2.0, 0.5]))
7.0
>>> str(parse(" K(1.5, INF, 2) "))
'k(1.5,inf,2)'
"""

import math
import re
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from weft.maths.norm_codes import INTERPOLATION, LP, RMAX, NormCode, maximize, norm_dual, norm_value, remoteness
from weft.maths.steps import implicit
from weft.maths.vectors import Vector


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
    """The sum of the r largest entries, r >= 1 and not necessarily an integer; with r >= k entries the 1-norm."""

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
    """The norm of a name; a norm is returned as it is."""
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
