"""Sec. 3 of Murugesan, Liu, Carbonell and Yang (2016): few rows of every task, one pass, AUC on the rest.

Per task 160 rows of landmine or 100 texts are drawn, and come one per task and round; the AUC is that of the weights at
the end on all rows that were not drawn, task by task, then averaged. Which rows are the test rows, how rows are scaled,
and the grids of the cross-validation are not said.
"""

import time
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from weft.evaluation.rounds import auc_per_task
from weft.learner import trace_columns
from weft.model import Model
from weft.stream import Stream
from weft.streams.known import Known, known
from weft.streams.preparation import (
    log_counts,
    rows_of,
    standardised,
    tasks_of,
    unit_interval,
    unit_rows,
    with_constant,
)

ROWS = {"landmine": 160, "pkdd06b": 100, "mtl16": 100}
"""Rows per task that are learned from."""

TAKEN = {"landmine": "a constant, unit rows", "pkdd06b": "unit rows of counts", "mtl16": "unit rows of counts"}
"""Scalings of the reported runs."""
OTHER = {"landmine": "a constant", "pkdd06b": "unit rows of log counts", "mtl16": "unit rows of log counts"}
"""Scalings beside them, to show what hangs on it."""
SCALINGS: dict[str, Callable[[Known], Known]] = {
    "as they are": lambda data: data,
    "a constant": with_constant,
    "a constant, unit rows": lambda data: unit_rows(with_constant(data)),
    "unit rows": unit_rows,
    "columns standardised, a constant": lambda data: with_constant(standardised(data)),
    "columns in [0, 1], a constant": lambda data: with_constant(unit_interval(data)),
    "unit rows of counts": unit_rows,
    "unit rows of log counts": lambda data: unit_rows(log_counts(data)),
}


class Row(NamedTuple):
    """A row of the table: its name, the learner, the parameters that are fixed, and the grid of those that are
    tuned.
    """

    name: str
    learner: str
    fixed: dict[str, Any]
    grid: dict[str, tuple[Any, ...]]

    def points(self) -> list[dict[str, Any]]:
        """All parameters of the grid, in its order."""
        values = product(*self.grid.values())
        return [self.fixed | dict(zip(self.grid, point, strict=True)) for point in values]


_C = (0.001, 0.01, 0.1, 1.0, 10.0)
_STEP = (0.1, 1.0, 10.0)
_B = (1.0, 4.0, 16.0, 64.0, 256.0)
_RATE = (0.001, 0.01, 0.1, 1.0)
_ALPHA = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)
_LAM = (0.1, 1.0, 10.0, 100.0)


def _rows() -> tuple[Row, ...]:
    rows = [
        Row("PA-ONE, C = 1", "pa", {"pooled": True, "C": 1.0}, {}),
        Row("PA-ONE", "pa", {"pooled": True}, {"C": _C}),
        Row("PA-ITL, C = 1", "pa", {"pooled": False, "C": 1.0}, {}),
        Row("PA-ITL", "pa", {"pooled": False}, {"C": _C}),
        Row("OSGL", "implicit", {"norm": "l2"}, {"C": _C}),
    ]
    for condition in ("mistake", "margin"):
        on = {"condition": condition}
        step = {"C": _STEP if condition == "margin" else (1.0,)}
        rows += [
            Row(f"FOML, {condition}", "foml", on, {"b": _B, **step}),
            Row(f"OMTRL, {condition}", "omtrl-logdet", on, {"rate": _RATE, **step}),
            Row(f"OSMTL-t, {condition}", "osmtl-t", on, {"alpha": _ALPHA, "C": _STEP, "lam": (0.3, 1.0, 3.0)}),
            Row(f"OSMTL-e, {condition}", "osmtl-e", on, {"alpha": _ALPHA, "C": _STEP, "lam": _LAM}),
            Row(f"P fixed, {condition}", "osmtl-e", on | {"lam": "inf"}, {"alpha": _ALPHA, "C": _STEP}),
        ]
    return tuple(rows)


ROWS_OF_TABLE = {row.name: row for row in _rows()}
"""Both conditions, PA with its own C beside C = 1, and the smoothed learner whose attention does not move."""


class Split(NamedTuple):
    """Rows to learn from, round by round, and rows to test on."""

    train: Known
    rounds: Any
    test: Known


@lru_cache(maxsize=1)
def _scaled(name: str, scaling: str, all_fields: bool) -> Known:
    data = known(name)
    if name == "landmine" and not all_fields:
        data = tasks_of(data, data.extra["tasks19"])
    return SCALINGS[scaling](data)


def split(
    name: str, scaling: str, seed: int, per_task: int, all_fields: bool = False, stratified: bool = True
) -> Split:
    """As many rows of every task as are wanted, with its share of positive ones, in an order of its own.

    Round t holds row t of every task. All other rows are tested on. `all_fields` takes all 29 mine fields, not the
    paper's 19; without `stratified` rows are drawn whatever their labels.
    """
    data = _scaled(name, scaling, all_fields)
    rng = np.random.default_rng(seed)
    train, rounds, test = [], [], []
    for task in sorted(set(_tasks(data))):
        rows = np.flatnonzero(np.asarray(data.task) == task)
        if stratified:
            chosen = _stratified(rows, data.y[rows] > 0, per_task, rng)
        else:
            chosen = rng.permutation(rows)[:per_task]
        train.append(chosen)
        rounds.append(np.arange(len(chosen)))
        test.append(np.setdiff1d(rows, chosen))
    number = np.concatenate(rounds)
    order = np.argsort(number, kind="stable")
    return Split(rows_of(data, np.concatenate(train)[order]), number[order], rows_of(data, np.concatenate(test)))


def _stratified(rows: Any, positive: Any, count: int, rng: np.random.Generator) -> Any:
    """So many of the rows in random order, with the share of positive ones that all of them have."""
    ups, downs = rng.permutation(rows[positive]), rng.permutation(rows[~positive])
    up = min(len(ups), round(count * len(ups) / len(rows)))
    return rng.permutation(np.concatenate([ups[:up], downs[: count - up]]))


ONE_BY_ONE = ("pa", "foml", "omtrl-logdet")
"""Learners that take a row at a time: every row is scored after those before it were learned."""


def passed(parts: Split, learner: str, parameters: Mapping[str, Any]) -> dict[str, float]:
    """One pass, and what it was worth: AUC on the test rows, AUC on the way, updates, mistakes, seconds a row."""
    data, names = parts.train, parts.train.task_names
    task = [names[number] for number in _tasks(data)]
    stream = Stream(data.X, data.y, task, None if learner in ONE_BY_ONE else parts.rounds)
    model = Model(learner, tasks=[name for name in names if name in set(task)], **parameters)
    columns = trace_columns(model.learner)
    trace = np.zeros((len(stream), len(columns)))
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # osmtl-t: a lam of the grid below which attention does not move
        scores = model.learn(stream, trace=trace)
    seconds = time.process_time() - began
    moved = trace[:, columns.index("updated" if "updated" in columns else "tau")] > 0.0
    tested = model.score(parts.test.X, [names[number] for number in _tasks(parts.test)])
    return {
        "auc": _mean_auc(parts.test, tested),
        "online": _mean_auc(data, scores),
        "nSV": float(np.sum(moved)),
        "mistakes": float(np.sum(data.y * scores <= 0.0)),
        "seconds": seconds / len(stream),
    }


def _tasks(data: Known) -> list[int]:
    return [] if data.task is None else data.task.tolist()


def _mean_auc(data: Known, scores: Any) -> float:
    """The mean of the tasks' AUC; a task with one class has none."""
    areas = auc_per_task(scores, data.y, _tasks(data), len(data.task_names))
    return float(np.mean(areas[~np.isnan(areas)]))
