"""Adaptive smoothed learners on rounds of 19 mine fields, against the dense oracle; many tasks; learned relations."""

import os
import sys
from pathlib import Path

import numpy as np

import weft
from benchmarks.figures import Figure, alternately, best, ratio

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from oracles.smoothed import Osmtl


def rounds_of(task: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """An order of rows, and the round of each: the n-th row of every task, in random order, meet in round n."""
    order = rng.permutation(len(task))
    turn = np.zeros(len(task), np.int64)
    for k in np.unique(task):
        mine = order[task[order] == k]
        turn[mine] = np.arange(len(mine))
    return np.lexsort((task, turn)), turn


def landmine(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """The 19 fields of the paper: standardised columns, an intercept, rows of length 1."""
    path = Path(os.environ.get("WEFT_DATA", "")) / "landmine.npz"
    if not path.is_file():
        return None
    data = np.load(path, allow_pickle=False)
    chosen = np.isin(data["task"], data["tasks19"])
    X, y, task = data["X"][chosen], data["y"][chosen].astype(float), data["task"][chosen]
    X = np.hstack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones((len(X), 1))])
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    order, turn = rounds_of(task, np.random.default_rng(seed))
    slots = np.searchsorted(np.unique(task), task)
    return X[order], y[order], slots[order], turn[order]


def run() -> list[Figure]:
    return [*_landmine(), *_many_tasks(), *_relations()]


def _landmine() -> list[Figure]:
    rows = landmine()
    if rows is None:
        what = "osmtl-e, 19 mine fields: WEFT_DATA does not name a folder with landmine.npz"
        return [Figure(what, "skipped", "", "", "", None)]
    X, y, task, turn = rows
    parameters = {"alpha": 0.9, "C": 1.0}
    stream, bounds = weft.Stream(X, y, task, turn), np.searchsorted(turn, range(turn[-1] + 2))
    figures = []
    for condition in ("margin", "mistake", "active"):

        def ours(condition: str = condition) -> object:
            return weft.Model("osmtl-e", tasks=19, condition=condition, **parameters).learn(stream)

        def theirs(condition: str = condition) -> object:
            return Osmtl(10, 19, "e", condition, **parameters).learn(X, y, task, bounds)

        mine, peer = alternately(ours, theirs, repeats=3)
        what = f'osmtl-e, 19 mine fields, condition="{condition}", an event'
        figures.append(ratio(what, mine / len(y), "dense oracle", peer / len(y), 100))
    return figures


def _many_tasks() -> list[Figure]:
    """One-task rounds: an event costs the same with 10 and with 2,000 known tasks."""
    rng, events = np.random.default_rng(0), 20_000
    X, y = rng.normal(size=(events, 20)), rng.choice([-1.0, 1.0], events)
    seconds = []
    for tasks in (10, 2_000):
        stream = weft.Stream(X, y, rng.integers(0, tasks, events))
        model = weft.Model("osmtl-e", tasks=range(tasks), alpha=0.9, C=1.0)
        model.learn(stream)
        seconds.append(best(lambda stream=stream, model=model: model.learn(stream)) / events)  # type: ignore[misc]
    few, many = (1e6 * s for s in seconds)
    what = "osmtl-e, rounds of one row, 20 dense features, 2,000 tasks"
    return [Figure(what, f"{many:.2f} us", f"10 tasks: {few:.2f} us", f"{many / few:.2f} x", "", None)]


def _relations() -> list[Figure]:
    """Perceptrons with given and with learned relations, 20 tasks, 50 dense features."""
    rng, events = np.random.default_rng(1), 5_000
    truth = rng.normal(size=50) + rng.normal(size=(20, 50))
    X, task = rng.normal(size=(events, 50)), rng.integers(0, 20, events)
    stream = weft.Stream(X, np.sign(np.sum(X * truth[task], axis=1)), task)
    figures = []
    for name in ("foml", "omtrl-logdet", "omtrl-vonneumann", "omtrl-cov"):
        weft.Model(name).learn(stream)
        seconds = best(lambda name=name: weft.Model(name).learn(stream), 3) / events  # type: ignore[misc]
        figures.append(Figure(f"{name}, 20 tasks, 50 dense features", f"{seconds * 1e6:.2f} us", "", "", "", None))
    return figures
