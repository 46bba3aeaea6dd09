"""Completion as a shell asks for it: bash runs the function that `weft completion bash` prints."""

import os
import shutil
import subprocess
import sys

import pytest

from weft.cli.main import COMMANDS, COMPLETE, ELSEWHERE

BASH = shutil.which("bash")
ASK = r"""
source "$1"
shift
for line in "$@"; do
    COMP_LINE=$line COMP_POINT=${#line} COMP_WORDS=() COMPREPLY=()
    # bash splits at blanks, = and :
    rest=${line//=/ = } rest=${rest//:/ : }
    read -r -a COMP_WORDS <<< "$rest"
    [[ $line == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
    compopt() { echo "option $2"; }
    _weft_completion weft
    printf '%s\n' "${COMPREPLY[@]}"
    echo ==
done
"""


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """What bash offers for lines that were typed."""
    folder = tmp_path_factory.mktemp("completion")
    program = folder / "weft"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m weft "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    environment.pop(COMPLETE, None)

    def run(*arguments):
        return subprocess.run(
            arguments, env=environment, cwd=folder, capture_output=True, text=True, timeout=60, check=True
        )

    script = folder / "script"
    script.write_text(run(str(program), "completion", "bash").stdout)

    def offered(*lines):
        found = run(BASH, "-c", ASK, "bash", str(script), *lines)
        assert found.stderr == ""
        return [part.split() for part in found.stdout.split("==\n")[:-1]]

    return offered


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
def test_bash(ask):
    asked = {
        "weft ": [*COMMANDS, *ELSEWHERE],
        "weft learn --regr": ["--regression"],
        "weft learn events.jsonl --learner osm": ["osmtl-e", "osmtl-t"],
        "weft learn --learner mt-ogd --set lo": ["option", "nospace", "loss="],
        "weft learn --learner mt-ogd --set loss=sq": ["square"],
        "weft compare f --learner pa:scope=": ["together", "alone", "pooled"],
        "weft data get la": ["landmine"],
        "weft learn eve": ["option", "default", "eve"],
        "weft serve ": ["option", "dirnames"],
    }
    found = dict(zip(asked, ask(*asked), strict=True))
    assert sorted(found.pop("weft ")) == sorted(asked.pop("weft "))
    assert found.pop("weft learn eve")[:2] == asked.pop("weft learn eve")[:2]
    assert found == asked


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_correct_for_their_shells(weft_command, shell, tmp_path):
    script = tmp_path / "script"
    script.write_text(weft_command("completion", shell).stdout)
    assert "_WEFT_COMPLETE" in script.read_text()
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    checked = subprocess.run([program, "-n", script], capture_output=True, text=True, timeout=30, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
