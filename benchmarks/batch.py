"""Learners that refit: warm-started refits against cold ones, on 29 tasks of 160 rows with 10 features.

The rows are those of the landmine fields where `WEFT_DATA` names their folder, else synthetic.
"""

import os
import time
from pathlib import Path

import numpy as np

import weft
from benchmarks.figures import Figure
from weft.compiled.arrays import Floats, Ints

ROWS, TASKS = 160, 29
LEARNERS = {"smtl-e": (100, 1.5), "itl": (100, 1.5), "stl": (100, None), "mtfl": (400, None), "trml": (400, None)}
"""Events between two fits, and how many times faster warm refits must be, where there is a target."""


def _landmine(path: Path) -> tuple[Floats, Floats, Ints]:
    """All fields, columns scaled, with a constant, rows of length 1; some rows of every field in a random order."""
    with np.load(path, allow_pickle=False) as file:
        X, y, task = file["X"].astype(np.float64), file["y"].astype(np.float64), file["task"].astype(np.int64)
    X = np.hstack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones((len(X), 1))])
    order = np.random.default_rng(0).permutation(len(y))
    place = np.zeros(len(y), np.int64)
    for k in range(TASKS):
        place[order[task[order] == k]] = np.arange(np.sum(task == k))
    order = order[place[order] < ROWS]
    return X[order] / np.linalg.norm(X[order], axis=1, keepdims=True), y[order], task[order]


def _synthetic() -> tuple[Floats, Floats, Ints]:
    rng = np.random.default_rng(0)
    task = rng.permutation(np.repeat(np.arange(TASKS), ROWS))
    X = rng.normal(size=(len(task), 10)) / np.sqrt(10.0)
    truth = rng.normal(size=(TASKS, 2)) @ rng.normal(size=(2, 10))
    s = np.sum(X * truth[task], axis=1) + 0.3 * rng.normal(size=len(task))
    return X, np.where(s >= 0.0, 1.0, -1.0), task


def seconds(name: str, every: int, X: Floats, y: Floats, task: Ints) -> tuple[float, float]:
    """For the whole stream, warm and cold, in turns; the cold model is reset before every fit."""
    models, total = [weft.Model(name, every=every) for _ in range(2)], [0.0, 0.0]
    for at in range(0, len(y), every):
        events = weft.Stream(X[at : at + every], y[at : at + every], task[at : at + every])
        for which, model in enumerate(models):
            if which:
                for array in (model.state.ratio, model.state.ratios, model.state.weights):
                    array[:] = 0.0
            began = time.perf_counter()
            model.learn(events)
            total[which] += time.perf_counter() - began
    return total[0], total[1]


def run() -> list[Figure]:
    path = Path(os.environ.get("WEFT_DATA", "")) / "landmine.npz"
    source, (X, y, task) = ("landmine", _landmine(path)) if path.is_file() else ("synthetic", _synthetic())
    figures = []
    for name, (every, target) in LEARNERS.items():
        seconds(name, 100, X[:200], y[:200], task[:200])  # compiles
        warm, cold = seconds(name, every, X, y, task)
        times = cold / warm
        figures.append(
            Figure(
                f"{name}, {len(y):,} rows ({source}), {len(y) // every} refits",
                f"{warm:.2f} s",
                f"cold {cold:.2f} s",
                f"{times:.1f} x",
                "" if target is None else f">= {target:g} x",
                None if target is None else bool(times >= target),
            )
        )
    return figures
