"""Options that say what the fields of records are, and what a file seems to hold where they do not say it."""

import csv
import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from weft.schema import Schema

_LISTS = ("task", "text", "category", "numeric", "ignore", "features")
_HELP = {
    "positive": ("VALUE", "Label of the positive class.  [default: the larger one when sorted]"),
    "text": ("FIELDS", "Fields that are split into words, with commas between."),
    "category": ("FIELDS", "Fields whose values are names; strings are categories without being told."),
    "numeric": ("FIELDS", "Fields that must be numbers; numbers are numeric without being told."),
    "ignore": ("FIELDS", "Fields that are not used."),
    "features": ("FIELDS", "The only fields to use, instead of --ignore."),
    "id": ("FIELD", "Field that identifies a record; it is repeated beside its prediction."),
    "time": ("FIELD", "Field with the time, which is not a feature."),
    "weight": ("FIELD", "Field with the importance of a record, a number from 0 on."),
    "round": ("FIELD", "Field with the round; records of one round are scored before any of them is learned."),
    "ngrams": ("N", "2 adds pairs of neighbouring words to the words of texts."),
    "hash-bits": ("BITS", "Hash features into 2^BITS names."),
}
NAMES = tuple(name.replace("-", "_") for name in _HELP)


def schema_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add all options but --task and --label, which other formats have as well."""
    for name, (metavar, text) in reversed(_HELP.items()):
        kind = int if name in ("ngrams", "hash-bits") else str
        function = click.option(f"--{name}", f"told_{name.replace('-', '_')}", type=kind, metavar=metavar, help=text)(
            function
        )
    return function


def told_fields(given: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a schema that the options say; those options are removed from `given`."""
    told = {name: given.pop(f"told_{name}") for name in NAMES}
    return {name: _value(name, value) for name, value in told.items() if value is not None}


def _value(name: str, value: Any) -> Any:
    if name in _LISTS:
        return split_names(value)
    return _label(value) if name == "positive" else value


def split_names(text: str) -> list[str]:
    """Names with commas between; a name with a comma is quoted as in CSV."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), []) if name.strip()]


def _label(text: str) -> Any:
    """A label as it is typed: true, false or a number in JSON, else a text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float | str) else text


@dataclass(frozen=True)
class Fields:
    """What is known of the fields of files: the schema, None if there is none; and what to tell the user."""

    schema: "Schema | None" = None
    lines: tuple[str, ...] = ()
    labels: tuple[Any, ...] = ()


def find_fields(files: tuple[str, ...], reading: Any, model: Any) -> Fields:
    """The schema of files: that of the model, that which options say, or that which the files seem to have.

    `model` is None if it is new.
    """
    told = reading.told
    if model is not None and model.schema is not None:
        _refuse_other(model.schema, told)
        return Fields(model.schema)
    if model is not None and model.tally.total["events"]:
        refuse_told(told)
        return Fields()
    from weft.streams.csv_cells import Cells
    from weft.streams.sampling import sample

    cells = Cells(reading.separator or "", reading.task_column, reading.decimal)
    sampled = sample(files[0], reading.format, reading.task_column, reading.label_column, cells)
    if sampled is None:  # a form of events that needs no schema
        refuse_told(told)
        return Fields()
    if sampled.is_plain and not reading.has_only_fields:
        return Fields()
    return _inferred(files[0], sampled.records, told)


def told_of(files: tuple[str, ...], reading: Any) -> Fields:
    """The same where there is no model yet; what was found is told."""
    from weft.cli.tables import tell

    fields = find_fields(files, reading, None)
    for line in fields.lines:
        tell(f"weft: {line}")
    return fields


def _inferred(file: str, records: list[Any], told: dict[str, Any]) -> Fields:
    from weft.encoding.collected import expect_fields, fields_of
    from weft.kinds.inference import infer_records
    from weft.schema import Schema

    if not records:  # standard input: nothing can be looked at before it is read
        return Fields(Schema(**told))
    given = Schema(**told)
    expect_fields(given, fields_of(records), f"{file} has no field", needs_label=True)
    found = infer_records(records, given.to_json())
    schema = Schema(**found.roles)
    for role in ("task", "label"):
        if getattr(schema, role) is None:
            names = ", ".join(dict.fromkeys(name for record in records[:20] for name in record))
            raise ValueError(f"which field is the {role}? name it with --{role}; the fields are {names}")
    lines = [summary(schema, found)]
    lines += [f"note: {remark}" for remark in found.remarks]
    if schema != given:
        lines.append(f"to say so yourself: {shlex.join(schema.options())}")
    return Fields(schema, tuple(lines), tuple(found.labels))


def summary(schema: "Schema", found: Any) -> str:
    """In one line what the fields are."""
    from weft.labels import plain_label
    from weft.names import show_name

    kinds = list(found.kinds.values())
    counts = [f"{kinds.count(kind)} {kind}" for kind in ("numeric", "category", "text") if kind in kinds]
    labels = f" ({', '.join(str(plain_label(label)) for label in found.labels)})" if len(found.labels) == 2 else ""
    parts = [
        f"task: {', '.join(schema.task_fields)}",
        f"label: {schema.label}{labels}",
        ", ".join(counts) or "no features",
    ]
    parts += [f"{role}: {getattr(schema, role)}" for role in ("id", "time", "weight", "round") if getattr(schema, role)]
    parts += [f"ignored: {', '.join(schema.ignore)}"] if schema.ignore else []
    return show_name("; ".join(parts))


def _refuse_other(schema: "Schema", told: dict[str, Any]) -> None:
    """A model keeps its schema: what is told must be what it is."""
    from weft.schema import Schema

    asked = Schema.from_json({**schema.to_json(), **told})
    if asked != schema:
        raise ValueError(
            f"the model was learned with another schema: {asked.difference(schema)}; leave these options out or choose "
            "another --model"
        )


def refuse_told(told: dict[str, Any]) -> None:
    rest = [name for name in told if name not in ("task", "label")]
    if rest:
        option = rest[0].replace("_", "-")
        raise ValueError(f"--{option} is for records with fields, which these events are not; leave it out")
