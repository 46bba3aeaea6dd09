"""Tally: per-task counts of predictions issued before the label was seen, so that learning includes the evaluation."""

from typing import Any

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import compiled
from weft.learner import Target
from weft.maths.losses import loss_value
from weft.names import Name, Names
from weft.storage.batch import Batch

COLUMNS = (
    "events",
    "mistakes",
    "loss",
    "true_positive",
    "false_positive",
    "false_negative",
    "absolute",
    "squared",
)
EVENTS, MISTAKES, LOSS, TRUE_POSITIVE, FALSE_POSITIVE, FALSE_NEGATIVE, ABSOLUTE, SQUARED = range(8)

_BUFFER_SIZE = 512


class Tally:
    """Counts per task, in the order of the model's tasks, over all events learned so far.

    A classifier's mistake is a label (+1 when the score is >= 0, else -1) that differs from the true one. A dormant
    task's event is not counted. For regression the deviations are summed instead; for points, the distances.

    >>> import weft
    >>> model = weft.Model("perceptron")
    >>> _ = model.learn(weft.Stream([[1.0], [1.0], [1.0]], [1, -1, -1], ["ann", "ann", "bob"]))
    >>> model.tally.counts.tolist(), model.tally.mistakes.tolist(), model.tally["ann"]["error"]
    ([2, 1], [1, 1], 0.5)
    """

    def __init__(self, names: Names, target: Target, loss: tuple[int, float], table: Floats | None = None) -> None:
        self._names = names
        self.target = target
        self._loss = loss
        self._table = np.zeros((0, len(COLUMNS))) if table is None else table
        self._buffer: list[tuple[int, float, float]] = []

    # --- updated by the model ---

    def reserve(self, tasks: int) -> None:
        """Make room for this number of tasks."""
        if tasks > len(self._table):
            grown = np.zeros((max(tasks, 2 * len(self._table)), len(COLUMNS)))
            grown[: len(self._table)] = self._table
            self._table = grown

    def count(self, batch: Batch, scores: Floats) -> None:
        """Count the issued scores of a batch."""
        self._flush()
        _count(self._table, self.target == "binary", batch.task, batch.label, scores, *self._loss)

    def count_one(self, task: int, label: float, score: float) -> None:
        """Count one event; events are buffered until there are several hundred, or until the tally is read."""
        self._buffer.append((task, label, score))
        if len(self._buffer) == _BUFFER_SIZE:
            self._flush()

    def _flush(self) -> None:
        if self._buffer:
            task, label, score = zip(*self._buffer, strict=True)
            self._buffer = []
            floats = np.array(label, np.float64), np.array(score, np.float64)
            _count(self._table, self.target == "binary", np.array(task, np.int64), *floats, *self._loss)

    # --- read by the user ---

    @property
    def live(self) -> Floats:
        """The table's rows of known tasks."""
        self._flush()
        return self._table[: len(self._names)].copy()

    @property
    def tasks(self) -> list[Name]:
        """Task names, in the order of all arrays here."""
        return list(self._names)

    @property
    def counts(self) -> Any:
        """Events per task."""
        return self.live[:, EVENTS].astype(np.int64)

    events = counts

    @property
    def mistakes(self) -> Any:
        """Mistakes per task."""
        return self.live[:, MISTAKES].astype(np.int64)

    @property
    def losses(self) -> Floats:
        """Sum of losses per task."""
        return self.live[:, LOSS].copy()

    @property
    def errors(self) -> Floats:
        """Error per task: share of mistakes, or mean absolute deviation; NaN before the first event."""
        column = MISTAKES if self.target == "binary" else ABSOLUTE
        errors: Floats = _ratio(self.live[:, column], self.live[:, EVENTS])
        return errors

    @property
    def f1(self) -> Floats:
        """F-measure of the positive class per task; NaN where it is undefined."""
        return _f1(self.live)

    @property
    def total(self) -> dict[str, float]:
        """All tasks together."""
        return self._summary(np.sum(self.live, axis=0))

    def __getitem__(self, task: Name) -> dict[str, float]:
        slot = self._names.find(task)
        if slot < 0:
            raise KeyError(f"there is no task {task!r}; known tasks are {', '.join(map(repr, self.tasks[:8]))}")
        return self._summary(self.live[slot])

    def rows(self) -> list[dict[str, Any]]:
        """A dict per task, ready for a table."""
        return [{"task": name, **self._summary(row)} for name, row in zip(self._names, self.live, strict=True)]

    def _summary(self, row: Floats) -> dict[str, float]:
        events = row[EVENTS]
        mean = {"events": int(events), "loss": float(_ratio(row[LOSS], events))}
        if self.target == "binary":
            error, f1 = float(_ratio(row[MISTAKES], events)), float(_f1(row[None, :])[0])
            return mean | {"mistakes": int(row[MISTAKES]), "error": error, "f1": f1}
        return mean | {
            "error": float(_ratio(row[ABSOLUTE], events)),
            "rmse": float(np.sqrt(_ratio(row[SQUARED], events))),
        }

    def __repr__(self) -> str:
        total = self.total
        return f"Tally({len(self.tasks)} tasks, {total['events']} events, error {total['error']:.4f})"


def _ratio(part: Any, whole: Any) -> Any:
    return np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=np.asarray(whole) > 0)


def _f1(table: Floats) -> Floats:
    hits = 2.0 * table[:, TRUE_POSITIVE]
    f1: Floats = _ratio(hits, hits + table[:, FALSE_POSITIVE] + table[:, FALSE_NEGATIVE])
    return f1


@compiled
def _count(table: Floats, binary: bool, task: Any, label: Any, scores: Floats, loss: int, epsilon: float) -> None:
    for i in range(task.shape[0]):
        y, s, j = label[i], scores[i], np.uint64(task[i])
        if np.isnan(y):
            continue
        table[j, EVENTS] += 1.0
        table[j, LOSS] += loss_value(loss, s, y, epsilon)
        if binary:  # sums of zeros and ones, without branches: whether a prediction is right is not predictable
            predicted, actual = 1.0 if s >= 0.0 else 0.0, 1.0 if y > 0.0 else 0.0
            both = predicted * actual
            table[j, TRUE_POSITIVE] += both
            table[j, FALSE_POSITIVE] += predicted - both
            table[j, FALSE_NEGATIVE] += actual - both
            table[j, MISTAKES] += predicted + actual - 2.0 * both
        else:
            gap = y - s
            table[j, ABSOLUTE] += abs(gap)
            table[j, SQUARED] += gap * gap
