r"""MTRBP, the multitask randomised budget Perceptron: a row drawn at random leaves a full active set.

Cavallanti and Cesa-Bianchi (2012), Algorithm 3.
"""

import numpy as np

from weft.compiled.arrays import Ints
from weft.compiled.jit import helper
from weft.learners.budget.active_set import (
    COEFFICIENT,
    FACTOR,
    NONZEROS,
    OWNER,
    SQUARE,
    Budget,
    Mistake,
    Rows,
    drop_row,
    keep_row,
    note_eviction,
    over,
    unit_for,
)
from weft.learners.budget.ties import TaskKernel, tie
from weft.maths.generator import integer_below
from weft.maths.kernels import self_value
from weft.storage.state import SUPPORT


@helper
def replace_at_random(hyper: Budget, kernel: TaskKernel, rows: Rows, generator: Ints, t: Mistake) -> None:
    """Line 9: the new row takes the place of an old one; more rows leave if it is longer than the room left."""
    place = integer_below(generator, rows.used[SUPPORT])
    note_eviction(rows.scalars, damage_of(hyper, kernel, rows, place))
    keep_row(hyper.kernel, rows, t, place, t.y)
    while over(hyper, rows.used[SUPPORT], rows.counts[NONZEROS], 0):
        drawn = integer_below(generator, rows.used[SUPPORT] - 1)
        if drawn >= place:
            drawn += 1
        note_eviction(rows.scalars, damage_of(hyper, kernel, rows, drawn))
        drop_row(rows, drawn)
        if place == rows.used[SUPPORT]:  # the new row was the last and has moved
            place = drawn


@helper
def damage_of(hyper: Budget, kernel: TaskKernel, rows: Rows, s: int) -> float:
    """|b_s K(x_s, .)|, what the function loses with row s."""
    task = rows.marks[s, OWNER]
    bond = unit_for(hyper, rows.counts, task) * tie(kernel, task, task)
    size = np.sqrt(bond * self_value(hyper.kernel, rows.numbers[s, SQUARE]))
    return float(rows.scalars[FACTOR] * abs(rows.numbers[s, COEFFICIENT]) * size)
