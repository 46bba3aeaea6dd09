r"""What shards of `adaptive` and `auto` exchange: shared parts, statistics of rows and labels, and the stack.

Counts and sums add up, and so do the sums of the betting experts, from which their weights follow. A weight that takes
AdaGrad steps moves by the sum of the shards' moves, each as long as it would have been with the squares of all
shards; weights of the expert that forgets, whose steps never become small, move by the mean. With squared loss all
weights move by the mean: gradients have no bound there, and where every shard corrects the same error by itself, the
sum of the moves is a larger error. Own parts, mixtures and factors of a task are its shard's alone.

Which columns have seats in the grid is decided by the first shard that has events in a block, from which values their
ranks are told by every shard in its turn. In the block in which a column is given its seat shards may have given it
another one; what they moved in the grid meanwhile is merged all the same.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.jit import compiled
from weft.exchange import Exchange, Exchanged, Merge
from weft.learners.adaptive.do_no_harm import SHARE
from weft.learners.adaptive.draws import draw
from weft.learners.adaptive.low_rank import DEVIATION, FEATURE
from weft.learners.adaptive.row_statistics import MOST, SPARSE
from weft.learners.adaptive.state import (
    BIAS_NUMBERS,
    GRID_COLUMNS,
    HALF,
    RESERVOIR,
    WIDE_POOLED,
    Feature,
    Hyper,
    Label,
    Part,
    Pooled,
    Stack,
    State,
    Task,
    Total,
)
from weft.learners.adaptive.two_stacks import STACKS

SUM, STEP, MEAN = Merge.SUM, Merge.STEP, Merge.MEAN
_BETTING = (SUM, SUM, Merge.LARGEST, Merge.GAIN)


def _pair(hyper: Hyper) -> tuple[Merge, Merge]:
    """A weight that takes AdaGrad steps, and its sum of squares."""
    return (MEAN if hyper.square else STEP), SUM


def exchange(hyper: Hyper) -> Exchange:
    """What shards exchange with these parameters; those that need seats cannot be sharded, see `reason`."""
    pair = _pair(hyper)
    features = Exchanged(
        "features", (*_BETTING, *pair, SUM, SUM), _steps(hyper, {Part.GRADIENT: Part.GRADIENT_SQUARES})
    )
    found = [
        features,
        Exchanged("bias", *_bias(hyper)),
        Exchanged("sums", (SUM,)),
        Exchanged("missing", (SUM,)),
        Exchanged("n_missing", (SUM,)),
        Exchanged("totals", (SUM, SUM, SUM, Merge.LARGEST)),
        Exchanged("labels", _labels()),
        Exchanged("stack", *_stack(hyper), transposed=True),
    ]
    if hyper.auto:
        found.append(Exchanged("pooled", *_pooled(hyper)))
    if hyper.bayes:
        found.append(Exchanged("calibration", pair, _steps(hyper, {0: 1}), transposed=True))
    if hyper.low_rank:
        squares = {c: hyper.rank + c for c in range(hyper.rank)}
        columns = (pair[0],) * hyper.rank + (SUM,) * hyper.rank
        found.append(Exchanged("factors", columns, _steps(hyper, squares)))
    if hyper.grid:
        found.append(Exchanged("grid", pair, _steps(hyper, {0: 1})))
        found.append(Exchanged("reservoir", (Merge.TURN,) * RESERVOIR))
        found.append(Exchanged("reservoir_counts", (Merge.TURN,) * GRID_COLUMNS))
    return Exchange(
        tuple(found),
        begin=begin,
        unify=unify,
        start=_start(hyper),
        settle=_settling(hyper),
        listed=listed,
        adopt=adopt,
        always=dense_features,
    )


def reason(hyper: Hyper) -> str:
    """Why there can be no shards with these parameters; "" if there can."""
    if hyper.growth > 1.0:
        return "half_life counts the events of all tasks, which no shard sees; leave half_life out"
    if hyper.second_order or hyper.second or hyper.fading:
        return (
            "the experts second_order, second and fading keep matrices over columns, whose sums over shards are not "
            'the matrices of all events; take effort="balanced" or "fast"'
        )
    return ""


def _steps(hyper: Hyper, squares: dict[int, int]) -> Mapping[int, int]:
    """Where the squares of weights are, if these are merged as steps."""
    return MappingProxyType({} if hyper.square else squares)


def _stack(hyper: Hyper) -> tuple[tuple[Merge, ...], Mapping[int, int]]:
    """Of one stack, or of two and what they are mixed by: probabilities, or losses, which add up."""
    pair = _pair(hyper)
    if not hyper.wide:
        return pair, _steps(hyper, {Stack.WEIGHT: Stack.SQUARES})
    squares: dict[int, int] = {Stack.WEIGHT: Stack.SQUARES, Stack.FIRST_WEIGHT: Stack.FIRST_SQUARES}
    return (*pair, *pair, SUM if hyper.square else MEAN), _steps(hyper, squares)


def _bias(hyper: Hyper) -> tuple[tuple[Merge, ...], Mapping[int, int]]:
    squares: dict[int, int] = {Part.GRADIENT: Part.GRADIENT_SQUARES}
    columns = [*_BETTING, *_pair(hyper)]
    if hyper.auto:
        columns += _pair(hyper)
        squares[Part.OTHER] = Part.OTHER_SQUARES
    if hyper.wide:
        columns += [MEAN, Merge.MEAN_FROM_0, SUM, SUM, *_pair(hyper)]
        squares[Part.FACTOR] = Part.FACTOR_SQUARES
        assert len(columns) == BIAS_NUMBERS
    return tuple(columns), _steps(hyper, squares)


def _pooled(hyper: Hyper) -> tuple[tuple[Merge, ...], Mapping[int, int]]:
    if not hyper.wide:
        return _pair(hyper), _steps(hyper, {Pooled.WEIGHT: Pooled.SQUARES})
    columns = (*_pair(hyper), MEAN, Merge.MEAN_FROM_0, SUM, SUM, *_pair(hyper))
    assert len(columns) == WIDE_POOLED
    squares: dict[int, int] = {Pooled.WEIGHT: Pooled.SQUARES, Pooled.FACTOR: Pooled.FACTOR_SQUARES}
    return columns, _steps(hyper, squares)


def _labels() -> tuple[Merge, ...]:
    columns = [SUM] * len(Label)
    for at in (Label.LOWEST, Label.LOWEST_U):
        columns[at] = Merge.LEAST
    for at in (Label.HIGHEST, Label.HIGHEST_U, Label.FIRST):  # FIRST is the same everywhere
        columns[at] = Merge.LARGEST
    return tuple(columns)


def begin(state: State, label: float) -> None:
    """The first label is that of all shards, and the smallest and the largest so far."""
    if state.totals[Total.EVENTS] == 0.0:
        state.labels[[Label.FIRST, Label.LOWEST, Label.HIGHEST]] = label


def unify(state: State, label: float) -> None:
    """Sums of labels are of differences to the first label of all shards, not to the first of this one."""
    labels, tasks, totals = state.labels, state.tasks, state.totals
    if totals[Total.EVENTS] == 0.0 or labels[Label.FIRST] == label:
        return
    shift = labels[Label.FIRST] - label
    labels[Label.SQUARES] += shift * (2.0 * labels[Label.SUM] + shift * totals[Total.EVENTS])
    labels[Label.SUM] += shift * totals[Total.EVENTS]
    tasks[:, Task.LABEL_SUM] += shift * tasks[:, Task.EVENTS]
    labels[Label.FIRST] = label


def _start(hyper: Hyper):  # type: ignore[no-untyped-def]
    def start(state: State, name: str, slots: Ints, rows: Array) -> None:
        """Factors begin at random."""
        if name == "factors" and len(slots):
            drawn = np.zeros((len(slots), hyper.rank))
            draw_features(slots, drawn)
            rows[:, : hyper.rank] = drawn.astype(np.float32)

    return start


@compiled
def draw_features(slots: Ints, rows: Floats) -> None:
    """The start numbers of the factors of features."""
    for n in range(len(slots)):
        draw(FEATURE, slots[n], DEVIATION, rows.shape[1], rows, n)


def _settling(hyper: Hyper) -> Callable[[State, Ints, Mapping[str, Array]], None]:
    def settled(state: State, touched: Ints, before: Mapping[str, Array]) -> None:
        settle(state, touched, before)
        if hyper.wide and not hyper.square:
            bound_shares(state)

    return settled


def bound_shares(state: State) -> None:
    """The shares of both stacks, at least what goes back to each after an event.

    The mean of shares is a share, but not what a stale block has moved, repeated on top of others: that may end below
    0, where no probability is left. Half of the bound leaves shares that no staleness has touched as they are.
    """
    shares, least = state.stack[Stack.MIXTURE, :STACKS], SHARE / (state.totals[Total.EVENTS] + 1.0) / STACKS
    if np.any(shares < 0.5 * least):
        shares[:] = np.maximum(shares, least)
        shares /= shares.sum()


def settle(state: State, touched: Ints, before: Mapping[str, Array]) -> None:
    """How many features have occurred, and which of them are dense."""
    totals, features = state.totals, state.features
    if len(touched):
        is_new = (before["features"][:, Feature.COUNT] == 0.0) & (features[touched, Feature.COUNT] > 0.0)
        totals[Total.KNOWN] = before["totals"][0, Total.KNOWN] + np.count_nonzero(is_new)
    events, known = totals[Total.EVENTS], dense_features(state)
    is_sparse = totals[Total.NONZEROS] < SPARSE * events * max(1.0, totals[Total.KNOWN])
    share = MOST if is_sparse else HALF

    def dense(slots: Ints) -> Array:
        return np.asarray(features[slots, Feature.COUNT] >= share * (events - state.missing[slots]))

    new = touched[(state.place[touched] == 0) & dense(touched) & (features[touched, Feature.COUNT] > 0.0)]
    adopt_dense(state, np.concatenate((known[dense(known)], new)))


def dense_features(state: State) -> Ints:
    """The dense features, in their order."""
    return state.dense[: state.n_dense[0]].copy()


def listed(state: State) -> Ints:
    """How many features are dense, these in their order, and those with seats in the order of the seats."""
    dense, seated = dense_features(state), np.flatnonzero(state.seat)
    return np.concatenate(([len(dense)], dense, seated[np.argsort(state.seat[seated])]))


def adopt(state: State, listed: Ints) -> None:
    """Have these dense features, and these seats."""
    count = int(listed[0])
    adopt_dense(state, listed[1 : 1 + count])
    seated = listed[1 + count :]
    state.seat[:] = 0
    if state.n_seats[0] > 0:  # seat 0 is that of the bias
        state.seat[seated] = np.arange(1, 1 + len(seated))
        state.n_seats[0] = 1 + len(seated)


def adopt_dense(state: State, listed: Ints) -> None:
    """Have these dense features, in this order."""
    count = int(state.n_dense[0])
    state.place[state.dense[:count]] = 0
    state.dense[:count] = 0
    state.dense[: len(listed)] = listed
    state.place[listed] = np.arange(1, len(listed) + 1)
    state.n_dense[0] = len(listed)
