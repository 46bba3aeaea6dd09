"""Cavallanti and Cesa-Bianchi (2012), Memory constraint online multitask classification, Table 1.

Mail of three users, exam scores of 139 schools, reviews of four kinds of products. A battery of separate Perceptrons
passes once over the rows in a random order and keeps N0 of them, its mistakes. The four learners on a budget may keep
25, 10 or 5 % of N0, for all tasks together, and either all tasks teach each other (complete graph, C) or none does (D).
The figure is the F-measure of the positive class over the scores issued before each label was used, all tasks together.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from weft.model import Model
from weft.stream import Stream
from weft.streams.known import Known, known
from weft.streams.preparation import as_stream, rows_of, shuffled
from weft_reproduction.budget.protocol import (
    BASELINE,
    COLUMNS,
    LEARNERS,
    NO_BUDGET,
    OPEN,
    SCALINGS,
    SETS,
    TAKEN,
    Place,
    Reading,
)
from weft_reproduction.budget.report import report
from weft_reproduction.experiment import Experiment, Figures, Settings

REPORTED = range(10)
"""Shuffles that the tables show."""
CHOOSING = range(1000, 1005)
"""Shuffles on which what the paper leaves open was settled; complete tables on the first three had been seen before."""
THOROUGH = 2
"""On so many of these all learners run, to show how their figures move; on the others the baseline alone."""
_QUICK_ROWS = 300
ABOUT = """A battery of separate Perceptrons passes once over mail of three users, exam scores of 139 schools, or
reviews of four kinds of products, and keeps every row that it got wrong. Four learners on a budget may keep 25, 10 or
5 % of that number, for all tasks together; either all tasks teach each other (C) or none does (D). The figure is the
F-measure of the positive class over the scores issued before each label was used.

The paper says which data, labels, budgets and eta, and which family of kernels. It does not say which polynomial, which
width of the Gaussian, how rows are scaled, or in what order they come. That was settled once per kind of data, by the
figures of the separate Perceptrons alone, on shuffles 1000 to 1004, which are not reported; the tables show how much it
matters. It was no blind choice: the rule by which these figures decide was written after complete tables on shuffles
1000 to 1002 had been seen, and a score of 0 counts as wrong because that fits the paper's column for School without a
graph. Shuffles 0 to 9, which are reported, had not been run until all this was settled."""
_ETA = 0.01  # Sec. 5


def cells(quick: bool) -> list[Settings]:
    """A cell is a set, an order, a scaling and a kernel: the baseline, and then the others within its budgets."""
    if quick:
        taken = [_cell(name, TAKEN[kind], seed, _QUICK_ROWS) for name, kind in SETS.items() for seed in REPORTED[:2]]
        tried = [_cell(name, OPEN[kind][-1], CHOOSING[0], _QUICK_ROWS) for name, kind in SETS.items()]
        return taken + tried
    found = []
    for name, kind in SETS.items():
        found += [_cell(name, TAKEN[kind], seed) for seed in REPORTED]
        found += [_cell(name, TAKEN[kind], None)]
        for reading in OPEN[kind]:
            found += [_cell(name, reading, seed) for seed in CHOOSING[:THOROUGH]]
            found += [_cell(name, reading, seed, learners=()) for seed in CHOOSING[THOROUGH:]]
    return found


def _cell(
    name: str, reading: Reading, shuffle: int | None, rows: int | None = None, learners: tuple[str, ...] = LEARNERS
) -> Settings:
    """shuffle None is the order of the file; rows None are all."""
    return {
        "set": name,
        "scaling": reading.scaling,
        "kernel": dict(reading.kernel),
        "shuffle": shuffle,
        "rows": rows,
        "learners": [BASELINE, *learners],
    }


def run(settings: Settings) -> Figures:
    """N0, and for every place of the table its budget and its F-measures in percent."""
    data = _ordered(settings)
    stream = as_stream(data)
    task = np.asarray(stream.task_codes)
    scores, kept = _pass(NO_BUDGET, stream, data.task_names, settings, None)
    found: list[Figures] = [{"place": list(NO_BUDGET), "B": None, "F": f_measures(data.y, scores, task)}]
    for learner in settings["learners"][1:]:
        for graph, percent in COLUMNS:
            place = Place(learner, graph, percent)
            B = max(1, round(percent / 100 * kept))
            scores, _ = _pass(place, stream, data.task_names, settings, B)
            found.append({"place": list(place), "B": B, "F": f_measures(data.y, scores, task)})
    return {"kept": kept, "places": found}


def _pass(place: Place, stream: Stream, tasks: list[str], settings: Settings, B: int | None) -> tuple[Any, int]:
    """The scores of one pass, and how many rows were kept at its end."""
    parameters: dict[str, Any] = {} if B is None else {"B": B}
    if place.learner in ("mtbprj", "mtbprj-2"):
        parameters["eta"] = _ETA
    if place.learner == "mtrbp":
        parameters["seed"] = settings["shuffle"] or 0
    model = Model(place.learner, kernel=settings["kernel"], graph=place.graph, tasks=tasks, **parameters)
    return model.learn(stream), len(model.support())


@lru_cache(maxsize=1)
def _scaled(name: str, scaling: str) -> Known:
    return SCALINGS[scaling](known(name))


def _ordered(settings: Settings) -> Known:
    data = _scaled(settings["set"], settings["scaling"])
    if settings["shuffle"] is not None:
        data = shuffled(data, settings["shuffle"])
    return data if settings["rows"] is None else rows_of(data, np.arange(settings["rows"]))


def f_measures(y: Any, scores: Any, task: Any) -> dict[str, float]:
    """F of the positive class in percent: a score of 0 is wrong (error), positive, negative; the mean of the tasks' F.

    A task with neither positive labels nor positive predictions has no F, and is left out of that mean.

    >>> f_measures(np.array([1.0, 1.0, -1.0]), np.array([2.0, 0.0, 0.0]), np.array([0, 0, 1]))
    {'error': 50.0, 'positive': 80.0, 'negative': 66.66666666666667, 'mean of tasks': 33.333333333333336}
    """
    wrong = np.where(scores == 0.0, -y, np.sign(scores))
    per_task = [_f(y[task == one], wrong[task == one]) for one in np.unique(task)]
    return {
        "error": _f(y, wrong),
        "positive": _f(y, np.where(scores >= 0.0, 1.0, -1.0)),
        "negative": _f(y, np.where(scores > 0.0, 1.0, -1.0)),
        "mean of tasks": float(np.mean([f for f in per_task if not np.isnan(f)] or [0.0])),
    }


def _f(y: Any, predicted: Any) -> float:
    hits = np.sum((y > 0) & (predicted > 0))
    either = np.sum(y > 0) + np.sum(predicted > 0)
    return float(200.0 * hits / either) if either else float("nan")


EXPERIMENT = Experiment(
    name="budget-table1",
    title="Kernel learners on a budget of rows: F-measure against the budget, with and without a graph",
    paper="Cavallanti and Cesa-Bianchi (2012), Table 1",
    data=tuple(SETS),
    cells=cells,
    run=run,
    report=report,
    about=ABOUT,
)
