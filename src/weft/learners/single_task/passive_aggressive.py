r"""Passive-Aggressive learners, one per task: the least change of the weights that mends the loss.

Crammer, Dekel, Keshet, Shalev-Shwartz and Singer (2006). With l the loss of the round and n^2 = |x|^2,

    PA     tau = l / n^2
    PA-I   tau = min(C, l / n^2)
    PA-II  tau = l / (n^2 + 1 / (2 C))

and w += tau y x for classification (hinge loss) or w += tau sign(y - s) x for regression (epsilon-insensitive loss).

>>> import weft
>>> model = weft.Model("pa", C=0.5)
>>> model.learn_one({"bias": 1.0, "free": 1.0}, +1, "ann")
0.0
>>> model.learn_one({"bias": 1.0}, -1, "ann")
0.5
>>> model.weights().tolist()
[[0.0, 0.5]]

Interpretation. A row of zeros leaves the weights alone in every variant: it cannot mend anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.bundle import hold, packed
from weft.compiled.jit import Handle, compiled, helper
from weft.learner import Hooks, Kernels, Shares, Target, Traits
from weft.learners.own_parts import relation_matrix, shares, weight_matrix
from weft.learners.parameters import Choice, Flag, Real, check, parameter
from weft.maths.limits import cut
from weft.maths.losses import CODES, direction, loss_value
from weft.storage.batch import Batch, learn_single, predict_single, record
from weft.storage.own import PLAN, OwnParts, OwnWeights, blank, has_room, move, score, score_batch, score_rows
from weft.storage.pairs import slot_space
from weft.storage.state import Plan

VARIANTS = ("pa", "pa-i", "pa-ii")


@dataclass(frozen=True)
class PassiveAggressive:
    """One Passive-Aggressive learner per task (PA-ITL, PA-Unique); pooled: PA-ONE, PA-Global.

    Take it when you want a good learner per task, or (pooled) all tasks are the same.

    Classifies, or predicts numbers with `loss="epsilon-insensitive"`. The step is tau = l/n^2 (`pa`), min(C, l/n^2)
    (`pa-i`) or l/(n^2 + 1/(2C)) (`pa-ii`), with l the loss and n the length of the row; `pa` does not use C.
    """

    name: ClassVar[str] = "pa"
    paper: ClassVar[str] = "Crammer et al. 2006"
    plan: ClassVar[Plan] = PLAN
    hooks: ClassVar[Hooks] = Hooks()

    C: float = parameter(
        1.0, "aggressiveness: the largest step (PA-I), or how soft the margin is (PA-II)", Real(above=0)
    )
    variant: str = parameter("pa-i", "how the step is bounded", Choice(VARIANTS))
    loss: str = parameter(
        "hinge",
        "hinge classifies, epsilon-insensitive predicts a number",
        Choice(("hinge", "epsilon-insensitive")),
    )
    epsilon: float = parameter(0.1, "deviations up to this cost nothing (epsilon-insensitive loss)", Real(at_least=0))
    pooled: bool = parameter(False, "learn one model from the rows of all tasks", Flag())

    def __post_init__(self) -> None:
        check(self)

    @property
    def traits(self) -> Traits:
        return Traits(pooled=self.pooled, independent=not self.pooled)

    @property
    def target(self) -> Target:
        return "binary" if self.loss == "hinge" else "real"

    @property
    def tally_loss(self) -> tuple[int, float]:
        return CODES[self.loss], self.epsilon

    @property
    def hyper(self) -> "Hyper":
        """The parameters as compiled code takes them."""
        return Hyper(self.C, VARIANTS.index(self.variant), CODES[self.loss], self.epsilon, self.pooled)

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
    C: float
    variant: int
    loss: int
    epsilon: float
    pooled: bool


@helper
def _step(hyper: Hyper, l: float, n2: float) -> float:
    if l <= 0.0 or n2 <= 0.0:
        return 0.0
    if hyper.variant == 0:
        return cut(l / n2, n2)
    if hyper.variant == 1:
        return cut(min(hyper.C, l / n2), n2)
    return cut(l / (n2 + 0.5 / hyper.C), n2)


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
            l = loss_value(hyper.loss, s, y, hyper.epsilon)
            tau = _step(hyper, l, n2)
            record(trace, i, l, tau, n2, hyper.C)
            if tau > 0.0:
                move(own, i, tau * direction(hyper.loss, s, y))
    hold(parts)
    return len(rounds) - 1


@compiled
def _predict_one(handle: Handle, task: int, count: int) -> int:
    return predict_single(_predict, handle, task, count)


@compiled
def _learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    return learn_single(_learn, handle, task, label, count)
