r"""Second-order experts: how dense columns are correlated, in one matrix for all tasks and in one per task.

Recursive least squares in the scaled row x, with P the uncertainty of the weights w and NOISE the variance of labels,
and for log-loss a Kalman filter of log-odds, whose labels have the variance r = p (1 - p), at least LEAST:

    squared loss   w += P x (u - p) / (NOISE + x.P x)        P -= P x (P x)^T / (NOISE + x.P x)
    log-loss       w += P x (u - p) / (1 + r x.P x)          P -= P x (P x)^T r / (1 + r x.P x)

x has the first SEATS - 1 features that became dense, and a bias (`second_order.assign_seats`). A task has a matrix of
its own from its event 2 d on, d being the length of x. A row in which no feature has a seat is left alone. The weight
of an event divides NOISE, and multiplies r and the step.
"""

from weft.compiled.bundle import Bundle, opened
from weft.compiled.jit import helper_no_alloc, inlined_only
from weft.learners.adaptive.missing import counts_as_mean, gaps_of
from weft.learners.adaptive.row_statistics import least_share, row_of
from weft.learners.adaptive.scratch import Context
from weft.learners.adaptive.stacking import sigma
from weft.learners.adaptive.state import FIRST_UNCERTAINTY, SEATS, Expert, State, Task, Total
from weft.storage.state import UPDATED_TASK

NOISE, LEAST = 0.3, 1e-4


@inlined_only
def find_seats(context: Bundle[Context], i: int, count: int) -> None:
    """Put the scaled row at its seats, x; for `grid` as well. What is missing of dense columns occurs, and is 0."""
    _, state, batch, scratch = opened(context)
    x, features, occurs = scratch.columns, scratch.features, 0
    for s in range(state.n_seats[0]):
        x[s] = 0.0
    for n in range(count):
        f = features[n]
        if f < len(state.seat) and state.seat[f] > 0:
            x[state.seat[f]] = scratch.z[n]
            occurs = 1
    first, last = gaps_of(scratch.gaps, batch, i)
    row, rows = row_of(batch, i), state.totals[Total.EVENTS] + 1.0
    for n in range(first, last):
        f = scratch.gaps.features[n]
        if counts_as_mean(state, f, least_share(state.totals, row.end - row.begin), rows) and state.seat[f] > 0:
            occurs = 1
    x[0], scratch.in_seats[0] = 1.0, occurs


@inlined_only
def score_second(context: Bundle[Context], k: int) -> None:
    """Score the row at its seats by both matrices."""
    _, state, _, scratch = opened(context)
    x, seats, own, pooled = scratch.columns, state.n_seats[0], 0.0, 0.0
    if scratch.in_seats[0]:
        for s in range(seats):
            pooled += state.matrix_weights[0, s] * x[s]
        m = state.matrix_of[k]
        if m > 0:
            for s in range(seats):
                own += state.matrix_weights[m, s] * x[s]
    scratch.e[Expert.SECOND_OWN], scratch.e[Expert.SECOND_POOLED] = own, pooled


@helper_no_alloc
def update_second(context: Bundle[Context], k: int, u: float, weight: float) -> None:
    """A step of the matrix of all tasks, and of the task's if it has one."""
    hyper, state, _, scratch = opened(context)
    if scratch.in_seats[0] == 0:
        return
    for own in range(2):
        m = state.matrix_of[k] if own else 0
        if own and m == 0:
            continue
        at = Expert.SECOND_OWN if own else Expert.SECOND_POOLED
        if hyper.square:
            _step(context, m, weight * (u - scratch.c[at]) / NOISE, weight / NOISE)
        else:
            p = sigma(scratch.e[at])
            _step(context, m, weight * (u - p), weight * max(p * (1.0 - p), LEAST))


@helper_no_alloc
def _step(context: Bundle[Context], m: int, error: float, r: float) -> None:
    """One step of a matrix, which is symmetric: sums run over its rows, so that they fit vector registers."""
    _, state, _, scratch = opened(context)
    matrices, weights, seats, x, px = (
        state.matrices,
        state.matrix_weights,
        state.n_seats[0],
        scratch.columns,
        scratch.times_matrix,
    )
    for t in range(seats):
        px[t] = 0.0
    for s in range(seats):
        if x[s] != 0.0:
            for t in range(seats):
                px[t] += matrices[m, s, t] * x[s]
    variance = 0.0
    for s in range(seats):
        variance += px[s] * x[s]
    gain = 1.0 / (1.0 + r * max(variance, 0.0))
    for s in range(seats):
        weights[m, s] += px[s] * error * gain
        shrink = px[s] * r * gain
        for t in range(seats):
            matrices[m, s, t] -= shrink * px[t]


@inlined_only
def has_room_for_matrices(state: State, tasks: int) -> bool:
    """Whether so many tasks may get a matrix before the state has to grow."""
    return bool(state.used[UPDATED_TASK] + tasks <= len(state.matrices))


@helper_no_alloc
def make_matrix(context: Bundle[Context], k: int) -> None:
    """Give task k a matrix when it has seen enough events, this one included; before seats are assigned."""
    _, state, _, _ = opened(context)
    seats = state.n_seats[0]
    if state.matrix_of[k] > 0 or seats == 1 or state.tasks[k, Task.EVENTS] < 2 * seats:
        return
    m = state.used[UPDATED_TASK]
    for s in range(SEATS):
        state.matrices[m, s, s] = FIRST_UNCERTAINTY
    state.matrix_of[k] = m
    state.used[UPDATED_TASK] += 1
