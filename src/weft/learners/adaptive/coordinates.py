"""Weights that take AdaGrad steps, as two columns of wide rows: a weight, and its sum of squared gradients.

A row of an event is gone through in vectors of four, and its last entries one by one. *Starts* are those of `parts`.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.jit import inlined_only
from weft.compiled.lanes import (
    WIDTH,
    broadcast,
    horizontal_sum,
    load_four,
    load_two_columns,
    sqrt,
    store_two_columns,
    zeros_as_ones,
)
from weft.learners.adaptive.parts import add_score, shifted, starts_at


class Step(NamedTuple):
    """How weights are moved: the error that is multiplied by z, eta and eps of AdaGrad, and what is kept of H."""

    error: float
    eta: float
    eps: float
    keep: float


@inlined_only
def dot(rows: Array, column: int, starts: Ints, z: Floats, count: int) -> float:
    """The weights in a column times z."""
    whole, total = count // WIDTH * WIDTH, broadcast(0.0)
    for n in range(0, whole, WIDTH):
        total = add_score(rows, shifted(starts_at(starts, n), column), load_four(z, np.uint64(n)), total)
    found = horizontal_sum(total)
    for n in range(whole, count):
        found += rows[starts[n] // rows.shape[1], column] * z[n]
    return found


@inlined_only
def step_all(rows: Array, column: int, starts: Ints, z: Floats, count: int, step: Step) -> None:
    """One step of all weights in a column: H <- keep H + h^2, w <- w - eta h / sqrt(H + eps), where h is not 0."""
    whole = count // WIDTH * WIDTH
    error, eta, eps = broadcast(step.error), broadcast(step.eta), broadcast(step.eps)
    keep, forgets = broadcast(step.keep), broadcast(1.0 - step.keep)
    for n in range(0, whole, WIDTH):
        at = shifted(starts_at(starts, n), column)
        w, squares = load_two_columns(rows, *at)
        h = error * load_four(z, np.uint64(n))
        kept = keep + forgets * (zeros_as_ones(h) - h)  # 1 where h is 0
        squares = kept * squares + h * h
        store_two_columns(rows, *at, (w - eta * h / sqrt(squares + eps), squares))
    for n in range(whole, count):
        step_one(rows, starts[n] // rows.shape[1], column, step.error * z[n], step)


@inlined_only
def step_one(rows: Array, row: int, column: int, h: float, step: Step) -> None:
    """The same for one weight, with its gradient."""
    if h != 0.0:
        squares = step.keep * np.float64(rows[row, column + 1]) + h * h
        rows[row, column] -= step.eta * h / math.sqrt(squares + step.eps)
        rows[row, column + 1] = squares
