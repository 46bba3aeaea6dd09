"""Bodies of requests and answers. The page /v1/openapi.json is made from these types."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from weft.serve.entries import Label, Row

TaskName = str | int | list[Any]
"""A task in JSON: a string, an integer, or a list of those."""


# For the description alone: an empty id or a negative weight is refused with a sentence of its own.
Id = Annotated[str, Meta(extra_json_schema={"minLength": 1})]
Weight = Annotated[float, Meta(extra_json_schema={"minimum": 0})]


class PredictRequest(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An event without its label: `task` and `x`, or `record` by the model's schema."""

    task: TaskName | UnsetType = UNSET
    x: Row | UnsetType = UNSET
    record: dict[str, Any] | UnsetType = UNSET
    remember: bool | UnsetType = UNSET
    id: Id | UnsetType = UNSET


class LearnRequest(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An event with its label. An `id` makes it safe to send the event again."""

    id: Id | UnsetType = UNSET
    task: TaskName | UnsetType = UNSET
    x: Row | UnsetType = UNSET
    y: Label | UnsetType | None = UNSET
    weight: Weight | UnsetType = UNSET
    record: dict[str, Any] | UnsetType = UNSET


class FeedbackRequest(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The label of a remembered prediction."""

    id: Id
    y: Label
    correct: bool | UnsetType = UNSET


class LineRequest(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A line of an upload: an event to learn, or the label of a remembered prediction (`id` and `y` alone)."""

    id: Id | UnsetType = UNSET
    task: TaskName | UnsetType = UNSET
    x: Row | UnsetType = UNSET
    y: Label | UnsetType | None = UNSET
    weight: Weight | UnsetType = UNSET
    record: dict[str, Any] | UnsetType = UNSET
    correct: bool | UnsetType = UNSET


class ExplainRequest(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An event whose score is to be explained."""

    task: TaskName | UnsetType = UNSET
    x: Row | UnsetType = UNSET
    record: dict[str, Any] | UnsetType = UNSET


class PolicyRequest(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """What a task gives to others, and receives from them."""

    gives: bool | UnsetType = UNSET
    receives: bool | UnsetType = UNSET


class PredictAnswer(msgspec.Struct, omit_defaults=True):
    """A prediction by the model after entry `seq`; `id` if it is remembered."""

    score: float | None
    probability: float | None
    label: float | int | str | bool | None
    task: Any
    seq: int
    id: str | UnsetType = UNSET


class LearnAnswer(msgspec.Struct):
    """The event is entry `seq` of the log; score and probability were issued before it was learned.

    A duplicate is answered with the entry that it repeats; its score is null when that was long ago.
    """

    seq: int
    score: float | None
    probability: float | None
    duplicate: bool


class FeedbackAnswer(msgspec.Struct):
    """As for learning; `correction`: another label was recorded, and not learned."""

    seq: int
    score: float | None
    probability: float | None
    duplicate: bool
    correction: bool


class ErrorDetail(msgspec.Struct):
    """What is wrong, where, and what to do."""

    code: str
    message: str
    field: str | None
    remedy: str


class ErrorAnswer(msgspec.Struct):
    """A refused request."""

    error: ErrorDetail


class Rejected(msgspec.Struct):
    """A line of an upload that was refused."""

    line: int
    error: ErrorDetail


class EventsAnswer(msgspec.Struct):
    """What came of an upload. `rejected` names the first refused lines, `rejected_total` counts all of them."""

    accepted: int
    duplicates: int
    rejected: list[Rejected]
    rejected_total: int
    seq: int


class TaskAnswer(msgspec.Struct, omit_defaults=True):
    """A task: its events, its error before learning, its recent error where the model keeps one."""

    task: Any
    events: int
    error: float | None
    loss: float | None
    recent: float | None = None
    mistakes: int | UnsetType = UNSET
    f1: float | UnsetType | None = UNSET
    rmse: float | UnsetType | None = UNSET
    gives: bool | UnsetType = UNSET
    receives: bool | UnsetType = UNSET


class TasksAnswer(msgspec.Struct):
    """Some tasks, and how many there are."""

    tasks: list[TaskAnswer]
    total: int
    seq: int


class ExplainAnswer(msgspec.Struct):
    """A score in named parts that add up to it, the largest first."""

    score: float | None
    parts: dict[str, float]
    task: Any
    seq: int


class ChangeAnswer(msgspec.Struct, omit_defaults=True):
    """A task was changed by entry `seq`. `remains` says where something of a forgotten task is still to be found."""

    task: Any
    seq: int
    remains: list[str] | UnsetType = UNSET


class HealthAnswer(msgspec.Struct):
    """Whether the service runs."""

    status: str
    seq: int
