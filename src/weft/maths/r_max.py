"""The implicit update for r-max norms (Dekel, Long and Singer 2007, Sec. 7): a box and a budget.

    maximise  sum_j (tau_j l_j - tau_j^2 n2_j / 2)   over 0 <= tau_j <= C, sum_j tau_j <= r C

The solution is tau_j = clip((l_j - theta) / n2_j, 0, C) for the least theta >= 0 that keeps the budget (Eq. 33). Its
sum is piecewise linear in theta; pieces end at the critical values l_j and l_j - C n2_j, or with a jump of height C at
l_j if n2_j = 0 (in floating point: C n2_j <= 1e-16 l_j).
"""

import numpy as np

from weft.compiled.jit import helper
from weft.maths.vectors import Vector, p_norm, sort

NEGLIGIBLE = 1e-16
GLANCES = 12


@helper
def clipped(l: float, n2: float, C: float) -> float:
    """The best weight of a task by itself, min(C, l / n2): PA-I."""
    if l <= 0.0:
        return 0.0
    return C if l >= C * n2 else l / n2


@helper
def separate(l: Vector, n2: Vector, C: float, tau: Vector) -> None:
    """Every task by itself, tau_j <= C: the L1 norm, or a single task with any norm."""
    for j in range(len(l)):
        tau[j] = clipped(l[j], n2[j], C)


@helper
def mass(l: Vector, spans: Vector, inverses: Vector, C: float, theta: float) -> tuple[float, float, float]:
    """The sum of tau at theta (Eq. 33), how fast it falls, and the next critical value above theta.

    The sum is continuous from the right at zero instances' jumps. `spans` holds C n2 and `inverses` 1 / n2. Selections
    instead of branches: which tasks are clipped is a coin toss.
    """
    total, rate, edge = 0.0, 0.0, np.inf
    for j in range(len(l)):
        gap = l[j] - theta
        inverse = inverses[j] if gap < spans[j] else 0.0
        part = gap * inverse if gap < spans[j] else C
        total += part if gap > 0.0 else 0.0
        rate += inverse if gap > 0.0 else 0.0
        edge = min(edge, l[j] if gap > 0.0 else np.inf)
        leave = l[j] - spans[j] if spans[j] > NEGLIGIBLE * l[j] else 0.0
        edge = min(edge, leave if leave > theta else np.inf)
    return total, rate, edge


@helper
def segment(l: Vector, spans: Vector, inverses: Vector, C: float, budget: float) -> tuple[float, float]:
    """low < high without a critical value between them, with mass(low) > budget >= mass(high).

    Newton's method mostly ends on the right piece after a few steps. Where it does not, the critical values that are
    left are sorted and searched by halves.
    """
    low, high, theta = 0.0, p_norm(np.inf, l), 0.0
    for _ in range(GLANCES):
        total, rate, edge = mass(l, spans, inverses, C, theta)
        if total > budget:
            low = theta
        else:
            high = theta
        root = theta + (total - budget) / rate if rate > 0.0 else edge
        if total > budget and rate > 0.0 and root <= edge:
            return theta, edge
        theta = root if low < root < high else 0.5 * (low + high)
    critical = np.empty(2 * len(l) + 1)
    count = 0
    for j in range(len(l)):
        if low < l[j] < high:
            critical[count] = l[j]
            count += 1
        leave = l[j] - spans[j]
        if low < leave < high and spans[j] > NEGLIGIBLE * l[j]:
            critical[count] = leave
            count += 1
    critical[count] = high
    sort(critical, count + 1)
    first, last = 0, count
    while first < last:
        middle = (first + last) // 2
        if mass(l, spans, inverses, C, critical[middle])[0] > budget:
            first = middle + 1
        else:
            last = middle
    return (critical[first - 1] if first > 0 else low), critical[first]


@helper
def stays_full(l: float, n2: float, C: float, high: float) -> bool:
    """Whether tau = C for every threshold just below the critical value `high`."""
    return l >= high and (C * n2 <= NEGLIGIBLE * l or l - C * n2 >= high)


@helper
def r_max_balls(l: Vector, n2: Vector, C: float, r: float, tau: Vector) -> None:
    """max tau <= C and sum tau <= r C (Eq. 29 to 34), in O(k log k).

    The threshold theta of Eq. 34 is kept as base + shift: l - base is exact where it matters, so that tau is
    accurate to C times the rounding unit even for instances of very different lengths.
    """
    budget = r * C
    separate(l, n2, C, tau)
    total = 0.0
    for j in range(len(l)):
        total += tau[j]
    if total <= budget:
        return
    spans, inverses = np.empty(len(l)), np.empty(len(l))
    for j in range(len(l)):
        spans[j] = C * n2[j]
        inverses[j] = 1.0 / n2[j] if n2[j] > 0.0 else 0.0
    base, high = segment(l, spans, inverses, C, budget)
    excess, rate = -budget, 0.0
    for j in range(len(l)):
        if stays_full(l[j], n2[j], C, high):
            excess += C
        elif l[j] >= high:
            excess += (l[j] - base) / n2[j]
            rate += 1.0 / n2[j]
    if excess >= rate * (high - base):
        share_jump(l, n2, C, budget, high, tau)
        return
    shift = excess / rate
    for j in range(len(l)):
        if stays_full(l[j], n2[j], C, high):
            tau[j] = C
        else:
            tau[j] = clipped((l[j] - base) - shift, n2[j], C) if l[j] >= high else 0.0


@helper
def share_jump(l: Vector, n2: Vector, C: float, budget: float, theta: float, tau: Vector) -> None:
    """tau where its sum jumps over the budget: the tasks that jump all go the same part of the way to C.

    These are zero instances, or ones so short that their whole range lies within the rounding of theta.
    """
    total, jump = 0.0, 0.0
    for j in range(len(l)):
        tau[j] = clipped(l[j] - theta, n2[j], C)
        total += tau[j]
        if stays_full(l[j], n2[j], C, theta):
            jump += C - tau[j]
    share = min(1.0, max(0.0, (budget - total) / jump)) if jump > 0.0 else 0.0
    for j in range(len(l)):
        if stays_full(l[j], n2[j], C, theta):
            tau[j] += share * (C - tau[j])
