"""Counts of predictions among many classes, per task, issued before each label was used."""

from typing import Any

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.jit import compiled
from weft.maths.decay import DECAY, ERROR, RECENT_LOSS
from weft.names import Name, Names
from weft.storage.saving import refuse_counters
from weft.stream import Stream
from weft.tally.per_task import PerTask
from weft.tally.recent import COLUMNS as RECENT_COLUMNS
from weft.tally.recent import Recent
from weft.threads.guard import Guard
from weft.vocabulary import names_as_json, names_from_json

COLUMNS = ("events", "mistakes", "loss")
EVENTS, MISTAKES, LOSS = range(3)
LEAST = 1e-15
"""The least probability that a label is given when its loss is counted, as when its class was not known yet."""


class ClassTally(PerTask):
    """Events, mistakes and log-loss of every task."""

    target = "class"

    def __init__(self, guard: Guard) -> None:
        super().__init__(Names(), np.zeros((0, len(COLUMNS))), None, guard)

    def flush(self) -> None:
        """Everything is counted at once."""

    def count(self, stream: Stream, codes: Ints, found: Ints, proba: Floats) -> None:
        """Count the predictions of a stream; an example without a label (-1) is not counted."""
        slots, addition = self._names.locate(stream.task_names)
        self.reserve(self._names.after(addition))
        self._names.add(addition)
        tasks = stream.task_codes if slots is None else slots[stream.task_codes]
        labelled = np.flatnonzero(codes >= 0)
        given = np.maximum(proba[labelled, codes[labelled]], LEAST)
        is_wrong = (found != codes)[labelled].astype(np.float64)
        _count(self._table, self._recent, np.ascontiguousarray(tasks[labelled]), is_wrong, -np.log(given))

    def forget(self, task: Name) -> int:
        """Without a task; returns how many events it had."""
        slot = self._names.find(task)
        return self._drop(slot, Names([name for at, name in enumerate(self._names) if at != slot]))

    def restore(self, names: Any, table: Array, recent: Array) -> None:
        """What a file holds; ValueError if it cannot be."""
        self._names = names_from_json(names)
        count = len(self._names)
        if table.shape != (count, len(COLUMNS)) or table.dtype != np.float64:
            raise ValueError("the tally does not fit its tasks")
        refuse_counters("tally", table[:, [EVENTS, MISTAKES]])
        if not (np.all(table >= 0.0) and np.all(table[:, MISTAKES] <= table[:, EVENTS])):
            raise ValueError("the tally has figures that counting cannot give")
        if recent.shape != (count, len(RECENT_COLUMNS)) or recent.dtype != np.float64:
            raise ValueError("the sums over recent events do not fit the tasks")
        if not np.all((recent >= 0.0) & (recent <= table[:, [MISTAKES, LOSS]])):
            raise ValueError("the sums over recent events are not numbers from 0 to the sums over all events")
        self._table, self._recent = table.copy(), recent.copy()

    def as_json(self) -> dict[str, object]:
        """The names of the tasks, for a file."""
        return names_as_json(self._names)

    @property
    def recent(self) -> Recent:
        """Error and loss per task over recent events, and which tasks have become worse; see `weft.tally.recent`."""
        names, table, recent = self._snapshot()
        return Recent(names, table[:, EVENTS], table[:, [MISTAKES, MISTAKES]], recent, binary=True)

    @property
    def errors(self) -> Floats:
        """The share of mistakes per task; NaN before the first event."""
        table = self.live
        found: Floats = np.divide(
            table[:, MISTAKES], table[:, EVENTS], out=np.full(len(table), np.nan), where=table[:, EVENTS] > 0
        )
        return found

    def _summary(self, row: Floats) -> dict[str, float]:
        events = row[EVENTS]
        loss, error = (row[LOSS] / events, row[MISTAKES] / events) if events > 0 else (np.nan, np.nan)
        return {"events": int(events), "loss": float(loss), "mistakes": int(row[MISTAKES]), "error": float(error)}


@compiled
def _count(table: Floats, recent: Floats, task: Ints, is_wrong: Floats, loss: Floats) -> None:
    """One by one: cutting a stream changes no bit."""
    for i in range(task.shape[0]):
        j = np.uint64(task[i])
        table[j, EVENTS] += 1.0
        table[j, MISTAKES] += is_wrong[i]
        table[j, LOSS] += loss[i]
        recent[j, ERROR] = DECAY * recent[j, ERROR] + is_wrong[i]
        recent[j, RECENT_LOSS] = DECAY * recent[j, RECENT_LOSS] + loss[i]
