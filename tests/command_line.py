"""The command line, called in process."""

import pytest
from click.testing import CliRunner

from weft.cli.main import cli


@pytest.fixture
def weft_command(tmp_path, monkeypatch):
    """Run `weft ...` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("weft.cli.compiling.tell", lambda line: None)  # what is compiled here depends on earlier runs

    def run(*arguments, stdin=None, code=0):
        result = CliRunner().invoke(cli, [str(a) for a in arguments], input=stdin, prog_name="weft")
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert result.exit_code == code, result.output
        return result

    return run
