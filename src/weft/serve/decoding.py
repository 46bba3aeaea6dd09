"""Bodies of requests to what the writer takes. The one place where records of a schema become events."""

import json
import secrets
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from weft.serve import messages
from weft.serve.entries import Row, Task, as_task
from weft.serve.limits import Limits, expect_event, expect_id
from weft.serve.problems import Problem
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
        text = str(error)
        what, _, where = text.partition(" - at `$")
        field = where.removesuffix("`").lstrip(".") or None
        raise Problem("bad_message", 422, what, "see /v1/openapi.json for what is expected", field=field) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem("bad_json", 422, f"the body is not JSON: {error}", "send one JSON object in UTF-8") from None
    except RecursionError:
        raise Problem("bad_json", 422, "the body is nested too deeply", "send a flat object") from None


def expect_unique_keys(body: bytes, message: Any) -> None:
    """Refuse a key that appears twice, of which the decoder would silently take the last.

    A body with as many colons as keys has no key twice; others are parsed once more.
    """
    given = [value for value in msgspec.structs.astuple(message) if value is not UNSET]
    if body.count(b":") != len(given) + sum(len(value) for value in given if type(value) is dict):
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


def event_of(limits: Limits, message: Any, id: str | None = None) -> tuple[Task, Row]:
    """Task and row of a message, within the limits."""
    if message.record is not UNSET:
        raise Problem(
            "no_schema", 422, "the model has no schema, so that a record cannot be read",
            'send "task" and "x"', field="record",
        )  # fmt: skip
    for name, value in (("task", message.task), ("x", message.x)):
        if value is UNSET:
            raise Problem("missing", 422, f"{name} is missing", f'send "{name}"', field=name)
    task = as_task(message.task)
    expect_event(limits, task, message.x, id)
    return task, message.x


def to_learn(limits: Limits, message: messages.LearnRequest | messages.LineRequest) -> ToLearn:
    """An event to learn."""
    id = None if message.id is UNSET else message.id
    task, x = event_of(limits, message, id)
    weight = 1.0 if message.weight is UNSET else message.weight
    return ToLearn(task, x, None if message.y is UNSET else message.y, weight, id)


def to_remember(limits: Limits, message: messages.PredictRequest) -> ToRemember:
    """A prediction to remember, under the id that the client chose or a new one."""
    id = secrets.token_urlsafe(16) if message.id is UNSET else message.id
    task, x = event_of(limits, message, id)
    return ToRemember(id, task, x)


def to_feed_back(limits: Limits, message: messages.FeedbackRequest) -> ToFeedBack:
    """The label of a remembered prediction."""
    expect_id(limits, message.id)
    return ToFeedBack(message.id, message.y, message.correct is True)


def line_to_request(limits: Limits, line: bytes) -> ToLearn | ToFeedBack:
    """A line of an upload."""
    message = read(line_body, line)
    if message.task is UNSET and message.x is UNSET and message.record is UNSET:
        if message.id is UNSET or message.y is UNSET or message.y is None:
            raise Problem("missing", 422, "the line is neither an event nor a label", 'send "task", "x" and "y"')
        return to_feed_back(limits, messages.FeedbackRequest(message.id, message.y, message.correct))
    if message.correct is not UNSET:
        raise Problem("bad_message", 422, "an event has no field correct", "leave it out", field="correct")
    return to_learn(limits, message)
