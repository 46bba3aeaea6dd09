"""How fast events of brokers are learned, on this machine, with the broker beside it: `python -m benchmarks.brokers`.

Messages are at the broker before the learner starts: `weft learn` until the broker is silent, `weft serve --from` from
the first event to the last. CPU is that of the learner's process. Kafka is librdkafka's mock. The rest of the machine's
two cores is the broker's.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from benchmarks.serve import event, running

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from brokers.feeds import FEEDS

TASKS = 100
SETTINGS: dict[str, tuple[object, ...]] = {"kafka": (16,), "nats": ("2m",), "redis": ()}
"""Partitions, of which librdkafka's mock keeps 5 MB each; how often nats-server flushes."""
IDLE = 1.0


def serve(place: Path, source: str, learner: str, count: int) -> tuple[float, float]:
    """Events per second, and CPU per event in microseconds."""
    words = ["weft.cli.main", "serve", str(place / "s"), "--port", "0", "--learner", learner, "--from", source]
    with running(words) as served:
        first, began, cpu, done = 0.0, time.perf_counter(), served.cpu(), 0.0
        while done < count:
            time.sleep(0.05)
            with urllib.request.urlopen(f"http://127.0.0.1:{served.port}/metrics") as answer:
                lines = answer.read().decode().splitlines()
            done = next(float(line.split()[1]) for line in lines if line.startswith("weft_events "))
            if not first:
                first, began, cpu = done, time.perf_counter(), served.cpu()
        seconds, used = time.perf_counter() - began, served.cpu() - cpu
    return (count - first) / seconds, 1e6 * used / (count - first)


def learn(place: Path, source: str, learner: str, count: int) -> tuple[float, float]:
    """The same of `weft learn`, less what it takes for one event."""
    words = [sys.executable, "-m", "weft", "learn", source, "--learner", learner, "--quiet"]

    def run(name: str, *further: str) -> tuple[float, float]:
        before, began = os.times(), time.perf_counter()
        subprocess.run([*words, "--model", str(place / name), *further], check=True)
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        return time.perf_counter() - began, cpu

    run("m.weft", "--idle", str(IDLE))
    again = run("m.weft", "--idle", str(IDLE))  # nothing is new: start, silence and end
    first = run("n.weft", "--idle", str(IDLE))
    seconds, cpu = first[0] - again[0], first[1] - again[1]
    return count / seconds, 1e6 * cpu / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learner", default="auto")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--kinds", nargs="+", default=sorted(FEEDS))
    asked = parser.parse_args()
    lines = [json.dumps(event(i, TASKS)).encode() for i in range(asked.events)]
    print(f"{'':10} {'':12} {'events/s':>10} {'CPU, us':>8}")
    for kind in asked.kinds:
        with tempfile.TemporaryDirectory() as place:
            feed = FEEDS[kind](Path(place), *SETTINGS[kind])
            feed.start()
            for at in range(0, asked.events, 10_000):
                feed.put(lines[at : at + 10_000])
            for name, measure in (("weft learn", learn), ("weft serve", serve)):
                rate, cpu = measure(Path(place), feed.source, asked.learner, asked.events)
                print(f"{kind:10} {name:12} {rate:10,.0f} {cpu:8.1f}", flush=True)
            feed.close()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
