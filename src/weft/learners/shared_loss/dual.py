"""The shared-loss learners in kernel form: every task keeps the rows that moved it.

Dekel, Long and Singer (2007) note in Sec. 1 that all their algorithms have one:

    w_j = sum_s tau_s,j d_s,j K(x_s,j, .)          n_j^2 = K(x, x)

The entries of a task form a chain from its newest to its oldest, so that a score costs what the task itself has kept.
A row that moved several tasks of one round is stored once.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.bundle import Bundle, hold, opened, packed
from weft.compiled.jit import Handle, compiled, helper_no_alloc
from weft.learner import Kept
from weft.learners.shared_loss.rounds import Hyper, Work, choose_tau, space_for, step_of, suffer
from weft.maths.kernels import kernel_value
from weft.maths.vectors import sparse_dot
from weft.storage.batch import Batch, learn_single, predict_single, squared_norm, widest_round
from weft.storage.forgetting import keep_nonzeros, keep_support, moved_up
from weft.storage.state import NONZERO, SUPPORT, Plan


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
    scalars: Floats  # those of `rounds`


def _check(arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> None:
    """A file may claim anything: every pointer must lead to an older entry or a stored row."""
    entries, nonzeros = sizes["support"], sizes["nonzero"]
    newest, older, begin, end = (arrays[name] for name in ("newest", "older", "begin", "end"))
    if newest.size and (newest.min() < 0 or newest.max() > entries):
        raise ValueError("the state's newest entries point outside the kept rows")
    if np.any(older < 0) or np.any(older > np.arange(entries)):
        raise ValueError("the state's chains of kept rows do not lead backwards")
    if np.any(begin < 0) or np.any(begin > end) or np.any(end > nonzeros):
        raise ValueError("the state's kept rows lie outside their values")


def _forget(before: Mapping[str, Array], after: dict[str, Array], slot: int) -> None:
    """The entries of the task go, and their rows where no other task has them."""
    keep = before["owner"] != slot
    keep_support(after, PLAN, keep)
    after["owner"] = moved_up(after["owner"], slot)
    place = np.concatenate([[0], np.cumsum(keep)])  # of an entry plus one, which 0 is not
    after["older"], after["newest"] = place[after["older"]], place[after["newest"]]
    after["begin"], after["end"] = keep_nonzeros(after, after["begin"], after["end"])


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
    forget=_forget,
)


def blank(C: float, plan: Plan) -> Support:
    """No rows kept."""

    def ints() -> Ints:
        return np.zeros(0, np.int64)

    return Support(
        newest=ints(),
        owner=ints(),
        older=ints(),
        coefficient=np.zeros(0),
        begin=ints(),
        end=ints(),
        square=np.zeros(0),
        indices=ints(),
        values=np.zeros(0),
        used=np.zeros(2, np.int64),
        scalars=np.array([C, 0.0]),
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


@compiled
def predict(hyper: Hyper, state: Support, batch: Batch, scores: Floats) -> None:
    kept = packed(state)
    rows = packed(batch)
    for i in range(len(scores)):
        scores[i] = _score(hyper, kept, rows, i, _square(rows, i))


@compiled
def learn(hyper: Hyper, state: Support, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    active, rounds, scalars = space_for(widest_round(batch.rounds)), batch.rounds, state.scalars
    _, l, n2, tau = active
    kept, rows = packed(state), packed(batch)
    work = packed(Work(hyper, scalars, batch, scores, trace, active))
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if not _has_room(kept, rows, lo, hi):
            return t
        k = _suffer_round(work, kept, rows, lo, hi)
        if k > 0:
            choose_tau(hyper, scalars, l[:k], n2[:k], tau[:k])
            _keep_round(work, kept, rows, k)
    hold(active)
    return len(rounds) - 1


@helper_no_alloc
def _suffer_round(work: Bundle[Work], kept: Bundle[Support], rows: Bundle[Batch], lo: int, hi: int) -> int:
    """The scores of a round, and the losses of its active tasks; returns their number."""
    parts, k = opened(work), lo - lo  # a bare 0 would compile helpers once more
    kernel = parts.hyper.kernel
    for i in range(lo, hi):
        xx = _square(rows, i)
        parts.scores[i] = _score(parts.hyper, kept, rows, i, xx)
        k = suffer(work, i, kernel_value(kernel, xx, xx, xx), k)
    return k


@helper_no_alloc
def _square(rows: Bundle[Batch], i: int) -> float:
    """|x|^2."""
    batch = opened(rows)
    return squared_norm(batch.values, batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1])


@helper_no_alloc
def _score(hyper: Hyper, kept: Bundle[Support], rows: Bundle[Batch], i: int, xx: float) -> float:
    """sum_s tau_s d_s K(x_s, x) over the entries of the example's task; xx = |x|^2."""
    state, batch = opened(kept), opened(rows)
    begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    total, s = 0.0, state.newest[batch.task[i]] - 1
    while s >= 0:
        first, last = state.begin[s], state.end[s]
        xz = sparse_dot(batch.indices, batch.values, begin, end, state.indices, state.values, first, last)
        total += state.coefficient[s] * kernel_value(hyper.kernel, xz, xx, state.square[s])
        s = state.older[s] - 1
    return total


@helper_no_alloc
def _has_room(kept: Bundle[Support], rows: Bundle[Batch], lo: int, hi: int) -> bool:
    """Is there room for every row of a round?"""
    state, batch = opened(kept), opened(rows)
    nonzeros = state.used[NONZERO]
    for i in range(lo, hi):
        nonzeros += batch.indptr[batch.row[i] + 1] - batch.indptr[batch.row[i]]
    return bool(state.used[SUPPORT] + hi - lo <= len(state.owner) and nonzeros <= len(state.values))


@helper_no_alloc
def _keep_round(work: Bundle[Work], kept: Bundle[Support], rows: Bundle[Batch], k: int) -> None:
    """w_j += tau_j d_j K(x, .) for the k active tasks; a row that several tasks share is stored once."""
    parts = opened(work)
    row, example, stored, first = parts.batch.row, parts.active.example, -1, 0
    for a in range(k):
        i, step = example[a], step_of(work, a)
        if step != 0.0:
            if row[i] != stored:
                stored, first = row[i], _store_row(kept, rows, row[i])
            _append(kept, rows, i, step, first)


@helper_no_alloc
def _store_row(kept: Bundle[Support], rows: Bundle[Batch], row: int) -> int:
    """Copy a row behind the others; returns where it begins."""
    state, batch = opened(kept), opened(rows)
    first = int(state.used[NONZERO])
    for e in range(batch.indptr[row], batch.indptr[row + 1]):
        state.indices[state.used[NONZERO]] = batch.indices[e]
        state.values[state.used[NONZERO]] = batch.values[e]
        state.used[NONZERO] += 1
    return first


@helper_no_alloc
def _append(kept: Bundle[Support], rows: Bundle[Batch], i: int, coefficient: float, first: int) -> None:
    """A new entry of the example's task, whose row is stored from `first` on."""
    state, batch = opened(kept), opened(rows)
    task, row, s = batch.task[i], batch.row[i], state.used[SUPPORT]
    state.owner[s], state.coefficient[s], state.square[s] = task, coefficient, _square(rows, i)
    state.begin[s], state.end[s] = first, first + batch.indptr[row + 1] - batch.indptr[row]
    state.older[s], state.newest[task] = state.newest[task], s + 1
    state.used[SUPPORT] = s + 1


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    return predict_single(predict, handle, task, count)


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    return learn_single(learn, handle, task, label, count)
