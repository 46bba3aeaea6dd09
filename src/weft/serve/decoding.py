"""Bodies of requests to what the writer takes. The one place where records of a schema become events."""

import json
import secrets
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import msgspec
from msgspec import UNSET

from weft.encoding.careful import Encoder
from weft.encoding.refused import Refused
from weft.names import plain
from weft.schema import Schema
from weft.serve import messages
from weft.serve.entries import Label, Row, Task, as_task
from weft.serve.limits import Limits, expect_event, expect_id
from weft.serve.problems import Problem
from weft.serve.refusals import no_json, wrong_message
from weft.serve.requests import ToFeedBack, ToLearn, ToRemember

Message = TypeVar("Message")

predict_body = msgspec.json.Decoder(messages.PredictRequest).decode
learn_body = msgspec.json.Decoder(messages.LearnRequest).decode
feedback_body = msgspec.json.Decoder(messages.FeedbackRequest).decode
line_body = msgspec.json.Decoder(messages.LineRequest).decode
explain_body = msgspec.json.Decoder(messages.ExplainRequest).decode
policy_body = msgspec.json.Decoder(messages.PolicyRequest).decode
any_body = msgspec.json.Decoder().decode


def decoded(decode: Callable[[bytes], Message], body: bytes) -> Message:
    """A message; Problem if the body is not one."""
    try:
        return decode(body)
    except msgspec.ValidationError as error:
        kind = cast(Any, decode).__self__.type
        raise wrong_message(str(error), body, kind.__struct_fields__) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise no_json(str(error), body) from None
    except RecursionError:
        raise Problem("bad_json", 422, "the body is nested too deeply", "send a flat object") from None


def expect_unique_keys(body: bytes, message: Any) -> None:
    """Refuse a key that appears twice, of which the decoder would silently take the last.

    A body with as many colons as keys has no key twice; others are parsed once more.
    """
    keys = 0
    for value in msgspec.structs.astuple(message):
        if value is not UNSET:
            keys += 1 + len(value) if type(value) is dict else 1
    if body.count(b":") != keys:
        json.loads(body, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise Problem("twice", 422, f"{json.dumps(twice)} appears twice", "keep one of them", field=twice)
    return found


def read(decode: Callable[[bytes], Message], body: bytes) -> Message:
    """A message in which no key is given twice."""
    message = decoded(decode, body)
    expect_unique_keys(body, message)
    return message


class Found(NamedTuple):
    """The event of a message; of a record of a schema also the record, and what it says of label and weight."""

    task: Task
    x: Row
    record: dict[str, Any] | None = None
    y: Label | None = None
    weight: float = 1.0

    @property
    def given(self) -> Any:
        """What a model takes: the record, or the row."""
        return self.x if self.record is None else self.record


def event_of(limits: Limits, schema: Schema | None, message: Any, id: str | None = None) -> Found:
    """The event of a message, within the limits. Whatever leaves here can be written to the log."""
    if message.record is not UNSET:
        found = _from_record(schema, message)
    else:
        if message.task is UNSET or message.x is UNSET:
            name = "task" if message.task is UNSET else "x"
            raise Problem("missing", 422, f"{name} is missing", f'send "{name}"', field=name)
        found = Found(message.task, message.x)
    try:
        task = found.task if type(found.task) is str else plain(as_task(found.task), "task")
        if found.record is not None or type(task) is not str:
            msgspec.msgpack.encode((task, found.record))
    except (OverflowError, RecursionError, UnicodeEncodeError):
        raise Problem(
            "bad_value", 422, "an integer has more than 64 bits, or something is nested too deeply", "use a string",
            field="task" if found.record is None else "record",
        ) from None  # fmt: skip
    except ValueError as error:
        raise Problem(
            "bad_task", 422, str(error), "use a string, an integer or a list of those", field="task"
        ) from None
    expect_event(limits, task, found.x, id)
    return found if task is found.task else found._replace(task=task)


def _from_record(schema: Schema | None, message: Any) -> Found:
    if schema is None:
        raise Problem(
            "no_schema", 422, "the model has no schema, so that a record cannot be read",
            'send "task" and "x"', field="record",
        )  # fmt: skip
    if message.task is not UNSET or message.x is not UNSET:
        raise Problem("bad_message", 422, "there is a record beside task or x", "send one of the two", field="record")
    if not message.record:
        name = schema.task_fields[0]
        raise Problem("missing", 422, f"the record is empty: {name} is missing", f'send "{name}"', field=name)
    try:
        event = Encoder(schema).event(message.record)
    except Refused as refused:
        what, _, remedy = refused.reason.partition("; ")
        raise Problem("bad_record", 422, what, remedy, field=refused.field) from None
    return Found(event.task, event.features, message.record, event.label, event.weight)  # type: ignore[arg-type]


def to_learn(limits: Limits, schema: Schema | None, message: messages.LearnRequest | messages.LineRequest) -> ToLearn:
    """An event to learn."""
    id = None if message.id is UNSET else message.id
    found = event_of(limits, schema, message, id)
    y = found.y if message.y is UNSET else message.y
    weight = found.weight if message.weight is UNSET else message.weight
    return ToLearn(found.task, found.x, y, weight, id, found.record)


def to_remember(limits: Limits, schema: Schema | None, message: messages.PredictRequest) -> ToRemember:
    """A prediction to remember, under the id that the client chose or a new one."""
    id = secrets.token_urlsafe(16) if message.id is UNSET else message.id
    found = event_of(limits, schema, message, id)
    return ToRemember(id, found.task, found.x, found.record)


def to_feed_back(limits: Limits, message: messages.FeedbackRequest) -> ToFeedBack:
    """The label of a remembered prediction."""
    expect_id(limits, message.id)
    return ToFeedBack(message.id, message.y, message.correct is True)


def line_to_request(limits: Limits, schema: Schema | None, line: bytes) -> ToLearn | ToFeedBack:
    """A line of an upload."""
    message = read(line_body, line)
    if message.task is UNSET and message.x is UNSET and message.record is UNSET:
        if message.id is UNSET or message.y is UNSET or message.y is None:
            raise Problem("missing", 422, "the line is neither an event nor a label", 'send "task", "x" and "y"')
        return to_feed_back(limits, messages.FeedbackRequest(message.id, message.y, message.correct))
    if message.correct is not UNSET:
        raise Problem("bad_message", 422, "an event has no field correct", "leave it out", field="correct")
    return to_learn(limits, schema, message)
