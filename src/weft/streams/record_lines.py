"""Careful readers of records with a schema: lines of JSON, and rows of CSV, as events."""

import json
import re
from collections.abc import Mapping
from typing import Any

from weft.encoding.careful import Encoder, Event
from weft.encoding.collected import expect_fields
from weft.kinds.cells import cell_value
from weft.schema import Schema
from weft.streams.csv_cells import Cells
from weft.streams.records import MOST_DIGITS, Block, Fault, Refused, name_of, show

_KEYS = re.compile(rb'"[ \t\r\n]*:')
_NAMES = frozenset(("task", "id", "round"))
_AS_WRITTEN = frozenset(("text", "category"))


class RecordBlock:
    """Collects the events of lines."""

    def __init__(self, schema: Schema) -> None:
        self.block = Block()
        self._encoder = Encoder(schema)
        self._has_rounds, self._has_weights = schema.round is not None, schema.weight is not None
        self._has_ids = schema.id is not None

    def add(self, number: int, record: Mapping[str, Any]) -> None:
        """Take the record of a line; Refused if it cannot be used."""
        event: Event = self._encoder.event(record)
        block = self.block
        block.lines.append(number)
        block.tasks.append(event.task)  # type: ignore[arg-type]  # the encoder was asked for it
        block.labels.append(event.label)
        block.rows.append(event.features)
        block.fields.update(event.fields)
        if self._has_weights:
            block.weights.append(event.weight)
        if self._has_ids:
            block.ids.append(event.id)
        if self._has_rounds:
            block.rounds.append(event.round)

    def refuse(self, number: int, refused: Refused) -> None:
        """Note that a line cannot be used."""
        self.block.faults.append(Fault(number, refused.field, refused.reason))


class JsonRecords:
    """JSON lines: an object per line, flat or nested."""

    is_ready = True

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.has_rounds = schema.round is not None

    def parse(self, numbers: list[int], lines: list[bytes]) -> Block:
        """The events of lines, given with their numbers."""
        found = RecordBlock(self.schema)
        for number, line in zip(numbers, lines, strict=True):
            if line.strip():
                try:
                    found.add(number, json_record(line))
                except Refused as refused:
                    found.refuse(number, refused)
        return found.block


def json_record(line: bytes) -> dict[str, Any]:
    """The record in a line of JSON."""
    try:
        text = line.decode().removeprefix("\ufeff")  # of bytes, `json` would guess that some are UTF-16
        record = json.loads(text)
        if record.__class__ is not dict or not _has_each_key_once(line, len(record)):
            record = json.loads(text, object_pairs_hook=_once)
        if b"\\u" in line:
            json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Refused(None, r"a \u escape is one half of a character; write both halves, or the character") from None
    except UnicodeDecodeError:
        raise Refused(None, "the line is not UTF-8; write the file in UTF-8") from None
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()) or "Unterminated" in error.msg:
            end = show(text.rstrip()[-20:])
            raise Refused(
                None, f"the line ends in the middle of a record, after {end}; write the complete record"
            ) from None
        raise Refused(None, f"not JSON at column {error.colno} ({error.msg}); write one record per line") from None
    except ValueError:  # Python reads integers of a few thousand digits only
        raise Refused(None, f"an integer has more than {MOST_DIGITS} digits; write it as a string, or as 1e9") from None
    except RecursionError:
        raise Refused(None, "the line is nested too deeply; write flatter records") from None
    if not isinstance(record, dict):
        lines = ", one per line and without brackets around them" if isinstance(record, list) else ""
        raise Refused(None, f'{show(record)} is not a record; write {{"field": value, ...}}{lines}')
    return record


def _has_each_key_once(line: bytes, keys: int) -> bool:
    """Is it certain? Every key has a colon behind its quote: with as many of these as keys, none is there twice."""
    return line.count(b":") == keys or len(_KEYS.findall(line)) == keys


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise Refused(twice, "the field appears twice; keep one of them")
    return found


class CsvRecords:
    """CSV with a header: true and false in any case are booleans, numbers are numbers, an empty cell is missing."""

    def __init__(
        self,
        schema: Schema,
        separator: str = "",
        decimal: str | None = None,
        needs_label: bool = True,
        only_task: bool = False,
    ) -> None:
        """`needs_label`, `only_task`: which columns the header must have, see `expect_fields`."""
        self.schema = schema
        self.cells = Cells(separator, next(iter(schema.task_fields), None), decimal)
        self.has_rounds = schema.round is not None
        self._needs_label, self._only_task = needs_label, only_task
        self._roles = schema.roles

    @property
    def is_ready(self) -> bool:
        """Whether the header was read."""
        return bool(self.cells.header)

    def parse(self, numbers: list[int], lines: list[bytes]) -> Block:
        """The events of rows, given with the numbers of their first lines."""
        found = RecordBlock(self.schema)
        for number, line in zip(numbers, lines, strict=True):
            if not line.strip():
                continue
            try:
                cells = self.cells.split(line)
                if self.is_ready:
                    found.add(number, self.record(cells))
                else:
                    self._read_header(cells)
            except Refused as refused:
                found.refuse(number, refused)
                found.block.is_useless = not self.is_ready
        return found.block

    def _read_header(self, cells: list[str]) -> None:
        header = self.cells.read_header(cells)
        try:
            expect_fields(self.schema, header, "the header has no column", self._needs_label, self._only_task)
        except ValueError as error:
            raise Refused(None, str(error)) from None
        self.cells.header = header

    def record(self, cells: list[str]) -> dict[str, Any]:
        """The record of a row."""
        return {
            name: csv_value(cell, self._roles.get(name), self.cells.decimal_comma)
            for name, cell in zip(self.cells.header, cells, strict=True)
        }


def csv_value(cell: str, role: str | None, decimal_comma: bool) -> Any:
    """What a cell means in a field with that role.

    >>> csv_value("007", "category", False), csv_value("007", "task", False), csv_value("007", None, False)
    ('007', '007', 7.0)
    """
    if role in _NAMES:
        return name_of(cell.strip())
    if role in _AS_WRITTEN:
        text = cell.strip()
        return text.lower() if role == "category" and text.lower() in ("true", "false") else text
    return cell_value(cell, decimal_comma)
