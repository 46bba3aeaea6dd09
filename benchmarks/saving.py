"""Saving and loading a large model: seconds on the clock and of the processor, and megabytes per second.

The model is `auto` after one pass over 20,000 tasks, so that the numbers of pairs lie as events came. Memory is touched
before anything is timed; saving, loading and the digest of the same bytes alone, below which neither can come, take
turns, and the fastest of each counts. The file is flushed to disk, as every file that is saved.
"""

import hashlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import weft
from benchmarks.figures import Figure
from benchmarks.fresh import data, touch

TASKS, MOST, ROUNDS = 20_000, 0.4, 5


def run() -> list[Figure]:
    model = weft.Model("auto")
    model.learn(weft.Stream(*data(TASKS)))
    pairs = int(model.state.pairs.layout[2])
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
        times = {name: [] for name in runs}
        for _ in range(ROUNDS):
            for name, act in runs.items():
                began = time.perf_counter(), time.process_time()
                act()
                times[name].append((time.perf_counter() - began[0], time.process_time() - began[1]))
    megabytes, digest = len(content) / 1e6, min(times["digest"])[0]
    what = f"of auto, {pairs / 1e6:.1f} million pairs, {megabytes:.0f} MB"
    return [_figure(f"{name} {what}", times[name], megabytes, digest) for name in ("save", "load")]


def _figure(what: str, times: list[tuple[float, float]], megabytes: float, digest: float) -> Figure:
    clock, cpu = min(found[0] for found in times), min(found[1] for found in times)
    return Figure(
        what,
        f"{clock:.2f} s (processor {cpu:.2f} s)",
        f"its digest alone {digest:.2f} s",
        f"{megabytes / clock:.0f} MB/s",
        f"<= {MOST:g} s",
        clock <= MOST,
    )
