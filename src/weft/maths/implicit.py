"""Solvers of the implicit update (Dekel, Long and Singer 2007, Sec. 5 to 7) over balls of p-norms.

Each kernel fills `tau` with the solution of

    maximise  sum_j (tau_j l_j - tau_j^2 n2_j / 2)   over tau >= 0 inside the stated ball or balls,

where l are the losses of a round and n2 the squared lengths of its instances. Entries with l_j = 0 get
tau_j = 0. An entry with n2_j = 0 (in floating point: C n2_j <= 1e-16 l_j) is an instance that moves nothing
but shares the budget.

The balls are scaled to |s|_q <= 1 with s = tau / C, u = l / max(l) and a = n2 C / max(l); then 0 <= s <= 1.
At the optimum u_j = a_j s_j + theta1 s_j^(q1-1) + theta2 s_j^(q2-1), with one multiplier theta >= 0 per
ball.
"""

import math

import numpy as np

from weft.compiled.jit import helper
from weft.maths.r_max import NEGLIGIBLE, r_max_balls, separate
from weft.maths.vectors import Vector, p_norm

ROUNDS = 200


@helper
def load(l: float, n2: float, C: float, top: float) -> float:
    """The scaled curvature a = n2 C / top of a task; exactly 0 if it is negligible."""
    return 0.0 if C * n2 <= NEGLIGIBLE * l else n2 * C / top


@helper
def l2_ball(l: Vector, n2: Vector, C: float, tau: Vector) -> None:
    """|tau|_2 <= C (Eq. 26 and 27): s = u / (a + theta).

    1/|s|_2 is a concave increasing function of theta, so Newton's method for 1/|s|_2 = 1 rises to the root
    from any theta to the left of it; such are |u|_2 - max a and every u_j - a_j.
    """
    top = p_norm(np.inf, l)
    size = p_norm(2.0, l) / top
    theta, heaviest = 0.0, 0.0
    for j in range(len(l)):
        if l[j] > 0.0:
            a = load(l[j], n2[j], C, top)
            heaviest = max(heaviest, a)
            theta = max(theta, l[j] / top - a)
    theta = max(theta, size - heaviest)
    for _ in range(ROUNDS):
        squares, slope = 0.0, 0.0
        for j in range(len(l)):
            tau[j] = 0.0
            if l[j] > 0.0:
                weight = load(l[j], n2[j], C, top) + theta
                s = l[j] / top / weight
                tau[j] = C * s
                squares += s * s
                slope += s * s / weight
        step = (math.sqrt(squares) - 1.0) * squares / slope if slope > 0.0 else 0.0
        if not step > 1e-16 * theta:
            break
        theta += step


@helper
def power(x: float, e: float) -> float:
    """x^e for x >= 0, quickly where e is small and simple."""
    if e == 0.0:
        return 1.0
    if e == 0.5:
        return math.sqrt(x)
    if e == 1.0:
        return x
    if e == 2.0:
        return x * x
    if e == 3.0:
        return x * x * x
    return math.pow(x, e)


@helper
def bounded_root(coefficient: float, e: float, u: float) -> float:
    """The root of coefficient x^e = u, at most 1."""
    return 1.0 if u >= coefficient else power(u / coefficient, 1.0 / e)


@helper
def coordinate(u: float, a: float, theta1: float, e1: float, theta2: float, e2: float, guess: float) -> float:
    """The root s in [0, 1] of a s + theta1 s^e1 + theta2 s^e2 = u, for e1, e2 >= 0; 1 if there is none.

    In x = s^b, b = min(1, smallest exponent), all powers are at least 1 and the left side is convex: after
    one step of Newton's method from anywhere the others descend to the root.
    """
    if e2 == 0.0:  # the ball of the 1-norm: a constant
        u -= theta2
        theta2 = 0.0
    if u <= 0.0:
        return 0.0
    if u >= a + theta1 + theta2:
        return 1.0
    b = min(1.0, e1 if theta1 > 0.0 else 1.0, e2 if theta2 > 0.0 else 1.0)
    f0, f1, f2 = 1.0 / b, e1 / b, e2 / b
    x = power(guess, b)
    if not 0.0 < x < 1.0:
        x = min(bounded_root(a, f0, u), bounded_root(theta1, f1, u), bounded_root(theta2, f2, u))
    for i in range(ROUNDS):
        term0 = a * power(x, f0 - 1.0)
        term1 = theta1 * power(x, f1 - 1.0) if theta1 > 0.0 else 0.0
        term2 = theta2 * power(x, f2 - 1.0) if theta2 > 0.0 else 0.0
        slope = f0 * term0
        if theta1 > 0.0:
            slope += f1 * term1
        if theta2 > 0.0:
            slope += f2 * term2
        if slope == 0.0:  # the powers of a poor guess vanish
            x = min(bounded_root(a, f0, u), bounded_root(theta1, f1, u), bounded_root(theta2, f2, u))
            continue
        step = ((term0 + term1 + term2) * x - u) / slope
        if i > 0 and step <= 0.0:
            break
        x = min(1.0, x - step)
        if abs(step) <= 1e-9 * x:  # the next error is the square of this one
            break
    return power(x, f0)


@helper
def sums(
    l: Vector, n2: Vector, C: float, q1: float, q2: float, theta1: float, theta2: float, tau: Vector
) -> tuple[float, float, float, float, float]:
    """Fill tau from the multipliers, its old values being guesses; return sum s^q1, sum s^q2, three slopes.

    The slopes are -d(sum s^q1)/d theta1 / q1, -d(sum s^q1)/d theta2 / q1 and -d(sum s^q2)/d theta2 / q2. An
    infinite q1 has no sum and no multiplier: it is the cap s <= 1.
    """
    top = p_norm(np.inf, l)
    e1, e2 = q1 - 1.0, q2 - 1.0
    cap = math.isinf(q1)
    sum1, sum2, slope11, slope12, slope22 = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(len(l)):
        if l[j] <= 0.0:
            continue
        a = load(l[j], n2[j], C, top)
        s = coordinate(l[j] / top, a, theta1, e1, theta2, e2, tau[j] / C)
        tau[j] = C * s
        if s == 0.0:
            continue
        power1 = 0.0 if cap else power(s, e1)
        power2 = power(s, e2)
        sum1 += power1 * s
        sum2 += power2 * s
        weight = a
        if theta1 > 0.0:
            weight += theta1 * e1 * power1 / s
        if theta2 > 0.0:
            weight += theta2 * e2 * power2 / s
        if weight > 0.0 and not (cap and s == 1.0):
            slope11 += power1 * power1 / weight
            slope12 += power1 * power2 / weight
            slope22 += power2 * power2 / weight
    return sum1, sum2, slope11, slope12, slope22


@helper
def improve(
    theta: float, low: float, high: float, fresh: bool, total: float, slope: float, q: float, radius: float
) -> float:
    """Newton's step for 1/|s|_q = 1/radius, almost linear in theta, kept inside the bracket.

    A step below the bracket goes to its lower end while that is fresh, that is, not yet tried; any other
    step outside goes to the middle.
    """
    middle = 0.5 * (low + high)
    if total <= 0.0 or slope <= 0.0:
        return low if fresh else middle
    theta += (math.pow(total, 1.0 / q) / radius - 1.0) * total / slope
    if theta <= low and fresh:
        return low
    return theta if low < theta < high else middle


@helper
def first_multiplier(
    l: Vector, n2: Vector, C: float, q1: float, q2: float, start: float, theta2: float, tau: Vector
) -> tuple[float, float, float]:
    """theta1 >= 0 with |s|_q1 = 1 for a given theta2, or 0 if the ball is slack or a cap; `start` is a guess.

    Returns theta1, sum s^q2 and the latter's slope along the path theta1(theta2), scaled as in `sums`.
    """
    if math.isinf(q1):
        _, sum2, _, _, slope = sums(l, n2, C, q1, q2, 0.0, theta2, tau)
        return 0.0, sum2, slope
    top = p_norm(np.inf, l)
    low = 0.0
    for j in range(len(l)):  # from here on every s_j <= 1
        if l[j] > 0.0:
            low = max(low, l[j] / top - load(l[j], n2[j], C, top) - theta2)
    high = max(low, p_norm(q1 / (q1 - 1.0), l) / top)
    theta1 = min(max(start, low), high)
    fresh = True
    sum2, slope = 0.0, 0.0
    for _ in range(ROUNDS):
        sum1, sum2, slope11, slope12, slope = sums(l, n2, C, q1, q2, theta1, theta2, tau)
        if theta1 > 0.0 and slope11 > 0.0:
            slope -= slope12 * slope12 / slope11
        excess = sum1 - 1.0
        if abs(excess) <= 1e-15 * q1 or (theta1 == low and excess < 0.0):
            break
        if excess > 0.0:
            low, fresh = theta1, False
        else:
            high = theta1
        if high - low <= 1e-16 * high:
            break
        theta1 = improve(theta1, low, high, fresh, sum1, slope11, q1, 1.0)
    return theta1, sum2, slope


@helper
def lp_ball(l: Vector, n2: Vector, C: float, q: float, tau: Vector) -> None:
    """|tau|_q <= C for any q in [1, inf]."""
    if q == 1.0:
        r_max_balls(l, n2, C, 1.0, tau)
    elif math.isinf(q):
        separate(l, n2, C, tau)
    elif q == 2.0:
        l2_ball(l, n2, C, tau)
    else:
        first_multiplier(l, n2, C, q, 2.0, 0.0, 0.0, tau)


@helper
def two_balls(l: Vector, n2: Vector, C: float, q1: float, q2: float, alpha: float, tau: Vector) -> None:
    """|tau|_q1 <= C and |tau|_q2 <= alpha C, for q1 > q2, not (inf, 1): the norm K of Appendix A.

    One ball may contain the other's solution. Otherwise both constraints are tight: an outer search for
    theta2, and inside it one for theta1; both sums fall monotonically.
    """
    slack = 1.0 + 1e-13
    lp_ball(l, n2, C, q1, tau)
    if p_norm(q2, tau) <= alpha * C * slack:
        return
    lp_ball(l, n2, alpha * C, q2, tau)
    if p_norm(q1, tau) <= C * slack:
        return
    p2 = np.inf if q2 == 1.0 else q2 / (q2 - 1.0)
    low, high = 0.0, p_norm(p2, l) / p_norm(np.inf, l) / math.pow(alpha, q2 - 1.0)
    theta1, theta2 = 0.0, 0.5 * high
    for _ in range(ROUNDS):
        theta1, total, slope = first_multiplier(l, n2, C, q1, q2, theta1, theta2, tau)
        size = math.pow(total, 1.0 / q2)
        if abs(size - alpha) <= 1e-15 * alpha:
            return
        if size > alpha:
            low = theta2
        else:
            high = theta2
        theta2 = improve(theta2, low, high, False, total, slope, q2, alpha)
        if theta2 <= low or theta2 >= high:
            break
    # Between neighbouring numbers tau still jumps (ties, zero instances): a mixture meets the constraint.
    below = tau.copy()
    first_multiplier(l, n2, C, q1, q2, theta1, low, below)
    first_multiplier(l, n2, C, q1, q2, theta1, high, tau)
    more, less = p_norm(q2, below), p_norm(q2, tau)
    share = (alpha * C - less) / (more - less) if more > less else 0.0
    share = min(1.0, max(0.0, share))
    for j in range(len(l)):
        tau[j] += share * (below[j] - tau[j])
