"""What shards cost: memory, versions, checkpoints and speed by the number of tasks, and a model of these costs.

`python -m benchmarks.shards` calibrates the model on runs of `auto` with 10^4, 10^5 and 10^6 tasks in 1, 2 and 4
shards, and predicts a run that it has not seen. `--speed` compares two actors of Ray that read a partition with one
process, in turns. Every run is a process of its own. CPU is that of the process; rates depend on what else runs.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FEATURES, PER_EVENT = 1 << 14, 10
EXCHANGE = 10_000
TASKS, SHARDS, HELD_OUT = (10_000, 100_000, 1_000_000), (1, 2, 4), {"tasks": 300_000, "shards": 2}
PAGE = os.sysconf("SC_PAGE_SIZE")


def write_parts(folder: Path, tasks: int, events: int, shards: int) -> list[Path]:
    """Events of tasks that are alike, as a packed file per shard."""
    from weft.cluster import shard_of
    from weft.storage.lexicon import Lexicon
    from weft.streams.chunk import Chunk
    from weft.streams.events import Events
    from weft.streams.packing import PackWriter
    from weft.streams.source import Position

    rng, names, words = np.random.default_rng(tasks), Lexicon(), Lexicon()
    for k in range(tasks):
        names.code(f"u{k}")
    for j in range(FEATURES):
        words.code(f"w{j}")
    shard = np.array([shard_of(name, shards) for name in names.names])
    truth = rng.normal(size=FEATURES)
    paths = [folder / f"shard-{number:03}.weftpack" for number in range(shards)]
    files = [path.open("wb") for path in paths]
    writers = [PackWriter(file) for file in files]
    for begin in range(0, events, 1 << 16):
        n = min(1 << 16, events - begin)
        # Popular words are popular as in texts; a word does not come twice in an event.
        index = (FEATURES * rng.random((n, PER_EVENT)) ** 3).astype(np.int64) // PER_EVENT * PER_EVENT
        index = np.minimum(index, FEATURES - PER_EVENT) + np.arange(PER_EVENT)
        task = rng.integers(tasks, size=n)
        label = np.where(truth[index].sum(axis=1) + rng.normal(size=n) > 0.0, 1.0, -1.0)
        columns = np.arange(begin, begin + n), label, task, PER_EVENT * np.arange(n + 1), index.ravel()
        whole = Events(*columns, np.ones(n * PER_EVENT), np.zeros(n, np.int64), None)
        chunk = Chunk(whole, names, words, [], Position(0, ""), None, "real")
        for number, writer in enumerate(writers):
            writer.add(replace(chunk, events=whole.take(np.flatnonzero(shard[task] == number))))
    for writer, file in zip(writers, files, strict=True):
        writer.finish()
        file.close()
    return paths


def resident() -> int:
    """Bytes that this process holds in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def cell(tasks: int, shards: int, events: int) -> dict[str, Any]:
    """One run in this process: what it took, and what lies in memory and on disk."""
    import weft
    from weft import cluster
    from weft.cluster.checkpoint import restore
    from weft.cluster.folder import Folder
    from weft.cluster.reading import Source
    from weft.cluster.rule import Rule
    from weft.cluster.run import Local

    weft.Model()._compile(np.zeros((0, 4)))
    sizes: list[tuple[int, int]] = []
    held: list[Any] = []

    def workers(setup: Any) -> Any:
        from contextlib import nullcontext

        held.append(Local(setup))
        return nullcontext(held[0])

    with tempfile.TemporaryDirectory(dir=memory()) as folder:
        paths = write_parts(Path(folder), tasks, events, shards)
        before, cpu = resident(), time.process_time()
        found = cluster.learn(
            paths,
            shards=shards,
            exchange=EXCHANGE,
            partitioned=True,
            folder=Path(folder) / "run",
            save_every=10**9,
            workers=workers,
            on_version=lambda version: sizes.append((len(version.touched), len(version.to_bytes()))),
        )
        cpu, after = time.process_time() - cpu, resident()
        models = [shard.model for shard in held[0]._worker._shards.values()]
        pairs = sum(int(np.count_nonzero(model.state.own.any(axis=1))) for model in models)
        known = sum(len(model.tasks) for model in models)
        disk = sum(path.stat().st_size for path in found.shards)
        rule = Rule(shards, EXCHANGE, 0, True)
        began = time.process_time()
        restore(Folder(found.folder), 0, rule, Source(tuple(map(str, paths)), None, True), found.versions)
        back = time.process_time() - began
    full = [size for size in sizes if size[0]][len(sizes) // 2 :]
    return {
        "tasks": known,
        "shards": shards,
        "events": events,
        "pairs": pairs,
        "features": len(models[0].vocabulary.features),
        "cpu": cpu,
        "memory": after - before,
        "disk": disk,
        "versions": found.versions,
        "touched": statistics.median(touched for touched, _ in full),
        "version": statistics.median(size for _, size in full),
        "restore": back,
        "restored": disk / shards,
    }


def memory() -> str | None:
    """A folder in memory, if there is one: flushing takes no time there."""
    return "/dev/shm" if os.path.isdir("/dev/shm") else None


def run_cell(**given: Any) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.shards", "--cell", json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


class Costs:
    """A model of what a run takes, linear in tasks, pairs, features, events and versions."""

    def __init__(self, runs: list[dict[str, Any]]) -> None:
        self.memory = _fit(runs, "memory", lambda r: [r["tasks"], r["pairs"], r["features"] * (r["shards"] + 1)])
        self.disk = _fit(runs, "disk", lambda r: [r["tasks"], r["pairs"], r["features"] * r["shards"]])
        self.version = _fit(runs, "version", lambda r: [r["touched"]])
        self.cpu = _fit(runs, "cpu", lambda r: [r["events"], r["versions"] * r["shards"]])
        self.restore = _fit(runs, "restore", lambda r: [r["restored"]])

    def predict(self, run: dict[str, Any]) -> dict[str, float]:
        """What a run of that size takes."""
        return {
            "memory": float(self.memory @ [run["tasks"], run["pairs"], run["features"] * (run["shards"] + 1)]),
            "disk": float(self.disk @ [run["tasks"], run["pairs"], run["features"] * run["shards"]]),
            "version": float(self.version @ [run["touched"]]),
            "cpu": float(self.cpu @ [run["events"], run["versions"] * run["shards"]]),
            "restore": float(self.restore @ [run["restored"]]),
        }

    def lines(self) -> list[str]:
        """The constants."""
        (task, pair, feature), (t, p, f) = self.memory, self.disk
        event, version = self.cpu
        return [
            f"| memory | {task:.0f} bytes a task, {pair:.0f} a pair, {feature:.0f} a feature in every shard |",
            f"| checkpoints | {t:.0f} bytes a task, {p:.0f} a pair, {f:.0f} a feature in every shard |",
            f"| a version | {self.version[0]:.0f} bytes for every feature that the block touched |",
            f"| CPU | {1e6 * event:.1f} us an event, {1e3 * version:.1f} ms a version and shard |",
            f"| a shard restored | {1e-6 / self.restore[0]:.0f} MB of its checkpoint a second |",
        ]


def _fit(runs: list[dict[str, Any]], what: str, terms: Any) -> Any:
    """Constants from 0 on with the least relative errors."""
    from scipy.optimize import nnls

    wanted = np.array([run[what] for run in runs], np.float64)
    matrix = np.array([terms(run) for run in runs], np.float64) / wanted[:, None]
    return nnls(matrix, np.ones(len(runs)))[0]


def calibrate(tasks: tuple[int, ...]) -> None:
    """Print the runs, the constants and the prediction of the run that was held out."""
    runs = [run_cell(tasks=k, shards=s, events=max(k, 100_000)) for k in tasks for s in SHARDS]
    print("| tasks | shards | events | pairs | CPU | memory | checkpoints | a version | a shard restored |")
    print("|---|---|---|---|---|---|---|---|---|")
    for run in runs:
        print(_row(run))
    costs = Costs(runs)
    print("\n| what | cost |\n|---|---|", *costs.lines(), sep="\n")
    held = run_cell(**HELD_OUT, events=HELD_OUT["tasks"])
    print(f"\nHeld out: {_row(held)}\n\n| what | predicted | measured | |\n|---|---|---|---|")
    for what, value in costs.predict(held).items():
        print(f"| {what} | {value:,.3g} | {held[what]:,.3g} | {100 * (value / held[what] - 1):+.0f} % |")


def _row(run: dict[str, Any]) -> str:
    return (
        f"| {run['tasks']:,} | {run['shards']} | {run['events']:,} | {run['pairs']:,} | {run['cpu']:.1f} s "
        f"| {run['memory'] / 1e6:,.0f} MB | {run['disk'] / 1e6:,.0f} MB | {run['version'] / 1e6:.2f} MB "
        f"| {run['restore']:.2f} s |"
    )


class Passed(NamedTuple):
    """When a version was made: the time, events and CPU so far."""

    at: float
    events: int
    cpu: float
    actors: list[float]


class Actors:
    """Two actors of Ray, and what they have taken of their processors."""

    def __init__(self) -> None:
        self._processes: list[int] = []

    @contextmanager
    def on_ray(self, setup: Any) -> Iterator[Any]:
        """As `cluster.on_ray(2)`."""
        from weft import cluster

        with cluster.on_ray(2)(setup) as workers:
            self._processes = workers.processes()
            yield workers

    def cpu(self) -> list[float]:
        """Seconds of each."""
        words = [Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split() for process in self._processes]
        return [(int(some[11]) + int(some[12])) / os.sysconf("SC_CLK_TCK") for some in words]


def speed(tasks: int, events: int, turns: int) -> None:
    """Two actors that read their own files against one process that reads both, in turns."""
    import weft
    from weft import cluster
    from weft.streams import read_chunks

    weft.Model()._compile(np.zeros((0, 4)))
    ratios = []
    with tempfile.TemporaryDirectory(dir=memory()) as folder:
        paths = write_parts(Path(folder), tasks, events, 2)
        for _ in range(turns):
            model, began, cpu = weft.Model(), time.perf_counter(), time.process_time()
            for path in paths:
                for chunk in read_chunks(path, target="binary"):
                    model.learn(chunk.stream)
            alone, alone_cpu = time.perf_counter() - began, time.process_time() - cpu
            times, actors = [Passed(0.0, 0, 0.0, [])], Actors()

            def note(version: Any, times: list[Passed] = times, actors: Actors = actors) -> None:
                times.append(Passed(time.perf_counter(), version.events, time.process_time(), actors.cpu()))

            cluster.learn(
                paths,
                shards=2,
                exchange=EXCHANGE,
                partitioned=True,
                workers=actors.on_ray,
                on_version=note,
                save_every=10**9,
            )
            full = [at for at in times[1:] if at.events >= 20 * EXCHANGE]
            done, rate = full[-1].events - full[0].events, 1.0 / (full[-1].at - full[0].at)
            ratios.append(done * rate * alone / events)
            # What a block takes where nobody waits for a processor: the slower actor, then the coordinator.
            own = max(after - before for before, after in zip(full[0].actors, full[-1].actors, strict=True))
            path = own + full[-1].cpu - full[0].cpu
            clock = alone_cpu / events * done / path
            print(
                f"one process {events / alone:,.0f} events/s, two actors {done * rate:,.0f}: {ratios[-1]:.2f} x, "
                f"load {os.getloadavg()[0]:.1f}; CPU of {done:,} events: {alone_cpu / events * done:.2f} s, "
                f"slower actor {own:.2f} s, coordinator {path - own:.2f} s: {clock:.2f} x",
                flush=True,
            )
    print(f"two actors: {statistics.median(ratios):.2f} x one process (median of {turns})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    parser.add_argument("--speed", action="store_true", help="two actors of Ray against one process")
    parser.add_argument("--tasks", type=int, default=20_000, help="of --speed")
    parser.add_argument("--events", type=int, default=1_000_000, help="of --speed")
    parser.add_argument("--turns", type=int, default=3, help="of --speed")
    parser.add_argument("--largest", type=int, default=TASKS[-1], help="leave out runs with more tasks")
    given = parser.parse_args()
    if given.cell:
        print(json.dumps(cell(**json.loads(given.cell))))
    elif given.speed:
        speed(given.tasks, given.events, given.turns)
    else:
        calibrate(tuple(k for k in TASKS if k <= given.largest))


if __name__ == "__main__":
    main()
