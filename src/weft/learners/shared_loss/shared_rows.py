"""Many tasks, one row: score and move all tasks of a round that see the same row, over a dense table of weights.

The loop over features is the outer one. In a feature-major table the weights of one feature lie side by side, so that a
round of k tasks costs O(k x non-zeros) without jumps. Sums run in the order of `pair_rows.dot_table`, to the bit.
"""

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import compiled, inlined_only
from weft.storage.batch import Batch
from weft.storage.pairs import FEATURE_STRIDE, TASK_STRIDE, Pairs


@inlined_only
def side_by_side(layout: Ints, task: Ints, lo: int, hi: int) -> bool:
    """Do the weights of one feature for the tasks of the examples lo..hi lie next to each other?"""
    if layout[TASK_STRIDE] != 1:
        return False
    for i in range(lo + 1, hi):
        if task[i] != task[i - 1] + 1:
            return False
    return True


@compiled
def dot_shared(pairs: Pairs, weights: Floats, batch: Batch, lo: int, hi: int, scores: Floats) -> None:
    """scores[i] = w_task(i) . x for the examples lo..hi, which all show the same row, over a dense table.

    The loop over features is the outer one: in a feature-major table the weights of one feature lie side by side.
    """
    layout, _, _ = pairs
    task, _, row, indptr, indices, values, _, _ = batch
    sums = np.zeros((4, hi - lo))
    by_task, by_feature = np.uint64(layout[TASK_STRIDE]), np.uint64(layout[FEATURE_STRIDE])
    first, count = np.uint64(task[lo]), np.uint64(hi - lo)
    adjacent = side_by_side(layout, task, lo, hi)
    begin, end = np.uint64(indptr[row[lo]]), np.uint64(indptr[row[lo] + 1])
    whole = begin + (end - begin) // np.uint64(4) * np.uint64(4)
    for e in range(begin, end):
        base, value = np.uint64(indices[e]) * by_feature, values[e]
        turn = (e - begin) % np.uint64(4) if e < whole else np.uint64(0)
        if adjacent:
            base += first
            for i in range(np.uint64(0), count):
                sums[turn, i] += weights[base + i] * value
        else:
            for i in range(np.uint64(0), count):
                sums[turn, i] += weights[base + np.uint64(task[lo + i]) * by_task] * value
    for i in range(hi - lo):
        scores[lo + i] = (sums[0, i] + sums[1, i]) + (sums[2, i] + sums[3, i])


@compiled
def add_shared(pairs: Pairs, weights: Floats, batch: Batch, lo: int, hi: int, steps: Floats) -> None:
    """w_task(lo + a) += steps[a] x for the examples lo..hi, which all show the same row, over a dense table."""
    layout, _, _ = pairs
    task, _, row, indptr, indices, values, _, _ = batch
    by_task, by_feature = np.uint64(layout[TASK_STRIDE]), np.uint64(layout[FEATURE_STRIDE])
    moved, count = np.empty(hi - lo, np.int64), 0
    for a in range(hi - lo):
        if steps[a] != 0.0:
            moved[count] = a
            count += 1
    # Steps of 0 are added too where that saves the jumps: no bit changes.
    everyone = 4 * count > hi - lo and side_by_side(layout, task, lo, hi)
    first, all_tasks = np.uint64(task[lo]), np.uint64(hi - lo)
    for e in range(np.uint64(indptr[row[lo]]), np.uint64(indptr[row[lo] + 1])):
        base, value = np.uint64(indices[e]) * by_feature, values[e]
        if everyone:
            base += first
            for a in range(np.uint64(0), all_tasks):
                weights[base + a] += steps[a] * value
        else:
            for m in range(count):
                a = moved[m]
                weights[base + np.uint64(task[lo + a]) * by_task] += steps[a] * value
