r"""Mixtures that are never much worse than any of their parts, at any time and on any data.

**Log-loss** (Bayes with a share that returns to the prior). w_i is multiplied by the likelihood that part i gave to the
label, and after the n-th event a = 0.25/(n+1) of the weight goes back to the prior. Then

    loss <= loss_i + ln(1/prior_i) + cost,    cost = -sum_n ln(1 - a_n), about 0.25 ln n

since w_i is at least prior_i prod_n (1 - a_n) times the ratio of the likelihoods, and at most 1.

**Squared loss** (AdaHedge; de Rooij, van Erven, Grunwald and Koolen 2014). w_i ~ prior_i exp(-eta L_i), and `gap` sums
up what the mixture lost beyond -1/eta ln sum_i w_i exp(-eta l_i); eta = min(1, ln 10/gap) falls with it. Then

    loss <= loss_i + ln(1/prior_i)/eta + gap
"""

import math

from weft.compiled.arrays import Floats
from weft.compiled.jit import PLAIN, compiled, helper_no_alloc

PRIOR = (0.8, 0.1, 0.1)
"""Of the stack, the own and the pooled model."""
SHARE = 0.25

WEIGHT, COST, ETA, LOSS = 1, 4, 5, 8
"""Columns of a task's row: from 1 on ln w_i (log-loss) or L_i, the cost or the gap, eta; from 8 on the losses of the
parts and of the mixture. Column 0 is the number of its events."""


@compiled
def mixture(tasks: Floats, k: int, square: bool, w: Floats) -> None:
    """The weights of task k."""
    if tasks[k, 0] == 0.0:
        for i in range(3):
            w[i] = PRIOR[i]
    elif not square:
        for i in range(3):
            w[i] = math.exp(tasks[k, WEIGHT + i])
    else:
        least = min(tasks[k, WEIGHT], tasks[k, WEIGHT + 1], tasks[k, WEIGHT + 2])
        total = 0.0
        for i in range(3):
            w[i] = PRIOR[i] * math.exp(-tasks[k, ETA] * (tasks[k, WEIGHT + i] - least))
            total += w[i]
        for i in range(3):
            w[i] /= total


def _expect_no_harm(tasks: Floats, k: int, eta: float) -> None:
    """In plain mode, in which one looks for faults, the inequalities above are asserted after every event."""
    for i in range(3):
        bound = tasks[k, LOSS + i] + math.log(1.0 / PRIOR[i]) / eta + tasks[k, COST]
        assert tasks[k, LOSS + 3] <= bound + 1e-9 * max(1.0, bound), (k, i, tasks[k])


@helper_no_alloc
def heed_likelihoods(tasks: Floats, k: int, w: Floats, likelihood: Floats) -> None:
    """After the event that is already counted; likelihood = (of the parts, of the mixture)."""
    a = SHARE / (tasks[k, 0] + 1.0)
    total = w[0] * likelihood[0] + w[1] * likelihood[1] + w[2] * likelihood[2]
    for i in range(3):
        tasks[k, WEIGHT + i] = math.log((1.0 - a) * (w[i] * likelihood[i] / total) + a * PRIOR[i])
    tasks[k, COST] -= math.log(1.0 - a)
    for i in range(4):
        tasks[k, LOSS + i] -= math.log(likelihood[i])
    if PLAIN:
        _expect_no_harm(tasks, k, 1.0)


@helper_no_alloc
def heed_squares(tasks: Floats, k: int, w: Floats, l: Floats) -> None:
    """The same with half squares l = (of the parts, of the mixture)."""
    eta = tasks[k, ETA] if tasks[k, ETA] > 0.0 else 1.0
    least, total = min(l[0], l[1], l[2]), 0.0
    for i in range(3):
        total += w[i] * math.exp(-eta * (l[i] - least))
        tasks[k, WEIGHT + i] += l[i]
    tasks[k, COST] += max(l[3] - (least - math.log(total) / eta), 0.0)
    tasks[k, ETA] = min(1.0, math.log(10.0) / tasks[k, COST]) if tasks[k, COST] > 0.0 else 1.0
    for i in range(4):
        tasks[k, LOSS + i] += l[i]
    if PLAIN:
        _expect_no_harm(tasks, k, tasks[k, ETA])
