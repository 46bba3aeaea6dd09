"""The link functions of squared p-norms, and the simplex in their geometry.

psi = |.|_p^2 / 2, 1 < p <= 2, has the gradient f_p, and f_q with q = p/(p-1) is the inverse of that (Cesa-Bianchi,
Laforgue, Paudice and Pontil 2022, Multitask Online Mirror Descent, Sec. 3.2).

>>> import numpy as np
>>> y = np.empty(3)
>>> link(3.0, np.array([2.0, 0.0, -2.0]), y); y.round(6).tolist()
[1.587401, 0.0, -1.587401]
"""

import math

from weft.compiled.jit import compiled, helper
from weft.maths.vectors import Vector

ROUNDS = 200


@compiled
def link(r: float, v: Vector, out: Vector) -> None:
    """The gradient of |.|_r^2 / 2: out_j = sign(v_j) (|v_j| / |v|_r)^(r-1) |v|_r, 1 < r < inf; `out` may be v.

    All powers are of numbers up to 1, so that nothing overflows for large r.
    """
    top, total = 0.0, 0.0
    for j in range(len(v)):
        top = max(top, abs(v[j]))
    for j in range(len(v)):
        if v[j] != 0.0:
            total += math.pow(abs(v[j]) / top, r)
    size = math.pow(total, 1.0 / r)  # |v|_r / top
    for j in range(len(v)):
        if r == 2.0 or v[j] == 0.0:
            out[j] = v[j]
        else:
            out[j] = math.copysign(math.pow(abs(v[j]) / top / size, r - 1.0) * size * top, v[j])


@helper
def shifted_link(q: float, theta: Vector, top: float, height: float, y: Vector) -> float:
    """y = f_q([theta - top + height]_+), top being the largest entry of theta; returns the sum of y."""
    total = 0.0
    for j in range(len(theta)):
        y[j] = max(0.0, (theta[j] - top) + height)
    link(q, y, y)
    for j in range(len(y)):
        total += y[j]
    return total


@compiled
def project_simplex_pnorm(p: float, theta: Vector, y: Vector) -> int:
    """The y in the simplex with the least |y|_p^2 / 2 - <theta, y>, 1 < p <= 2: the Bregman projection of f_q(theta).

    y = f_q([theta + nu]_+), q = p/(p-1), with the nu that makes the sum 1. With h, the largest entry of theta + nu:
    the sum grows with h, is 0 at h = 0 and at least 1 at h = 1, for |v|_(q-1)^(q-1) / |v|_q^(q-2) >= |v|_q >= h.
    Returns the number of trials for h.
    """
    q = p / (p - 1.0)
    top = theta[0]
    for j in range(len(theta)):
        top = max(top, theta[j])
    low, high = 0.0, 1.0
    below, above, side = -1.0, shifted_link(q, theta, top, 1.0, y) - 1.0, 0
    iterations = 0
    while above > 0.0 and high - low > 1e-16 * high and iterations < ROUNDS:
        iterations += 1
        h = low + (high - low) * (below / (below - above))
        if iterations > 30 or not low < h < high:
            h = 0.5 * (low + high)
        gap = shifted_link(q, theta, top, h, y) - 1.0
        if abs(gap) <= 1e-15:
            break
        if gap < 0.0:
            low, below = h, gap
            above = 0.5 * above if side < 0 else above
            side = -1
        else:
            high, above = h, gap
            below = 0.5 * below if side > 0 else below
            side = 1
    total = 0.0
    for j in range(len(y)):
        total += y[j]
    for j in range(len(y)):
        y[j] /= total
    return iterations
