"""Events that come in columns instead of lines: cut into chunks between rounds, with the same checks as lines."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from weft.storage.lexicon import Lexicon
from weft.streams.checks import Checks
from weft.streams.chunk import Chunk, Meaning
from weft.streams.events import Events, joined
from weft.streams.records import Fault, InputError, Rules
from weft.streams.source import Position


class Piece(NamedTuple):
    """Some rows of a file: events, whose lines are the numbers of rows from 1 on, and rows that cannot be used."""

    events: Events
    faults: list[Fault]
    rows: int
    """Rows of the file up to the end of this piece."""


class Columns(Protocol):
    """A file of events in columns."""

    name: str
    tasks: Lexicon
    features: Lexicon | None
    labels: Lexicon
    rows: int
    """Of the whole file."""

    def pieces(self) -> Iterator[Piece]:
        """All rows; called once."""

    def digest(self, rows: int) -> str:
        """Of what the first rows were read from."""


class TableReader:
    """Cuts columns into chunks."""

    def __init__(self, columns: Columns, rules: Rules, size: int, skip: bool) -> None:
        self.columns = columns
        self.rules = rules
        self.size = max(1, size)
        self.skip = skip
        self.checks = Checks(rules)
        self.used = 0

    def skip_to(self, start: Position) -> bool:
        """Pass over the rows used before; is the file still the same?"""
        if start.lines > self.columns.rows or self.columns.digest(start.lines) != start.digest:
            return False
        self.used = start.lines
        return True

    def chunks(self) -> Iterator[Chunk]:
        """The chunks of what is left."""
        found, faults = 0, []
        for chunk in self._chunks():
            found += len(chunk)
            faults += chunk.skipped
            yield chunk
        if not found and not self.used and faults:
            raise InputError(f"{self.columns.name}: all {len(faults)} rows were skipped; the first is {faults[0]}")
        if not found and not self.columns.rows:
            raise InputError(f"{self.columns.name}: the stream is empty; give at least one event")

    def _chunks(self) -> Iterator[Chunk]:
        rest: list[Events] = []
        waiting: list[Fault] = []
        for piece in self.columns.pieces():
            if piece.rows <= self.used or (piece.events.line[:1] <= self.used).any():
                piece = self._unused(piece)
            waiting = sorted([*waiting, *piece.faults])
            try:
                events = joined([*rest, piece.events]) if rest else piece.events
                events, found = self.checks.of(events, self.columns.tasks, self.columns.labels)
            except ValueError as error:  # labels that do not tell the classes; what is wrong with a row comes first
                reason = f"{self.columns.name}, {waiting[0].at('row')}" if waiting and not self.skip else None
                raise InputError(reason or f"{self.columns.name}: {error}") from None
            waiting = sorted([*waiting, *found])
            if waiting and not self.skip:
                if self.rules.only_scores:
                    stop = int(np.searchsorted(events.line, waiting[0].line))
                    for begin in range(0, stop, self.size):
                        end = min(begin + self.size, stop)
                        yield self._chunk(events.part(begin, end), [], int(events.line[end - 1]))
                raise InputError(f"{self.columns.name}, {waiting[0].at('row')}")
            begin, is_last = 0, piece.rows == self.columns.rows
            for end, rows in self._bounds(events, piece.rows, is_last):
                faults = [fault for fault in waiting if fault.line <= rows]
                waiting = waiting[len(faults) :]
                if end > begin or faults:
                    yield self._chunk(events.part(begin, end), faults, rows)
                begin = end
            rest = [events.part(begin, len(events))] if begin < len(events) else []

    def _unused(self, piece: Piece) -> Piece:
        """What was not used before; rounds that were are remembered."""
        at = int(np.searchsorted(piece.events.line, self.used, side="right"))
        self.checks.end_rounds(piece.events.part(0, at))
        faults = [fault for fault in piece.faults if fault.line > self.used]
        return Piece(piece.events.part(at, len(piece.events)), faults, piece.rows)

    def _bounds(self, events: Events, rows: int, is_last: bool) -> list[tuple[int, int]]:
        """Where chunks end: after how many events, and after how many rows of the file."""
        if events.rounds is None:
            ends = [*range(self.size, len(events), self.size), len(events)]
        else:
            starts = [i for i in range(1, len(events)) if events.rounds[i] != events.rounds[i - 1]]
            ends, before = [], 0
            for at, further in zip(starts, [*starts[1:], len(events) if is_last else 0], strict=True):
                if further == 0 or further - before > self.size:
                    ends.append(at)
                    before = at
            if is_last:
                ends.append(len(events))
        return [(end, int(events.line[end]) - 1 if end < len(events) else rows) for end in ends]

    def _chunk(self, events: Events, faults: list[Fault], rows: int) -> Chunk:
        self.checks.end_rounds(events)
        return Chunk(
            events,
            self.columns.tasks,
            self.columns.features,
            faults,
            Position(rows, self.columns.digest(rows)),
            rows / self.columns.rows if self.columns.rows else None,
            self.rules.target,
            self.rules.labels,
            meaning=Meaning(self.columns.labels, self.checks.classes, self.rules.schema),
        )


def row_numbers(first: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The numbers of rows from 1 on, of which the first one is number `first` + 1."""
    return np.arange(first + 1, first + count + 1)
