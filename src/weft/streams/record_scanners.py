"""Scanners of records with a schema: compiled code reads the common form, the careful reader all other lines."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from weft.compiled.jit import PLAIN
from weft.encoding.careful import LARGEST_WEIGHT
from weft.schema import Schema
from weft.storage.batch import LARGEST
from weft.streams.blocks import LONGEST_LINE, Blocks
from weft.streams.events import Events
from weft.streams.record_lines import CsvRecords, JsonRecords
from weft.streams.record_names import RecordNames
from weft.streams.records import name_of
from weft.streams.scanners import Line, Scanned, lines_within, list_lines, list_records


class JsonRecordScanner:
    """JSON lines with a schema."""

    def __init__(self, parser: JsonRecords) -> None:
        self._parser = parser
        self._names = RecordNames(parser.schema)
        self.tasks, self.features, self.labels = self._names.tasks, self._names.features, self._names.labels
        self._run = None if PLAIN else RecordScan(parser.schema, self._names)

    def scan(self, blocks: Blocks, begin: int) -> Scanned:
        """Read the lines of a block from byte `begin` on."""
        if self._run is None:
            return list_lines(blocks, begin, self._parser.has_rounds)
        from weft.scan.record_lines import scan

        return self._run.run(scan, blocks, begin)


class CsvRecordScanner:
    """CSV with a schema; the careful reader has read the header."""

    def __init__(self, parser: CsvRecords) -> None:
        self._parser = parser
        self._names = RecordNames(parser.schema)
        self.tasks, self.features, self.labels = self._names.tasks, self._names.features, self._names.labels
        self._run = None if PLAIN else RecordScan(parser.schema, self._names, lambda text: name_of(text.decode()))

    def scan(self, blocks: Blocks, begin: int) -> Scanned:
        """Read the rows of a block from byte `begin` on."""
        is_open = not blocks.is_last and blocks.end - begin <= LONGEST_LINE
        if self._run is None:
            return list_records(blocks, begin, self._parser, is_open)
        from weft.scan.record_table import scan

        cells = self._parser.cells
        self._names.use_columns(cells.header)
        scanned = self._run.run(scan, blocks, begin, (ord(cells.separator), cells.decimal_comma, is_open))
        events = scanned.events
        joints = [
            line + further
            for line, lines in zip(events.line.tolist(), events.width.tolist(), strict=True)
            for further in range(1, lines + 1)
        ]
        return scanned._replace(
            joints=lines_within(blocks, scanned.listed).union(joints),
            events=replace(events, width=np.zeros(len(events), np.int64)),
        )


class RecordScan:
    """Calls a compiled reader of records until it has read a block; what it lacks is provided in between."""

    def __init__(self, schema: Schema, names: RecordNames, round_of: Callable[[bytes], Any] = json.loads) -> None:
        self._schema = schema
        self._round_of = round_of
        self._names = names
        self._room = 0
        self._columns: Any = None
        self._further: Any = None

    def run(self, scan: Any, blocks: Blocks, begin: int, *more: Any) -> Scanned:
        """Read a block from byte `begin` on; the compiled reader is given `more` as well."""
        from weft.scan.columns import AT, LINES, LISTED
        from weft.scan.records import IDS, NEW_FIELD, Form
        from weft.scan.text import NEEDS_LETTERS, NO_ROOM

        self._make_room(blocks.end)
        schema, names = self._schema, self._names
        columns, further = self._columns, self._further
        columns.progress[:] = 0
        columns.progress[AT], further.counts[IDS] = begin, 0
        parts, rounds, ids = len(schema.task_fields), schema.round is not None, schema.id is not None
        bounds = LARGEST, LARGEST_WEIGHT
        while True:
            form = Form(parts, schema.ngrams, rounds, ids, names.is_open, *bounds)
            missing = scan(blocks.text, blocks.end, columns, further, names.tables, names.meaning, form, *more)
            if missing == NEW_FIELD:
                self._add_fields(blocks)
            elif missing == NEEDS_LETTERS:
                names.add_letters()
            elif missing == NO_ROOM:
                names.grow()
            else:
                break
        names.update()
        progress = columns.progress
        listed = [Line(*row) for row in columns.listed[: progress[LISTED]].tolist()]
        return Scanned(self._events(blocks), listed, int(progress[AT]), int(progress[LINES]))

    def _make_room(self, size: int) -> None:
        from weft.scan.columns import new_columns
        from weft.scan.records import new_further

        if self._room < size:
            self._room = max(size, 2 * self._room)
            self._columns = new_columns(self._room, self._schema.round is not None, self._schema.ngrams)
            self._further = new_further(self._room, len(self._schema.task_fields))

    def _add_fields(self, blocks: Blocks) -> None:
        """Add all fields of the line that has new ones."""
        from weft.scan.columns import AT
        from weft.scan.records import KEY_AT, KEY_LENGTH

        begin, at, length = (
            int(number)
            for number in (
                self._columns.progress[AT],
                self._further.counts[KEY_AT],
                self._further.counts[KEY_LENGTH],
            )
        )
        try:
            record = json.loads(blocks.content(begin, blocks.end_of_line(begin)))
        except (ValueError, RecursionError):
            record = None  # the careful reader says why
        known = record if isinstance(record, dict) else {}
        for name, value in known.items():
            self._names.add_field(name.encode("utf-8", "surrogatepass"), isinstance(value, str))
        self._names.add_field(blocks.content(at, at + length), is_named=True)

    def _events(self, blocks: Blocks) -> Events:
        from weft.scan.columns import ENTRIES, EVENTS
        from weft.scan.records import IDS

        schema, columns, further = self._schema, self._columns, self._further
        n, entries = int(columns.progress[EVENTS]), int(columns.progress[ENTRIES])
        rows = columns.indptr[: n + 1], columns.indices[:entries], columns.values[:entries]
        ids = further.ids[: max(0, int(further.counts[IDS]) - 1)].tobytes()
        return Events(
            columns.line[:n],
            columns.label[:n],
            columns.task[:n],
            *self._names.used_rows(*rows),
            columns.width[:n],
            None if schema.round is None else self._rounds(blocks, n),
            None if schema.label is None else further.classes[:n],
            None if schema.weight is None else further.weight[:n],
            None if schema.id is None else msgspec.json.decode(b"[" + ids + b"]") or [None] * n,  # no column of ids
        )

    def _rounds(self, blocks: Blocks, n: int) -> list[Any]:
        at, length = self._columns.round_at[:n].tolist(), self._columns.round_length[:n].tolist()
        text, known = blocks.content(0, blocks.end), dict[bytes, Any]()
        rounds = []
        for begin, count in zip(at, length, strict=True):
            word = text[begin : begin + count]
            if word not in known:
                known[word] = self._round_of(word)
            rounds.append(known[word])
        return rounds
