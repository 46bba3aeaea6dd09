"""Events of a source as columns of codes: what compiled and careful readers come to."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.labels import Labels
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
    classes codes of a lexicon of labels that are not numbers, -1 where the label is a number or missing; None: all are
    weight  the importance of every event; None: all are 1
    ids     what identifies every event; None: nothing does
    """

    line: Ints
    label: Floats
    task: Ints
    indptr: Ints
    indices: Ints
    values: Floats
    width: Ints
    rounds: list[Any] | None
    classes: Ints | None = None
    weight: Floats | None = None
    ids: list[Any] | None = None

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
            None if self.classes is None else self.classes[begin:end].copy(),
            None if self.weight is None else self.weight[begin:end].copy(),
            None if self.ids is None else self.ids[begin:end],
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
            None if self.classes is None else self.classes[which],
            None if self.weight is None else self.weight[which],
            None if self.ids is None else [self.ids[i] for i in which.tolist()],
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
        _filled([part.classes for part in parts], [len(part) for part in parts], np.int64(-1)),
        _filled([part.weight for part in parts], [len(part) for part in parts], np.float64(1.0)),
        None
        if all(part.ids is None for part in parts)
        else [i for part in parts for i in part.ids or [None] * len(part)],
    )


def _filled(columns: list[Any], lengths: list[int], usual: Any) -> Any:
    """Columns one after the other, the usual value where one is not there; None if none is."""
    if all(column is None for column in columns):
        return None
    return np.concatenate(
        [np.full(n, usual) if column is None else column for column, n in zip(columns, lengths, strict=True)]
    )


def by_line(parts: list[Events]) -> Events:
    """The events of all parts, in the order of their lines."""
    whole = joined([part for part in parts if len(part)] or parts[:1])
    return whole if np.all(np.diff(whole.line) > 0) else whole.take(np.argsort(whole.line))


def encoded(
    block: Block, tasks: Lexicon, features: Lexicon | None, has_rounds: bool, labels: Lexicon | None = None
) -> Events:
    """The records of a careful reader with codes instead of names; `labels` numbers labels that are not numbers."""
    indices: list[int] = []
    values: list[float] = []
    indptr, width = [0], []
    for row in block.rows:
        pairs: list[Any] = list(enumerate(row) if isinstance(row, list) else row.items())
        if features is None:
            width.append(1 + max((index for index, _ in pairs), default=-1))
            pairs = sorted(pair for pair in pairs if abs(pair[1]) >= SMALLEST)
        else:
            width.append(0)
            pairs = [(features.code(name), value) for name, value in pairs]
        indices += [index for index, _ in pairs]
        values += [value for _, value in pairs]
        indptr.append(len(indices))
    if features is not None:
        features.fields.update(map(features.code, block.fields))
    label, classes = label_columns(block.labels, labels)
    return Events(
        np.array(block.lines, np.int64),
        label,
        np.array([tasks.code(name) for name in block.tasks], np.int64),
        np.array(indptr, np.int64),
        np.array(indices, np.int64),
        np.array(values, np.float64),
        np.array(width, np.int64),
        list(block.rounds) if has_rounds else None,
        classes,
        np.array(block.weights, np.float64) if block.weights else None,
        list(block.ids) if block.ids else None,
    )


def label_columns(labels: list[Any], names: Lexicon | None) -> tuple[Floats, Ints | None]:
    """Labels as numbers, NaN where they are missing or not numbers, and the codes of those that are not."""
    if names is None or all(label.__class__ is float or label is None for label in labels):
        return np.array([np.nan if label is None else label for label in labels], np.float64), None
    is_number = [not isinstance(label, str | bool) for label in labels]
    numbers = [
        label if is_one and label is not None else np.nan for label, is_one in zip(labels, is_number, strict=True)
    ]
    codes = [-1 if is_one else names.code(label) for label, is_one in zip(labels, is_number, strict=True)]
    return np.array(numbers, np.float64), np.array(codes, np.int64)


def labels_of(events: Events, names: Lexicon) -> Labels:
    """The labels of events as a stream takes them; `names` are those that are not numbers."""
    if events.classes is None or np.all(events.classes < 0):
        return Labels(events.label)
    known: list[Any] = list(names.names)
    numbers, which = np.unique(events.label, return_inverse=True)
    first = len(known)
    known += [int(number) if number.is_integer() else number for number in numbers.tolist()]
    values = np.where(events.classes >= 0, events.classes, first + which).astype(np.float64)
    values[(events.classes < 0) & np.isnan(events.label)] = np.nan
    return Labels(values, tuple(known))
