"""Brokers and learners are killed, for a short time; and a control that must be noticed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from brokers.servers import NATS, REDIS

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="signals, locks and fork are those of Unix"),
    pytest.mark.xdist_group("brokers"),
]
for package in ("confluent_kafka", "nats", "redis"):
    pytest.importorskip(package, reason=f"{package} is not installed")


def run(*words):
    """In a process of its own, which forks learners."""
    tests = str(Path(__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-m", "attacks.broker_kills", "--seed", "1", *words],
        env={**os.environ, "PYTHONPATH": tests}, cwd=tests, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.mark.skipif(REDIS is None, reason="redis-server is not installed")
def test_redis_and_its_learners_are_killed():
    result = run("--kinds", "redis", "--count", "3")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("all 750 events were learned exactly once") == 2


@pytest.mark.skipif(NATS is None, reason="nats-server is not installed")
def test_nats_and_a_service_are_killed():
    result = run("--kinds", "nats", "--learners", "serve", "--count", "3")
    assert result.returncode == 0, result.stdout + result.stderr


def test_kafka_and_a_service_are_killed():
    result = run("--kinds", "kafka", "--learners", "serve", "--count", "3")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.skipif(REDIS is None, reason="redis-server is not installed")
def test_positions_behind_the_events_would_be_noticed():
    result = run("--kinds", "redis", "--learners", "serve", "--count", "5", "--control")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "learned twice" in result.stdout
