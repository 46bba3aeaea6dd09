"""`predict_one` and `learn_one` on a dict of 20 named features: the median event of a pass, over passes in turns."""

import statistics
import time

import numpy as np

import weft
from benchmarks.figures import Figure, median_limit

EVENTS, ROUNDS = 30_000, 5


LEARNERS: dict[str, tuple[str, dict[str, object], float]] = {
    "pa": ("pa", {}, 2.5),
    "perceptron": ("perceptron", {}, 2.5),
    "implicit": ("implicit", {}, 12.0),
    "adaptive": ("adaptive", {}, 20.0),
    "auto, fast": ("auto", {"effort": "fast"}, 4.0),
    "auto, balanced": ("auto", {}, 8.0),
}
"""Name, parameters, and the largest time of either call."""
CALLS = ("predict_one", "learn_one")


def run() -> list[Figure]:
    events, peer = _events(), _river()
    times: dict[str, list[list[float]]] = {title: [] for title in LEARNERS}
    for _ in range(ROUNDS):
        for title, (name, parameters, _) in LEARNERS.items():
            times[title].append(_medians(weft.Model(name, **parameters), events))
    return [
        median_limit(
            f"{title}: {call}, dict of 20 names, p50",
            [median[at] for median in times[title]],
            "us",
            most,
            f"river, both calls {peer:.1f} us" if title == "pa" else "",
        )
        for title, (_, _, most) in LEARNERS.items()
        for at, call in enumerate(CALLS)
    ]


def _events() -> list[tuple[dict[str, float], int, str]]:
    rng = np.random.default_rng(0)
    names = [f"feature-{j}" for j in range(200)]
    picks = (rng.permutation(200)[:20] for _ in range(EVENTS))
    rows = [dict(zip([names[j] for j in pick], rng.normal(size=20).tolist(), strict=True)) for pick in picks]
    labels = rng.choice([-1, 1], EVENTS).tolist()
    tasks = [f"user-{t}" for t in rng.integers(0, 100, EVENTS)]
    return list(zip(rows, labels, tasks, strict=True))


def _medians(model: weft.Model, events: list[tuple[dict[str, float], int, str]]) -> list[float]:
    """Of predict_one and of learn_one, in us, once all names are known."""
    times: tuple[list[float], list[float]] = ([], [])
    for x, y, task in events:
        began = time.perf_counter()
        model.predict_one(x, task)
        between = time.perf_counter()
        model.learn_one(x, y, task)
        times[0].append(between - began)
        times[1].append(time.perf_counter() - between)
    return [statistics.median(each[EVENTS // 3 :]) * 1e6 for each in times]


def _river() -> float:
    from river import linear_model

    models: dict[str, linear_model.PAClassifier] = {}
    times = []
    for x, y, task in _events()[:5000]:
        model = models.setdefault(task, linear_model.PAClassifier(C=1.0, mode=1))
        began = time.perf_counter()
        model.predict_one(x)
        model.learn_one(x, y > 0)
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e6
