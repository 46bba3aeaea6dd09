"""A scanner per format: lines of a block to events, by compiled code; lines that it leaves go to the careful reader.

In plain mode (`WEFT_PLAIN=1`) every line is listed: careful readers are Python already.
"""

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from weft.compiled.jit import PLAIN
from weft.names import Name
from weft.scan.padding import PADDING
from weft.storage.batch import LARGEST, SMALLEST
from weft.storage.lexicon import Lexicon
from weft.streams.blocks import LONGEST_LINE, Blocks
from weft.streams.csv import Parser as CsvParser
from weft.streams.events import Events
from weft.streams.jsonl import Parser as JsonParser
from weft.streams.records import name_of
from weft.streams.vw import Parser as VwParser

_CONTROL = re.compile(r"[\x00-\x1f]")
_ESCAPED = re.compile(r'[\x00-\x1f"\\]')
_BOUNDS = (LARGEST, SMALLEST)


class Line(NamedTuple):
    """A line that the careful reader is to read: its number within the block, counted from 0, and where it is."""

    number: int
    begin: int
    end: int


class Scanned(NamedTuple):
    """What a scan came to: events, their lines counted from 0; lines for the careful reader; how far it came."""

    events: Events
    listed: list[Line]
    bytes: int
    lines: int
    joints: frozenset[int] = frozenset()
    """Lines that continue a record."""


class Scanner(Protocol):
    """Reads blocks of one format. `features` is None where features are numbers."""

    tasks: Lexicon
    features: Lexicon | None
    labels: Lexicon
    """Labels that are not numbers."""

    def scan(self, blocks: Blocks, begin: int) -> Scanned: ...


def text_encode(name: Name) -> bytes | None:
    """A name as plain text writes it."""
    text = str(name)
    return None if _CONTROL.search(text) else text.encode()


def text_decode(text: bytes) -> Name:
    """A name in plain text."""
    return name_of(text.decode())


def _json_encode(name: Name) -> bytes | None:
    """A task as JSON writes it without escapes, quotes included: "7" is not 7."""
    if isinstance(name, int):
        return str(name).encode()
    text = _key_encode(name)
    return None if text is None else b'"' + text + b'"'


def _json_decode(text: bytes) -> Name:
    return text[1:-1].decode() if text[:1] == b'"' else int(text)


def _key_encode(name: Name) -> bytes | None:
    if not isinstance(name, str) or _ESCAPED.search(name):
        return None
    try:
        return name.encode()
    except UnicodeEncodeError:
        return None


def new_lexicon(decode: Any = text_decode, encode: Any = text_encode) -> Any:
    """A lexicon for a scanner."""
    if PLAIN:
        return Lexicon()
    from weft.encoding.interned import InternedNames

    return InternedNames(decode, encode)


def no_events(has_rounds: bool) -> Events:
    """None yet."""
    ints, floats = np.zeros(0, np.int64), np.zeros(0)
    return Events(ints, floats, ints, np.zeros(1, np.int64), ints, floats, ints, [] if has_rounds else None)


def list_lines(blocks: Blocks, begin: int, has_rounds: bool) -> Scanned:
    """Every line for the careful reader."""
    ends = (np.flatnonzero(blocks.text[begin : blocks.end] == 10) + begin + 1).tolist()
    listed = [Line(i, a, b) for i, (a, b) in enumerate(zip([begin, *ends], ends, strict=False))]
    return Scanned(no_events(has_rounds), listed, blocks.end, len(ends))


class CompiledScan:
    """Calls a compiled reader until it has read a block: tables of names are enlarged in between."""

    def __init__(self, has_rounds: bool, round_of: Callable[[bytes], Any] = json.loads) -> None:
        self.has_rounds = has_rounds
        self._round_of = round_of
        self._columns: Any = None
        self._room = 0

    def run(self, scan: Any, names: list[Any], blocks: Blocks, begin: int, *more: Any) -> Scanned:
        """`scan` is called with the text, its end, the columns, the tables of `names`, and `more`."""
        from weft.scan.columns import AT, ENTRIES, EVENTS, LINES, LISTED, new_columns

        if self._room < blocks.end:
            self._room = max(blocks.end, 2 * self._room)
            self._columns = new_columns(self._room, self.has_rounds)
        columns = self._columns
        columns.progress[:] = 0
        columns.progress[AT] = begin
        while not scan(blocks.text, blocks.end, columns, *(known.table for known in names), *more):
            for known in names:
                known.grow()
        for known in names:
            known.update()
        progress = columns.progress
        n, entries = int(progress[EVENTS]), int(progress[ENTRIES])
        events = Events(
            columns.line[:n],
            columns.label[:n],
            columns.task[:n],
            columns.indptr[: n + 1],
            columns.indices[:entries],
            columns.values[:entries],
            columns.width[:n],
            self._rounds(blocks, n) if self.has_rounds else None,
        )
        listed = [Line(*row) for row in columns.listed[: progress[LISTED]].tolist()]
        return Scanned(events, listed, int(progress[AT]), int(progress[LINES]))

    def _rounds(self, blocks: Blocks, n: int) -> list[Any]:
        at, length = self._columns.round_at[:n].tolist(), self._columns.round_length[:n].tolist()
        text, known = blocks.content(0, blocks.end), {}
        rounds = []
        for begin, count in zip(at, length, strict=True):
            word = text[begin : begin + count]
            if word not in known:
                known[word] = self._round_of(word)
            rounds.append(known[word])
        return rounds


class SvmlightScanner:
    """SVMlight: tasks are names, features are numbers."""

    features = None

    def __init__(self) -> None:
        self.labels = Lexicon()
        self.tasks: Any = new_lexicon()
        self._run = CompiledScan(has_rounds=False)

    def scan(self, blocks: Blocks, begin: int) -> Scanned:
        """Read the lines of a block from byte `begin` on."""
        if PLAIN:
            return list_lines(blocks, begin, False)
        from weft.scan.svmlight import scan

        return self._run.run(scan, [self.tasks], blocks, begin, _BOUNDS)


class JsonScanner:
    """JSON lines; the careful reader knows the form of the file from its first event."""

    def __init__(self, parser: JsonParser) -> None:
        self._parser = parser
        self.labels = Lexicon()
        self.tasks: Any = new_lexicon(_json_decode, _json_encode)
        self._names: Any = new_lexicon(bytes.decode, _key_encode)
        self._run: CompiledScan | None = None

    @property
    def features(self) -> Any:
        """The names of features; None if rows are lists."""
        return self._names if self._parser.width == -1 else None

    def scan(self, blocks: Blocks, begin: int) -> Scanned:
        """Read the lines of a block from byte `begin` on."""
        if PLAIN:
            return list_lines(blocks, begin, self._parser.has_rounds)
        from weft.scan.jsonl import scan

        self._run = self._run or CompiledScan(self._parser.has_rounds)
        form = int(self._parser.width or 0), self._parser.has_rounds
        return self._run.run(scan, [self.tasks, self._names], blocks, begin, form, _BOUNDS)


class VwScanner:
    """Vowpal Wabbit text; a namespace or the tag names the task."""

    def __init__(self, parser: VwParser) -> None:
        self.labels = Lexicon()
        self.tasks: Any = new_lexicon()
        self.features: Any = new_lexicon()
        self._space = np.frombuffer(parser.space.encode() or b" ", np.uint8).copy()
        self._scratch = np.zeros(2048 + len(PADDING), np.uint8)
        self._run = CompiledScan(has_rounds=False)

    def scan(self, blocks: Blocks, begin: int) -> Scanned:
        """Read the lines of a block from byte `begin` on."""
        if PLAIN:
            return list_lines(blocks, begin, False)
        from weft.scan.vw import scan

        names = [self.tasks, self.features]
        return self._run.run(scan, names, blocks, begin, self._space, self._scratch, LARGEST)


class CsvScanner:
    """CSV; the careful reader has read the header."""

    def __init__(self, parser: CsvParser) -> None:
        self._parser = parser
        self.labels = Lexicon()
        self.tasks: Any = new_lexicon()
        self.features: Any = new_lexicon()
        self._run: CompiledScan | None = None
        self._kinds = np.zeros(0, np.int64)

    def scan(self, blocks: Blocks, begin: int) -> Scanned:
        """Read the rows of a block from byte `begin` on."""
        parser, is_open = self._parser, not blocks.is_last and blocks.end - begin <= LONGEST_LINE
        if PLAIN:
            return list_records(blocks, begin, self._parser, is_open)
        from weft.scan.table import LABEL, ROUND, TASK, scan

        if self._run is None:
            special = {parser.task_at: TASK, parser.label_at: LABEL, parser.round_at: ROUND}
            kinds = [special[at] if at in special else self.features.code(name) for at, name in enumerate(parser.names)]
            self._kinds = np.array(kinds, np.int64)
            self._run = CompiledScan(parser.has_rounds, bytes.decode)
        form = ord(parser.cells.separator), is_open
        scanned = self._run.run(scan, [self.tasks], blocks, begin, self._kinds, form, LARGEST)
        return scanned._replace(joints=lines_within(blocks, scanned.listed))


def list_records(blocks: Blocks, begin: int, parser: Any, is_open: bool) -> Scanned:
    """Rows of CSV for the careful reader; one that is not closed waits for more, if it is open."""
    lines, cells = list_lines(blocks, begin, parser.has_rounds).listed, parser.cells
    listed: list[Line] = []
    at = 0
    while at < len(lines):
        last, goes_on = at, False
        while last < len(lines) and (goes_on := cells.is_open(blocks.content(*lines[last][1:]), goes_on)):
            last += 1
        if last == len(lines) and is_open:
            break
        last = at if last == len(lines) else last
        listed.append(Line(at, lines[at].begin, lines[last].end))
        at = last + 1
    end = listed[-1].end if listed else begin
    scanned = Scanned(no_events(parser.has_rounds), listed, end, at)
    return scanned._replace(joints=lines_within(blocks, listed))


def lines_within(blocks: Blocks, listed: list[Line]) -> frozenset[int]:
    """The lines within records of several lines."""
    return frozenset(
        line.number + further
        for line in listed
        for further in range(1, blocks.content(line.begin, line.end).count(b"\n"))
    )
