"""Scores of the experts: their weights times the scaled row, z, summed in vectors of four, the bias last.

Shared parts come first, then own parts, then the own and the pooled expert of `auto`. The loops prefetch what the next
example needs: features in those over parts, the pooled expert in its own, and pairs when this example is not learned.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints, ShortFloats
from weft.compiled.bundle import Bundle, opened
from weft.compiled.jit import helper_no_alloc, inlined_only
from weft.compiled.lanes import WIDTH, Four, broadcast, horizontal_sum, load_four
from weft.learners.adaptive.parts import (
    OTHER,
    add_score,
    add_scores,
    copy_bias,
    copy_known,
    copy_to_tail,
    pooled_starts,
    shifted,
    starts_at,
    tail_starts,
)
from weft.learners.adaptive.prefetch import (
    NextRow,
    Target,
    next_row,
    prefetch_keys,
    prefetch_pairs,
    prefetch_rest,
    prefetch_some,
    prefetch_task,
)
from weft.learners.adaptive.row_statistics import row_of
from weft.learners.adaptive.scratch import Context, Progress
from weft.learners.adaptive.state import PART_WIDTH, POOLED_WIDTH, Expert, Total
from weft.storage.pairs import HASHED, TASK_STRIDE, find_row


class Side(NamedTuple):
    """Own or shared parts, where those of an event begin, their bets, and their tail."""

    parts: Array
    starts: Ints
    bets: Floats
    tail: Floats


class Entries(NamedTuple):
    """The scaled row: z, its length, how many entries fill vectors, and the event's weight a with the floor of a L."""

    z: Floats
    length: int
    whole: int
    a: tuple[Four, Four]


@helper_no_alloc
def find_parts(context: Bundle[Context], k: int, count: int) -> None:
    """Where the shared parts of the row's features begin, and the own parts of task k.

    A hashed pair that was never opened gets the first slot, which belongs to no task and holds zeros.
    """
    _, state, _, scratch = opened(context)
    layout, keys, table = state.pairs
    features, slots, shared_starts, own_starts = (
        scratch.features,
        scratch.slots,
        scratch.shared_starts,
        scratch.own_starts,
    )
    width = state.own.shape[1]
    first = k * layout[TASK_STRIDE] * width
    for n in range(count):
        shared_starts[n] = features[n] * PART_WIDTH
        own_starts[n] = first + features[n] * width
    if layout[HASHED]:
        find_row(keys, table, state.own, k, features, 0, count, slots)
        for n in range(count):
            own_starts[n] = max(slots[n], 0) * width


@helper_no_alloc
def score_experts(context: Bundle[Context], i: int, count: int) -> None:
    """The scores e of all experts but the second-order one."""
    hyper, state, batch, scratch = opened(context)
    z, e, whole, zero = scratch.z, scratch.e, count // WIDTH * WIDTH, broadcast(0.0)
    a = state.totals[Total.WEIGHT]
    entries = Entries(z, count, whole, (broadcast(a), broadcast(a * hyper.floor)))
    z[count] = 1.0  # of the bias
    for n in range(count + 1, whole + WIDTH):
        z[n] = 0.0
    features, own, pooled, row = state.features, state.own, state.pooled, row_of(batch, i)
    if row.end > row.begin and row.indices[row.end - 1] >= len(state.features):
        _copy_parts(context, count)
        features, own, pooled = scratch.shared_copies, scratch.own_copies, scratch.pooled_copies
    prefetch_task(state, batch, i)
    upcoming = next_row(state, batch, i)
    if state.pairs.layout[HASHED]:
        prefetch_keys(state.pairs, upcoming)
    shared_side = Side(features, scratch.shared_starts, scratch.shared_bets, scratch.shared_tail)
    own_side = Side(own, scratch.own_starts, scratch.own_bets, scratch.own_tail)
    target = Target(state.features, PART_WIDTH, 0)
    sums = _add_vectors(shared_side, entries, (zero, zero), target, upcoming)
    sums = _add_tail(shared_side, entries, sums, state.bias, 0)
    later = NextRow(upcoming.indices, upcoming.begin + whole // 2, upcoming.end, upcoming.task)
    sums = _add_vectors(own_side, entries, sums, target, later)
    prefetch_rest(target, upcoming, whole, 2)
    sums = _add_tail(own_side, entries, sums, state.own_bias, batch.task[i])
    e[Expert.GRADIENT], e[Expert.BETTING] = horizontal_sum(sums[0]), horizontal_sum(sums[1])
    e[Expert.OWN], e[Expert.POOLED], e[Expert.SECOND_ORDER] = 0.0, 0.0, 0.0
    if hyper.auto:
        _score_own_and_pooled(context, own, pooled, upcoming, count)
    if not scratch.progress[Progress.LEARNING]:
        prefetch_pairs(state.pairs, state.own, upcoming)


@inlined_only
def _add_vectors(
    side: Side, entries: Entries, sums: tuple[Four, Four], target: Target, upcoming: NextRow
) -> tuple[Four, Four]:
    """Add the parts of full vectors to the scores; every step prefetches two entries of the next row."""
    for n in range(0, entries.whole, WIDTH):
        z = load_four(entries.z, np.uint64(n))
        sums = add_scores(side.parts, starts_at(side.starts, n), z, entries.a, side.bets, n, sums)
        prefetch_some(target, upcoming, n // 2, 2)
    return sums


@inlined_only
def _add_tail(side: Side, entries: Entries, sums: tuple[Four, Four], bias: Floats, row: int) -> tuple[Four, Four]:
    """Add the last parts and the bias to the scores."""
    z, length, whole, a = entries
    copy_to_tail(side.parts, side.starts, side.parts.shape[1], whole, length, side.tail)
    copy_bias(bias, row, 0, length - whole, side.tail)
    return add_scores(side.tail, tail_starts(PART_WIDTH), load_four(z, np.uint64(whole)), a, side.bets, whole, sums)


@inlined_only
def _score_own_and_pooled(
    context: Bundle[Context], own: ShortFloats, pooled: Floats, upcoming: NextRow, count: int
) -> None:
    """The scores of the own and the pooled expert."""
    _, state, _, scratch = opened(context)
    z, tail, whole, target = (
        scratch.z,
        scratch.pooled_tail,
        count // WIDTH * WIDTH,
        Target(state.pooled, pooled.shape[1], 0),
    )
    shared_starts, own_starts = scratch.shared_starts, scratch.own_starts
    own_sum, pooled_sum = broadcast(0.0), broadcast(0.0)
    for n in range(0, whole, WIDTH):
        value = load_four(z, np.uint64(n))
        own_sum = add_score(own, shifted(starts_at(own_starts, n), OTHER), value, own_sum)
        pooled_sum = add_score(pooled, pooled_starts(shared_starts, n, pooled.shape[1]), value, pooled_sum)
        prefetch_some(target, upcoming, n, WIDTH)
    prefetch_rest(target, upcoming, whole, WIDTH)
    copy_to_tail(pooled, shared_starts, PART_WIDTH, whole, count, tail)
    copy_bias(state.bias, 0, OTHER, count - whole, tail)
    last = load_four(z, np.uint64(whole))
    own_sum = add_score(scratch.own_tail, shifted(tail_starts(PART_WIDTH), OTHER), last, own_sum)
    pooled_sum = add_score(tail, tail_starts(POOLED_WIDTH), last, pooled_sum)
    scratch.e[Expert.OWN], scratch.e[Expert.POOLED] = horizontal_sum(own_sum), horizontal_sum(pooled_sum)


@helper_no_alloc
def _copy_parts(context: Bundle[Context], count: int) -> None:
    """Copy the parts of a row with features that are not known yet, with zeros for these."""
    _, state, _, scratch = opened(context)
    features, known = scratch.features, len(state.features)
    shared_starts, own_starts = scratch.shared_starts, scratch.own_starts
    width = state.own.shape[1]
    copy_known(state.features, known, shared_starts, PART_WIDTH, features, count, scratch.shared_copies)
    copy_known(state.own, known, own_starts, width, features, count, scratch.own_copies)
    if len(state.pooled):
        copy_known(state.pooled, known, shared_starts, PART_WIDTH, features, count, scratch.pooled_copies)
    for n in range(count):
        shared_starts[n], own_starts[n] = n * PART_WIDTH, n * width
