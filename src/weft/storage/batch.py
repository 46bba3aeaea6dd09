"""A batch of rounds: the only data type that crosses layers.

A *round* holds the examples that arrive together, at most one per task. All of a round is scored before any of it is
learned. A single event is a round of one row.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled.jit import Handle, compiled, helper, inlined, inlined_only, inlined_source

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


LARGEST, SMALLEST = 1e150, 1e-150
"""Values beyond LARGEST are refused, those below SMALLEST are zeros: squares and their inverses stay finite."""


class Batch(NamedTuple):
    """Rounds of examples as arrays: C-contiguous, writable, int64 or float64, checked before they get here.

    Example i belongs to task slot `task[i]`, has label `label[i]` (NaN: dormant, to be scored but not learned) and the
    sparse row `row[i]`; several examples may share one row. Row r has the features `indices[indptr[r]:indptr[r + 1]]`
    in ascending order, none twice, with non-zero `values`. Round t holds the examples `rounds[t]:rounds[t + 1]`.
    `weight[i]` >= 0 is the importance of example i; an empty array means that all of them have the weight 1.
    """

    task: Ints
    label: Floats
    row: Ints
    indptr: Ints
    indices: Ints
    values: Floats
    rounds: Ints
    weight: Floats = np.empty(0)


@inlined
def importance(batch: Batch, i: int) -> float:
    """The weight of example i."""
    return batch.weight[i] if batch.weight.shape[0] > 0 else 1.0


def empty_batch() -> Batch:
    """A batch without rounds: what a long-lived process learns at start-up to have its kernels compiled."""
    ints, floats = np.empty(0, np.int64), np.empty(0)
    return Batch(ints, floats, ints.copy(), np.zeros(1, np.int64), ints.copy(), floats.copy(), np.zeros(1, np.int64))


def single_batch(room: int) -> Batch:
    """Buffers for one event of at most `room` non-zeros, to be filled again and again.

    The values lie right behind the indices, in one array that is the base of both.
    """
    both = np.zeros(2 * room, np.int64)
    return Batch(
        task=np.zeros(1, np.int64),
        label=np.zeros(1),
        row=np.zeros(1, np.int64),
        indptr=np.zeros(2, np.int64),
        indices=both[:room],
        values=both[room:].view(np.float64),
        rounds=np.array([0, 1], np.int64),
        weight=np.ones(1),
    )


@compiled
def squared_norm(values: Floats, begin: int, end: int) -> float:
    """|x|^2 of the row values[begin:end], summed in the order of `pair_rows.dot_table`."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = begin + (end - begin) // 4 * 4
    for e in range(np.uint64(begin), np.uint64(whole), np.uint64(4)):
        v0, v1, v2, v3 = values[e], values[e + np.uint64(1)], values[e + np.uint64(2)], values[e + np.uint64(3)]
        a += v0 * v0
        b += v1 * v1
        c += v2 * v2
        d += v3 * v3
    for e in range(np.uint64(whole), np.uint64(end)):
        a += values[e] * values[e]
    return (a + b) + (c + d)


@inlined_only
def record(trace: Floats, i: int, loss: float, tau: float, n2: float, C: float) -> None:
    """Note an example's loss, step, |x|^2 and aggressiveness, if a trace is wanted (`learner.TRACE`)."""
    if trace.shape[0]:
        trace[i, 0], trace[i, 1], trace[i, 2], trace[i, 3] = loss, tau, n2, C


@compiled
def longest_row(batch: Batch) -> int:
    """The most non-zeros in a row: the size of a kernel's scratch space."""
    longest = 0
    for r in range(batch.indptr.shape[0] - 1):
        longest = max(longest, batch.indptr[r + 1] - batch.indptr[r])
    return longest


@helper
def widest_round(rounds: Ints) -> int:
    """The most examples in a round: the size of a kernel's scratch space."""
    widest = 0
    for t in range(len(rounds) - 1):
        widest = max(widest, rounds[t + 1] - rounds[t])
    return widest


@compiled
def shares_row(batch: Batch, lo: int, hi: int) -> bool:
    """Do all examples of a round show the same row, as the labels of one document do?"""
    if hi - lo < 2:
        return False
    first = batch.row[lo]
    for i in range(lo + 1, hi):
        if batch.row[i] != first:
            return False
    return True


FINE, NO_ROOM = -1, -2
"""What a single event comes to when no value of it is refused: it was learned or scored, or the state needs room."""


@inlined
def status(done: int) -> int:
    """What became of a batch of one event, by the first round that was not learned."""
    return FINE if done == 1 else NO_ROOM


@compiled
def set_single(batch: Batch, task: int, label: float, count: int) -> int:
    """Make the first `count` unsorted entries of the buffers the one event of `batch`.

    Sorts by feature, drops zeros, and returns the position of the first value that is too large or NaN, or FINE.
    """
    for e in range(count):
        if not abs(batch.values[e]) <= LARGEST:
            return e
    kept = 0
    for e in range(count):
        feature, value = batch.indices[e], batch.values[e]
        if abs(value) < SMALLEST:
            continue
        at = kept
        while at > 0 and batch.indices[at - 1] > feature:
            batch.indices[at] = batch.indices[at - 1]
            batch.values[at] = batch.values[at - 1]
            at -= 1
        batch.indices[at] = feature
        batch.values[at] = value
        kept += 1
    batch.task[0] = task
    batch.label[0] = label
    batch.indptr[1] = kept
    return FINE


@inlined_source
def predict_single(predict: Callable[..., None], handle: Handle, task: int, count: int) -> int:
    """`Kernels.predict_one`, by a learner's `predict`."""
    hyper, state, batch, scores, _ = handle.parts
    bad = set_single(batch, task, 0.0, count)
    if bad < 0:
        predict(hyper, state, batch, scores)
    return bad


@inlined_source
def learn_single(learn: Callable[..., int], handle: Handle, task: int, label: float, count: int) -> int:
    """`Kernels.learn_one`, by a learner's `learn`."""
    hyper, state, batch, scores, trace = handle.parts
    bad = set_single(batch, task, label, count)
    return bad if bad >= 0 else status(learn(hyper, state, batch, batch.rounds[0], scores, trace))
