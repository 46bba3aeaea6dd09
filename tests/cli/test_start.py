"""How `weft` begins: without a standard input, and with a signal while its modules are loaded."""

import os
import signal
import subprocess
import sys

import pytest

import weft

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and descriptors are those of Unix")
BEGIN = "from weft.cli.start import main; main()"
INTERRUPTED_IMPORT = """
import os, signal, sys
from weft.cli.start import main

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            try:
                os.kill(os.getpid(), signal.{signal})
                for _ in range(1000):
                    pass
            except KeyboardInterrupt:
                raise {error} from None

sys.meta_path.insert(0, Finder())
main()
"""


def take_signals():
    """A shell that starts tests in the background has them ignore Ctrl-C."""
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_DFL)


def without_input():
    os.close(0)


def run(code, *arguments, prepare=take_signals, **settings):
    words = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        words, capture_output=True, text=True, timeout=120, check=False, preexec_fn=prepare, **settings
    )


@pytest.mark.parametrize(
    "words",
    [
        ["learn", "-", "--model", "new.weft"],
        ["learn", "-", "--model", "new.weft", "--task", "user", "--label", "y"],
        ["predict", "-", "--model", "m.weft"],
        ["compare", "-"],
        ["tune", "-", "--learner", "pa"],
        ["pack", "-", "--out", "e.weftpack"],
    ],
    ids=lambda words: " ".join(words[:1] + words[4:5]),
)
def test_a_standard_input_that_is_closed(tmp_path, words):
    """As in `weft learn - <&-`."""
    model = weft.Model("pa")
    model.learn_one({"a": 1.0}, 1, "t")
    model.save(tmp_path / "m.weft")
    result = run(BEGIN, *words, prepare=without_input, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.startswith("weft: standard input is closed; ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["click", "weft.cli.main", "weft.cli.catalogue", "weft.learners.catalogue"])
@pytest.mark.parametrize("error", ["KeyboardInterrupt", "ValueError('swallowed')", "RuntimeError('swallowed')"])
def test_ctrl_c_while_modules_are_loaded(name, error):
    """Some modules make an error of their own of a Ctrl-C."""
    result = run(INTERRUPTED_IMPORT.format(name=name, signal="SIGINT", error=error), "catalogue")
    assert result.returncode == 130, result.stderr
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("weft: ")


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_other_signals_while_modules_are_loaded(name, code):
    result = run(INTERRUPTED_IMPORT.format(name="click", signal=name, error="KeyboardInterrupt"), "catalogue")
    assert (result.returncode, result.stderr) == (code, "weft: interrupted\n")


def test_a_ctrl_c_that_is_ignored_stays_ignored():
    def ignore():
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    code = INTERRUPTED_IMPORT.format(name="click", signal="SIGINT", error="KeyboardInterrupt")
    assert run(code, "--version", prepare=ignore).returncode == 0
