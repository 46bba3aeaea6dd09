"""The figures of a comparison as the page needs them, worked out once."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.drawing.axes import percent, short
from weft.names import show_name

if TYPE_CHECKING:
    from weft.evaluation.results import Comparison

FEW_TASKS = 20
"""So many tasks are shown one by one; of more, half as many that gain most and that gain least."""
MOST_CURVES = 8
"""So many learners are drawn where all of them would be too many."""
PREFERRED = "auto"


class Figures:
    """A comparison, who is compared with whom to tell what sharing does, and the tasks by what they gain."""

    def __init__(self, comparison: "Comparison") -> None:
        self.found = comparison
        self.rows = sorted(comparison.rows(), key=lambda row: _last(row["error"]))
        self.is_binary = comparison.target == "binary"
        self.together = self._with_partner()
        partners = comparison.partners.get(self.together or "", {})
        self.alone, self.pooled = partners.get("alone"), partners.get("pooled")

    def _with_partner(self) -> str | None:
        """The learner for which it is known what it does alone: the default, or the one with the lowest error."""
        known = [row["learner"] for row in self.rows if "alone" in self.found.partners.get(row["learner"], {})]
        return PREFERRED if PREFERRED in known else known[0] if known else None

    # --- numbers as text ---

    def write(self, value: float) -> str:
        """An error: a share of events, or a mean deviation."""
        if not math.isfinite(value):
            return "-"
        return f"{100 * value:.2f}%" if self.is_binary else f"{value:.4g}"

    def write_gap(self, value: float) -> str:
        """A difference of errors."""
        return f"{100 * value:.2f} percentage points" if self.is_binary else f"{value:.4g}"

    def write_axis(self, value: float) -> str:
        """An error at an axis."""
        return percent(value) if self.is_binary else short(value)

    @property
    def measure(self) -> str:
        """What the error is."""
        return "error" if self.is_binary else "mean absolute deviation"

    # --- learners ---

    def runs(self, label: str, metric: str = "error") -> Floats:
        """The figure of every order."""
        found: Floats = self.found.runs[metric][self.found.learners.index(label)]
        return found

    @property
    def drawn(self) -> list[str]:
        """The learners for pictures with few lines: those with and without sharing, then the best, in their order."""
        first = [label for label in (self.together, self.alone, self.pooled) if label is not None]
        best = [row["learner"] for row in self.rows if row["learner"] not in first]
        return [*first, *best][:MOST_CURVES]

    # --- tasks ---

    @property
    def has_gains(self) -> bool:
        """Is it known what tasks gain, and are there several?"""
        return self.alone is not None and len(self.found.tasks) > 1

    def errors_of(self, label: str | None) -> Floats:
        """Per task; NaN for a task without labels."""
        found: Floats = self.found.task_errors[self.found.learners.index(label)]  # type: ignore[arg-type]
        return found

    @property
    def gains(self) -> Floats:
        """Per task, how much lower the error is together than alone."""
        return self.errors_of(self.alone) - self.errors_of(self.together)

    @property
    def by_gain(self) -> Ints:
        """The tasks with labels, those that gain most first; among equals the larger."""
        gains, known = self.gains, np.flatnonzero(self.found.events > 0)
        return known[np.lexsort((-self.found.events[known], -gains[known]))]

    @property
    def shown(self) -> tuple[list[int], int]:
        """The tasks that are shown, and after how many of them the middle is left out (0: nothing is)."""
        order = self.by_gain.tolist()
        if len(order) <= FEW_TASKS:
            return order, 0
        half = FEW_TASKS // 2
        return order[:half] + order[-half:], half

    def name(self, task: int) -> str:
        """What a task is called."""
        return show_name(self.found.tasks[task])

    def winner(self, task: int) -> str:
        """The learner with the lowest error on a task; empty if several have it."""
        errors = self.found.task_errors[:, task]
        best = np.flatnonzero(errors == errors.min())
        return self.found.learners[int(best[0])] if len(best) == 1 else ""

    def task_rows(self) -> list[dict[str, Any]]:
        """The shown tasks as lines of a table."""
        tasks, _ = self.shown
        columns = [label for label in (self.alone, self.together, self.pooled) if label is not None]
        return [
            {
                "name": self.name(task),
                "events": f"{int(self.found.events[task]):,}",
                "errors": [self.write(float(self.errors_of(label)[task])) for label in columns],
                "winner": self.winner(task),
            }
            for task in tasks
        ]


def _last(error: float) -> float:
    return math.inf if math.isnan(error) else error
