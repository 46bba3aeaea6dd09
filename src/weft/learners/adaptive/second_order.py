r"""The second-order expert: for few dense, correlated columns, with one matrix for all tasks.

Recursive least squares, and for log-loss its counterpart, one step of an extended Kalman filter. With the row x, the
prediction p and r = 1 (squared loss) or p (1 - p) (log-loss), P being the uncertainty of the weights w,

    w += P x (u - p) / (1 + r x.P x)        P -= P x (P x)^T r / (1 + r x.P x)

The first SEATS - 1 features that become dense get a *seat*, a position in w and P, and keep it; seat 0 is that of the
bias. An event costs O(SEATS^2).
"""

from weft.compiled.bundle import Bundle, opened
from weft.compiled.jit import helper_no_alloc
from weft.learners.adaptive.row_statistics import row_of
from weft.learners.adaptive.scratch import Context
from weft.learners.adaptive.state import FIRST_UNCERTAINTY, SEATS


@helper_no_alloc
def score_second_order(context: Bundle[Context], count: int) -> float:
    """Put the values of the scaled row at their seats, x, and return w . x."""
    _, state, _, scratch = opened(context)
    seat, seats, features, z, x = state.seat, state.n_seats[0], scratch.features, scratch.z, scratch.x
    for s in range(seats):
        x[s] = 0.0
    for n in range(count):
        if features[n] < len(seat) and seat[features[n]] > 0:  # a feature that is not known yet has none
            x[seat[features[n]]] = z[n]
    x[0] = 1.0
    total = 0.0
    for s in range(seats):
        total += state.seated[s] * x[s]
    return total


@helper_no_alloc
def update_second_order(context: Bundle[Context], error: float, r: float) -> None:
    """One step with the error u - p."""
    _, state, _, scratch = opened(context)
    matrix, weights, seats, x, px = state.matrix, state.seated, state.n_seats[0], scratch.x, scratch.px
    variance = 0.0
    for s in range(seats):
        px[s] = 0.0
        for t in range(seats):
            px[s] += matrix[s, t] * x[t]
        variance += px[s] * x[s]
    gain = 1.0 / (1.0 + r * max(variance, 0.0))
    for s in range(seats):
        weights[s] += px[s] * error * gain
        for t in range(seats):
            matrix[s, t] -= px[s] * px[t] * r * gain


@helper_no_alloc
def assign_seats(context: Bundle[Context], i: int) -> None:
    """Give seats to the features of a row that are dense now, as long as there are any."""
    hyper, state, batch, _ = opened(context)
    matrix, seat, place, seats, row = state.matrix, state.seat, state.place, state.n_seats[0], row_of(batch, i)
    if seats == SEATS:
        return
    for e in range(row.begin, row.end):
        j = row.indices[e]
        if place[j] > 0 and seat[j] == 0 and seats < SEATS:
            seat[j] = seats
            if hyper.second_order:
                matrix[seats, seats] = FIRST_UNCERTAINTY
            seats += 1
    state.n_seats[0] = seats
