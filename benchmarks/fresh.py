"""Fresh models: the first pass over new tasks against the second, peak memory, and single events of new tasks.

A virtual machine's first use of a page can cost twenty times the next one, so that memory is touched before anything is
timed. Passes are timed in processor time, in turns, and the fastest of each counts; the clock stands beside it.
"""

import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

import weft
from benchmarks.figures import Figure, limit

EVENTS, FEATURES, NONZEROS = 200_000, 10_000, 30
TARGETS = {"auto": 0.65, "mt-ogd": 0.55}
ROUNDS = 4


class Data(NamedTuple):
    """Rows, labels and tasks."""

    X: sparse.csr_array
    y: np.ndarray
    task: np.ndarray


def data(tasks: int, events: int = EVENTS) -> Data:
    """Rows of thirty features, rare and frequent ones, of tasks that are rare and frequent."""
    rng = np.random.default_rng(0)
    part = FEATURES // NONZEROS
    columns = (part * rng.random((events, NONZEROS)) ** 2).astype(np.int64) * NONZEROS + np.arange(NONZEROS)
    w = rng.normal(size=FEATURES)
    y = np.where(w[columns].sum(axis=1) + rng.normal(size=events) >= 0.0, 1.0, -1.0)
    values = np.full(columns.size, NONZEROS**-0.5)
    X = sparse.csr_array((values, columns.ravel(), np.arange(0, columns.size + 1, NONZEROS)), shape=(events, FEATURES))
    return Data(X, y, (tasks * rng.random(events) ** 1.5).astype(np.int64))


def touch(gigabytes: float) -> None:
    """Use memory once, so that the host of a virtual machine has it at hand."""
    np.empty(int(gigabytes * 2**30), np.uint8)[::4096] = 1


def run() -> list[Figure]:
    figures = [figure for tasks in (1_000, 20_000) for figure in _passes(tasks)]
    return [*figures, _peak(20_000), *_single_events(20_000), _million()]


def _passes(tasks: int) -> list[Figure]:
    found = data(tasks)
    stream = weft.Stream(*found)
    cpu: dict[tuple[str, int], float] = {}
    clock = dict(cpu)
    touch(1.5)
    for _ in range(ROUNDS):
        for name in TARGETS:
            model = weft.Model(name)
            for turn in (0, 1):
                began = time.process_time(), time.perf_counter()
                model.learn(stream)
                for times, now, start in zip(
                    (cpu, clock), (time.process_time(), time.perf_counter()), began, strict=True
                ):
                    times[name, turn] = min(times.get((name, turn), now - start), now - start)
    return [_share(name, tasks, cpu, clock) for name in TARGETS]


def _share(name: str, tasks: int, cpu: dict[tuple[str, int], float], clock: dict[tuple[str, int], float]) -> Figure:
    share, target = cpu[name, 1] / cpu[name, 0], TARGETS[name]
    rates = [f"{EVENTS / times[name, turn] / 1e3:.0f}" for times in (cpu, clock) for turn in (0, 1)]
    return Figure(
        f"{name}, {tasks:,} tasks: first pass against second, thousand events/s",
        f"{rates[0]} (clock {rates[2]})",
        f"second pass {rates[1]} (clock {rates[3]})",
        f"{share:.2f} of the rate",
        f">= {target}",
        share >= target,
    )


def _peak(tasks: int) -> Figure:
    """Peak memory of a process that learns one pass, its data included."""
    code = f"from benchmarks import fresh; fresh.print_peak({tasks})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    peak, before, pairs = found.stdout.split()
    return limit(
        f"auto, {tasks:,} tasks, {int(pairs) / 1e6:.1f} million pairs: peak memory of the process",
        float(peak),
        "GB",
        0.45,
        f"before learning {float(before):.2f} GB",
    )


def print_peak(tasks: int) -> None:
    """Peak memory after and before a pass, in GB, and the number of pairs."""
    stream = weft.Stream(*data(tasks))
    weft.Model("auto").learn(weft.Stream(*data(50, 100)))
    before = _high_water()
    model = weft.Model("auto")
    model.learn(stream)
    print(_high_water(), before, model.state.pairs.layout[2])


def _high_water() -> float:
    """The most memory that this process has had, in GB; `getrusage` also counts what its parent had."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / 1e9


def _single_events(tasks: int, count: int = 60_000) -> list[Figure]:
    """`learn_one` while tasks, features and pairs are new; processor time of each event."""
    X, y, task = data(tasks, count)
    names = [f"w{j}" for j in range(FEATURES)]
    rows = X.indices.reshape(count, NONZEROS).tolist()
    events = [
        ({names[j]: 0.2 for j in row}, label, f"t{k}")
        for row, label, k in zip(rows, y.tolist(), task.tolist(), strict=True)
    ]
    first = weft.Model("auto")
    for x, label, k in events[:3000]:
        first.learn_one(x, label, k)
    touch(1.0)
    times = np.full(count, np.inf)
    for _ in range(2):  # what interrupts an event of one run does not interrupt it in the other
        model = weft.Model("auto")
        for at, (x, label, k) in enumerate(events):
            began = time.thread_time()
            model.learn_one(x, label, k)
            times[at] = min(times[at], time.thread_time() - began)
    what = f"learn_one of auto, {NONZEROS} features, while {len(model.tasks):,} tasks come"
    return [
        limit(f"{what}: median", float(np.median(times)) * 1e6, "us", 8.0),
        limit(
            f"{what}: longest",
            float(times.max()) * 1e3,
            "ms",
            1.0,
            f"99 % within {np.quantile(times, 0.99) * 1e6:.0f} us",
        ),
    ]


def _million() -> Figure:
    """A million tasks, ten million events in chunks made during the run; only learning is timed."""
    tasks, events, chunk, nonzeros, features = 1_000_000, 10_000_000, 500_000, 10, 1 << 16
    model, seconds = weft.Model("auto"), 0.0
    part = features // nonzeros
    for seed in range(events // chunk):
        rng = np.random.default_rng(seed)
        columns = rng.integers(0, part, (chunk, nonzeros)) + part * np.arange(nonzeros)
        bounds = np.arange(0, chunk * nonzeros + 1, nonzeros)
        X = sparse.csr_array((rng.normal(size=chunk * nonzeros), columns.ravel(), bounds), shape=(chunk, features))
        stream = weft.Stream(X, rng.choice([-1, 1], chunk), rng.integers(0, tasks, chunk))
        began = time.perf_counter()
        model.learn(stream)
        seconds += time.perf_counter() - began
    rate, pairs = events / seconds, int(model.state.pairs.layout[2])
    return Figure(
        f"auto, fresh, {len(model.tasks):,} tasks, 10 million events, 10 of 2^16 features",
        f"{rate / 1e3:.0f} thousand events/s",
        f"{pairs / 1e6:.0f} million pairs, peak {_high_water():.1f} GB",
        f"{seconds:.0f} s",
        ">= 250 thousand events/s",
        rate >= 250_000,
    )
