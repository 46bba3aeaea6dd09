"""`weft reproduce`: the list, runs that are kept, failures, Ctrl-C, the page."""

import dataclasses
import json
import xml.etree.ElementTree as ElementTree

import pytest

from toys import TOY
from weft_reproduction import running, shelf


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """The only experiment there is; its settings may be changed."""
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("WEFT_DATA", raising=False)
    held = {"toy": TOY}
    monkeypatch.setattr(shelf, "names", lambda: list(held))
    real = shelf.experiment
    monkeypatch.setattr(shelf, "experiment", lambda name: held.get(name) or real(name))
    return held


def kept(folder):
    return len(list(folder.rglob("*.json")))


def test_list(weft_command, toy, tmp_path):
    found = weft_command("reproduce").stdout
    assert "Nobody (2001), Table 0" in found
    assert f"kept in {tmp_path / 'cache' / 'results'}" in found.replace("\n", "")
    weft_command("reproduce", "toy", "--quick", "--processes", 1)
    (row,) = json.loads(weft_command("reproduce", "--json").stdout)
    assert row == {
        "name": "toy",
        "title": "squares & co",
        "paper": "Nobody (2001), Table 0",
        "data": [],
        "cells": 4,
        "kept": 2,
    }


def test_run_keep_and_report(weft_command, toy, tmp_path):
    result = weft_command("reproduce", "toy", "--processes", 1, "--report", "out.html", "--cache", "kept")
    assert kept(tmp_path / "kept") == 4
    assert "9.00 ± 0.50 (paper: 9)" in result.stdout
    assert "confirmed: It is <so> (Fig. 0)" in result.stdout
    assert "weft: toy finished after" in result.stderr
    page = (tmp_path / "out.html").read_text()
    assert "4 of 4 cells are finished" in page
    ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))
    again = json.loads(weft_command("reproduce", "toy", "--cache", "kept", "--no-run", "--json").stdout)
    assert again[0]["finished"] == 4
    assert again[0]["claims"][0]["judgement"] == "confirmed"
    assert again[0]["tables"][0]["rows"][3][1] == {"value": 9, "error": 0.5, "published": 9.0, "digits": None}


def test_a_group_is_named_by_how_its_names_begin(weft_command, toy, tmp_path):
    for name in ("group-2-a", "group-2-b", "group-1"):
        toy[name] = dataclasses.replace(TOY, name=name)
    asked = ("group-2", "group-2-b", "--quick", "--processes", 1, "--json")
    assert [row["name"] for row in json.loads(weft_command("reproduce", *asked).stdout)] == ["group-2-a", "group-2-b"]
    assert len(json.loads(weft_command("reproduce", "all", "--quick", "--no-run", "--json").stdout)) == 4


def test_a_quick_run_judges_nothing(weft_command, toy, tmp_path):
    arguments = ["reproduce", "toy", "--quick", "--processes", 1]
    told = weft_command(*arguments, "--report", "quick.html").stdout
    assert "This was a quick run" in told
    assert "(quick: nothing is judged)" in told
    assert "\nconfirmed:" not in told
    [found] = json.loads(weft_command(*arguments, "--json").stdout)
    assert {claim["judgement"] for claim in found["claims"]} == {"not testable here"}
    assert "which judge nothing" in (tmp_path / "quick.html").read_text()


def test_without_running_what_is_kept_is_reported(weft_command, toy, tmp_path):
    weft_command("reproduce", "toy", "--quick", "--processes", 1)
    weft_command("reproduce", "all", "--no-run", "--report", "part.html")
    assert "2 of 4 cells are missing" in (tmp_path / "part.html").read_text()


def test_two_processes(weft_command, toy, tmp_path):
    weft_command("reproduce", "toy", "--processes", 2)
    assert kept(tmp_path / "cache") == 4


def test_a_failing_cell(weft_command, toy, tmp_path):
    settings = [{"number": 0}, {"number": 1, "fault": "error"}]
    toy["toy"] = dataclasses.replace(TOY, cells=lambda quick: settings)
    result = weft_command("reproduce", "toy", "--processes", 1, "--report", "out.html", code=1)
    assert "weft: 1 failure; the other cells are finished and kept:" in result.stderr
    assert "toy (number=1, fault=error): ValueError: no such luck" in result.stderr
    assert kept(tmp_path / "cache") == 1
    assert "1 of 2 cells are missing" in (tmp_path / "out.html").read_text()


def test_missing_data_stop_only_those_who_need_them(weft_command, toy, tmp_path):
    settings = [{"number": 0, "data": "school"}, {"number": 1, "data": "lenk"}, {"number": 2, "data": "lenk"}]
    toy["needs"] = dataclasses.replace(TOY, name="needs", data=("school", "lenk"), cells=lambda quick: settings)
    result = weft_command("reproduce", "all", "--processes", 1, code=1)
    assert result.stderr.count("the data set school was not found") == 1
    assert result.stderr.count("the data set lenk was not found") == 1
    assert "weft data get school" in result.stderr
    assert kept(tmp_path / "cache") == 4


def test_ctrl_c_says_how_to_go_on(weft_command, toy, tmp_path, monkeypatch):
    real = running.work

    def interrupted(cell, folder):
        if cell.settings["number"] == 2:
            raise KeyboardInterrupt
        return real(cell, folder)

    monkeypatch.setattr(running, "work", interrupted)
    result = weft_command("reproduce", "toy", "--processes", 1, "--cache", "my cells", "--report", "o.html", code=130)
    assert "weft: stopped; 2 finished cells of 4 kept in my cells. Go on with\n" in result.stderr
    assert "  weft reproduce toy --report o.html --cache 'my cells'\n" in result.stderr
    assert not (tmp_path / "o.html").exists()
    monkeypatch.setattr(running, "work", real)
    weft_command("reproduce", "toy", "--processes", 1, "--cache", "my cells")
    assert kept(tmp_path / "my cells") == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mirror-fig"], "weft: unknown experiment 'mirror-fig'"),
        (["toy", "--report", "nowhere/out.html"], "weft: cannot write nowhere/out.html: the folder nowhere does not"),
    ],
)
def test_errors(weft_command, toy, arguments, message):
    result = weft_command("reproduce", *arguments, code=2)
    assert result.stderr.startswith(message)
    assert result.stderr.count("\n") == 1


def test_time_left(toy):
    from weft_reproduction.cells import Done, cells_of
    from weft_reproduction.command import _Progress

    cells = cells_of(TOY, False)
    progress = _Progress({"toy": cells, "other": cells[:2]}, 2, show=False)
    progress.finished(cells[0], Done({}, 3.0), False)
    progress.finished(cells[1], Done({}, 5.0), False)
    assert progress.seconds_left() == pytest.approx((2 * 4.0 + 2 * 4.0) / 2)
    progress.finished(cells[2], None, False)
    assert progress.seconds_left() == pytest.approx((4.0 + 2 * 4.0) / 2)
