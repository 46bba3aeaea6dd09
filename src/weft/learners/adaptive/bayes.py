r"""Naive Bayes over the sparse features of a row, with counts of the task that start at those of all tasks.

Only whether a feature is present counts, not its value. With C the events of a class c in which feature j was present,
and T all events of that class, of task k and of all tasks (0):

    r_c = (C_c0[j] + 1/2) / (T_c0 + 1)
    l_j = ln((C_1k[j] + 2 r_1) / (T_1k + 2)) - ln((C_0k[j] + 2 r_0) / (T_0k + 2)),    0 if j was never counted
    v   = clip(sum_j l_j / sqrt(number of sparse features), 10),    s = slope v + offset

Slope and offset take AdaGrad steps. A row without sparse features has the score 0 and moves nothing. Log-loss only.
Logarithms are taken of products of eight factors: counts are at most 2^52, so that no product leaves the range of
numbers. With `half_life` counts are divided by the weight of the
present event (`experts`). A pair's counts are stored in 32 bits, and no longer grow beyond 2^24 events.
"""

import math

from weft.compiled.arrays import Floats, ShortFloats
from weft.compiled.bundle import Bundle, opened
from weft.compiled.jit import helper_no_alloc, inlined_only
from weft.learners.adaptive.row_statistics import least_share, row_of
from weft.learners.adaptive.scratch import Context
from weft.learners.adaptive.state import PART_WIDTH, WIDE_PART, Feature, Part, Pooled, Total

PRIOR = 2.0
"""How many events the rates of all tasks count in those of a task."""
VMAX = 10.0
ETA = 0.2
TOGETHER = 8
"""So many factors are multiplied before a logarithm is taken."""
POSITIVE, NEGATIVE = Part.SEEN_POSITIVE.value, Part.SEEN_NEGATIVE.value
SLOPE, OFFSET = 0, 1
"""Columns of `State.calibration`; its rows are numbers and sums of squares."""


@inlined_only
def score_bayes(context: Bundle[Context], own: ShortFloats, pooled: Floats, i: int, count: int) -> float:
    """The score; keeps v and which entries are sparse."""
    _, state, batch, scratch = opened(context)
    row, totals, k = row_of(batch, i), state.totals, batch.task[i]
    _find_sparse(context, least_share(totals, row.end - row.begin), count)
    if scratch.sparse[0] == 0:
        return 0.0
    light = 1.0 / totals[Total.WEIGHT]
    positive, negative = state.own_bias[k, POSITIVE] * light, state.own_bias[k, NEGATIVE] * light
    first = PRIOR / (state.bias[0, POSITIVE] * light + 1.0)
    second = PRIOR / (state.bias[0, NEGATIVE] * light + 1.0)
    total, seen, above, below = 0.0, 0, 1.0, 1.0
    for n in range(1, scratch.sparse[0] + 1):
        at = scratch.sparse[n]
        j, pair = scratch.shared_starts[at] // PART_WIDTH, scratch.own_starts[at] // WIDE_PART
        here, there = pooled[j, Pooled.SEEN_POSITIVE], pooled[j, Pooled.SEEN_NEGATIVE]
        if here + there > 0.0:
            above *= own[pair, POSITIVE] * light + (here * light + 0.5) * first
            below *= own[pair, NEGATIVE] * light + (there * light + 0.5) * second
            seen += 1
            if seen % TOGETHER == 0:
                total += math.log(above / below)
                above, below = 1.0, 1.0
    total += math.log(above / below) - seen * math.log((positive + PRIOR) / (negative + PRIOR))
    scratch.evidence[0] = min(max(total / math.sqrt(scratch.sparse[0]), -VMAX), VMAX)
    return float(state.calibration[0, SLOPE] * scratch.evidence[0] + state.calibration[0, OFFSET])


@inlined_only
def _find_sparse(context: Bundle[Context], share: float, count: int) -> None:
    """Which entries of the scaled row are not dense: those that did not occur, with this row, in that share of rows."""
    _, state, _, scratch = opened(context)
    found, rows = 0, state.totals[Total.EVENTS] + 1.0
    for n in range(count):
        f = scratch.features[n]
        known = f < len(state.features)
        times, missing = (state.features[f, Feature.COUNT], state.missing[f]) if known else (0.0, 0.0)
        if times + 1.0 < share * (rows - missing):
            found += 1
            scratch.sparse[found] = n
    scratch.sparse[0] = found


@helper_no_alloc
def update_bayes(context: Bundle[Context], k: int, error: float, positive: bool, weight: float) -> None:
    """Move slope and offset by the expert's error times the event's weight, and count the event by its weight."""
    _, state, _, scratch = opened(context)
    if scratch.sparse[0] == 0:
        return
    numbers, heavy = state.calibration, weight * state.totals[Total.WEIGHT]
    error *= weight
    for column in (SLOPE, OFFSET):
        h = error * scratch.evidence[0] if column == SLOPE else error
        numbers[1, column] += h * h
        numbers[0, column] -= ETA * h / math.sqrt(numbers[1, column])
    own = POSITIVE if positive else NEGATIVE
    shared = Pooled.SEEN_POSITIVE.value if positive else Pooled.SEEN_NEGATIVE.value
    for n in range(1, scratch.sparse[0] + 1):
        at = scratch.sparse[n]
        state.pooled[scratch.shared_starts[at] // PART_WIDTH, shared] += heavy
        state.own[scratch.own_starts[at] // WIDE_PART, own] += heavy
    state.bias[0, own] += heavy
    state.own_bias[k, own] += heavy
