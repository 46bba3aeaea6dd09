"""Proximal steps of the low-rank and personal parts (Yang, Zhao and Gao 2017, Sec. 4.3 and 4.4).

    prox(V) = argmin_W  1/2 |W - V|_F^2 + penalty(W)

| penalty | step | equation |
|---|---|---|
| tau |s| | `soft` | 15 |
| tau sum_i |v_i|_2, over columns | `group_soft` | 18 |
| rho log(1 + s^2) | `log_shrink` | 20, 21 |
| tau |U|_*, the sum of the singular values | `nuclear_prox` | 13, 16 |
| rho log det(I + U'U) | `logdet_prox` | 19 |

The last two leave the singular vectors as they are and shrink every singular value by itself (Theorems 1 and 2). No
step changes its argument.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from weft.compiled.arrays import Floats
from weft.compiled.jit import compiled, helper_no_alloc

CONVEX = 4.0
"""Up to this rho the scalar log-determinant problem is strictly convex; beyond it, two local minima may compete."""
ROUNDING = float(np.finfo(float).eps)
MOST_STEPS = 200


class Shrunk(NamedTuple):
    """A matrix after a proximal step, its singular values in descending order, and its numerical rank."""

    matrix: Floats
    values: Floats
    rank: int


def soft(s: Any, tau: Any) -> Floats:
    """Soft thresholding, sign(s) max(|s| - tau, 0): the solution of Eq. 15.

    >>> soft(np.array([3.0, -2.0, 0.5]), 1.0).tolist()
    [2.0, -1.0, 0.0]
    """
    s = np.asarray(s, dtype=float)
    kept = np.abs(s) > tau
    return np.where(kept, s - np.copysign(np.where(kept, tau, 0.0), s), 0.0)


def group_soft(V: Floats, tau: float) -> Floats:
    """Every column v becomes (1 - tau/|v|) v, or 0 if |v| <= tau (Eq. 18).

    >>> group_soft(np.array([[3.0, 0.3, 0.0], [4.0, 0.4, 0.0]]), 1.0).tolist()
    [[2.4000000000000004, 0.0, 0.0], [3.2, 0.0, 0.0]]
    """
    norms = np.sqrt(np.square(V).sum(axis=0))
    kept = norms > tau
    factors = 1.0 - tau / np.where(kept, norms, 1.0)
    return np.where(kept, factors * V, 0.0)


def log_shrink(h: Any, rho: Any) -> Floats:
    """The global minimum in s of 1/2 (s-h)^2 + rho log(1+s^2), the smaller s of two equal ones; odd in h.

    For h > 0 all stationary points lie in (0, h) and solve s^3 - h s^2 + (1 + 2 rho) s - h = 0 (Eq. 21 times rho). If
    rho <= 4, the slope increases and has one root. Else it falls between its turning points s- and s+, where

        s+^2 = rho - 1 + sqrt(rho (rho - 4)),     s-^2 s+^2 = 2 rho + 1,

    so that up to s- lies at most one local minimum, from s+ on at most another, and the lower one is taken. As h grows
    the minimum then leaps from the first to the second. No h > 0 is sent to 0: a small one becomes h/(1 + 2 rho).

    >>> log_shrink(np.array([0.0, 1e-3, 2.0, 100.0]), 0.5).round(6).tolist()
    [0.0, 0.0005, 1.543689, 99.99]
    >>> log_shrink(np.array([5.3, 5.4]), 4.2).round(3).tolist()
    [1.132, 2.521]
    """
    signed, rho = np.broadcast_arrays(np.asarray(h, dtype=float), np.asarray(rho, dtype=float))
    h = np.abs(signed)
    excess = np.where(rho > CONVEX, rho, CONVEX)
    square = excess - 1.0 + np.sqrt(excess * (excess - CONVEX))
    last = np.where(rho > CONVEX, np.sqrt(square), np.inf)
    first = np.where(rho > CONVEX, np.sqrt((2.0 * excess + 1.0) / square), np.inf)
    low = np.minimum(first, h)
    left = _slope(low, h, rho) >= 0.0
    # One of the two exists; where rounding sees neither, s- and s+ are the same number but for rounding.
    right = ~left | ((last <= h) & (_slope(np.minimum(last, h), h, rho) <= 0.0))
    s = _root(np.zeros_like(h), np.where(left, low, 0.0), h, rho)
    if right.any():
        other = _root(np.where(right, np.minimum(last, h), h), h, h, rho)
        s = np.where(right & (~left | (_objective(other, h, rho) < _objective(s, h, rho))), other, s)
    return np.where(rho > 0.0, np.copysign(s, signed), signed)


def _slope(s: Floats, h: Floats, rho: Floats) -> Floats:
    """The derivative of the scalar problem: the cubic of Eq. 21, times rho, over 1 + s^2."""
    slope: Floats = s - h + 2.0 * rho * s / (1.0 + s * s)
    return slope


def _objective(s: Floats, h: Floats, rho: Floats) -> Floats:
    value: Floats = 0.5 * np.square(s - h) + rho * np.log1p(s * s)
    return value


def _root(low: Floats, high: Floats, h: Floats, rho: Floats) -> Floats:
    """Newton's method on a slope that rises from low to high, by halves wherever a step leaves the bracket."""
    s = 0.5 * (low + high)
    open_ = high > low
    for _ in range(MOST_STEPS):
        if not open_.any():
            break
        slope = _slope(s, h, rho)
        low = np.where(slope < 0.0, s, low)
        high = np.where(slope > 0.0, s, high)
        square = s * s
        curvature = 1.0 + 2.0 * rho * (1.0 - square) / np.square(1.0 + square)
        step = s - slope / np.where(curvature > 0.0, curvature, 1.0)
        inside = (curvature > 0.0) & (step >= low) & (step <= high)
        step = np.where(inside, step, 0.5 * (low + high))
        # A slope is known to some roundings of h; what is below that says nothing about where to go.
        moving = (np.abs(slope) > 2.0 * ROUNDING * h) & (step != s) & (high - low > 2.0 * ROUNDING * high)
        s = np.where(open_, step, s)
        open_ = open_ & moving
    return s


def thin_svd(U: Floats) -> tuple[Floats, Floats, Floats]:
    """P, s, Q' with U = P diag(s) Q', by a QR factorisation and the SVD of its small factor: O(d m^2) for d >> m.

    >>> P, s, Qt = thin_svd(np.array([[3.0, 0.0], [0.0, 0.0], [0.0, 4.0]]))
    >>> s.tolist(), np.abs(P @ np.diag(s) @ Qt).tolist()
    ([4.0, 3.0], [[3.0, 0.0], [0.0, 0.0], [0.0, 4.0]])
    """
    if U.shape[0] < U.shape[1]:
        Q, s, Pt = thin_svd(U.T)
        return Pt.T, s, Q.T
    basis, R = linalg.qr(U, mode="economic", check_finite=False)
    P, s, Qt = linalg.svd(R, full_matrices=False, check_finite=False)
    return basis @ P, s, Qt


def nuclear_prox(U: Floats, tau: float) -> Shrunk:
    """argmin_W 1/2 |W-U|_F^2 + tau |W|_*: singular values (s - tau)_+ (Eq. 16).

    >>> step = nuclear_prox(np.array([[3.0, 0.0], [0.0, 0.0], [0.0, 1.0]]), 1.0)
    >>> step.matrix.tolist(), step.values.tolist(), step.rank
    ([[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]], [2.0, 0.0], 1)
    """
    return _shrunk(U, lambda s: soft(s, tau))


def logdet_prox(U: Floats, rho: float) -> Shrunk:
    """argmin_W 1/2 |W-U|_F^2 + rho log det(I + W'W): singular values by `log_shrink` (Theorem 2).

    >>> step = logdet_prox(np.array([[2.0, 0.0], [0.0, 0.0], [0.0, 1e-3]]), 0.5)
    >>> step.values.round(6).tolist(), step.rank
    ([1.543689, 0.0005], 2)
    """
    return _shrunk(U, lambda s: log_shrink(s, rho))


def _shrunk(U: Floats, shrink: Any) -> Shrunk:
    """Columns of zeros stay exactly so: they have no part in any right singular vector."""
    live = U.any(axis=0)
    P, s, Qt = thin_svd(U[:, live])
    values = np.zeros(min(U.shape))
    values[: len(s)] = shrink(s)
    matrix = np.zeros(U.shape)
    if (values[: len(s)] == s).all():
        matrix[:] = U
    else:
        kept = np.flatnonzero(values)
        matrix[:, live] = (P[:, kept] * values[kept]) @ Qt[kept]
    floor = max(U.shape) * ROUNDING * values.max(initial=0.0)
    return Shrunk(matrix, values, int((values > floor).sum()))


# --- the same for few singular values, h >= 0, without the cost of a call for every operation ---


@compiled
def soft_values(h: Floats, tau: float) -> Floats:
    """`soft` of singular values.

    >>> soft_values(np.array([3.0, 0.5]), 1.0).tolist()
    [2.0, 0.0]
    """
    s = np.empty_like(h)
    for i in range(len(h)):
        s[i] = max(h[i] - tau, 0.0)
    return s


@compiled
def log_values(h: Floats, rho: float) -> Floats:
    """`log_shrink` of singular values.

    >>> log_values(np.array([0.0, 1e-3, 2.0, 100.0]), 0.5).round(6).tolist()
    [0.0, 0.0005, 1.543689, 99.99]
    """
    s = np.empty_like(h)
    for i in range(len(h)):
        s[i] = log_value(h[i], rho)
    return s


@helper_no_alloc
def log_value(h: float, rho: float) -> float:
    """`log_shrink` of one singular value."""
    if h <= 0.0 or rho == 0.0:
        return max(h, 0.0)
    if rho <= CONVEX:
        return _climb(0.0, h, h, rho)
    square = rho - 1.0 + np.sqrt(rho * (rho - CONVEX))
    low, last = min(np.sqrt((2.0 * rho + 1.0) / square), h), min(np.sqrt(square), h)
    left = _steepness(low, h, rho) >= 0.0
    right = not left or (last < h and _steepness(last, h, rho) <= 0.0)
    s = _climb(0.0, low, h, rho) if left else 0.0
    if right:
        other = _climb(last, h, h, rho)
        if not left or _height(other, h, rho) < _height(s, h, rho):
            return other
    return s


@helper_no_alloc
def _steepness(s: float, h: float, rho: float) -> float:
    return s - h + 2.0 * rho * s / (1.0 + s * s)


@helper_no_alloc
def _height(s: float, h: float, rho: float) -> float:
    return 0.5 * (s - h) * (s - h) + rho * math.log1p(s * s)


@helper_no_alloc
def _climb(low: float, high: float, h: float, rho: float) -> float:
    """`_root` for one value."""
    s = 0.5 * (low + high)
    for _ in range(MOST_STEPS):
        slope = _steepness(s, h, rho)
        if abs(slope) <= 2.0 * ROUNDING * h or high - low <= 2.0 * ROUNDING * high:
            break
        if slope < 0.0:
            low = s
        else:
            high = s
        square = 1.0 + s * s
        curvature = 1.0 + 2.0 * rho * (2.0 - square) / (square * square)
        step = s - slope / curvature if curvature > 0.0 else high + 1.0
        if not low <= step <= high:
            step = 0.5 * (low + high)
        if step == s:
            break
        s = step
    return s
