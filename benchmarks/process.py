"""Whole processes, timed from outside: by the clock, and the processor time of the process and of its children.

Commands of weft run with byte code on disk, as after `pip install`, which compiles every module: an editable checkout
with PYTHONDONTWRITEBYTECODE set would compile 160 files in every start, for 0.13 s.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time
from functools import cache
from typing import NamedTuple


class Time(NamedTuple):
    """Seconds of one run: by the clock, of the processor."""

    clock: float
    cpu: float


def weft(*arguments: object) -> Time:
    """A command of weft, which must succeed."""
    return timed([sys.executable, "-m", "weft.cli.main", *map(str, arguments)])[0]


def timed(command: list[str]) -> tuple[Time, str]:
    """The time of a process that must succeed, and what it printed."""
    began, before = time.perf_counter(), os.times()
    found = subprocess.run(command, check=True, capture_output=True, text=True, env=_with_byte_code())
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Time(time.perf_counter() - began, cpu), found.stdout


@cache
def _with_byte_code() -> dict[str, str]:
    folder = tempfile.mkdtemp(prefix="weft-benchmarks-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**environment, "PYTHONPYCACHEPREFIX": folder}
