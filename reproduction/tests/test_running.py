"""Cells are run once, on several cores, through failures and interruptions."""

import dataclasses
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import toys
from toys import TOY
from weft_reproduction.cells import cells_of
from weft_reproduction.running import run

TESTS = Path(toys.__file__).parent


def toy(settings):
    return dataclasses.replace(TOY, cells=lambda quick: settings)


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Which cells ran."""
    folder = tmp_path / "log"
    folder.mkdir()
    monkeypatch.setenv("LOG", str(folder))
    return lambda: sorted(int(path.name.split("-")[0]) for path in folder.iterdir())


@pytest.mark.parametrize("processes", [1, 2])
def test_every_cell_once_and_never_again(tmp_path, log, processes):
    cells = cells_of(TOY, False)
    heard = []
    first = run(cells, tmp_path, processes, lambda cell, done, kept: heard.append((cell.key, kept)))
    assert log() == [0, 1, 2, 3]
    assert first.ran == 4
    assert [figures["square"] for _, figures in first.results(cells)] == [0, 1, 4, 9]
    assert sorted(heard) == sorted((cell.key, False) for cell in cells)
    second = run(cells, tmp_path, processes, lambda cell, done, kept: heard.append((cell.key, kept)))
    assert log() == [0, 1, 2, 3]
    assert second.ran == 0
    assert [settings for settings, _ in second.results(cells)] == [cell.settings for cell in cells]
    assert heard[4:] == [(cell.key, True) for cell in cells]


def test_quick_cells_are_part_of_all_here(tmp_path, log):
    run(cells_of(TOY, True), tmp_path, 1)
    run(cells_of(TOY, False), tmp_path, 1)
    assert log() == [0, 1, 2, 3]


def test_a_damaged_cell_is_run_again(tmp_path, log):
    cells = cells_of(TOY, False)
    run(cells, tmp_path, 1)
    (tmp_path / "toy" / f"{cells[2].key}.json").write_text('{"cell": {}}')
    assert run(cells, tmp_path, 1).ran == 1
    assert log() == [0, 1, 2, 2, 3]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_cell_that_fails_is_reported_and_the_others_go_on(tmp_path, processes):
    cells = cells_of(toy([{"number": 0}, {"number": 1, "fault": "error"}, {"number": 2}]), False)
    outcome = run(cells, tmp_path, processes)
    assert [settings["number"] for settings, _ in outcome.results(cells)] == [0, 2]
    (failure,) = outcome.failures
    assert failure.cell.settings == {"number": 1, "fault": "error"}
    assert failure.reason.startswith("ValueError: no such luck (toys.py, line ")
    assert not outcome.interrupted


def test_a_process_that_dies_takes_one_cell_with_it(tmp_path):
    settings = [{"number": n} | ({"fault": "death"} if n in (1, 2) else {}) for n in range(6)]
    cells = cells_of(toy(settings), False)
    outcome = run(cells, tmp_path, 2)
    assert [settings["number"] for settings, _ in outcome.results(cells)] == [0, 3, 4, 5]
    assert [failure.cell.settings["number"] for failure in outcome.failures] == [1, 2]
    assert "exit code 7" in outcome.failures[0].reason


def test_figures_of_the_wrong_kind(tmp_path):
    cells = cells_of(toy([{"number": 0, "fault": "no dict"}]), False)
    assert "figures are a dict" in run(cells, tmp_path, 1).failures[0].reason


def is_gone(group):
    """Whether nobody of a group of processes is left, in a moment."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


SCRIPT = """
import dataclasses, signal, sys
from pathlib import Path
from toys import TOY
from weft_reproduction.cells import cells_of
from weft_reproduction.running import run

def cells(quick):
    return [{"number": n, "seconds": 0.4} for n in range(12)]

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell in the background takes away
    outcome = run(cells_of(dataclasses.replace(TOY, cells=cells), False), Path(sys.argv[1]), 2)
    print(outcome.interrupted, len(outcome.done))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal to a group of processes")
def test_ctrl_c_keeps_what_is_finished_and_goes_on(tmp_path, log):
    """As a terminal does it: every process of the group gets the signal."""
    script, folder = tmp_path / "script.py", tmp_path / "kept"
    script.write_text(SCRIPT)
    paths = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, str(script), str(folder)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths}, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while len(list(folder.rglob("*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    printed, _ = process.communicate(timeout=30)
    kept = len(list(folder.rglob("*.json")))
    assert process.returncode == 0
    assert printed.split()[0] == "True"
    assert 2 <= kept < 12
    assert int(printed.split()[1]) <= kept
    assert not list(folder.rglob(".*"))  # nothing half written
    assert is_gone(process.pid)
    before = len(log())
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}, check=True)
    assert done.stdout.split() == ["False", "12"]
    assert len(log()) - before == 12 - kept


def test_a_worker_that_dies_between_two_cells_costs_nothing(tmp_path):
    """Killed from outside right after its cell, as a machine short of memory does it."""
    cells = cells_of(toy([{"number": n, "seconds": 0.05} for n in range(6)]), False)
    killed = []

    def kill_the_children(cell, done, kept):
        for child in multiprocessing.active_children() if not killed else ():
            killed.append(child.pid)
            child.kill()
            child.join()

    outcome = run(cells, tmp_path, 2, kill_the_children)
    numbers = [settings["number"] for settings, _ in outcome.results(cells)]
    lost = [failure.cell.settings["number"] for failure in outcome.failures]
    assert sorted(numbers + lost) == list(range(6))
    assert len(killed) == 2
    assert len(lost) <= 2  # those at work
    assert run(cells, tmp_path, 1).results(cells)[-1][0]["number"] == 5
