r"""Three experts that look at no feature: the recent labels of the task, at three rates.

m <- m + max(rate, 1/n) (u - m)    after the task's n-th event
s = ln((m q + 1/2) / ((1 - m) q + 1/2)),  q = min(n, 1/rate)    with log-loss;  s = m with squared loss
"""

import math

from weft.compiled.bundle import Bundle, opened
from weft.compiled.jit import helper_no_alloc, inlined_only
from weft.learners.adaptive.scratch import Context
from weft.learners.adaptive.state import LEVELS, Expert, Task

RATES = (0.5, 0.1, 0.02)


@inlined_only
def score_level(context: Bundle[Context], k: int) -> None:
    """The scores."""
    hyper, state, _, scratch = opened(context)
    events = state.tasks[k, Task.EVENTS]
    for r in range(LEVELS):
        m = state.levels[k, r]
        score = m
        if not hyper.square:
            q = min(events, 1.0 / RATES[r])
            score = math.log((m * q + 0.5) / ((1.0 - m) * q + 0.5))
        scratch.e[Expert.LEVEL + r] = score


@helper_no_alloc
def update_level(context: Bundle[Context], k: int, u: float, weight: float) -> None:
    """Learn u; the task's events include this one already. A weight multiplies the rate, up to 1."""
    _, state, _, _ = opened(context)
    for r in range(LEVELS):
        rate = max(RATES[r], 1.0 / state.tasks[k, Task.EVENTS])
        state.levels[k, r] += min(weight * rate, 1.0) * (u - state.levels[k, r])
