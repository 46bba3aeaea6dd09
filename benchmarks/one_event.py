"""`predict_one` and `learn_one` on a dict of 20 named features: median time of both together, best of three passes."""

import statistics
import time

import numpy as np

import weft
from benchmarks.figures import Figure, limit

EVENTS = 30_000


def run() -> list[Figure]:
    return [
        limit(f"{name}: predict_one + learn_one, dict of 20 names, p50", _best_median(name), "us", most, peer)
        for name, most, peer in (
            ("pa", 12, f"river {_river():.1f} us"),
            ("perceptron", 12, ""),
            ("implicit", 12, ""),
        )
    ]


def _events() -> list[tuple[dict[str, float], int, str]]:
    rng = np.random.default_rng(0)
    names = [f"feature-{j}" for j in range(200)]
    picks = (rng.permutation(200)[:20] for _ in range(EVENTS))
    rows = [dict(zip([names[j] for j in pick], rng.normal(size=20).tolist(), strict=True)) for pick in picks]
    labels = rng.choice([-1, 1], EVENTS).tolist()
    tasks = [f"user-{t}" for t in rng.integers(0, 100, EVENTS)]
    return list(zip(rows, labels, tasks, strict=True))


def _best_median(name: str) -> float:
    """The best of three passes, because the speed of the machine varies from minute to minute."""
    return min(_median(name) for _ in range(3))


def _median(name: str) -> float:
    model = weft.Model(name)
    times = []
    for x, y, task in _events():
        began = time.perf_counter()
        model.predict_one(x, task)
        model.learn_one(x, y, task)
        times.append(time.perf_counter() - began)
    return statistics.median(times[EVENTS // 3 :]) * 1e6


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
