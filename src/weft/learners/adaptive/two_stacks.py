r"""Two stacks where there are experts of `effort`: one of all experts, one of the first ones alone, and their mixture.

Every expert in a stack costs a little until its weight has been learned, and more where it has nothing to say. So the
first experts have a stack of their own, as with `effort="fast"`, and the score s is mixed from the scores of both,
s_0 of all and s_1 of the first, with weights that are the same for all tasks, 1/2 and 1/2 at first.

**Log-loss.** s is the log-odds of w_0 sigma(s_0) + w_1 sigma(s_1). The weights are multiplied by the likelihoods of the
label, and after event n of the stream a share of them, a = SHARE/(n + 1), goes back to 1/2 each.

**Squared loss.** s = w_0 s_0 + w_1 s_1, both clipped to the range of labels, w_i ~ exp(-eta L_i), with L_i the half
squares of s_i so far, eta = min(1, ln 2/gap), and `gap` as in AdaHedge (de Rooij, van Erven, Grunwald and Koolen 2014).

So over the whole stream the loss of s exceeds that of either stack by at most ln 2 and about SHARE ln n nats with
log-loss, and by ln 2/eta + gap with squared loss, by the proof in `do_no_harm`.
"""

import math

from weft.compiled.arrays import Floats
from weft.compiled.bundle import Bundle, opened
from weft.compiled.jit import compiled, helper_no_alloc
from weft.learners.adaptive.do_no_harm import SHARE
from weft.learners.adaptive.scratch import Context
from weft.learners.adaptive.stacking import sigma, stacked, update_stack
from weft.learners.adaptive.state import EXPERTS, Label, Stack, Total

STACKS = 2
GAP = STACKS
"""Column of the row MIXTURE with squared loss, behind the losses; with log-loss the weights stand there."""


@compiled
def shares_of_stacks(stack: Floats, square: bool) -> tuple[float, float]:
    """The weights of both stacks in the mixture."""
    one, other = stack[Stack.MIXTURE, 0], stack[Stack.MIXTURE, 1]
    if square:
        eta, least = _rate(stack[Stack.MIXTURE, GAP]), min(one, other)
        one, other = math.exp(-eta * (one - least)), math.exp(-eta * (other - least))
    return one / (one + other), other / (one + other)


@helper_no_alloc
def _rate(gap: float) -> float:
    """eta of AdaHedge."""
    return min(1.0, math.log(2.0) / gap) if gap > 0.0 else 1.0


@helper_no_alloc
def mix_stacks(context: Bundle[Context], all_of_them: float) -> float:
    """The score s, from that of the stack of all experts; keeps the scores of both stacks."""
    hyper, state, _, scratch = opened(context)
    scores = scratch.stack_scores
    scores[0], scores[1] = all_of_them, stacked(context, Stack.FIRST_WEIGHT, EXPERTS)
    one, other = shares_of_stacks(state.stack, hyper.square)
    if hyper.square:
        low, high = state.labels[Label.LOWEST_U], state.labels[Label.HIGHEST_U]
        return float(one * min(max(scores[0], low), high) + other * min(max(scores[1], low), high))
    p = one * sigma(scores[0]) + other * sigma(scores[1])
    return math.log(p / (1.0 - p))


@helper_no_alloc
def update_stacks(context: Bundle[Context], u: float, s: float, weight: float) -> None:
    """Update the mixture, which scored s, and both stacks, each by its own error times the event's weight."""
    hyper, state, _, scratch = opened(context)
    scores, stack, experts = scratch.stack_scores, state.stack, state.stack.shape[1]
    if hyper.square:
        _update_by_squares(context, u, s)
        update_stack(context, Stack.WEIGHT, experts, weight * (scores[0] - u))
        update_stack(context, Stack.FIRST_WEIGHT, EXPERTS, weight * (scores[1] - u))
        return
    one, other = sigma(scores[0]), sigma(scores[1])
    first = stack[Stack.MIXTURE, 0] * (one if u > 0.5 else 1.0 - one)
    second = stack[Stack.MIXTURE, 1] * (other if u > 0.5 else 1.0 - other)
    a = SHARE / (state.totals[Total.EVENTS] + 1.0)
    stack[Stack.MIXTURE, 0] = (1.0 - a) * first / (first + second) + a / STACKS
    stack[Stack.MIXTURE, 1] = (1.0 - a) * second / (first + second) + a / STACKS
    update_stack(context, Stack.WEIGHT, experts, weight * (one - u))
    update_stack(context, Stack.FIRST_WEIGHT, EXPERTS, weight * (other - u))


@helper_no_alloc
def _update_by_squares(context: Bundle[Context], u: float, s: float) -> None:
    """The mixture with squared loss."""
    hyper, state, _, scratch = opened(context)
    low, high, stack = state.labels[Label.LOWEST_U], state.labels[Label.HIGHEST_U], state.stack
    # not the literal True, for which Numba would compile the function a second time
    eta, weights = _rate(stack[Stack.MIXTURE, GAP]), shares_of_stacks(stack, hyper.square)
    one, other = min(max(scratch.stack_scores[0], low), high), min(max(scratch.stack_scores[1], low), high)
    first, second = 0.5 * (one - u) * (one - u), 0.5 * (other - u) * (other - u)
    least = min(first, second)
    mass = weights[0] * math.exp(-eta * (first - least)) + weights[1] * math.exp(-eta * (second - least))
    stack[Stack.MIXTURE, 0] += first
    stack[Stack.MIXTURE, 1] += second
    stack[Stack.MIXTURE, GAP] += max(0.5 * (s - u) * (s - u) - (least - math.log(mass) / eta), 0.0)


def weights_of_stack(stack: Floats, square: bool) -> Floats:
    """What an expert's score counts in all: the weights of both stacks by their shares, where there are two."""
    found: Floats = stack[Stack.WEIGHT]
    if len(stack) > Stack.MIXTURE:
        one, other = shares_of_stacks(stack, square)
        found = one * found + other * stack[Stack.FIRST_WEIGHT]
    return found
