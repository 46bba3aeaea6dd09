"""Records with a schema: lines of JSON with a text, and a data frame of a million rows, beside Vowpal Wabbit.

A record has a task, five numbers, three categories, a text of ten words and a label. Vowpal Wabbit is given the same
data as its own text, written beforehand, with a weight for every feature and one for every feature of every task; it
scores and learns in one pass, as `auto` does. All take turns; the fastest by the clock counts, its processor time
stands beside it. Machine code is compiled, and memory touched, before anything is timed.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas

import weft
from benchmarks.figures import Figure
from benchmarks.fresh import touch

LINES, ROWS, TASKS, WORDS, VOCABULARY = 200_000, 1_000_000, 200, 10, 20_000
CATEGORIES = (5, 50, 1_000)
LEAST_RATE, MOST_SECONDS = 200_000, 5.0
TURNS = 3
SCHEMA = weft.Schema(task="user", label="label", text=["body"])
VW = "-b 22 -q tn -q tc -q tb --loss_function logistic --quiet"


class Time(NamedTuple):
    """Seconds: by the clock, of the processor."""

    clock: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.clock:.2f} s (cpu {self.cpu:.2f})"


def columns(rows: int) -> dict[str, Any]:
    """The fields of records; words, tasks and categories are frequent and rare."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrst"))
    words = np.array(["".join(rng.choice(letters, rng.integers(2, 10))) for _ in range(VOCABULARY)])
    used = (VOCABULARY * rng.random((rows, WORDS)) ** 3).astype(np.int64)
    numbers = rng.normal(size=(rows, 5)).round(3)
    score = rng.normal(size=VOCABULARY)[used].sum(axis=1) + numbers[:, 0] + rng.normal(size=rows)
    found: dict[str, Any] = {"user": [f"u{i}" for i in (TASKS * rng.random(rows) ** 1.5).astype(np.int64).tolist()]}
    found |= {f"n{j}": numbers[:, j].tolist() for j in range(5)}
    found |= {f"c{j}": [f"v{i}" for i in rng.integers(0, size, rows).tolist()] for j, size in enumerate(CATEGORIES)}
    found["body"] = [" ".join(row) for row in words[used].tolist()]
    found["label"] = np.where(score > 0.0, "spam", "ham").tolist()
    return found


def run() -> list[Figure]:
    data = columns(ROWS)
    with tempfile.TemporaryDirectory() as folder:
        return [*_lines(Path(folder), {name: values[:LINES] for name, values in data.items()}), *_frame(folder, data)]


def _lines(folder: Path, data: dict[str, Any]) -> list[Figure]:
    path, text = folder / "events.jsonl", folder / "events.vw"
    with path.open("w") as file:
        file.writelines(json.dumps(dict(zip(data, row, strict=True))) + "\n" for row in _rows(data))
    _write_vw(text, data)
    times = _in_turns(
        {
            "read": lambda: sum(map(len, weft.read(path, SCHEMA))),
            "learn": lambda: _learn(weft.read(path, SCHEMA)),
            "vw": lambda: _wabbit(text),
        }
    )
    size = path.stat().st_size / 1e6
    return [
        Figure(
            f"JSON lines with a text of {WORDS} words ({size:.0f} MB): reading, events/s",
            f"{LINES / times['read'].clock / 1e3:.0f} thousand, {times['read']}",
            "",
            f"{LINES / times['read'].clock / 1e3:.0f} thousand",
            f">= {LEAST_RATE / 1e3:.0f} thousand",
            LINES / times["read"].clock >= LEAST_RATE,
        ),
        _against("the same, read and learned with auto", times["learn"], times["vw"], None),
    ]


def _frame(folder: str, data: dict[str, Any]) -> list[Figure]:
    text, frame = Path(folder) / "events.vw", pandas.DataFrame(data)
    _write_vw(text, data)
    touch(2.0)
    times = _in_turns(
        {
            "encode": lambda: weft.Stream.from_frame(frame, SCHEMA),
            "learn": lambda: weft.Model(schema=SCHEMA).learn(frame),
            "vw": lambda: _wabbit(text),
        }
    )
    what = f"data frame, {ROWS:,} rows of 5 numbers, 3 categories, a text of {WORDS} words"
    return [
        _against(f"{what}: encoded and learned with auto", times["learn"], times["vw"], MOST_SECONDS),
        Figure(f"{what}: encoded", str(times["encode"]), "", f"{times['encode'].clock:.2f} s", "", None),
    ]


def _against(what: str, ours: Time, peer: Time, most: float | None) -> Figure:
    return Figure(
        what,
        str(ours),
        f"Vowpal Wabbit from its text {peer}",
        f"{peer.clock / ours.clock:.2f} x",
        "" if most is None else f"<= {most:g} s",
        None if most is None else ours.clock <= most,
    )


def _in_turns(runs: dict[str, Callable[[], object]]) -> dict[str, Time]:
    """The fastest of several turns of each, after one that is not timed."""
    found: dict[str, Time] = {}
    for turn in range(TURNS + 1):
        for name, each in runs.items():
            began = time.perf_counter(), time.process_time()
            each()
            seconds = Time(time.perf_counter() - began[0], time.process_time() - began[1])
            if turn:
                found[name] = min(found.get(name, seconds), seconds)
    return found


def _learn(streams: Iterator[weft.Stream]) -> None:
    model = weft.Model(schema=SCHEMA)
    for stream in streams:
        model.learn(stream)


def _wabbit(text: Path) -> None:
    from vowpalwabbit import Workspace

    Workspace(f"{VW} -d {text}").finish()


def _rows(data: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    return zip(*data.values(), strict=True)


def _write_vw(path: Path, data: dict[str, Any]) -> None:
    with path.open("w") as file:
        for user, *values in _rows(data):
            numbers = " ".join(f"n{j}:{value}" for j, value in enumerate(values[:5]))
            names = " ".join(f"c{j}={value}" for j, value in enumerate(values[5:8]))
            label = 1 if values[9] == "spam" else -1
            file.write(f"{label} |t {user} |n {numbers} |c {names} |b {values[8]}\n")
