"""Chunks: some events of a file at a time, as streams for a model."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.labels import UNKNOWN, Classes, LabelKind, Labels
from weft.names import Name
from weft.schema import Schema
from weft.storage.lexicon import Lexicon
from weft.stream import Stream
from weft.streams.events import Events, joined, labels_of
from weft.streams.records import Fault
from weft.streams.source import Position


class LastRound(NamedTuple):
    """Where the last round of a file begins; the file may continue it when it grows."""

    position: Position
    events: int  # of the chunk, before the last round


class Meaning(NamedTuple):
    """What labels are: the names of those that are not numbers, the classes that are known; and the schema."""

    labels: Lexicon
    classes: Classes = UNKNOWN
    schema: Schema | None = None


@dataclass(frozen=True)
class Chunk:
    """Some events of a file, with the lines that were skipped; it is empty when all its lines were skipped.

    `is_checked`: all labels are there, and such as the target takes. `last_round` is set in the last chunk of a file of
    lines with rounds.
    """

    events: Events
    task_names: Lexicon
    feature_names: Lexicon | None
    skipped: list[Fault]
    position: Position
    share: float | None
    target: LabelKind
    is_checked: bool = True
    last_round: LastRound | None = None
    meaning: Meaning = field(default_factory=lambda: Meaning(Lexicon()))

    def __len__(self) -> int:
        return len(self.events)

    @property
    def stream(self) -> Stream:
        """The events as a stream for a model."""
        y = None if self.target == "point" else self.label_values
        return self._stream(y, self.target if self.is_checked else None)

    @property
    def labelled(self) -> Stream:
        """The events as a stream with their labels, which the model checks."""
        return self._stream(self.label_values, None)

    @property
    def unlabelled(self) -> Stream:
        """The events as a stream without labels, to be scored."""
        return self._stream(None, None)

    def _stream(self, y: Labels | None, checked_for: LabelKind | None) -> Stream:
        rounds = self.rounds
        bounds = None if rounds is None else np.append(np.flatnonzero(np.diff(rounds, prepend=0)), len(rounds))
        coded = self.events.coded(self.task_names, self.feature_names)
        stream = Stream.of_codes(coded, y, bounds, checked_for, self.events.weight)
        stream.schema, stream.ids, stream.classes = self.meaning.schema, self.events.ids, self.meaning.classes
        return stream

    @property
    def lines(self) -> list[int]:
        """The line of every event."""
        return list(map(int, self.events.line.tolist()))

    @property
    def labels(self) -> Floats:
        """The label of every event, NaN if it is missing or not a number."""
        return self.events.label

    @property
    def label_values(self) -> Labels:
        """The label of every event, whatever it is."""
        return labels_of(self.events, self.meaning.labels)

    @property
    def ids(self) -> list[Any] | None:
        """What identifies every event; None if nothing does."""
        return self.events.ids

    @cached_property
    def tasks(self) -> list[Name]:
        """The task of every event."""
        return [self.task_names.names[code] for code in self.events.task.tolist()]

    @cached_property
    def rounds(self) -> Ints | None:
        """The rounds, numbered from 1 on; None if the file has none."""
        if self.events.rounds is None:
            return None
        names = self.events.rounds
        return np.cumsum([True, *(a != b for a, b in pairwise(names))][: len(names)])

    @property
    def X(self) -> Any:
        """The rows: a list of dicts, or a SciPy CSR array where features are numbers."""
        if self.feature_names is None:
            return self.unlabelled.X
        names, events = self.feature_names.names, self.events
        pairs = [
            (names[code], value) for code, value in zip(events.indices.tolist(), events.values.tolist(), strict=True)
        ]
        return [dict(pairs[a:b]) for a, b in pairwise(events.indptr.tolist())]


def together(chunks: Iterable[Chunk]) -> Chunk:
    """All chunks of a file as one; the position is that of the last."""
    parts = list(chunks)
    last, skipped = parts[-1], [fault for part in parts for fault in part.skipped]
    events = joined([part.events for part in parts])
    return Chunk(
        events,
        last.task_names,
        last.feature_names,
        skipped,
        last.position,
        last.share,
        last.target,
        last.is_checked,
        meaning=last.meaning,
    )
