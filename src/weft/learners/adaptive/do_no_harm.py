r"""The do-no-harm layer: for every task a mixture that is never much worse than any of its components.

The components are the stack, the own model and the pooled model. The bounds hold at any time and on any data.

**Log-loss** (Bayes with a share that returns to the prior). w_i is multiplied by the likelihood that component i gave
to the label, and after the n-th event a = 0.25/(n+1) of the weight goes back to the prior. Then

    loss <= loss_i + ln(1/prior_i) + cost,    cost = -sum_n ln(1 - a_n), about 0.25 ln n

since w_i is at least prior_i prod_n (1 - a_n) times the ratio of the likelihoods, and at most 1.

**Squared loss** (AdaHedge; de Rooij, van Erven, Grunwald and Koolen 2014). w_i ~ prior_i exp(-eta L_i), and `gap` sums
up what the mixture lost beyond -1/eta ln sum_i w_i exp(-eta l_i); eta = min(1, ln 10/gap) falls with it. Then

    loss <= loss_i + ln(1/prior_i)/eta + gap
"""

import math

from weft.compiled.arrays import Floats
from weft.compiled.bundle import Bundle, opened
from weft.compiled.jit import PLAIN, compiled, helper_no_alloc
from weft.learners.adaptive.scratch import Context
from weft.learners.adaptive.state import COMPONENTS, Component, Task

PRIOR = (0.8, 0.1, 0.1)
"""Of the components."""
SHARE = 0.25
"""Of the weight that goes back to the prior: a_n = SHARE / (n + 1)."""


@compiled
def mixture_weights(tasks: Floats, k: int, square: bool, w: Floats) -> None:
    """The weights of the components in the mixture of task k."""
    if tasks[k, Task.EVENTS] == 0.0:
        for i in range(COMPONENTS):
            w[i] = PRIOR[i]
    elif not square:
        for i in range(COMPONENTS):
            w[i] = math.exp(tasks[k, Task.MIXTURE + i])
    else:
        least = min(tasks[k, Task.MIXTURE], tasks[k, Task.MIXTURE + 1], tasks[k, Task.MIXTURE + 2])
        total = 0.0
        for i in range(COMPONENTS):
            w[i] = PRIOR[i] * math.exp(-tasks[k, Task.ETA] * (tasks[k, Task.MIXTURE + i] - least))
            total += w[i]
        for i in range(COMPONENTS):
            w[i] /= total


@helper_no_alloc
def update_mixture(context: Bundle[Context], k: int, u: float, p: float) -> None:
    """Update the mixture of task k, which predicted p; its events include this one already."""
    hyper, state, _, scratch = opened(context)
    g, losses = scratch.g, scratch.losses
    for m in range(COMPONENTS + 1):
        guess = g[m] if m < COMPONENTS else p
        if hyper.square:
            losses[m] = 0.5 * (guess - u) * (guess - u)
        else:
            losses[m] = guess if u > 0.5 else 1.0 - guess
    if hyper.square:
        _update_by_squares(state.tasks, k, scratch.w, losses)
    else:
        _update_by_likelihoods(state.tasks, k, scratch.w, losses)


@helper_no_alloc
def _update_by_likelihoods(tasks: Floats, k: int, w: Floats, likelihood: Floats) -> None:
    """Log-loss, with the likelihoods of the components and of the mixture."""
    a = SHARE / (tasks[k, Task.EVENTS] + 1.0)
    total = w[0] * likelihood[0] + w[1] * likelihood[1] + w[2] * likelihood[2]
    for i in range(COMPONENTS):
        tasks[k, Task.MIXTURE + i] = math.log((1.0 - a) * (w[i] * likelihood[i] / total) + a * PRIOR[i])
    tasks[k, Task.COST] -= math.log(1.0 - a)
    for i in range(COMPONENTS + 1):
        tasks[k, Task.LOSS + i] -= math.log(likelihood[i])
    if PLAIN:
        _assert_bounds(tasks, k, 1.0)


@helper_no_alloc
def _update_by_squares(tasks: Floats, k: int, w: Floats, l: Floats) -> None:
    """Squared loss, with half the squared errors l of the components and of the mixture."""
    eta = tasks[k, Task.ETA] if tasks[k, Task.ETA] > 0.0 else 1.0
    least, total = min(l[0], l[1], l[2]), 0.0
    for i in range(COMPONENTS):
        total += w[i] * math.exp(-eta * (l[i] - least))
        tasks[k, Task.MIXTURE + i] += l[i]
    tasks[k, Task.COST] += max(l[Component.MIXTURE] - (least - math.log(total) / eta), 0.0)
    gap = tasks[k, Task.COST]
    tasks[k, Task.ETA] = min(1.0, math.log(10.0) / gap) if gap > 0.0 else 1.0
    for i in range(COMPONENTS + 1):
        tasks[k, Task.LOSS + i] += l[i]
    if PLAIN:
        _assert_bounds(tasks, k, tasks[k, Task.ETA])


def _assert_bounds(tasks: Floats, k: int, eta: float) -> None:
    """In plain mode, which is for debugging, the bounds above are asserted after every event."""
    for i in range(COMPONENTS):
        bound = tasks[k, Task.LOSS + i] + math.log(1.0 / PRIOR[i]) / eta + tasks[k, Task.COST]
        assert tasks[k, Task.LOSS + Component.MIXTURE] <= bound + 1e-9 * max(1.0, bound), (k, i, tasks[k])
