"""From the user's file to the answer: whole processes with a fresh model, from every format, beside Vowpal Wabbit.

weft is a process from its start to its end: the interpreter, imports, reading, learning, saving the model. Vowpal
Wabbit is timed inside its process, from making the workspace to closing it, so that the import of its Python package is
not held against it. All take turns; the table has the median and the range of the seconds by the clock, and the median
of the processor time. Rows are those of `fresh`: 200,000 events, 30 of 10,000 features, values with six decimals.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.figures import Figure
from benchmarks.fresh import NONZEROS, Data, data, touch

TURNS = 5
TASKS = (20, 1_000)
TARGETS = {20: 1.2, 1_000: 0.6}
"""How many times the rate of Vowpal Wabbit from text, by the number of tasks."""
VW = "-b 22 -q tx --loss_function logistic --quiet"


class Time(NamedTuple):
    """Seconds of one run: by the clock, of the processor."""

    clock: float
    cpu: float


def run() -> list[Figure]:
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        for tasks in TASKS:
            figures += _formats(Path(folder), tasks)
    return figures


def _formats(folder: Path, tasks: int) -> list[Figure]:
    files = write_files(folder, data(tasks))
    runs: dict[str, Callable[[], Time]] = {
        "SVMlight": lambda: learn(folder, files["svm"]),
        "JSON lines": lambda: learn(folder, files["jsonl"]),
        "Vowpal Wabbit's text": lambda: learn(folder, files["vw"], "--task-column", "t"),
        "packed": lambda: learn(folder, files["weftpack"]),
        "vw text": lambda: wabbit(f"{VW} -d {files['vw']}"),
        "vw text --sgd": lambda: wabbit(f"{VW} --sgd -d {files['vw']}"),
        "vw cache": lambda: wabbit(f"{VW} -d {files['vw']} --cache_file {files['vw']}.cache"),
    }
    touch(1.5)
    for each in runs.values():
        each()
    times = {name: [] for name in runs}
    for _ in range(TURNS):
        for name, each in runs.items():
            times[name].append(each())
    return [
        _against(tasks, "SVMlight", "vw text", times, TARGETS[tasks]),
        _against(tasks, "SVMlight", "vw text --sgd", times, None),
        _against(tasks, "JSON lines", "SVMlight", times, 0.7),
        _against(tasks, "Vowpal Wabbit's text", "vw text", times, None),
        _against(tasks, "packed", "vw cache", times, 1.0 if tasks == TASKS[0] else None),
    ]


def _against(tasks: int, ours: str, peer: str, times: dict[str, list[Time]], target: float | None) -> Figure:
    clocks = {name: [one.clock for one in times[name]] for name in (ours, peer)}
    rate = statistics.median(clocks[peer]) / statistics.median(clocks[ours])
    return Figure(
        f"weft learn, whole process, {ours}, {tasks:,} tasks: against {peer}",
        _described(times[ours]),
        _described(times[peer]),
        f"{rate:.2f} x",
        "" if target is None else f">= {target} x",
        None if target is None else rate >= target,
    )


def _described(times: list[Time]) -> str:
    clocks = sorted(one.clock for one in times)
    cpu = statistics.median(one.cpu for one in times)
    return f"{statistics.median(clocks):.2f} s ({clocks[0]:.2f} to {clocks[-1]:.2f}), cpu {cpu:.2f}"


def learn(folder: Path, file: Path, *options: str) -> Time:
    """`weft learn` into a new model."""
    model = folder / "m.weft"
    for old in folder.glob("m.weft*"):
        old.unlink()
    command = [sys.executable, "-m", "weft.cli.main", "learn", str(file), "--model", str(model), "--quiet", *options]
    began, before = time.perf_counter(), os.times()
    subprocess.run(command, check=True)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Time(time.perf_counter() - began, cpu)


_WABBIT = """
import sys, time
from vowpalwabbit import Workspace
began = time.perf_counter(), time.process_time()
Workspace(sys.argv[1]).finish()
print(time.perf_counter() - began[0], time.process_time() - began[1])
"""


def wabbit(options: str) -> Time:
    """A workspace in a process of its own."""
    found = subprocess.run([sys.executable, "-c", _WABBIT, options], check=True, capture_output=True, text=True)
    return Time(*map(float, found.stdout.split()))


def write_files(folder: Path, found: Data) -> dict[str, Path]:
    """The same events in several formats."""
    paths = {ending: folder / f"events.{ending}" for ending in ("svm", "jsonl", "vw", "weftpack")}
    for path in folder.glob("events.*"):
        path.unlink()
    for ending, line in (("svm", _svmlight), ("jsonl", _json), ("vw", _vw)):
        with paths[ending].open("w") as file:
            file.writelines(line(*row) + "\n" for row in _rows(found))
    command = [sys.executable, "-m", "weft.cli.main", "pack", str(paths["svm"]), "--out", str(paths["weftpack"])]
    subprocess.run(command, check=True, capture_output=True)
    return paths


def _rows(found: Data) -> Iterator[tuple[int, int, list[int], list[str]]]:
    values = np.random.default_rng(1).random(found.X.nnz).round(6).reshape(-1, NONZEROS)
    columns = found.X.indices.reshape(-1, NONZEROS)
    for y, task, row, numbers in zip(found.y.tolist(), found.task.tolist(), columns, values, strict=True):
        yield int(y), task, row.tolist(), [f"{value:.6f}" for value in numbers]


def _svmlight(y: int, task: int, columns: list[int], values: list[str]) -> str:
    pairs = sorted(zip(columns, values, strict=True))
    return f"{y} qid:{task + 1} " + " ".join(f"{column + 1}:{value}" for column, value in pairs)


def _json(y: int, task: int, columns: list[int], values: list[str]) -> str:
    x = {f"w{column}": float(value) for column, value in zip(columns, values, strict=True)}
    return json.dumps({"task": task, "x": x, "y": y})


def _vw(y: int, task: int, columns: list[int], values: list[str]) -> str:
    return f"{y} |t {task} |x " + " ".join(f"{column}:{value}" for column, value in zip(columns, values, strict=True))
