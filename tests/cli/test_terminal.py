"""Names from files cannot control the terminal, wherever they are printed."""

import csv
import io
import json
import unicodedata

import pytest

from weft.cli.predictions import Form, _CsvLines
from weft.cli.progress_bar import Bar

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\r\x7fann\u2066"


def controls(text):
    return [mark for mark in text if mark != "\n" and unicodedata.category(mark) in ("Cc", "Cf", "Zl", "Zp", "Cs")]


@pytest.fixture
def hostile(tmp_path):
    """Events whose tasks, features and rounds are hostile."""
    path = tmp_path / "e.jsonl"
    names = [EVIL, EVIL + "2", ("team", EVIL)]
    lines = [
        {"task": list(n) if isinstance(n, tuple) else n, "x": {EVIL: float(i % 3 + 1), "b": 1.0}, "y": 1 - 2 * (i % 2)}
        for i, n in enumerate(names * 4)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("learner", ["auto", "mt-ogd", "mtbprj", "romco-nucl"])
def test_tables(weft_command, hostile, learner):
    told = [weft_command("learn", hostile, "--model", "m.weft", "--learner", learner)]
    told += [weft_command("inspect", "m.weft", *options) for options in ([], ["--all-tasks"], ["--relations"])]
    told.append(weft_command("inspect", "m.weft", "--task", EVIL))
    for result in told:
        assert controls(result.output) == []
    assert "\\x1b" in told[0].stdout
    exact = weft_command("inspect", "m.weft", "--json").stdout
    assert controls(exact) == []
    assert json.loads(exact)["tasks"][0]["task"] == EVIL


def test_comparison_and_prediction(weft_command, hostile):
    assert controls(weft_command("compare", hostile, "--learner", "pa", "--shuffles", "1").output) == []
    weft_command("learn", hostile, "--model", "m.weft", "--learner", "pa")
    stdin = json.dumps({"task": EVIL + "new", "x": {"a": 1}}) + "\n"
    result = weft_command("predict", "-", "--model", "m.weft", stdin=stdin)
    assert controls(result.stderr) == []
    (_, row) = csv.reader(io.StringIO(result.stdout, newline=""))
    assert row[0] == EVIL + "new"  # in a pipe, data are data
    as_json = weft_command("predict", "-", "--model", "m.weft", "--json", stdin=stdin).stdout
    assert json.loads(as_json)["task"] == EVIL + "new"


def test_csv_in_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdout", Terminal())
    columns = {"id": [EVIL], "task": [EVIL], "score": [1.0], "label": [EVIL]}
    assert controls(_CsvLines(Form())(columns)) == []
    assert controls(_CsvLines(Form("out.csv"))(columns)) != []


@pytest.mark.parametrize(
    "line",
    [
        {"task": EVIL, "x": {EVIL: "no"}, "y": 1},
        {"task": EVIL, "x": {"a": 1}, "y": EVIL},
        {"task": {EVIL: 1}, "x": {"a": 1}, "y": 1},
        {"task": "ann", "x": {"a": 1}, "y": 1, EVIL: 2},
    ],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_errors_and_skipped_lines(weft_command, tmp_path, hostile, line, ascii_only):
    with hostile.open("a") as file:
        file.write(json.dumps(line, ensure_ascii=ascii_only) + "\n")
    told = weft_command("learn", hostile, "--model", "m.weft", "--learner", "pa", code=2).stderr
    assert "line 13" in told
    assert controls(told) == []
    told = weft_command("learn", hostile, "--model", "m.weft", "--learner", "pa", "--on-error", "skip").stderr
    assert "skipped 1 line" in told
    assert controls(told) == []


def test_arguments_and_file_names(weft_command, hostile, tmp_path):
    for arguments in (
        ["learn", f"{EVIL}.jsonl", "--model", "m.weft"],
        ["learn", hostile, "--model", "m.weft", "--learner", EVIL],
        ["learn", hostile, "--model", f"{EVIL}/m.weft"],
        ["inspect", EVIL],
        ["catalogue", EVIL],
    ):
        assert controls(weft_command(*arguments, code=2).stderr) == []
    odd = tmp_path / f"{EVIL}.jsonl"
    odd.write_text(hostile.read_text())
    assert controls(weft_command("learn", odd, "--model", f"{EVIL}.weft", "--learner", "pa").output) == []


def test_progress(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    bar = Bar(f"{EVIL}.jsonl", show=True)
    assert controls(bar._progress.tasks[0].description) == []
