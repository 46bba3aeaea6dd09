"""Options that say what the fields of records are, and what a file seems to hold where they do not say it."""

import csv
import json
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
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
    stopped: KeyboardInterrupt | None = None
    """The signal that came while lines of standard input were waited for."""
    no_labels: str | None = None
    """Where nothing can be learned because the field of the label is always empty: what to say."""


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
    sampled = _sample(files[0], reading)
    if sampled is None:  # a form of events that needs no schema, or packed records, which have one
        return _packed(files[0], reading.format, told)
    if sampled.stopped is not None and not sampled.records:
        raise sampled.stopped
    if sampled.fault is not None:
        raise ValueError(f"{_shown(files[0])}, {sampled.fault}")
    if sampled.is_plain and not reading.has_only_fields:
        return Fields()
    if not sampled.records and not sampled.is_plain:
        raise ValueError(f"{_shown(files[0])}: the stream is empty; give at least one event")
    found = _inferred(files[0], sampled.records, told)
    for file in files[1:]:
        _expect_fit(file, reading, found.schema)
    return replace(found, stopped=sampled.stopped)


def _shown(file: str) -> str:
    return "standard input" if file == "-" else file


def _packed(file: str, format: str | None, told: dict[str, Any]) -> Fields:
    from weft.streams.packed import origin_of
    from weft.streams.recognition import format_of

    origin = origin_of(file) if format_of(file, format) == "weftpack" else None
    if origin is None:
        refuse_told(told)
        return Fields()
    _refuse_other(origin.schema, told, f"{file} was packed", "pack the records again")
    return Fields(origin.schema, (), origin.labels)


def _sample(file: str, reading: Any) -> Any:
    from weft.streams.csv_cells import Cells
    from weft.streams.sampling import sample

    cells = Cells(reading.separator or "", reading.task_column, reading.decimal)
    return sample(file, reading.format, reading.task_column, reading.label_column, cells)


def _expect_fit(file: str, reading: Any, schema: Any) -> None:
    """Refuse a further file that has not the fields of the schema, before anything is learned from the first one."""
    from weft.encoding.collected import expect_fields, fields_of

    sampled = _sample(file, reading) if file != "-" else None
    if sampled is not None and sampled.records:
        expect_fields(schema, fields_of(sampled.records), f"{file} has no field", needs_label=True)


def absent_fields(files: tuple[str, ...], reading: Any, schema: Any) -> tuple[str, ...]:
    """What to tell of files of records where none of the first has a field that the schema of a known model names."""
    from weft.encoding.collected import expect_fields, fields_of

    lines = list[str]()
    for file in files if schema is not None else ():
        sampled = _sample(file, reading) if os.path.isfile(file) else None
        if sampled is not None and sampled.records:
            try:
                expect_fields(schema, fields_of(sampled.records), f"{file} has no field", needs_label=True)
            except ValueError as error:
                lines.append(f"note: {error}")
    return tuple(lines)


def told_of(files: tuple[str, ...], reading: Any, quiet: bool = False) -> Fields:
    """The same where there is no model yet; what was found is told, unless that is not wanted."""
    from weft.cli.tables import tell

    fields = find_fields(files, reading, None)
    if fields.stopped is not None:
        raise fields.stopped
    for line in () if quiet else fields.lines:
        tell(f"weft: {line}")
    return fields


def _inferred(file: str, records: list[Any], told: dict[str, Any]) -> Fields:
    from weft.encoding.careful import value_at
    from weft.encoding.collected import expect_fields, fields_of
    from weft.kinds.inference import infer_records
    from weft.kinds.missing import is_missing
    from weft.names import show_name
    from weft.schema import Schema, nearest

    if not records:  # a pipe with a name, or nothing to look at
        return Fields(Schema(**told))
    given, shown = Schema(**told), _shown(file)
    names = fields_of(records)
    expect_fields(given, names, f"{shown} has no field", needs_label=True)
    _refuse_numbers_as_text(given, records, shown)
    found = infer_records(records, given.to_json())
    schema = Schema(**found.roles)
    for role in ("task", "label"):
        if getattr(schema, role) is None:
            inner = fields_of(records[:20])
            known = ", ".join(name for name in inner if not any(other.startswith(f"{name}.") for other in inner))
            raise ValueError(f"which field is the {role}? name it with --{role}; the fields are {known}")
    lines = [show_name(schema.summary(found))]
    lines += [f"note: {remark}" for remark in found.remarks]
    absent = [name for name in given.ignore if name not in names]
    lines += [f"note: there is no field {name!r} to ignore; {nearest(name, names)}" for name in absent]
    if schema != given:
        lines.append(f"to say so yourself: {shlex.join(schema.options())}")
    empty = None
    if all(is_missing(value_at(record, str(schema.label))) for record in records):
        rows = f"all of the first {len(records):,} records" if len(records) > 1 else "the only record"
        empty = f"{shown}: the field {schema.label!r}, the label, is empty in {rows}; name another with --label"
    return Fields(schema, tuple(lines), tuple(found.labels), no_labels=empty)


def _refuse_numbers_as_text(schema: "Schema", records: list[Any], shown: str) -> None:
    """A field that is named as text and holds nothing but numbers is hardly one."""
    from weft.encoding.careful import value_at
    from weft.kinds.missing import is_missing

    for name in schema.text:
        there = [value for value in (value_at(record, name) for record in records) if not is_missing(value)]
        if there and all(isinstance(value, int | float) for value in there):
            raise ValueError(
                f"{shown}: the field {name!r}, named as text, holds numbers such as {there[0]:g}; leave it out of "
                "--text, or list it under --category"
            )


def _refuse_other(
    schema: "Schema", told: dict[str, Any], who: str = "the model was learned", or_else: str = "choose another --model"
) -> None:
    """A model and packed records keep their schema: what is told must be what it is."""
    from weft.schema import Schema

    asked = Schema.from_json({**schema.to_json(), **told})
    if asked != schema:
        raise ValueError(f"{who} with another schema: {asked.difference(schema)}; leave these options out or {or_else}")


def refuse_told(told: dict[str, Any]) -> None:
    rest = [name for name in told if name not in ("task", "label")]
    if rest:
        option = rest[0].replace("_", "-")
        raise ValueError(f"--{option} is for records with fields, which these events are not; leave it out")
