"""Stream: rows, labels, tasks and rounds, checked once."""

from collections.abc import Iterable, Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.encoding.collected import Encoded, round_bounds
from weft.encoding.given import label_table, read_labels, read_weights
from weft.encoding.sources import encode
from weft.kinds.frames import with_names
from weft.labels import PLAIN, SIZE, UNKNOWN, Classes, LabelKind, Labels, too_large
from weft.learner import Target
from weft.names import Name, plain
from weft.schema import Schema, as_schema
from weft.storage.events import (
    Coded,
    Events,
    locked,
    read_rounds,
    read_tasks,
    recode,
    refuse_repeated_tasks,
)
from weft.storage.lexicon import CodedRows
from weft.storage.rows import Given, Rows, is_sparse, read_given, some_rows, tidy


class Stream:
    """Events in the order of their arrival.

    X       rows: a dense array, a SciPy sparse matrix, a data frame, or a list of dicts of named features
    y       labels: two classes (-1 and +1, 0 and 1, False and True, or two strings) for classification, numbers for
            regression, None if the rows are the targets
    task    the name of each row's task: strings, integers or tuples of those
    rounds  optional: an integer per row; neighbours with the same number form one round, which is scored before
            any of it is learned. In a stream with rounds a task may be dormant: its label is NaN (or 0 for
            classification), it is scored and not learned. Without `rounds` every row is a round of its own.
    weight  optional: the importance of each event, a number >= 0; a weight of 2 makes the step twice as long

    >>> stream = Stream([[1, 0], [0, 2]], [1, -1], ["ann", "bob"])
    >>> len(stream), stream.task_names
    (2, ['ann', 'bob'])
    """

    _weight: Floats | None
    schema: Schema | None = None
    """What the fields of the records were that the stream was made from; None if it was not made from records."""
    classes: Classes = UNKNOWN
    """What a reader of files knows of the classes from more events than these."""
    is_dense = False
    """Was it made from a dense table, in which every row has all columns?"""
    _given: Given | None = None
    ids: list[Any] | None = None
    """What the field `id` of the schema holds, a value per example; None if there is no such field."""

    def __init__(self, X: Any, y: Any, task: Any, rounds: Any = None, *, weight: Any = None) -> None:
        data, self._given = read_given(with_names(X))
        n = data.length
        if n == 0:
            raise ValueError("the stream is empty; give at least one row")
        codes, names = read_tasks(task, n)
        self._set(data, np.arange(n), read_labels(y, n), codes, names, read_rounds(rounds, n), rounds is not None)
        self.is_dense = isinstance(data.features, int) and not is_sparse(X)
        if weight is not None:
            self._weight = read_weights(weight, n)
        self._refuse_labels()
        if rounds is not None:
            refuse_repeated_tasks(self._events)

    @classmethod
    def of_codes(
        cls,
        coded: Coded,
        y: Floats | Labels | None,
        bounds: Ints | None,
        checked_for: LabelKind | None,
        weight: Floats | None = None,
    ) -> "Stream":
        """A stream of what a reader found; without `bounds` every event is a round. Labels as in `of_parts`."""
        n = len(coded.tasks)
        if n == 0:
            raise ValueError("the stream is empty; give at least one row")
        stream = cls.__new__(cls)
        stream.coded = coded
        stream._set_examples(np.arange(n), y, np.arange(n + 1) if bounds is None else bounds, bounds is not None)
        stream._weight = weight
        if checked_for is None:
            stream._refuse_labels()
        return stream

    @classmethod
    def from_frame(cls, frame: Any, schema: Schema | None = None, **fields: Any) -> "Stream":
        """The rows of a data frame (pandas, polars, pyarrow) as events, by a schema or by the keywords of one."""
        return cls.of_source(frame, as_schema(schema, fields))

    @classmethod
    def from_records(cls, records: Any, schema: Schema | None = None, **fields: Any) -> "Stream":
        """Records, a list of dicts from field to value, as events, by a schema or by the keywords of one.

        >>> records = [{"user": "ann", "body": "free money", "label": "spam"}, {"user": "bob", "label": "ham"}]
        >>> stream = Stream.from_records(records, task="user", label="label", text=["body"])
        >>> stream.data.features, stream.tasks, stream.y.tolist()
        (['body:free', 'body:money'], ['ann', 'bob'], ['spam', 'ham'])
        """
        return cls.of_source(records, as_schema(schema, fields))

    @classmethod
    def of_source(cls, source: Any, schema: Schema, *, has_labels: bool = True, checks_fields: bool = True) -> "Stream":
        """A stream of a data frame or of records, as a model asks for it.

        has_labels     False: labels are not looked at, as when a model only scores the events
        checks_fields  refuse a schema that names fields which are not there
        """
        return cls.of_encoded(encode(source, schema, has_labels, checks_fields), schema)

    @classmethod
    def of_encoded(cls, encoded: Encoded, schema: Schema) -> "Stream":
        """A stream of what an encoder found."""
        coded, rounds = encoded.coded, encoded.rounds
        bounds = None if rounds is None else round_bounds(rounds, coded.tasks.tolist())
        stream = cls.of_codes(coded, encoded.labels, bounds, None, encoded.weight)
        stream.schema, stream.ids = schema, encoded.ids
        return stream

    @classmethod
    def of_parts(
        cls,
        data: Rows,
        row: Ints,
        y: Floats | Labels | None,
        codes: Ints,
        names: list[Name],
        bounds: Ints,
        explicit: bool,
        checked_for: Target | None = None,
    ) -> "Stream":
        """A stream from what the constructor would make: for callers that have checked all but the labels already.

        Example i shows row `row[i]` of `data`, belongs to task `names[codes[i]]` and to the round between `bounds`
        that holds it; `explicit`: rounds were given, so that labels may be missing. `checked_for`: the labels were
        checked as well, for learners of that kind.
        """
        stream = cls.__new__(cls)
        stream._set(data, row, y, codes, names, bounds, explicit)
        if checked_for is None:
            stream._refuse_labels()
        return stream

    def _set(
        self,
        data: Rows,
        row: Ints,
        y: Floats | Labels | None,
        codes: Ints,
        names: list[Name],
        bounds: Ints,
        explicit: bool,
    ) -> None:
        self.coded: Coded | None = None
        self._set_examples(row, y, bounds, explicit)
        self._events = Events(data, self._row, self._y, codes, names, self._bounds)
        self._weight = None

    def _set_examples(self, row: Ints, y: Floats | Labels | None, bounds: Ints, explicit: bool) -> None:
        self._row, self._bounds = row, bounds
        self.has_labels = y is not None
        self._labels = y if isinstance(y, Labels) else Labels(np.zeros(len(row)) if y is None else y)
        self._y = self._labels.values
        self.has_rounds = explicit

    @cached_property
    def _events(self) -> Events:
        """The events of a stream of codes, made when somebody asks for them, which a model does not."""
        coded = self.coded
        assert coded is not None  # set otherwise by `_set`
        codes, names = recode(coded.tasks, coded.task_names.names)
        data = coded.rows
        if isinstance(data, CodedRows):
            indices, features = recode(data.indices, data.names.names)
            data = tidy(Rows(data.indptr.copy(), indices, data.values.copy(), features))
        return Events(data, self._row, self._y, codes, names, self._bounds)

    def _refuse_labels(self) -> None:
        """What no learner takes: labels that are too large, and missing ones in a stream without rounds."""
        if self._labels.names is None:
            self._refuse(too_large(self._y), f"labels must be finite; {SIZE}")
        if not self.has_rounds and self.has_labels:
            self._refuse(np.isnan(self._y), "give a label, or leave the row out")

    @classmethod
    def shared(cls, X: Any, Y: Any, tasks: Sequence[Name]) -> "Stream":
        """One round per row of X, in which every task sees that row: Y has a column of labels per task.

        Costs O(tasks x non-zeros) per round. A label that is NaN (or 0 for classification) marks a dormant task.

        >>> Stream.shared([[1.0, 2.0]], [[1, -1, 1]], ["sport", "money", "news"]).row.tolist()
        [0, 0, 0]
        """
        data, given = read_given(X)
        if isinstance(tasks, str) or not isinstance(tasks, Iterable):
            raise ValueError(f"tasks={tasks!r} must be a list of names, one per column of Y")
        Y = label_table(Y)
        names = [plain(name, "task name") for name in tasks]
        n, k = data.length, len(names)
        if n == 0 or k == 0:
            raise ValueError("the stream is empty; give at least one row and one task")
        if Y.values.shape != (n, k):
            raise ValueError(f"Y has shape {Y.values.shape}, expected {(n, k)}: a row per row of X, a column per task")
        if len(set(names)) != k:
            raise ValueError("two columns of Y name the same task; give each column a name of its own")
        row, codes = np.repeat(np.arange(n), k), np.tile(np.arange(k), n)
        labels = Labels(Y.values.ravel(), Y.names)
        stream = cls.of_parts(data, row, labels, codes, names, np.arange(0, n * k + 1, k), True)
        stream.is_dense = isinstance(data.features, int) and not is_sparse(X)
        stream._given = given
        return stream

    def __len__(self) -> int:
        return len(self._row)

    def __repr__(self) -> str:
        return (
            f"Stream({len(self)} examples, {self.n_rounds} rounds, {len(self._events.names)} tasks, "
            f"{self._events.data.width} features, {len(self._events.data.values)} non-zeros)"
        )

    @property
    def columns(self) -> int | None:
        """The number of columns of rows without names; None if features have names."""
        data = self._events.data if self.coded is None else self.coded.rows
        return data.features if isinstance(data, Rows) and isinstance(data.features, int) else None

    @property
    def n_rounds(self) -> int:
        """Number of rounds."""
        return len(self._bounds) - 1

    # What a user writes into these arrays would reach compiled code unchecked, so they are read-only.

    @property
    def data(self) -> Rows:
        """The stored rows."""
        indptr, indices, values, features = self._events.data
        return Rows(
            locked(indptr), locked(indices), locked(values), features if isinstance(features, int) else features[:]
        )

    @property
    def row(self) -> Ints:
        """The stored row that each example shows."""
        return locked(self._row)

    @property
    def y(self) -> Any:
        """Labels: numbers, NaN where one is missing, zeros if there are none; else an array of labels and None."""
        names = self._labels.names
        if names is None:
            return locked(self._y)
        labels = np.array([None if np.isnan(code) else names[int(code)] for code in self._y], object)
        labels.flags.writeable = False
        return labels

    @property
    def weight(self) -> Floats | None:
        """The weight of every example, None if all of them are 1."""
        return None if self._weight is None else locked(self._weight)

    @property
    def task_codes(self) -> Ints:
        """The task of each example: its position in `task_names`."""
        return locked(self._events.codes)

    @property
    def task_names(self) -> list[Name]:
        """Names of the tasks, in order of appearance."""
        return self._events.names[:]

    @property
    def rounds(self) -> Ints:
        """Bounds of the rounds: round t holds the examples rounds[t] .. rounds[t + 1] - 1."""
        return locked(self._bounds)

    @property
    def X(self) -> Any:
        """The stored rows as a SciPy CSR array, a copy."""
        from scipy import sparse

        indptr, indices, values, _ = data = self._events.data
        return sparse.csr_array((values, indices, indptr), shape=(data.length, data.width), copy=True)

    @property
    def tasks(self) -> list[Name]:
        """The task of every example."""
        return [self._events.names[code] for code in self._events.codes]

    def labels(self, target: Target, classes: Classes = UNKNOWN) -> Floats:
        """Labels as a learner with this target takes them, NaN where a task is dormant; others are refused by row."""
        return self.targets(target, classes)[0]

    def targets(self, target: Target, classes: Classes) -> tuple[Floats, Classes]:
        """The same, with the classes that a model has after it has met these labels."""
        if target == "point":
            return np.zeros(len(self)) if not self.has_labels else np.where(np.isnan(self._y), np.nan, 0.0), classes
        if not self.has_labels:
            raise no_labels(self.schema, "give y, or choose the loss that predicts rows (uniclass)")
        if target == "real":
            self._refuse_names()
            return self._y.copy(), classes
        y, wrong, found = classes.encoded(self._labels, dormant=self.has_rounds)
        self._refuse(wrong, found.remedy())
        return y, found

    def plain(self) -> "Stream":
        """The same stream with the labels -1 and +1, if its labels are two classes of another kind."""
        y, wrong, found = UNKNOWN.encoded(self._labels, dormant=self.has_rounds)
        if not self.has_labels or np.any(wrong) or found.shown == PLAIN.shown:
            return self
        return self.relabelled(y)

    def relabelled(self, y: Floats) -> "Stream":
        """The same events with other labels, one per example; NaN where a task is dormant."""
        other = copy(self)
        other._set_examples(self._row, y, self._bounds, self.has_rounds)
        other.classes = UNKNOWN  # those of the labels before
        return other

    @property
    def label_values(self) -> Labels:
        """Labels as they are stored: numbers, or codes of names."""
        return self._labels

    def _refuse_names(self) -> None:
        """Labels that are not numbers, for a learner of numbers."""
        if self._labels.names is not None:
            self._refuse(~np.isnan(self._y), "this learner predicts numbers; give numbers, or another loss")

    def _refuse(self, bad: Any, remedy: str) -> None:
        """Refuse the first bad label by its row."""
        if np.any(bad):
            at = int(np.argmax(bad))
            place = f"row {at}"
            if self._events.data.length < len(self):  # several tasks see one row
                place = f"row {self._row[at]}, task {self._events.names[self._events.codes[at]]!r}"
            raise ValueError(f"{place}: label {self._shown(at)}; {remedy}")

    def _shown(self, at: int) -> str:
        label, names = self._y[at], self._labels.names
        return f"{label:g}" if names is None else repr(names[int(label)]) if label == label else "missing"

    def cut(self, start: int, stop: int) -> "Stream":
        """The rounds start .. stop-1."""
        if not 0 <= start <= stop <= self.n_rounds:
            raise ValueError(f"cut({start}, {stop}) is outside the {self.n_rounds} rounds of this stream")
        return self.take(np.arange(start, stop)) if stop - start != self.n_rounds else self

    def take(self, order: Ints) -> "Stream":
        """The rounds in another order, or some of them."""
        begin, size = self._bounds[order], np.diff(self._bounds)[order]
        bounds = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        examples = np.arange(bounds[-1]) - np.repeat(bounds[:-1] - begin, size)
        y = Labels(self._y[examples], self._labels.names) if self.has_labels else None
        if self.coded is not None and isinstance(self.coded.rows, CodedRows):
            taken = Stream.of_codes(self.coded.take(examples), y, bounds if self.has_rounds else None, "real")
            return taken._with_columns_of(self, examples)
        data, row, given = self._events.data, self._row[examples], self._given
        if len(row) and np.all(np.diff(row) >= 0):  # a contiguous piece
            first, last = int(row[0]), int(row[-1]) + 1
            edge = data.indptr[first : last + 1]
            piece = slice(int(edge[0]), int(edge[-1]))
            data = Rows(edge - edge[0], data.indices[piece], data.values[piece], data.features)
            row = row - first
            given = None if given is None else given._replace(indptr=given.indptr[first : last + 1])
        codes, names = recode(self._events.codes[examples], self._events.names)
        taken = Stream.__new__(Stream)
        taken._set(data, row, y, codes, names, bounds, self.has_rounds)
        taken._given = given
        return taken._with_columns_of(self, examples)

    def only(self, examples: Ints) -> "Stream":
        """Some examples, in ascending order, as if there were no others: features of dicts are numbered anew."""
        which = np.searchsorted(self._bounds, examples, "right")
        bounds = np.append(np.flatnonzero(np.diff(which, prepend=-1)), len(examples)).astype(np.int64)
        y = Labels(self._y[examples], self._labels.names) if self.has_labels else None
        if self.coded is not None and isinstance(self.coded.rows, CodedRows):
            found = Stream.of_codes(self.coded.take(examples), y, bounds if self.has_rounds else None, "real")
            return found._with_columns_of(self, examples)
        rows, first, row = np.unique(self._row[examples], return_index=True, return_inverse=True)
        order = np.argsort(first)  # rows in the order of the examples
        data = some_rows(self._events.data, rows[order], self._given)
        codes, names = recode(self._events.codes[examples], self._events.names)
        found = Stream.__new__(Stream)
        found._set(data, np.argsort(order)[row.ravel()], y, codes, names, bounds, self.has_rounds)
        found.is_dense = self.is_dense
        return found._with_columns_of(self, examples)

    @property
    def _coded_tasks(self) -> tuple[Ints, list[Name]]:
        """The code of every example's task, and names by code, of which some may not occur."""
        if self.coded is not None:
            return self.coded.tasks, self.coded.task_names.names
        return self._events.codes, self._events.names

    def _with_columns_of(self, whole: "Stream", examples: Ints) -> "Stream":
        """This part of a stream with the weights and ids of its examples."""
        self._weight = None if whole._weight is None else whole._weight[examples]
        self.classes, self.schema, self.is_dense = whole.classes, whole.schema, whole.is_dense
        self.ids = None if whole.ids is None else [whole.ids[i] for i in examples.tolist()]
        return self

    def shuffled(self, seed: int) -> "Stream":
        """The same rounds in a random order."""
        return self.take(np.random.default_rng(seed).permutation(self.n_rounds))


def no_labels(schema: Schema | None, remedy: str) -> ValueError:
    """That a stream has no labels, and in which field of its records they would be."""
    if schema is not None and schema.label is not None:
        return ValueError(f"no record has a label in the field {schema.label!r}; give the records with their labels")
    return ValueError(f"the stream has no labels; {remedy}")
