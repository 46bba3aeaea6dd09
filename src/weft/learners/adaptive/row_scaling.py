r"""Rows on a scale of their own: units of columns do not matter. Only the rows so far count, this one included.

A feature that occurs in most rows is *dense* (`row_statistics`): its zeros are values like others, and it is centred.
All others are divided by the root mean square of their non-zero values; the square root then keeps counts of words from
dominating. Finally the row gets unit length, in which every dense feature counts with its mean square, 1:

    dense    z = clip((x - mean) / deviation, 5)              over all rows; left out if it does not vary
    others   z = sign(x) sqrt(min(|x| / rms, 25))             over the rows in which it occurs
    z / sqrt(q),   q = sum of z^2 over the others + number of dense features
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.bundle import Bundle, opened
from weft.compiled.jit import helper_no_alloc, inlined_only
from weft.compiled.lanes import (
    WIDTH,
    Four,
    any_at_least,
    broadcast,
    copysign,
    horizontal_sum,
    load_four,
    load_two_columns,
    minimum,
    sqrt,
    store_four,
)
from weft.learners.adaptive.missing import Gaps, counts_as_mean, gaps_of, is_gap
from weft.learners.adaptive.parts import COUNT, shifted, starts_of_rows
from weft.learners.adaptive.row_statistics import Row, least_share, row_of, update_sums
from weft.learners.adaptive.scratch import Context, Progress
from weft.learners.adaptive.state import PART_WIDTH, Feature, State, Total

ZMAX = 5.0
"""The largest scaled value, before the row gets unit length."""
CONSTANT = 1e-12
"""A feature whose variance is below this share of its mean square does not vary."""

NEEDS_SUMS = -1
"""In place of a count: the row has dense features, and `State.sums` is not up to date."""


class Scaled(NamedTuple):
    """Where a scaled row goes: features, their values z, and scratch for the squares of one vector."""

    features: Ints
    z: Floats
    squares: Floats


class Scaling(NamedTuple):
    """What the scale of a row depends on."""

    rows: float  # so far, this one included
    share: float  # in which share of them a feature must occur to be dense
    summed: bool  # whether `State.sums` is up to date
    complete: bool  # whether no value was ever missing


@helper_no_alloc
def scale_row(context: Bundle[Context], i: int) -> int:
    """Scale the row of example i into `features` and `z` of the scratch; returns how many features it has.

    The row's own features come first, then dense features that it lacks. Features that are not known yet, and that the
    state has no room for, are among them.
    """
    count = _scale_row(context, i)
    if count == NEEDS_SUMS:
        update_sums(context)
        count = _scale_row(context, i)
    return count


@helper_no_alloc
def _scale_row(context: Bundle[Context], i: int) -> int:
    """The same, or NEEDS_SUMS."""
    _, state, batch, scratch = opened(context)
    row, progress, gaps = row_of(batch, i), scratch.progress, scratch.gaps
    summed = progress[Progress.SUMMED] == progress[Progress.LEARNED]
    rows, share = state.totals[Total.EVENTS] + 1.0, least_share(state.totals, row.end - row.begin)
    scaling = Scaling(rows, share, summed, state.n_missing[0] == 0)
    out = Scaled(scratch.features, scratch.z, scratch.own_bets)
    first, squares = row.begin, broadcast(0.0)
    if scaling.complete:
        first, squares = _scale_sparse_vectors(state.features, row, scaling, out)
    squares, n_dense, count = _scale_others(state, row, scaling, out, first, squares)
    if count == NEEDS_SUMS or (state.n_dense[0] > 0 and not summed):
        return NEEDS_SUMS
    bounds = gaps_of(gaps, batch, i)
    absent, count = _scale_absent(state, row, scaling, out, count, gaps, bounds)
    for n in range(bounds[0], bounds[1]):
        if counts_as_mean(state, gaps.features[n], share, rows):
            n_dense += 1
    length = horizontal_sum(squares) + (n_dense + absent)
    if length > 0.0:
        factor = 1.0 / math.sqrt(length)
        for n in range(count):
            out.z[n] *= factor
    return count


@inlined_only
def _scale_sparse_vectors(features: Floats, row: Row, scaling: Scaling, out: Scaled) -> tuple[int, Four]:
    """Scale vectors of known features up to the first that has a dense one; returns where that is, and the squares."""
    first, squares = row.begin, broadcast(0.0)
    while first + WIDTH <= row.end and row.indices[first + WIDTH - 1] < len(features):
        seen, s2 = _statistics(features, row.indices, first)
        if any_at_least(seen, broadcast(scaling.share * scaling.rows)):
            break
        squares += _scale_four(seen, s2, row, first, out, first - row.begin)
        first += WIDTH
    return first, squares


@inlined_only
def _scale_others(
    state: State, row: Row, scaling: Scaling, out: Scaled, first: int, squares: Four
) -> tuple[Four, int, int]:
    """Scale the entries of a row from `first` on; returns squares, dense features so far, and all features so far."""
    features, count, n_dense = state.features, first - row.begin, 0
    for e in range(first, row.end, WIDTH):
        if scaling.complete and e + WIDTH <= row.end and row.indices[e + WIDTH - 1] < len(features):
            seen, s2 = _statistics(features, row.indices, e)
            if not any_at_least(seen, broadcast(scaling.share * scaling.rows)):
                squares += _scale_four(seen, s2, row, e, out, count)
                count += WIDTH
                continue
        for n in range(WIDTH):
            out.squares[n] = 0.0
        for n in range(min(WIDTH, row.end - e)):
            f, x = row.indices[e + n], row.values[e + n]
            times, s1, s2_of_f, rows = 1.0, x, x * x, scaling.rows
            if f < len(features):
                times, s1 = features[f, Feature.COUNT] + times, state.sums[f] + s1
                s2_of_f, rows = features[f, Feature.SQUARES] + s2_of_f, rows - state.missing[f]
            if times >= scaling.share * rows:
                if not scaling.summed:
                    return squares, n_dense, NEEDS_SUMS
                n_dense += 1
                count = _put_dense(f, x, s1, s2_of_f, rows, out, count)
            else:
                out.squares[n] = min(math.sqrt(x * x / s2_of_f * times), ZMAX * ZMAX)
                out.features[count], out.z[count] = f, math.copysign(math.sqrt(out.squares[n]), x)
                count += 1
        squares += load_four(out.squares, np.uint64(0))
    return squares, n_dense, count


@inlined_only
def _scale_absent(
    state: State, row: Row, scaling: Scaling, out: Scaled, count: int, gaps: Gaps, bounds: tuple[int, int]
) -> tuple[int, int]:
    """Scale the zeros of dense features that a row lacks; returns how many there are, and all features so far."""
    features, absent = state.features, 0
    for d in range(state.n_dense[0]):
        f = state.dense[d]
        rows = scaling.rows - state.missing[f]
        if features[f, Feature.COUNT] < scaling.share * rows or _has(row, f) or is_gap(gaps, bounds, f):
            continue
        absent += 1
        zero = -0.0  # -0 - mean is -mean, also of a mean that is 0
        count = _put_dense(f, zero, state.sums[f], features[f, Feature.SQUARES], rows, out, count)
    return absent, count


@inlined_only
def _put_dense(f: int, x: float, s1: float, s2: float, rows: float, out: Scaled, count: int) -> int:
    """Scale a value of a dense feature, unless that does not vary; returns the number of features so far."""
    mean = s1 / rows
    variance = s2 / rows - mean * mean
    if variance > CONSTANT * s2 / rows:
        out.features[count], out.z[count] = f, min(max((x - mean) / math.sqrt(variance), -ZMAX), ZMAX)
        count += 1
    return count


@inlined_only
def _statistics(features: Floats, indices: Ints, e: int) -> tuple[Four, Four]:
    """How often four features occurred, this row included, and their sums of squares before it."""
    seen, s2 = load_two_columns(features, *shifted(starts_of_rows(indices, e, PART_WIDTH), COUNT))
    return seen + broadcast(1.0), s2


@inlined_only
def _scale_four(seen: Four, s2: Four, row: Row, e: int, out: Scaled, count: int) -> Four:
    """Scale four features that are not dense; returns the squares of z."""
    four, at = np.uint64(e), np.uint64(count)
    x = load_four(row.values, four)
    squares = x * x
    found = minimum(sqrt(squares / (s2 + squares) * seen), broadcast(ZMAX * ZMAX))
    store_four(out.z, at, copysign(sqrt(found), x))
    store_four(out.features, at, load_four(row.indices, four))
    return found


@inlined_only
def _has(row: Row, j: int) -> bool:
    """Whether a row, which is sorted by feature, has feature j."""
    low, high = row.begin, row.end
    while low < high:
        middle = (low + high) // 2
        if row.indices[middle] < j:
            low = middle + 1
        else:
            high = middle
    return low < row.end and row.indices[low] == j
