"""A task's own weights behind one argument: the rows of a batch are scored and moved by the number of the example.

A kernel makes the access once per call, and releases it at its end:

    parts = OwnWeights(pairs, weights, pooled, batch, slot_space(pairs, batch))
    own = packed(parts)
    ...
        s, n2 = score(own, i)
        move(own, i, step)
    ...
    hold(parts)

The same text serves tables and hashed pairs, and rows are prefetched where the weights do not fit the cache. `packed`
puts the arrays behind one pointer and `hold` keeps them alive (`weft.compiled.bundle`); both have to be called by the
kernel itself. `score_task` and `move_task` are for loops over tasks, in helpers that allocate nothing: such a helper
opens the access once, before the loop.

A learner with several numbers per pair, such as a weight and its confidence, has an array over pairs for each. `score`
is about the weights; `prefetch_numbers` prefetches from another array. After `open_pairs`, a row's pairs are reached in
any of these arrays by `read_numbers`, `add_numbers` and `add_squares`. These are called by helpers that allocate
nothing, with what `opened(own)` returns.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.bundle import Bundle, hold, opened, packed
from weft.compiled.instructions import prefetch
from weft.compiled.jit import compiled, helper_no_alloc, inlined_only
from weft.storage.batch import Batch
from weft.storage.pair_rows import (
    add_slots,
    add_table,
    add_table_changes,
    dot_hashed,
    dot_table,
    prefetch_hashed,
    prefetch_table,
    read_slots,
    read_table,
    square_slots,
    square_table,
)
from weft.storage.pairs import AHEAD, FAR, HASHED, TASK_STRIDE, Pairs, dense, find_row, open_row, slot_space
from weft.storage.regions import fits
from weft.storage.state import Plan

PLAN = Plan(axes={"weights": ("pair",)})


class OwnParts(NamedTuple):
    """The state of linear learners that keep nothing but one weight per pair, zero until it is touched."""

    pairs: Pairs
    weights: Floats


def blank() -> OwnParts:
    """No task, no feature, no weight."""
    return OwnParts(dense(0, 1), np.zeros(0))


class OwnWeights(NamedTuple):
    """Weights over pairs, and the rows of a batch; `slots` is scratch space for the slots of one row."""

    pairs: Pairs
    weights: Floats
    pooled: bool  # all tasks use the weights of task 0
    batch: Batch
    slots: Ints


@inlined_only
def has_room(own: Bundle[OwnWeights], lo: int, hi: int) -> bool:
    """Make room for every pair that the examples lo..hi, one round, could open; False if the arrays are too short."""
    pairs, _, pooled, batch, _ = opened(own)
    if pairs.layout[HASHED] == 0:
        return True
    pairs.layout[TASK_STRIDE] = 0 if pooled else 1  # regions that were just made do not know yet
    return fits(pairs, batch, lo, hi)


@inlined_only
def score_task(parts: OwnWeights, task: int, i: int) -> tuple[float, float]:
    """w_task . x(i) and |x(i)|^2, with the weights of any task; `parts` is what `opened(own)` returns."""
    (layout, keys, table), weights, _, batch, slots = parts
    begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    if layout[HASHED] != 0:
        find_row(keys, table, weights, task, batch.indices, begin, end, slots)
        return dot_hashed(weights, batch.values, begin, end, slots)
    return dot_table(layout, weights, task, batch.indices, batch.values, begin, end)


@inlined_only
def move_task(parts: OwnWeights, task: int, i: int, step: float) -> None:
    """w_task += step x(i), for any task and at any time; `parts` is what `opened(own)` returns."""
    (layout, keys, table), weights, _, batch, slots = parts
    begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    if layout[HASHED] != 0:
        find_row(keys, table, weights, task, batch.indices, begin, end, slots)
        open_row(layout, keys, table, task, batch.indices, begin, end, slots)
        add_slots(weights, batch.values, begin, end, step, slots)
    else:
        add_table(layout, weights, task, batch.indices, batch.values, begin, end, step)


@inlined_only
def score(own: Bundle[OwnWeights], i: int) -> tuple[float, float]:
    """w . x(i) and |x(i)|^2, with the weights of the example's own task; prefetches a later example."""
    parts = opened(own)
    _prefetch_ahead(parts, parts.weights, i)
    return score_task(parts, 0 if parts.pooled else parts.batch.task[i], i)


@inlined_only
def move(own: Bundle[OwnWeights], i: int, step: float) -> None:
    """w += step x(i), right after `score` of the same i, whose slots are still there."""
    (layout, keys, table), weights, pooled, batch, slots = opened(own)
    task = 0 if pooled else batch.task[i]
    begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    if layout[HASHED] != 0:
        open_row(layout, keys, table, task, batch.indices, begin, end, slots)
        add_slots(weights, batch.values, begin, end, step, slots)
    else:
        add_table(layout, weights, task, batch.indices, batch.values, begin, end, step)


@inlined_only
def prefetch_numbers(own: Bundle[OwnWeights], numbers: Floats, i: int) -> None:
    """Prefetch what a later example than i will need of another array over pairs."""
    _prefetch_ahead(opened(own), numbers, i)


@inlined_only
def open_pairs(parts: OwnWeights, i: int) -> None:
    """Open the pairs of x(i) that are new, with zeros in all arrays, right after `score` of the same i."""
    (layout, keys, table), _, pooled, batch, slots = parts
    if layout[HASHED] != 0:
        begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
        open_row(layout, keys, table, 0 if pooled else batch.task[i], batch.indices, begin, end, slots)


@inlined_only
def read_numbers(parts: OwnWeights, numbers: Floats, i: int, found: Floats) -> None:
    """found[e] = the number of the pair of the e-th non-zero of x(i), right after `open_pairs` of the same i."""
    (layout, _, _), _, pooled, batch, slots = parts
    begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    if layout[HASHED] != 0:
        read_slots(numbers, end - begin, slots, found)
    else:
        read_table(layout, numbers, 0 if pooled else batch.task[i], batch.indices, begin, end, found)


@inlined_only
def add_numbers(parts: OwnWeights, numbers: Floats, i: int, changes: Floats, step: float) -> None:
    """The number of the pair of the e-th non-zero of x(i) grows by step changes[e], right after `open_pairs`."""
    (layout, _, _), _, pooled, batch, slots = parts
    begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    if layout[HASHED] != 0:
        add_slots(numbers, changes, 0, end - begin, step, slots)
    else:
        task = 0 if pooled else batch.task[i]
        add_table_changes(layout, numbers, task, batch.indices, begin, end, changes, step)


@inlined_only
def add_squares(parts: OwnWeights, numbers: Floats, i: int) -> None:
    """The number of the pair of the e-th non-zero of x(i) grows by its square, right after `open_pairs`."""
    (layout, _, _), _, pooled, batch, slots = parts
    begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    if layout[HASHED] != 0:
        square_slots(numbers, batch.values, begin, end, slots)
    else:
        square_table(layout, numbers, 0 if pooled else batch.task[i], batch.indices, batch.values, begin, end)


@inlined_only
def score_rows(own: Bundle[OwnWeights], lo: int, hi: int, scores: Floats) -> None:
    """scores[i] = w . x(i) for the examples lo..hi, with the weights of the example's own task."""
    parts = opened(own)
    for i in range(lo, hi):
        scores[i] = score_task(parts, 0 if parts.pooled else parts.batch.task[i], i)[0]


@compiled
def score_batch(pairs: Pairs, weights: Floats, batch: Batch, pooled: bool, scores: Floats) -> None:
    """The same for all examples of a batch: what `predict` of a linear learner does."""
    parts = OwnWeights(pairs, weights, pooled, batch, slot_space(pairs, batch))
    _score_all(packed(parts), scores)
    hold(parts)


@helper_no_alloc
def _score_all(own: Bundle[OwnWeights], scores: Floats) -> None:
    score_rows(own, 0, len(scores), scores)


@inlined_only
def _prefetch_ahead(parts: OwnWeights, weights: Floats, i: int) -> None:
    """Prefetch what the example `AHEAD` places further on will need, if the weights do not fit the cache."""
    (layout, keys, table), _, pooled, batch, _ = parts
    task, row, indptr, ahead = batch.task, batch.row, batch.indptr, i + AHEAD
    if len(weights) <= FAR or ahead >= len(task):
        return
    begin, end = indptr[row[ahead]], indptr[row[ahead] + 1]
    if layout[HASHED] != 0:
        if ahead + AHEAD < len(task):
            prefetch(table, (0 if pooled else task[ahead + AHEAD]) * table.shape[1])
        prefetch_hashed(keys, table, 0 if pooled else task[ahead], batch.indices, begin, end)
    else:
        prefetch_table(layout, weights, 0 if pooled else task[ahead], batch.indices, begin, end)
