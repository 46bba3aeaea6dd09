"""Batch formulations in a stream: all labelled rows are kept, and all models are refitted after every `every` of them.

Between two fits the weights do not change: rows are scored with them and kept, in compiled code. A fit is due at the
end of the round in which the number of rows kept passes a multiple of `every`; before the first, all scores are 0. It
sees nothing but the rows: tasks in the order of their first row, and features that occurred, so that neither names nor
what was declared change a bit. What the last fit left is where the next one begins, which makes it faster and nothing
else.

A task that had no row at the last fit has the weights `fresh`, as a task that is not known: what the learner would give
to a newcomer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.blas import one_thread
from weft.compiled.jit import compiled, inlined_only
from weft.learner import Hooks, Kernels, Shares, Target, Traits, interpreted
from weft.learners.parameters import Integer, check, parameter
from weft.maths.losses import HINGE, loss_value
from weft.storage.batch import Batch
from weft.storage.forgetting import keep_nonzeros, keep_support, moved_up
from weft.storage.sparse_rows import product_in_order, product_with_row, row_of
from weft.storage.state import NO_LIMIT, NONZERO, SUPPORT, Plan


class Refitted(NamedTuple):
    """The rows, row s in indices[ends[s-1]:ends[s]], the weights, and what the next fit begins with.

    `fitted` marks the tasks that had rows at the last fit. `ratio` and `ratios` are dual variables as parts of their
    bounds, one per row, and one per row and task; `P` says how much a task listens to another; `cluster` is the number
    of a task's hypothesis, from 1. A learner's plan names those that it has.
    """

    owner: Ints
    ends: Ints
    label: Floats
    indices: Ints
    values: Floats
    used: Ints
    weights: Floats
    fitted: Ints
    fresh: Floats
    ratio: Floats
    ratios: Floats
    P: Floats
    cluster: Ints


AXES: dict[str, tuple[str | int, ...]] = {
    "owner": ("support",),
    "ends": ("support",),
    "label": ("support",),
    "indices": ("nonzero",),
    "values": ("nonzero",),
    "used": (2,),
    "weights": ("task", "feature"),
    "fitted": ("task",),
    "fresh": ("feature",),
}
FURTHER: dict[str, tuple[str | int, ...]] = {
    "ratio": ("support",),
    "ratios": ("support", "task"),
    "P": ("task", "task"),
    "cluster": ("task",),
}
_INTEGERS = ("owner", "ends", "indices", "used", "fitted", "cluster")


class Data(NamedTuple):
    """The rows of a fit: X as a CSR array, labels, and tasks 0, 1, ... in the order of their first row.

    `slots` are the tasks' slots in the state, `N` their numbers of rows.
    """

    X: Any
    y: Floats
    task: Ints
    slots: Ints
    N: Ints

    @property
    def K(self) -> int:
        return len(self.slots)

    def of(self, k: int) -> Ints:
        """The rows of a task."""
        return np.flatnonzero(self.task == k)


def data_of(state: Refitted) -> Data:
    """The rows that are kept."""
    n, nonzeros = state.used.tolist()
    owner, indices = state.owner[:n], state.indices[:nonzeros].copy()
    found, first = np.unique(owner, return_index=True)
    slots = found[np.argsort(first)]
    place = np.zeros(int(found.max(initial=0)) + 1, np.int64)
    place[slots] = np.arange(len(slots))
    indptr = np.concatenate([np.zeros(1, np.int64), state.ends[:n]])
    shape = (n, int(indices.max(initial=-1)) + 1)
    X = sparse.csr_array((state.values[:nonzeros].copy(), indices, indptr), shape=shape)
    task = place[owner]
    return Data(X, state.label[:n].copy(), task, slots, np.bincount(task, minlength=len(slots)))


def store(state: Refitted, data: Data, W: Floats, fresh: Floats | None = None) -> None:
    """Weights of the tasks that have rows, and of newcomers."""
    d = W.shape[1]
    state.weights[data.slots, :d] = W
    state.fitted[data.slots] = 1
    if fresh is not None:
        state.fresh[:d] = fresh


@dataclass(frozen=True)
class Refitting:
    """What all learners that refit share."""

    name: ClassVar[str]
    paper: ClassVar[str]
    target: ClassVar[Target] = "binary"
    more: ClassVar[tuple[str, ...]] = ()
    """The further arrays of the state."""

    every: int = parameter(100, "all models are fitted anew whenever so many labelled events have come", Integer(1))

    def __post_init__(self) -> None:
        check(self)

    @property
    def traits(self) -> Traits:
        return Traits(conservative=False, refit_every=self.every, blas=True, trace=("loss", "kept"))

    @property
    def hooks(self) -> Hooks:
        return Hooks()

    @property
    def tally_loss(self) -> tuple[int, float]:
        return HINGE, 0.0

    @property
    def hyper(self) -> "Hyper":
        return Hyper(self.every, self.tally_loss[0])

    @property
    def kernels(self) -> Kernels:
        return interpreted(_predict, _learning(self.refit))

    def refit(self, state: Refitted) -> None:
        """Fit all models to the rows that are kept."""
        raise NotImplementedError

    def refuse_fit(self, state: Refitted, batch: Batch) -> None:
        """Raise ValueError if there is nothing to fit."""
        if not state.used[SUPPORT] and np.isnan(batch.label).all():
            raise ValueError(f"{self.name} has no labelled row to fit; give rows with labels")

    def fit(self, state: Refitted, batch: Batch, start: int) -> int:
        """Keep the rows of a batch, and fit when all of them are; the first round for which there is no room."""
        scores, trace = np.empty(len(batch.task)), np.zeros((0, len(self.traits.trace)))
        done, _ = keep_rows(NO_LIMIT, HINGE, state, batch, start, scores, trace)
        if done == len(batch.rounds) - 1:
            with one_thread():
                self.refit(state)
        return int(done)

    @cached_property
    def plan(self) -> Plan:
        return Plan(
            AXES | {name: FURTHER[name] for name in self.more},
            names={"owner": "task", "indices": "feature"},
            counts={"fitted": (1,)} | ({"cluster": ("task",)} if "cluster" in self.more else {}),
            check=_check,
            forget=self._forget,
        )

    def _forget(self, before: Mapping[str, Array], after: dict[str, Array], slot: int) -> None:
        """The rows of the task go; hypotheses are numbered again, without those that nobody has now."""
        keep = before["owner"] != slot
        begin = np.concatenate([[0], before["ends"]])[:-1]
        keep_support(after, self.plan, keep)
        after["owner"] = moved_up(after["owner"], slot)
        after["ends"] = keep_nonzeros(after, begin[keep], before["ends"][keep])[1]
        if "cluster" in after:
            found = np.unique(after["cluster"][after["cluster"] > 0])
            after["cluster"] = np.where(after["cluster"] > 0, np.searchsorted(found, after["cluster"]) + 1, 0)

    def init(self, tasks: Sequence[Any] = ()) -> Refitted:
        shapes = {name: tuple(a if isinstance(a, int) else 0 for a in axes) for name, axes in (AXES | FURTHER).items()}
        arrays: dict[str, Any] = {n: np.zeros(shape, int if n in _INTEGERS else float) for n, shape in shapes.items()}
        return Refitted(**arrays)

    def weights(self, state: Refitted, tasks: int, features: int) -> Array:
        found = np.where(state.fitted[:tasks, None] > 0, state.weights[:tasks, :features], state.fresh[:features])
        return np.ascontiguousarray(found)

    def explain(self, state: Refitted, slot: int, tasks: int, indices: Ints) -> Shares:
        """All of a task's weights are its own; a task without a fit has only what a newcomer would have."""
        own = state.weights[slot, indices] if state.fitted[slot] else np.zeros(len(indices))
        shared = np.zeros(len(indices)) if state.fitted[slot] else state.fresh[indices]
        return Shares(own, shared, np.zeros(0, np.int64), np.zeros((0, len(indices))))

    def relations(self, state: Refitted, tasks: int) -> Array:
        raise NotImplementedError


def _check(arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> None:
    """A file may contain anything: rows must lie one after the other, with labels, and dual variables within bounds."""
    ends, values = arrays["ends"], arrays["values"]
    if np.any(np.diff(ends, prepend=0) < 0) or (ends[-1] if len(ends) else 0) != len(values):
        raise ValueError("the state's kept rows do not lie one after the other")
    if not np.all(np.abs(arrays["label"]) == 1.0) or not np.isfinite(values).all():
        raise ValueError("the state's kept rows have labels other than -1 and +1, or values that are not numbers")
    for name in ("ratio", "ratios", "P"):
        if name in arrays and not np.all((arrays[name] >= 0.0) & (arrays[name] <= 1.0)):
            raise ValueError(f"the state's {name} has numbers that are not from 0 to 1")


class Hyper(NamedTuple):
    every: int
    loss: int


def _learning(refit: Callable[[Refitted], None]) -> Callable[..., int]:
    def learn(hyper: Hyper, state: Refitted, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
        done, last = start, len(batch.rounds) - 1
        while done < last:
            done, due = keep_rows(hyper.every, hyper.loss, state, batch, done, scores, trace)
            if due:
                refit(state)
            elif done < last:
                break
        return int(done)

    return learn


@inlined_only
def _score(state: Refitted, batch: Batch, i: int) -> float:
    """Example i by its task's weights, or by those of a newcomer."""
    x = row_of(batch, i)
    return (
        product_with_row(state.weights, batch.task[i], x)
        if state.fitted[batch.task[i]]
        else product_in_order(state.fresh, x)
    )


@compiled
def _score_all(state: Refitted, batch: Batch, scores: Floats) -> None:
    for i in range(scores.shape[0]):
        scores[i] = _score(state, batch, i)


def _predict(hyper: Hyper, state: Refitted, batch: Batch, scores: Floats) -> None:
    _score_all(state, batch, scores)


@compiled
def keep_rows(
    every: int, loss: int, state: Refitted, batch: Batch, start: int, scores: Floats, trace: Floats
) -> tuple[int, bool]:
    """Score and keep rows up to the next fit: the first round that was not reached, and whether a fit is due."""
    used, rounds = state.used, batch.rounds
    for t in range(start, rounds.shape[0] - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if not _has_room(state, batch, lo, hi):
            return t, False
        before = used[SUPPORT]
        for i in range(lo, hi):
            scores[i] = _score(state, batch, i)
            _keep(state, batch, i, loss, scores[i], trace)
        if used[SUPPORT] // every > before // every:
            return t + 1, True
    return rounds.shape[0] - 1, False


@inlined_only
def _has_room(state: Refitted, batch: Batch, lo: int, hi: int) -> bool:
    """Can all rows of a round be kept?"""
    nonzeros, used = 0, state.used
    for i in range(lo, hi):
        nonzeros += batch.indptr[batch.row[i] + 1] - batch.indptr[batch.row[i]]
    return bool(used[SUPPORT] + hi - lo <= len(state.ends) and used[NONZERO] + nonzeros <= len(state.values))


@inlined_only
def _keep(state: Refitted, batch: Batch, i: int, loss: int, score: float, trace: Floats) -> None:
    """Example i as one more row, if it has a label."""
    y, used = batch.label[i], state.used
    if np.isnan(y):
        return
    if trace.shape[0]:
        trace[i, 0], trace[i, 1] = loss_value(loss, score, y, 0.0), 1.0
    s, at = used[SUPPORT], used[NONZERO]
    for e in range(batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]):
        state.indices[at], state.values[at] = batch.indices[e], batch.values[e]
        at += 1
    state.owner[s], state.label[s], state.ends[s] = batch.task[i], y, at
    used[SUPPORT], used[NONZERO] = s + 1, at
