"""The key of a cell follows code, data and settings, and nothing else."""

import dataclasses
import importlib
import sys

import pytest

from toys import TOY
from weft_reproduction import digest, shelf
from weft_reproduction.digest import key, sources


@pytest.fixture(autouse=True)
def _forget():
    """Sources are read once per process; these tests change them."""
    yield
    digest._digest.cache_clear()


def with_edit(monkeypatch, tmp_path, module, edit):
    """Let the digest see another text of a module of weft."""
    digest._digest.cache_clear()
    real = digest._file.__wrapped__
    copy = tmp_path / "edited.py"
    copy.write_text(edit(real(module).read_text()))
    monkeypatch.setattr(digest, "_file", lambda name: copy if name == module else real(name))


def test_settings_and_data():
    settings = {"learner": "pa", "number": 1}
    assert key(TOY, settings) == key(TOY, {"number": 1, "learner": "pa"})
    assert key(TOY, settings) != key(TOY, {"learner": "pa", "number": 2})
    assert key(TOY, settings) != key(dataclasses.replace(TOY, data=("school",)), settings)
    assert key(TOY, settings) != key(dataclasses.replace(TOY, name="other"), settings)


def test_data_by_their_sums(monkeypatch):
    from weft.streams import known_sets

    one = dataclasses.replace(TOY, data=("school",))
    before = key(one, {"number": 1})
    changed = dataclasses.replace(known_sets.SETS["school"], sha256="0" * 64)
    monkeypatch.setitem(known_sets.SETS, "school", changed)
    assert key(one, {"number": 1}) != before


@pytest.mark.parametrize(
    ("module", "learner", "follows"),
    [
        ("weft.learners.single_task.passive_aggressive", "pa", True),
        ("weft.learners.descent.mt_ogd", "pa", False),
        ("weft.learners.descent.mt_ogd", "mt-ogd", True),
        ("weft.learners.descent.forms", "mt-ogd", True),
        ("weft.maths.losses", "mt-ogd", True),
        ("weft.learners.descent.mt_ogd", "somebody else's", True),
        ("weft.cli.learn", "pa", False),
        ("weft_reproduction.judgement", "pa", False),
    ],
)
def test_code_of_learners(monkeypatch, tmp_path, module, learner, follows):
    settings = {"learner": learner, "number": 1}
    before = key(TOY, settings)
    with_edit(monkeypatch, tmp_path, module, lambda text: text + "\nADDED = 1\n")
    assert (key(TOY, settings) != before) == follows


def test_several_learners():
    both = sources(TOY, {"learners": ["pa", "mt-ogd"]})
    assert {"weft.learners.single_task.passive_aggressive", "weft.learners.descent.mt_ogd", "weft.maths.losses"} <= set(
        both
    )


def test_comments_and_docstrings_do_not_count(monkeypatch, tmp_path):
    settings = {"learner": "pa"}
    before = key(TOY, settings)
    with_edit(
        monkeypatch, tmp_path, "weft.learners.single_task.passive_aggressive", lambda text: f"{text}\n# a remark\n"
    )
    assert key(TOY, settings) == before


MODULE = '''"""Text."""
from weft_reproduction.experiment import Experiment, Report
from weft_reproduction.judgement import lower
from weft.maths.losses import {imported}

FACTOR = {factor}
"""{words}"""

def helper(x):
    return FACTOR * x

def run(settings):
    """{words}"""
    {imported}
    return {{"x": helper(1)}}

def cells(quick):
    return [{{}}]

def report(results):
    {reported}
    return Report()

EXPERIMENT = Experiment("made", "t", "p", cells, run, report)
'''


@pytest.mark.parametrize(
    ("change", "follows"),
    [
        ({"factor": 3}, True),
        ({"imported": "CLASSIFY"}, True),
        ({"words": "Said otherwise."}, False),
        ({"reported": "lower('a', 'b', [])"}, False),
    ],
)
def test_code_of_the_experiment(monkeypatch, tmp_path, change, follows):
    """What `run` reaches counts; what the report alone uses does not."""
    monkeypatch.syspath_prepend(tmp_path)
    usual = {"factor": 2, "words": "Said.", "imported": "CODES", "reported": "pass"}
    keys = []
    for part in ({}, change):
        (tmp_path / "made_up_experiment.py").write_text(MODULE.format(**usual | part))
        sys.modules.pop("made_up_experiment", None)
        importlib.invalidate_caches()
        digest._digest.cache_clear()
        keys.append(key(importlib.import_module("made_up_experiment").EXPERIMENT, {"number": 1}))
    sys.modules.pop("made_up_experiment", None)
    assert (keys[0] != keys[1]) == follows


MODEL = {"weft.model", "weft.stream", "weft.storage.batch", "weft.compiled.jit", "weft.learners.catalogue"}
_EXPERTS = {
    *(f"weft_reproduction.default_2.{name}" for name in ("dense", "linear", "rows", "scores", "stack", "tried")),
    "weft.learners.adaptive.learners",
    "weft.compiled.jit",
}
PROTOTYPES = {
    "default-2-hostile": _EXPERTS,
    "default-2-table": _EXPERTS,
}
"""Experiments whose rules no model has: what learns lies beside them, and the learner that they are compared with."""


@pytest.mark.parametrize("name", shelf.names())
def test_every_experiment_follows_what_learns(name):
    experiment = shelf.experiment(name)
    settings = experiment.cells(True)[0]
    found = sources(experiment, settings)
    assert PROTOTYPES.get(name, MODEL) <= set(found)
    assert not [module for module in found if module == "weft.cli" or module.startswith("weft.cli.")]
    assert "learner" in settings or "learners" in settings
