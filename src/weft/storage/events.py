"""The parts of a stream: tasks as codes, rounds as bounds, and the events that they make up."""

from typing import Any, NamedTuple, TypeVar

import numpy as np

from weft.compiled.arrays import ArrayLike, Floats, Ints
from weft.compiled.jit import compiled
from weft.names import Name, plain
from weft.storage.lexicon import CodedRows, Lexicon
from weft.storage.rows import Rows, first_masked

Numbers = TypeVar("Numbers", Floats, Ints)


class Events(NamedTuple):
    """What a stream holds: example i shows row `row[i]` of `data` and belongs to task `names[codes[i]]`."""

    data: Rows
    row: Ints
    y: Floats
    codes: Ints
    names: list[Name]
    bounds: Ints


class Coded(NamedTuple):
    """The tasks and rows of a stream as a reader of files hands them over: see `weft.storage.lexicon`.

    Rows of numbered features have no lexicon: their columns are their names.
    """

    tasks: Ints
    task_names: Lexicon
    rows: CodedRows | Rows

    def take(self, examples: Ints) -> "Coded":
        """Some examples of named features, in this order."""
        rows = self.rows
        assert isinstance(rows, CodedRows)  # rows of numbers are taken as they are
        sizes = np.diff(rows.indptr)[examples]
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        entries = np.arange(indptr[-1]) + np.repeat(rows.indptr[examples] - indptr[:-1], sizes)
        taken = CodedRows(indptr, rows.indices[entries], rows.values[entries], rows.names)
        return Coded(self.tasks[examples], self.task_names, taken)


def recode(codes: Ints, names: list[Name]) -> tuple[Ints, list[Name]]:
    """Codes by first appearance in this piece, so that slots do not depend on how a stream was cut."""
    found, order = _number_codes(codes, len(names))
    return found, [names[code] for code in order]


def read_tasks(task: Any, n: int) -> tuple[Ints, list[Name]]:
    """Task names as codes in order of first appearance."""
    if isinstance(task, str | int | np.integer):
        return np.zeros(n, np.int64), [plain(task, "task name")]
    if isinstance(task, ArrayLike):
        refuse_masked("task", task)
        array = np.asarray(task)
        if array.ndim != 1:
            raise ValueError(f"task has {array.ndim} dimensions; give one name per row")
        if array.dtype.kind in "iu" and not np.any(array > np.iinfo(np.int64).max):
            same_length("task", len(array), n)
            return _integer_codes(array.astype(np.int64))
        task = array.tolist()
    try:
        task = list(task)
    except TypeError:
        raise ValueError(f"task is {task!r}; give one name per row") from None
    same_length("task", len(task), n)
    if not set(map(type, task)) <= {str, int}:
        task = [plain(name, f"row {row}: task") for row, name in enumerate(task)]
    index: dict[Name, int] = {}
    codes = np.fromiter((index.setdefault(name, len(index)) for name in task), np.int64, n)
    return codes, [name if type(name) is str else plain(name, "task") for name in index]


def _integer_codes(task: Ints) -> tuple[Ints, list[Name]]:
    values = task
    low, high = (int(task.min()), int(task.max())) if len(task) else (0, -1)
    if high - low > 4 * len(task) + 1_000_000:  # far apart: rank them first
        distinct, values = np.unique(task, return_inverse=True)
        codes, order = _number_codes(values.astype(np.int64), len(distinct))
        return codes, [int(distinct[v]) for v in order]
    codes, order = _number_codes(values - low, high - low + 1)
    return codes, [int(v) + low for v in order]


def refuse_masked(what: str, values: Any) -> None:
    if at := first_masked(values):
        raise ValueError(f"row {at[0]}: {what} is masked; give it a value, or drop the row")


def read_rounds(rounds: Any, n: int) -> Ints:
    """Bounds of the rounds: runs of equal numbers; a number that appears again later is refused."""
    if rounds is None:
        return np.arange(n + 1)
    refuse_masked("rounds", rounds)
    array = np.asarray(rounds)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError("rounds must be one integer per row")
    same_length("rounds", len(array), n)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(array)) + 1])
    numbers = array[starts]
    if len(np.unique(numbers)) != len(numbers):
        first = np.sort(np.unique(numbers, return_index=True)[1])
        again = np.setdiff1d(np.arange(len(numbers)), first)[0]
        raise ValueError(
            f"row {starts[again]}: round {numbers[again]} has ended already; rows of one round must be adjacent"
        )
    return np.append(starts, n).astype(np.int64)


def refuse_repeated_tasks(events: Events) -> None:
    which = np.repeat(np.arange(len(events.bounds) - 1), np.diff(events.bounds))
    order = np.lexsort((events.codes, which))
    same = (np.diff(which[order]) == 0) & (np.diff(events.codes[order]) == 0)
    if np.any(same):
        at = int(np.flatnonzero(same)[0])
        one, other = sorted((int(order[at]), int(order[at + 1])))
        name = events.names[events.codes[one]]
        raise ValueError(
            f"rows {one} and {other}: task {name!r} appears twice in one round; give the rows different rounds"
        )


def same_length(what: str, found: int, expected: int) -> None:
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


def locked(array: Numbers) -> Numbers:
    """The same numbers, read-only: a buffer that cannot be made writable again."""
    buffer: Any = array
    found: Numbers = np.asarray(memoryview(buffer).toreadonly())
    return found
