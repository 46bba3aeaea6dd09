"""Steps that both budget Projectrons take: is a row nearly in the span of the others, and who is missed least?

Cavallanti and Cesa-Bianchi (2012), Sec. 4.1. Distances come from the inverse Q of the Gram matrix H of the active set.
"""

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import helper, inlined_only
from weft.learners.budget.active_set import CHANGES, ENTERED, MISTAKES, REBUILDS, SINCE, Budget
from weft.learners.budget.inverse import checked_coefficients, coefficients, is_sound, rebuild, refine
from weft.learners.budget.symmetric import symmetric_times, take_column

DEPENDENT = 1e-10
"""A squared distance below this share of K(t, t) is rounding."""

ROUNDING = 2e-14
"""A squared distance is off by this, relative to K(t, t), times the squared sum of the |coefficients|."""

MOST_ERROR = 1e-6
"""An inverse whose columns are off by more is made anew."""

MOST_OFF = 1e-4
"""The same for one whose coefficients are."""

CHECKED_EVERY = 8
"""So many mistakes, or a share of the members that have changed, lie between checks of the inverse."""

ENOUGH, MORE_REFINEMENTS = 1e-7, 3
"""Coefficients that were off by more are refined again."""

TIED = 1e-9
"""Damages that differ by less, relative to the least, are equal, and the oldest leaves."""


@helper
def project(
    hyper: Budget,
    gram: Floats,
    inverse: Floats,
    n: int,
    k: Floats,
    tt: float,
    unit: float,
    a: Floats,
    space: Floats,
    scalars: Floats,
) -> tuple[float, bool]:
    """a = H^-1 k, delta^2 = K(t,t) - k'a, and whether the row is as good as its projection.

    The inverse is made anew after as many evictions as there are members, and when it has gone bad: H a is so far off k
    that refinements would not mend it, or a column of H Q, looked at now and then, is not that of the identity. Where
    rows nearly repeat each other the latter may soon be so again, and there are some changes in between.
    """
    if n == 0:
        return tt, False
    if scalars[SINCE] >= n:
        _make_anew(gram, inverse, n, scalars)
    mistakes, error = int(scalars[MISTAKES]), 0.0
    if mistakes % CHECKED_EVERY == 0:
        turn = mistakes // CHECKED_EVERY % n
        off, error = checked_coefficients(gram, inverse, n, turn, k, a, space[0], space[1], space[2])
    else:
        off = coefficients(gram, inverse, n, k, a, space[0])
    is_doubtful = not error <= MOST_ERROR and scalars[CHANGES] * CHECKED_EVERY >= n
    if is_doubtful or not off <= MOST_OFF or not is_sound(gram, inverse, n):
        _make_anew(gram, inverse, n, scalars)
        off = coefficients(gram, inverse, n, k, a, space[0])
    for _ in range(MORE_REFINEMENTS):
        if off > ENOUGH:  # a refinement leaves some off^2
            symmetric_times(gram, n, a, space[0])
            off = refine(inverse, n, k, a, space[0])
    inside, size = 0.0, 1.0
    for j in range(n):
        inside += k[j] * a[j]
        size += abs(a[j])
    rounding = ROUNDING * size * size
    if off > ENOUGH or rounding > DEPENDENT:
        # K(t,t) - 2 k'a + a'Ha is the distance for any a; with a bad one, K(t,t) - k'a might be anything.
        symmetric_times(gram, n, a, space[0])
        inside = 0.0
        for j in range(n):
            inside += (2.0 * k[j] - space[0, j]) * a[j]
    delta2 = max(0.0, tt - inside)
    limit = hyper.eta * np.sqrt(unit * tt) if hyper.relative else hyper.eta
    return delta2, bool(np.sqrt(unit * delta2) <= limit or delta2 <= max(DEPENDENT, rounding) * tt)


@helper
def _make_anew(gram: Floats, inverse: Floats, n: int, scalars: Floats) -> None:
    rebuild(gram, inverse, n, np.empty((n, n)))
    scalars[SINCE], scalars[CHANGES] = 0.0, 0.0
    scalars[REBUILDS] += 1.0


@helper
def least_damage(n: int, size: Floats, diagonal: Floats, numbers: Floats, new: int) -> tuple[int, float]:
    """argmin_j size_j D_j over all but the new member, with D_j = diagonal_j^(-1/2), and the damage of that one."""
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


@inlined_only
def add_squares(weights: Floats, l: int, n: int, factor: float, size: Floats) -> None:
    """size_j += factor w_lj^2 for the weights of row l."""
    for j in range(n):
        size[j] += factor * weights[l, j] * weights[l, j]


@inlined_only
def share_out(weights: Floats, l: int, n: int, r: int, g: Floats) -> None:
    """The weight w of member r in row l goes to all: w_j += w g_j, where g_r is that of the member in its place."""
    w = weights[l, r]
    if w != 0.0:
        weights[l, r] = 0.0
        for j in range(n):
            weights[l, j] += w * g[j]
