r"""MTFORG, the multitask self-tuned Forgetron: weights shrink, and the oldest row leaves a full active set.

Cavallanti and Cesa-Bianchi (2012), Sec. 4.3 and Eq. 3. On a mistake with a full active set all weights, the new one
included, are multiplied by phi, the largest number in (0, 1] with

    Psi(phi sigma, phi mu) + Q <= (15/32) c^2 M              Psi(lambda, mu) = c^2 lambda^2 + 2 c^2 lambda - 2 lambda mu

for the oldest row r: sigma = y_r b_r and mu = y_r f'(x_r), with f' the function that has the new row in it. M counts
mistakes, and Q sums up Psi over all evictions so far.
"""

import math

import numpy as np

from weft.compiled.jit import helper
from weft.graphs.relation import UNKNOWN_ROW
from weft.learners.budget.active_set import (
    BEGIN,
    COEFFICIENT,
    END,
    ENTERED,
    FACTOR,
    MISTAKES,
    NONZEROS,
    OWNER,
    Budget,
    Mistake,
    Q,
    Rows,
    combine,
    drop_row,
    keep_row,
    note_eviction,
    oldest,
    over,
)
from weft.learners.budget.kernel_columns import Workspace, kernel_column
from weft.learners.budget.mtrbp import damage_of
from weft.learners.budget.ties import COMPLETE, GRAPH, TaskKernel
from weft.storage.sparse_rows import Row
from weft.storage.state import SUPPORT

FOLD = 1e-100
"""A common factor below this is multiplied into the coefficients."""


@helper
def forget(hyper: Budget, kernel: TaskKernel, rows: Rows, t: Mistake, work: Workspace) -> None:
    """All weights shrink, the oldest rows leave, and example t takes the place of the first of them."""
    scalars, numbers, place = rows.scalars, rows.numbers, -1
    last, phi = _shrinkage(hyper, kernel, rows, t, work)
    weight = t.y / scalars[FACTOR]  # that of the new row shrinks with the others
    scalars[FACTOR] *= phi
    r = oldest(numbers, rows.used[SUPPORT], -1.0)
    while r >= 0 and numbers[r, ENTERED] <= last:
        note_eviction(scalars, damage_of(hyper, kernel, rows, r))
        if place < 0:
            place, numbers[r, ENTERED] = r, math.inf
        else:
            drop_row(rows, r)
            if place == rows.used[SUPPORT]:
                place = r
        r = oldest(numbers, rows.used[SUPPORT], -1.0)
    keep_row(hyper.kernel, rows, t, place, weight)
    if scalars[FACTOR] < FOLD:
        for s in range(rows.used[SUPPORT]):
            numbers[s, COEFFICIENT] *= scalars[FACTOR]
        scalars[FACTOR] = 1.0


@helper
def _shrinkage(hyper: Budget, kernel: TaskKernel, rows: Rows, t: Mistake, work: Workspace) -> tuple[float, float]:
    """When the last of the rows entered that have to leave, the oldest ones, and phi for them (Eq. 3).

    Several rows leave as one function sum_r b_r K(x_r, .): sigma and sigma mu are sums over them.
    """
    # In units of c_G^2, which on the complete graph do not change with the number of tasks.
    units = 0.5 if hyper.ties == COMPLETE else 1.0 / hyper.c2
    n, scalars, column = rows.used[SUPPORT], rows.scalars, np.empty(rows.used[SUPPORT])
    count, left, last = n + 1, rows.counts[NONZEROS] + (t.x.end - t.x.begin), -1.0
    sigma, sigma_mu = 0.0, 0.0
    while over(hyper, count, left, 0):
        r = oldest(rows.numbers, n, last)
        x_r = Row(rows.indices, rows.values, rows.marks[r, BEGIN], rows.marks[r, END])
        kernel_column(kernel, rows, x_r, rows.marks[r, OWNER], work, column)
        b_r = scalars[FACTOR] * rows.numbers[r, COEFFICIENT]
        sigma += abs(b_r)
        sigma_mu += b_r * units * (combine(rows, column) + t.y * t.k[r])  # f' has both the new row and r
        last, count, left = rows.numbers[r, ENTERED], count - 1, left - (x_r.end - x_r.begin)
    a, b = hyper.R2 * sigma * sigma - 2.0 * sigma_mu, 2.0 * hyper.R2 * sigma
    e = 15.0 / 32.0 * hyper.R2 * scalars[MISTAKES] - scalars[Q]
    phi = 1.0 if a + b <= e else 2.0 * e / (b + np.sqrt(max(0.0, b * b + 4.0 * a * e)))
    scalars[Q] += a * phi * phi + b * phi
    return last, float(phi)


@helper
def lacks_ties_of_kept(kernel: TaskKernel, rows: Rows) -> bool:
    """Is there a kept row whose task's row of A^-1 was not solved yet? The Forgetron asks for f at rows of S."""
    if kernel.ties == GRAPH:
        for s in range(rows.used[SUPPORT]):
            if kernel.relation.start[rows.marks[s, OWNER]] == UNKNOWN_ROW:
                return True
    return False
