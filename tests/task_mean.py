"""A learner defined outside of the package: every task predicts the mean of its labels so far."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from weft.learner import Hooks, Kernels, Target, Traits, interpreted
from weft.learners.parameters import Real, check, parameter
from weft.maths.losses import CODES
from weft.storage.state import Plan


class Sums(NamedTuple):
    """Per task: the sum of its labels, and their number."""

    sums: Any


class Hyper(NamedTuple):
    start: float


def _predict(hyper, state, batch, scores):
    for i, task in enumerate(batch.task.tolist()):
        total, count = state.sums[task]
        scores[i] = total / count if count else hyper.start


def _learn(hyper, state, batch, start, scores, trace):
    for t in range(start, len(batch.rounds) - 1):
        lo, hi = batch.rounds[t], batch.rounds[t + 1]
        _predict(hyper, state, batch._replace(task=batch.task[lo:hi]), scores[lo:hi])
        for i in range(lo, hi):
            if not np.isnan(batch.label[i]):
                state.sums[batch.task[i]] += (batch.label[i], 1.0)
    return len(batch.rounds) - 1


@dataclass(frozen=True)
class TaskMean:
    """The mean of a task's labels so far."""

    name: ClassVar[str] = "task-mean"
    paper: ClassVar[str] = "folklore"
    traits: ClassVar[Traits] = Traits(keeps_integers=False)
    hooks: ClassVar[Hooks] = Hooks()
    plan: ClassVar[Plan] = Plan(axes={"sums": ("task", 2)})
    target: ClassVar[Target] = "real"
    tally_loss: ClassVar[tuple[int, float]] = (CODES["square"], 0.0)
    kernels: ClassVar[Kernels] = interpreted(_predict, _learn)

    start: float = parameter(0.0, "what a task without labels predicts", Real())

    def __post_init__(self) -> None:
        check(self)

    @property
    def hyper(self) -> Hyper:
        return Hyper(self.start)

    def init(self, tasks: Sequence[Any] = ()) -> Sums:
        return Sums(np.zeros((0, 2)))

    def weights(self, state: Sums, tasks: int, features: int) -> Any:
        raise ValueError("task-mean has no weights")

    def relations(self, state: Sums, tasks: int) -> Any:
        return np.eye(tasks)
