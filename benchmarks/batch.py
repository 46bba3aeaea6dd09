"""Learners that refit: warm-started refits against cold ones, on 29 tasks of 160 rows with 10 features.

The rows are those of the landmine fields where `WEFT_DATA` names their folder, and made on the spot where not.
"""

import os
import time
from pathlib import Path

import numpy as np

import weft
from benchmarks.figures import Figure
from weft.batch import Floats, Ints

EVERY, ROWS, TASKS = 100, 160, 29
LEARNERS = {"smtl-e": 1.5, "itl": None, "stl": None, "mtfl": None, "trml": None}
"""How many times faster warm refits have to be, where that is asked for."""


def _landmine(path: Path) -> tuple[Floats, Floats, Ints]:
    """All fields, columns scaled, with a constant, rows of length 1; the first rows of every field in a random order."""
    with np.load(path, allow_pickle=False) as file:
        X, y, task = file["X"].astype(np.float64), file["y"].astype(np.float64), file["task"].astype(np.int64)
    X = np.hstack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones((len(X), 1))])
    order = np.random.default_rng(0).permutation(len(y))
    place = np.zeros(len(y), np.int64)
    for k in range(TASKS):
        place[order[task[order] == k]] = np.arange(np.sum(task == k))
    order = order[place[order] < ROWS]
    return X[order] / np.linalg.norm(X[order], axis=1, keepdims=True), y[order], task[order]


def _made() -> tuple[Floats, Floats, Ints]:
    rng = np.random.default_rng(0)
    task = rng.permutation(np.repeat(np.arange(TASKS), ROWS))
    X = rng.normal(size=(len(task), 10)) / np.sqrt(10.0)
    teachers = rng.normal(size=(TASKS, 2)) @ rng.normal(size=(2, 10))
    s = np.sum(X * teachers[task], axis=1) + 0.3 * rng.normal(size=len(task))
    return X, np.where(s >= 0.0, 1.0, -1.0), task


def seconds(name: str, rows: tuple[Floats, Floats, Ints], warm: bool) -> float:
    """For the whole stream; a cold model forgets, before every fit, where the last one ended."""
    X, y, task = rows
    model, total = weft.Model(name, every=EVERY), 0.0
    for at in range(0, len(y), EVERY):
        events = weft.Stream(X[at : at + EVERY], y[at : at + EVERY], task[at : at + EVERY])
        if not warm:
            for array in (model.state.ratio, model.state.ratios, model.state.weights):
                array[:] = 0.0
        began = time.perf_counter()
        model.learn(events)
        total += time.perf_counter() - began
    return total


def run() -> list[Figure]:
    path = Path(os.environ.get("WEFT_DATA", "")) / "landmine.npz"
    source, rows = ("landmine", _landmine(path)) if path.is_file() else ("made", _made())
    figures = []
    for name, target in LEARNERS.items():
        seconds(name, tuple(part[: 2 * EVERY] for part in rows), True)  # type: ignore[arg-type]  # compiles
        warm, cold = seconds(name, rows, True), seconds(name, rows, False)
        times = cold / warm
        figures.append(
            Figure(
                f"{name}, {len(rows[1]):,} rows ({source}), {len(rows[1]) // EVERY} refits",
                f"{warm:.2f} s",
                f"cold {cold:.2f} s",
                f"{times:.1f} x",
                "" if target is None else f">= {target:g} x",
                None if target is None else bool(times >= target),
            )
        )
    return figures
