"""The Learner protocol: what a frozen dataclass of hyper-parameters offers to be a learner. There is no base class."""

from typing import Any, ClassVar, Literal, Protocol

from weft.batch import Batch, Floats
from weft.jit import Handle
from weft.state import Array, Plan

Target = Literal["binary", "real", "point"]
"""What a label is: -1 or +1, a real number, or nothing at all because the row itself is to be predicted."""

TRACE = ("loss", "tau", "n2", "C")
"""What a traced run records of every example: its loss, its step, |direction|^2, the aggressiveness in force."""


class Learner(Protocol):
    """Hyper-parameters with a rule. All that changes is in the state, a NamedTuple of arrays."""

    name: ClassVar[str]
    paper: ClassVar[str]

    @property
    def plan(self) -> Plan:
        """The axes of the state's arrays."""

    @property
    def target(self) -> Target:
        """The kind of label."""

    @property
    def tally_loss(self) -> tuple[int, float]:
        """The code of the loss that is tallied (`geometry.losses`), and its epsilon."""

    def init(self) -> Any:
        """The state before the first event, with no room for anything yet."""

    def predict(self, state: Any, batch: Batch, scores: Floats) -> None:
        """Fill `scores`, one per example, without changing the state."""

    def learn(self, state: Any, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
        """Learn the rounds from `start` on; fill `scores` with what was issued before each was learned.

        Returns the first round not learned because the state has no room for it; the caller reserves and calls again.
        `trace` has a row per example, with the columns `TRACE`, or no rows at all.
        """

    def handle(self, state: Any, batch: Batch, scores: Floats, trace: Floats) -> Handle:
        """Parameters, state and the buffers of a single event behind one handle."""

    def predict_one(self, handle: Handle, task: int, count: int) -> int:
        """Score the event in the buffers; returns the position of a value that is not finite, or -1."""

    def learn_one(self, handle: Handle, task: int, label: float, count: int) -> int:
        """Score, then learn the event in the buffers; -2 if the state first needs room, else as `predict_one`."""

    def weights(self, state: Any, tasks: int, features: int) -> Array:
        """(tasks, features) of a linear learner; raises ValueError where there is no such thing."""

    def relations(self, state: Any, tasks: int) -> Array:
        """(tasks, tasks): how much of a step on one task moves another; raises ValueError where there is none."""
