"""How long a command takes before it does anything: `weft --help`, and `weft learn` and `predict` on ten lines.

Whole processes by the clock, in turns; kernels are compiled and byte code is on disk (`process.py`). `import numba` and
`import numpy`, in processes that do nothing else, show what of it is not weft's own.
"""

import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.figures import Figure, median_limit, spread
from benchmarks.process import Time, timed, weft

ROUNDS = 7


def run() -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        events, model = folder / "ten.jsonl", folder / "m.weft"
        rows = ({"task": f"u{i % 3}", "x": {"a": i, "b": 1.0}, "y": 1 if i % 2 else -1} for i in range(10))
        events.write_text("".join(json.dumps(row) + "\n" for row in rows))

        def learn(learner: str) -> Time:
            for old in folder.glob("m.weft*"):
                old.unlink()
            return weft("learn", events, "--model", model, "--learner", learner)

        runs: dict[str, Callable[[], Time]] = {
            "weft --help": lambda: weft("--help"),
            "weft learn, pa": lambda: learn("pa"),
            "weft learn, auto": lambda: learn("auto"),
            "weft predict, auto": lambda: weft("predict", events, "--model", model),
            "import numpy": lambda: _import("numpy"),
            "import numba": lambda: _import("numba"),
        }
        for each in runs.values():
            each()
        times = {what: [] for what in runs}
        for _ in range(ROUNDS):
            for what, each in runs.items():
                times[what].append(each())
    imports = ", ".join(
        f"{what} {spread([t.clock for t in times[what]], ' s')}" for what in ("import numpy", "import numba")
    )
    return [
        _figure("weft --help", times, 0.1, ""),
        _figure("weft learn, auto", times, 0.6, imports),
        _figure("weft learn, pa", times, 0.6, ""),
        _figure("weft predict, auto", times, 0.6, ""),
    ]


def _import(package: str) -> Time:
    return timed([sys.executable, "-c", f"import {package}"])[0]


def _figure(what: str, times: dict[str, list[Time]], most: float, peer: str) -> Figure:
    title = what if what.endswith("help") else f"{what}, ten lines, warm"
    figure = median_limit(title, [one.clock for one in times[what]], "s", most, peer)
    return figure._replace(ours=f"{figure.ours}, cpu {statistics.median(one.cpu for one in times[what]):.2f}")
