"""The command line, called in process."""

import json

import pytest
from click.testing import CliRunner

from weft.cli.main import cli


@pytest.fixture
def weft_command(tmp_path, monkeypatch):
    """Run `weft ...` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments, stdin=None, code=0):
        result = CliRunner().invoke(cli, [str(a) for a in arguments], input=stdin, prog_name="weft")
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert result.exit_code == code, result.output
        return result

    return run


@pytest.fixture
def events(tmp_path):
    """A file of 60 events for 3 tasks."""
    path = tmp_path / "events.jsonl"
    lines = []
    for i in range(60):
        task = ("ann", "bob", "[red]")[i % 3]
        sign = 1 if (i * 7) % 5 < 3 else -1
        x = {"free": float(sign), "hello": i % 4 - 1.5, f"w{i % 6}": 0.5}
        lines.append(json.dumps({"task": task, "x": x, "y": sign if task != "bob" else -sign}))
    path.write_text("\n".join(lines) + "\n")
    return path
