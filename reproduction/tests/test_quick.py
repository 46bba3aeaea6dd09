"""Every experiment runs to its end, quickly, and says something about every claim."""

import json
import os

import pytest

from quick import GROUPS, quick_results
from weft.streams.known import find
from weft_reproduction import shelf
from weft_reproduction.experiment import Figure
from weft_reproduction.page import Section, render


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xdist_group(GROUPS.get(name, name))) for name in shelf.names()]
)
def test_quick(name):
    experiment = shelf.experiment(name)
    if any(find(data) is None for data in experiment.data):
        assert not os.environ.get("WEFT_DATA"), f"{experiment.data} are not all in WEFT_DATA"
        pytest.skip("WEFT_DATA does not name the folder with the data sets")
    results = quick_results(name)
    count = len(results)
    assert count == len(experiment.cells(True))
    report = experiment.report(results)
    assert report.claims
    assert report.tables
    values = [value for table in report.tables for row in table.rows for value in row[1:]]
    assert any(isinstance(value, Figure | int | float) for value in values)
    assert "cells are missing" not in render([Section(experiment, report, count, count, True)])
    some = experiment.report(results[: count // 2])  # cells may be missing
    assert len(render([Section(experiment, some, count // 2, count, True)])) > 1000


@pytest.mark.parametrize("name", shelf.names())
def test_settings_are_plain_and_quick_ones_are_fewer(name):
    experiment = shelf.experiment(name)
    whole, quick = experiment.cells(False), experiment.cells(True)
    for settings in (*whole, *quick):
        assert json.loads(json.dumps(settings)) == settings
    assert len(quick) <= len(whole)


def test_the_second_default_is_a_group():
    names = ("efforts", "held-out", "hostile", "peers", "table")
    assert shelf.named("default-2") == [f"default-2-{name}" for name in names]
    assert shelf.named("today") == ["today"]
    assert shelf.named("all") == shelf.names()


def test_a_wrong_name_is_refused():
    with pytest.raises(ValueError, match=r"unknown experiment 'mirror-fig' \(did you mean mirror-fig1\?\)"):
        shelf.experiment("mirror-fig")


def test_what_is_run_twice_is_the_same(tmp_path):
    experiment = shelf.experiment("mirror-variance")
    settings = {**experiment.cells(True)[0], "events": 200, "seeds": 2}
    assert experiment.run(settings) == experiment.run(settings)
