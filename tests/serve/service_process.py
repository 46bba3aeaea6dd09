"""`weft serve` as a process of its own on a free port of 127.0.0.1, for tests."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import weft

START = 60.0
"""Seconds within which a service is ready; compiling takes most of them."""


class Served:
    """A running service."""

    words = ("serve",)

    def __init__(self, folder, *options, environment=None):
        self.folder = folder
        words = [sys.executable, "-m", "weft.cli.main", *self.words, str(folder), "--port", "0", *map(str, options)]
        self.process = subprocess.Popen(
            words,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        self.lines = []
        self.port = None
        limit = time.monotonic() + START
        while time.monotonic() < limit:
            line = self.process.stderr.readline()
            if not line:
                break
            self.lines.append(line)
            found = re.search(r'"port": (\d+)', line)
            if found:
                self.port = int(found[1])
            if '"message": "ready' in line:
                return
        self.process.kill()
        self.process.wait()
        raise AssertionError(f"the service did not start: {''.join(self.lines)}")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def client(self, token=None, **settings):
        return weft.Client(self.url, token, **settings)

    def stop(self, number=signal.SIGTERM):
        """End it; its exit code."""
        self.process.send_signal(number)
        self.lines += self.process.stderr.readlines()
        self.process.stderr.close()
        return self.process.wait(timeout=START)

    def told(self):
        """What it wrote to standard error, as objects."""
        return [json.loads(line) for line in self.lines]


@contextmanager
def served(folder, *options, **settings):
    """A service for the length of a block; it ends with SIGTERM and exit code 0."""
    found = Served(folder, *options, **settings)
    try:
        yield found
    finally:
        if found.process.poll() is None:
            code = found.stop()
            assert code == 0, found.lines
