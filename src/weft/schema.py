"""Schema: what each field of a record is, so that what was learned is what is served."""

import csv
import difflib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from weft.kinds.inference import Found, infer
from weft.labels import plain_label

_LISTS = ("text", "category", "numeric", "ignore")
_ROLES = ("label", "id", "time", "weight", "round")
MOST_NGRAMS = 8
MOST_HASH_BITS = 31


@dataclass(frozen=True)
class Schema:
    """What the fields of a record are. Fields that are not named are used: numbers and booleans as they are, strings as
    categories.

    task      the field that names the task; a list of fields makes a tuple
    label     the field with the label
    positive  which of two classes is the positive one; by default the larger one when sorted
    text      fields that are split into words: runs of letters and digits in lower case
    category  fields whose values are names
    numeric   fields that must be numbers
    ignore    fields that are not used
    features  instead of `ignore`: the only fields to use
    id        the field that identifies a record; it is repeated beside its prediction
    time      the field with the time, which is not a feature
    weight    the field with the importance of a record, a number from 0 on
    round     the field with the round: neighbours with the same value are scored before any of them is learned
    ngrams    2 adds pairs of neighbouring words to the words of a text, 3 also triples
    hash_bits features are hashed into 2^hash_bits names; features that share a name add up

    A field of a nested object is named with points, `geo.lat`.

    >>> schema = Schema(task="user", label="label", text=["body"], ignore=["ts"])
    >>> print(schema)
    task: user; label: label; text: body; ignored: ts
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    task: str | Sequence[str] | None = None
    label: str | None = None
    positive: str | bool | int | float | None = None
    text: Sequence[str] = ()
    category: Sequence[str] = ()
    numeric: Sequence[str] = ()
    ignore: Sequence[str] = ()
    features: Sequence[str] | None = None
    id: str | None = None
    time: str | None = None
    weight: str | None = None
    round: str | None = None
    ngrams: int = 1
    hash_bits: int | None = None
    _summary: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if self.task is not None and not isinstance(self.task, str):
            object.__setattr__(self, "task", _names("task", self.task))
        for name in _LISTS:
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        if self.features is not None:
            object.__setattr__(self, "features", _names("features", self.features))
        self._check_values()
        self._check_roles()

    def _check_values(self) -> None:
        for role in ("task", *_ROLES):
            found = getattr(self, role)
            if not (found is None or (isinstance(found, str) and found) or (role == "task" and found)):
                raise ValueError(f"{role}={found!r} is not the name of a field; give a string")
        if not isinstance(self.positive, str | bool | int | float | None):
            raise ValueError(f"positive={self.positive!r} is not a label; give a string, a boolean or a number")
        if isinstance(self.positive, float) and not abs(self.positive) < float("inf"):
            raise ValueError(f"positive={self.positive!r} is not finite; give the label of the positive class")
        if type(self.ngrams) is not int or not 1 <= self.ngrams <= MOST_NGRAMS:
            raise ValueError(f"ngrams={self.ngrams!r} must be an integer from 1 to {MOST_NGRAMS}")
        bits = self.hash_bits
        if bits is not None and (type(bits) is not int or not 1 <= bits <= MOST_HASH_BITS):
            raise ValueError(f"hash_bits={bits!r} must be None or an integer from 1 to {MOST_HASH_BITS}")
        if self.features is not None and self.ignore:
            raise ValueError("give features or ignore, not both: features lists the only fields to use")

    def _check_roles(self) -> None:
        """Every field has one role; fields of a kind are among those that are used."""
        roles: dict[str, str] = {}
        for role, name in self._named():
            if name in roles:
                both = f"{roles[name]} and {role}" if roles[name] != role else f"{role}, twice"
                raise ValueError(f"the field {name!r} is named as {both}; give it one role")
            roles[name] = role
        if self.features is not None:
            for name in (*self.text, *self.category, *self.numeric):
                if name not in self.features:
                    raise ValueError(f"{roles[name]} names {name!r}, which features does not; add it to features")
            for name in self.features:
                if roles.get(name, "text") not in ("text", "category", "numeric"):
                    raise ValueError(f"the field {name!r} is named as {roles[name]} and in features; give it one role")

    def _named(self) -> Iterable[tuple[str, str]]:
        """The role and the name of every field that has a role."""
        yield from (("task", name) for name in self.task_fields)
        yield from ((role, getattr(self, role)) for role in _ROLES if getattr(self, role) is not None)
        yield from ((role, name) for role in _LISTS for name in getattr(self, role))

    @property
    def task_fields(self) -> tuple[str, ...]:
        """The fields that name the task."""
        if self.task is None:
            return ()
        return (self.task,) if isinstance(self.task, str) else tuple(self.task)

    @property
    def roles(self) -> dict[str, str]:
        """The role of every field that has one: task, label, text, category, numeric, ignore, id, ..."""
        return {name: role for role, name in self._named()}

    @classmethod
    def infer(cls, source: Any, **told: Any) -> "Schema":
        """The schema that some records or a data frame seem to have; keywords say what is known already.

        The task and the label are taken from usual names (`task`, `user`, ...; `label`, `y`, `target`, ...) where
        exactly one such field is there. Strings of several words are text; what looks like a date or an id is not used.

        Printed, it says what was found.

        >>> schema = Schema.infer([{"user": "ann", "body": "free money now", "label": "spam"}])
        >>> print(schema), schema == Schema(task="user", label="label", text=["body"])
        task: user; label: label; 1 text
        (None, True)
        """
        found = infer(source, cls(**told).to_json())
        return cls(**found.roles)._with_summary(found)

    def _with_summary(self, found: Found) -> "Schema":
        """This schema, which tells what was found when it is printed."""
        object.__setattr__(self, "_summary", self.summary(found))
        return self

    def summary(self, found: Found) -> str:
        """In one line what the fields are, and how many features of which kind were found."""
        kinds = list(found.kinds.values())
        counts = [f"{kinds.count(kind)} {kind}" for kind in ("numeric", "category", "text") if kind in kinds]
        labels = f" ({', '.join(str(plain_label(label)) for label in found.labels)})" if len(found.labels) == 2 else ""
        parts = [f"task: {_shown(self.task)}", f"label: {_shown(self.label)}{labels}"]
        parts.append(", ".join(counts) or "no features")
        named = {role: getattr(self, role) for role in ("id", "time", "weight", "round")}
        parts += [f"{role}: {name}" for role, name in named.items() if name]
        return "; ".join(parts + ([f"ignored: {', '.join(self.ignore)}"] if self.ignore else []))

    def to_json(self) -> dict[str, Any]:
        """What JSON can hold; fields that have their default are left out."""
        usual = {field.name: field.default for field in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if value != usual[name] or type(value) is not type(usual[name])
        }

    @classmethod
    def from_json(cls, data: object) -> "Schema":
        """The schema that `to_json` wrote; ValueError if it is not one."""
        if not isinstance(data, dict):
            raise ValueError("the schema is not an object")
        known = {field.name for field in fields(cls)}
        for name in data:
            if name not in known:
                raise ValueError(f"the schema has an entry {name!r} that this weft does not know")
        return cls(**data)

    def difference(self, other: "Schema") -> str:
        """In what this schema differs from another one, in words; empty if they are equal.

        >>> Schema(task="user", text=["a"]).difference(Schema(task="user", text=["a", "b"]))
        'text is a, not a, b'
        """
        return "; ".join(
            f"{field.name} is {_shown(getattr(self, field.name))}, {_instead(getattr(other, field.name))}"
            for field in fields(self)
            if not _is_same(getattr(self, field.name), getattr(other, field.name))
        )

    def options(self) -> list[str]:
        """The words that say the same on the command line.

        >>> Schema(task="user", label="label", text=["subject", "body"]).options()
        ['--task', 'user', '--label', 'label', '--text', 'subject,body']
        """
        words: list[str] = []
        for name, value in self.to_json().items():
            text = _comma_list(value) if isinstance(value, list) else value
            words += [f"--{name.replace('_', '-')}", text if isinstance(text, str) else json.dumps(text)]
        return words

    def __str__(self) -> str:
        if self._summary:
            return self._summary
        shown = {"ignore": "ignored", "features": "only"}
        return "; ".join(f"{shown.get(name, name)}: {_shown(value)}" for name, value in self.to_json().items())


def nearest(name: str, known: Iterable[str], what: str = "fields") -> str:
    """A remedy for a name that is not there: similar ones, or what there is."""
    known = sorted({*known})
    close = difflib.get_close_matches(name, known, 3)
    if close:
        return f"did you mean {', '.join(close)}?"
    shown = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
    return f"the {what} are {shown}" if known else f"there are no {what}"


def as_schema(schema: Any, keywords: Mapping[str, Any]) -> Schema:
    """A schema that was given as one, or by its keywords."""
    known = [field.name for field in fields(Schema)]
    for name in keywords:
        if name not in known:
            raise TypeError(f"a schema has no keyword {name!r}; {nearest(name, known, 'keywords')}")
    if schema is None:
        return Schema(**keywords)
    if not isinstance(schema, Schema):
        raise ValueError(
            f"schema is a {type(schema).__name__}; give a weft.Schema, or its keywords (task=, label=, ...)"
        )
    if keywords:
        raise ValueError(f"give a schema or keywords, not both ({', '.join(keywords)})")
    return schema


def _names(what: str, value: Any) -> tuple[str, ...]:
    """A list of names of fields; one string is a list of one."""
    found = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else None
    if found is None or not all(isinstance(name, str) and name for name in found):
        raise ValueError(f"{what}={value!r} is not a list of names of fields; give strings")
    return found


def _is_same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _instead(value: Any) -> str:
    return "where none was given" if _is_none(value) else f"not {_shown(value)}"


def _is_none(value: Any) -> bool:
    return value is None or value == () or value == []


def _shown(value: Any) -> str:
    if _is_none(value):
        return "not given"
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def _comma_list(names: list[str]) -> str:
    """Names with commas between; a name with a comma is quoted as in CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(names)
    return out.getvalue()
