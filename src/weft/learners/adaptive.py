r"""The learner that needs no parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from weft.geometry.losses import CODES
from weft.learner import Kernels, Target
from weft.learners.adaptive_events import Hyper, Parts, learn, learn_one, plan, predict, predict_one
from weft.learners.parameters import Choice, check, parameter
from weft.pairs import dense
from weft.state import Array, Plan


@dataclass(frozen=True)
class _Default:
    name: ClassVar[str]
    paper: ClassVar[str] = "weft"
    auto: ClassVar[bool]
    loss: str = parameter("logistic", "logistic classifies, square predicts a number", Choice(("logistic", "square")))

    def __post_init__(self) -> None:
        check(self)

    @property
    def target(self) -> Target:
        return "binary" if self.loss == "logistic" else "real"

    @property
    def tally_loss(self) -> tuple[int, float]:
        return CODES[self.loss], 0.0

    @property
    def plan(self) -> Plan:
        return plan(self.auto)

    @property
    def hyper(self) -> Hyper:
        return Hyper(self.auto, self.loss == "square", 0.2 if self.loss == "square" else 0.4)

    @property
    def kernels(self) -> Kernels:
        return Kernels(predict, learn, predict_one, learn_one)

    def init(self, tasks: Sequence[Any] = ()) -> Parts:
        width = 8 if self.auto else 6
        ints = np.zeros(0, np.int64)
        stack = np.array([[0.5, 0.5, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
        return Parts(
            dense(0, 1),
            np.zeros((0, width)),
            np.zeros((0, width)),
            np.zeros((0, 3 + width)),
            np.zeros((1, 3 + width)),
            ints,
            ints.copy(),
            np.zeros(1, np.int64),
            np.zeros(3),
            np.zeros(10),
            np.zeros((0, 12)),
            stack,
        )

    def weights(self, state: Parts, tasks: int, features: int) -> Array:
        raise ValueError("not yet")

    def relations(self, state: Parts, tasks: int) -> Array:
        raise ValueError("not yet")


@dataclass(frozen=True)
class Adaptive(_Default):
    """Own and shared parts, by gradient steps and by betting."""

    name: ClassVar[str] = "adaptive"
    auto: ClassVar[bool] = False


@dataclass(frozen=True)
class Auto(_Default):
    """`adaptive`, own and pooled models, stacked."""

    name: ClassVar[str] = "auto"
    auto: ClassVar[bool] = True
