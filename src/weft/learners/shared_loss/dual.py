"""The shared-loss skeleton in kernel form: every task keeps the rows that moved it.

Dekel, Long and Singer (2007) note in Sec. 1 that all their algorithms have one:

    w_j = sum_s tau_s,j d_s,j K(x_s,j, .)          n_j^2 = K(x, x)

The entries of a task form a chain from its newest to its oldest, so that a score costs what the task itself has kept.
A row that moved several tasks of one round is stored once.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.jit import Handle, compiled, helper
from weft.learner import Kept
from weft.maths.kernels import kernel_value
from weft.maths.losses import direction, loss_value
from weft.maths.rounds import first_aggressiveness, step_weights, widest_round
from weft.maths.vectors import sparse_dot
from weft.storage.batch import Batch, set_single, squared_norm, status
from weft.storage.state import NONZERO, SUPPORT, Plan

if TYPE_CHECKING:
    from weft.learners.shared_loss.learner import Hyper


class Support(NamedTuple):
    """Kept rows. `newest[j]` and `older[s]` are entries plus one, 0 ends a chain."""

    newest: Ints
    owner: Ints
    older: Ints
    coefficient: Floats
    begin: Ints  # the entry's row: indices[begin:end], values[begin:end]
    end: Ints
    square: Floats  # |x|^2
    indices: Ints
    values: Floats
    used: Ints
    scalars: Floats  # C once known; largest K(x, x) of a row that moved its task


def _check(arrays: Mapping[str, Array]) -> None:
    """A file may claim anything: every pointer must lead to an older entry or a stored row."""
    entries, nonzeros = (int(n) for n in arrays["used"])
    newest, older, begin, end = (arrays[name] for name in ("newest", "older", "begin", "end"))
    if newest.size and (newest.min() < 0 or newest.max() > entries):
        raise ValueError("the state's newest entries point outside the kept rows")
    if np.any(older < 0) or np.any(older > np.arange(entries)):
        raise ValueError("the state's chains of kept rows do not lead backwards")
    if np.any(begin < 0) or np.any(begin > end) or np.any(end > nonzeros):
        raise ValueError("the state's kept rows lie outside their values")


PLAN = Plan(
    axes={
        "newest": ("task",),
        "owner": ("support",),
        "older": ("support",),
        "coefficient": ("support",),
        "begin": ("support",),
        "end": ("support",),
        "square": ("support",),
        "indices": ("nonzero",),
        "values": ("nonzero",),
        "used": (2,),
        "scalars": (2,),
    },
    names={"owner": "task", "indices": "feature"},
    check=_check,
)


def blank(C: float, plan: Plan) -> Support:
    """No rows kept."""

    def ints() -> Ints:
        return np.zeros(0, np.int64)

    return Support(
        ints(),
        ints(),
        ints(),
        np.zeros(0),
        ints(),
        ints(),
        np.zeros(0),
        ints(),
        np.zeros(0),
        np.zeros(2, np.int64),
        np.array([C, 0.0]),
    )


def support(state: Support) -> list[Kept]:
    """The entries, oldest first."""
    rows = (slice(b, e) for b, e in zip(state.begin, state.end, strict=True))
    kept = zip(range(int(state.used[SUPPORT])), rows, strict=False)
    return [
        Kept(
            int(state.owner[s]),
            float(state.coefficient[s]),
            state.indices[row].copy(),
            state.values[row].copy(),
        )
        for s, row in kept
    ]


@helper
def _score(hyper: "Hyper", state: Support, task: int, batch: Batch, row: int, xx: float) -> float:
    _, _, _, indptr, indices, values, _ = batch
    begin, end = indptr[row], indptr[row + 1]
    total = 0.0
    s = state.newest[task] - 1
    while s >= 0:
        xz = sparse_dot(indices, values, begin, end, state.indices, state.values, state.begin[s], state.end[s])
        total += state.coefficient[s] * kernel_value(hyper.kernel, xz, xx, state.square[s])
        s = state.older[s] - 1
    return total


@helper
def _fits(state: Support, batch: Batch, lo: int, hi: int) -> bool:
    nonzeros = state.used[NONZERO]
    for i in range(lo, hi):
        nonzeros += batch.indptr[batch.row[i] + 1] - batch.indptr[batch.row[i]]
    return bool(state.used[SUPPORT] + hi - lo <= len(state.owner) and nonzeros <= len(state.values))


@helper
def _store_row(state: Support, batch: Batch, row: int) -> int:
    """Copy a row behind the others; returns where it begins."""
    first = int(state.used[NONZERO])
    for e in range(batch.indptr[row], batch.indptr[row + 1]):
        state.indices[state.used[NONZERO]] = batch.indices[e]
        state.values[state.used[NONZERO]] = batch.values[e]
        state.used[NONZERO] += 1
    return first


@helper
def _append(state: Support, task: int, coefficient: float, first: int, count: int, square: float) -> None:
    s = state.used[SUPPORT]
    state.owner[s], state.coefficient[s], state.square[s] = task, coefficient, square
    state.begin[s], state.end[s] = first, first + count
    state.older[s], state.newest[task] = state.newest[task], s + 1
    state.used[SUPPORT] = s + 1


@compiled
def predict(hyper: "Hyper", state: Support, batch: Batch, scores: Floats) -> None:
    for i in range(batch.task.shape[0]):
        r = batch.row[i]
        xx = squared_norm(batch.values, batch.indptr[r], batch.indptr[r + 1])
        scores[i] = _score(hyper, state, batch.task[i], batch, r, xx)


@compiled
def learn(hyper: "Hyper", state: Support, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    task, label, row, indptr, _, values, rounds = batch
    k = widest_round(rounds)
    active, xx = np.empty(k, np.int64), np.empty(k)
    l, n2, tau = np.empty(k), np.empty(k), np.empty(k)
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if not _fits(state, batch, lo, hi):
            return t
        # scores and losses of the round
        k = 0
        for i in range(lo, hi):
            square = squared_norm(values, indptr[row[i]], indptr[row[i] + 1])
            scores[i] = _score(hyper, state, task[i], batch, row[i], square)
            if not np.isnan(label[i]):
                active[k], xx[k] = i, square
                l[k] = loss_value(hyper.loss, scores[i], label[i], hyper.epsilon)
                n2[k] = kernel_value(hyper.kernel, square, square, square)
                k += 1
        if k == 0:
            continue
        # the size of every step
        if state.scalars[0] == 0.0:
            state.scalars[0] = first_aggressiveness(hyper.norm, n2[:k], hyper.R)
        C = state.scalars[0]
        step_weights(hyper.rule, hyper.norm, l[:k], n2[:k], C, hyper.R, tau[:k])
        # w_j += tau_j d_j K(x, .)
        stored, first = -1, 0
        for a in range(k):
            i = active[a]
            if trace.shape[0]:
                trace[i, 0], trace[i, 1], trace[i, 2], trace[i, 3] = l[a], tau[a], n2[a], C
            if tau[a] <= 0.0 or n2[a] <= 0.0:
                continue
            state.scalars[1] = max(state.scalars[1], n2[a])
            if row[i] != stored:
                stored, first = row[i], _store_row(state, batch, row[i])
            d = direction(hyper.loss, scores[i], label[i])
            _append(state, task[i], tau[a] * d, first, indptr[row[i] + 1] - indptr[row[i]], xx[a])
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
