"""`pa`, dense rows of 50 features, 100 tasks: a dict of river models, Vowpal Wabbit -q, scikit-learn partial_fit."""

from collections.abc import Callable

import numpy as np

import weft
from benchmarks import vw
from benchmarks.figures import Figure, alternately, best, ratio

TASKS, FEATURES, EVENTS = 100, 50, 100_000


def stream(events: int = EVENTS, tasks: int = TASKS, seed: int = 0):
    rng = np.random.default_rng(seed)
    task = rng.integers(0, tasks, events)
    X = rng.normal(size=(events, FEATURES))
    truth = rng.normal(size=(tasks, FEATURES))
    y = np.where(np.einsum("ij,ij->i", X, truth[task]) + rng.normal(size=events) > 0, 1, -1)
    return X, y, task


def run() -> list[Figure]:
    X, y, task = stream()
    events = weft.Stream(X, y, task)
    weft.Model("pa").learn(events)
    few = 10_000
    ours, river = alternately(lambda: weft.Model("pa").learn(events), _river(X, y, task, few))
    ours, river = ours / EVENTS, river / few
    whole = best(lambda: weft.Model("pa").learn(weft.Stream(X, y, task))) / EVENTS
    return [
        ratio("pa, 50 dense features, 100 tasks", ours, "river", river, 300),
        ratio("  against Vowpal Wabbit -q, from text", ours, "vw", _vw(X, y, task, cached=False), 20),
        ratio("  against Vowpal Wabbit -q, from its cache", ours, "vw", _vw(X, y, task, cached=True), 20),
        ratio("  against SGDClassifier.partial_fit", ours, "scikit-learn", _sklearn(X, y, task)),
        Figure("  with Stream(X, y, task) built in the time", f"{whole * 1e6:.3f} us", "", "", "", None),
    ]


def _river(X: np.ndarray, y: np.ndarray, task: np.ndarray, events: int) -> Callable[[], None]:
    from river import linear_model

    rows = [dict(enumerate(map(float, x))) for x in X[:events]]

    def run() -> None:
        models = {int(t): linear_model.PAClassifier(C=1.0, mode=1) for t in np.unique(task)}
        for x, label, t in zip(rows, (y[:events] > 0).tolist(), task[:events].tolist(), strict=True):
            model = models[t]
            model.predict_one(x)
            model.learn_one(x, label)

    return run


def _vw(X: np.ndarray, y: np.ndarray, task: np.ndarray, cached: bool) -> float:
    lines = (
        f"{label} |t {t} |x " + " ".join(f"{j}:{v:.6f}" for j, v in enumerate(x))
        for x, label, t in zip(X, y, task, strict=True)
    )
    return vw.seconds(lines, "-b 18 -q tx --loss_function hinge", cached) / len(y)


def _sklearn(X: np.ndarray, y: np.ndarray, task: np.ndarray, events: int = 2_000) -> float:
    from sklearn.linear_model import SGDClassifier

    def run() -> None:
        models = {int(t): SGDClassifier(loss="hinge") for t in np.unique(task)}
        for i in range(events):
            model = models[int(task[i])]
            model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[-1, 1])
            model.decision_function(X[i : i + 1])

    return best(run, 1) / events
