"""The guarantee of the adaptive smoothed learners for every task, evaluated on a run.

Murugesan, Liu, Carbonell and Yang (2016), Theorem 1. `record_smoothed` learns a stream and records what the inequality
needs; `osmtl_theorem1` returns both sides for every task. With l_t the hinge loss of task k in round t, l*_tj that of
its comparator w* on the example of task j, u the number of its updates and R the largest length of a row,

    sum_t (l_t - l*_tk) <= |w*|^2 / (2 C alpha) + C R^2 u / (2 alpha)
                           + (1 - alpha)/alpha  sum over updates of (l*_tk + max over present j != k of l*_tj)

From the step: |w - w*|^2 decreases by 2 C sum_j eta_kj (l_tj - l*_tj) - |step|^2, where the terms with eta_kk >= alpha
give the left side, the others are at least -(1 - alpha) max_j l*_tj, and |step| <= C R since the eta_kj sum to at most
1. It holds for any attention, so for both variants; it needs alpha > 0, and updates whenever the own loss is positive,
so not on mistakes alone. As printed the index t is free outside its sum, and Eq. 21 has eta where it must be p.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weft.compiled.arrays import Floats, Ints
from weft.guarantees.measures import rows_of
from weft.guarantees.shared_loss import Bound
from weft.learner import trace_columns
from weft.model import Model
from weft.stream import Stream

SMOOTHED = ("osmtl-e", "osmtl-t")


class SmoothedRun(NamedTuple):
    """The record of a run, row by row; `y` is NaN where a task is dormant, `rounds` are the bounds of the rounds.

    `loss` is the hinge loss of the issued score, `updated` says whether the task learned in that round, with `C` and
    `alpha`.
    """

    learner: Any
    X: Any
    y: Floats
    task: Ints
    rounds: Ints
    tasks: int
    scores: Floats
    loss: Floats
    updated: NDArray[np.bool_]
    C: Floats
    alpha: Floats

    @property
    def R(self) -> float:
        """The largest length of a row with a label."""
        squares = np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel()
        return float(np.sqrt(squares[~np.isnan(self.y)].max(initial=0.0)))


def record_smoothed(model: Model, stream: Stream) -> SmoothedRun:
    """Learn the stream with a new model, and record what the guarantee needs of every row."""
    learner: Any = model.learner
    if learner.name not in SMOOTHED:
        raise ValueError(f"This record is for {', '.join(SMOOTHED)}; {learner.name} has other guarantees or none.")
    if model.tally.total["events"] > 0:
        raise ValueError("The guarantee is about a run from zero weights: record it with a new model.")
    trace = np.zeros((len(stream), len(trace_columns(learner))))
    scores = model.learn(stream, trace=trace)
    columns = dict(zip(trace_columns(learner), trace.T.copy(), strict=True))
    batch = model.vocabulary.read(stream)
    return SmoothedRun(
        learner=learner,
        X=rows_of(batch, len(model.features)),
        y=stream.labels(learner.target),
        task=batch.task,
        rounds=stream.rounds,
        tasks=len(model.tasks),
        scores=scores,
        loss=columns["loss"],
        updated=columns["updated"] > 0,
        C=columns["C"],
        alpha=columns["alpha"],
    )


def osmtl_theorem1(run: SmoothedRun, comparator: ArrayLike) -> Bound:
    """Both sides of Theorem 1 with one entry per task; `comparator` has a row of weights per task.

    With doubling epochs the sides of all epochs are added up, for which every epoch must restart from zero weights
    (`restart=True`).

    >>> import weft
    >>> stream = weft.Stream([[1.0], [0.8], [1.0], [0.8]], [1, 1, 1, 1], ["a", "b"] * 2, rounds=[0, 0, 1, 1])
    >>> run = record_smoothed(weft.Model("osmtl-e", alpha=0.5, C=0.5), stream)
    >>> bound = osmtl_theorem1(run, [[1.0], [1.25]])
    >>> bound.left.round(3).tolist(), bound.right.round(3).tolist(), bound.holds
    ([1.525, 1.66], [3.4, 4.125], True)
    """
    _check(run)
    W = np.asarray(comparator, dtype=float)
    if W.shape != (run.tasks, run.X.shape[1]):
        raise ValueError(
            f"the comparator is {W.shape}, expected a row of weights per task, {(run.tasks, run.X.shape[1])}"
        )
    star, others = _comparator_losses(run, W)
    left, right, R = np.zeros(run.tasks), np.zeros(run.tasks), run.R
    labelled = ~np.isnan(run.y)
    np.add.at(left, run.task[labelled], (run.loss - star)[labelled])
    for C, alpha in sorted(set(zip(run.C[labelled].tolist(), run.alpha[labelled].tolist(), strict=True))):
        epoch = labelled & (run.C == C) & (run.alpha == alpha)
        here = np.unique(run.task[epoch])
        right[here] += np.square(W[here]).sum(axis=1) / (2.0 * C * alpha)
        due = epoch & run.updated
        np.add.at(right, run.task[due], C * R * R / (2.0 * alpha) + (1.0 - alpha) / alpha * (star + others)[due])
    return Bound(left, right)


def _check(run: SmoothedRun) -> None:
    if run.learner.condition == "mistake":
        raise ValueError('The guarantee does not cover updates on mistakes; use condition="margin" or "active".')
    if not np.all(run.alpha[~np.isnan(run.y)] > 0.0):
        raise ValueError("The guarantee divides by alpha; use alpha > 0.")
    if len(np.unique(run.C[~np.isnan(run.y)])) > 1 and not run.learner.restart:
        raise ValueError("The guarantee for doubling epochs needs restart=True, or give T.")


def _comparator_losses(run: SmoothedRun, W: Floats) -> tuple[Floats, Floats]:
    """Row by row: the loss of the task's comparator on it, and the largest on the other examples of its round."""
    star, others = np.zeros(len(run.y)), np.zeros(len(run.y))
    for lo, hi in zip(run.rounds[:-1], run.rounds[1:], strict=True):
        at = lo + np.flatnonzero(~np.isnan(run.y[lo:hi]))
        if not len(at):
            continue
        losses = np.maximum(0.0, 1.0 - run.y[at] * np.asarray(run.X[at] @ W[run.task[at]].T).T)  # (task, example)
        star[at] = np.diagonal(losses)
        np.fill_diagonal(losses, 0.0)
        others[at] = losses.max(axis=1)
    return star, others
