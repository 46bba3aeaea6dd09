"""The events of a run, block by block: what every shard learns between two versions of what all of them share.

A block has some events of the stream (`rule`), and every shard learns those of its own tasks. If the files are a
partition, one file per shard, a block has its share of events of each of them instead, in the order of the files.
Blocks end between rounds. Where a block ends is a `Place`, from which a later run goes on.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from weft.cluster.placement import shard_of
from weft.compiled.arrays import Ints
from weft.labels import UNKNOWN, Classes
from weft.learner import Target
from weft.names import Name
from weft.schema import Schema
from weft.storage.lexicon import Lexicon
from weft.stream import Stream
from weft.streams.formats import read_chunks
from weft.streams.source import Position

MOST_EVENTS = 1 << 20
"""Of a block: an event has its number in 20 bits."""
_CHUNK = 1 << 16


class Place(NamedTuple):
    """Where a block ends: a file, how far it was read, and how many events after that belong to the block."""

    file: int = 0
    lines: int = 0
    digest: str = ""
    events: int = 0


class Piece(NamedTuple):
    """Some events of a block, which come from one chunk, and how many come before them in the block."""

    stream: Stream
    first: int


class Block(NamedTuple):
    """The events between two versions that a shard reads, which may be none."""

    pieces: list[Piece]
    end: Place

    @property
    def events(self) -> int:
        """How many there are."""
        return sum(len(piece.stream) for piece in self.pieces)


@dataclass(frozen=True)
class Source:
    """Where events come from: files, or one stream in memory; `options` are those of `read_chunks`."""

    files: tuple[str, ...] = ()
    stream: Stream | None = None
    is_partition: bool = False
    schema: Schema | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def of_shard(self, shard: int) -> "Source":
        """What a shard reads: its own file of a partition, else all."""
        return Source((self.files[shard],), None, True, self.schema, self.options) if self.is_partition else self


def expect_files(source: Source, shards: int) -> None:
    """Refuse what cannot be read again, and a partition of another number of files."""
    for path in source.files:
        if not os.path.isfile(path):
            raise FileNotFoundError(f"there is no file {path}; shards read files, which can be read again")
    if source.is_partition and len(source.files) != shards:
        raise ValueError(
            f"{len(source.files)} files are a partition for as many shards, not for {shards}; give a file per shard, "
            "as `weft partition` writes them, or leave --partitioned out"
        )


def blocks(
    source: Source, sizes: Iterator[int], start: Place, target: Target, classes: Classes = UNKNOWN
) -> Iterator[Block]:
    """The blocks from a place on, of these sizes; the last may be shorter, and is not empty."""
    pieces: list[Piece] = []
    have, end, size = 0, start, next(sizes)
    for stream, begin, base in _streams(source, start, target, classes):
        at, offset = 0, begin
        while at < stream.n_rounds:
            bounds = stream._bounds
            stop = int(np.searchsorted(bounds, bounds[at] + (size - have), "right")) - 1
            stop = stop if stop > at or have else at + 1  # a round that is longer than a block is a block
            if stop > at:
                part = stream.cut(at, stop)
                pieces.append(Piece(part, have))
                have, at, offset = have + len(part), stop, offset + len(part)
            end = base._replace(events=offset)
            if have >= size or at < stream.n_rounds:
                yield Block(pieces, end)
                pieces, have, size = [], 0, next(sizes)
    if pieces:
        yield Block(pieces, end)


def _streams(source: Source, start: Place, target: Target, classes: Classes) -> Iterator[tuple[Stream, int, Place]]:
    """What is read of every chunk, the events before it since the place from which it can be read again, that place."""
    if source.stream is not None:
        left = source.stream.n_rounds
        at = int(np.searchsorted(source.stream._bounds, start.events, "left"))
        if at < left:
            yield source.stream.cut(at, left), start.events, Place()
        return
    for number in range(start.file, len(source.files)):
        if source.is_partition and not os.path.getsize(source.files[number]):
            continue  # no task belongs to this shard
        base = start if number == start.file else Place(number)
        position = Position(base.lines, base.digest) if base.lines else None
        skip = base.events
        read = read_chunks(
            source.files[number],
            target=target,
            classes=classes,
            schema=source.schema,
            chunk=_CHUNK,
            start=position,
            **source.options,
        )
        for chunk in read:
            if len(chunk):
                stream = chunk.stream
                if skip >= len(stream):
                    skip -= len(stream)
                else:
                    first = int(np.searchsorted(stream._bounds, skip, "left"))
                    yield stream.cut(first, stream.n_rounds), skip, base._replace(events=0)
                    skip = 0
            base = Place(number, *chunk.position)


class Placement:
    """The shard of every task of a stream, by its code; a name is hashed once."""

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._known: dict[Name, int] = {}
        self._last: tuple[Lexicon | None, Ints] = (None, np.zeros(0, np.int64))

    def of(self, stream: Stream) -> Ints:
        """The shard of every example."""
        codes, names = stream._coded_tasks
        lexicon = stream.coded.task_names if stream.coded is not None else None
        known = self._last[1] if lexicon is not None and self._last[0] is lexicon else np.zeros(0, np.int64)
        if len(known) < len(names):
            find = self._remembered if lexicon is None else self._shard_of
            more = [find(name) for name in names[len(known) :]]
            known = np.concatenate((known, np.array(more, np.int64)))
            self._last = lexicon, known
        return np.asarray(known[codes])

    def _shard_of(self, name: Name) -> int:
        return shard_of(name, self._shards)

    def _remembered(self, name: Name) -> int:
        """A stream in memory has no lexicon: its tasks come again with every block."""
        shard = self._known.get(name)
        if shard is None:
            shard = self._known[name] = self._shard_of(name)
        return shard
