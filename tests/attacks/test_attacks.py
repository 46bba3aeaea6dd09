"""Bounded versions of the attacks, and proof that they notice what they look for."""

import sys
import threading

import pytest

import weft
from attacks import faults, kills, threads
from weft.store import files

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals, locks and modes are those of Unix")


@pytest.mark.parametrize("writer", faults.WRITERS, ids=lambda writer: writer.name)
def test_every_call_of_a_writer_may_fail(writer):
    assert faults.attack(writer, faults.ERRORS[:1]) > 30


def test_a_writer_that_writes_in_place_would_be_noticed(monkeypatch):
    class InPlace:
        def __init__(self, path):
            self.path = path

        def __enter__(self):
            with files.explaining(self.path, "write"):
                self.file = files.os.fdopen(files.os.open(self.path, 1 | 512), "wb")  # truncates
            return self

        def write(self, data):
            with files.explaining(self.path, "write"):
                self.file.write(data)

        def __exit__(self, *_):
            with files.explaining(self.path, "write"):
                self.file.close()

    monkeypatch.setattr("weft.store.saved.Output", InPlace)
    with pytest.raises(AssertionError):
        faults.attack(faults.Save, faults.ERRORS[:1])


def test_a_model_written_before_its_progress_would_be_noticed(monkeypatch):
    from weft.cli import learning

    waiting, write = [], learning.write_states
    monkeypatch.setattr(learning, "write_states", lambda *arguments: waiting.append(arguments))

    class ModelFirst(files.Output):
        def __exit__(self, *raised):
            super().__exit__(*raised)
            while waiting:
                write(*waiting.pop())

    monkeypatch.setattr(learning, "Output", ModelFirst)
    with pytest.raises(AssertionError):
        faults.attack(faults.Learn, faults.ERRORS[:1])


def test_kills_at_random_points():
    kills.warm()
    assert kills.attack(24, seed=1) >= 24


def test_a_model_in_many_threads():
    assert threads.attack(["pa", "mt-perceptron"], 0.1) == []


def test_an_event_that_is_lost_would_be_noticed(monkeypatch):
    learn_one = weft.Model.learn_one

    def forgetful(model, x, y, task):
        return 0.0 if threading.current_thread() is not threading.main_thread() else learn_one(model, x, y, task)

    monkeypatch.setattr(weft.Model, "learn_one", forgetful)
    assert threads.attack(["pa"], 0.1) == ["pa: exit code 1"]
