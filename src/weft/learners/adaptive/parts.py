r"""Parts of four features or pairs at a time: read, scored, moved, and written back (see `experts`, `lanes`).

A row of parts has eight numbers, a cache line: memory answers slowly, and is asked for few lines. Of a pair the last
two are those of the own expert, which `auto` has; of a feature they are how often it occurred, and the sum of squares
(see `row_scaling`), and the pooled expert of `auto` lies apart. The last rows of an event, which do not fill a vector,
and the bias are copied to four rows of their own, the *rest*, and come back when they have moved.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import inlined, inlined_only
from weft.compiled.lanes import (
    WIDTH,
    Four,
    load_columns,
    load_two_columns,
    store_columns,
    store_four,
    store_two_columns,
)
from weft.learners.adaptive.experts import TH, G, R, bet, descended, settled

BETTING, GRADIENT, OTHER = 0, 4, 6
"""First columns of a part: th, G, L, R of the betting expert; w and its squares of the gradient one; w and its squares
of the own expert (of a pair and an own bias) or of the pooled one (of the shared bias), which `auto` has."""

PART_WIDTH, POOLED_WIDTH = 8, 2
"""Columns in memory, of parts and of the pooled expert of features: w and its squares."""

HEAVY = 2.0**500
"""When an event weighs as much, all sums are divided by it."""

Starts = tuple[np.uint64, np.uint64, np.uint64, np.uint64]
"""Where four rows begin, counted flat."""


@inlined
def copy_known(parts: Floats, known: int, at: Ints, names: Ints, count: int, copies: Floats) -> None:
    """Copy the rows that begin at `at` (counted in numbers of parts), zeros for features that are not known yet."""
    for n in range(count):
        for c in range(parts.shape[1]):
            copies[n, c] = parts[at[n] // PART_WIDTH, c] if names[n] < known else 0.0


@inlined
def copy_rows(parts: Floats, at: Ints, begin: int, end: int, rest: Floats) -> None:
    """Copy some rows to `rest`."""
    for n in range(end - begin):
        for c in range(parts.shape[1]):
            rest[n, c] = parts[at[begin + n] // PART_WIDTH, c]


@inlined
def copy_bias(bias: Floats, row: int, first: int, at: int, rest: Floats) -> None:
    """The bias, from column `first` on, behind the last rows, and zeros behind it."""
    for n in range(at, WIDTH):
        for c in range(rest.shape[1]):
            rest[n, c] = bias[row, first + c] if n == at else 0.0


@inlined_only
def starts_of(rows: Ints, n: int, width: int) -> Starts:
    """Where four rows of so many columns begin, counted flat."""
    at, columns = np.uint64(n), np.uint64(width)
    return (
        np.uint64(rows[at]) * columns,
        np.uint64(rows[at + np.uint64(1)]) * columns,
        np.uint64(rows[at + np.uint64(2)]) * columns,
        np.uint64(rows[at + np.uint64(3)]) * columns,
    )


@inlined_only
def starts_at(at: Ints, n: int) -> Starts:
    """Where four rows of parts begin, from a list of that."""
    first = np.uint64(n)
    return (
        np.uint64(at[first]),
        np.uint64(at[first + np.uint64(1)]),
        np.uint64(at[first + np.uint64(2)]),
        np.uint64(at[first + np.uint64(3)]),
    )


@inlined_only
def pooled_starts(at: Ints, n: int) -> Starts:
    """Where the pooled expert of four features begins, from a list of where their parts do."""
    a, b, c, d = starts_at(at, n)
    narrower = np.uint64(PART_WIDTH // POOLED_WIDTH)
    return a // narrower, b // narrower, c // narrower, d // narrower


@inlined_only
def starts_in_rest(width: int) -> Starts:
    """Where the rows of copies begin."""
    columns = np.uint64(width)
    return np.uint64(0), columns, np.uint64(2) * columns, np.uint64(3) * columns


@inlined_only
def behind(starts: Starts, columns: int) -> Starts:
    """Later columns of four rows."""
    more = np.uint64(columns)
    return starts[0] + more, starts[1] + more, starts[2] + more, starts[3] + more


@inlined_only
def scored(
    parts: Floats, starts: Starts, z: Four, a: Four, bets: Floats, n: int, sums: tuple[Four, Four]
) -> tuple[Four, Four]:
    """Scores of the gradient and the betting expert, with four rows of parts added."""
    th, g, largest, won = load_columns(parts, *starts)
    b = bet(th, g, largest, won, a)
    w, _ = load_two_columns(parts, *behind(starts, GRADIENT))
    store_four(bets, np.uint64(n), b)
    return sums[0] + w * z, sums[1] + b * z


@inlined_only
def other_scored(weights: Floats, starts: Starts, z: Four, total: Four) -> Four:
    """Score of the own or the pooled expert, with four pairs or features added."""
    return total + load_two_columns(weights, *starts)[0] * z


class Errors(NamedTuple):
    """Errors of the experts, the rate, and what the sums of an event weigh, in all lanes."""

    by_steps: Four
    by_bets: Four
    other: Four
    eps: Four
    eta: Four
    a: Four


@inlined_only
def moved(parts: Floats, starts: Starts, z: Four, b: Four, errors: Errors) -> None:
    """The gradient and the betting expert learn, in four rows of parts."""
    weights_moved(parts, behind(starts, GRADIENT), z, errors.by_steps, errors)
    th, g, largest, won = load_columns(parts, *starts)
    store_columns(parts, *starts, settled(th, g, largest, won, errors.by_bets * z, b, errors.a))


@inlined_only
def weights_moved(weights: Floats, starts: Starts, z: Four, error: Four, errors: Errors) -> None:
    """An expert that takes gradient steps learns, from four pairs or features."""
    w, squares = load_two_columns(weights, *starts)
    store_two_columns(weights, *starts, descended(w, squares, error * z, errors.eps, errors.eta))


@inlined
def paste_rows(parts: Floats, columns: int, at: Ints, begin: int, end: int, rest: Floats) -> None:
    """The first columns of rows that were copied come back."""
    for n in range(end - begin):
        for c in range(columns):
            parts[at[begin + n] // PART_WIDTH, c] = rest[n, c]


@inlined
def lighten(parts: Floats, others: bool) -> None:
    """Divide all sums by HEAVY, those of an expert in the last columns included or not."""
    for row in range(len(parts)):
        for column in (GRADIENT + 1, BETTING + TH, BETTING + G, BETTING + R):
            parts[row, column] /= HEAVY
        if others:
            parts[row, OTHER + 1] /= HEAVY
