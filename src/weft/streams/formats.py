"""Files of events as chunks of a stream, whatever their format.

A chunk is some thousand events, cut between rounds, so learning chunk after chunk is learning the file. Events
that a model would refuse are refused here already, with file and line.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any, Literal

from weft.labels import UNKNOWN, Classes, LabelKind
from weft.schema import Schema
from weft.streams import csv, jsonl, svmlight, vw
from weft.streams.ahead import ahead
from weft.streams.arrow import ArrowColumns
from weft.streams.arrow_records import ArrowRecords
from weft.streams.blocks import Blocks
from weft.streams.chunk import Chunk, LastRound, together
from weft.streams.packed import Packed
from weft.streams.reader import Reader
from weft.streams.recognition import FORMATS, TABLES, by_lines, format_of, refuse_table
from weft.streams.record_lines import CsvRecords, JsonRecords
from weft.streams.record_scanners import CsvRecordScanner, JsonRecordScanner
from weft.streams.records import InputError, Rules
from weft.streams.scanners import CsvScanner, JsonScanner, SvmlightScanner, VwScanner
from weft.streams.source import Position, Source
from weft.streams.tables import TableReader

__all__ = [
    "CHUNK",
    "FORMATS",
    "Chunk",
    "LastRound",
    "Position",
    "SourceChanged",
    "format_of",
    "has_grown",
    "read_chunks",
    "read_whole",
]

WITH_FIELDS = ("jsonl", "csv", "tsv", "parquet", "arrow")
"""Formats of records with a schema; packed records have theirs with them."""
CHUNK = 4096
"""Most lines per chunk: enough to make the cost of a call negligible, few enough to stop quickly."""


class SourceChanged(InputError):
    """The lines of a source that were read before have changed."""


def read_chunks(
    source: str | os.PathLike[str],
    format: str | None = None,
    *,
    target: LabelKind = "binary",
    labels: bool = True,
    chunk: int = CHUNK,
    on_error: Literal["stop", "skip"] = "stop",
    start: Position | None = None,
    on_wait: Callable[[], None] = lambda: None,
    task_column: str = "task",
    label_column: str = "y",
    classes: Classes = UNKNOWN,
    schema: Schema | None = None,
    separator: str | None = None,
    decimal: str | None = None,
) -> Iterator[Chunk]:
    """Read a file of events; `-` is standard input, and what is compressed is unpacked.

    A chunk has at most `chunk` lines, unless a round is longer, and ends where a block of the file ends.

    target    what a label must be: "binary", "real", "class" for any number of classes, or "point" for
              learners that predict the row itself
    labels    False: events without a label are accepted, as when a model only scores them
    on_error  "stop" raises InputError at the first bad line; "skip" continues and lists it in `Chunk.skipped`
    start     the `Chunk.position` from which to continue; SourceChanged if the beginning of the file has changed
    on_wait   called several times a second while standard input or a pipe has nothing to read; it may raise
    classes   those that a model knows already (`Model.label_classes`)
    schema    what the fields of records are, in JSON lines, CSV, Parquet and Arrow
    separator, decimal  between the cells of CSV, and the decimal point; found in the header if they are not given
    """
    kind = format_of(source, format)
    label_name = label_column if kind in ("csv", "tsv", "parquet", "arrow") else "y"
    packed = Packed(_expect_file(source, kind)) if kind == "weftpack" else None
    if packed is not None:
        schema = _packed_schema(packed, schema)
    if schema is not None:
        _expect_records(kind)
        label_name = schema.label or "label"
    rules = Rules(target, labels, label_name, classes, schema)
    if kind in TABLES:
        table: Any = TableReader(
            packed or _columns(source, kind, rules, task_column, label_column), rules, chunk, on_error == "skip"
        )
        yield from _chunks(table, os.fspath(source), start, is_ahead=True)
        return
    with Source(source, on_wait) as content:
        if format is None and content.is_stdin:
            head = content.peek()
            refuse_table(head)
            kind = by_lines(head) or kind
        _expect_records(kind if schema is not None else "jsonl")
        cells = separator or ("\t" if kind == "tsv" else ""), decimal
        parser, scanner = _parser(kind, rules, task_column, label_column, cells)
        reader = Reader(Blocks(content), parser, scanner, rules, chunk, on_error == "skip")
        yield from _chunks(reader, content.name, start, is_ahead=content.is_file)


def line_reader(format: str, blocks: Blocks, rules: Rules, chunk: int, skip: bool) -> Reader:
    """A reader of lines that come from elsewhere than a file, where there may be none yet."""
    parser, scanner = _parser(format, rules, "task", "y", ("", None))
    reader = Reader(blocks, parser, scanner, rules, chunk, skip)
    reader.may_be_empty = True
    return reader


def _chunks(reader: Reader | TableReader, name: str, start: Position | None, is_ahead: bool) -> Iterator[Chunk]:
    if start is not None and not reader.skip_to(start):
        raise _changed(name, start)
    yield from (ahead(reader.chunks()) if is_ahead else reader.chunks())


def has_grown(source: str | os.PathLike[str], start: Position) -> bool:
    """Whether a file of lines has lines after that position; SourceChanged if those before it have changed."""
    with Source(source) as content:
        blocks = Blocks(content)
        if not blocks.skip_to(start):
            raise _changed(content.name, start)
        blocks.fill()
        return blocks.end > 0 or blocks.is_too_long


def _changed(name: str, start: Position) -> SourceChanged:
    return SourceChanged(
        f"{name} has changed in the {start.lines} lines that were read before; "
        "restore the old file, or start again from its first line"
    )


def read_whole(source: str | os.PathLike[str], format: str | None = None, **options: Any) -> Chunk:
    """A file of events as one chunk; options as in `read_chunks`."""
    return together(read_chunks(source, format, **options))


def _parser(
    format: str, rules: Rules, task_column: str, label_column: str, cells: tuple[str, str | None]
) -> tuple[Any, Any]:
    """The careful reader and the scanner of a format."""
    if rules.schema is not None:
        return _record_parser(format, rules, rules.schema, cells)
    if format in ("csv", "tsv"):
        table = csv.Parser(rules, task_column, label_column, *cells)
        return table, CsvScanner(table)
    if format == "jsonl":
        events = jsonl.Parser(rules)
        return events, JsonScanner(events)
    if format == "vw":
        lines = vw.Parser(rules, task_column)
        return lines, VwScanner(lines)
    return svmlight.Parser(rules), SvmlightScanner()


def _record_parser(format: str, rules: Rules, schema: Schema, cells: tuple[str, str | None]) -> tuple[Any, Any]:
    """The same for records with a schema."""
    if format == "jsonl":
        lines = JsonRecords(schema)
        return lines, JsonRecordScanner(lines)
    rows = CsvRecords(schema, *cells, rules.labels and rules.target != "point", rules.only_scores)
    return rows, CsvRecordScanner(rows)


def _expect_records(format: str) -> None:
    if format not in (*WITH_FIELDS, "weftpack"):
        raise InputError(
            f"the format {format} has no fields that a schema could name; leave the schema out, or write "
            f"{', '.join(WITH_FIELDS)}"
        )


def _packed_schema(packed: Packed, asked: Schema | None) -> Schema | None:
    """The schema of a packed file, which must be the one that is asked for, if one is."""
    origin = packed.origin
    if asked is None or (origin is not None and origin.schema == asked):
        return None if origin is None else origin.schema
    if origin is None:
        raise InputError(f"{packed.name} holds events without a schema; leave the schema out, or pack the records")
    raise InputError(
        f"{packed.name}: the packed records have another schema: {origin.schema.difference(asked)}; "
        "pack the records again, or use their schema"
    )


def _expect_file(source: str | os.PathLike[str], format: str) -> str:
    path = os.fspath(source)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no file {path}; {format} is read from a file")
    return path


def _columns(source: str | os.PathLike[str], format: str, rules: Rules, task_column: str, label_column: str) -> Any:
    """The columns of a Parquet or Arrow file."""
    path = _expect_file(source, format)
    needs_label = rules.labels and rules.target != "point"
    if rules.schema is not None:
        return ArrowRecords(path, format, rules.schema, needs_label, rules.only_scores)
    return ArrowColumns(path, format, task_column, label_column, needs_label)
