"""Comparison: the same stream in the same random orders, several learners. Does sharing help on these data?

Every learner runs prequentially (it predicts, then sees the label), so each figure is one of honest
predictions. All learners see the same orders, so their differences are paired (`Comparison.versus`).
"""

import contextlib
import math
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from weft.batch import Floats, Ints
from weft.evaluation import tables
from weft.evaluation.prequential import Run, Setting, prepare, read_entries, run
from weft.learner import Target
from weft.names import Name
from weft.stream import Stream

_NAMES = {"macro_error": "macro", "f1": "F1", "rmse": "RMSE", "auc": "AUC"}
_HIGH_IS_GOOD = ("f1", "auc")


def compare(
    stream: Stream,
    learners: Any,
    shuffles: int = 10,
    seed: int = 0,
    progress: bool = True,
    workers: int | None = None,
    auc: bool = False,
) -> "Comparison":
    """Run every learner over the same random orders of a stream's rounds.

    learners  names of the catalogue, (name, parameters) pairs, learners already built, or a mapping from
              labels to any of these; parameters may hold `tasks`, as `weft.Model` takes it
    shuffles  number of orders, `stream.shuffled(seed + i)`; 0 is the stream's own order, once
    progress  a bar on stderr, if that is a terminal
    workers   threads (compiled learners run side by side); None: one per core. Only `seconds` depends on it
    auc       also the area under the ROC curve of each run's pooled scores

    Learners minimise losses of their own kinds (hinge, logistic ...): their `loss` figures do not compare
    with each other, `error` does.

    >>> import numpy as np, weft
    >>> rng = np.random.default_rng(0)
    >>> task = rng.integers(0, 8, 1600)
    >>> U = rng.normal(size=10) + 0.3 * rng.normal(size=(8, 10))
    >>> X = rng.normal(size=(1600, 10))
    >>> y = np.sign(np.sum(U[task] * X, axis=1))
    >>> learners = ["perceptron", ("perceptron", {"pooled": True}), "pa"]
    >>> found = compare(weft.Stream(X, y, task), learners, shuffles=4)
    >>> for row in found.rows():
    ...     print(f"{row['learner']:24} {row['error']:.3f} +- {row['error_se']:.3f}, wins {row['wins']}")
    perceptron               0.158 +- 0.003, wins 0
    perceptron pooled=True   0.123 +- 0.005, wins 6
    pa                       0.131 +- 0.004, wins 2
    >>> found.best, [round(row["difference"], 3) for row in found.versus("perceptron")]
    ('perceptron pooled=True', [-0.035, -0.027])
    """
    if not isinstance(stream, Stream):
        raise ValueError(f"compare takes a weft.Stream, not {type(stream).__name__}; write weft.Stream(X, y, task)")
    for what, value, least in (
        ("shuffles", shuffles, 0),
        ("seed", seed, 0),
        ("workers", 1 if workers is None else workers, 1),
    ):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{what}={value!r} must be a whole number of at least {least}")
    entries = read_entries(learners)
    orders = range(max(shuffles, 1))
    jobs = [(order, which) for order in orders for which in range(len(entries))]
    runs: dict[tuple[int, int], Run] = {}
    with _bar(progress, len(jobs)) as advance, ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        setting = prepare(stream, entries, auc)
        futures = {
            pool.submit(run, setting, entries[which], seed + order if shuffles else None): (order, which)
            for order, which in jobs
        }
        try:
            for future in as_completed(futures):
                runs[futures[future]] = future.result()
                advance()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    table = [[runs[order, which] for order in orders] for which in range(len(entries))]
    return _collect(setting, [entry.label for entry in entries], table, shuffles, seed)


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

    @property
    def best(self) -> str:
        """The learner with the lowest mean error; among equals the first."""
        return self.learners[int(np.argmin(self.runs["error"].mean(axis=1)))]

    def rows(self) -> list[dict[str, Any]]:
        """A dict per learner: metrics with standard errors, worst task, tasks won, seconds a run."""
        winners = self._winners()
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
            row |= {"wins": winners.count(which), "seconds": float(self.runs["seconds"][which].mean())}
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
        }
        return cast(dict[str, Any], _without_nan(plain))

    # --- tables ---

    def _metrics(self) -> list[str]:
        known = ("error", "macro_error", "loss", "f1", "rmse", "auc")
        return [metric for metric in known if metric in self.runs]

    def _winners(self) -> list[int | None]:
        winners: list[int | None] = []
        for errors in self.task_errors.T:
            first = np.flatnonzero(errors == errors.min())
            winners.append(int(first[0]) if len(first) == 1 else None)
        return winners

    def _cells(self) -> tuple[list[str], list[tables.Line]]:
        """Headings, and lines of (text, is it the best of its column); losses do not compare: no best."""
        rows, metrics = self.rows(), self._metrics()
        head = ["learner", *(_NAMES.get(metric, metric) for metric in metrics)]
        head += ["worst task", "wins", "seconds"]
        best = {m: (max if m in _HIGH_IS_GOOD else min)(row[m] for row in rows) for m in metrics if m != "loss"}
        best |= {
            "worst_error": min(row["worst_error"] for row in rows),
            "wins": max(row["wins"] for row in rows),
        }
        lines = []
        for row in rows:
            line = [(row["learner"], row["learner"] == self.best)]
            for metric in metrics:
                se = row["error_se"] if metric == "error" else math.nan  # the others' are in rows()
                line.append((tables.figure(row[metric], se), row[metric] == best.get(metric)))
            worst = f"{row['worst_task']} {tables.figure(row['worst_error'])}"
            line += [
                (worst, row["worst_error"] == best["worst_error"]),
                (str(row["wins"]), row["wins"] == best["wins"]),
            ]
            lines.append([*line, (f"{row['seconds']:.3f}", False)])
        return head, lines

    @property
    def _title(self) -> str:
        orders = f"{self.shuffles} shuffles" if self.shuffles else "the stream's own order"
        return f"{int(self.events.sum())} examples, {len(self.tasks)} tasks, {orders}"

    def __repr__(self) -> str:
        return f"Comparison({len(self.learners)} learners, {self._title}, best {self.best!r})"

    def __str__(self) -> str:
        return tables.as_text(self._title, *self._cells())

    def __rich__(self) -> Any:
        return tables.as_rich(self._title, *self._cells())

    def _repr_html_(self) -> str:
        return tables.as_html(self._title, *self._cells())


def _collect(setting: Setting, labels: list[str], table: list[list[Run]], shuffles: int, seed: int) -> Comparison:
    metrics = {
        metric: np.array([[found.metrics[metric] for found in row] for row in table]) for metric in table[0][0].metrics
    }
    sums = np.array([np.sum([found.task_sums for found in row], axis=0) for row in table])  # counts: ties are exact
    whole = np.where(setting.events > 0, setting.events * float(len(table[0])), np.nan)
    curves = np.array([np.mean([found.curve for found in row], axis=0) for row in table])
    tasks = list(setting.stream.task_names)
    return Comparison(
        labels,
        setting.target,
        shuffles,
        seed,
        tasks,
        setting.events,
        metrics,
        sums / whole,
        setting.curve_events,
        curves,
    )


@contextlib.contextmanager
def _bar(wanted: bool, total: int) -> Iterator[Callable[[], None]]:
    """A progress bar on stderr, if there is someone to see it."""
    if not wanted or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("comparing", total=total)
        yield lambda: progress.advance(bar)


def _se(values: Floats) -> float:
    """Standard error of the mean."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value
