"""The careful encoder: a record, a dict from field to value, becomes an event. Whatever else encodes gives the same.

| value | becomes |
|---|---|
| number or boolean in `age` | feature `age` with that value |
| string in `country` | feature `country=us` with the value 1 |
| words of a text field `body` | feature `body:free` with its count |
| list of strings in `tags`, list of numbers in `v` | `tags=a`, `tags=b`; `v[0]`, `v[1]` |
| nested object `geo` | `geo.lat` |
| null, NaN, empty text, absent field | nothing: the value is missing |
"""

import numbers
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from weft.encoding.hashing import hashed_name
from weft.encoding.refused import Refused, show
from weft.kinds.cells import is_number_elsewhere
from weft.kinds.dates import DATE_TYPES, is_date
from weft.kinds.missing import is_missing
from weft.kinds.words import terms
from weft.labels import Label
from weft.names import MOST_BITS, Name
from weft.schema import Schema, nearest
from weft.storage.batch import LARGEST

DEEPEST = 16
"""Objects within objects."""
LARGEST_WEIGHT = 1e6
"""The largest importance of an event."""
NOT_FEATURES = frozenset(("task", "label", "id", "time", "weight", "round", "ignore"))


class Event(NamedTuple):
    """What a record says. `fields` are the features that are numbers of a field; the label is None if it is missing."""

    task: Name | None
    label: Label | None
    features: dict[str, float]
    fields: list[str]
    weight: float
    round: int | str | None
    id: Any


class Encoder:
    """Encodes the records of one schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._roles = schema.roles
        self._features = None if schema.features is None else frozenset(schema.features)
        self._above = frozenset(_above(schema.features or ()))

    def event(self, record: Mapping[str, Any], needs_task: bool = True) -> Event:
        """The event of a record; Refused if it cannot be used. Without `needs_task` a missing task is None."""
        schema = self.schema
        features, fields = self.features(record)
        return Event(
            self._task(record) if needs_task or self.has_task(record) else None,
            None if schema.label is None else label_of(schema.label, value_at(record, schema.label)),
            features,
            fields,
            1.0 if schema.weight is None else weight_of(schema.weight, value_at(record, schema.weight)),
            None if schema.round is None else round_of(schema.round, value_at(record, schema.round)),
            None if schema.id is None else value_at(record, schema.id),
        )

    def has_task(self, record: Mapping[str, Any]) -> bool:
        """Does the record name its task?"""
        names = self.schema.task_fields
        return bool(names) and not any(is_missing(value_at(record, name)) for name in names)

    def _task(self, record: Mapping[str, Any]) -> Name:
        names = self.schema.task_fields
        if not names:
            raise Refused(None, "the schema names no task; give the field that names it as task")
        parts = tuple(task_part(name, value_at(record, name), record) for name in names)
        return parts[0] if isinstance(self.schema.task, str) else parts

    def features(self, record: Mapping[str, Any]) -> tuple[dict[str, float], list[str]]:
        """The features of a record, and which of them are numbers of a field."""
        found: dict[str, float] = {}
        fields: list[str] = []
        for name, value in record.items():
            if not isinstance(name, str):
                raise Refused(None, f"the field {name!r} is a {type(name).__name__}; names of fields are strings")
            self._add_field(name, value, found, fields, 0)
        bits = self.schema.hash_bits
        return (found, fields) if bits is None else (_hashed(found, bits), [])

    def _add_field(self, name: str, value: Any, found: dict[str, float], fields: list[str], depth: int) -> None:
        role = self._roles.get(name)
        if role in NOT_FEATURES:
            return
        is_object = isinstance(value, Mapping)
        if not self.is_used(name) and not (is_object and name in self._above):
            return
        if is_object:
            if role is not None:
                raise Refused(name, f"{show(value)} is an object, not {_expected(role)}; name the fields in it")
            if depth == DEEPEST:
                raise Refused(name, f"objects are nested more than {DEEPEST} deep; use flatter records")
            for inner, part in value.items():
                self._add_field(f"{name}.{inner}", part, found, fields, depth + 1)
        elif not is_missing(value):
            self._add_value(name, role, _python(value), found, fields)

    def is_used(self, name: str) -> bool:
        """Is the field among the features that are wanted, or part of an object that is?"""
        if self._features is None or name in self._features:
            return True
        at = name.rfind(".")
        while at > 0:
            if name[:at] in self._features:
                return True
            at = name.rfind(".", 0, at)
        return False

    def _add_value(self, name: str, role: str | None, value: Any, found: dict[str, float], fields: list[str]) -> None:
        """Add what one field holds, which is not missing."""
        if isinstance(value, list | tuple):
            self._add_list(name, role, value, found, fields)
        elif role == "text":
            self._add_words(name, value, found, fields)
        elif role == "category":
            _add_one(name, f"{name}={category_of(name, value)}", found, fields)
        elif role == "numeric" or not isinstance(value, (str, *DATE_TYPES)):
            _put(name, name, number_of(name, value, role), found)
            fields.append(name)
        else:
            refuse_date(name, value)
            _add_one(name, f"{name}={category_of(name, value)}", found, fields)

    def _add_words(self, name: str, value: Any, found: dict[str, float], fields: list[str]) -> None:
        if not isinstance(value, str):
            remedy = "list the field as numeric or category instead of text, or write it as a string"
            raise Refused(name, f"{show(value)} is not a text; {remedy}")
        for term in terms(value, self.schema.ngrams):
            _add_one(name, f"{name}:{term}", found, fields)

    def _add_list(self, name: str, role: str | None, values: Any, found: dict[str, float], fields: list[str]) -> None:
        there = [value for value in values if not is_missing(value)]
        texts = sum(isinstance(value, str) for value in there)
        if role == "text":
            for value in there:
                self._add_words(name, value, found, fields)
        elif role == "category" or (role is None and texts and texts == len(there)):
            for value in there:
                _add_one(name, f"{name}={category_of(name, value)}", found, fields)
        elif texts and role is None:
            raise Refused(name, f"{show(values)} has strings and other values; write strings only, or numbers only")
        else:
            for at, value in enumerate(values):
                if not is_missing(value):
                    where = f"{name}[{at}]"
                    _put(name, where, number_of(where, value, role), found)


def value_at(record: Mapping[str, Any], name: str) -> Any:
    """The value of a field, also of one in a nested object; None if it is not there."""
    if name in record:
        return record[name]
    at = name.find(".")
    while at > 0:
        inner = record.get(name[:at])
        if isinstance(inner, Mapping):
            return value_at(inner, name[at + 1 :])
        at = name.find(".", at + 1)
    return None


def task_part(field: str, value: Any, record: Mapping[str, Any]) -> Name:
    """The name of a task, or one part of it."""
    if is_missing(value):
        reason = "the task is missing; every record names it"
        if not record_has(record, field):
            reason = f"the task is missing, the record has no such field; {nearest(field, map(str, record))}"
        raise Refused(field, reason)
    value = _python(value)
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2.0**53:
        value = int(value)
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= MOST_BITS:
        return value
    raise Refused(field, f"{show(value)} is not the name of a task; write a string or an integer")


def record_has(record: Mapping[str, Any], field: str) -> bool:
    """Is the field there, even if its value is missing?"""
    if field in record:
        return True
    head, _, rest = field.partition(".")
    inner = record.get(head)
    return bool(rest) and isinstance(inner, Mapping) and record_has(inner, rest)


def label_of(field: str, value: Any) -> Label | None:
    """A label: a string, a boolean or a number; None if it is missing."""
    if is_missing(value):
        return None
    value = _python(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, numbers.Real | Decimal):
        return _float(field, value)
    raise Refused(field, f"{show(value)} is not a label; write a string, a boolean or a number")


def weight_of(field: str, value: Any) -> float:
    """The weight of an event; 1 if it is missing."""
    if is_missing(value):
        return 1.0
    value = _python(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real | Decimal):
        raise Refused(field, f"{show(value)} is not a weight; write a number from 0 on")
    found = _float(field, value)
    if not 0.0 <= found <= LARGEST_WEIGHT:
        raise Refused(field, f"{found:g} is not a weight; write a number from 0 to {LARGEST_WEIGHT:g}")
    return found


def round_of(field: str, value: Any) -> int | str:
    """The round of an event: an integer or a string."""
    value = _python(value)
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2.0**53:
        value = int(value)
    if is_missing(value) or isinstance(value, bool) or not isinstance(value, int | str):
        raise Refused(field, f"{show(value)} is not a round; write an integer or a string")
    return value


def category_of(field: str, value: Any) -> str:
    """The name in a category: integers in digits, booleans as true and false."""
    value = _python(value)
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, DATE_TYPES):
        return str(value)
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2.0**53:
        return str(int(value))
    if isinstance(value, int | float):
        return repr(value)
    raise Refused(field, f"{show(value)} is not a category; write a string, a number or a boolean")


def number_of(field: str, value: Any, role: str | None) -> float:
    """The number of a field; what is not a number is refused with a remedy."""
    value = _python(value)
    if isinstance(value, numbers.Real | Decimal):
        found = _float(field, value)
        if not abs(found) <= LARGEST:
            raise Refused(field, f"{found:g} is too large; scale values to {LARGEST:g} at most, or leave the field out")
        return found
    remedy = "write a number, or leave the field out"
    if isinstance(value, str) and role == "numeric":
        remedy = "write it without quotes, or list the field as a category instead of numeric"
        if is_number_elsewhere(value):
            remedy = "write it with a decimal point and no other marks, or read the CSV with --decimal ,"
    raise Refused(field, f"{show(value)} is not a number; {remedy}")


def refuse_date(field: str, value: Any) -> None:
    """Refuse a date that nobody has said what to do with."""
    if isinstance(value, DATE_TYPES) or is_date(value.strip()):
        remedy = (
            "name the field as time (--time), list it under ignore or category (--ignore, --category), or give numbers "
            "made from it"
        )
        raise Refused(field, f"{show(str(value))} is a date; {remedy}")


def _python(value: Any) -> Any:
    """A value of NumPy as Python has it; a date becomes text."""
    if type(value).__module__ != "numpy":
        return value
    return str(value) if isinstance(value, np.datetime64 | np.timedelta64) else value.tolist()


def _float(field: str, value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        raise Refused(field, "an integer beyond 1.8e308 is too large; write a smaller number") from None


def _put(field: str, name: str, value: float, found: dict[str, float]) -> None:
    if name in found:
        raise Refused(field, f"the feature {show(name)} appears twice in the record; rename one of the two fields")
    found[name] = value


def _add_one(field: str, name: str, found: dict[str, float], fields: list[str]) -> None:
    """Count a name; a field with that very name is another feature."""
    count = found.get(name, 0.0)
    if count and name in fields:
        raise Refused(field, f"the feature {show(name)} appears twice in the record; rename one of the two fields")
    found[name] = count + 1.0


def _hashed(found: dict[str, float], bits: int) -> dict[str, float]:
    hashed: dict[str, float] = {}
    for name, value in found.items():
        key = hashed_name(name, bits)
        hashed[key] = hashed.get(key, 0.0) + value
    return hashed


def _above(names: Any) -> list[str]:
    """The objects that hold fields with these dotted names."""
    return [name[:at] for name in names for at in range(len(name)) if name[at] == "."]


def _expected(role: str) -> str:
    return {"text": "a text", "category": "a category", "numeric": "a number"}[role]
