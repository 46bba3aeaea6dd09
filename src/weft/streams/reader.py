"""Blocks of lines to chunks of a stream: compiled and careful readers together, checked, and cut between rounds."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from weft.streams.blocks import LONGEST_LINE, Blocks
from weft.streams.checks import Checks
from weft.streams.chunk import Chunk, LastRound, Meaning
from weft.streams.events import Events, by_line, encoded
from weft.streams.records import Block, Fault, InputError, Rules
from weft.streams.scanners import Scanned, Scanner, no_events
from weft.streams.source import Position


class Parser(Protocol):
    """The careful reader of a format: it reads single lines, or says what is wrong with them."""

    @property
    def is_ready(self) -> bool:
        """Is the form of the file known, so that compiled code can read it?"""

    @property
    def has_rounds(self) -> bool:
        """Do its events name their rounds?"""

    def parse(self, numbers: list[int], lines: list[bytes]) -> Block:
        """The records of lines, given with their numbers, and the faults of those that it refuses."""


class _Part(NamedTuple):
    """The lines of a buffer that were read: events and faults by the number of their line."""

    events: Events
    faults: list[Fault]
    end: int
    lines: int
    joints: frozenset[int] = frozenset()
    """Lines that continue a record; a chunk does not begin there."""


class Reader:
    """Cuts a source into chunks."""

    def __init__(self, blocks: Blocks, parser: Parser, scanner: Scanner, rules: Rules, size: int, skip: bool) -> None:
        self.blocks = blocks
        self.parser = parser
        self.scanner = scanner
        self.rules = rules
        self.size = max(1, size)
        self.skip = skip
        self.checks = Checks(rules)
        self.may_be_empty = False
        """Whether a source without events is not an error."""
        self._found = 0
        self._is_resumed = False
        self._waiting: list[Fault] = []  # faults that are listed with the next chunk

    def skip_to(self, start: Position) -> bool:
        """Pass over the lines used before; are they still the same?

        The first of them are parsed, to know the form of the file; all of them, if there are rounds.
        """
        blocks = self.blocks
        while blocks.used < start.lines:
            blocks.fill()
            if blocks.is_too_long and blocks.end == 0:
                blocks.skip_long_line()
                continue
            if blocks.end == 0:
                break
            if not self.parser.is_ready or self.parser.has_rounds:
                self.checks.end_rounds(self._read().events, start.lines)
            ends = blocks.line_ends()[: start.lines - blocks.used]
            if len(ends):
                blocks.use(int(ends[-1]), len(ends))
        return blocks.position == start

    def chunks(self) -> Iterator[Chunk]:
        """The chunks of what is left."""
        blocks = self.blocks
        self._is_resumed = blocks.used > 0
        while not (blocks.is_last and blocks.begin == blocks.end):
            blocks.fill()
            if blocks.end:
                yield from self._cut(self._read())
            if blocks.is_too_long and blocks.begin == blocks.end:
                self._refuse_long_line()
        if not (self._found or self._is_resumed or self.may_be_empty):
            self._refuse_empty()
        if self._waiting:
            yield self._chunk(no_events(self.parser.has_rounds), self._waiting)

    def _read(self) -> _Part:
        """Read the lines in the buffer."""
        blocks, parser = self.blocks, self.parser
        parts, faults, at, lines = [], [], blocks.begin, 0
        while not parser.is_ready and at < blocks.end:
            end = blocks.end_of_line(at)
            block = parser.parse([blocks.used + 1 + lines], [blocks.content(at, end)])
            if block.is_useless:
                raise InputError(f"{blocks.source.name}, {block.faults[0]}")
            faults += block.faults
            if block.lines:
                parts.append(self._encoded(block))
            if lines or block.lines or block.faults:
                lines += 1
            else:
                blocks.use(end, 1)  # a header is done with, and is not read again with a round that goes on
            at = end
        first = blocks.used + 1
        ready = parser.is_ready
        scanned = self.scanner.scan(blocks, at) if ready else Scanned(no_events(parser.has_rounds), [], at, 0)
        parts.append(replace(scanned.events, line=scanned.events.line + (first + lines)))
        if scanned.listed:
            numbers = [first + lines + line.number for line in scanned.listed]
            block = parser.parse(numbers, [blocks.content(line.begin, line.end) for line in scanned.listed])
            faults += block.faults
            parts.append(self._encoded(block))
        try:
            events, found = self.checks.of(by_line(parts), self.scanner.tasks, self.scanner.labels)
        except ValueError as error:  # labels that do not tell the classes; what is wrong with a line comes first
            reason = f"{blocks.source.name}, {min(faults)}" if faults and not self.skip else None
            raise InputError(reason or f"{blocks.source.name}: {error}") from None
        joints = frozenset(lines + line for line in scanned.joints)
        return _Part(events, sorted(faults + found), scanned.bytes, lines + scanned.lines, joints)

    def _encoded(self, block: Block) -> Events:
        scanner = self.scanner
        return encoded(block, scanner.tasks, scanner.features, self.parser.has_rounds, scanner.labels)

    def _cut(self, part: _Part) -> Iterator[Chunk]:
        """Chunks of at most `size` lines, or of one round; what may go on in later lines stays in the buffer."""
        first, ends, begin = self.blocks.used + 1, None, 0
        number = 0
        for line in self._bounds(part, first):
            if line == part.lines:
                end = part.end
            else:
                ends = self.blocks.line_ends() if ends is None else ends
                end = int(ends[line - 1])
            stop = int(np.searchsorted(part.events.line, first + line))
            faults = [fault for fault in part.faults if first + begin <= fault.line < first + line]
            if faults and not self.skip:
                yield from self._before(part, number, faults[0].line)
                raise InputError(f"{self.blocks.source.name}, {faults[0]}")
            last = self._last_round(part, number, stop) if line == part.lines else None
            self.blocks.use(end, first + line - 1 - self.blocks.used)
            yield from self._chunks_of(part.events.part(number, stop), faults, last)
            begin, number = line, stop

    def _before(self, part: _Part, number: int, line: int) -> Iterator[Chunk]:
        """Events from that number on that come before a line that is refused, where they only are to be scored."""
        stop = int(np.searchsorted(part.events.line, line))
        if self.rules.only_scores and stop > number:
            blocks, lines = self.blocks, line - 1 - self.blocks.used
            blocks.use(int(blocks.line_ends()[lines - 1]), lines)
            yield from self._chunks_of(part.events.part(number, stop), [], None)

    def _last_round(self, part: _Part, number: int, stop: int) -> LastRound | None:
        """Use the lines before the last round of the file, which is in the events number..stop, and say where it is."""
        rounds = part.events.rounds
        if not self.blocks.is_last or rounds is None or stop == number:
            return None
        at = stop - 1
        while at > number and rounds[at - 1] == rounds[at]:
            at -= 1
        lines = int(part.events.line[at]) - 1 - self.blocks.used
        if lines:
            self.blocks.use(int(self.blocks.line_ends()[lines - 1]), lines)
        return LastRound(self.blocks.position, at - number)

    def _bounds(self, part: _Part, first: int) -> list[int]:
        """The numbers of lines after which chunks end."""
        events, last = part.events, part.lines
        if events.rounds is None:
            allowed = None
        else:
            starts = [i for i in range(1, len(events)) if events.rounds[i] != events.rounds[i - 1]]
            allowed = [int(events.line[i]) - first for i in starts]
            if self.blocks.is_last or self.blocks.is_too_long or not len(events):
                allowed.append(last)
            last = allowed[-1] if allowed else 0
        bounds: list[int] = []
        at = 0
        while at < last:
            at = _next_bound(at, self.size, last, allowed, part.joints)
            bounds.append(at)
        return bounds

    def _chunks_of(self, events: Events, faults: list[Fault], last: LastRound | None) -> Iterator[Chunk]:
        faults = self._waiting + faults
        self._found += len(events)
        self._waiting = [] if len(events) else faults
        if len(events) or (faults and self._is_resumed):
            self._waiting = []
            yield self._chunk(events, faults, last)

    def _chunk(self, events: Events, faults: list[Fault], last: LastRound | None = None) -> Chunk:
        self.checks.end_rounds(events)
        return Chunk(
            events,
            self.scanner.tasks,
            self.scanner.features,
            faults,
            self.blocks.position,
            self.blocks.source.share,
            self.rules.target,
            self.rules.labels,
            last,
            Meaning(self.scanner.labels, self.checks.classes, self.rules.schema),
        )

    def _refuse_long_line(self) -> None:
        fault = Fault(
            self.blocks.used + 1,
            None,
            f"the line is longer than {LONGEST_LINE:,} bytes; write one event per line, and fewer features in it",
        )
        if not self.skip:
            raise InputError(f"{self.blocks.source.name}, {fault}")
        self._waiting.append(fault)
        self.blocks.skip_long_line()

    def _refuse_empty(self) -> None:
        name, faults = self.blocks.source.name, self._waiting
        if faults:
            raise InputError(
                f"{name}: all {len(faults)} lines were skipped, so there is nothing to read; the first is {faults[0]}"
            )
        raise InputError(f"{name}: the stream is empty; give at least one event")


def _next_bound(at: int, size: int, last: int, allowed: list[int] | None, joints: frozenset[int]) -> int:
    """Where the chunk that begins at line `at` ends: after `size` lines, or where that is allowed."""
    if allowed is None:
        bound = min(at + size, last)
        while bound in joints:
            bound += 1
        return bound
    before = bisect_right(allowed, at + size)
    return allowed[before - 1] if before and allowed[before - 1] > at else allowed[bisect_right(allowed, at)]
