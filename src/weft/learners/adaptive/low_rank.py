r"""The low-rank expert: tasks are described by few numbers, and so are features; tasks alike borrow from each other.

    s = b_0 + b_k + sum_j b_j z_j + P_k . h,    h = sum_j z_j Q_j

P_k and Q_j have `rank` numbers, and all move by AdaGrad: Q_j by g z_j P_k, with P_k before its step, P_k by g h.
They start at random, N(0, 0.05^2) (`draws`): Q_j by the feature's number. P_k is drawn by the number of events that
were learned before the task's first one, so that it depends neither on names nor on how the stream is cut; a task
that has no event yet is scored with the numbers that it would get now. Numbers of features have 32 bits.
"""

import math

import numpy as np

from weft.compiled.arrays import Floats, Ints, ShortFloats
from weft.compiled.bundle import Bundle, opened
from weft.compiled.instructions import prefetch
from weft.compiled.jit import helper_no_alloc, inlined_only
from weft.compiled.lanes import WIDTH, Four, broadcast, load_four, sqrt, store_four
from weft.learners.adaptive.coordinates import Step, dot, step_all, step_one
from weft.learners.adaptive.draws import draw
from weft.learners.adaptive.experts import EPS
from weft.learners.adaptive.prefetch import NextRow, next_row
from weft.learners.adaptive.row_statistics import row_of
from weft.learners.adaptive.scratch import Context
from weft.learners.adaptive.state import Feature, Part, Pooled, State, Task, Total

ETA = 0.2
EPS_FACTORS = 1e-3
DEVIATION = 0.05
"""Of the start numbers."""
FEATURE, TASK = 1, 2
"""Kinds of draws."""
BIAS, SHARED = Part.FACTOR.value, Pooled.FACTOR.value


@inlined_only
def score_low_rank(context: Bundle[Context], pooled: Floats, i: int, count: int) -> float:
    """The score; keeps P_k and h."""
    hyper, state, batch, scratch = opened(context)
    k, rank, z, p, h = batch.task[i], hyper.rank, scratch.z, scratch.task_factors, scratch.row_factors
    _read_task(context, k)
    copied = _find_factors(context, count)
    factors = scratch.factor_copies if copied else state.factors
    for c in range(0, rank, 2 * WIDTH):
        _add_rows(factors, scratch.factor_starts, c, z, count, h)
    score = dot(pooled, SHARED, scratch.shared_starts, z, count) + state.bias[0, BIAS] + state.own_bias[k, BIAS]
    for c in range(rank):
        score += p[0, c] * h[c]
    return float(score)


@inlined_only
def _add_rows(factors: ShortFloats, starts: Ints, c: int, z: Floats, count: int, h: Floats) -> None:
    """The numbers c .. c + 7 of h."""
    low, high = broadcast(0.0), broadcast(0.0)
    for n in range(count):
        at, value = np.uint64(starts[n]) + np.uint64(c), broadcast(z[n])
        low += load_four(factors, at) * value
        high += load_four(factors, at + np.uint64(WIDTH)) * value
    store_four(h, np.uint64(c), low)
    store_four(h, np.uint64(c + WIDTH), high)


@inlined_only
def _read_task(context: Bundle[Context], k: int) -> None:
    """P_k, or what it would start with."""
    hyper, state, _, scratch = opened(context)
    p = scratch.task_factors
    if state.tasks[k, Task.EVENTS] == 0.0:
        draw(TASK, int(state.totals[Total.EVENTS]), DEVIATION, hyper.rank, p, 0)
        return
    for c in range(hyper.rank):
        p[0, c] = state.task_factors[k, c]


@inlined_only
def _find_factors(context: Bundle[Context], count: int) -> bool:
    """Where the numbers of the row's features begin; True if in copies, because some were never learned."""
    hyper, state, _, scratch = opened(context)
    features, starts, width = scratch.features, scratch.factor_starts, state.factors.shape[1]
    is_new = False
    for n in range(count):
        starts[n] = features[n] * width
        is_new = is_new or _never_learned(state, features[n])
    if not is_new:
        return False
    copies = scratch.factor_copies
    for n in range(count):
        starts[n] = n * width
        if _never_learned(state, features[n]):
            draw(FEATURE, features[n], DEVIATION, hyper.rank, copies, n)
        else:
            for c in range(hyper.rank):
                copies[n, c] = state.factors[features[n], c]
    return True


@inlined_only
def _never_learned(state: State, f: int) -> bool:
    return f >= len(state.features) or state.features[f, Feature.COUNT] == 0.0


@helper_no_alloc
def open_factors(context: Bundle[Context], i: int, count: int) -> None:
    """Store the start numbers of a task and of features that come for the first time; before they are counted."""
    hyper, state, batch, scratch = opened(context)
    row, k, width = row_of(batch, i), batch.task[i], state.factors.shape[1]
    if state.tasks[k, Task.EVENTS] == 0.0:
        for c in range(hyper.rank):
            state.task_factors[k, c] = scratch.task_factors[0, c]
    for e in range(row.begin, row.end):  # a column that does not vary yet is not in the scaled row
        f = row.indices[e]
        if state.features[f, Feature.COUNT] == 0.0:
            draw(FEATURE, f, DEVIATION, hyper.rank, state.factors, f)
    for n in range(count):
        scratch.factor_starts[n] = scratch.features[n] * width


@helper_no_alloc
def update_low_rank(context: Bundle[Context], i: int, count: int, error: float) -> None:
    """Learn from the expert's error; gradients are multiplied by sqrt(a): see `experts`."""
    hyper, state, batch, scratch = opened(context)
    k, rank, a, p = batch.task[i], hyper.rank, state.totals[Total.WEIGHT], scratch.task_factors
    upcoming = next_row(state, batch, i)
    g, eps = math.sqrt(a) * error, a * EPS_FACTORS
    step = Step(g, ETA, a * EPS, 1.0)
    for c in range(0, rank, 2 * WIDTH):
        low = load_four(p, np.uint64(c)), load_four(p, np.uint64(c + WIDTH))
        _move_rows(state.factors, scratch.factor_starts, (c, rank), (scratch.z, count), low, (g, eps), upcoming)
    for c in range(rank):
        h = g * scratch.row_factors[c]
        state.task_factors[k, rank + c] += h * h
        state.task_factors[k, c] -= ETA * h / math.sqrt(state.task_factors[k, rank + c] + eps)
    step_all(state.pooled, SHARED, scratch.shared_starts, scratch.z, count, step)
    step_one(state.bias, 0, BIAS, g, step)
    step_one(state.own_bias, k, BIAS, g, step)


@inlined_only
def _move_rows(
    factors: ShortFloats,
    starts: Ints,
    columns: tuple[int, int],
    row: tuple[Floats, int],
    p: tuple[Four, Four],
    rates: tuple[float, float],
    upcoming: NextRow,
) -> None:
    """Steps of eight numbers, from a column on, of all features of a row; their sums lie `rank` columns later.

    Every step prefetches a line of the next row's factors: they have as many lines as there are calls.
    """
    (c, rank), (z, count) = columns, row
    width, line, there = np.uint64(2 * rank), np.uint64(2 * c), upcoming.end - upcoming.begin
    eta, eps = broadcast(ETA), broadcast(rates[1])
    for n in range(count):
        if n < there:
            prefetch(factors, np.uint64(upcoming.indices[upcoming.begin + n]) * width + line)
        at, value = np.uint64(starts[n]) + np.uint64(c), broadcast(rates[0] * z[n])
        for half in range(2):
            q = at + np.uint64(half * WIDTH)
            sums = q + np.uint64(rank)
            h = value * (p[0] if half == 0 else p[1])
            squares = load_four(factors, sums) + h * h
            store_four(factors, sums, squares)
            store_four(factors, q, load_four(factors, q) - eta * h / sqrt(squares + eps))
