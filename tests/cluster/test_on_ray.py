"""Shards on Ray: one session in a process of its own, in which everything is tried; skipped where Ray is missing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft.cluster.on_ray import expect_private

TESTS = str(Path(__file__).parents[1])


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What a session of Ray has shown."""
    pytest.importorskip("ray", reason="ray is not installed: pip install 'weft[ray]'")
    if not sys.platform.startswith("linux"):
        pytest.skip("looks for the sockets of Ray in /proc")
    folder = tmp_path_factory.mktemp("ray")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, "-W", "ignore", "-m", "cluster.ray_session", str(folder)]
    done = subprocess.run(
        command, env={**environment, "PYTHONPATH": TESTS}, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.xdist_group("ray")
def test_killed_actors_change_no_bit(seen):
    for killed, replaced, is_same in seen["kills"]:
        assert killed == 2
        assert replaced >= 1
        assert is_same


@pytest.mark.xdist_group("ray")
def test_the_command_learns_on_ray(seen):
    assert seen["command"]


@pytest.mark.xdist_group("ray")
def test_an_error_in_an_actor_is_the_sentence_that_one_process_says(seen):
    assert "line 401" in seen["bad line"]


@pytest.mark.xdist_group("ray")
def test_ray_listens_on_this_machine_alone_and_wants_its_token(seen):
    assert seen["loopback"] == []
    assert (seen["stranger"], seen["friend"]) == (["AuthenticationError"], ["connected"])


def test_a_public_address_is_refused():
    with pytest.raises(ValueError, match=r"8\.8\.8\.8 is the public address"):
        expect_private("8.8.8.8:6379")
    with pytest.raises(ValueError, match="there is no machine"):
        expect_private("no-such-machine.invalid:6379")
    for address in ("auto", "127.0.0.1:6379", "10.0.0.5:6379", "ray://192.168.1.7:10001", "[::1]:6379"):
        expect_private(address)
