r"""Rows on a scale of their own: no column's unit counts, and nothing is known but what was seen, the row included.

A feature that occurs in most rows is *dense*: its zeros are values like others, and it is centred. All others are
divided by the root mean square of their non-zero values, and the square root is taken, so that counts of words do not
run away. Then the row gets unit length, but for its dense part, which weighs what it weighs on average:

    dense    z = clip((x - mean) / deviation, 5)              over all rows; left out if it does not vary
    others   z = sign(x) sqrt(min(|x| / rms, 25))             over the rows in which it occurs
    z / sqrt(q),   q = sum of z^2 over the others + number of dense features

A feature joins the dense ones when it occurs in at least half of all rows, in sparse data in nine of ten, and leaves
when that is no longer so. The densities of all features add up to the mean number of non-zeros, so that a row costs
O(its non-zeros) although dense features count in every row.
"""

import math

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import helper_no_alloc, inlined, inlined_only
from weft.compiled.lanes import (
    WIDTH,
    Four,
    any_at_least,
    broadcast,
    copysign,
    horizontal_sum,
    load_four,
    load_two_columns,
    maximum,
    minimum,
    sqrt,
    store_four,
    store_two_columns,
    zeros_as_ones,
)
from weft.learners.adaptive.parts import PART_WIDTH, behind, starts_of
from weft.storage.batch import Batch

CNT, S2 = 6, 7
"""Columns of a feature's row, behind its parts: number and sum of squares of its non-zero values. Their sum lies apart,
and as only dense features need it, it is brought up to date when one asks for it: see `sum_rows`."""

EVENTS, NONZEROS, KNOWN = range(3)
"""Positions in the totals: rows, their non-zeros, and features that have occurred."""

ZMAX = 5.0
"""The largest scaled value, before the row gets its length."""
CONSTANT = 1e-12
"""A feature whose variance is below this part of its mean square does not vary."""
SPARSE = 0.1
"""Rows with less than this part of all features are sparse data."""
HALF, MOST = 0.5, 0.9


@inlined
def least_density(totals: Floats, nonzeros: int) -> float:
    """From which density on a feature is dense."""
    rows = totals[EVENTS] + 1.0
    return HALF if totals[NONZEROS] + nonzeros >= SPARSE * rows * max(1.0, totals[KNOWN]) else MOST


@inlined_only
def scale_row(
    totals: Floats,
    features: Floats,
    sums: Floats,
    dense: Ints,
    n_dense: int,
    indices: Ints,
    values: Floats,
    begin: int,
    end: int,
    found: Ints,
    z: Floats,
    part: Floats,
    summed: bool,
) -> int:
    """Fill `found` with features and z with their values: those of the row, then dense ones that it lacks.

    `dense` lists the dense features. Returns how many there are. Features that there is no room for yet, because
    nothing was learned about them, are among them. Sums are taken in turns of four; `part` is scratch for one turn. If
    a dense feature needs the sums, and they are not up to date (`summed`), returns -1.
    """
    rows, q, members, count = totals[EVENTS] + 1.0, broadcast(0.0), 0, 0
    least = least_density(totals, end - begin) * rows
    first = begin
    while first + WIDTH <= end and indices[first + WIDTH - 1] < len(features):
        seen, s2 = _seen_before(features, indices, first)
        if any_at_least(seen, broadcast(least)):
            break
        q += _scaled(seen, s2, indices, values, first, found, z, count)
        count += WIDTH
        first += WIDTH
    for e in range(first, end, WIDTH):
        if e + WIDTH <= end and indices[e + WIDTH - 1] < len(features):
            seen, s2 = _seen_before(features, indices, e)
            if not any_at_least(seen, broadcast(least)):  # none is dense
                q += _scaled(seen, s2, indices, values, e, found, z, count)
                count += WIDTH
                continue
        for n in range(WIDTH):
            part[n] = 0.0
        for n in range(min(WIDTH, end - e)):
            f, x = indices[e + n], values[e + n]
            seen, s1, square = 1.0, x, x * x
            if f < len(features):
                seen, s1, square = features[f, CNT] + seen, sums[f] + s1, features[f, S2] + square
            if seen >= least:
                if not summed:
                    return -1
                members += 1
                mean = s1 / rows
                variance = square / rows - mean * mean
                if variance > CONSTANT * square / rows:
                    found[count], z[count] = f, min(max((x - mean) / math.sqrt(variance), -ZMAX), ZMAX)
                    count += 1
            else:
                part[n] = min(math.sqrt(x * x / square * seen), ZMAX * ZMAX)
                found[count], z[count] = f, math.copysign(math.sqrt(part[n]), x)
                count += 1
        q += load_four(part, np.uint64(0))
    if n_dense > 0 and not summed:
        return -1
    for at in range(n_dense):
        f = dense[at]
        if features[f, CNT] < least or _is_in(indices, begin, end, f):
            continue
        members += 1
        mean = sums[f] / rows
        variance = features[f, S2] / rows - mean * mean
        if variance > CONSTANT * features[f, S2] / rows:
            found[count], z[count] = f, min(max(-mean / math.sqrt(variance), -ZMAX), ZMAX)
            count += 1
    length = horizontal_sum(q) + members
    if length > 0.0:
        factor = 1.0 / math.sqrt(length)
        for n in range(count):
            z[n] *= factor
    return count


@inlined_only
def _seen_before(features: Floats, indices: Ints, e: int) -> tuple[Four, Four]:
    """How often four features occur with this row, and their sums of squares before it."""
    seen, s2 = load_two_columns(features, *behind(starts_of(indices, e, PART_WIDTH), CNT))
    return seen + broadcast(1.0), s2


@inlined_only
def _scaled(seen: Four, s2: Four, indices: Ints, values: Floats, e: int, found: Ints, z: Floats, count: int) -> Four:
    """Scale four features that are not dense; returns their squares."""
    four, at = np.uint64(e), np.uint64(count)
    x = load_four(values, four)
    squares = x * x
    sizes = minimum(sqrt(squares / (s2 + squares) * seen), broadcast(ZMAX * ZMAX))
    store_four(z, at, copysign(sqrt(sizes), x))
    store_four(found, at, load_four(indices, four))
    return sizes


@inlined
def _is_in(indices: Ints, begin: int, end: int, j: int) -> bool:
    """Whether a row, sorted by feature, has feature j."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < j:
            low = middle + 1
        else:
            high = middle
    return low < end and indices[low] == j


@helper_no_alloc
def sum_rows(sums: Floats, batch: Batch, first: int, last: int) -> None:
    """Add the rows of examples with labels to the sums of their features, in the order of the examples."""
    label, row, indptr, indices, values = batch.label, batch.row, batch.indptr, batch.indices, batch.values
    for i in range(first, last):
        if not np.isnan(label[i]):
            for e in range(np.uint64(indptr[row[i]]), np.uint64(indptr[row[i] + 1])):
                sums[np.uint64(indices[e])] += values[e]


@inlined_only
def count_row(
    totals: Floats,
    features: Floats,
    dense: Ints,
    place: Ints,
    n_dense: int,
    indices: Ints,
    values: Floats,
    begin: int,
    end: int,
) -> int:
    """Count a row that was scaled, but for its sums; returns the number of dense features.

    `place` says where in the list of dense features each stands, from 1. The list is gone through from the front; the
    last one takes the place of one that leaves, and is looked at next. Then those of the row join in the row's order.
    """
    least = least_density(totals, end - begin) * (totals[EVENTS] + 1.0)
    totals[EVENTS] += 1.0
    totals[NONZEROS] += end - begin
    whole = begin + (end - begin) // WIDTH * WIDTH
    firsts, most, one = broadcast(0.0), broadcast(0.0), broadcast(1.0)
    for e in range(begin, whole, WIDTH):
        starts, x = behind(starts_of(indices, e, PART_WIDTH), CNT), load_four(values, np.uint64(e))
        seen, s2 = load_two_columns(features, *starts)
        store_two_columns(features, *starts, (seen + one, s2 + x * x))
        firsts += zeros_as_ones(seen) - seen
        most = maximum(seen, most)
    first, any_dense = horizontal_sum(firsts), any_at_least(most + one, broadcast(least))
    for e in range(whole, end):
        j, x = np.uint64(indices[e]), values[e]
        seen = features[j, CNT]
        if seen == 0.0:
            first += 1.0
        any_dense = any_dense or seen + 1.0 >= least
        features[j, CNT], features[j, S2] = seen + 1.0, features[j, S2] + x * x
    totals[KNOWN] += first
    d = 0
    while d < n_dense:
        j = dense[d]
        if features[j, CNT] >= least:
            d += 1
            continue
        n_dense -= 1
        dense[d], place[j] = dense[n_dense], 0
        if d < n_dense:
            place[dense[d]] = d + 1
        dense[n_dense] = 0
    if not any_dense:
        return n_dense
    for e in range(np.uint64(begin), np.uint64(end)):
        j = np.uint64(indices[e])
        if features[j, CNT] >= least and place[j] == 0:
            dense[n_dense] = indices[e]
            n_dense += 1
            place[j] = n_dense
    return n_dense
