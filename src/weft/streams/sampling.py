"""The first records of a file, to see what its fields are."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from weft.kinds.frames import as_frame, frame_records
from weft.streams.arrow import ArrowFile
from weft.streams.csv_cells import Cells
from weft.streams.formats import WITH_FIELDS, format_of
from weft.streams.jsonl import FIELDS
from weft.streams.recognition import by_lines, refuse_table
from weft.streams.record_lines import csv_value, json_record
from weft.streams.records import Fault, Refused
from weft.streams.source import STANDARD_INPUT, Source

SAMPLE = 1000
"""Records, at most."""
FROM_INPUT = 100
"""Lines of standard input that are waited for."""
_BYTES = 1 << 20


class Sample(NamedTuple):
    """Some records; whether they need no schema; and if there are none, what is wrong with the first of them."""

    records: list[Mapping[str, Any]]
    is_plain: bool
    fault: Fault | None = None
    stopped: KeyboardInterrupt | None = None
    """The signal that ended waiting for more of them."""


def sample(path: str, format: str | None, task: str, label: str, cells: Cells) -> Sample | None:
    """The first records of a file or of standard input; None if it has a format without fields. Pipes with a name are
    not looked at.

    Events that need no schema have task, x and y in JSON lines; in tables the columns `task` and `label`, and numbers
    in all others. `cells` splits the lines of CSV.
    """
    if path == STANDARD_INPUT:
        kind, lines, stopped = _first_lines(format)
        if kind not in WITH_FIELDS:
            return None
        return _sampled(kind, lines, task, label, cells)._replace(stopped=stopped)
    if not os.path.isfile(path):
        return Sample([], is_plain=True)
    kind = format_of(path, format)
    if kind not in WITH_FIELDS:
        return None
    if kind in ("parquet", "arrow"):
        records = _arrow_records(path, kind)
        return Sample(records, _is_plain_table(records, task, label))
    with Source(path) as source:
        lines = _lines(source)
    return _sampled(kind, lines, task, label, cells)


def _sampled(kind: str, lines: list[bytes], task: str, label: str, cells: Cells) -> Sample:
    if kind == "jsonl":
        records, fault = _json_records(lines)
        return Sample(records, not records or any(map(_is_event, records)), fault)
    if kind == "tsv" and not cells.separator:
        cells.separator = "\t"
    records, fault = _csv_records(lines, cells)
    if cells.header and not records:
        return Sample(records, task in cells.header and label in cells.header, fault)
    return Sample(records, _is_plain_table(records, task, label), fault)


def _first_lines(format: str | None) -> tuple[str, list[bytes], KeyboardInterrupt | None]:
    """The format of standard input, and its first lines; one of them is enough if it needs no schema.

    A signal ends waiting for more lines; whoever learns those that came stops behind them.
    """
    stopped = None
    with Source(STANDARD_INPUT) as source:
        head = source.look_ahead(lambda ahead: b"\n" in ahead.lstrip(), _BYTES)
        refuse_table(head, format)
        kind = format or by_lines(head) or "jsonl"
        is_event = kind == "jsonl" and any(map(_is_event, _json_records(_split(head))[0]))
        if kind in WITH_FIELDS and not is_event:
            try:
                head = source.look_ahead(lambda ahead: ahead.count(b"\n") > FROM_INPUT, _BYTES)
            except KeyboardInterrupt as signal:
                stopped = signal
                head = source.look_ahead(lambda ahead: ahead.count(b"\n") >= head.count(b"\n"), _BYTES)
    is_cut = not head.endswith(b"\n") and (head.count(b"\n") > FROM_INPUT or stopped is not None)
    return kind, _split(head)[:-1] if is_cut else _split(head), stopped


def _lines(source: Source) -> list[bytes]:
    """The first lines that are whole."""
    room, have = memoryview(bytearray(_BYTES)), 0
    while have < _BYTES and (count := source.readinto(room[have:])):
        have += count
    lines = _split(bytes(room[:have]))
    return lines if have < _BYTES else lines[:-1]


def _split(content: bytes) -> list[bytes]:
    text = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return text.splitlines(keepends=True)


def _json_records(lines: list[bytes]) -> tuple[list[Mapping[str, Any]], Fault | None]:
    """Records, and what is wrong with the first line if there are none; else that is said when the file is read."""
    found: list[Mapping[str, Any]] = []
    fault: Fault | None = None
    for number, line in enumerate(lines, 1):
        if line.strip() and len(found) < SAMPLE:
            try:
                found.append(json_record(line))
            except Refused as refused:
                fault = fault or Fault(number, refused.field, refused.reason)
    return found, None if found else fault


def _csv_records(lines: list[bytes], cells: Cells) -> tuple[list[Mapping[str, Any]], Fault | None]:
    waiting, first = b"", 1
    found: list[Mapping[str, Any]] = []
    fault: Fault | None = None
    for number, line in enumerate(lines, 1):
        first = first if waiting else number
        waiting += line
        if not waiting.strip():
            waiting = b""
        if not waiting or (cells.header and not cells.is_closed(waiting)) or len(found) == SAMPLE:
            continue
        try:
            values, waiting = cells.split(waiting), b""
            if cells.header:
                comma = cells.decimal_comma
                found.append({name: csv_value(v, None, comma) for name, v in zip(cells.header, values, strict=True)})
            else:
                cells.header = cells.read_header(values)
        except Refused as refused:
            fault, waiting = fault or Fault(first, refused.field, refused.reason), b""
            if not cells.header:
                break
    if waiting.strip() and fault is None:
        fault = Fault(first, None, "a quoted cell is not closed; close it, and double quotes within cells")
    return found, None if found else fault


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
