"""What all tallies have in common: a row of sums per task, which anybody may read at any time."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from weft.compiled.arrays import Array, Floats
from weft.names import Name, Names
from weft.storage.memory import longer
from weft.tally.recent import COLUMNS as RECENT_COLUMNS
from weft.tally.recent import Recent, tally_frame
from weft.text import html
from weft.threads.guard import READING, Guard

EVENTS = 0
"""The first column of every table is the number of events. (Compiled functions take positions from their own file.)"""


class PerTask(ABC):
    """Sums per task in the order of `names`: `table` over all events, `recent` decayed."""

    def __init__(self, names: Names, table: Floats, recent: Floats | None, guard: Guard) -> None:
        self._names = names
        self._table = table
        self._recent = np.zeros((len(table), len(RECENT_COLUMNS))) if recent is None else recent
        self._guard = guard

    @abstractmethod
    def flush(self) -> None:
        """Bring what is not counted yet into the table."""

    @property
    @abstractmethod
    def recent(self) -> Recent:
        """Error and loss per task over recent events, and which tasks have become worse; see `weft.tally.recent`."""

    @abstractmethod
    def _summary(self, row: Floats) -> dict[str, float]:
        """The figures of a row, or of a sum of rows."""

    # --- updated by the model ---

    def reserve(self, tasks: int) -> None:
        """Make room for this number of tasks."""
        if tasks > len(self._table):
            room = max(tasks, 2 * len(self._table))
            recent = longer(self._recent, room)
            self._table, self._recent = longer(self._table, room), recent

    def _drop(self, slot: int, names: Names) -> int:
        """Without the task at a slot; `names` are those of the others. Returns how many events it had."""
        events = int(self._table[slot, EVENTS])
        self._table, self._recent = np.delete(self._table, slot, 0), np.delete(self._recent, slot, 0)
        self._names = names
        return events

    # --- read by the user ---

    @property
    def names(self) -> Names:
        """The names of the tasks, to be looked up."""
        return self._names

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
    def tasks(self) -> list[Name]:
        """Task names, in the order of all arrays here."""
        return self._snapshot()[0]

    @property
    def counts(self) -> Array:
        """Events per task."""
        return self.live[:, EVENTS].astype(np.int64)

    @property
    def total(self) -> dict[str, float]:
        """All tasks together."""
        return self._summary(np.sum(self.live, axis=0))

    def __getitem__(self, task: Name) -> dict[str, float]:
        with self._guard.lock:  # names and rows of one moment: forgetting a task moves the others up
            names, table, _ = self._snapshot()
            slot = self._names.find(task)
        if slot < 0:
            raise KeyError(f"there is no task {task!r}; known tasks are {', '.join(map(repr, names[:8]))}")
        return self._summary(table[slot])

    def rows(self) -> list[dict[str, Any]]:
        """A dict per task, ready for a table."""
        return [{"task": name, **self._summary(row)} for name, row in zip(*self._snapshot()[:2], strict=True)]

    def to_frame(self) -> Any:
        """A pandas data frame with a row per task, named by it: the columns of `rows`, and the recent figures."""
        with self._guard.lock:  # both of one moment
            return tally_frame(self.rows(), self.recent)

    def _repr_html_(self) -> str:
        with self._guard.lock:
            return html.tally_table(repr(self), self.rows(), self.recent.rows())

    def __repr__(self) -> str:
        names, table, _ = self._snapshot()
        total = self._summary(np.sum(table, axis=0))
        kind = type(self).__name__
        return f"{kind}({len(names)} tasks, {total['events']} events, error {total['error']:.4f})"
