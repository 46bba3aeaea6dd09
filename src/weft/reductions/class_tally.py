"""Counts of predictions among many classes, per task, issued before each label was used."""

from typing import Any

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.guard import READING, Guard
from weft.names import Name, Names
from weft.storage.memory import longer
from weft.stream import Stream
from weft.vocabulary import names_as_json, names_from_json

COLUMNS = ("events", "mistakes", "loss")
EVENTS, MISTAKES, LOSS = range(3)
LEAST = 1e-15
"""The least probability that a label is given when its loss is counted, as when its class was not known yet."""


class ClassTally:
    """Events, mistakes and log-loss of every task."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._names = Names()
        self._table = np.zeros((0, len(COLUMNS)))

    def count(self, stream: Stream, codes: Ints, found: Ints, proba: Floats) -> None:
        """Count the predictions of a stream; an example without a label (-1) is not counted."""
        slots, addition = self._names.locate(stream.task_names)
        after = self._names.after(addition)
        if after > len(self._table):
            self._table = longer(self._table, max(after, 2 * len(self._table)))
        self._names.add(addition)
        tasks = stream.task_codes if slots is None else slots[stream.task_codes]
        labelled = np.flatnonzero(codes >= 0)
        given = np.maximum(proba[labelled, codes[labelled]], LEAST)
        for column, amount in (
            (EVENTS, np.ones(len(labelled))),
            (MISTAKES, (found != codes)[labelled].astype(np.float64)),
            (LOSS, -np.log(given)),
        ):
            np.add.at(self._table[:, column], tasks[labelled], amount)  # one by one: cutting a stream changes no bit

    def restore(self, names: Any, table: Array) -> None:
        """What a file holds; ValueError if it cannot be."""
        self._names = names_from_json(names)
        if table.shape != (len(self._names), len(COLUMNS)) or table.dtype != np.float64:
            raise ValueError("the tally does not fit its tasks")
        counts = table[:, [EVENTS, MISTAKES]]
        if not (np.all(table >= 0.0) and np.all(counts == np.floor(counts)) and np.all(counts[:, 1] <= counts[:, 0])):
            raise ValueError("the tally has figures that counting cannot give")
        self._table = table.copy()

    def as_json(self) -> dict[str, object]:
        """The names of the tasks, for a file."""
        return names_as_json(self._names)

    def _snapshot(self) -> tuple[list[Name], Floats]:
        with self._guard.lock:
            if self._guard.level > READING:
                self._guard.refuse()
            return list(self._names), self._table[: len(self._names)].copy()

    @property
    def live(self) -> Floats:
        """A row per task."""
        return self._snapshot()[1]

    @property
    def tasks(self) -> list[Name]:
        """Names of the tasks, in the order of all arrays here."""
        return self._snapshot()[0]

    @property
    def counts(self) -> Ints:
        """Events per task."""
        return self.live[:, EVENTS].astype(np.int64)

    @property
    def errors(self) -> Floats:
        """The share of mistakes per task; NaN before the first event."""
        table = self.live
        found: Floats = np.divide(
            table[:, MISTAKES], table[:, EVENTS], out=np.full(len(table), np.nan), where=table[:, EVENTS] > 0
        )
        return found

    @property
    def total(self) -> dict[str, float]:
        """All tasks together."""
        return _summary(self.live.sum(axis=0))

    def __getitem__(self, task: Name) -> dict[str, float]:
        names, table = self._snapshot()
        slot = self._names.find(task)
        if not 0 <= slot < len(names):
            raise KeyError(f"there is no task {task!r}; known tasks are {', '.join(map(repr, names[:8]))}")
        return _summary(table[slot])

    def rows(self) -> list[dict[str, Any]]:
        """A dict per task, ready for a table."""
        return [{"task": name, **_summary(row)} for name, row in zip(*self._snapshot(), strict=True)]

    def __repr__(self) -> str:
        total = self.total
        return f"ClassTally({len(self.tasks)} tasks, {total['events']} events, error {total['error']:.4f})"


def _summary(row: Floats) -> dict[str, float]:
    events = row[EVENTS]
    loss, error = (row[LOSS] / events, row[MISTAKES] / events) if events > 0 else (np.nan, np.nan)
    return {"events": int(events), "loss": float(loss), "mistakes": int(row[MISTAKES]), "error": float(error)}
