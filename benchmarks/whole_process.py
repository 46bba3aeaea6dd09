"""From the user's file to a saved model: whole processes with a fresh model, from every format, beside Vowpal Wabbit.

Both sides are processes from their start to their end, which read the same 200,000 events (30 of 10,000 features,
values with six decimals) once, learn own weights per task and shared ones, and save their model:

- `weft learn` with its defaults: the interpreter, imports, reading, `auto` with balanced effort, the tally of every
  task, the digest of what was read, and model and progress file flushed to disk;
- Vowpal Wabbit with `-q` of task and features, its adaptive default or `--sgd`, and `-f`. Its package for Python has no
  executable, so an interpreter starts, imports the package and gives it the file on its command line. What it would
  take without the interpreter, from making the workspace to closing it, stands beside.

All take turns; the table has median and range by the clock, and the median of the processor time.
"""

import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.figures import Figure, spread
from benchmarks.fresh import EVENTS, NONZEROS, Data, data, touch
from benchmarks.process import Time, timed, weft
from benchmarks.vw import OWN_AND_SHARED

TURNS = 5
TASKS = (20, 1_000)
TARGETS = {20: 1.2, 1_000: 0.6}
"""How many times the rate of Vowpal Wabbit from text, by the number of tasks."""


class Run(NamedTuple):
    """One process: its time, the seconds of it that were not spent on starting an interpreter, the model's bytes."""

    whole: Time
    within: float
    size: int


def run() -> list[Figure]:
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        for tasks in TASKS:
            figures += _formats(Path(folder), tasks)
    return figures


def _formats(folder: Path, tasks: int) -> list[Figure]:
    files = write_files(folder, data(tasks))
    cache = f"--cache_file {files['vw']}.cache"
    runs: dict[str, Callable[[], Run]] = {
        "SVMlight": lambda: learn(folder, files["svm"]),
        "SVMlight, effort=fast": lambda: learn(folder, files["svm"], "--set", "effort=fast"),
        "JSON lines": lambda: learn(folder, files["jsonl"]),
        "Vowpal Wabbit's text": lambda: learn(folder, files["vw"], "--task-column", "t"),
        "packed": lambda: learn(folder, files["weftpack"]),
        "vw text": lambda: wabbit(folder, files["vw"], ""),
        "vw text --sgd": lambda: wabbit(folder, files["vw"], "--sgd"),
        "vw cache": lambda: wabbit(folder, files["vw"], cache),
    }
    touch(1.5)
    for each in runs.values():
        each()
    found: dict[str, list[Run]] = {name: [] for name in runs}
    for _ in range(TURNS):
        for name, each in runs.items():
            found[name].append(each())
    return [
        _against(tasks, "SVMlight", "vw text", found, TARGETS[tasks]),
        _against(tasks, "SVMlight", "vw text --sgd", found, None),
        _against(tasks, "SVMlight, effort=fast", "vw text", found, None),
        _against(tasks, "JSON lines", "SVMlight", found, 0.7),
        _against(tasks, "Vowpal Wabbit's text", "vw text", found, None),
        _against(tasks, "packed", "vw cache", found, 1.0 if tasks == TASKS[0] else None),
    ]


def _against(tasks: int, ours: str, peer: str, found: dict[str, list[Run]], target: float | None) -> Figure:
    seconds = {name: statistics.median(one.whole.clock for one in found[name]) for name in (ours, peer)}
    rate = seconds[peer] / seconds[ours]
    within = statistics.median(one.within for one in found[peer]) / seconds[ours]
    is_wabbit = peer.startswith("vw")
    return Figure(
        f"weft learn, whole process, {ours}, {tasks:,} tasks: against {peer}",
        _described(found[ours], is_wabbit=False),
        _described(found[peer], is_wabbit),
        f"{rate:.2f} x" + (f"; {within:.2f} x without its interpreter" if is_wabbit else ""),
        "" if target is None else f">= {target} x",
        None if target is None else rate >= target,
    )


def _described(found: list[Run], is_wabbit: bool) -> str:
    clock = spread([one.whole.clock for one in found], " s")
    cpu = statistics.median(one.whole.cpu for one in found)
    within = f", {statistics.median(one.within for one in found):.2f} s without its interpreter" if is_wabbit else ""
    return f"{clock}, cpu {cpu:.2f}{within}, model {found[0].size / 1e6:.1f} MB"


def learn(folder: Path, file: Path, *options: str) -> Run:
    """`weft learn` into a new model."""
    for old in folder.glob("m.weft*"):
        old.unlink()
    model = folder / "m.weft"
    time = weft("learn", file, "--model", model, "--quiet", *options)
    return Run(time, time.clock, model.stat().st_size)


_WABBIT = """
import sys, time
from vowpalwabbit import Workspace
began = time.perf_counter()
workspace = Workspace(sys.argv[1])
events = workspace.get_weighted_examples()
workspace.finish()
print(time.perf_counter() - began, events)
"""


def wabbit(folder: Path, file: Path, options: str) -> Run:
    """A workspace in a process of its own, which saves its model."""
    model = folder / "model.vw"
    model.unlink(missing_ok=True)
    words = f"{OWN_AND_SHARED} --quiet -d {file} -f {model} {options}"
    time, text = timed([sys.executable, "-c", _WABBIT, words])
    within, events = map(float, text.split())
    if events != EVENTS:
        raise AssertionError(f"Vowpal Wabbit learned {events:.0f} of {EVENTS} events")
    return Run(time, within, model.stat().st_size)


def write_files(folder: Path, found: Data) -> dict[str, Path]:
    """The same events in several formats."""
    paths = {ending: folder / f"events.{ending}" for ending in ("svm", "jsonl", "vw", "weftpack")}
    for path in folder.glob("events.*"):
        path.unlink()
    for ending, line in (("svm", _svmlight), ("jsonl", _json), ("vw", _vw)):
        with paths[ending].open("w") as file:
            file.writelines(line(*row) + "\n" for row in _rows(found))
    weft("pack", paths["svm"], "--out", paths["weftpack"])
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
