r"""What `row_scaling` knows of the rows so far: how often and how large features were, and which of them are dense.

A feature becomes dense when it occurs in at least half of all rows, in sparse data in nine of ten, and is no longer
dense when that is no longer so. The densities of all features add up to the mean number of non-zeros, so that a row
costs O(its non-zeros) although dense features count in every row.

Counts and sums of squares are part of a feature's row (`Feature`). Sums of values are an array apart: only dense
features need them, so that they are brought up to date when one does, or at the end of a batch.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.bundle import Bundle, opened
from weft.compiled.jit import helper_no_alloc, inlined_only
from weft.compiled.lanes import (
    WIDTH,
    any_at_least,
    broadcast,
    horizontal_sum,
    load_four,
    load_two_columns,
    maximum,
    store_two_columns,
    zeros_as_ones,
)
from weft.learners.adaptive.missing import gaps_of
from weft.learners.adaptive.parts import COUNT, shifted, starts_of_rows
from weft.learners.adaptive.scratch import Context, Progress
from weft.learners.adaptive.state import HALF, PART_WIDTH, Feature, State, Total
from weft.storage.batch import Batch, importance

MOST = 0.9
"""The share of rows in which a dense feature of sparse data occurs."""
SPARSE = 0.1
"""Data are sparse if rows have less than this share of all features."""


class Row(NamedTuple):
    """A sparse row: the entries begin..end of two arrays."""

    indices: Ints
    values: Floats
    begin: int
    end: int


@inlined_only
def row_of(batch: Batch, i: int) -> Row:
    """The row of example i."""
    return Row(batch.indices, batch.values, batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1])


@inlined_only
def is_learned(batch: Batch, i: int) -> bool:
    """Whether example i has a label, and a weight; without either it is scored and changes nothing."""
    return not np.isnan(batch.label[i]) and importance(batch, i) > 0.0


@inlined_only
def least_share(totals: Floats, nonzeros: int) -> float:
    """In which share of rows a feature must occur to be dense, the present row, of so many non-zeros, included."""
    rows = float(totals[Total.EVENTS] + 1.0)
    sparse = totals[Total.NONZEROS] + nonzeros < SPARSE * rows * max(1.0, totals[Total.KNOWN])
    return MOST if sparse else HALF


@inlined_only
def is_dense(state: State, f: int, count: float, share: float, rows: float) -> bool:
    """Whether a feature that occurred `count` times is dense: rows in which it was missing do not count."""
    return bool(count >= share * (rows - state.missing[f]))


@helper_no_alloc
def update_sums(context: Bundle[Context]) -> None:
    """Add the rows of examples that were learned since the last call, in the order of the examples, to the sums."""
    _, state, batch, scratch = opened(context)
    sums, progress = state.sums, scratch.progress
    row, indptr, indices, values = batch.row, batch.indptr, batch.indices, batch.values
    for i in range(progress[Progress.SUMMED], progress[Progress.LEARNED]):
        if is_learned(batch, i):
            for e in range(np.uint64(indptr[row[i]]), np.uint64(indptr[row[i] + 1])):
                sums[np.uint64(indices[e])] += values[e]
    progress[Progress.SUMMED] = progress[Progress.LEARNED]


@helper_no_alloc
def count_row(context: Bundle[Context], i: int) -> None:
    """Count the row of an example that was scaled, but for its sums, and update the list of dense features."""
    _, state, batch, scratch = opened(context)
    totals, row = state.totals, row_of(batch, i)
    share = least_share(totals, row.end - row.begin)
    totals[Total.EVENTS] += 1.0
    totals[Total.NONZEROS] += row.end - row.begin
    new, any_dense = _count_values(state.features, row, share * totals[Total.EVENTS])
    totals[Total.KNOWN] += new
    first, last = gaps_of(scratch.gaps, batch, i)
    for n in range(first, last):
        f = scratch.gaps.features[n]
        if state.place[f] > 0:
            state.missing[f] += 1.0
            state.n_missing[0] += 1
    n_dense = _remove_from_dense(state, share)
    if any_dense or state.n_missing[0] > 0:
        n_dense = _add_to_dense(state, row, share, n_dense)
    state.n_dense[0] = n_dense


@inlined_only
def _count_values(features: Floats, row: Row, least: float) -> tuple[float, bool]:
    """Count the values of a row; returns how many features are new, and whether any of the row's is dense."""
    indices, values, begin, end = row
    whole = begin + (end - begin) // WIDTH * WIDTH
    firsts, most, one = broadcast(0.0), broadcast(0.0), broadcast(1.0)
    for e in range(begin, whole, WIDTH):
        starts, x = shifted(starts_of_rows(indices, e, PART_WIDTH), COUNT), load_four(values, np.uint64(e))
        seen, squares = load_two_columns(features, *starts)
        store_two_columns(features, *starts, (seen + one, squares + x * x))
        firsts += zeros_as_ones(seen) - seen
        most = maximum(seen, most)
    new, any_dense = horizontal_sum(firsts), any_at_least(most + one, broadcast(least))
    for e in range(whole, end):
        j, value = np.uint64(indices[e]), values[e]
        count = features[j, Feature.COUNT]
        if count == 0.0:
            new += 1.0
        any_dense = any_dense or count + 1.0 >= least
        features[j, Feature.COUNT] = count + 1.0
        features[j, Feature.SQUARES] += value * value
    return new, any_dense


@inlined_only
def _remove_from_dense(state: State, share: float) -> int:
    """Remove features that are no longer dense; returns the length of the list.

    The list is read from the front. The last feature takes the place of one that is removed, and is looked at next.
    """
    features, dense, place, n_dense = state.features, state.dense, state.place, state.n_dense[0]
    d = 0
    while d < n_dense:
        j = dense[d]
        if is_dense(state, j, features[j, Feature.COUNT], share, state.totals[Total.EVENTS]):
            d += 1
            continue
        n_dense -= 1
        dense[d], place[j] = dense[n_dense], 0
        if d < n_dense:
            place[dense[d]] = d + 1
        dense[n_dense] = 0
    return int(n_dense)


@inlined_only
def _add_to_dense(state: State, row: Row, share: float, n_dense: int) -> int:
    """Add the features of a row that became dense, in its order; returns the length of the list."""
    features, dense, place = state.features, state.dense, state.place
    for e in range(np.uint64(row.begin), np.uint64(row.end)):
        j = np.uint64(row.indices[e])
        if place[j] == 0 and is_dense(state, int(j), features[j, Feature.COUNT], share, state.totals[Total.EVENTS]):
            dense[n_dense] = row.indices[e]
            n_dense += 1
            place[j] = n_dense
    return n_dense
