"""Saving and loading a large model: seconds on the clock and of the processor, and megabytes per second.

The model is `auto` after one pass over 20,000 tasks, so that the numbers of pairs lie as events came. Memory is touched
before anything is timed; saving, loading and the digest of the same bytes alone, below which neither can come, take
turns; the table has median and range by the clock. The file is flushed to disk, as every file that is saved. With
effort `balanced` a pair has 16 numbers, with `fast` 8, which is the state that the target was set for.
"""

import hashlib
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import weft
from benchmarks.figures import Figure, spread
from benchmarks.fresh import data, touch
from benchmarks.process import Time
from weft.storage.pairs import USED

TASKS, MOST, ROUNDS = 20_000, 0.4, 7
EFFORTS = ("balanced", "fast")


def run() -> list[Figure]:
    stream = weft.Stream(*data(TASKS))
    return [figure for effort in EFFORTS for figure in _files(stream, effort)]


def _files(stream: weft.Stream, effort: str) -> list[Figure]:
    model = weft.Model("auto", effort=effort)
    model.learn(stream)
    pairs = int(model.state.pairs.layout[USED])
    touch(1.5)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.weft"
        model.save(path)
        content = path.read_bytes()
        assert weft.load(path).to_bytes() == content
        runs: dict[str, Callable[[], object]] = {
            "save": lambda: model.save(path),
            "load": lambda: weft.load(path),
            "digest": lambda: hashlib.blake2b(content, digest_size=32).digest(),
        }
        times: dict[str, list[Time]] = {name: [] for name in runs}
        for _ in range(ROUNDS):
            for name, act in runs.items():
                began = time.perf_counter(), time.process_time()
                act()
                times[name].append(Time(time.perf_counter() - began[0], time.process_time() - began[1]))
    megabytes, digest = len(content) / 1e6, statistics.median(one.clock for one in times["digest"])
    what = f"of auto, {effort}, {pairs / 1e6:.1f} million pairs, {megabytes:.0f} MB"
    return [_figure(f"{name} {what}", times[name], megabytes, digest) for name in ("save", "load")]


def _figure(what: str, times: list[Time], megabytes: float, digest: float) -> Figure:
    clock, cpu = (statistics.median(each) for each in zip(*times, strict=True))
    return Figure(
        what,
        f"{spread([one.clock for one in times], ' s')}, cpu {cpu:.2f}",
        f"its digest alone {digest:.2f} s",
        f"{megabytes / clock:.0f} MB/s",
        f"<= {MOST:g} s",
        clock <= MOST,
    )
