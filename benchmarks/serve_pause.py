"""How long learning and predicting pause while `weft serve` writes checkpoints of a large model: `make bench-serve`.

A service begins with a model of some 300 MB. One connection learns, another predicts, without a break; the longest and
the median waiting times are those while checkpoints are written, which is nearly always here.
"""

import argparse
import asyncio
import json
import os
import random
import re
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import NamedTuple

import numpy as np

import weft
from benchmarks.serve import Caller, event, request, running

BLOCK = 50_000


class Waits(NamedTuple):
    """Waiting times in ms."""

    median: float
    p99: float
    longest: float


def make(path: Path, tasks: int, events: int) -> float:
    """Write a model that knows so many tasks; its bytes."""
    model, chance = weft.Model("auto"), random.Random(0)
    names = [f"f{i}" for i in range(200)]
    for _ in range(0, events, BLOCK):
        rows = [dict.fromkeys(chance.sample(names, 10), 0.5) for _ in range(BLOCK)]
        owners = [f"t{chance.randrange(tasks)}" for _ in range(BLOCK)]
        model.learn(weft.Stream(rows, [chance.choice([-1.0, 1.0]) for _ in range(BLOCK)], owners))
    model.save(path)
    return float(path.stat().st_size)


def busy(port: int, tasks: int, seconds: float) -> dict[str, Waits]:
    """Learn and predict over a connection each."""
    events = [event(i, tasks) for i in range(20_000)]
    kinds = {
        "learn": [request("/v1/learn", json.dumps(found).encode()) for found in events],
        "predict": [
            request("/v1/predict", json.dumps({k: found[k] for k in ("task", "x")}).encode()) for found in events
        ],
    }
    waits: dict[str, list[float]] = {kind: [] for kind in kinds}

    async def run() -> None:
        loop, end = asyncio.get_running_loop(), time.perf_counter() + seconds
        callers = [Caller(requests, 0, end, waits[kind]) for kind, requests in kinds.items()]
        await asyncio.gather(*(loop.create_connection(lambda c=c: c, "127.0.0.1", port) for c in callers))  # type: ignore[misc]
        await asyncio.gather(*(caller.done for caller in callers))

    asyncio.run(run())
    return {
        kind: Waits(*(1e3 * float(value) for value in np.quantile(found, [0.5, 0.99, 1.0])))
        for kind, found in waits.items()
    }


def figure(port: int, name: str) -> float:
    """A figure of the service."""
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    return float(re.findall(rf"^{name} (\S+)$", text, re.MULTILINE)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=40_000)
    parser.add_argument("--events", type=int, default=500_000)
    parser.add_argument("--seconds", type=float, default=15.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "m.weft"
        size = make(path, asked.tasks, asked.events)
        words = ["weft.cli.main", "serve", str(Path(place) / "s"), "--port", "0", "--from-model", str(path)]
        for every in (1_000_000_000, 500):
            with running([*words, "--checkpoint-every", str(every)]) as served:
                found = busy(served.port, asked.tasks, asked.seconds)
                count = figure(served.port, "weft_checkpoints_total")
                pause = figure(served.port, "weft_checkpoint_pause_seconds")
                took = figure(served.port, "weft_checkpoint_seconds")
            print(f"a model of {size / 1e6:.0f} MB, {count:.0f} checkpoints of {took:.1f} s, fork {1e3 * pause:.0f} ms")
            for kind, waits in found.items():
                print(f"  {kind:8} median {waits.median:6.1f} ms, p99 {waits.p99:6.1f}, longest {waits.longest:6.1f}")
            words = words[:-2]
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
