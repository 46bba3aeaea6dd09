"""Updates of the experts: every expert learns from its own error, by the steps of `experts`.

Own and shared parts get the same gradients, error times z; own parts have `own_prior` in the root of AdaGrad's step.
The loops prefetch the pairs of the next example.
"""

import math

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.bundle import Bundle, opened
from weft.compiled.jit import helper_no_alloc, inlined_only
from weft.compiled.lanes import WIDTH, broadcast, load_four
from weft.learners.adaptive.experts import EPS
from weft.learners.adaptive.further_experts import divide_further_sums
from weft.learners.adaptive.parts import (
    HEAVY,
    OTHER,
    Errors,
    copy_from_tail,
    divide_sums,
    pooled_starts,
    round_from_tail,
    shifted,
    starts_at,
    tail_starts,
    update_parts,
    update_weights,
)
from weft.learners.adaptive.prefetch import (
    NextRow,
    Target,
    next_row,
    next_table_row,
    prefetch_pairs,
    prefetch_rest,
    prefetch_some,
)
from weft.learners.adaptive.scoring import Side
from weft.learners.adaptive.scratch import Context
from weft.learners.adaptive.second_order import update_second_order
from weft.learners.adaptive.stacking import QMAX, expert_error, sigma
from weft.learners.adaptive.state import PART_WIDTH, POOLED_WIDTH, Expert, Pooled, Stack, Total
from weft.storage.batch import importance
from weft.storage.pairs import HASHED, TASK_STRIDE, rows_in_use


@helper_no_alloc
def update_experts(context: Bundle[Context], i: int, count: int, u: float) -> None:
    """Every expert learns from its error in predicting u."""
    hyper, state, batch, scratch = opened(context)
    weight = importance(batch, i)
    own_tail, shared_tail, whole, k = scratch.own_tail, scratch.shared_tail, count // WIDTH * WIDTH, batch.task[i]
    for m in range(4 if hyper.auto else 2):
        scratch.errors[m] = weight * expert_error(hyper, scratch, m, u)
    if hyper.wide and not hyper.square and scratch.e[Expert.BETTING] * (2.0 * u - 1.0) > QMAX:
        scratch.errors[Expert.BETTING] = 0.0  # right beyond QMAX: it rests, see `experts`
    if state.pairs.layout[HASHED]:
        prefetch_pairs(state.pairs, state.own, next_row(state, batch, i))
    _update_own_parts(context, i, count)
    _update_shared_parts(context, i, count)
    if hyper.auto:
        _update_own_and_pooled(context, count)
    round_from_tail(state.own, scratch.own_starts, whole, count, own_tail)
    copy_from_tail(state.features, OTHER, scratch.shared_starts, whole, count, shared_tail)
    for c in range(PART_WIDTH):
        state.own_bias[k, c] = own_tail[count - whole, c]
    for c in range(OTHER):
        state.bias[0, c] = shared_tail[count - whole, c]
    if hyper.second_order:
        p = scratch.c[Expert.SECOND_ORDER] if hyper.square else sigma(scratch.e[Expert.SECOND_ORDER])
        update_second_order(context, weight * (u - p), weight * (1.0 if hyper.square else p * (1.0 - p)))


@inlined_only
def _errors(context: Bundle[Context], own: bool) -> Errors:
    """What own or shared parts learn from; gradients of AdaGrad are multiplied by sqrt(a): see `experts`."""
    hyper, state, _, scratch = opened(context)
    errors, a = scratch.errors, state.totals[Total.WEIGHT]
    root = math.sqrt(a)
    return Errors(
        gradient=broadcast(root * errors[Expert.GRADIENT]),
        betting=broadcast(errors[Expert.BETTING]),
        other=broadcast(root * errors[Expert.OWN if own else Expert.POOLED]),
        eps=broadcast(a * (EPS + hyper.own_prior) if own else a * EPS),
        eta=broadcast(hyper.eta),
        a=broadcast(a),
    )


# Two functions, so that all that either loop needs is in registers.


@helper_no_alloc
def _update_own_parts(context: Bundle[Context], i: int, count: int) -> None:
    """The gradient and the betting expert learn, in own parts; every step prefetches two pairs."""
    _, state, batch, scratch = opened(context)
    side = Side(state.own, scratch.own_starts, scratch.own_bets, scratch.own_tail)
    upcoming = next_table_row(state, batch, i)
    target = Target(state.own, state.own.shape[1], upcoming.task * state.pairs.layout[TASK_STRIDE])
    _update_side(side, scratch.z, count, _errors(context, True), target, upcoming)


@helper_no_alloc
def _update_shared_parts(context: Bundle[Context], i: int, count: int) -> None:
    """The same in shared parts; prefetches the pairs that are left."""
    _, state, batch, scratch = opened(context)
    side = Side(state.features, scratch.shared_starts, scratch.shared_bets, scratch.shared_tail)
    whole = count // WIDTH * WIDTH
    upcoming = next_table_row(state, batch, i)
    target = Target(state.own, state.own.shape[1], upcoming.task * state.pairs.layout[TASK_STRIDE])
    later = NextRow(upcoming.indices, upcoming.begin + whole // 2, upcoming.end, upcoming.task)
    _update_side(side, scratch.z, count, _errors(context, False), target, later)
    prefetch_rest(target, upcoming, whole, 2)


@inlined_only
def _update_side(side: Side, z: Floats, count: int, errors: Errors, target: Target, upcoming: NextRow) -> None:
    parts, starts, bets, tail = side
    whole = count // WIDTH * WIDTH
    for n in range(0, whole, WIDTH):
        at = np.uint64(n)
        update_parts(parts, starts_at(starts, n), load_four(z, at), load_four(bets, at), errors)
        prefetch_some(target, upcoming, n // 2, 2)
    last = np.uint64(whole)
    update_parts(tail, tail_starts(PART_WIDTH), load_four(z, last), load_four(bets, last), errors)


@helper_no_alloc
def _update_own_and_pooled(context: Bundle[Context], count: int) -> None:
    """The own and the pooled expert learn; the last own parts are still in the tail."""
    _, state, _, scratch = opened(context)
    z, tail, whole = scratch.z, scratch.pooled_tail, count // WIDTH * WIDTH
    last = load_four(z, np.uint64(whole))
    for own in (True, False):
        errors = _errors(context, own)
        for n in range(0, whole, WIDTH):
            value = load_four(z, np.uint64(n))
            if own:
                starts = shifted(starts_at(scratch.own_starts, n), OTHER)
                update_weights(state.own, starts, value, errors.other, errors)
            else:
                starts = pooled_starts(scratch.shared_starts, n, state.pooled.shape[1])
                update_weights(state.pooled, starts, value, errors.other, errors)
        if own:
            update_weights(scratch.own_tail, shifted(tail_starts(PART_WIDTH), OTHER), last, errors.other, errors)
        else:
            update_weights(tail, tail_starts(POOLED_WIDTH), last, errors.other, errors)
    copy_from_tail(state.pooled, POOLED_WIDTH, scratch.shared_starts, whole, count, tail)
    for c in range(POOLED_WIDTH):
        state.bias[0, OTHER + c] = tail[count - whole, c]


@helper_no_alloc
def increase_weight(context: Bundle[Context]) -> None:
    """The next event is heavier than this one; before the weight overflows, all weighted sums are divided by HEAVY."""
    hyper, state, _, _ = opened(context)
    totals = state.totals
    totals[Total.WEIGHT] *= hyper.growth
    if totals[Total.WEIGHT] <= HEAVY:
        return
    totals[Total.WEIGHT] /= HEAVY
    divide_sums(state.own, rows_in_use(state.pairs, state.own), True)
    divide_sums(state.own_bias, len(state.own_bias), True)
    divide_sums(state.features, len(state.features), False)
    divide_sums(state.bias, len(state.bias), True)
    for row in range(len(state.pooled)):
        state.pooled[row, Pooled.SQUARES] /= HEAVY
    for m in range(state.stack.shape[1]):
        state.stack[Stack.SQUARES, m] /= HEAVY
        if hyper.wide:
            state.stack[Stack.FIRST_SQUARES, m] /= HEAVY
    if hyper.wide:
        divide_further_sums(context)
