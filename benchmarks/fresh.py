"""Fresh models: the first pass over new tasks against the second, peak memory, and single events of new tasks.

A virtual machine's first use of a page can cost twenty times the next one, so that memory is touched before anything is
timed. Passes take turns; the table has medians and ranges. First and second passes are compared by processor time, with
Vowpal Wabbit by the clock, since a second thread of its own reads the cache.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

import weft
from benchmarks import vw
from benchmarks.figures import Figure, limit, spread
from benchmarks.process import Time
from weft.storage.pairs import END, USED

EVENTS, FEATURES, NONZEROS = 200_000, 10_000, 30
LEARNERS: dict[str, Callable[[], weft.Model]] = {
    "auto": lambda: weft.Model("auto"),
    "auto, fast": lambda: weft.Model("auto", effort="fast"),
    "mt-ogd": lambda: weft.Model("mt-ogd"),
}
TARGETS = {"auto": 0.65, "auto, fast": 0.65, "mt-ogd": 0.55}
"""Least rate of the first pass, in that of the second."""
WABBITS = {"auto": ("", 1.2), "auto, fast": ("", 1.2), "mt-ogd": ("--sgd", 1.5)}
"""What of Vowpal Wabbit stands beside: its adaptive default or its simplest update, and how many times its rate."""
PEAKS = {"balanced": 0.45, "fast": None}
"""Most memory, in GB, by effort."""
ROUNDS = 5


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
    peaks = [_peak(20_000, effort) for effort in PEAKS]
    return [*figures, *peaks, *_single_events(20_000), _million()]


def _passes(tasks: int) -> list[Figure]:
    """First and second passes, and first passes of Vowpal Wabbit from its cache, in turns."""
    found = data(tasks)
    stream = weft.Stream(*found)
    times: dict[tuple[str, str], list[Time]] = {}

    def timed(name: str, turn: str, act: Callable[[], object]) -> None:
        began = time.perf_counter(), time.process_time()
        act()
        times.setdefault((name, turn), []).append(Time(time.perf_counter() - began[0], time.process_time() - began[1]))

    touch(1.5)
    with ExitStack() as stack:
        wabbits = {}
        for name, (options, _) in WABBITS.items():
            lines = vw.own_and_shared_lines(*found)
            wabbits[name] = stack.enter_context(vw.passes(lines, f"{vw.OWN_AND_SHARED} {options}"))
        for make in LEARNERS.values():
            make().learn(stream)
        for _ in range(ROUNDS):
            for name, make in LEARNERS.items():
                model = make()
                for turn in ("first", "second"):
                    timed(name, turn, lambda model=model: model.learn(stream))
                timed(name, "wabbit", wabbits[name])
    return [each for name in TARGETS for each in (_share(name, tasks, times), _against_wabbit(name, tasks, times))]


def _share(name: str, tasks: int, times: dict[tuple[str, str], list[Time]]) -> Figure:
    """By processor time, pass against pass of the same model."""
    first, second = times[name, "first"], times[name, "second"]
    shares = [two.cpu / one.cpu for one, two in zip(first, second, strict=True)]
    return Figure(
        f"{name}, {tasks:,} tasks: first pass against second, thousand events/s",
        _rates(first),
        f"second pass {_rates(second)}",
        spread(shares, " of the rate"),
        f">= {TARGETS[name]}",
        statistics.median(shares) >= TARGETS[name],
    )


def _against_wabbit(name: str, tasks: int, times: dict[tuple[str, str], list[Time]]) -> Figure:
    """By the clock: Vowpal Wabbit reads its cache in a second thread."""
    options, target = WABBITS[name]
    ratios = [peer.clock / ours.clock for ours, peer in zip(times[name, "first"], times[name, "wabbit"], strict=True)]
    return Figure(
        f"{name}, {tasks:,} tasks: first pass against vw -q {options}".rstrip() + " from its cache",
        _rates(times[name, "first"]),
        f"vw {_rates(times[name, 'wabbit'])}",
        spread(ratios, " x"),
        f">= {target} x",
        statistics.median(ratios) >= target,
    )


def _rates(times: list[Time]) -> str:
    """Thousand events a second of processor time, and by the clock."""
    cpu, clock = (
        statistics.median(EVENTS / seconds / 1e3 for seconds in each)
        for each in ([one.cpu for one in times], [one.clock for one in times])
    )
    return f"{cpu:.0f} (clock {clock:.0f})"


def _peak(tasks: int, effort: str) -> Figure:
    """Peak memory of a process that learns one pass, its data included."""
    code = f"from benchmarks import fresh; fresh.print_peak({tasks}, {effort!r})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    peak, before, pairs, width = found.stdout.split()
    return limit(
        f"auto, {effort}, {tasks:,} tasks, {int(pairs) / 1e6:.1f} million pairs: peak memory of the process",
        float(peak),
        "GB",
        PEAKS[effort],
        f"before learning {float(before):.2f} GB, {width} bytes a pair and its key",
    )


def print_peak(tasks: int, effort: str) -> None:
    """Peak memory after and before a pass, in GB, the number of pairs, and the bytes of each."""
    stream = weft.Stream(*data(tasks))
    weft.Model("auto", effort=effort).learn(weft.Stream(*data(50, 100)))
    before = _high_water()
    model = weft.Model("auto", effort=effort)
    model.learn(stream)
    layout, own = model.state.pairs.layout, model.state.own
    width = own.shape[1] * own.itemsize + 8 * int(layout[END]) / int(layout[USED])
    print(_high_water(), before, layout[USED], round(width))


def _high_water() -> float:
    """The most memory that this process has had, in GB; `getrusage` also counts what its parent had."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / 1e9


def _single_events(tasks: int, count: int = 60_000) -> list[Figure]:
    """`learn_one` while tasks, features and pairs are new.

    The median is by the clock, which takes 0.03 us to read. The longest is by processor time, which takes 0.3 us and
    leaves out what interrupts an event.
    """
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
    clock, cpu = np.full(count, np.inf), np.full(count, np.inf)
    for _ in range(2):  # what interrupts an event of one run does not interrupt it in the other
        model = weft.Model("auto")
        for at, (x, label, k) in enumerate(events):
            began = time.thread_time(), time.perf_counter()
            model.learn_one(x, label, k)
            ended = time.perf_counter(), time.thread_time()
            clock[at] = min(clock[at], ended[0] - began[1])
            cpu[at] = min(cpu[at], ended[1] - began[0])
    what = f"learn_one of auto, {NONZEROS} features, while {len(model.tasks):,} tasks come"
    return [
        limit(f"{what}: median", float(np.median(clock)) * 1e6, "us", 8.0),
        limit(
            f"{what}: longest",
            float(cpu.max()) * 1e3,
            "ms",
            1.0,
            f"99 % within {np.quantile(clock, 0.99) * 1e6:.0f} us",
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
    rate, pairs = events / seconds, int(model.state.pairs.layout[USED])
    return Figure(
        f"auto, fresh, {len(model.tasks):,} tasks, 10 million events, 10 of 2^16 features",
        f"{rate / 1e3:.0f} thousand events/s",
        f"{pairs / 1e6:.0f} million pairs, peak {_high_water():.1f} GB",
        f"{seconds:.0f} s",
        ">= 250 thousand events/s",
        rate >= 250_000,
    )
