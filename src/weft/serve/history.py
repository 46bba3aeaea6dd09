"""What the dashboard shows over time: the error of the whole model, and the last events of tasks.

All of it is in memory and bounded, and begins anew with the process; the figures of now come from the model itself.
"""

import time
from collections import OrderedDict, deque
from typing import Any, NamedTuple

from weft.model import Model

MOST_SAMPLES = 600
"""When there are so many, every second one goes and the time between two of them doubles."""
MOST_TASKS = 2_000
"""Tasks whose last events are known; those that sent something lately."""
MOST_EVENTS = 100
"""Events of one task that are known."""
ENOUGH = 100
"""Events over which the error of lately is taken, at least."""


class Sample(NamedTuple):
    """The model at one time, in seconds since 1970; `lately` is the error over the events since some samples ago."""

    at: float
    events: int
    error: float
    lately: float


class Seen(NamedTuple):
    """An event of a task: its entry, its label, and the score before it was learned."""

    seq: int
    label: Any
    score: float | None


class History:
    """Written by the writer, read under its lock."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self._tasks: OrderedDict[Any, deque[Seen]] = OrderedDict()
        self._step = 1.0
        self._next = 0.0

    def add(self, task: Any, seen: Seen) -> None:
        """An event was learned."""
        found = self._tasks.get(task)
        if found is None:
            found = self._tasks[task] = deque(maxlen=MOST_EVENTS)
            if len(self._tasks) > MOST_TASKS:
                self._tasks.popitem(last=False)
        found.append(seen)
        self._tasks.move_to_end(task)

    def forget(self, task: Any) -> None:
        """Nothing of the task is kept."""
        self._tasks.pop(task, None)

    def last_of(self, task: Any) -> list[Seen]:
        """The last events of a task that are known, the latest last."""
        return list(self._tasks.get(task, ()))

    def look(self, model: Model, now: float) -> None:
        """Take a sample, if it is time."""
        began = time.monotonic()
        if began < self._next:
            return
        total = model.tally.total
        events, error = int(total["events"]), float(total["error"])
        self.samples.append(Sample(now, events, error, self._lately(events, error)))
        if len(self.samples) > MOST_SAMPLES:
            del self.samples[-2:0:-2]
            self._step *= 2.0
        # Reading the tally of many tasks takes a while: at most a hundredth of the time is spent on it.
        self._next = began + max(self._step, 100.0 * (time.monotonic() - began))

    def _lately(self, events: int, error: float) -> float:
        """The error over the last events, of which there are enough; NaN before the first one."""
        for sample in reversed(self.samples):
            if events - sample.events >= ENOUGH:
                before = sample.events * sample.error if sample.events else 0.0
                return (events * error - before) / (events - sample.events)
        return error
