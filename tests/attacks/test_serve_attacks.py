"""Bounded attacks on `weft serve`, and controls: a service with a fault in it must be noticed."""

import os
import sqlite3
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from attacks import serve_faults, serve_flips, serve_fuzz, serve_load, serve_power
from serve import engines, histories
from weft.serve import log as logs

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="signals, locks and fork are those of Unix"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


def test_kills_at_random_moments_under_load():
    """In a process of its own, which forks servers."""
    tests = str(Path(__file__).parents[1])
    result = subprocess.run(
        [sys.executable, "-m", "attacks.serve_kills", "--count", "4", "--seed", "1"],
        env={**os.environ, "PYTHONPATH": tests}, cwd=tests, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("4 kills")
    assert "all 100 acknowledged events" in result.stdout


@pytest.mark.skipif(bool(serve_faults.why_not()), reason=serve_faults.why_not())
def test_faults_at_calls_that_change_the_folder():
    result = serve_faults.outside(["EIO", "ENOSPC", "kill before", "kill after", "kill in the middle of a write"], 29)
    assert result.returncode == 0, result.stdout + result.stderr
    assert int(result.stdout.split()[0]) >= 20


@pytest.mark.parametrize("killed", [False, True])
def test_flipped_bits(killed):
    counts = serve_flips.attack(killed, 997 if killed else 397)
    assert counts["same"]
    assert counts["refused"]
    assert killed or not counts["reported"]


def test_requests_made_from_the_description():
    counts = serve_fuzz.attack(400, seed=2)
    assert counts[200] > 50
    assert counts[422] > 50


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_idle_slow_and_half_open_connections():
    found = serve_load.attack(300)
    assert found["bytes"] < 100_000


@pytest.mark.skipif(not os.environ.get("WEFT_POWER"), reason="WEFT_POWER=1 runs it: it mounts a file system, as root")
def test_power_cuts():
    assert serve_power.why_not() == ""
    assert serve_power.attack(1, seed=3)[0] == 0


# --- controls ---


def in_child(work):
    """What work yields to its caller in a process that is then killed: lines."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            work(lambda text: os.write(writing, f"{text}\n".encode()))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        lines = file.read().split()
    os.waitpid(child, 0)
    return lines


def learned_and_killed(folder):
    """Acknowledged numbers of events that a service learned before it was killed."""

    def work(tell):
        service = engines.opened(folder)
        for i in range(6):
            tell(engines.ask(service, engines.to_learn(i))[0].seq)

    return [int(line) for line in in_child(work)]


def history_of(numbers):
    history = histories.History()
    for i in range(len(numbers)):
        history.send(f"e{i}", engines.event(i))
        history.acknowledge(f"e{i}", numbers[i])
    return history


def test_a_killed_service_is_explained_by_its_history(tmp_path):
    numbers = learned_and_killed(tmp_path / "s")
    assert len(numbers) == 6
    histories.check(tmp_path / "s", history_of(numbers), engines.LEARNER)


def test_an_answer_before_the_commit_would_be_noticed(tmp_path, monkeypatch):
    write = logs.Log.write
    monkeypatch.setattr(logs.Log, "write", lambda self, text, values=(): _late(self, write, text, values))
    numbers = learned_and_killed(tmp_path / "s")
    assert numbers
    with pytest.raises(AssertionError, match="was acknowledged"):
        histories.check(tmp_path / "s", history_of(numbers), engines.LEARNER)


def _late(log, write, text, values):
    """Commits are left open, and begun ones are gone on with: nothing reaches the disk."""
    if text == "COMMIT" or (text == "BEGIN IMMEDIATE" and log._db.in_transaction):
        return 0
    return write(log, text, values)


def test_duplicates_that_are_not_recognised_would_be_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(logs.Log, "recognised", lambda self, ids: {})
    service = engines.opened(tmp_path / "s")
    monkeypatch.setattr(logs.Log, "claim", lambda *_: None)
    numbers = [engines.ask(service, engines.to_learn(0))[0].seq for _ in range(2)]
    engines.close(service)
    with pytest.raises(AssertionError, match="learned twice"):
        histories.check(tmp_path / "s", history_of(numbers[:1]), engines.LEARNER)


@pytest.mark.parametrize("has_checks", [True, False])
def test_a_log_without_checksums_would_be_noticed(tmp_path, monkeypatch, has_checks):
    states = serve_flips.make(tmp_path / "s", killed=False)
    for path in tmp_path.glob("s/checkpoint-*"):
        path.unlink()
    database = sqlite3.connect(tmp_path / "s" / "log.sqlite")
    [blob] = database.execute("SELECT blob FROM log WHERE seq = 1").fetchone()
    at = blob.index(struct.pack(">d", 0.5))  # a value of the first row becomes another one
    database.execute("UPDATE log SET blob = ? WHERE seq = 1", (blob[: at + 1] + b"\xd0" + blob[at + 2 :],))
    database.commit()
    database.close()
    if has_checks:
        assert serve_flips.outcome(tmp_path / "s", states) == "refused"
        return
    database = sqlite3.connect(tmp_path / "s" / "log.sqlite")
    sums = [(logs.checksum(*row), row[0]) for row in database.execute("SELECT seq, n, blob FROM log")]
    database.executemany("UPDATE log SET crc = ? WHERE seq = ?", sums)
    database.commit()
    database.close()
    with pytest.raises(AssertionError, match="nothing was said"):
        serve_flips.outcome(tmp_path / "s", states)
