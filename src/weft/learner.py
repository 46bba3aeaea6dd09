"""The Learner protocol: what a frozen dataclass of hyper-parameters offers to be a learner. There is no base class."""

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.blas import one_thread
from weft.storage.batch import Batch, set_single, status
from weft.storage.state import Plan

Target = Literal["binary", "real", "point"]
"""What a label is: -1 or +1, a real number, or nothing at all because the row itself is to be predicted."""

TRACE = ("loss", "tau", "n2", "C")
"""What a traced run records of every example: its loss, its step, |direction|^2, the aggressiveness in force.

A learner whose theorems need something else says so in an attribute `trace` of its own.
"""


def trace_columns(learner: Any) -> tuple[str, ...]:
    """The columns of a learner's trace."""
    columns: tuple[str, ...] = getattr(learner, "trace", TRACE)
    return columns


class Kernels(NamedTuple):
    """The rule itself: the only implementation there is, for bulk and for single events alike.

    predict(hyper, state, batch, scores) -> None
        Fill `scores`, one per example, without changing the state.
    learn(hyper, state, batch, start, scores, trace) -> int
        Learn the rounds from `start` on; fill `scores` with what was issued before each was learned. Returns the first
        round not learned because the state has no room for it: the caller reserves and calls again. `trace` has a row
        per example, with the columns `trace_columns`, or no rows at all.
    predict_one(handle, task, count) -> int
        Score the event in the handle's buffers; returns the position of a value that is refused, or FINE.
    learn_one(handle, task, label, count) -> int
        Score, then learn that event; NO_ROOM if the state first needs room, else as `predict_one`.

    A handle holds (hyper, state, batch, scores, trace), see `jit`. Rules that are not `compiled` stand on BLAS and
    LAPACK, which compiling would not make faster: see `interpreted`.
    """

    predict: Callable[..., None]
    learn: Callable[..., int]
    predict_one: Callable[..., int]
    learn_one: Callable[..., int]
    compiled: bool = True


def interpreted(predict: Callable[..., None], learn: Callable[..., int]) -> Kernels:
    """A rule in plain NumPy and SciPy, which loops over rounds in Python, with BLAS on one thread."""

    def predict_alone(hyper: Any, state: Any, batch: Batch, scores: Floats) -> None:
        with one_thread():
            predict(hyper, state, batch, scores)

    def learn_alone(hyper: Any, state: Any, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
        with one_thread():
            return learn(hyper, state, batch, start, scores, trace)

    def predict_one(handle: Any, task: int, count: int) -> int:
        hyper, state, batch, scores, _ = handle.parts
        bad = set_single(batch, task, 0.0, count)
        if bad < 0:
            predict_alone(hyper, state, batch, scores)
        return bad

    def learn_one(handle: Any, task: int, label: float, count: int) -> int:
        hyper, state, batch, scores, trace = handle.parts
        bad = set_single(batch, task, label, count)
        return bad if bad >= 0 else status(learn_alone(hyper, state, batch, 0, scores, trace))

    return Kernels(predict_alone, learn_alone, predict_one, learn_one, compiled=False)


class Shares(NamedTuple):
    """Where a task's weights come from, for some features: own + shared + the sum of neighbours are its weights.

    `own` and `shared` have an entry per feature; `neighbours` has a row per task of `slots`, on graphs between named
    tasks alone.
    """

    own: Floats
    shared: Floats
    slots: Ints
    neighbours: Array

    def scaled(self, factor: float) -> "Shares":
        """All weights times a factor."""
        return Shares(factor * self.own, factor * self.shared, self.slots, factor * self.neighbours)


class Kept(NamedTuple):
    """A row that a kernel learner keeps: whose it is, its coefficient, its features and values.

    `age` is the number of labelled events since it came, `coefficients` has an entry per task where every task has
    weights of its own; either may be unknown.
    """

    task: int
    coefficient: float
    indices: Array
    values: Array
    age: int | None = None
    coefficients: Array | None = None


class Usage(NamedTuple):
    """What a learner on a budget keeps, what it may keep, and what the budget has cost.

    `kept` counts the rows of every task, `bytes` is what a byte budget counts. A mistake is y f(x) <= 0 on a row that
    can be learned from; `damage` sums up the lengths of what evictions changed of the function. `too_large` rows were
    mistakes that no room could be made for, and `oldest` is the age of the oldest row, if there is one.
    """

    kept: Ints
    most_rows: float
    bytes: int
    most_bytes: float
    mistakes: int
    evictions: int
    damage: float
    too_large: int
    oldest: int | None

    @property
    def rows(self) -> int:
        """The rows of all tasks."""
        return int(self.kept.sum())

    @property
    def mean_damage(self) -> float:
        """Per eviction; NaN if there was none."""
        return self.damage / self.evictions if self.evictions else math.nan


class Borrowed(NamedTuple):
    """What a task relies on, by the weights of its mixture, and the losses so far of its parts and of the mixture.

    `certificate` >= 0 is by how much the loss lies below the least of its bounds, each of them the loss of a part and
    a constant: nats for log-loss, half squares of the task's frame for squared loss.
    """

    events: int
    stack: float
    own: float
    pooled: float
    stack_loss: float
    own_loss: float
    pooled_loss: float
    loss: float
    certificate: float


class Distances(NamedTuple):
    """Per task: the lengths of its own and its shared part, and how far its model is from its neighbours'.

    `apart` is |x_i - xbar| / |xbar|, with xbar the mean of the tasks that i is tied to; NaN if there are none, or if
    their mean is zero.
    """

    own: Floats
    shared: Floats
    apart: Floats


class Learner(Protocol):
    """Hyper-parameters with a rule. All that changes is in the state, a NamedTuple of arrays.

    What only some learners have is optional: `task_names` (the only tasks there can be, in order), `counts_tasks` (the
    rule contains the number of tasks), `admit` (columns of a table are known before they hold anything), `remark`,
    `refuse(tasks, features)` (raises ValueError if there are too many), `outliers(state, tasks, features)`,
    `borrowing(state, tasks) -> list[Borrowed]`, `seen_row(state, batch)` (a row on the learner's own scale),
    `similarities` (relations say who is alike, not how far a step reaches), `support(state, tasks) -> list[Kept]`,
    `usage(state, tasks) -> Usage`, `trace`, `distances(state, tasks, features) -> Distances` and `explain(state, slot,
    tasks, indices) -> Shares` (slot >= tasks is a task that is not known). A learner that refits has `refit(state)`,
    `fit(state, batch, start)`, which keeps rows and refits after the last, and `refuse_fit(state, batch)`, which raises
    ValueError if there is nothing to fit.
    """

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
        """The code of the loss that is tallied (`maths.losses`), and its epsilon."""

    @property
    def hyper(self) -> Any:
        """The hyper-parameters as kernels take them: a NamedTuple of numbers."""

    @property
    def kernels(self) -> Kernels:
        """The rule."""

    def init(self, tasks: Sequence[Any]) -> Any:
        """The state before the first event, with the tasks declared up front, and no room for anything yet."""

    def weights(self, state: Any, tasks: int, features: int) -> Array:
        """(tasks, features) of a linear learner; raises ValueError where there is no such thing."""

    def relations(self, state: Any, tasks: int) -> Array:
        """(tasks, tasks): how much of a step on one task moves another; raises ValueError where there is none."""
