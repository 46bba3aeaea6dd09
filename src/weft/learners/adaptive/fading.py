r"""A second-order expert that trusts the past less and less: it follows relations that change, or change back.

The filter of log-odds of `second`, with one matrix P for all tasks, over the columns that are dense in the event. After
an event P is divided by KEEP, so that the uncertainty of the weights grows, unless its trace would exceed that of the
first P: what is not observed must not grow for ever. A row without such columns is left alone. Log-loss only.
"""

from weft.compiled.bundle import Bundle, opened
from weft.compiled.jit import helper_no_alloc, inlined_only
from weft.learners.adaptive.missing import counts_as_mean, gaps_of
from weft.learners.adaptive.row_statistics import is_dense, least_share, row_of
from weft.learners.adaptive.scratch import Context
from weft.learners.adaptive.second import LEAST
from weft.learners.adaptive.stacking import sigma
from weft.learners.adaptive.state import FIRST_UNCERTAINTY, Expert, Feature, Total

KEEP = 0.995


@inlined_only
def score_fading(context: Bundle[Context], i: int, count: int) -> float:
    """The score; keeps the row at its seats."""
    _, state, batch, scratch = opened(context)
    x, row, rows = scratch.fading, row_of(batch, i), state.totals[Total.EVENTS] + 1.0
    share, occurs, seats = least_share(state.totals, row.end - row.begin), 0, state.n_seats[0]
    for s in range(seats):
        x[s] = 0.0
    for n in range(count):
        f = scratch.features[n]
        is_seated = f < len(state.seat) and state.seat[f] > 0
        if is_seated and is_dense(state, f, state.features[f, Feature.COUNT] + 1.0, share, rows):
            x[state.seat[f]] = scratch.z[n]
            occurs = 1
    first, last = gaps_of(scratch.gaps, batch, i)
    for n in range(first, last):
        f = scratch.gaps.features[n]
        if counts_as_mean(state, f, share, rows) and state.seat[f] > 0:
            occurs = 1
    x[0], scratch.in_seats[2] = 1.0, occurs
    total = 0.0
    if occurs:
        for s in range(seats):
            total += state.fading_weights[s] * x[s]
    return total


@helper_no_alloc
def update_fading(context: Bundle[Context], u: float, weight: float) -> None:
    """A step of the filter; then its past counts less."""
    _, state, _, scratch = opened(context)
    if scratch.in_seats[2] == 0:
        return
    P, x, px, seats = state.fading_matrix, scratch.fading, scratch.times_matrix, state.n_seats[0]
    for t in range(seats):
        px[t] = 0.0
    for s in range(seats):
        for t in range(seats):
            px[t] += P[s, t] * x[s]
    variance, trace = 0.0, 0.0
    for s in range(seats):
        variance += px[s] * x[s]
    if variance < 0.0:  # by rounding P is no longer one: it begins anew
        for s in range(seats):
            for t in range(seats):
                P[s, t] = FIRST_UNCERTAINTY if s == t else 0.0
        return
    p = sigma(scratch.e[Expert.FADING])
    r = weight * max(p * (1.0 - p), LEAST)
    gain = 1.0 / (1.0 + r * variance)
    for s in range(seats):
        state.fading_weights[s] += px[s] * (weight * (u - p)) * gain
        for t in range(seats):  # the same number on both sides of the diagonal: a difference would grow for ever
            P[s, t] -= px[s] * px[t] * (r * gain)
        trace += P[s, s]
    if trace <= KEEP * FIRST_UNCERTAINTY * seats:
        for s in range(seats):
            for t in range(seats):
                P[s, t] /= KEEP
