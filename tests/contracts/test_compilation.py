"""A kernel is compiled once, is found again on disk, and is not found when a helper of it was edited."""

import ast
import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import weft
from contracts.streams import make_events
from weft.compiled import jit
from weft.learner import trace_columns

SOURCE = Path(weft.__file__).parent


@cache
def dispatchers():
    """Every compiled function of weft by its full name."""
    found = {}
    for module in pkgutil.walk_packages([str(SOURCE)], "weft."):
        if ".cli" not in module.name:
            for value in vars(importlib.import_module(module.name)).values():
                if hasattr(value, "signatures") and hasattr(value, "py_func"):
                    found[f"{value.py_func.__module__}.{value.py_func.__name__}"] = value
    return found


def is_helper(dispatcher):
    """Whether it is there for compiled functions to call, even if tests call it as well: see the table in `jit`."""
    options = dispatcher.targetoptions
    return options.get("no_cpython_wrapper", False) or options.get("forceinline", False)


def feed(setting, model):
    """Every way into a model, with arrays of every kind."""
    events = make_events(setting.target, "rounds", "dense", seed=61, rounds=8 if setting.refits else 36)
    X, y, rounds, tasks = events.table(), np.array(events.labels), np.array(events.rounds), list(events.tasks)
    read_only = X.copy()
    read_only.flags.writeable = False
    tables = [
        X,
        X.astype(np.float32),
        np.asfortranarray(X),
        X.astype(np.int32),
        X > 0,
        read_only,
        np.repeat(X, 2, 1)[:, ::2],
        sparse.csr_array(X),
        sparse.csc_array(X.astype(np.float32)),
        sparse.coo_array(X),
        X.tolist(),
        X.astype(object),
    ]
    for at, table in enumerate(tables):
        kind = (np.float64, np.float32)[at % 2]
        model.learn(weft.Stream(table, y.astype(kind), tasks, rounds.astype((np.int64, np.int32, np.uint8)[at % 3])))
        model.score(table, tasks)
    first = X[:, 0].astype(np.int64)
    numbers = np.array([7, -3, 0])[np.arange(len(X)) % 3] if setting.named else np.arange(len(X))
    trace = np.zeros((len(X), len(trace_columns(setting.learner))))
    model.learn(weft.Stream(X, np.where(first >= 0, 1, -1), numbers.astype(np.int16)))
    model.learn(weft.Stream(X, np.ones(len(X), np.int8), numbers), trace=trace)
    model.learn(weft.Stream.shared(X[:5], np.ones((5, 2), np.float32), ["ann", "bob"]))
    for x in (
        X[1],
        X[1].tolist(),
        sparse.csr_array(X[1:2]),
        [{f"f{j}": v for j, v in enumerate(x)} for x in X],  # from here on with names
        {"f0": 1, "f1": True, "f2": np.float32(2)},
        {"f0": 1.0},
        {},
    ):
        if isinstance(x, list) and isinstance(x[0], dict):
            model.learn(weft.Stream(x, y, tasks, rounds))
            continue
        for label in (1, 1.0, np.int64(-1), np.float32(1)):
            model.learn_one(x, None if setting.target == "point" else label, "ann")
            model.predict_one(x, "ann")


def test_one_signature_per_kernel(setting, soon_hashed):
    """Helpers may have more, for literals in other functions; what Python calls has one, or compiles again."""
    feed(setting, setting.model())
    feed(setting, setting.model(tasks=setting.some_tasks("ann", "bob")))
    helpers = tuple(f"weft.{folder}." for folder in jit.SHARED)
    main = {
        name: found.signatures
        for name, found in dispatchers().items()
        if not name.startswith(helpers) and not is_helper(found)
    }
    assert len(main) > 15
    assert {name: found for name, found in main.items() if len(found) > 1} == {}


def test_every_learner_has_kernels_of_its_own(setting):
    """The law above would be empty if the learner's kernels were not among those looked at."""
    if not setting.learner.kernels.compiled:
        return  # NumPy and SciPy
    model = setting.model()
    model.learn(make_events(setting.target, "single", "named", seed=62).stream())
    compiled = [name for name, found in dispatchers().items() if found.signatures]
    assert any(name.startswith("weft.learners.") for name in compiled)
    assert any("learn" in name.split(".")[-1] for name in compiled)


@pytest.mark.xdist_group("a group")
def test_groups_of_tests_are_seen(request):
    """Otherwise every worker compiles everything: it depends on what pytest-xdist knows of pytest."""
    if hasattr(request.config, "workerinput"):
        assert request.node.nodeid.endswith("@a group")


# --- imports ------------------------------------------------------------------------------------------------


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(SOURCE.parent), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_importing_weft_costs_nothing():
    code = "import sys, json, weft; dir(weft); weft.__version__; print(json.dumps(sorted(sys.modules)))"
    loaded = set(run(code))
    assert "weft" in loaded
    assert not loaded & {"numba", "numpy", "scipy", "weft.model", "weft.compiled.jit"}


def test_the_public_names():
    assert set(weft.__all__) <= set(dir(weft))
    for name in ("Model", "Stream", "catalogue", "load"):
        assert getattr(weft, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        weft.no_such_name  # noqa: B018


# --- the cache ----------------------------------------------------------------------------------------------


def test_the_cache_folder_is_named_after_what_a_kernel_can_depend_on(tmp_path):
    copy = tmp_path / "weft"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))

    def digest(module):
        return jit._digest(jit.sources_of.__wrapped__(module, copy))  # files are new here: nothing remembered

    mine, other, neither = "weft.learners.budget.perceptron", "weft.learners.descent.cliques", "weft.tally.counts"
    reader = "weft.scan.jsonl"
    for folder, changes in (
        ("compiled", {mine, other, neither, reader}),
        ("storage", {mine, other, neither}),
        ("maths", {mine, other, neither}),
        ("graphs", {mine, other, neither}),
        ("learners/budget", {mine}),
        ("learners", set()),
        ("scan", {reader}),
        ("streams", set()),
        ("evaluation", set()),
    ):
        for path in (*sorted((copy / folder).glob("*.py")), copy / folder / "fresh.py"):
            before = {module: digest(module) for module in (mine, other, neither, reader)}
            path.write_text((path.read_text() if path.exists() else "") + "\n# edited\n")
            assert {module for module in before if digest(module) != before[module]} == changes, path


CLOSED = ("helper", "helper_no_alloc", "inlined_only", "inlined_source")
"""The decorators of what only kernels call."""


def _kernels(tree, decorators=("compiled", "compiled_with_gil", "inlined", *CLOSED)):
    for node in tree.body:
        inner = [*getattr(node, "body", []), *getattr(node, "orelse", [])] if isinstance(node, ast.If) else [node]
        for found in inner:
            if isinstance(found, ast.FunctionDef) and any(
                getattr(d, "id", "") in decorators for d in found.decorator_list
            ):
                yield found


def test_kernels_use_nothing_that_the_digest_does_not_see():
    """Constants and tuples of another file are compiled in; Numba does not notice when that file is edited."""
    outside = []
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        seen = {found.relative_to(SOURCE).as_posix() for found in jit.sources_of(module)}
        tree = ast.parse(path.read_text())
        homes = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("weft."):
                home = node.module.removeprefix("weft.").replace(".", "/")
                for alias in node.names:
                    module_file = f"{home}/{alias.name}.py"
                    found = module_file if (SOURCE / module_file).is_file() else f"{home}.py"
                    homes[alias.asname or alias.name] = found
        for function in _kernels(tree):
            words = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
            words |= {
                node.value
                for node in ast.walk(function)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            }
            outside += [(path.name, function.name, word) for word in words if word in homes and homes[word] not in seen]
    assert outside == []


def _used_by_python(tree, module):
    """The full names, as far as weft's imports tell, of all that is used outside kernels."""
    homes, inside = {}, {id(node) for function in _kernels(tree) for node in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("weft"):
            homes |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in ast.walk(tree):
        if id(node) in inside:
            continue
        if isinstance(node, ast.Name):
            yield homes.get(node.id, f"{module}.{node.id}")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in homes:
            yield f"{homes[node.value.id]}.{node.attr}"


def test_python_calls_nothing_that_only_kernels_can_call():
    """Such a function is not callable from Python: a call would end the process."""
    trees = {
        ".".join(path.relative_to(folder).with_suffix("").parts): ast.parse(path.read_text())
        for folder in (SOURCE.parent, Path(__file__).parents[1])
        for path in sorted(folder.rglob("*.py"))
    }
    closed = {f"{module}.{found.name}" for module, tree in trees.items() for found in _kernels(tree, CLOSED)}
    assert len(closed) > 200
    used = {name for module, tree in trees.items() for name in _used_by_python(tree, module)}
    assert used & closed == set()
    assert "weft.storage.own.score_batch" in used  # tests do call kernels, and that is seen


def test_a_chosen_cache_folder_is_used(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path / "mine"))
    folder = jit._cache_folder.__wrapped__(())
    assert folder.parent == tmp_path / "mine"
    assert folder.is_dir()
    monkeypatch.delenv("WEFT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "theirs"))
    if sys.platform == "linux":
        assert jit._cache_folder.__wrapped__(()).parent == tmp_path / "theirs" / "weft"


def test_other_users_of_numba_keep_their_cache():
    import numba

    assert "weft" not in str(numba.config.CACHE_DIR)
