"""Actors, and whole nodes, of a run on Ray are killed at random moments, mid-call; the model is that of one process.

`PYTHONPATH=tests python -m attacks.cluster_kills --kills 30` kills actors, `--nodes 5` kills nodes of a simulated
cluster as well. It tells how long a killed actor's shards were away.
"""

import argparse
import os
import random
import signal
import statistics
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from cluster.events import write_events
from weft import cluster
from weft.cluster.on_ray import import_ray, on_ray


class Killer:
    """Kills a process of a run after some versions, shortly after the next block was begun."""

    def __init__(self, kills, every, seed, longest=0.05):
        self.left, self.every, self.random, self.longest = kills, every, random.Random(seed), longest
        self.killed, self.away, self.usual = 0, [], []
        self._last, self._at = time.monotonic(), None
        self.workers = None

    @contextmanager
    def watching(self, workers, setup):
        with workers(setup) as self.workers:
            yield self.workers

    def __call__(self, version):
        now = time.monotonic()
        took, self._last = now - self._last, now
        if self._at is not None:
            self.away.append(now - self._at[0])
            self._at = None
        else:
            self.usual.append(took)
        if self.left and version.number % self.every == 0 and version.end is None:
            process = self.random.choice(self.workers.processes())
            self.left -= 1
            self._at = [time.monotonic()]
            threading.Timer(self.random.random() * self.longest, self._kill, [process, self._at]).start()

    def _kill(self, process, at):
        at[0] = time.monotonic()
        os.kill(process, signal.SIGKILL)
        self.killed += 1


def attack_actors(path, learner, rule, kills, seed, actors=2):
    """Learn with kills; returns the killer, after the model was compared with that of one process."""
    expected = cluster.learn(path, learner, **rule).model().to_bytes()
    killer = Killer(kills, every=3, seed=seed)
    workers = on_ray(actors)
    found = cluster.learn(
        path, learner, **rule, workers=lambda setup: killer.watching(workers, setup), on_version=killer
    )
    assert found.model().to_bytes() == expected, f"another model after {killer.killed} kills (seed {seed})"
    assert killer.killed == kills - killer.left
    return killer


def attack_nodes(path, learner, rule, kills, seed):
    """The same with a simulated cluster of three nodes, of which one with actors is killed and another is added."""
    ray = import_ray(is_alone=False)
    from ray.cluster_utils import Cluster

    expected = cluster.learn(path, learner, **rule).model().to_bytes()
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "node_ip_address": "127.0.0.1"})
    others = [nodes.add_node(num_cpus=2) for _ in range(2)]
    ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
    chance, killed = random.Random(seed), 0

    def kill(version):
        nonlocal killed
        if killed < kills and version.number % 5 == 0 and version.end is None:
            node = others.pop(chance.randrange(2))
            nodes.remove_node(node, allow_graceful=False)
            others.append(nodes.add_node(num_cpus=2))
            killed += 1

    try:
        found = cluster.learn(path, learner, **rule, workers=on_ray(2), on_version=kill)
        assert found.model().to_bytes() == expected, f"another model after {killed} nodes were killed (seed {seed})"
    finally:
        ray.shutdown()
        nodes.shutdown()
    return killed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--nodes", type=int, default=0)
    parser.add_argument("--learner", default="auto")
    parser.add_argument("--staleness", type=int, default=0)
    parser.add_argument("--events", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rule = {"shards": 4, "exchange": 200, "staleness": given.staleness, "save_every": 2000}
    with tempfile.TemporaryDirectory() as folder:
        path = write_events(Path(folder) / "events.jsonl", given.events, tasks=500)
        if given.kills:
            killer = attack_actors(path, given.learner, rule, given.kills, given.seed)
            away, usual = sorted(killer.away), statistics.median(killer.usual)
            print(
                f"{killer.killed} actors killed: the same model, bit for bit; a version took {usual:.3f} s, after a "
                f"kill {statistics.median(away):.2f} s (median) to {away[-1]:.2f} s"
            )
        if given.nodes:
            print(f"{attack_nodes(path, given.learner, rule, given.nodes, given.seed)} nodes killed: the same model")


if __name__ == "__main__":
    main()
