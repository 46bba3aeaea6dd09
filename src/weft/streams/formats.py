"""Files of events as chunks of a stream, whatever their format.

A chunk is some thousand events, cut between rounds, so learning chunk after chunk is learning the file. Events
that a model would refuse are refused here already, with file and line.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.learner import Target
from weft.names import Name
from weft.stream import Stream
from weft.streams import csv, jsonl, svmlight
from weft.streams.records import Block, Fault, InputError, Rounds, Rules, check_labels, check_values
from weft.streams.source import Position, Source, without_mark

__all__ = ["CHUNK", "FORMATS", "Chunk", "Position", "SourceChanged", "format_of", "read_chunks"]

CHUNK = 4096
"""Lines per chunk: enough to make the cost of a call negligible, few enough to stop quickly."""

FORMATS = ("jsonl", "csv", "svmlight")
_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}


class SourceChanged(InputError):
    """The lines of a source that were read before have changed."""


@dataclass(frozen=True)
class Chunk:
    """Some events of a file: rows, tasks, labels (NaN if missing), rounds, and the line of each.

    A chunk is empty when all its lines were skipped.
    """

    X: Any
    tasks: list[Name]
    labels: Floats
    rounds: Ints | None
    lines: list[int]
    skipped: list[Fault]
    position: Position
    share: float | None
    target: Target
    is_checked: bool = True
    """Are all labels there, and such as the target takes?"""

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def stream(self) -> Stream:
        """The events as a stream for a model."""
        y = None if self.target == "point" else self.labels
        if not self.is_checked:
            return Stream(self.X, y, self.tasks, self.rounds)
        return Stream.of_checked(self.X, y, self.tasks, self.rounds, self.target)


class Parser(Protocol):
    """A format: turns lines into a block, with the faults of the lines that it refuses."""

    @property
    def ready(self) -> bool: ...

    def parse(self, first: int, lines: list[bytes]) -> Block: ...


def format_of(source: str | os.PathLike[str], format: str | None = None) -> str:
    """The format by its name, or by the ending of the file name."""
    if format is not None:
        if format not in FORMATS:
            raise ValueError(f"unknown format {format!r}; choose one of {', '.join(FORMATS)}")
        return format
    path = os.fspath(source)
    if path == "-":
        return "jsonl"
    ending = os.path.splitext(path.removesuffix(".gz"))[1].lower()
    if ending not in _SUFFIXES:
        raise InputError(
            f"{path}: cannot tell the format from the ending {ending!r}; give --format {', '.join(FORMATS)}, "
            f"or name the file {', '.join(_SUFFIXES)}"
        )
    return _SUFFIXES[ending]


def read_chunks(
    source: str | os.PathLike[str],
    format: str | None = None,
    *,
    target: Target = "binary",
    labels: bool = True,
    chunk: int = CHUNK,
    on_error: Literal["stop", "skip"] = "stop",
    start: Position | None = None,
    task_column: str = "task",
    label_column: str = "y",
) -> Iterator[Chunk]:
    """Read a file of events; `-` is standard input, `.gz` is unpacked.

    target    what a label must be: "binary", "real", or "point" for learners that predict the row itself
    labels    False: events without a label are accepted, as when a model only scores them
    on_error  "stop" raises InputError at the first bad line; "skip" continues and lists it in `Chunk.skipped`
    start     the `Chunk.position` from which to continue; SourceChanged if the beginning of the file has changed
    """
    kind = format_of(source, format)
    rules = Rules(target, labels, label_column if kind == "csv" else "y")
    parser = _parser(kind, rules, task_column, label_column)
    with Source(source) as lines:
        if start is not None:
            _skip_to(lines, parser, start)
        yield from _Reader(lines, parser, rules, chunk, on_error == "skip").chunks()


def _parser(format: str, rules: Rules, task_column: str, label_column: str) -> Parser:
    if format == "csv":
        return csv.Parser(rules, task_column, label_column)
    return jsonl.Parser(rules) if format == "jsonl" else svmlight.Parser(rules)


def _skip_to(source: Source, parser: Parser, start: Position) -> None:
    """Skip the lines used before; the first of them are still parsed to determine the form of the file."""
    while source.used < start.lines:
        lines = source.read(min(CHUNK, start.lines - source.used))
        if not lines:
            break
        at = 0
        clean = without_mark(lines) if source.used == 0 else lines
        while not parser.ready and at < len(lines):
            parser.parse(source.used + 1 + at, clean[at : at + 1])
            at += 1
        source.use(lines)
    if source.position != start:
        raise SourceChanged(
            f"{source.name} has changed in the {start.lines} lines that were read before; "
            "restore the old file, or start again from its first line"
        )


class _Reader:
    """Cuts a source into chunks."""

    def __init__(self, source: Source, parser: Parser, rules: Rules, size: int, skip: bool) -> None:
        self.source = source
        self.parser = parser
        self.rules = rules
        self.size = max(1, size)
        self.skip = skip
        self.rounds = Rounds()

    def chunks(self) -> Iterator[Chunk]:
        fresh = self.source.used == 0
        pending: list[bytes] = []
        faults: list[Fault] = []
        found, ended = 0, False
        while not ended:
            read = self.source.read(self.size)
            ended = len(read) < self.size
            pending += read
            first = self.source.used + 1
            block = self._parse(first, pending)
            used, block = _whole_rounds(block, first, len(pending)) if not ended else (len(pending), block)
            if used == 0:
                continue  # one round fills the chunk: read more
            self.source.use(pending[:used])
            pending = pending[used:]
            faults += block.faults
            found += len(block.tasks)
            if block.tasks or (block.faults and (found or not fresh)):
                yield self._chunk(block)
        if not found and fresh:
            self._refuse_empty(faults)

    def _parse(self, first: int, lines: list[bytes]) -> Block:
        block = self.parser.parse(first, without_mark(lines) if first == 1 else lines)
        # What labels, values and rounds may be is the same for all formats. Rounds come last: a row that is
        # refused for another reason does not affect the other rows of its round.
        for check in (lambda b: check_labels(b, self.rules), check_values, self.rounds.check):
            new = check(block)
            block.faults += new
            if new:
                bad = {fault.line for fault in new}
                block = block.keep([i for i, line in enumerate(block.lines) if line not in bad])
        block.faults.sort()
        if block.faults and not self.skip:
            raise InputError(f"{self.source.name}, {block.faults[0]}")
        return block

    def _chunk(self, block: Block) -> Chunk:
        rounds = None
        if block.rounds is not None:
            begins = [i == 0 or block.rounds[i] != block.rounds[i - 1] for i in range(len(block.rounds))]
            rounds = np.cumsum(begins)
            self.rounds.ended.update(block.rounds)
        return Chunk(
            block.X,
            block.tasks,
            block.labels,
            rounds,
            block.lines,
            block.faults,
            self.source.position,
            self.source.share,
            self.rules.target,
            self.rules.labels,
        )

    def _refuse_empty(self, faults: list[Fault]) -> None:
        if faults:
            raise InputError(
                f"{self.source.name}: all {len(faults)} lines were skipped, so there is nothing to read; "
                f"the first is {faults[0]}"
            )
        raise InputError(f"{self.source.name}: the stream is empty; give at least one event")


def _whole_rounds(block: Block, first: int, count: int) -> tuple[int, Block]:
    """How many lines to use, and their block: without the last round, which may continue in later lines."""
    if block.rounds is None:
        return count, block
    at = len(block.rounds)
    while at and block.rounds[at - 1] == block.rounds[-1]:
        at -= 1
    used = block.lines[at] - first if at else 0
    whole = block.keep(list(range(at)))
    whole.faults = [fault for fault in block.faults if fault.line < first + used]
    return used, whole
