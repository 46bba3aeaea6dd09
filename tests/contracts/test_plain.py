"""A compiled kernel and the same text run as plain Python give the same bits."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import weft
from contracts.digests import digests
from contracts.settings import SETTINGS
from weft.compiled import jit

pytestmark = pytest.mark.xdist_group("plain")


@pytest.fixture(scope="module")
def plain():
    folders = [str(Path(weft.__file__).parents[1]), str(Path(__file__).parents[1])]
    environment = {**os.environ, "WEFT_PLAIN": "1", "PYTHONPATH": os.pathsep.join(folders)}
    command = [sys.executable, "-W", "error", "-m", "contracts.digests"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["plain"]
    return answer["digests"]


def test_plain_equals_compiled(plain):
    assert not jit.PLAIN
    compiled = digests()
    assert plain.keys() == compiled.keys()
    assert [name for name in plain if plain[name] != compiled[name]] == []


def test_every_setting_is_compared(plain):
    assert {name.rsplit(" ", 3)[0] for name in plain} == {str(setting) for setting in SETTINGS}
    assert len(set(plain.values())) > len(SETTINGS)  # the digests do see the difference between settings
