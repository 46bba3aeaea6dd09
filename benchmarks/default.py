"""`adaptive` and `auto` against `mt-ogd` and Vowpal Wabbit -q, 20 tasks, 80 of 2^18 features; many tasks; one event."""

import statistics
import time
from collections.abc import Callable

import weft
from benchmarks import many_tasks, one_event, vw
from benchmarks.figures import Figure, alternately, limit, ratio
from benchmarks.memory import moved
from benchmarks.own_and_shared import ETA, EVENTS, TASKS, VW, B, stream, vw_lines

SHARES = {"adaptive": 0.4, "auto": 0.2}
"""Least share of the events per second of mt-ogd."""
MOST_US = 20.0
"""Largest time for one event, predicted or learned."""


def run() -> list[Figure]:
    return [*_large(), *_many_tasks(), *_one_event()]


def _large() -> list[Figure]:
    X, y, task = stream()
    events = weft.Stream(X, y, task)

    def learn(name: str, **parameters: object) -> Callable[[], None]:
        def run() -> None:
            weft.Model(name, tasks=TASKS, **parameters).learn(events)

        run()
        return run

    runs = [learn("mt-ogd", b=B, eta=ETA), moved(X, task, TASKS), *map(learn, SHARES)]
    with vw.passes(vw_lines(X, y, task), VW) as wabbits:
        wabbit, peer, least, *ours = (seconds / EVENTS for seconds in alternately(wabbits, *runs))
    figures = [
        Figure(
            "memory traffic of adaptive, 80 of 2^18 features, 20 tasks: without learning",
            f"{least * 1e6:.3f} us",
            f"mt-ogd {peer * 1e6:.3f} us",
            f"{peer / least:.2f} of its rate",
            "",
            None,
        )
    ]
    for (name, share), seconds in zip(SHARES.items(), ours, strict=True):
        what = f"{name}, 80 of 2^18 features, 20 tasks: against mt-ogd"
        rate = peer / seconds
        figures += [
            Figure(
                what,
                f"{seconds * 1e6:.3f} us",
                f"mt-ogd {peer * 1e6:.3f} us",
                f"{rate:.2f} of its rate",
                f">= {share:g}",
                rate >= share,
            ),
            ratio("  against Vowpal Wabbit -q, from its cache", seconds, "vw", wabbit, 1),
        ]
    return figures


def _many_tasks() -> list[Figure]:
    figures = []
    for name in SHARES:
        passes = [many_tasks._second_pass(name, many_tasks._sparse(tasks)) for tasks in (10, 100_000)]
        few, many = (seconds / many_tasks.EVENTS for seconds in alternately(*passes))
        figures.append(
            Figure(
                f"{name}, 20 of 2^18 features: 100,000 tasks against 10",
                f"{many * 1e6:.3f} us",
                f"10 tasks {few * 1e6:.3f} us",
                f"{few / many:.2f} of the rate",
                ">= 0.5",
                few / many >= 0.5,
            )
        )
    return figures


def _one_event() -> list[Figure]:
    figures = []
    for name in SHARES:
        medians = [_medians(name) for _ in range(3)]
        for at, call in enumerate(("predict_one", "learn_one")):
            best = min(median[at] for median in medians)
            figures.append(limit(f"{name}: {call}, dict of 20 names, p50", best, "us", MOST_US))
    return figures


def _medians(name: str) -> list[float]:
    """Of predict_one and of learn_one."""
    model = weft.Model(name)
    times: tuple[list[float], list[float]] = ([], [])
    for x, y, task in one_event._events():
        began = time.perf_counter()
        model.predict_one(x, task)
        between = time.perf_counter()
        model.learn_one(x, y, task)
        times[0].append(between - began)
        times[1].append(time.perf_counter() - between)
    return [statistics.median(each[one_event.EVENTS // 3 :]) * 1e6 for each in times]
