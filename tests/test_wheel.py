"""The wheel: all that is needed is in it, nothing else, and it runs without the repository."""

import os
import subprocess
import sys
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXTRAS = {"arrow", "kafka", "nats", "redis", "report", "river", "serve", "sklearn", "tune"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    if find_spec("hatchling") is None or not (ROOT / "pyproject.toml").exists():
        pytest.skip("hatchling, which builds wheels, is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    [found] = folder.glob("*.whl")
    return found


def test_what_is_in_it(wheel):
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
    sources = {f"weft/{path.relative_to(ROOT / 'src/weft').as_posix()}" for path in (ROOT / "src/weft").rglob("*.py")}
    assert sources <= names
    assert {"weft/py.typed", "weft/evaluation/report/templates/report.html"} <= names
    assert {name.split("/")[0] for name in names} == {"weft", "weft-0.1.0.dist-info"}
    assert not [name for name in names if name.endswith(".pyc") or "/test" in name]


def test_what_it_says_of_itself():
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(told["optional-dependencies"]) >= EXTRAS
    versions = [f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13, 14)]
    assert set(versions) <= set(told["classifiers"])
    assert "Typing :: Typed" in told["classifiers"]


def test_it_runs_without_the_repository(wheel, tmp_path):
    place = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as file:
        file.extractall(place)
    environment = {**os.environ, "PYTHONPATH": str(place), "WEFT_PLAIN": "1"}  # nothing to compile

    def run(*arguments):
        return subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120,
            check=True,
        ).stdout  # fmt: skip

    assert run("-c", "import weft; print(weft.__file__)").strip().startswith(str(place))
    assert run("-m", "weft", "--version") == "weft, version 0.1.0\n"
    (tmp_path / "events.jsonl").write_text('{"task": "ann", "x": {"free": 1}, "y": 1}\n')
    assert "1 event" in run("-m", "weft", "learn", "events.jsonl", "--model", "m.weft", "--learner", "perceptron")
