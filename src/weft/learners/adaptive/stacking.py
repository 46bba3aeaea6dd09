r"""The stack, and what is predicted: expert scores are clipped and added up by weights V that are learned themselves.

    c_m = clip(e_m, SMAX),    s = sum_m V_m c_m
    V_m <- V_m - ETA_STACK h_m / sqrt(H_m),    h_m = (error of s) c_m,    H_m = 1 + sum of h_m^2 so far

With experts of `effort` there are two of these, which are mixed (`two_stacks`).

`adaptive` predicts p = g(s), and `auto` the mixture p = sum_i w_i g(f_i) of the scores f of stack, own and pooled model
(`do_no_harm`). g is the logistic function, or, with squared loss, a clip to the range of the labels so far.
"""

import math

from weft.compiled.arrays import Floats
from weft.compiled.bundle import Bundle, opened
from weft.compiled.jit import helper_no_alloc, inlined_only
from weft.learners.adaptive.do_no_harm import mixture_weights
from weft.learners.adaptive.label_scaling import label_scale
from weft.learners.adaptive.scratch import Context, Scratch
from weft.learners.adaptive.state import COMPONENTS, Component, Expert, Hyper, Label, Stack, Total

SMAX, QMAX = 8.0, 14.0
"""Scores are clipped where they enter the stack, log-odds where they become probabilities."""
ETA_STACK = 0.1
"""The stack's rate."""


@helper_no_alloc
def sigma(q: float) -> float:
    """The logistic function of clipped log-odds."""
    return 1.0 / (1.0 + math.exp(-min(max(q, -QMAX), QMAX)))


@helper_no_alloc
def stack_scores(context: Bundle[Context]) -> float:
    """The stack's score s; keeps the clipped scores."""
    _, state, _, scratch = opened(context)
    e, c = scratch.e, scratch.c
    for m in range(state.stack.shape[1]):
        c[m] = min(max(e[m], -SMAX), SMAX)
    return stacked(context, Stack.WEIGHT, state.stack.shape[1])


@helper_no_alloc
def stacked(context: Bundle[Context], row: int, experts: int) -> float:
    """The score of one stack, whose weights are a row of `stack`."""
    _, state, _, scratch = opened(context)
    s = 0.0
    for m in range(experts):
        s += state.stack[row, m] * scratch.c[m]
    return s


@helper_no_alloc
def update_stack(context: Bundle[Context], row: int, experts: int, error: float) -> None:
    """A stack learns from the error of its own score; its sums of squares are the row after that of its weights."""
    _, state, _, scratch = opened(context)
    c, stack, root = scratch.c, state.stack, math.sqrt(state.totals[Total.WEIGHT])
    for m in range(experts):
        if c[m] != 0.0:
            h = root * error * c[m]
            stack[row + 1, m] += h * h
            stack[row, m] -= ETA_STACK * h / math.sqrt(stack[row + 1, m])


@inlined_only
def expert_error(hyper: Hyper, scratch: Scratch, m: int, u: float) -> float:
    """p - u of expert m. Probabilities are those of scores that are not clipped for the stack."""
    if hyper.square:
        return float(scratch.c[m] - u)
    if hyper.auto and (m == Expert.OWN or m == Expert.POOLED) and scratch.e[m] == scratch.c[m]:
        return float(scratch.g[m - Expert.OWN + Component.OWN] - u)  # computed before
    return sigma(scratch.e[m]) - u


@helper_no_alloc
def mix_predictions(context: Bundle[Context], k: int, s: float) -> float:
    """The prediction p for task k: that of the stack, or of the mixture of stack, own and pooled model."""
    hyper, state, _, scratch = opened(context)
    low, high = state.labels[Label.LOWEST_U], state.labels[Label.HIGHEST_U]
    c, f, g, w, p = scratch.c, scratch.f, scratch.g, scratch.w, 0.0
    f[Component.STACK], f[Component.OWN], f[Component.POOLED] = s, c[Expert.OWN], c[Expert.POOLED]
    if hyper.auto:
        mixture_weights(state.tasks, k, hyper.square, w)
    for m in range(COMPONENTS if hyper.auto else 1):
        if hyper.square:
            f[m] = min(max(f[m], low), high)
        g[m] = f[m] if hyper.square else sigma(f[m])
        p += (w[m] if hyper.auto else 1.0) * g[m]
    return p


@helper_no_alloc
def answer(context: Bundle[Context], k: int, p: float) -> float:
    """What the user gets: log-odds, or the value on the scale of the task's labels."""
    hyper, state, _, _ = opened(context)
    if not hyper.square:
        return math.log(p / (1.0 - p))
    labels, t = state.labels, state.totals[Total.EVENTS]
    if t == 0.0:
        return 0.0
    scale = label_scale(labels, t, state.tasks, k)
    return float(min(max(scale.mu + scale.sd * p, labels[Label.LOWEST]), labels[Label.HIGHEST]))


@helper_no_alloc
def record_losses(context: Bundle[Context], u: float, p: float, s: float, trace: Floats, i: int) -> None:
    """Losses of the prediction, and of components (`auto`) or experts and stack (`adaptive`)."""
    hyper, _, _, scratch = opened(context)
    c, f = scratch.c, scratch.f
    guesses = (p, f[Component.STACK], f[Component.OWN], f[Component.POOLED])
    if not hyper.auto:
        guesses = (p, c[Expert.GRADIENT], c[Expert.BETTING], s)
    for m in range(4):
        if hyper.square:
            trace[i, m] = 0.5 * (guesses[m] - u) * (guesses[m] - u)
        else:
            guess = guesses[m] if m == 0 else sigma(guesses[m])
            trace[i, m] = -math.log(guess if u > 0.5 else 1.0 - guess)
