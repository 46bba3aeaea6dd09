"""Tally: per-task counts of predictions issued before the label was seen, so that learning includes the evaluation."""

from typing import Any

import numpy as np

from weft import html
from weft.compiled.arrays import Floats
from weft.compiled.jit import compiled
from weft.guard import READING, Guard
from weft.learner import Target
from weft.maths.decay import DECAY, ERROR, MOST, RECENT_LOSS
from weft.maths.losses import loss_value
from weft.names import Name, Names
from weft.recent import Recent, as_the_whole
from weft.storage.batch import Batch
from weft.storage.memory import longer

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

    def __init__(
        self,
        names: Names,
        target: Target,
        loss: tuple[int, float],
        table: Floats | None = None,
        guard: Guard | None = None,
        recent: Floats | None = None,
    ) -> None:
        self._names = names
        self.target = target
        self._loss = loss
        self._table = np.zeros((0, len(COLUMNS))) if table is None else table
        errors = self._table[:, MISTAKES if target == "binary" else ABSOLUTE]
        whole = as_the_whole(self._table[:, EVENTS], errors, self._table[:, LOSS]) if recent is None else recent
        self._recent = whole
        self._guard = guard or Guard()
        self.buffer: list[tuple[int, float, float]] = []
        """Task, label and score of single events that are not in the table yet."""

    def __reduce__(self) -> Any:
        """Pickled and copied as it is now, without the model that it belongs to."""
        names, table, recent = self._snapshot()
        return Tally, (Names(names), self.target, self._loss, table, None, recent)

    # --- updated by the model ---

    def reserve(self, tasks: int) -> None:
        """Make room for this number of tasks."""
        if tasks > len(self._table):
            room = max(tasks, 2 * len(self._table))
            recent = longer(self._recent, room)
            self._table, self._recent = longer(self._table, room), recent

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

    def forget(self, slot: int, names: Names) -> int:
        """Without the task at a slot, of which no event is in the buffer; `names` are those of the others.

        Returns how many events it had.
        """
        events = int(self._table[slot, EVENTS])
        self._table, self._recent = np.delete(self._table, slot, 0), np.delete(self._recent, slot, 0)
        self._names = names
        return events

    # --- read by the user ---

    def _snapshot(self) -> tuple[list[Name], Floats, Floats]:
        """All tasks, their rows, and those of recent events, at one moment."""
        with self._guard.lock:
            if self._guard.level > READING:
                self._guard.refuse()
            self.flush()
            count = len(self._names)
            return list(self._names), self._table[:count].copy(), self._recent[:count].copy()

    @property
    def live(self) -> Floats:
        """The table's rows of known tasks."""
        return self._snapshot()[1]

    @property
    def live_recent(self) -> Floats:
        """The same of the decayed sums over recent events."""
        return self._snapshot()[2]

    @property
    def recent(self) -> Recent:
        """Error and loss per task over recent events, and which tasks have become worse; see `weft.recent`."""
        names, table, recent = self._snapshot()
        binary = self.target == "binary"
        totals = table[:, [MISTAKES, MISTAKES] if binary else [ABSOLUTE, SQUARED]]
        return Recent(names, table[:, EVENTS], totals, recent, binary)

    @property
    def tasks(self) -> list[Name]:
        """Task names, in the order of all arrays here."""
        return self._snapshot()[0]

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
        table = self.live
        errors: Floats = _ratio(table[:, column], table[:, EVENTS])
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
        names, table, _ = self._snapshot()
        slot = self._names.find(task)  # a slot never changes
        if not 0 <= slot < len(names):
            raise KeyError(f"there is no task {task!r}; known tasks are {', '.join(map(repr, names[:8]))}")
        return self._summary(table[slot])

    def rows(self) -> list[dict[str, Any]]:
        """A dict per task, ready for a table."""
        return [{"task": name, **self._summary(row)} for name, row in zip(*self._snapshot()[:2], strict=True)]

    def to_frame(self) -> Any:
        """A pandas data frame with a row per task, named by it: the columns of `rows`, and the recent figures."""
        try:
            import pandas as pd
        except ImportError:
            raise ValueError("to_frame needs pandas, which is not installed; run pip install pandas") from None
        recent = self.recent
        known = {row["task"]: row for row in self.rows()}
        rows = [known[name] for name in recent.tasks]
        frame = pd.DataFrame([{key: value for key, value in row.items() if key != "task"} for row in rows])
        frame.index = pd.Index(recent.tasks, name="task", tupleize_cols=False)
        return frame.assign(recent_error=recent.errors, recent_loss=recent.losses, worse=recent.worse)

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

    def _repr_html_(self) -> str:
        recent = {row["task"]: row for row in self.recent.rows()}
        rows = sorted(self.rows(), key=lambda row: -row["events"])
        cells = [
            (row["task"], row["events"], row["error"], recent[row["task"]]["error"], recent[row["task"]]["worse"])
            for row in rows
            if row["task"] in recent
        ]
        return html.table(repr(self), ["task", "events", "error", "recent error", "worse"], cells)

    def __repr__(self) -> str:
        names, table, _ = self._snapshot()
        total = self._summary(np.sum(table, axis=0))
        return f"Tally({len(names)} tasks, {total['events']} events, error {total['error']:.4f})"


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
