"""The first use of a learner says that it compiles, and how long; the seconds are left out of what is reported."""

import json
import time

import pytest
from numba.core import event

import weft
from weft.cli import tables
from weft.model import Model

LINE = '{"task": "ann", "x": {"a": 1}, "y": 1}\n'
SECONDS = 0.7


@pytest.fixture
def told(weft_command, tmp_path, monkeypatch):
    """Commands say that they compile, and there are events for them."""
    monkeypatch.setattr("weft.cli.compiling.tell", tables.tell)
    (tmp_path / "e.jsonl").write_text(LINE * 20)
    weft_command("learn", "e.jsonl", "--model", "known.weft", "--learner", "pa", "--quiet")  # compiles what is missing
    return weft_command


@pytest.fixture
def slow(monkeypatch):
    """Every call of a model compiles something for a while, as far as Numba tells."""

    def compile_first(method):
        def call(self, *given, **named):
            with event.trigger_event("numba:compile", data={}):
                time.sleep(SECONDS)
            return method(self, *given, **named)

        return call

    for name in ("learn", "score"):
        monkeypatch.setattr(Model, name, compile_first(getattr(Model, name)))


def test_learn_says_that_it_compiles(told, slow):
    result = told("learn", "e.jsonl", "--model", "m.weft", "--learner", "pa")
    assert result.stderr == "weft: compiling pa for this machine, once (5 to 60 s) ...\n"
    assert ", after 1 s of compiling; made m.weft." in result.stdout


def test_learn_names_the_model_whose_learner_it_compiles(told, slow):
    result = told("learn", "e.jsonl", "--model", "known.weft", "--restart")
    assert result.stderr.startswith("weft: compiling the learner of known.weft for this machine, once")
    told("learn", "e.jsonl", "--model", "new.weft", "--quiet")
    assert weft.load("new.weft").name == "auto"


def test_seconds_leave_compiling_out(told, slow):
    began = time.perf_counter()
    data = json.loads(told("learn", "e.jsonl", "--model", "m.weft", "--learner", "pa", "--json").stdout)
    whole = time.perf_counter() - began
    assert data["compile_seconds"] >= SECONDS
    assert data["seconds"] <= whole - data["compile_seconds"] + 0.002


def test_quiet_says_nothing(told, slow):
    assert told("learn", "e.jsonl", "--model", "m.weft", "--learner", "pa", "--quiet").stderr == ""


def test_nothing_is_said_when_nothing_is_compiled(told):
    result = told("learn", "e.jsonl", "--model", "m.weft", "--learner", "pa")
    assert result.stderr == ""
    assert "compiling" not in result.stdout
    assert json.loads(told("learn", "e.jsonl", "--model", "n.weft", "--learner", "pa", "--json").stdout)[
        "compile_seconds"
    ] == pytest.approx(0.0, abs=0.2)


def test_predict_compare_and_demo_say_it_too(told, slow):
    assert "compiling the learner of known.weft" in told("predict", "e.jsonl", "--model", "known.weft").stderr
    found = told("compare", "e.jsonl", "--learner", "pa", "--shuffles", "1", "--json")
    assert "weft: compiling learners for this machine, once" in found.stderr
    assert json.loads(found.stdout)["learners"]
    found = told("demo", "--events", "200", "--tasks", "8", "--json")
    assert "weft: compiling auto for this machine" in found.stderr
    assert all(row["seconds"] >= 0.0 for row in json.loads(found.stdout)["learners"])


def test_a_large_file_has_a_rate(told, tmp_path, monkeypatch):
    monkeypatch.setattr("weft.cli.learn_report.LEAST_FOR_RATE", 20)
    assert " events/s); made m.weft." in told("learn", "e.jsonl", "--model", "m.weft", "--learner", "pa").stdout
