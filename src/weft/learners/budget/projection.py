"""Steps that both budget Projectrons take: is a row nearly in the span of the others, and which row is missed least?

Cavallanti and Cesa-Bianchi (2012), Sec. 4.1. Distances come from the inverse Q of the Gram matrix H of the active set.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import helper
from weft.learners.budget.active_set import CHANGES, ENTERED, MISTAKES, REBUILDS, SINCE, Budget, Mistake, Rows
from weft.learners.budget.inverse import Gram, Vectors, checked_coefficients, coefficients, is_sound, rebuild, refine
from weft.learners.budget.symmetric import symmetric_times, take_column
from weft.storage.state import SUPPORT

DEPENDENT = 1e-10
"""A squared distance below this share of K(t, t) is rounding."""

ROUNDING = 2e-14
"""A squared distance is off by this, relative to K(t, t), times the squared sum of the |coefficients|."""

MOST_ERROR = 1e-6
"""An inverse whose columns are off by more is recomputed."""

MOST_OFF = 1e-4
"""The same for one whose coefficients are."""

CHECKED_EVERY = 8
"""The inverse is checked at every eighth mistake, and recomputed if one in eight members or more has changed."""

ENOUGH, MORE_REFINEMENTS = 1e-7, 3
"""Coefficients that were off by more are refined again."""

TIED = 1e-9
"""Damages that differ by less, relative to the least, are equal, and the oldest leaves."""


class Damages(NamedTuple):
    """What it would cost to evict each member j: size_j diagonal_j^(-1/2)."""

    size: Floats  # |b_j|, or |beta_:j|
    diagonal: Floats  # of the inverse: D_j^-2


@helper
def vectors(room: int) -> Vectors:
    """Working space for this many members."""
    space = np.empty((4, room))
    return Vectors(space[0], space[1], space[2], space[3])


@helper
def damages(n: int) -> Damages:
    """Working space for this many members."""
    return Damages(np.empty(n), np.empty(n))


@helper
def project(hyper: Budget, rows: Rows, gram: Gram, t: Mistake, unit: float, v: Vectors) -> tuple[float, bool]:
    """a = H^-1 k, delta^2 = K(t,t) - k'a, and whether the row is as good as its projection.

    Distances are in units of `unit`. The inverse is recomputed after as many evictions as there are members, and when
    it has lost too many digits: H a is so far off k that refinements would not mend it, or a column of H Q, looked at
    now and then, is not that of the identity. Where rows nearly repeat each other the latter may soon be so again, and
    there are some changes in between.
    """
    n, scalars, k, a = rows.used[SUPPORT], rows.scalars, t.k, v.a
    if n == 0:
        return t.tt, False
    off = _solve(gram, n, k, v, scalars)
    inside, size = 0.0, 1.0
    for j in range(n):
        inside += k[j] * a[j]
        size += abs(a[j])
    rounding = ROUNDING * size * size
    if off > ENOUGH or rounding > DEPENDENT:
        # K(t,t) - 2 k'a + a'Ha is the distance for any a; with an inexact one, K(t,t) - k'a might be anything.
        symmetric_times(gram.H, n, a, v.rest)
        inside = 0.0
        for j in range(n):
            inside += (2.0 * k[j] - v.rest[j]) * a[j]
    delta2 = max(0.0, t.tt - inside)
    limit = hyper.eta * np.sqrt(unit * t.tt) if hyper.relative else hyper.eta
    return delta2, bool(np.sqrt(unit * delta2) <= limit or delta2 <= max(DEPENDENT, rounding) * t.tt)


@helper
def _solve(gram: Gram, n: int, k: Floats, v: Vectors, scalars: Floats) -> float:
    """a = H^-1 k, with the inverse recomputed where it has to be; returns how far off a was before it was refined."""
    if scalars[SINCE] >= n:
        _recompute(gram, n, scalars)
    mistakes, error = int(scalars[MISTAKES]), 0.0
    if mistakes % CHECKED_EVERY == 0:
        turn = mistakes // CHECKED_EVERY % n
        off, error = checked_coefficients(gram, n, turn, k, v)
    else:
        off = coefficients(gram, n, k, v)
    is_doubtful = not error <= MOST_ERROR and scalars[CHANGES] * CHECKED_EVERY >= n
    if is_doubtful or not off <= MOST_OFF or not is_sound(gram, n):
        _recompute(gram, n, scalars)
        off = coefficients(gram, n, k, v)
    for _ in range(MORE_REFINEMENTS):
        if off > ENOUGH:  # a refinement leaves some off^2
            symmetric_times(gram.H, n, v.a, v.rest)
            off = refine(gram.Q, n, k, v.a, v.rest)
    return off


@helper
def _recompute(gram: Gram, n: int, scalars: Floats) -> None:
    rebuild(gram, n, np.empty((n, n)))
    scalars[SINCE], scalars[CHANGES] = 0.0, 0.0
    scalars[REBUILDS] += 1.0


@helper
def least_damage(n: int, d: Damages, numbers: Floats, new: int) -> tuple[int, float]:
    """The member with the least damage size_j D_j, except for the new one, and its damage; the oldest of equal ones."""
    size, diagonal = d
    least = np.inf
    for j in range(n):
        if j != new:
            least = min(least, size[j] / np.sqrt(diagonal[j]))
    found = -1
    for j in range(n):
        if j == new or size[j] / np.sqrt(diagonal[j]) > least * (1.0 + TIED):
            continue
        if found < 0 or numbers[j, ENTERED] < numbers[found, ENTERED]:
            found = j
    return found, float(size[found] / np.sqrt(diagonal[found]))


@helper
def project_member(Q: Floats, n: int, r: int, g: Floats) -> None:
    """The coefficients g = -Q_.r / Q_rr of a member's projection on all others; 0 for itself."""
    take_column(Q, n, r, g)
    pivot = g[r]
    for j in range(n):
        g[j] /= -pivot
    g[r] = 0.0
