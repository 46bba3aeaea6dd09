r"""Labels of regression on a scale of their own: every task's mean, drawn to that of all, and its spread.

With n_k labels of task k and t of all, experts predict u = (y - mu)/sd, where

    mu = (sum of the task's labels + n0 times the mean of all) / (n_k + n0)
    sd^2 = (squared deviations of the task + three times the mean of all) / (n_k + 3)

n0 = within / between is as large as tasks agree: the variance within tasks over that between them (empirical Bayes).
All sums are of y - y0, y0 the first label, since large labels with small differences would cancel.
"""

import math

from weft.compiled.arrays import Floats
from weft.compiled.jit import helper_no_alloc

Y, YY, DEV, W, WC, LO, HI, ULO, UHI, Y0 = range(10)
"""Positions in the labels' totals: sum, sum of squares, squared deviations; within tasks, and their number; the least
and the largest label; the least and the largest u; the first label."""

UMAX = 5.0
"""u is clipped to this when it is learned from."""
SAME = 1e-12
"""A spread below this part of the labels' size is none."""


@helper_no_alloc
def frame(totals: Floats, t: float, n: float, ysum: float, dev: float) -> tuple[float, float, float, bool]:
    """mu, sd, the mean mk that deviations are taken from, and whether the labels vary."""
    if t == 0.0:
        return 0.0, 1.0, 0.0, False
    m = totals[Y] / t
    variance = max(totals[YY] / t - m * m, 0.0)
    n0 = 1.0
    if totals[WC] >= 1.0:
        within = totals[W] / totals[WC]
        between = max(variance - within, 0.01 * variance)
        if between > 0.0:
            n0 = min(max(within / between, 0.01), 100.0)
    mk = (ysum + n0 * m) / (n + n0)
    mu, sd = mk, math.sqrt(variance)
    if n == 0.0:
        mu = m
    else:
        sd = math.sqrt((dev + 3.0 * totals[DEV] / t) / (n + 3.0))
    ready = sd > SAME * (abs(totals[LO]) + abs(totals[HI]))
    return mu + totals[Y0], sd if ready else 1.0, mk + totals[Y0], ready


@helper_no_alloc
def count_label(totals: Floats, t: float, n: float, ysum: float, y: float, u: float, mk: float) -> tuple[float, float]:
    """Count a label, the t-th of all and the n-th of its task; returns what its task's ysum and dev grow by."""
    dev = 0.0
    if t == 1.0:
        totals[Y0] = totals[LO] = totals[HI] = y
    else:
        dev = (y - mk) * (y - mk)
        totals[DEV] += dev
    shifted = y - totals[Y0]
    if n > 1.0:
        gap = shifted - ysum / (n - 1.0)
        totals[W] += gap * gap * (n - 1.0) / n
        totals[WC] += 1.0
    totals[Y] += shifted
    totals[YY] += shifted * shifted
    totals[LO], totals[HI] = min(totals[LO], y), max(totals[HI], y)
    totals[ULO], totals[UHI] = min(totals[ULO], u), max(totals[UHI], u)
    return shifted, dev
