"""The Learner protocol: what a frozen dataclass of hyper-parameters offers to be a learner. There is no base class."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.blas import one_thread
from weft.exchange import Exchange
from weft.names import Name
from weft.storage.batch import Batch, set_single, status
from weft.storage.state import Plan

Target = Literal["binary", "real", "point"]
"""What a label is: -1 or +1, a real number, or nothing at all because the row itself is to be predicted."""

TRACE = ("loss", "tau", "n2", "C")
"""What a traced run records of every example: its loss, its step, |direction|^2, the aggressiveness in force.

A learner whose theorems need something else names other columns in `Traits.trace`.
"""


@dataclass(frozen=True)
class Traits:
    """Facts about a learner with its parameters, which models, inspection and tests read.

    The defaults describe one model per task that moves on its own losses only.
    """

    pooled: bool = False
    """One model learns the rows of all tasks."""
    independent: bool = False
    """A row reads and changes numbers of its own task alone, in a round as well: tasks may be learned side by side."""
    task_names: tuple[Name, ...] = ()
    """The only tasks there can be, in order; empty: any task may come at any time."""
    counts_tasks: bool = False
    """The rule contains the number of tasks, so that a new task changes the others."""
    sums_over_tasks: bool = False
    """The rule adds up numbers of all tasks, so that their order shows in the last bits; implied by `counts_tasks`."""
    least_features: int = 0
    """Models are weights that sum to one, spread over at least so many features; 0: no such constraint."""
    projects: bool = False
    """All models are projected when a task comes, so that a new task may start elsewhere than its score says."""
    iterates: bool = False
    """Results are found by iterations, or from squares, which amplify rounding: they agree to 1e-8, not to 1e-12."""
    conservative: bool = True
    """A round without loss changes no model."""
    mistake_driven: bool = False
    """A classifier that learns from mistakes, y s <= 0, alone: any score of the right sign changes nothing."""
    refit_every: int = 0
    """All models are fitted anew after so many labelled events, to every row so far; 0: never."""
    keeps_rows: bool = False
    """The models are made of rows that are kept (`support`); there are no weights."""
    relates: bool = True
    """There is a matrix of relations between tasks."""
    similarities: bool = False
    """Relations say how alike models are, not how far a step on one task moves another."""
    reads_unknown: bool = False
    """A feature that was never learned changes a score: it counts in the length of its row."""
    blas: bool = False
    """The rule, or the matrix of a graph, stands on BLAS and LAPACK, whose last bits depend on the processor."""
    keeps_integers: bool = True
    """There are slots or counts in the state, not numbers of models only."""
    takes_weights: bool = False
    """Events may have weights other than 1, which multiply the gradient: for rules that step along one.

    A Perceptron counts mistakes, and passive-aggressive steps and confidences solve a problem of their own for every
    event: neither has a gradient to multiply, and what a weight would mean there is not given by the rule.
    """
    reads_missing: bool = False
    """An entry whose value is NaN says that the feature is missing, which is not the same as zero."""
    cannot_forget: str = ""
    """Why no task can be taken out of the state, as the end of a sentence; "": one can."""
    has_policies: bool = False
    """A task may be kept from giving to the others, and from receiving: see `weft.policies`."""
    trace: tuple[str, ...] = TRACE
    """The columns of a trace."""
    exchange: Exchange | None = None
    """What shards exchange; None: nothing, if tasks are independent, or there can be no shards."""
    cannot_shard: str = ""
    """Why tasks cannot be spread over shards, as the end of a sentence, where the other traits do not say so."""

    @property
    def no_shards(self) -> str:
        """Why there can be no shards, as the end of a sentence; "": there can."""
        if self.independent or self.exchange is not None:
            return ""
        reasons = (
            (self.cannot_shard, bool(self.cannot_shard)),
            ("one model learns the rows of all tasks, and there are no tasks to be spread", self.pooled),
            ("its models are made of rows, which tasks of other shards would have to see", self.keeps_rows),
            ("all models are fitted to the rows of all tasks at once", self.refit_every > 0),
            ("a step on one task moves the models of all others", self.counts_tasks or self.sums_over_tasks),
            ("what tasks have in common is learned from all of their models", self.similarities),
        )
        return next((words for words, holds in reasons if holds), "its tasks are learned together, round by round")


def _accept(tasks: int, features: int) -> None:
    """Any numbers of tasks and features will do."""


def _count_nothing(state: Any, features: int) -> None:
    """Features count when they first hold something."""


def _as_it_is(state: Any, tasks: Ints) -> Any:
    """Tasks need no preparation."""
    return state


def _never(state: Any) -> str | None:
    """There is nothing to warn of."""
    return None


class Hooks(NamedTuple):
    """What a model does around the rule, for learners that need it; without one, nothing.

    refuse(tasks, features)
        Raise ValueError if there are, or would be, too many of them.
    admit(state, features)
        Features 0 .. features-1 count from now on: columns of a table are known before they hold anything.
    prepare(state, tasks) -> state
        The state with what has to be worked out for these tasks before a kernel meets them.
    warning(state) -> str | None
        A sentence, given to the user once, if the stream broke what the guarantees assume; "" if it has not yet, and
        None if it cannot, so that nobody need ask again.
    """

    refuse: Callable[[int, int], None] = _accept
    admit: Callable[[Any, int], None] = _count_nothing
    prepare: Callable[[Any, Ints], Any] = _as_it_is
    warning: Callable[[Any], str | None] = _never


def trace_columns(learner: "Learner") -> tuple[str, ...]:
    """The columns of a learner's trace."""
    return learner.traits.trace


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


class SeenRow(NamedTuple):
    """A row as a learner sees it that brings rows to a scale of its own, and what its score is made of.

    `own` and `shared` are parts in the units of the scaled row, biases included; `amounts` add up to `score`.
    """

    features: Ints
    values: Floats
    own_bias: float
    shared_bias: float
    own: float
    shared: float
    score: float
    amounts: dict[str, float]


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

    What only some learners can show of their state (explanations, kept rows, distances ...) are protocols of their own:
    see `weft.inspection.views`.
    """

    name: ClassVar[str]
    paper: ClassVar[str]

    @property
    def traits(self) -> Traits:
        """Facts about the learner."""

    @property
    def hooks(self) -> Hooks:
        """What a model does around the rule."""

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


PARTS = (
    "name",
    "paper",
    "traits",
    "hooks",
    "plan",
    "target",
    "tally_loss",
    "hyper",
    "kernels",
    "init",
    "weights",
    "relations",
)
"""What the protocol asks for."""


def missing_parts(kind: type) -> list[str]:
    """What a class lacks to be a learner; a field of a dataclass is not lacking."""
    given = {field.name for field in fields(kind)} if is_dataclass(kind) else set()
    return [part for part in PARTS if part not in given and not hasattr(kind, part)]
