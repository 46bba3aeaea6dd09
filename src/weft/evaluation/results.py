"""What a comparison of learners found: figures, tables of them, and who was left out."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.drawing.words import shortened
from weft.evaluation import tables
from weft.inspection.relations import Relations
from weft.learner import Target
from weft.names import Name, show_name
from weft.text.printable import printable

_NAMES = {"macro_error": "macro", "f1": "F1", "rmse": "RMSE", "auc": "AUC"}
_SPARE = ("loss", "macro_error", "rmse", "f1")  # in a narrow terminal, the first to go first
_SPARE_AT_LAST = ["wins", "µs/event", "worst task"]  # where names of learners would have no room
_LONGEST_TASK = 16
_HIGH_IS_GOOD = ("f1", "auc")


class LeftOut(NamedTuple):
    """A learner without figures: why, and how many events of all orders it had learned until then."""

    learner: str
    reason: str
    events: int
    of: int


@dataclass(frozen=True)
class Comparison:
    """What `compare` found: for every metric an array (learners, orders), and per task and along the stream.

    Means are over the orders, `_se` is the standard error of the mean (NaN for a single order).
    """

    learners: list[str]
    target: Target
    shuffles: int
    seed: int
    tasks: list[Name]
    events: Ints
    """Labelled examples per task."""
    runs: dict[str, Floats]
    """Metric -> (learners, orders)."""
    task_errors: Floats
    """(learners, tasks), averaged over the orders; NaN for a task without labels."""
    curve_events: Ints
    """Numbers of labelled examples at which `curves` are given."""
    curve_errors: Floats
    time_limit: float | None = None
    """Seconds that a learner had for all orders together."""
    left_out: list[LeftOut] = field(default_factory=list)
    """Learners that were stopped or refused the data, in the order in which they were given."""
    partners: dict[str, dict[str, str]] = field(default_factory=dict)
    """Of a learner on all tasks together, who is the same learner "alone" and "pooled"."""
    reliability: dict[str, Floats] = field(default_factory=dict)
    """Of learners with probabilities: how often what they said came true (`weft.evaluation.calibration`)."""
    relations: dict[str, Relations] = field(default_factory=dict)
    """Of learners that relate tasks to each other: how, at the end of the first order."""

    @property
    def best(self) -> str:
        """The learner with the lowest mean error; among equals the first."""
        return self.learners[self._by_error()[0]]

    def rows(self) -> list[dict[str, Any]]:
        """A dict per learner: metrics with standard errors, worst task, tasks won, seconds a run and an example."""
        winners, examples = self._winners(), int(self.events.sum())
        rows = []
        for which, label in enumerate(self.learners):
            row: dict[str, Any] = {"learner": label}
            for metric in self._metrics():
                row |= {
                    metric: float(self.runs[metric][which].mean()),
                    f"{metric}_se": _se(self.runs[metric][which]),
                }
            worst = int(np.argmax(np.nan_to_num(self.task_errors[which], nan=-1.0)))
            row |= {"worst_task": self.tasks[worst], "worst_error": float(self.task_errors[which, worst])}
            seconds = float(self.runs["seconds"][which].mean())
            row |= {"wins": winners.count(which), "seconds": seconds, "seconds_per_event": seconds / examples}
            rows.append(row)
        return rows

    def per_task(self) -> list[dict[str, Any]]:
        """A dict per task: labelled examples, the winner (None if shared), each learner's mean error."""
        return [
            {
                "task": task,
                "events": int(self.events[at]),
                "winner": None if winner is None else self.learners[winner],
            }
            | dict(zip(self.learners, self.task_errors[:, at].tolist(), strict=True))
            for at, (task, winner) in enumerate(zip(self.tasks, self._winners(), strict=True))
        ]

    def curves(self) -> dict[str, Floats]:
        """Error over all labelled examples so far, averaged over the orders, at the counts `curve_events`."""
        return {label: self.curve_errors[which].copy() for which, label in enumerate(self.learners)}

    def versus(self, label: str) -> list[dict[str, Any]]:
        """Every other learner's error minus that of `label`, paired order by order: below 0 it is better."""
        if label not in self.learners:
            raise ValueError(f"no learner {label!r} was compared; there are {', '.join(self.learners)}")
        gaps = self.runs["error"] - self.runs["error"][self.learners.index(label)]
        return [
            {
                "learner": other,
                "difference": float(gap.mean()),
                "difference_se": _se(gap),
                "better": int(np.sum(gap < 0)),
            }
            for other, gap in zip(self.learners, gaps, strict=True)
            if other != label
        ]

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON takes it; what is undefined is None."""
        plain = {
            "shuffles": self.shuffles,
            "seed": self.seed,
            "events": int(self.events.sum()),
            "tasks": len(self.tasks),
            "best": self.best,
            "learners": self.rows(),
            "per_task": self.per_task(),
            "curves": {"events": self.curve_events.tolist()}
            | {"error": {label: curve.tolist() for label, curve in self.curves().items()}},
            "time_limit": self.time_limit,
            "left_out": [absent._asdict() for absent in self.left_out],
        }
        return cast(dict[str, Any], _without_nan(plain))

    def report(self, path: str, title: str = "") -> None:
        """Write a page of HTML with all of this, in one file: needs `pip install 'weft[report]'`."""
        from weft.evaluation.report import write  # loaded here: most comparisons are only printed

        write(self, path, title)

    # --- tables ---

    def _metrics(self) -> list[str]:
        known = ("error", "macro_error", "loss", "f1", "rmse", "auc")
        return [metric for metric in known if metric in self.runs]

    def _by_error(self) -> list[int]:
        """The learners, the lowest mean error first; undefined ones last, equal ones as given."""
        errors = np.nan_to_num(self.runs["error"].mean(axis=1), nan=np.inf)
        return [int(which) for which in np.argsort(errors, kind="stable")]

    def _winners(self) -> list[int | None]:
        winners: list[int | None] = []
        for errors in self.task_errors.T:
            first = np.flatnonzero(errors == errors.min())
            winners.append(int(first[0]) if len(first) == 1 else None)
        return winners

    def _cells(self) -> tuple[list[str], list[tables.Line]]:
        """Headings, and lines of (text, is it the best of its column), the lowest error first.

        Losses do not compare: no best.
        """
        given, metrics = self.rows(), self._metrics()
        rows = [given[which] for which in self._by_error()]
        head = ["learner", *(_NAMES.get(metric, metric) for metric in metrics)]
        head += ["worst task", "wins", "µs/event"]
        best = {m: (max if m in _HIGH_IS_GOOD else min)(row[m] for row in rows) for m in metrics if m != "loss"}
        best |= {
            "worst_error": min(row["worst_error"] for row in rows),
            "wins": max(row["wins"] for row in rows),
        }
        lines, short = [], self._short_names()
        for row in rows:
            line = [(row["learner"], row["learner"] == self.best)]
            for metric in metrics:
                se = row["error_se"] if metric == "error" else math.nan  # the others' are in rows()
                line.append((tables.figure(row[metric], se), row[metric] == best.get(metric)))
            worst = f"{short.get(row['worst_task'], '')} {tables.figure(row['worst_error'])}"
            line += [
                (worst, row["worst_error"] == best["worst_error"]),
                (str(row["wins"]), row["wins"] == best["wins"]),
            ]
            lines.append([*line, (f"{1e6 * row['seconds_per_event']:,.1f}", False)])
        return head, lines

    def _short_names(self) -> dict[Any, str]:
        """Names of tasks for a column of a table."""
        names = [printable(show_name(task)) for task in self.tasks]
        return dict(zip(self.tasks, shortened(names, _LONGEST_TASK), strict=True))

    @property
    def _title(self) -> str:
        orders = _plural(self.shuffles, "shuffle") if self.shuffles else "the stream's own order"
        return f"{_plural(int(self.events.sum()), 'example')}, {_plural(len(self.tasks), 'task')}, {orders}"

    @property
    def _foot(self) -> list[str]:
        """Who is not in the table, and why."""
        if not self.left_out:
            return []
        everyone = len(self.learners) + len(self.left_out)
        lines = [f"  {absent.learner}: {absent.reason}" for absent in self.left_out]
        return [f"Left out, {len(self.left_out)} of {everyone} learners:", *lines]

    def __repr__(self) -> str:
        return f"Comparison({len(self.learners)} learners, {self._title}, best {self.best!r})"

    def __str__(self) -> str:
        return tables.as_text(self._title, *self._cells(), self._foot)

    def __rich__(self) -> Any:
        spare = [_NAMES.get(metric, metric) for metric in _SPARE]
        return tables.Fitting(self._title, *self._cells(), self._foot, spare, _SPARE_AT_LAST)

    def _repr_html_(self) -> str:
        return tables.as_html(self._title, *self._cells(), self._foot)


def _se(values: Floats) -> float:
    """Standard error of the mean."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
