"""The experts of `effort`, beside the four that every `auto` has: in which order they score and learn.

Every expert has a module of its own, enters the stack with weight 0 and learns from its own error alone. Own and
shared numbers of `forget` and `bayes` are further columns of wide rows (`Part`, `Pooled`).
"""

from weft.compiled.bundle import Bundle, opened
from weft.compiled.jit import helper_no_alloc
from weft.learners.adaptive.bayes import score_bayes, update_bayes
from weft.learners.adaptive.fading import score_fading, update_fading
from weft.learners.adaptive.forget import score_forget, update_forget
from weft.learners.adaptive.grid import score_grid, update_grid
from weft.learners.adaptive.level import score_level, update_level
from weft.learners.adaptive.low_rank import score_low_rank, update_low_rank
from weft.learners.adaptive.parts import HEAVY
from weft.learners.adaptive.row_statistics import row_of
from weft.learners.adaptive.scratch import Context
from weft.learners.adaptive.second import find_seats, score_second, update_second
from weft.learners.adaptive.stacking import expert_error
from weft.learners.adaptive.state import Expert, Part, Pooled
from weft.storage.batch import importance
from weft.storage.pairs import rows_in_use


@helper_no_alloc
def score_further(context: Bundle[Context], i: int, count: int) -> None:
    """The scores e of all of them."""
    hyper, state, batch, scratch = opened(context)
    own, pooled, row, e, k = state.own, state.pooled, row_of(batch, i), scratch.e, batch.task[i]
    if row.end > row.begin and row.indices[row.end - 1] >= len(state.features):  # see `scoring`
        own, pooled = scratch.own_copies, scratch.pooled_copies
    if hyper.forget:
        e[Expert.FORGET] = score_forget(context, own, pooled, k, count)
    if hyper.bayes:
        e[Expert.BAYES] = score_bayes(context, own, pooled, i, count)
    if hyper.low_rank:
        e[Expert.LOW_RANK] = score_low_rank(context, pooled, i, count)
    if hyper.level:
        score_level(context, k)
    if hyper.second or hyper.grid:
        find_seats(context, i, count)
    if hyper.second:
        score_second(context, k)
    if hyper.grid:
        e[Expert.GRID] = score_grid(context, i)
    if hyper.fading:
        e[Expert.FADING] = score_fading(context, i, count)


@helper_no_alloc
def update_further(context: Bundle[Context], i: int, count: int, u: float) -> None:
    """Every one learns from its error in predicting u, multiplied by the event's weight."""
    hyper, _, batch, scratch = opened(context)
    k, weight = batch.task[i], importance(batch, i)
    if hyper.forget:
        update_forget(context, k, count, weight * expert_error(hyper, scratch, Expert.FORGET, u))
    if hyper.bayes:
        update_bayes(context, k, expert_error(hyper, scratch, Expert.BAYES, u), u > 0.5, weight)
    if hyper.low_rank:
        update_low_rank(context, i, count, weight * expert_error(hyper, scratch, Expert.LOW_RANK, u))
    if hyper.level:
        update_level(context, k, u, weight)
    if hyper.second:
        update_second(context, k, u, weight)
    if hyper.grid:
        update_grid(context, weight * expert_error(hyper, scratch, Expert.GRID, u))
    if hyper.fading:
        update_fading(context, u, weight)


@helper_no_alloc
def divide_further_sums(context: Bundle[Context]) -> None:
    """Divide all weighted sums by HEAVY: counts of `bayes`, squares of `low_rank`."""
    hyper, state, _, _ = opened(context)
    for column in (Part.SEEN_POSITIVE, Part.SEEN_NEGATIVE):
        for row in range(rows_in_use(state.pairs, state.own)):
            state.own[row, column] /= HEAVY
    for column in (Part.SEEN_POSITIVE, Part.SEEN_NEGATIVE, Part.FACTOR_SQUARES):
        state.bias[0, column] /= HEAVY
        for row in range(len(state.own_bias)):
            state.own_bias[row, column] /= HEAVY
    for shared in (Pooled.SEEN_POSITIVE, Pooled.SEEN_NEGATIVE, Pooled.FACTOR_SQUARES):
        for row in range(len(state.pooled)):
            state.pooled[row, shared] /= HEAVY
    for c in range(hyper.rank, 2 * hyper.rank):
        for row in range(len(state.factors)):
            state.factors[row, c] /= HEAVY
        for row in range(len(state.task_factors)):
            state.task_factors[row, c] /= HEAVY
