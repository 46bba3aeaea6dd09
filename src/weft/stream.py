"""Stream: rows, labels, tasks and rounds, checked once."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from weft.compiled.arrays import ArrayLike, Floats, Ints
from weft.compiled.jit import compiled
from weft.labels import CLASSES, label_array, wrong_labels
from weft.learner import Target
from weft.names import Name, plain
from weft.storage.rows import Rows, read_rows


class Stream:
    """Events in the order of their arrival.

    X       rows: a dense array, a SciPy sparse matrix, a data frame, or a list of dicts of named features
    y       labels: -1 or +1 for classification, numbers for regression, None if the rows are the targets
    task    the name of each row's task: strings, integers or tuples of those
    rounds  optional: an integer per row; neighbours with the same number form one round, which is scored before
            any of it is learned. In a stream with rounds a task may be dormant: its label is NaN (or 0 for
            classification), it is scored and not learned. Without `rounds` every row is a round of its own.

    >>> stream = Stream([[1, 0], [0, 2]], [1, -1], ["ann", "bob"])
    >>> len(stream), stream.task_names
    (2, ['ann', 'bob'])
    """

    def __init__(self, X: Any, y: Any, task: Any, rounds: Any = None) -> None:
        data = read_rows(X)
        n = data.length
        if n == 0:
            raise ValueError("the stream is empty; give at least one row")
        codes, names = read_tasks(task, n)
        self._set(data, np.arange(n), read_labels(y, n), codes, names, read_rounds(rounds, n), rounds is not None)
        self._refuse_labels()
        if rounds is not None:
            _refuse_repeated_tasks(self)

    @classmethod
    def of_checked(cls, X: Any, y: Floats | None, task: Any, rounds: Any, target: Target) -> "Stream":
        """A stream whose labels and rounds were checked already, for learners of that kind: see `weft.labels`."""
        data = read_rows(X)
        n = data.length
        if n == 0:
            raise ValueError("the stream is empty; give at least one row")
        codes, names = read_tasks(task, n)
        return cls.of_parts(
            data, np.arange(n), y, codes, names, read_rounds(rounds, n), rounds is not None, checked_for=target
        )

    @classmethod
    def of_parts(
        cls,
        data: Rows,
        row: Ints,
        y: Floats | None,
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
        stream._set(data, row, y, codes, names, bounds, explicit, checked_for)
        if checked_for is None:
            stream._refuse_labels()
        return stream

    def _set(
        self,
        data: Rows,
        row: Ints,
        y: Floats | None,
        codes: Ints,
        names: list[Name],
        bounds: Ints,
        explicit: bool,
        checked_for: Target | None = None,
    ) -> None:
        self.data = data
        self.row = row
        self.y = np.zeros(len(row)) if y is None else y
        self.has_labels = y is not None
        self.task_codes = codes
        self.task_names = names
        self.rounds = bounds
        self.has_rounds = explicit
        self._checked_for = checked_for

    def _refuse_labels(self) -> None:
        """What no learner takes: infinite labels, and missing ones in a stream without rounds."""
        self._refuse(np.isinf(self.y), "labels must be finite")
        if not self.has_rounds and self.has_labels:
            self._refuse(np.isnan(self.y), "give a label, or leave the row out")

    @classmethod
    def shared(cls, X: Any, Y: Any, tasks: Sequence[Name]) -> "Stream":
        """One round per row of X, in which every task sees that row: Y has a column of labels per task.

        Costs O(tasks x non-zeros) per round. A label that is NaN (or 0 for classification) marks a dormant task.

        >>> Stream.shared([[1.0, 2.0]], [[1, -1, 1]], ["sport", "money", "news"]).row.tolist()
        [0, 0, 0]
        """
        data = read_rows(X)
        if isinstance(tasks, str) or not isinstance(tasks, Iterable):
            raise ValueError(f"tasks={tasks!r} must be a list of names, one per column of Y")
        Y = label_array(Y)
        names = [plain(name, "task name") for name in tasks]
        n, k = data.length, len(names)
        if n == 0 or k == 0:
            raise ValueError("the stream is empty; give at least one row and one task")
        if Y.shape != (n, k):
            raise ValueError(f"Y has shape {Y.shape}, expected {(n, k)}: a row per row of X, a column per task")
        if len(set(names)) != k:
            raise ValueError("two columns of Y name the same task; give each column a name of its own")
        row, codes = np.repeat(np.arange(n), k), np.tile(np.arange(k), n)
        return cls.of_parts(data, row, Y.ravel(), codes, names, np.arange(0, n * k + 1, k), True)

    def __len__(self) -> int:
        return len(self.row)

    def __repr__(self) -> str:
        return (
            f"Stream({len(self)} examples, {self.n_rounds} rounds, {len(self.task_names)} tasks, "
            f"{self.data.width} features, {len(self.data.values)} non-zeros)"
        )

    @property
    def n_rounds(self) -> int:
        """Number of rounds."""
        return len(self.rounds) - 1

    @property
    def X(self) -> Any:
        """The stored rows as a SciPy CSR array."""
        from scipy import sparse

        return sparse.csr_array(
            (self.data.values, self.data.indices, self.data.indptr), shape=(self.data.length, self.data.width)
        )

    @property
    def tasks(self) -> list[Name]:
        """The task of every example."""
        return [self.task_names[code] for code in self.task_codes]

    def labels(self, target: Target) -> Floats:
        """Labels as a learner with this target takes them, NaN where a task is dormant; others are refused by row."""
        if target == "point":
            return np.zeros(len(self)) if not self.has_labels else np.where(np.isnan(self.y), np.nan, 0.0)
        if not self.has_labels:
            raise ValueError("the stream has no labels; give y, or choose the loss that predicts rows (uniclass)")
        if target == "real":
            return self.y
        if self._checked_for != "binary":
            self._refuse(wrong_labels(self.y, "binary", dormant=self.has_rounds), CLASSES)
        return np.where(self.y == 0.0, np.nan, self.y) if self.has_rounds else self.y

    def _refuse(self, bad: Any, remedy: str) -> None:
        """Refuse the first bad label by its row."""
        if np.any(bad):
            at = int(np.argmax(bad))
            place = f"row {at}"
            if self.data.length < len(self):  # several tasks see one row
                place = f"row {self.row[at]}, task {self.task_names[self.task_codes[at]]!r}"
            raise ValueError(f"{place}: label {self.y[at]:g}; {remedy}")

    def cut(self, start: int, stop: int) -> "Stream":
        """The rounds start .. stop-1."""
        if not 0 <= start <= stop <= self.n_rounds:
            raise ValueError(f"cut({start}, {stop}) is outside the {self.n_rounds} rounds of this stream")
        return self.take(np.arange(start, stop)) if stop - start != self.n_rounds else self

    def take(self, order: Ints) -> "Stream":
        """The rounds in another order, or some of them."""
        begin, size = self.rounds[order], np.diff(self.rounds)[order]
        bounds = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        examples = np.arange(bounds[-1]) - np.repeat(bounds[:-1] - begin, size)
        y = self.y[examples] if self.has_labels else None
        data, row = self.data, self.row[examples]
        if len(row) and np.all(np.diff(row) >= 0):  # a contiguous piece
            first, last = int(row[0]), int(row[-1]) + 1
            edge = data.indptr[first : last + 1]
            piece = slice(int(edge[0]), int(edge[-1]))
            data = Rows(edge - edge[0], data.indices[piece], data.values[piece], data.features)
            row = row - first
        codes, names = _recode(self.task_codes[examples], self.task_names)
        taken = Stream.__new__(Stream)
        taken._set(data, row, y, codes, names, bounds, self.has_rounds, self._checked_for)
        return taken

    def shuffled(self, seed: int) -> "Stream":
        """The same rounds in a random order."""
        return self.take(np.random.default_rng(seed).permutation(self.n_rounds))


def _recode(codes: Ints, names: list[Name]) -> tuple[Ints, list[Name]]:
    """Codes by first appearance in this piece, so that slots do not depend on how a stream was cut."""
    found, order = _number_codes(codes, len(names))
    return found, [names[code] for code in order]


def read_tasks(task: Any, n: int) -> tuple[Ints, list[Name]]:
    """Task names as codes in order of first appearance."""
    if isinstance(task, str | int | np.integer):
        return np.zeros(n, np.int64), [plain(task, "task name")]
    if isinstance(task, ArrayLike):
        array = np.asarray(task)
        if array.ndim != 1:
            raise ValueError(f"task has {array.ndim} dimensions; give one name per row")
        if array.dtype.kind in "iu" and not np.any(array > np.iinfo(np.int64).max):
            _same_length("task", len(array), n)
            return _integer_codes(array.astype(np.int64))
        task = array.tolist()
    try:
        task = list(task)
    except TypeError:
        raise ValueError(f"task is {task!r}; give one name per row") from None
    _same_length("task", len(task), n)
    if not set(map(type, task)) <= {str, int}:
        task = [plain(name, f"row {row}: task") for row, name in enumerate(task)]
    index: dict[Name, int] = {}
    codes = np.fromiter((index.setdefault(name, len(index)) for name in task), np.int64, n)
    return codes, list(index)


def _integer_codes(task: Ints) -> tuple[Ints, list[Name]]:
    values = task
    low, high = (int(task.min()), int(task.max())) if len(task) else (0, -1)
    if high - low > 4 * len(task) + 1_000_000:  # far apart: rank them first
        distinct, values = np.unique(task, return_inverse=True)
        codes, order = _number_codes(values.astype(np.int64), len(distinct))
        return codes, [int(distinct[v]) for v in order]
    codes, order = _number_codes(values - low, high - low + 1)
    return codes, [int(v) + low for v in order]


def read_labels(y: Any, n: int) -> Floats | None:
    """Labels as floats; NaN stays (a dormant task), infinity does not."""
    if y is None:
        return None
    labels = label_array(y)
    if labels.ndim != 1:
        raise ValueError(f"y has {labels.ndim} dimensions; give one label per row")
    _same_length("y", len(labels), n)
    return labels


def read_rounds(rounds: Any, n: int) -> Ints:
    """Bounds of the rounds: runs of equal numbers; a number that appears again later is refused."""
    if rounds is None:
        return np.arange(n + 1)
    array = np.asarray(rounds)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError("rounds must be one integer per row")
    _same_length("rounds", len(array), n)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(array)) + 1])
    numbers = array[starts]
    if len(np.unique(numbers)) != len(numbers):
        first = np.sort(np.unique(numbers, return_index=True)[1])
        again = np.setdiff1d(np.arange(len(numbers)), first)[0]
        raise ValueError(
            f"row {starts[again]}: round {numbers[again]} has ended already; rows of one round must be adjacent"
        )
    return np.append(starts, n).astype(np.int64)


def _refuse_repeated_tasks(stream: Stream) -> None:
    which = np.repeat(np.arange(stream.n_rounds), np.diff(stream.rounds))
    order = np.lexsort((stream.task_codes, which))
    same = (np.diff(which[order]) == 0) & (np.diff(stream.task_codes[order]) == 0)
    if np.any(same):
        at = int(np.flatnonzero(same)[0])
        one, other = sorted((int(order[at]), int(order[at + 1])))
        name = stream.task_names[stream.task_codes[one]]
        raise ValueError(
            f"rows {one} and {other}: task {name!r} appears twice in one round; give the rows different rounds"
        )


def _same_length(what: str, found: int, expected: int) -> None:
    if found != expected:
        raise ValueError(f"{what} has {found} entries, X has {expected} rows; give one per row")


@compiled
def _first_seen(values: Ints, table: Ints, codes: Ints, order: Ints) -> int:
    count = 0
    for i in range(values.shape[0]):
        value = values[i]
        if table[value] < 0:
            table[value] = count
            order[count] = value
            count += 1
        codes[i] = table[value]
    return count


def _number_codes(values: Ints, size: int) -> tuple[Ints, Ints]:
    """Number small non-negative values by first appearance: the codes, and the values in that order."""
    codes, order = np.empty(len(values), np.int64), np.empty(min(size, len(values)), np.int64)
    count = _first_seen(values, np.full(size, -1, np.int64), codes, order)
    return codes, order[:count]
