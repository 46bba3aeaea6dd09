r"""Labels of regression on a scale of their own: every task's mean, drawn to that of all, and its deviation.

With n_k labels of task k and t of all, experts predict u = (y - mu) / sd, where

    mu   = (sum of the task's labels + n0 times the mean of all) / (n_k + n0)
    sd^2 = (squared deviations of the task + three times the mean of all) / (n_k + 3)
    n0   = variance within tasks / variance between them                                     (empirical Bayes)

so that tasks that agree are drawn more to the mean of all. All sums are of y - y0 with y0 the first label: of large
labels with small differences the digits would cancel.
"""

import math
from typing import NamedTuple

from weft.compiled.arrays import Floats
from weft.compiled.jit import helper_no_alloc
from weft.learners.adaptive.state import Label, Task

UMAX = 5.0
"""u is clipped to this when it is learned from."""
SAME = 1e-12
"""A deviation below this share of the labels' size is none."""


class LabelScale(NamedTuple):
    """The scale of a task's labels."""

    mu: float
    sd: float
    centre: float  # the mean from which deviations are taken
    varies: bool  # whether the labels vary: otherwise there is nothing to learn


@helper_no_alloc
def label_scale(labels: Floats, t: float, tasks: Floats, k: int) -> LabelScale:
    """The scale of task k after t labels of all tasks."""
    if t == 0.0:
        return LabelScale(0.0, 1.0, 0.0, False)
    n = tasks[k, Task.EVENTS]
    mean = labels[Label.SUM] / t
    variance = max(labels[Label.SQUARES] / t - mean * mean, 0.0)
    n0 = 1.0
    if labels[Label.WITHIN_COUNT] >= 1.0:
        within = labels[Label.WITHIN] / labels[Label.WITHIN_COUNT]
        between = max(variance - within, 0.01 * variance)
        if between > 0.0:
            n0 = min(max(within / between, 0.01), 100.0)
    centre = (tasks[k, Task.LABEL_SUM] + n0 * mean) / (n + n0)
    mu, sd = centre, math.sqrt(variance)
    if n == 0.0:
        mu = mean
    else:
        sd = math.sqrt((tasks[k, Task.LABEL_DEVIATIONS] + 3.0 * labels[Label.DEVIATIONS] / t) / (n + 3.0))
    varies = sd > SAME * (abs(labels[Label.LOWEST]) + abs(labels[Label.HIGHEST]))
    first = labels[Label.FIRST]
    return LabelScale(mu + first, sd if varies else 1.0, centre + first, varies)


@helper_no_alloc
def count_label(labels: Floats, t: float, tasks: Floats, k: int, y: float, u: float, centre: float) -> None:
    """Count a label of task k, the t-th of all, whose scaled value was u; the task's events include it already."""
    n, deviation = tasks[k, Task.EVENTS], 0.0
    if t == 1.0:
        labels[Label.FIRST] = labels[Label.LOWEST] = labels[Label.HIGHEST] = y
    else:
        deviation = (y - centre) * (y - centre)
        labels[Label.DEVIATIONS] += deviation
    shifted = y - labels[Label.FIRST]
    if n > 1.0:
        gap = shifted - tasks[k, Task.LABEL_SUM] / (n - 1.0)
        labels[Label.WITHIN] += gap * gap * (n - 1.0) / n
        labels[Label.WITHIN_COUNT] += 1.0
    labels[Label.SUM] += shifted
    labels[Label.SQUARES] += shifted * shifted
    labels[Label.LOWEST], labels[Label.HIGHEST] = min(labels[Label.LOWEST], y), max(labels[Label.HIGHEST], y)
    labels[Label.LOWEST_U], labels[Label.HIGHEST_U] = min(labels[Label.LOWEST_U], u), max(labels[Label.HIGHEST_U], u)
    tasks[k, Task.LABEL_SUM] += shifted
    tasks[k, Task.LABEL_DEVIATIONS] += deviation
