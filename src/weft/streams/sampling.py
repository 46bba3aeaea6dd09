"""The first records of a file, to see what its fields are."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from weft.kinds.frames import as_frame, frame_records
from weft.streams.arrow import ArrowFile
from weft.streams.csv_cells import Cells
from weft.streams.formats import WITH_FIELDS, format_of
from weft.streams.jsonl import FIELDS
from weft.streams.record_lines import csv_value, json_record
from weft.streams.records import Refused
from weft.streams.source import STANDARD_INPUT, Source

SAMPLE = 1000
"""Records, at most."""
_BYTES = 1 << 20


class Sample(NamedTuple):
    """Some records; and whether they are events that need no schema."""

    records: list[Mapping[str, Any]]
    is_plain: bool


def sample(path: str, format: str | None, task: str, label: str, cells: Cells) -> Sample | None:
    """The first records of a file; None if it has a format without fields. Standard input is not looked at.

    Events that need no schema have task, x and y in JSON lines; in tables the columns `task` and `label`, and numbers
    in all others. `cells` splits the lines of CSV.
    """
    if path == STANDARD_INPUT or not os.path.isfile(path):
        return Sample([], is_plain=True)
    kind = format_of(path, format)
    if kind not in WITH_FIELDS:
        return None
    if kind in ("parquet", "arrow"):
        records = _arrow_records(path, kind)
        return Sample(records, _is_plain_table(records, task, label))
    with Source(path) as source:
        lines = _lines(source)
    if kind == "jsonl":
        records = _json_records(lines)
        return Sample(records, not records or any(map(_is_event, records)))
    if kind == "tsv" and not cells.separator:
        cells.separator = "\t"
    records = _csv_records(lines, cells)
    return Sample(records, _is_plain_table(records, task, label))


def _lines(source: Source) -> list[bytes]:
    """The first lines that are whole."""
    room, have = memoryview(bytearray(_BYTES)), 0
    while have < _BYTES and (count := source.readinto(room[have:])):
        have += count
    text = bytes(room[:have]).removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines = text.splitlines(keepends=True)
    return lines if have < _BYTES else lines[:-1]


def _json_records(lines: list[bytes]) -> list[Mapping[str, Any]]:
    """What is wrong with a line is said when the file is read."""
    found: list[Mapping[str, Any]] = []
    for line in lines:
        if line.strip() and len(found) < SAMPLE:
            try:
                found.append(json_record(line))
            except Refused:
                continue
    return found


def _csv_records(lines: list[bytes], cells: Cells) -> list[Mapping[str, Any]]:
    waiting = b""
    found: list[Mapping[str, Any]] = []
    for line in lines:
        waiting += line
        if not waiting.strip() or (cells.header and not cells.is_closed(waiting)) or len(found) == SAMPLE:
            continue
        try:
            values, waiting = cells.split(waiting), b""
            if cells.header:
                comma = cells.decimal_comma
                found.append({name: csv_value(v, None, comma) for name, v in zip(cells.header, values, strict=True)})
            else:
                cells.header = cells.read_header(values)
        except Refused:
            waiting = b""
            if not cells.header:
                break
    return found


def _arrow_records(path: str, format: str) -> list[Mapping[str, Any]]:
    file = ArrowFile(path, format)
    for batch in file.batches():
        return list(frame_records(as_frame(file.arrow.Table.from_batches([batch.slice(0, SAMPLE)]))))
    return []


def _is_event(record: Mapping[str, Any]) -> bool:
    return "task" in record and isinstance(record.get("x"), dict | list) and set(record) <= set(FIELDS)


def _is_plain_table(records: list[Mapping[str, Any]], task: str, label: str) -> bool:
    """Are there a task, and numbers in all columns but the round?"""
    if not records or task not in records[0] or label not in records[0]:
        return not records
    special = {task, "round"}
    return all(
        value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        for record in records
        for name, value in record.items()
        if name not in special
    )
