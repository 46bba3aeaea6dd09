"""The frame of the command line: help, version, start-up, errors as sentences."""

import importlib.metadata
import subprocess
import sys

import pytest
from click.testing import CliRunner

import weft
from weft.cli.main import COMMANDS, ELSEWHERE, cli, main
from weft.cli.overview import SECTIONS, SUMMARIES
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
        (["compare", "e.txt", "--learner", "pa"], "weft: there is no file e.txt; give a file of events"),
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


def test_learning_a_file_does_not_load_scipys_matrices(tmp_path):
    """They take a tenth of a second, and only users who have such matrices need them."""
    (tmp_path / "events.jsonl").write_text('{"task": "ann", "x": {"free": 1}, "y": 1}\n')
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print([name for name in ('scipy.sparse', 'pyarrow') if name in sys.modules]))\n"
        "from weft.cli import main\n"
        "main.main(['learn', 'events.jsonl', '--model', 'm.weft', '--learner', 'pa', '--quiet'])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "[]"


def test_no_garbage_is_looked_for_at_the_end():
    """The interpreter's last collection goes through all that was imported: a tenth of a short command."""
    code = (
        "import atexit, gc\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 0, gc.get_threshold()[0] == main.COLLECT_AFTER))\n"
        "from weft.cli import main\n"
        "main.main(['--version'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True True"


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


def test_help_fits_a_narrow_terminal():
    told = CliRunner().invoke(cli, ["--help"], prog_name="weft", terminal_width=60).stdout
    assert "..." not in told.partition("Options:")[2]
    assert max(map(len, told.splitlines())) <= 60
    assert [name for name in (*COMMANDS, *ELSEWHERE) if f"\n  {name} " not in told] == []
    assert list(SUMMARIES) == list(dict.fromkeys(SUMMARIES))


def test_a_wrong_command_is_told_the_right_one(weft_command):
    assert "No such command 'lern'. Did you mean 'learn'?" in weft_command("lern", code=2).stderr
    assert "Did you mean" not in weft_command("xyzzy", code=2).stderr


def test_a_command_without_words_is_listed_all_the_same(monkeypatch):
    monkeypatch.setitem(SECTIONS, "Begin", {"demo": SUMMARIES["demo"]})
    monkeypatch.delitem(SUMMARIES, "learn")
    told = CliRunner().invoke(cli, ["--help"]).stdout
    assert "Further:\n  learn " in told


def test_a_file_that_is_not_there_is_the_first_thing_said(weft_command, tmp_path):
    assert "there is no file nothing; give a file" in weft_command("learn", "nothing", "--model", "m", code=2).stderr
    (tmp_path / "e.txt").write_text("?\n")
    told = weft_command("learn", tmp_path / "e.txt", "--model", "m", code=2).stderr
    assert "cannot tell the format from the ending '.txt'" in told
    assert "is a folder" in weft_command("learn", tmp_path, "--model", "m", code=2).stderr
