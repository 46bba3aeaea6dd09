"""The frame of the command line: help, version, start-up, errors as sentences."""

import importlib.metadata
import subprocess
import sys

import pytest

import weft
from weft.cli.main import COMMANDS, ELSEWHERE, cli, main
from weft.cli.signals import Stopped


def test_help_names_every_command_and_imports_nothing_heavy():
    code = (
        "import sys\nfrom weft.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as stop:\n    assert stop.code == 0\n"
        "heavy = {'numpy', 'numba', 'scipy', 'rich', 'msgspec'} & set(sys.modules)\nassert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in (*COMMANDS, *ELSEWHERE):
        assert f"\n  {name} " in done.stdout


@pytest.mark.parametrize("name", [*COMMANDS, *ELSEWHERE])
def test_every_command_teaches(weft_command, name):
    text = weft_command(name, "--help").stdout
    assert "Example:" in text
    assert f"weft {name}" in text


def test_version(weft_command):
    assert weft.__version__ in weft_command("--version").stdout


@pytest.mark.parametrize("arguments", [["lern"], ["learn"], ["learn", "e.jsonl"], ["inspect", "--wrong", "m"]])
def test_usage_errors(weft_command, arguments):
    result = weft_command(*arguments, code=2)
    assert result.stdout == ""
    assert "Usage: weft" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["learn", "no.jsonl", "--model", "m.weft"],
            "weft: there is no file no.jsonl; give a file of events",
        ),
        (
            ["learn", "no.jsonl", "--model", "x/m.weft"],
            "weft: cannot write x/m.weft: the folder x does not exist",
        ),
        (["predict", "no.jsonl", "--model", "m.weft"], "weft: there is no model file m.weft"),
        (["inspect", "m.weft"], "weft: there is no model file m.weft"),
        (["inspect", "."], "weft: cannot read .: Is a directory; give the name of a file"),
        (["catalogue", "pa-itl"], "weft: unknown learner 'pa-itl' (that is pa)"),
        (["compare", "e.txt", "--learner", "pa"], "weft: e.txt: cannot tell the format"),
        (["compare", "e.jsonl", "--learner", "pa:C"], "weft: 'C' is not a setting; write NAME=VALUE"),
        (["learn", "e.jsonl", "--model", "m.weft", "--set", "C"], "weft: 'C' is not a setting"),
        (["learn", "e.jsonl", "--model", "m.weft", "--set", "C=1", "--set", "C=2"], "weft: C is set twice"),
        (["learn", "e.jsonl", "--model", "m.weft", "--learner", "pq"], "weft: unknown learner 'pq'"),
        (["demo", "--tasks", "500", "--events", "300"], "weft: --events 300 is less than --tasks 500"),
    ],
)
def test_errors_are_one_sentence(weft_command, arguments, message):
    result = weft_command(*arguments, code=2)
    assert result.stdout == ""
    assert result.stderr.startswith(message)
    assert result.stderr.count("\n") == 1


def test_main_leaves_with_the_exit_code(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["inspect", "nowhere.weft"])
    assert stop.value.code == 2
    assert capsys.readouterr().err == "weft: there is no model file nowhere.weft\n"


def test_a_file_that_is_no_model(weft_command, events):
    assert "this is not a weft model file" in weft_command("inspect", events, code=2).stderr


def test_ctrl_c_outside_of_learning(weft_command, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("weft.reductions.per_class.load", interrupted)
    result = weft_command("inspect", "m.weft", code=130)
    assert result.stderr.strip().splitlines()[-1].startswith("weft: interrupted")


def test_a_command_of_another_distribution_says_how_to_install_it(weft_command, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [])
    told = weft_command("reproduce", "all", "--quick", code=2).output
    assert "weft-reproduction" in told
    assert "make venv" in told
    assert "reproduce" in weft_command("--help").output


@pytest.mark.parametrize(("stop", "code"), [(KeyboardInterrupt(), 130), (Stopped(15), 143)])
def test_a_signal_before_a_command_begins(monkeypatch, capsys, stop, code):
    def interrupted(*_, **__):
        raise stop

    monkeypatch.setattr(cli, "make_context", interrupted)
    with pytest.raises(SystemExit) as left:
        main(["catalogue"])
    assert left.value.code == code
    assert capsys.readouterr().err.strip() == "weft: interrupted"
