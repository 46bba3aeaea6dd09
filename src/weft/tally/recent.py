"""How well each task did lately: means over its events in which an event counts half as much 100 events later.

Beside the sums over all events there are decayed ones, so that earlier events are the difference of the two: an event
of age k (0 is the newest) counts r_k = 2^(-k/100) among the recent ones and 1 - r_k among the earlier ones.

A task is marked as `worse` if its recent mean is above its earlier one by more than chance: by more than LIMIT standard
deviations of the difference, if all its events had one distribution. The variance of a classifier's mistakes is that of
a coin with the share (mistakes + 1) / (events + 2); that of deviations is estimated from all of them.
"""

from typing import Any

import numpy as np

from weft.compiled.arrays import Array, Floats
from weft.maths.decay import DECAY, ERROR, RECENT_LOSS
from weft.names import Name

COLUMNS = ("error", "loss")

LIMIT = 3.5
LEAST_EVENTS = 100
"""Nothing is marked before a task has had so many events."""


class Recent:
    """A moment of a tally: per task the error and the loss over recent events, and whether it has become worse.

    >>> import weft
    >>> model = weft.Model("perceptron")
    >>> for y in [1, 1, 1, -1]:
    ...     _ = model.learn_one({"x": 1.0}, y, task="ann")
    >>> {name: round(value, 3) for name, value in model.tally.recent["ann"].items()}
    {'events': 4, 'error': 0.253, 'loss': 0.753, 'earlier': 0.0, 'z': 1.426, 'worse': 0}
    """

    def __init__(self, tasks: list[Name], events: Floats, totals: Floats, recent: Floats, binary: bool) -> None:
        """`totals` are the sums of errors and of their squares over all events, `recent` the decayed sums."""
        self.tasks = tasks
        self.events = events.astype(np.int64)
        weight = weights(events)[0]
        self.errors: Floats = _ratio(recent[:, ERROR], weight)
        """Error per task: decayed share of mistakes, or mean absolute deviation; NaN before the first event."""
        self.losses: Floats = _ratio(recent[:, RECENT_LOSS], weight)
        """Mean loss per task."""
        self.earlier: Floats = _ratio(np.maximum(totals[:, 0] - recent[:, ERROR], 0.0), events - weight)
        """Error per task over earlier events."""
        self.z = _standard_scores(self.errors - self.earlier, events, totals, binary)
        """By how many standard deviations the recent error is above the earlier one."""
        self.worse: Array = (self.z > LIMIT) & (events >= LEAST_EVENTS)
        """Is that more than chance?"""

    def __getitem__(self, task: Name) -> dict[str, Any]:
        if task not in self.tasks:
            raise KeyError(f"there is no task {task!r}; known tasks are {', '.join(map(repr, self.tasks[:8]))}")
        return self._row(self.tasks.index(task))

    def rows(self) -> list[dict[str, Any]]:
        """A dict per task, ready for a table."""
        return [{"task": name, **self._row(at)} for at, name in enumerate(self.tasks)]

    def _row(self, at: int) -> dict[str, Any]:
        figures = {"error": self.errors, "loss": self.losses, "earlier": self.earlier, "z": self.z}
        numbers = {name: float(values[at]) for name, values in figures.items()}
        return {"events": int(self.events[at]), **numbers, "worse": bool(self.worse[at])}

    def __repr__(self) -> str:
        return f"Recent({len(self.tasks)} tasks, {int(self.worse.sum())} worse than before)"


def weights(events: Floats) -> tuple[Floats, Floats]:
    """Sums of r_k and of r_k^2 over so many events."""
    left = DECAY**events
    return (1.0 - left) / (1.0 - DECAY), (1.0 - left * left) / (1.0 - DECAY * DECAY)


def tally_frame(rows: list[dict[str, Any]], recent: Recent) -> Any:
    """A pandas data frame of a tally: a row per task, its figures over all events and over recent ones."""
    try:
        import pandas as pd
    except ImportError:
        raise ValueError("to_frame needs pandas, which is not installed; run pip install pandas") from None
    known = {row["task"]: row for row in rows}
    here = [name for name in recent.tasks if name in known]  # the two were read one after the other
    at = [recent.tasks.index(name) for name in here] if len(here) < len(recent.tasks) else slice(None)
    frame = pd.DataFrame([{key: value for key, value in known[name].items() if key != "task"} for name in here])
    frame.index = pd.Index(here, name="task", tupleize_cols=False)
    return frame.assign(recent_error=recent.errors[at], recent_loss=recent.losses[at], worse=recent.worse[at])


def _standard_scores(gap: Floats, events: Floats, totals: Floats, binary: bool) -> Floats:
    """The gap between recent and earlier means, in standard deviations."""
    weight, square = weights(events)
    rest = events - weight
    # The gap is a sum of errors with the factors r_k / weight - (1 - r_k) / rest: the sum of their squares.
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = square / weight**2 + (events - 2.0 * weight + square) / rest**2
        spread -= 2.0 * (weight - square) / (weight * rest)
        if binary:
            mean = (totals[:, 0] + 1.0) / (events + 2.0)
            variance = mean * (1.0 - mean)
        else:
            mean = totals[:, 0] / events
            variance = (totals[:, 1] / events - mean * mean) * events / (events - 1.0)
        z = gap / np.sqrt(np.maximum(variance * spread, 0.0))
    found: Floats = np.where(np.isfinite(z), z, 0.0)
    return found


def _ratio(part: Floats, whole: Floats) -> Floats:
    found: Floats = np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 1e-9)
    return found
