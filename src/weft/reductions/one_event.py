"""A single event as a stream, with a schema or without one."""

from collections.abc import Mapping
from typing import Any

from weft.encoding.careful import Encoder
from weft.kinds.frames import named_row
from weft.labels import Label
from weft.methods.single_events import event_of, stream_of
from weft.names import Name
from weft.schema import Schema
from weft.storage.rows import as_table
from weft.stream import Stream

NOTHING: Any = object()
"""The label of an event that is only scored."""


def one_event(
    schema: Schema | None, x: Any, task: Name | None, y: Label | None = NOTHING, weight: float | None = None
) -> Stream:
    """The stream of one event: of a row with its task, or of a record that names what is not given beside it."""
    x, is_learned = named_row(x), y is not NOTHING
    if schema is not None and isinstance(x, Mapping):
        event = event_of(Encoder(schema), x, y if is_learned else None, task, weight)
        if event.label is None and is_learned:
            raise ValueError("the label is missing; give y, or a record that has it")
        return stream_of(event if is_learned else event._replace(label=None), schema)
    if task is None:
        raise ValueError("task is missing; name the task that the event belongs to")
    if y is None:
        raise ValueError("the label is missing; give y")
    given = None if weight is None or weight == 1.0 else [weight]
    return Stream(as_table(x), [y] if is_learned else None, [task], weight=given)
