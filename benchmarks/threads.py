"""Learning in two threads against one, for learners whose tasks do not interact: first and later passes.

The two take turns, every pass is timed on the clock and in processor time, and the median of five counts, with
the range beside it. Both cores have to be idle otherwise: a busy one makes the second thread wait.
"""

import os
import statistics
import time
from collections.abc import Iterator

import numpy as np
from scipy import sparse

import weft
from benchmarks.figures import Figure
from benchmarks.fresh import touch
from weft.threads.parallel import VARIABLE

STREAMS = {
    "20 tasks, 80 of 2^18 features": (20, 100_000, 1 << 18, 80),
    "10,000 tasks, 30 of 10,000 features": (10_000, 200_000, 10_000, 30),
}
LEARNERS = ("pa", "arow")
REPEATS = 5
PASSES = ("first pass", "second pass")


def run() -> list[Figure]:
    before = os.environ.get(VARIABLE)
    try:
        return [figure for what, sizes in STREAMS.items() for figure in _figures(what, _stream(*sizes))]
    finally:
        os.environ.pop(VARIABLE, None)
        if before is not None:
            os.environ[VARIABLE] = before


def _stream(tasks: int, events: int, features: int, nonzeros: int) -> weft.Stream:
    rng = np.random.default_rng(0)
    columns = rng.integers(0, features // nonzeros, (events, nonzeros)) * nonzeros + np.arange(nonzeros)
    bounds = np.arange(0, columns.size + 1, nonzeros)
    X = sparse.csr_array((rng.normal(size=columns.size), columns.ravel(), bounds), shape=(events, features))
    return weft.Stream(X, rng.choice([-1, 1], events), rng.integers(0, tasks, events))


def _figures(what: str, stream: weft.Stream) -> Iterator[Figure]:
    touch(1.0)
    for name in LEARNERS:
        weft.Model(name).learn(stream)
        clock: dict[tuple[int, int], list[float]] = {}
        cpu: dict[tuple[int, int], list[float]] = {}
        for _ in range(REPEATS):
            for threads in (1, 2):
                os.environ[VARIABLE] = str(threads)
                model = weft.Model(name)
                for turn in range(len(PASSES)):
                    began = time.perf_counter(), time.process_time()
                    model.learn(stream)
                    clock.setdefault((threads, turn), []).append(time.perf_counter() - began[0])
                    cpu.setdefault((threads, turn), []).append(time.process_time() - began[1])
        for turn, word in enumerate(PASSES):
            one, two = statistics.median(clock[1, turn]), statistics.median(clock[2, turn])
            yield Figure(
                f"{name}, {what}, {word}: two threads against one",
                _times(clock[2, turn], cpu[2, turn]),
                f"one thread {_times(clock[1, turn], cpu[1, turn])}",
                f"{one / two:.2f} x",
                ">= 1 x",
                one >= two,
            )


def _times(clock: list[float], cpu: list[float]) -> str:
    low, middle, high = min(clock) * 1e3, statistics.median(clock) * 1e3, max(clock) * 1e3
    return f"{middle:.0f} ms ({low:.0f} to {high:.0f}), processor {statistics.median(cpu) * 1e3:.0f} ms"
