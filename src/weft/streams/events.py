"""Events of a source as columns of codes: what compiled and careful readers come to."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.storage.batch import SMALLEST
from weft.storage.events import Coded
from weft.storage.lexicon import CodedRows, Lexicon
from weft.storage.rows import Rows
from weft.streams.records import Block


@dataclass(frozen=True)
class Events:
    """Columns with an entry per event, in the order of the source.

    line    number of its line in the source; labels are NaN where they are missing
    task    codes of a lexicon
    rounds  what the source calls the rounds; None if it has none
    indptr, indices, values  rows in the order of the source, zeros included, over codes of a lexicon; if features are
            numbers, sorted by number and without zeros, and `width` is one more than an event's largest number
    """

    line: Ints
    label: Floats
    task: Ints
    indptr: Ints
    indices: Ints
    values: Floats
    width: Ints
    rounds: list[Any] | None

    def __len__(self) -> int:
        return len(self.line)

    def part(self, begin: int, end: int) -> "Events":
        """A copy of the events begin .. end-1."""
        first, last = int(self.indptr[begin]), int(self.indptr[end])
        return Events(
            self.line[begin:end].copy(),
            self.label[begin:end].copy(),
            self.task[begin:end].copy(),
            self.indptr[begin : end + 1] - first,
            self.indices[first:last].copy(),
            self.values[first:last].copy(),
            self.width[begin:end].copy(),
            None if self.rounds is None else self.rounds[begin:end],
        )

    def take(self, which: Ints) -> "Events":
        """Some events, in the order of `which`."""
        sizes = np.diff(self.indptr)[which]
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        entries = np.arange(indptr[-1]) + np.repeat(self.indptr[which] - indptr[:-1], sizes)
        return Events(
            self.line[which],
            self.label[which],
            self.task[which],
            indptr,
            self.indices[entries],
            self.values[entries],
            self.width[which],
            None if self.rounds is None else [self.rounds[i] for i in which.tolist()],
        )

    def without(self, lines: set[int]) -> "Events":
        """The events of all other lines."""
        return self.take(np.flatnonzero(~np.isin(self.line, list(lines)))) if lines else self

    def coded(self, tasks: Lexicon, features: Lexicon | None) -> Coded:
        """Tasks and rows for a stream; without a lexicon of features, these are numbers."""
        if features is None:
            width = int(self.width.max(initial=0))
            return Coded(self.task, tasks, Rows(self.indptr, self.indices, self.values, width))
        return Coded(self.task, tasks, CodedRows(self.indptr, self.indices, self.values, features))


def joined(parts: list[Events]) -> Events:
    """Events one after the other."""
    if len(parts) == 1:
        return parts[0]
    ends = np.cumsum([0, *(len(part.indices) for part in parts)])
    indptr = [part.indptr[:-1] + end for part, end in zip(parts, ends, strict=False)]
    has_rounds = parts[0].rounds is not None
    return Events(
        np.concatenate([part.line for part in parts]),
        np.concatenate([part.label for part in parts]),
        np.concatenate([part.task for part in parts]),
        np.concatenate([*indptr, ends[-1:]]).astype(np.int64),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.width for part in parts]),
        [number for part in parts for number in part.rounds or []] if has_rounds else None,
    )


def by_line(parts: list[Events]) -> Events:
    """The events of all parts, in the order of their lines."""
    whole = joined([part for part in parts if len(part)] or parts[:1])
    return whole if np.all(np.diff(whole.line) > 0) else whole.take(np.argsort(whole.line))


def encoded(block: Block, tasks: Lexicon, features: Lexicon | None, has_rounds: bool) -> Events:
    """The records of a careful reader with codes instead of names."""
    indices: list[int] = []
    values: list[float] = []
    indptr, width = [0], []
    for row in block.rows:
        pairs: list[Any] = list(row.items() if isinstance(row, dict) else enumerate(row))
        if features is None:
            width.append(1 + max((index for index, _ in pairs), default=-1))
            pairs = sorted(pair for pair in pairs if abs(pair[1]) >= SMALLEST)
        else:
            width.append(0)
            pairs = [(features.code(name), value) for name, value in pairs]
        indices += [index for index, _ in pairs]
        values += [value for _, value in pairs]
        indptr.append(len(indices))
    return Events(
        np.array(block.lines, np.int64),
        np.array(block.labels, np.float64),
        np.array([tasks.code(name) for name in block.tasks], np.int64),
        np.array(indptr, np.int64),
        np.array(indices, np.int64),
        np.array(values, np.float64),
        np.array(width, np.int64),
        list(block.rounds) if has_rounds else None,
    )
