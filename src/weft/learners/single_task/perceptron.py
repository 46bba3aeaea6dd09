"""The Perceptron, one per task: on a mistake, add y x to the task's weights.

Rosenblatt (1958); the baseline of all five papers. With `pooled=True` every row is learned by one common Perceptron.

>>> import weft
>>> model = weft.Model("perceptron")
>>> stream = weft.Stream([[1, 0], [1, 1], [0, 1]], [1, -1, 1], ["ann", "ann", "bob"])
>>> model.learn(stream).tolist()
[0.0, 1.0, 0.0]
>>> model.weights().tolist()
[[0.0, -1.0], [0.0, 1.0]]

Interpretation. A score of 0 predicts +1, yet counts as a mistake for the update (y s <= 0), which is how learning
starts. The tallied loss is the hinge loss, so that figures compare with the other learners'.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.bundle import hold, packed
from weft.compiled.jit import Handle, compiled
from weft.learner import Hooks, Kernels, Shares, Target, Traits
from weft.learners.own_parts import relation_matrix, shares, weight_matrix
from weft.learners.parameters import Flag, check, parameter
from weft.maths.losses import HINGE, loss_value
from weft.storage.batch import Batch, learn_single, predict_single, record
from weft.storage.own import PLAN, OwnParts, OwnWeights, blank, has_room, move, score, score_batch, score_rows
from weft.storage.pairs import slot_space
from weft.storage.state import Plan


@dataclass(frozen=True)
class Perceptron:
    """One Perceptron per task: update on mistakes only.

    Take it when you want the simplest baseline, with nothing to tune.

    Classifies. The tallied loss is the hinge loss, so that figures are comparable with those of other learners.
    """

    name: ClassVar[str] = "perceptron"
    paper: ClassVar[str] = "Rosenblatt 1958"
    plan: ClassVar[Plan] = PLAN
    hooks: ClassVar[Hooks] = Hooks()
    target: ClassVar[Target] = "binary"
    tally_loss: ClassVar[tuple[int, float]] = (HINGE, 0.0)

    pooled: bool = parameter(False, "learn one model from the rows of all tasks", Flag())

    def __post_init__(self) -> None:
        check(self)

    @property
    def traits(self) -> Traits:
        return Traits(pooled=self.pooled, independent=not self.pooled, mistake_driven=True)

    @property
    def hyper(self) -> "Hyper":
        """The parameters as compiled code takes them."""
        return Hyper(self.pooled)

    @property
    def kernels(self) -> Kernels:
        return Kernels(_predict, _learn, _predict_one, _learn_one)

    def init(self, tasks: Sequence[Any] = ()) -> OwnParts:
        return blank()

    def weights(self, state: OwnParts, tasks: int, features: int) -> Array:
        return weight_matrix(state, PLAN, tasks, features, self.pooled)

    def explain(self, state: OwnParts, slot: int, tasks: int, indices: Ints) -> Shares:
        return shares(state, slot, indices, self.pooled)

    def relations(self, state: Any, tasks: int) -> Array:
        return relation_matrix(tasks, self.pooled)


class Hyper(NamedTuple):
    pooled: bool


@compiled
def _predict(hyper: Hyper, state: OwnParts, batch: Batch, scores: Floats) -> None:
    score_batch(state.pairs, state.weights, batch, hyper.pooled, scores)


@compiled
def _learn(hyper: Hyper, state: OwnParts, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    pairs, weights = state
    parts = OwnWeights(pairs, weights, hyper.pooled, batch, slot_space(pairs, batch))
    own, label, rounds = packed(parts), batch.label, batch.rounds
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if not has_room(own, lo, hi):
            return t
        if hi - lo > 1:  # all of a round is scored before any of it is learned
            score_rows(own, lo, hi, scores)
        for i in range(lo, hi):
            s, n2 = score(own, i)
            if hi - lo == 1:
                scores[i] = s
            y = label[i]
            if np.isnan(y):
                continue
            mistake = y * s <= 0.0
            record(trace, i, loss_value(HINGE, s, y, 0.0), 1.0 if mistake else 0.0, n2, 1.0)
            if mistake:
                move(own, i, y)
    hold(parts)
    return len(rounds) - 1


@compiled
def _predict_one(handle: Handle, task: int, count: int) -> int:
    return predict_single(_predict, handle, task, count)


@compiled
def _learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    return learn_single(_learn, handle, task, label, count)
