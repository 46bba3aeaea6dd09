"""Tally: per-task counts of predictions issued before the label was seen, so that learning includes the evaluation."""

from typing import Any

import numpy as np

from weft.compiled.arrays import Array, Floats
from weft.compiled.jit import compiled
from weft.learner import Target
from weft.maths.decay import DECAY, ERROR, MOST, RECENT_LOSS
from weft.maths.losses import loss_value
from weft.names import Names
from weft.storage.batch import Batch
from weft.tally.per_task import PerTask
from weft.tally.recent import Recent
from weft.threads.guard import Guard

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

BUFFER_SIZE = 512
"""Single events are counted when there are so many of them."""


class Tally(PerTask):
    """Counts per task, in the order of the model's tasks, over all events learned so far.

    A classifier's mistake is a label (+1 when the score is >= 0, else -1) that differs from the true one. A dormant
    task's event is not counted. For regression the deviations are summed instead; for points, the distances.

    >>> import weft
    >>> model = weft.Model("perceptron")
    >>> _ = model.learn(weft.Stream([[1.0], [1.0], [1.0]], [1, -1, -1], ["ann", "ann", "bob"]))
    >>> model.tally.counts.tolist(), model.tally.mistakes.tolist(), model.tally["ann"]["error"]
    ([2, 1], [1, 1], 0.5)
    """

    def __init__(
        self,
        names: Names,
        target: Target,
        loss: tuple[int, float],
        table: Floats | None = None,
        guard: Guard | None = None,
        recent: Floats | None = None,
    ) -> None:
        super().__init__(names, np.zeros((0, len(COLUMNS))) if table is None else table, recent, guard or Guard())
        self.target = target
        self._loss = loss
        self.buffer: list[tuple[int, float, float]] = []
        """Task, label and score of single events that are not in the table yet."""

    def __reduce__(self) -> Any:
        """Pickled and copied as it is now, without the model that it belongs to."""
        names, table, recent = self._snapshot()
        return Tally, (Names(names), self.target, self._loss, table, None, recent)

    # --- updated by the model ---

    def count(self, batch: Batch, scores: Floats) -> None:
        """Count the issued scores of a batch."""
        self.flush()
        is_binary = self.target == "binary"
        _count(self._table, self._recent, is_binary, batch.task, batch.label, scores, *self._loss)

    def count_one(self, task: int, label: float, score: float) -> None:
        """Count one event; events are buffered until there are several hundred, or until the tally is read."""
        self.buffer += ((task, label, score),)
        if len(self.buffer) >= BUFFER_SIZE:
            self.flush()

    def flush(self) -> None:
        """Count the events in the buffer; if this fails, or is interrupted, each of them counts once all the same."""
        if self.buffer:
            task, label, score = zip(*self.buffer, strict=True)
            floats = np.array(label, np.float64), np.array(score, np.float64)
            rest = np.array(task, np.int64), *floats, *self._loss
            tables = (self._table,), (self._recent,)
            [_] = map(_count, *tables, (self.target == "binary",), *((part,) for part in rest))
            del self.buffer[:]  # no signal handler runs between the two, see `guard`

    def _like(self, names: Names, table: Floats | None, recent: Floats | None) -> "Tally":
        """Another tally of the same kind of predictions, for other tasks."""
        return Tally(names, self.target, self._loss, table, None, recent)

    def _take_over(self, slot: int, other: "Tally") -> None:
        """The task at a slot, which has counted nothing, has the counts of a tally of one task."""
        self.flush()
        self._table[slot], self._recent[slot] = other.live[0], other.live_recent[0]

    def _joined(self, others: list["Tally"]) -> "Tally":
        """A copy with the tasks of other tallies after its own."""
        names, tables, recent = map(list, zip(*(tally._snapshot() for tally in (self, *others)), strict=True))
        return self._like(
            Names([name for some in names for name in some]), np.concatenate(tables), np.concatenate(recent)
        )

    def forget(self, slot: int, names: Names) -> int:
        """Without the task at a slot, of which no event is in the buffer; `names` are those of the others.

        Returns how many events it had.
        """
        return self._drop(slot, names)

    @property
    def _is_empty(self) -> bool:
        """Was nothing counted yet? For whoever changes the model, and may not be refused."""
        return not self.buffer and not self._table[:, EVENTS].any()

    # --- read by the user ---

    @property
    def recent(self) -> Recent:
        """Error and loss per task over recent events, and which tasks have become worse; see `weft.tally.recent`."""
        names, table, recent = self._snapshot()
        binary = self.target == "binary"
        totals = table[:, [MISTAKES, MISTAKES] if binary else [ABSOLUTE, SQUARED]]
        return Recent(names, table[:, EVENTS], totals, recent, binary)

    @property
    def events(self) -> Array:
        """Events per task."""
        return self.counts

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
        table = self.live
        errors: Floats = _ratio(table[:, column], table[:, EVENTS])
        return errors

    @property
    def f1(self) -> Floats:
        """F-measure of the positive class per task; NaN where it is undefined."""
        return _f1(self.live)

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


def _ratio(part: Any, whole: Any) -> Any:
    return np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=np.asarray(whole) > 0)


def _f1(table: Floats) -> Floats:
    hits = 2.0 * table[:, TRUE_POSITIVE]
    f1: Floats = _ratio(hits, hits + table[:, FALSE_POSITIVE] + table[:, FALSE_NEGATIVE])
    return f1


@compiled
def _count(
    table: Floats, recent: Floats, binary: bool, task: Any, label: Any, scores: Floats, loss: int, epsilon: float
) -> None:
    for i in range(task.shape[0]):
        y, s, j = label[i], scores[i], np.uint64(task[i])
        if np.isnan(y):
            continue
        table[j, EVENTS] += 1.0
        suffered = loss_value(loss, s, y, epsilon)
        table[j, LOSS] += np.inf if np.isnan(suffered) else suffered  # no number is the worst score: sums stay sums
        recent[j, RECENT_LOSS] = DECAY * recent[j, RECENT_LOSS] + (suffered if suffered < MOST else MOST)
        if binary:  # sums of zeros and ones, without branches: whether a prediction is right is not predictable
            predicted, actual = 1.0 if s >= 0.0 else 0.0, 1.0 if y > 0.0 else 0.0
            both = predicted * actual
            table[j, TRUE_POSITIVE] += both
            table[j, FALSE_POSITIVE] += predicted - both
            table[j, FALSE_NEGATIVE] += actual - both
            mistake = predicted + actual - 2.0 * both
            table[j, MISTAKES] += mistake
            recent[j, ERROR] = DECAY * recent[j, ERROR] + mistake
        else:
            gap = np.inf if np.isnan(s) else abs(y - s)
            table[j, ABSOLUTE] += gap
            table[j, SQUARED] += gap * gap
            recent[j, ERROR] = DECAY * recent[j, ERROR] + min(gap, MOST)
