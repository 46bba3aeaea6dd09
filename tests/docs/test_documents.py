"""Everything is documented, and all code in the documents runs."""

import contextlib
import doctest
import importlib
import importlib.util
import inspect
import io
import os
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import weft
from weft.cli.main import COMMANDS, ELSEWHERE, cli
from weft.evaluation import (
    Bound,
    BudgetCost,
    BudgetRun,
    Comparison,
    Descent,
    KernelComparator,
    LeftOut,
    Run,
    SmoothedRun,
)
from weft.learner import Usage
from weft.learners.catalogue import ADVICE, PLACES, SPECIAL_CASES
from weft.reductions import Multiclass, Multilabel, VectorRegression
from weft.streams import Chunk, Fault, Known, Position
from weft.tally.counts import Tally
from weft.tally.per_task import PerTask
from weft_reproduction import shelf

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

pytestmark = pytest.mark.xdist_group("documents")  # they share compiled kernels


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def everything():
    return "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def blocks(page):
    """(kind, text) of all fenced blocks, in order."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def same(found, written):
    """Whether an output is what a page shows; `...` matches anything, spaces and empty lines do not count."""
    return doctest.OutputChecker().check_output(_squeezed(written), _squeezed(found), FLAGS)


def _squeezed(text):
    return "\n".join(line for line in text.splitlines() if line.strip()) + "\n"


def imported(path):
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses and NamedTuples look there
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[path.stem]
    return module


# --------------------------------------------------------------------------------------- everything is documented


@pytest.mark.parametrize("entry", weft.catalogue(), ids=lambda entry: entry.name)
def test_every_learner_and_parameter(entry):
    summary, advice = entry.summary.replace("|", "\\|"), entry.advice.removeprefix(ADVICE).replace("|", "\\|")
    assert f"| [`{entry.name}`](#{entry.name}) | {summary} | {advice} |" in read("docs/learners.md")
    section = read("docs/learners.md").split(f"\n## `{entry.name}`\n")[1].split("\n## ")[0].replace("\\|", "|")
    assert entry.summary in section
    assert entry.note in section
    assert entry.paper in section
    for parameter in entry.parameters:
        line = next(line for line in section.splitlines() if line.startswith(f"| `{parameter.name}` |"))
        assert parameter.doc in line
        assert parameter.allowed in line


def test_every_special_name():
    names = [name for group in SPECIAL_CASES for name in group.split(", ")]
    assert [name for name in names if f"| `{name}` |" not in read("docs/learners.md")] == []


def test_the_reference_of_learners_is_up_to_date():
    assert imported(ROOT / "docs" / "make_learners.py").page() == read("docs/learners.md")


@pytest.mark.parametrize("name", [*COMMANDS, *ELSEWHERE])
def test_every_command_and_option(name):
    section = read("docs/command-line.md").split(f"\n## weft {name}\n")[1].split("\n## ")[0]
    assert f"$ weft {name}" in section
    command = cli.get_command(None, name)
    parts = [command, *getattr(command, "commands", {}).values()]
    options = [option for part in parts for parameter in part.params for option in parameter.opts]
    assert [option for option in options if option.startswith("-") and f"`{option}" not in section] == []


def test_every_public_name():
    packages = [getattr(weft, name) for name in dir(weft) if inspect.ismodule(getattr(weft, name))]
    names = [f"weft.{name}" for name in weft.__all__]
    names += [name for package in packages for name in getattr(package, "__all__", [])]
    text = everything()
    short = [package.__name__.removeprefix("weft.") for package in packages]
    assert short == ["cluster", "evaluation", "geometry", "guarantees", "maths", "reductions", "streams"]
    assert [name for name in names if not re.search(rf"\b{re.escape(name)}\b", text)] == []


@pytest.mark.parametrize("name", [name for name in weft.__all__ if callable(getattr(weft, name))])
def test_every_public_parameter(name):
    """Every keyword of functions, and of what makes an object."""
    codes = " ".join(re.findall(r"`[^`]+`", BLOCK.sub("", read("docs/python.md"))))
    given = inspect.signature(getattr(weft, name)).parameters.values()
    keywords = [one.name for one in given if one.default is not one.empty]
    assert [one for one in keywords if not re.search(rf"\b{one}\b", codes)] == []


@pytest.mark.parametrize("owner", [weft.Model, weft.Stream], ids=lambda owner: owner.__name__)
def test_every_public_method(owner):
    parts = [vars(kind) for kind in owner.__mro__ if kind.__module__.startswith("weft")]
    names = [name for part in parts for name in part if not name.startswith("_")]
    section = read("docs/python.md").split(f"\n## `weft.{owner.__name__}`\n")[1].split("\n## ")[0]
    assert [name for name in names if not re.search(rf"`(\w+\.)?{name}\b", section)] == []


RESULTS = (Tally, PerTask, Comparison, LeftOut, Run, Descent, BudgetRun, BudgetCost, KernelComparator, Usage)
RESULTS += (Bound, SmoothedRun, Multiclass, Multilabel, VectorRegression, Chunk, Position, Fault, Known)
DESCRIBED = ("python", "shared-loss", "regret", "budget", "budget-bounds", "smoothed")


@pytest.mark.parametrize("owner", RESULTS, ids=lambda owner: owner.__name__)
def test_every_part_of_a_result(owner):
    names = {name for name in {*vars(owner), *inspect.get_annotations(owner)} if not name.startswith("_")}
    told = "".join(read(f"docs/{page}.md") for page in DESCRIBED)
    assert [name for name in sorted(names) if not re.search(rf"`(\w+\.)?{name}\b", told)] == []


def test_every_dependency_has_a_reason():
    text = read("pyproject.toml")
    named = set(re.findall(r'^\s*"([a-z][\w-]*)(?:>=[\d.]+)?",?$', text, re.MULTILINE))
    named |= set(re.findall(r'"([a-z][\w-]*)"', re.search(r"^build = .*$", text, re.MULTILINE)[0]))
    for extra in ("bench", "solvers"):
        named |= set(re.findall(r'"([a-z][\w-]*)"', re.search(rf"^{extra} = .*$", text, re.MULTILINE)[0]))
    assert {"numpy", "msgspec", "cvxpy", "editables", "vowpalwabbit"} <= named
    assert [name for name in sorted(named) if f"| {name} |" not in read("CONTRIBUTING.md")] == []


def test_every_make_target_and_layer():
    text = read("CONTRIBUTING.md")
    targets = re.search(r"^\.PHONY: (.*)$", read("Makefile"), re.MULTILINE)[1].split()
    assert [target for target in targets if f"`make {target}`" not in text] == []
    layers = read(".importlinter").split("layers =\n")[1].split("\n\n")[0].split("\n")
    layers = [line.strip() for line in layers]
    drawn = read("docs/architecture.md").split("\n## Layers\n")[1].split("```")[1].splitlines()[1:]
    assert [re.split(r"\s{2,}", line)[0] for line in drawn] == layers


def test_every_family_of_learners():
    """A folder has a title for the page of learners, and its line in the contract that keeps families apart."""
    folder = ROOT / "src" / "weft" / "learners"
    families = sorted(path.parent.name for path in folder.glob("*/__init__.py"))
    assert families == sorted({place.split(".")[0] for place in PLACES.values()})
    listed = read(".importlinter").split("[importlinter:contract:families]")[1].split("modules =\n")[1].split("\n\n")[0]
    assert [line.strip() for line in listed.splitlines()] == [f"weft.learners.{family}" for family in families]
    for family in families:
        assert f"`{family}`" in read("docs/architecture.md")
        title = inspect.getdoc(importlib.import_module(f"weft.learners.{family}")).splitlines()[0]
        assert f"**{title}**" in read("docs/learners.md")


def test_the_readme_begins_with_the_two_commands():
    text = read("README.md")
    assert text.index("make run") < text.index("```python")
    assert text.index("make test") < text.index("```python")
    assert "BSD-3-Clause" in text


# ----------------------------------------------------------------------------------------------- everything runs


def in_a_clone(folder, monkeypatch):
    """Work in a folder that has the examples, as a clone does."""
    (folder / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(folder)


def test_the_mail_of_the_readme():
    """Its script writes this very file."""
    assert imported(ROOT / "docs" / "make_mail.py").text() == read("examples/mail.csv")


WALKS = ("tour.md",)
"""Pages whose Python and commands belong together: they run in turns, in one folder."""


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")], ids=lambda page: page.name
)
def test_python(page, tmp_path, monkeypatch):
    """The Python of a page runs from top to bottom, and prints what the following block of text shows."""
    in_a_clone(tmp_path, monkeypatch)
    monkeypatch.setattr("weft.learners.catalogue._REGISTERED", {})
    if page.name in WALKS:
        monkeypatch.setattr("weft.cli.compiling.tell", lambda line: None)  # depends on earlier runs
    space, printed, compared, options = {"__name__": "page"}, "", 0, np.get_printoptions()
    for kind, text in blocks(page):
        if kind == "console" and page.name in WALKS:
            run_console(text)
        if kind == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output), np.printoptions(**options):
                exec(compile(text, page.name, "exec"), space)
                options = np.get_printoptions()
            printed = output.getvalue()
        elif kind == "text" and printed:
            assert same(printed, text), printed
            printed, compared = "", compared + 1
        else:
            printed = ""
    assert compared


def run_line(line):
    """Output of a line of a console, both streams and the first: weft in this process, other commands by a shell."""
    before, pipe, command = line.rpartition("| weft ")
    if line.startswith("weft ") or pipe:
        fed = subprocess.run(["sh", "-c", before], capture_output=True, text=True, check=True).stdout if pipe else None
        words = shlex.split(command if pipe else line.removeprefix("weft "))
        result = CliRunner().invoke(cli, words, input=fed, prog_name="weft")
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return [result.stdout + result.stderr, result.stderr + result.stdout, result.stdout]
    assert line.split()[0] in ("printf", "echo", "cat", "head"), line
    return [subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True).stdout]


def run_console(text):
    """Run the commands of a block, which print the output that it shows, if any."""
    for part in text.split("$ ")[1:]:
        line, _, written = part.partition("\n")
        found = run_line(line)
        assert not written.strip() or any(same(text, written) for text in found), f"$ {line}\n{found[0]}"


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if "```console" in page.read_text(encoding="utf-8") and page.name not in WALKS],
    ids=lambda page: page.name,
)
def test_console(page, tmp_path, monkeypatch):
    """The commands of a page run from top to bottom, and print the output that the page shows, if any."""
    in_a_clone(tmp_path, monkeypatch)
    monkeypatch.setattr("weft.cli.compiling.tell", lambda line: None)  # depends on earlier runs
    monkeypatch.setenv("COLUMNS", "80")
    for kind, text in blocks(page):
        if kind == "console":
            run_console(text)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example(path, capsys):
    if "WEFT_DATA" in path.read_text(encoding="utf-8") and not os.environ.get("WEFT_DATA"):
        pytest.skip("WEFT_DATA does not name the folder of real data")
    imported(path).main()
    printed = capsys.readouterr().out
    assert re.search(r"\d\.\d", printed)
    told = [text for page in PAGES for kind, text in blocks(page) if kind == "text"]
    for text in told:  # a page that shows the output shows it unchanged
        assert text.splitlines()[0] != printed.splitlines()[0] or same(printed, text), printed
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60
    assert f"examples/{path.name}" in everything()


def test_pictures(tmp_path):
    made = imported(ROOT / "docs" / "pictures" / "make.py")
    made.main(tmp_path)
    for name in made.PICTURES:
        text = (ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8")
        assert text == (tmp_path / name).read_text(encoding="utf-8"), (
            f"{name} is out of date; run docs/pictures/make.py"
        )
        assert xml.etree.ElementTree.fromstring(text).tag.endswith("svg")
        assert "prefers-color-scheme: dark" in text
        assert f"pictures/{name}" in everything()


def test_the_page_of_a_learner_needs_no_further_facts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "website"))
    made = imported(ROOT / "docs" / "website" / "learner_pages.py")
    entry = next(one for one in weft.catalogue() if one.name == "arow")
    with_facts, without = made._page(entry, made.facts()["arow"], False), made._page(entry, None, False)
    further = {"## When not", "## Guarantee", "## Cost"}
    headings = [{line for line in page.splitlines() if line.startswith("## ")} for page in (with_facts, without)]
    assert headings[0] - headings[1] == further
    assert without.rstrip().endswith(f"{entry.paper}.")


def test_site(tmp_path):
    """The site is built without a warning, so that all links and anchors lead somewhere; pictures need long runs."""
    website = [sys.executable, str(ROOT / "docs" / "website"), "--no-pictures", str(tmp_path / "site")]
    made = subprocess.run(website, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "site" / "learners" / "auto.html").exists()
    packages = {name for name in dir(weft) if inspect.ismodule(getattr(weft, name))} - {"geometry"}  # an old address
    assert {*packages, "sklearn", "river"} <= {path.stem[5:] for path in (tmp_path / "site/reference").glob("*.html")}
    pages = [path for path in (tmp_path / "site").rglob("*.html") if path.name not in ("genindex.html", "search.html")]
    assert len(pages) > 70
    reference = (tmp_path / "site" / "reference" / "weft.html").read_text(encoding="utf-8")
    assert re.search(r"<li><p><code[^>]*><span[^>]*>time_limit</span></code>: seconds", reference)  # lists stay lists
    loaded = re.compile(r"<(?:script|link|img)[^>]+(?:src|href)=\"(?:https?:)?//")
    assert [path.name for path in pages if loaded.search(path.read_text(encoding="utf-8"))] == []


# --------------------------------------------------------------------------------------- links, paths, experiments


def tracked():
    """Text files of the project; without git, those that a clone would have."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = [name for name in listed.stdout.split("\0") if name]
    if not names:
        names = [
            str(path.relative_to(ROOT)) for part in ("src", "docs", "tests") for path in (ROOT / part).rglob("*.*")
        ]
    return [ROOT / name for name in names if (ROOT / name).is_file() and not name.endswith((".pyc", ".png"))]


def test_no_machine_of_anyone_is_named():
    """No home or work folders, no addresses of package registries."""
    somewhere = re.compile(
        r"(?<![\w./-])/(?:home|Users|root|work|opt|mnt)/\w|index-url[ =]\S+:|//[\w.-]*(?:pypi|nexus|artifactory)"
    )
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in tracked()
        if path != Path(__file__)
        for line in path.read_text(encoding="utf-8").splitlines()
        if somewhere.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), target
        assert os.path.commonpath([ROOT, path]) == str(ROOT)
        if anchor:
            heads = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in heads], target


def test_every_experiment_is_documented():
    """With all its claims; the figures are those of a complete run, which tests do not repeat."""
    text = read("docs/reproduction.md")
    assert "cells are missing" not in text
    text, _, rest = text.partition("\n## Not run whole yet\n")
    waiting = re.findall(r"[a-z][a-z0-9-]*", rest.rpartition(": ")[2])
    assert set(waiting) <= set(shelf.names())
    for name in shelf.names():
        if name in waiting:
            continue
        section = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
        experiment = shelf.experiment(name)
        assert experiment.paper in section
        assert "not run" not in section
        assert len(re.findall(r"\*\*(?:not )?(?:confirmed|testable here)\*\*", section)) >= 1
