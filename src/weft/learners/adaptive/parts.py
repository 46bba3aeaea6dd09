r"""Rows of own and shared parts, four at a time: read, scored, updated and written back.

A row of parts has eight numbers (`Part`): memory is the bottleneck, so an entry of an event needs few cache lines.
Those of pairs, of which there can be very many, are stored in 32 bits and computed with in 64: every number of a pair
is rounded once per event. Of a pair, the last two numbers are the own expert's, which only `auto` has; of a feature
they are statistics (`Feature`), and the pooled expert of `auto` has an array of its own. *Starts* are flat positions at
which rows begin. The last rows of an event, which do not fill a vector, and the bias are copied to four rows of
scratch, the *tail*, and copied back when they are updated.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints, ShortFloats
from weft.compiled.jit import inlined_only
from weft.compiled.lanes import (
    LARGEST_32,
    WIDTH,
    Four,
    load_columns,
    load_two_columns,
    store_columns,
    store_four,
    store_two_columns,
)
from weft.learners.adaptive.experts import adagrad_step, bet, settle_bets
from weft.learners.adaptive.state import PART_WIDTH, Feature, Part

GRADIENT, OTHER, COUNT = Part.GRADIENT.value, Part.OTHER.value, Feature.COUNT.value
"""The columns at which vectors begin, as plain integers."""

HEAVY = 2.0**60
"""When the weight of an event exceeds this, all weighted sums are divided by it; numbers of 32 bits end at 2^128."""

Starts = tuple[np.uint64, np.uint64, np.uint64, np.uint64]
"""Flat positions of four rows."""


# --- where rows begin ---


@inlined_only
def starts_of_rows(rows: Ints, n: int, width: int) -> Starts:
    """Of the rows `rows[n]` .. `rows[n + 3]`, which have `width` columns."""
    at, columns = np.uint64(n), np.uint64(width)
    return (
        np.uint64(rows[at]) * columns,
        np.uint64(rows[at + np.uint64(1)]) * columns,
        np.uint64(rows[at + np.uint64(2)]) * columns,
        np.uint64(rows[at + np.uint64(3)]) * columns,
    )


@inlined_only
def starts_at(starts: Ints, n: int) -> Starts:
    """`starts[n]` .. `starts[n + 3]`."""
    first = np.uint64(n)
    return (
        np.uint64(starts[first]),
        np.uint64(starts[first + np.uint64(1)]),
        np.uint64(starts[first + np.uint64(2)]),
        np.uint64(starts[first + np.uint64(3)]),
    )


@inlined_only
def pooled_starts(starts: Ints, n: int, width: int) -> Starts:
    """Of the pooled expert of four features, in rows of `width` columns, from a list of where their parts begin."""
    a, b, c, d = starts_at(starts, n)
    columns, parts = np.uint64(width), np.uint64(PART_WIDTH)
    return a // parts * columns, b // parts * columns, c // parts * columns, d // parts * columns


@inlined_only
def tail_starts(width: int) -> Starts:
    """Of the four rows of a tail."""
    columns = np.uint64(width)
    return np.uint64(0), columns, np.uint64(2) * columns, np.uint64(3) * columns


@inlined_only
def shifted(starts: Starts, columns: int) -> Starts:
    """The same rows from a later column on."""
    more = np.uint64(columns)
    return starts[0] + more, starts[1] + more, starts[2] + more, starts[3] + more


# --- copies ---


@inlined_only
def copy_known(parts: Array, known: int, starts: Ints, width: int, features: Ints, count: int, copies: Array) -> None:
    """Copy the rows of an event, with zeros for features that are not known yet; starts count rows of `width`."""
    for n in range(count):
        for c in range(parts.shape[1]):
            copies[n, c] = parts[starts[n] // width, c] if features[n] < known else 0.0


@inlined_only
def copy_to_tail(parts: Array, starts: Ints, width: int, begin: int, end: int, tail: Floats) -> None:
    """Copy the last rows of an event, from its entry `begin` on; starts count rows of `width`."""
    for n in range(end - begin):
        for c in range(tail.shape[1]):
            tail[n, c] = parts[starts[begin + n] // width, c]


@inlined_only
def copy_bias(bias: Floats, row: int, first: int, at: int, tail: Floats) -> None:
    """Copy the bias, from column `first` on, to row `at` of the tail, and fill the rows behind it with zeros."""
    for n in range(at, WIDTH):
        for c in range(tail.shape[1]):
            tail[n, c] = bias[row, first + c] if n == at else 0.0


@inlined_only
def copy_from_tail(parts: Floats, columns: int, starts: Ints, begin: int, end: int, tail: Floats) -> None:
    """Copy the first columns of an event's last rows back."""
    for n in range(end - begin):
        for c in range(columns):
            parts[starts[begin + n] // PART_WIDTH, c] = tail[n, c]


@inlined_only
def round_from_tail(own: ShortFloats, starts: Ints, begin: int, end: int, tail: Floats) -> None:
    """Copy an event's last rows of own parts back, rounded as `store_columns` rounds."""
    for n in range(end - begin):
        for c in range(PART_WIDTH):
            number = min(max(tail[n, c], -LARGEST_32), LARGEST_32)
            own[starts[begin + n] // own.shape[1], c] = number


# --- scores ---


@inlined_only
def add_scores(
    parts: Array, starts: Starts, z: Four, a: tuple[Four, Four], bets: Floats, n: int, sums: tuple[Four, Four]
) -> tuple[Four, Four]:
    """Add four rows to the scores of the gradient and the betting expert, and keep their bets (`experts.bet`: a)."""
    theta, g, largest, reward = load_columns(parts, *starts)
    b = bet(theta, g, largest, reward, *a)
    w, _ = load_two_columns(parts, *shifted(starts, GRADIENT))
    store_four(bets, np.uint64(n), b)
    return sums[0] + w * z, sums[1] + b * z


@inlined_only
def add_score(weights: Array, starts: Starts, z: Four, total: Four) -> Four:
    """Add four pairs or features to the score of the own or the pooled expert."""
    return total + load_two_columns(weights, *starts)[0] * z


# --- updates ---


class Errors(NamedTuple):
    """The experts' errors, and the constants of their steps, in all lanes."""

    gradient: Four
    betting: Four
    other: Four  # of the own or the pooled expert
    eps: Four
    eta: Four
    a: Four


@inlined_only
def update_parts(parts: Array, starts: Starts, z: Four, b: Four, errors: Errors) -> None:
    """The gradient and the betting expert learn, in four rows of parts."""
    update_weights(parts, shifted(starts, GRADIENT), z, errors.gradient, errors)
    theta, g, largest, reward = load_columns(parts, *starts)
    store_columns(parts, *starts, settle_bets(theta, g, largest, reward, errors.betting * z, b, errors.a))


@inlined_only
def update_weights(weights: Array, starts: Starts, z: Four, error: Four, errors: Errors) -> None:
    """An expert that takes gradient steps learns, in four rows."""
    w, squares = load_two_columns(weights, *starts)
    store_two_columns(weights, *starts, adagrad_step(w, squares, error * z, errors.eps, errors.eta))


@inlined_only
def divide_sums(parts: Array, rows: int, other: bool) -> None:
    """Divide all weighted sums of the first rows of parts by HEAVY; the last columns' if they are an expert's."""
    for row in range(rows):
        for column in (Part.GRADIENT_SQUARES, Part.THETA, Part.G, Part.REWARD):
            parts[row, column] /= HEAVY
        if other:
            parts[row, Part.OTHER_SQUARES] /= HEAVY
