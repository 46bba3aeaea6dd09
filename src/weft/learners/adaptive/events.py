"""Events of `adaptive` and `auto`: what `adaptive_scoring` has looked at is learned by every layer."""

import math
from typing import Any

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.bundle import hold, opened, packed
from weft.compiled.jit import Handle, compiled, helper_no_alloc, inlined, inlined_only
from weft.compiled.lanes import WIDTH, broadcast, load_four
from weft.learners.adaptive.experts import EPS
from weft.learners.adaptive.harmless import heed_likelihoods, heed_squares
from weft.learners.adaptive.newton import hand_out_seats, newton_step
from weft.learners.adaptive.parts import (
    HEAVY,
    OTHER,
    PART_WIDTH,
    POOLED_WIDTH,
    Errors,
    behind,
    lighten,
    moved,
    paste_rows,
    pooled_starts,
    starts_at,
    starts_in_rest,
    weights_moved,
)
from weft.learners.adaptive.prefetch import Coming, ask_last, ask_own, ask_some, next_row
from weft.learners.adaptive.row_scaling import EVENTS, count_row
from weft.learners.adaptive.scoring import Space, World, answer, bring_sums_up_to_date, sigma, space_for, view
from weft.learners.adaptive.state import EVENTS_OF_TASK, EXPERTS, TASK_DEV, WEIGHT, YSUM, H, Hyper, Parts, V
from weft.learners.adaptive.target_frame import UMAX, count_label, frame
from weft.storage.batch import Batch, set_single, status
from weft.storage.pairs import COUNT, HASHED, SIZE, TASK_STRIDE, Pairs, first_slot, has_room, open_row

ETA_STACK = 0.1
"""The stack's rate."""


@helper_no_alloc
def _heed(world: Any, k: int, u: float, p: float) -> None:
    """The layer that does no harm; `tasks[k, 0]` counts the event already."""
    hyper, state, _, space = opened(world)
    g, w, l = space.g, space.w, space.l
    for m in range(4):
        guess = g[m] if m < 3 else p
        if hyper.square:
            l[m] = 0.5 * (guess - u) * (guess - u)
        else:
            l[m] = guess if u > 0.5 else 1.0 - guess
    if hyper.square:
        heed_squares(state.tasks, k, w, l)
    else:
        heed_likelihoods(state.tasks, k, w, l)


@helper_no_alloc
def _note(world: Any, u: float, p: float, s: float, trace: Floats, i: int) -> None:
    """The losses of the prediction and of its parts."""
    hyper, _, _, space = opened(world)
    c, f = space.c, space.f
    parts = (p, f[0], f[1], f[2]) if hyper.auto else (p, c[0], c[1], s)
    for m in range(4):
        if hyper.square:
            trace[i, m] = 0.5 * (parts[m] - u) * (parts[m] - u)
        else:
            guess = parts[m] if m == 0 else sigma(parts[m])
            trace[i, m] = -math.log(guess if u > 0.5 else 1.0 - guess)


@inlined
def _expert_error(hyper: Hyper, space: Space, m: int, u: float) -> float:
    """Of expert m; that of log-odds is not clipped where these enter the stack."""
    if hyper.square:
        return float(space.c[m] - u)
    if hyper.auto and (m == 2 or m == 3) and space.e[m] == space.c[m]:
        return float(space.g[m - 1] - u)
    return sigma(space.e[m]) - u


@inlined_only
def _errors(world: Any, own: bool) -> Errors:
    """What own or shared parts learn from."""
    hyper, state, _, space = opened(world)
    errors, a = space.errors, state.totals[WEIGHT]
    heavier, eps = math.sqrt(a), a * (EPS + hyper.prior) if own else a * EPS
    by_steps, by_bets, other = heavier * errors[0], errors[1], heavier * errors[2 if own else 3]
    return Errors(
        broadcast(by_steps), broadcast(by_bets), broadcast(other), broadcast(eps), broadcast(hyper.eta), broadcast(a)
    )


@helper_no_alloc
def _move_parts(world: Any, i: int, count: int, own: bool) -> None:
    """Own or shared parts learn; every turn asks memory for two pairs of the next example.

    A function of its own, so that all that the loop needs is in registers.
    """
    _, state, _, space = opened(world)
    parts = state.own if own else state.features
    at = space.at_own if own else space.at_shared
    bets = space.own_bets if own else space.shared_bets
    rest = space.own_rest if own else space.shared_rest
    z, errors, asked, whole = space.z, _errors(world, own), state.own, count // WIDTH * WIDTH
    coming, done = _coming(world, i), 0 if own else whole // 2
    first = coming.task * state.pairs.layout[TASK_STRIDE]
    for n in range(0, whole, WIDTH):
        place = np.uint64(n)
        moved(parts, starts_at(at, n), load_four(z, place), load_four(bets, place), errors)
        ask_some(asked, PART_WIDTH, first, coming, done + n // 2, 2)
    if not own:
        ask_last(asked, PART_WIDTH, first, coming, whole, 2)
    last = np.uint64(whole)
    moved(rest, starts_in_rest(PART_WIDTH), load_four(z, last), load_four(bets, last), errors)


@inlined_only
def _coming(world: Any, i: int) -> Coming:
    """The next row, if its pairs are in a table; hashed ones are asked for together."""
    _, state, batch, _ = opened(world)
    coming = next_row(state.own, state.features, batch, i)
    return Coming(coming.indices, 0, 0, 0) if state.pairs.layout[HASHED] else coming


@helper_no_alloc
def _move(world: Any, i: int, count: int, u: float) -> None:
    """Every expert learns from its own error."""
    hyper, state, batch, space = opened(world)
    own_rest, shared_rest, whole, k = space.own_rest, space.shared_rest, count // WIDTH * WIDTH, batch.task[i]
    for m in range(4 if hyper.auto else 2):
        space.errors[m] = _expert_error(hyper, space, m, u)
    if state.pairs.layout[HASHED]:
        ask_own(state.pairs, state.own, next_row(state.own, state.features, batch, i))
    for side in range(2):
        _move_parts(world, i, count, side == 0)
    if hyper.auto:
        _move_others(world, count)
    paste_rows(state.own, PART_WIDTH, space.at_own, whole, count, own_rest)
    paste_rows(state.features, OTHER, space.at_shared, whole, count, shared_rest)
    for c in range(PART_WIDTH):
        state.own_bias[k, c] = own_rest[count - whole, c]
    for c in range(OTHER):
        state.bias[0, c] = shared_rest[count - whole, c]
    if hyper.second:
        guess = space.c[4] if hyper.square else sigma(space.e[4])
        r = 1.0 if hyper.square else guess * (1.0 - guess)
        newton_step(state.matrix, state.seated, state.n_seats[0], space.x, space.px, u - guess, r)


@helper_no_alloc
def _move_others(world: Any, count: int) -> None:
    """The own and the pooled expert learn; the last own parts are still in their copies."""
    _, state, _, space = opened(world)
    z, rest, whole = space.z, space.pooled_rest, count // WIDTH * WIDTH
    last = load_four(z, np.uint64(whole))
    for side in range(2):
        errors = _errors(world, side == 0)
        for n in range(0, whole, WIDTH):
            value = load_four(z, np.uint64(n))
            if side == 0:
                weights_moved(state.own, behind(starts_at(space.at_own, n), OTHER), value, errors.other, errors)
            else:
                weights_moved(state.pooled, pooled_starts(space.at_shared, n), value, errors.other, errors)
        if side == 0:
            weights_moved(space.own_rest, behind(starts_in_rest(PART_WIDTH), OTHER), last, errors.other, errors)
        else:
            weights_moved(rest, starts_in_rest(POOLED_WIDTH), last, errors.other, errors)
    paste_rows(state.pooled, POOLED_WIDTH, space.at_shared, whole, count, rest)
    for c in range(POOLED_WIDTH):
        state.bias[0, OTHER + c] = rest[count - whole, c]


@helper_no_alloc
def _stack(world: Any, error: float) -> None:
    """The stack learns from the error of its own score."""
    _, state, _, space = opened(world)
    c, stack, heavier = space.c, state.stack, math.sqrt(state.totals[WEIGHT])
    for m in range(EXPERTS):
        if c[m] != 0.0:
            h = heavier * error * c[m]
            stack[H, m] += h * h
            stack[V, m] -= ETA_STACK * h / math.sqrt(stack[H, m])


@helper_no_alloc
def _learn_example(world: Any, i: int, count: int, s: float, p: float, trace: Floats) -> None:
    """Learn from an example that `view` has just looked at."""
    hyper, state, batch, space = opened(world)
    k, y = batch.task[i], batch.label[i]
    begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    tasks, labels, n_dense, totals = state.tasks, state.labels, state.n_dense, state.totals
    layout, keys, table = state.pairs
    mk, ready = 0.0, True
    u = 1.0 if y > 0.0 else 0.0
    if hyper.square:
        mu, sd, mk, ready = frame(labels, totals[EVENTS], tasks[k, EVENTS_OF_TASK], tasks[k, YSUM], tasks[k, TASK_DEV])
        u = min(max((y - mu) / sd, -UMAX), UMAX) if ready else p
    if len(trace):
        _note(world, u, p, s, trace, i)
    if layout[HASHED]:
        open_row(layout, keys, table, k, space.found, 0, count, space.slots)
        for n in range(count):
            space.at_own[n] = space.slots[n] * PART_WIDTH
    n_dense[0] = count_row(
        totals,
        state.features,
        state.dense,
        state.place,
        n_dense[0],
        batch.indices,
        batch.values,
        begin,
        end,
    )
    tasks[k, EVENTS_OF_TASK] += 1.0
    if hyper.auto:
        _heed(world, k, u, p)
    if ready:
        _stack(world, s - u if hyper.square else space.g[0] - u)
        _move(world, i, count, u)
    if hyper.second:
        state.n_seats[0] = hand_out_seats(
            state.matrix, state.seat, state.n_seats[0], state.place, batch.indices, begin, end
        )
    if hyper.square:
        n = tasks[k, EVENTS_OF_TASK]
        more, dev = count_label(labels, totals[EVENTS], n, tasks[k, YSUM], y, u, mk)
        tasks[k, YSUM] += more
        tasks[k, TASK_DEV] += dev
    if hyper.growth > 1.0:
        totals[WEIGHT] *= hyper.growth
        if totals[WEIGHT] > HEAVY:
            _lighten(world)


@helper_no_alloc
def _lighten(world: Any) -> None:
    """Divide all sums by HEAVY."""
    state = opened(world)[1]
    state.totals[WEIGHT] /= HEAVY
    lighten(state.own, True)
    lighten(state.own_bias, True)
    lighten(state.features, False)
    lighten(state.bias, True)
    for row in range(len(state.pooled)):
        state.pooled[row, 1] /= HEAVY
    for m in range(EXPERTS):
        state.stack[H, m] /= HEAVY


@helper_no_alloc
def _missing(slots: Ints, count: int) -> int:
    """Pairs that were never opened."""
    missing = 0
    for a in range(count):
        if slots[a] < 0:
            missing += 1
    return missing


@helper_no_alloc
def _free(pairs: Pairs, task: int) -> int:
    """Room in a task's region."""
    return int(first_slot(pairs.table[task, SIZE]) - pairs.table[task, COUNT])


@compiled
def look(hyper: Hyper, state: Parts, batch: Batch) -> tuple[Ints, Floats, float]:
    """The first example as experts see it: its features and scaled values, and the stack's score."""
    space = space_for(state, batch)
    count, s, _ = view(packed(World(hyper, state, batch, space)), batch.rounds[0])
    known = space.found[:count] < len(state.features)
    return space.found[:count][known], space.z[:count][known], s


@compiled
def predict(hyper: Hyper, state: Parts, batch: Batch, scores: Floats) -> None:
    space = space_for(state, batch)
    world = packed(World(hyper, state, batch, space))
    for i in range(len(scores)):
        _, _, p = view(world, i)
        scores[i] = answer(world, batch.task[i], p)
    hold(space)


@compiled
def learn(hyper: Hyper, state: Parts, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    space = space_for(state, batch)
    space.learned[0], space.summed[0] = batch.rounds[start], batch.rounds[start]
    world = packed(World(hyper, state, batch, space))
    done = _learn_rounds(world, start, scores, trace)
    bring_sums_up_to_date(world)
    hold(space)
    return done


@helper_no_alloc
def _learn_rounds(world: Any, start: int, scores: Floats, trace: Floats) -> int:
    """Learn round after round; returns the first one that there is no room for."""
    _, state, batch, space = opened(world)
    rounds, layout = batch.rounds, state.pairs.layout
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if hi - lo > 1:  # all of a round is scored before any of it is learned
            joining, space.learns[0] = 0, 0
            for i in range(lo, hi):
                _, _, p = view(world, i)
                scores[i] = answer(world, batch.task[i], p)
                joining += batch.indptr[batch.row[i] + 1] - batch.indptr[batch.row[i]]
            extra = state.n_dense[0] + joining
            if layout[HASHED] and not has_room(state.pairs, batch, lo, hi, extra, len(state.dense)):
                return t
        space.learns[0] = 1
        for i in range(lo, hi):
            count, s, p = view(world, i)
            if hi - lo == 1:
                if layout[HASHED] and _missing(space.slots, count) > _free(state.pairs, batch.task[i]):
                    return t
                scores[i] = answer(world, batch.task[i], p)
            if not np.isnan(batch.label[i]):
                _learn_example(world, i, count, s, p, trace)
            space.learned[0] = i + 1
    return len(rounds) - 1


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    hyper, state, batch, scores, _ = handle.parts
    bad = set_single(batch, task, 0.0, count)
    if bad < 0:
        predict(hyper, state, batch, scores)
    return bad


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    hyper, state, batch, scores, trace = handle.parts
    bad = set_single(batch, task, label, count)
    return bad if bad >= 0 else status(learn(hyper, state, batch, batch.rounds[0], scores, trace))
