"""weft demo: says what its own run shows, fits 80 columns, saves a model."""

import json

import pytest

import weft
from weft.cli.chart import draw
from weft.cli.demo import CANDIDATES, Candidate, Result, findings

SMALL = ["--events", "600", "--tasks", "12", "--seed", "1"]


def test_the_demo_in_80_columns(weft_command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = weft_command("demo", *SMALL).stdout
    assert max(map(len, text.splitlines())) <= 80
    for candidate in CANDIDATES:
        assert candidate.label in text
    assert "weft inspect demo.weft" in text
    model = weft.load("demo.weft")
    assert model.tally.total["events"] == 600
    assert "12 tasks" in weft_command("inspect", "demo.weft").stdout
    weft_command("inspect", "demo.weft", "--task", "loner/01")


def test_the_demo_as_json(weft_command):
    data = json.loads(weft_command("demo", *SMALL, "--json", "--model", "d.weft").stdout)
    by_name = {row["learner"]: row for row in data["learners"]}
    assert set(by_name) == {candidate.label for candidate in CANDIDATES}
    assert by_name["auto"]["error"] == weft.load("d.weft").tally.total["error"]


def test_the_demo_writes_over_its_own_models_only(weft_command, events):
    weft_command("demo", *SMALL)
    weft_command("demo", *SMALL)
    weft_command("learn", events, "--model", "spam.weft")
    before = weft.load("spam.weft").to_bytes()
    assert "not from the demo" in weft_command("demo", *SMALL, "--model", "spam.weft", code=2).stderr
    assert weft.load("spam.weft").to_bytes() == before


def result(label, error, small, loners, last):
    events = {"all": 1000, "small": 1000, "loners": 1000, "last": 100}
    return Result(Candidate(label, "pa", ""), None, error, small, loners, 0.0, [last], events)


def test_findings_say_what_was_measured():
    one = result("one", 0.2, 0.3, 0.101, 0.20)
    two = result("two", 0.3, 0.31, 0.105, 0.26)
    three = result("three", 0.1, 0.32, 0.4, 0.27)
    text = "\n".join(findings([one, two, three]))
    assert "Over all events, three (10.0%) does best, two worst (30.0%)." in text
    assert "smaller half), they differ by no more than chance (30.0% to 32.0%)." in text
    assert "On the loners, one (10.1%) and two (10.5%) do best, three worst (40.0%)." in text
    assert "last tenth of the stream, they differ by no more than chance" in text


def test_the_marks_of_the_chart_differ():
    assert len({candidate.label[0] for candidate in CANDIDATES}) == len(CANDIDATES)


@pytest.mark.parametrize("values", [[0.5], [0.2, 0.2, 0.2], [0.0, 1.0] * 100])
def test_charts_keep_their_size(values):
    lines = draw({"a": values}, 1000, width=72, height=12)
    assert len(lines) == 14
    assert max(map(len, lines)) <= 80
