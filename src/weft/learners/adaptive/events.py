r"""The steps of an event, and the loops over events: what `adaptive` and `auto` do, in order.

`score_event` does steps 1 to 4, `learn_event` steps 5 to 9. `learn` scores all events of a round before it learns any.
"""

from weft.compiled.arrays import Floats, Ints
from weft.compiled.bundle import Bundle, hold, opened, packed
from weft.compiled.jit import Handle, compiled, helper_no_alloc
from weft.learners.adaptive.do_no_harm import update_mixture
from weft.learners.adaptive.explaining import Scales
from weft.learners.adaptive.further_experts import score_further, update_further
from weft.learners.adaptive.grid import keep_values
from weft.learners.adaptive.label_scaling import UMAX, LabelScale, count_label, label_scale
from weft.learners.adaptive.low_rank import open_factors
from weft.learners.adaptive.missing import without_missing
from weft.learners.adaptive.row_scaling import scale_row
from weft.learners.adaptive.row_statistics import count_row, is_learned, update_sums
from weft.learners.adaptive.scoring import find_parts, score_experts
from weft.learners.adaptive.scratch import Context, Progress, scratch_for
from weft.learners.adaptive.second import has_room_for_matrices, make_matrix
from weft.learners.adaptive.second_order import assign_seats, score_second_order
from weft.learners.adaptive.stacking import answer, mix_predictions, record_losses, stack_scores, update_stack
from weft.learners.adaptive.state import Component, Expert, Hyper, Stack, State, Task, Total
from weft.learners.adaptive.two_stacks import mix_stacks, update_stacks
from weft.learners.adaptive.updating import increase_weight, update_experts
from weft.storage.batch import Batch, importance, learn_single, predict_single
from weft.storage.pairs import HASHED, open_row
from weft.storage.regions import has_room, room_for


@helper_no_alloc
def score_event(context: Bundle[Context], i: int) -> tuple[int, float, float]:
    """Score example i: the number of its features, the stack's score s, and the prediction p."""
    hyper, _, batch, scratch = opened(context)
    k = batch.task[i]
    # 1. Scale the row.
    count = scale_row(context, i)
    # 2. Score it by every expert: e.
    find_parts(context, k, count)
    score_experts(context, i, count)
    if hyper.second_order:
        scratch.e[Expert.SECOND_ORDER] = score_second_order(context, count)
    if hyper.wide:
        score_further(context, i, count)
    # 3. Stack the scores: s.
    s = stack_scores(context)
    if hyper.wide:
        s = mix_stacks(context, s)
    # 4. Mix stack, own and pooled model: p.
    return count, s, mix_predictions(context, k, s)


@helper_no_alloc
def learn_event(context: Bundle[Context], i: int, count: int, s: float, p: float, trace: Floats) -> None:
    """Learn from example i, which `score_event` has just scored."""
    hyper, state, batch, scratch = opened(context)
    k, y, tasks, labels, totals = batch.task[i], batch.label[i], state.tasks, state.labels, state.totals
    # 5. Scale the label: u.
    u, scale = 1.0 if y > 0.0 else 0.0, LabelScale(0.0, 1.0, 0.0, True)
    if hyper.square:
        scale = label_scale(labels, totals[Total.EVENTS], tasks, k)
        u = min(max((y - scale.mu) / scale.sd, -UMAX), UMAX) if scale.varies else p
    if len(trace):
        record_losses(context, u, p, s, trace, i)
    # 6. Count the row and the event.
    if state.pairs.layout[HASHED]:
        _open_pairs(context, k, count)
    if hyper.low_rank:
        open_factors(context, i, count)
    count_row(context, i)
    tasks[k, Task.EVENTS] += 1.0
    # 7. Update the do-no-harm layer.
    if hyper.auto:
        update_mixture(context, k, u, p)
    # 8. Update the stack and the experts, unless labels do not vary yet.
    if scale.varies:
        weight = importance(batch, i)
        if hyper.wide:
            update_stacks(context, u, s, weight)
        else:
            error = s - u if hyper.square else scratch.g[Component.STACK] - u
            update_stack(context, Stack.WEIGHT, state.stack.shape[1], weight * error)
        update_experts(context, i, count, u)
        if hyper.wide:
            update_further(context, i, count, u)
    if hyper.grid:
        keep_values(context)
    if hyper.second:
        make_matrix(context, k)
    if hyper.second_order or hyper.second or hyper.grid or hyper.fading:
        assign_seats(context, i)
    # 9. Count the label, and let the past count less.
    if hyper.square:
        count_label(labels, totals[Total.EVENTS], tasks, k, y, u, scale.centre)
    if hyper.growth > 1.0:
        increase_weight(context)


@helper_no_alloc
def _learn_rounds(context: Bundle[Context], start: int, scores: Floats, trace: Floats) -> int:
    """Learn round after round; returns the first one that there is no room for."""
    hyper, state, batch, scratch = opened(context)
    rounds, hashed, progress = batch.rounds, state.pairs.layout[HASHED], scratch.progress
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if hyper.second and not has_room_for_matrices(state, hi - lo):
            return t
        if hi - lo > 1:  # all of a round is scored before any of it is learned
            joining, progress[Progress.LEARNING] = 0, 0
            for i in range(lo, hi):
                _, _, p = score_event(context, i)
                scores[i] = answer(context, batch.task[i], p)
                joining += batch.indptr[batch.row[i] + 1] - batch.indptr[batch.row[i]]
            extra = state.n_dense[0] + joining
            if hashed and not has_room(state.pairs, batch, lo, hi, extra, len(state.dense)):
                return t
        progress[Progress.LEARNING] = 1
        for i in range(lo, hi):
            count, s, p = score_event(context, i)
            if hi - lo == 1:
                if hashed and not room_for(state.pairs, batch.task[i], _missing(scratch.slots, count)):
                    return t
                scores[i] = answer(context, batch.task[i], p)
            if is_learned(batch, i):
                learn_event(context, i, count, s, p, trace)
            progress[Progress.LEARNED] = i + 1
    return len(rounds) - 1


@helper_no_alloc
def _open_pairs(context: Bundle[Context], k: int, count: int) -> None:
    """Open the row's hashed pairs that task k has not met before."""
    _, state, _, scratch = opened(context)
    layout, keys, table = state.pairs
    slots, own_starts = scratch.slots, scratch.own_starts
    open_row(layout, keys, table, k, scratch.features, 0, count, slots)
    for n in range(count):
        own_starts[n] = slots[n] * state.own.shape[1]


@helper_no_alloc
def _missing(slots: Ints, count: int) -> int:
    """How many of a row's pairs were never opened."""
    missing = 0
    for n in range(count):
        if slots[n] < 0:
            missing += 1
    return missing


@compiled
def scaled_row(hyper: Hyper, state: State, batch: Batch) -> tuple[Ints, Floats, Floats, Scales]:
    """The first example as experts see it: its known features, their scaled values, the experts' scores, and scales."""
    batch, gaps = without_missing(batch)
    scratch = scratch_for(state, batch, gaps)
    context, i = packed(Context(hyper, state, batch, scratch)), batch.rounds[0]
    count, _, p = score_event(context, i)
    scale = LabelScale(0.0, 1.0, 0.0, True)
    if hyper.square:
        scale = label_scale(state.labels, state.totals[Total.EVENTS], state.tasks, batch.task[i])
    scales = Scales(p, scratch.f[Component.STACK], scale.mu, scale.sd, answer(context, batch.task[i], p))
    known = scratch.features[:count] < len(state.features)
    features, z = scratch.features[:count][known], scratch.z[:count][known]
    hold(batch)
    return features, z, scratch.e.copy(), scales


@compiled
def predict(hyper: Hyper, state: State, batch: Batch, scores: Floats) -> None:
    batch, gaps = without_missing(batch)
    scratch = scratch_for(state, batch, gaps)
    context = packed(Context(hyper, state, batch, scratch))
    for i in range(len(scores)):
        _, _, p = score_event(context, i)
        scores[i] = answer(context, batch.task[i], p)
    hold(batch)
    hold(scratch)


@compiled
def learn(hyper: Hyper, state: State, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    batch, gaps = without_missing(batch)
    scratch = scratch_for(state, batch, gaps)
    scratch.progress[Progress.LEARNED] = scratch.progress[Progress.SUMMED] = batch.rounds[start]
    context = packed(Context(hyper, state, batch, scratch))
    done = _learn_rounds(context, start, scores, trace)
    update_sums(context)
    hold(batch)
    hold(scratch)
    return done


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    return predict_single(predict, handle, task, count)


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    return learn_single(learn, handle, task, label, count)
