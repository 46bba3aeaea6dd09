"""Counts per task of classes predicted before they were known: events, mistakes, losses."""

from typing import Any

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.names import Name, Names
from weft.stream import Stream
from weft.vocabulary import names_as_json, names_from_json

EVENTS, MISTAKES, LOSS = range(3)


class ClassTally:
    """Per task, in order of appearance: events, mistakes, mean loss (-ln of the probability of the true class)."""

    target = "classes"

    def __init__(self, names: Names | None = None, table: Floats | None = None) -> None:
        self._names = Names() if names is None else names
        self._table = np.zeros((0, 3)) if table is None else table

    def count(self, stream: Stream, number: Floats, best: Ints, losses: Floats) -> None:
        """Count the predictions of a stream; examples without a label are left out."""
        names = stream.task_names
        new = [name for name in names if self._names.find(name) < 0]
        table = np.vstack([self._table, np.zeros((len(new), 3))])
        self._names.extend(new)
        slot = np.array([self._names.find(name) for name in names])[stream.task_codes]
        for i in np.flatnonzero(~np.isnan(number)).tolist():  # one by one: sums do not depend on how a stream is cut
            table[slot[i]] += (1.0, float(best[i] != number[i]), losses[i])
        self._table = table

    @property
    def tasks(self) -> list[Name]:
        """Task names, in the order of all arrays here."""
        return list(self._names)

    @property
    def counts(self) -> Any:
        """Events per task."""
        return self._table[:, EVENTS].astype(np.int64)

    @property
    def mistakes(self) -> Any:
        """Mistakes per task."""
        return self._table[:, MISTAKES].astype(np.int64)

    @property
    def errors(self) -> Floats:
        """Share of mistakes per task; NaN before the first event."""
        return np.array([row["error"] for row in self.rows()])

    @property
    def total(self) -> dict[str, Any]:
        """All tasks together."""
        return _summary(self._table.sum(axis=0))

    def __getitem__(self, task: Name) -> dict[str, Any]:
        slot = self._names.find(task)
        if slot < 0:
            raise KeyError(f"there is no task {task!r}; known tasks are {', '.join(map(repr, self.tasks[:8]))}")
        return _summary(self._table[slot])

    def rows(self) -> list[dict[str, Any]]:
        """A dict per task, ready for a table."""
        return [{"task": name, **_summary(row)} for name, row in zip(self._names, self._table, strict=True)]

    def __repr__(self) -> str:
        total = self.total
        return f"ClassTally({len(self._names)} tasks, {total['events']} events, error {total['error']:.4f})"

    def as_json(self) -> dict[str, Any]:
        """For a file."""
        return {"tasks": names_as_json(self._names), "table": self._table.tolist()}

    @classmethod
    def from_json(cls, data: Any) -> "ClassTally":
        """What `as_json` gave; ValueError if it cannot be."""
        names = names_from_json(data["tasks"])
        table = np.array(data["table"], np.float64).reshape(-1, 3)
        counts = table[:, :LOSS]
        if len(table) != len(names) or not np.all((table >= 0.0) & np.isfinite(table)):
            raise ValueError("the tally does not fit its tasks")
        if np.any(counts != np.floor(counts)) or np.any(counts[:, MISTAKES] > counts[:, EVENTS]):
            raise ValueError("the tally counts in numbers that are not counts")
        return cls(names, table)


def _summary(row: Floats) -> dict[str, Any]:
    events = int(row[EVENTS])
    nothing = float("nan")
    return {
        "events": events,
        "loss": float(row[LOSS]) / events if events else nothing,
        "mistakes": int(row[MISTAKES]),
        "error": float(row[MISTAKES]) / events if events else nothing,
    }
