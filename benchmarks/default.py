"""`adaptive`, and `auto` by effort, against `mt-ogd` and Vowpal Wabbit -q: 80 of 2^18 features, 20 tasks; many tasks;
dense rows."""

from collections.abc import Callable

import numpy as np

import weft
from benchmarks import many_tasks, vw
from benchmarks.figures import Figure, alternately, limit, ratio
from benchmarks.memory import moved
from benchmarks.own_and_shared import ETA, EVENTS, TASKS, B, stream

WABBITS = {"adaptive": 1.0, "fast": 1.5, "balanced": 1.0, "best": 0.4}
"""Least events per second, in those of Vowpal Wabbit -q from its cache; `auto` goes by the name of its effort."""
SHARES = {"adaptive": 0.4, "fast": 0.2}
"""Least share of the events per second of mt-ogd."""
MANY = ("adaptive", "fast", "balanced")
DENSE_US = {"balanced": 3.0, "best": 25.0}
"""Largest time for an event of a dense row of 20 columns."""


def made(name: str, **parameters: object) -> weft.Model:
    """`adaptive`, or `auto` with the effort of that name."""
    return weft.Model(name, **parameters) if name == "adaptive" else weft.Model("auto", effort=name, **parameters)


def run() -> list[Figure]:
    return [*_large(), *_dense(), *_many_tasks()]


def _large() -> list[Figure]:
    X, y, task = stream()
    events = weft.Stream(X, y, task)

    def learn(make: Callable[[], weft.Model]) -> Callable[[], None]:
        def run() -> None:
            make().learn(events)

        run()
        return run

    models = [learn(lambda name=name: made(name, tasks=TASKS)) for name in WABBITS]
    mt_ogd = learn(lambda: weft.Model("mt-ogd", b=B, eta=ETA, tasks=TASKS))
    with vw.passes(vw.own_and_shared_lines(X, y, task), vw.OWN_AND_SHARED) as wabbits:
        runs = alternately(wabbits, mt_ogd, moved(X, task, TASKS), *models)
    wabbit, peer, least, *ours = (seconds / EVENTS for seconds in runs)
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
    for (name, factor), seconds in zip(WABBITS.items(), ours, strict=True):
        rate, share = peer / seconds, SHARES.get(name)
        figures += [
            Figure(
                f"{_title(name)}, 80 of 2^18 features, 20 tasks: against mt-ogd",
                f"{seconds * 1e6:.3f} us",
                f"mt-ogd {peer * 1e6:.3f} us",
                f"{rate:.2f} of its rate",
                "" if share is None else f">= {share:g}",
                None if share is None else rate >= share,
            ),
            ratio("  against Vowpal Wabbit -q, from its cache", seconds, "vw", wabbit, factor),
        ]
    return figures


def _title(name: str) -> str:
    return name if name == "adaptive" else f"auto, {name}"


def _dense() -> list[Figure]:
    rng, events = np.random.default_rng(2), 50_000
    X, task = rng.normal(size=(events, 20)), rng.integers(0, 20, events)
    rows = weft.Stream(X, np.where(X @ rng.normal(size=20) > 0, 1, -1), task)
    figures = []
    for name, most in DENSE_US.items():
        made(name).learn(rows)
        (seconds,) = alternately(lambda name=name: made(name).learn(rows))
        figures.append(limit(f"{_title(name)}, dense rows of 20 columns, 20 tasks", seconds / events * 1e6, "us", most))
    return figures


def _many_tasks() -> list[Figure]:
    figures = []
    for name in MANY:
        passes = [_second_pass(name, many_tasks._sparse(tasks)) for tasks in (10, 100_000)]
        few, many = (seconds / many_tasks.EVENTS for seconds in alternately(*passes))
        figures.append(
            Figure(
                f"{_title(name)}, 20 of 2^18 features: 100,000 tasks against 10",
                f"{many * 1e6:.3f} us",
                f"10 tasks {few * 1e6:.3f} us",
                f"{few / many:.2f} of the rate",
                ">= 0.5",
                few / many >= 0.5,
            )
        )
    return figures


def _second_pass(name: str, events: weft.Stream) -> Callable[[], object]:
    """A second pass: the tasks are known and their memory is allocated."""
    model = made(name)
    model.learn(events)
    return lambda: model.learn(events)
