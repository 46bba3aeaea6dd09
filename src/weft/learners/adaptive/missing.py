"""Values that are explicitly missing: entries of a row whose value is NaN.

In a column that is dense such a value counts as the mean of the values that are present, so that its scaled value is 0,
and the row is not counted in the column's density, mean and deviation. In any other column it is not a feature. Kernels
work on rows without these entries, and on a list of them beside it, the *gaps*.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Ints
from weft.compiled.jit import helper, inlined_only
from weft.learners.adaptive.state import Feature, State
from weft.storage.batch import Batch


class Gaps(NamedTuple):
    """The features that are missing in row r: `features[begins[r]:begins[r + 1]]`; without any, `begins` is empty."""

    begins: Ints
    features: Ints


@helper
def without_missing(batch: Batch) -> tuple[Batch, Gaps]:
    """The batch without the entries that are missing, and these."""
    task, label, row, indptr, indices, values, rounds, weight = batch
    missing, used = 0, indptr[len(indptr) - 1]  # the buffers of single events are longer than their rows
    for e in range(used):
        missing += 1 if values[e] != values[e] else 0
    if missing == 0:
        return batch, Gaps(indptr[:0], indptr[:0])
    kept = np.empty(used - missing, np.int64), np.empty(used - missing)
    ends, begins, gaps = np.zeros_like(indptr), np.zeros_like(indptr), np.empty(missing, np.int64)
    at, gap = 0, 0
    for r in range(len(indptr) - 1):
        for e in range(indptr[r], indptr[r + 1]):
            if values[e] == values[e]:
                kept[0][at], kept[1][at] = indices[e], values[e]
                at += 1
            else:
                gaps[gap] = indices[e]
                gap += 1
        ends[r + 1], begins[r + 1] = at, gap
    return Batch(task, label, row, ends, kept[0], kept[1], rounds, weight), Gaps(begins, gaps)


@inlined_only
def gaps_of(gaps: Gaps, batch: Batch, i: int) -> tuple[int, int]:
    """Where the gaps of example i begin and end."""
    if len(gaps.begins) == 0:
        return 0, 0
    return gaps.begins[batch.row[i]], gaps.begins[batch.row[i] + 1]


@inlined_only
def is_gap(gaps: Gaps, bounds: tuple[int, int], f: int) -> bool:
    """Whether feature f is one of these gaps."""
    for n in range(bounds[0], bounds[1]):
        if gaps.features[n] == f:
            return True
    return False


@inlined_only
def counts_as_mean(state: State, f: int, share: float, rows: float) -> bool:
    """Whether feature f, which the present row lacks, is dense: in that share of the `rows` that do not lack it."""
    if f >= len(state.place) or state.place[f] == 0:
        return False
    return bool(state.features[f, Feature.COUNT] >= share * (rows - state.missing[f] - 1.0))
