r"""A second-order expert for few dense, correlated columns: one matrix for all tasks.

Recursive least squares, and for log-loss its counterpart, one step of an extended Kalman filter. With the row x, the
prediction p and r = 1 (squared loss) or p (1 - p) (log-loss), P being the weights' uncertainty,

    w += P x (u - p) / (1 + r x.P x)        P -= P x (P x)^T r / (1 + r x.P x)

The first features that are dense get one of SEATS seats, for good; seat 0 is that of the bias. An event costs O(d^2).
"""

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import helper_no_alloc

SEATS = 33
"""Most features, and the bias."""
SPREAD = 10.0
"""P of a new seat: how large a weight may be expected to be."""


@helper_no_alloc
def seat_row(seat: Ints, seats: int, found: Ints, z: Floats, count: int, x: Floats) -> None:
    """x = the values of a scaled row at their seats."""
    for s in range(seats):
        x[s] = 0.0
    for a in range(count):
        if found[a] < len(seat) and seat[found[a]] > 0:  # one that is not known yet has none
            x[seat[found[a]]] = z[a]
    x[0] = 1.0


@helper_no_alloc
def seated_score(weights: Floats, seats: int, x: Floats) -> float:
    """w . x."""
    total = 0.0
    for s in range(seats):
        total += weights[s] * x[s]
    return total


@helper_no_alloc
def newton_step(matrix: Floats, weights: Floats, seats: int, x: Floats, px: Floats, error: float, r: float) -> None:
    """Learn from a row whose error is u - p."""
    spread = 0.0
    for s in range(seats):
        px[s] = 0.0
        for t in range(seats):
            px[s] += matrix[s, t] * x[t]
        spread += px[s] * x[s]
    share = 1.0 / (1.0 + r * max(spread, 0.0))
    for s in range(seats):
        weights[s] += px[s] * error * share
        for t in range(seats):
            matrix[s, t] -= px[s] * px[t] * r * share


@helper_no_alloc
def hand_out_seats(matrix: Floats, seat: Ints, seats: int, place: Ints, indices: Ints, begin: int, end: int) -> int:
    """Seats for the features of a row that are dense now; returns how many are taken."""
    if seats == len(matrix):
        return seats
    for e in range(begin, end):
        j = indices[e]
        if place[j] > 0 and seat[j] == 0 and seats < len(matrix):
            seat[j] = seats
            matrix[seats, seats] = SPREAD
            seats += 1
    return seats
