"""Events one by one into columns of codes: what a stream takes."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.encoding.careful import Encoder, Event, record_has
from weft.encoding.refused import Refused
from weft.labels import Label, Labels, label_array
from weft.schema import Schema, nearest
from weft.storage.events import Coded
from weft.storage.lexicon import CodedRows, Lexicon


class Encoded(NamedTuple):
    """The events of some records. `labels` is None if no record has one, the others if there is no such field."""

    coded: Coded
    labels: Labels | None
    rounds: list[int | str] | None
    weight: Floats | None
    ids: list[Any] | None


class Collector:
    """Takes events one by one."""

    def __init__(self, schema: Schema, tasks: Lexicon, features: Lexicon) -> None:
        self.schema = schema
        self.tasks, self.features = tasks, features
        self._events: list[Event] = []
        self._task: list[int] = []
        self._indptr = [0]
        self._indices: list[int] = []
        self._values: list[float] = []

    def add(self, event: Event) -> None:
        """Take one more event."""
        code, features = self.features.code, self.features
        assert event.task is not None  # the encoder was asked for it
        self._task.append(self.tasks.code(event.task))
        self._indices += [code(name) for name in event.features]
        self._values += event.features.values()
        self._indptr.append(len(self._indices))
        features.fields.update(map(code, event.fields))
        self._events.append(event)

    def encoded(self) -> Encoded:
        """All events so far."""
        schema, events = self.schema, self._events
        indptr, indices = np.array(self._indptr, np.int64), np.array(self._indices, np.int64)
        rows = CodedRows(indptr, indices, np.array(self._values, np.float64), self.features)
        labels = [event.label for event in events]
        return Encoded(
            Coded(np.array(self._task, np.int64), self.tasks, rows),
            label_codes(labels) if any(label is not None for label in labels) else None,
            None if schema.round is None else [event.round for event in events if event.round is not None],
            None if schema.weight is None else np.array([event.weight for event in events]),
            None if schema.id is None else [event.id for event in events],
        )


def encode_records(
    records: Iterable[Mapping[str, Any]],
    schema: Schema,
    tasks: Lexicon | None = None,
    features: Lexicon | None = None,
) -> Encoded:
    """The events of records, by the careful encoder; ValueError with row, field and value if one cannot be used.

    Names are added to the lexicons, if some are given.
    """
    tasks, features = Lexicon() if tasks is None else tasks, Lexicon() if features is None else features
    encoder, collector = Encoder(schema), Collector(schema, tasks, features)
    for row, record in enumerate(records):
        try:
            collector.add(encoder.event(record))
        except Refused as refused:
            raise ValueError(in_row(row, refused)) from None
    return collector.encoded()


def in_row(row: int, refused: Refused) -> str:
    """The sentence about a value that is refused."""
    where = f'row {row}, field "{refused.field}"' if refused.field else f"row {row}"
    return f"{where}: {refused.reason}"


def expect_fields(
    schema: Schema, known: Collection[str], what: str, needs_label: bool, only_task: bool = False
) -> None:
    """Refuse a schema that names a field which is not there; `what` says so, up to the name.

    With `only_task` fields other than those of the task and the round may be absent, as where a model scores events.
    """
    needed = [(role, name) for name, role in schema.roles.items() if role != "ignore"]
    needed += [("features", name) for name in schema.features or ()]
    needed = [(role, name) for role, name in needed if role in ("task", "round") or not only_task]
    for role, name in needed:
        if role == "label" and not needs_label:
            continue
        if name not in known and not any(field.startswith(f"{name}.") for field in known):
            raise ValueError(f"{what} {name!r}, which the schema names as {role}; {nearest(name, known)}")


def fields_of(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names of all fields, those in nested objects with points."""
    found: dict[str, None] = {}
    for record in records:
        _collect("", record, found)
    return list(found)


def _collect(prefix: str, record: Mapping[str, Any], found: dict[str, None]) -> None:
    for name, value in record.items():
        found[f"{prefix}{name}"] = None
        if isinstance(value, Mapping) and prefix.count(".") < 16:
            _collect(f"{prefix}{name}.", value, found)


def has_field(records: Iterable[Mapping[str, Any]], field: str) -> bool:
    """Does any record have the field?"""
    return any(record_has(record, field) for record in records)


def label_codes(labels: list[Label | None]) -> Labels:
    """Labels of records as a stream takes them: numbers if all of them are numbers, else codes."""
    if any(isinstance(label, str | bool) for label in labels):
        return label_array(np.array(labels, object))
    return Labels(np.array([np.nan if label is None else label for label in labels], np.float64))


def round_bounds(rounds: list[int | str], tasks: list[int]) -> Ints:
    """Bounds of the rounds: runs of equal values; one that comes again and a task that appears twice are refused."""
    bounds: list[int] = []
    ended: set[tuple[type, int | str]] = set()
    here: set[int] = set()
    for row, (number, task) in enumerate(zip(rounds, tasks, strict=True)):
        if row == 0 or number != rounds[row - 1]:
            if (type(number), number) in ended:
                raise ValueError(f"row {row}: round {number!r} has ended already; rows of one round must be adjacent")
            ended.add((type(number), number))
            bounds.append(row)
            here = set()
        if task in here:
            raise ValueError(f"row {row}: its task appears twice in round {number!r}; give the rows different rounds")
        here.add(task)
    return np.array([*bounds, len(rounds)], np.int64)
