"""Columns of several events at once: to the bit those of one event after the other, compiled and plain."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import weft
from weft.learners.budget.column_blocks import TILE, TOGETHER, WIDEST, column_block
from weft.learners.budget.ties import COMPLETE, NO_TASKS, NONE

pytestmark = pytest.mark.xdist_group("budget")

NAMES = ("mt-perceptron", "mtbprj", "mtbprj-2", "mtrbp", "mtforg")
KERNELS = ("linear", "gaussian", {"name": "poly", "degree": 2}, {"name": "poly", "degree": 3, "normalize": False})
KEPT = 2 * TILE + 4


def table(rng, count, width, gaps):
    """Rows without gaps, some of them shorter at either end; or with gaps, and wider than those."""
    X = rng.normal(size=(count, width + 3 if gaps else width)) / np.sqrt(width)
    if gaps:
        X[rng.random(X.shape) < 0.2] = 0.0
    else:
        X[::7, : width // 3] = 0.0
        X[3::7, width - width // 4 :] = 0.0
    return X


def trained(name, kernel, width):
    rng = np.random.default_rng(0)
    parameters = {**({} if name == "mt-perceptron" else {"B": KEPT}), **({"R": 100.0} if name == "mtforg" else {})}
    model = weft.Model(name, kernel=kernel, tasks=4, features=width + 3, **parameters)
    rows = sparse.csr_array(table(rng, 150, width, gaps=False))  # narrower than what is scored
    model.learn(weft.Stream(rows, rng.choice([-1, 1], 150), rng.integers(4, size=150)))
    return model


def is_together(model, events, ties=COMPLETE):
    return len(column_block(ties, model.state, events).spread) > 0


@pytest.mark.parametrize("width", [3, 16, 37, 100])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_grouping_is_invisible(name, kernel, width):
    model, rng = trained(name, kernel, width), np.random.default_rng(1)
    count = TOGETHER + 5
    X = np.concatenate(
        [table(rng, count, width, gaps=True), np.pad(table(rng, count, width, gaps=False), ((0, 0), (0, 3)))]
    )
    task = rng.integers(4, size=2 * count)
    one_by_one = np.concatenate([model.score(X[i : i + 1], task[i : i + 1]) for i in range(2 * count)])
    assert is_together(model, 2 * count, NO_TASKS if name == "mtbprj-2" else COMPLETE)
    assert not is_together(model, 1)
    for some in (3, 4, 5, TOGETHER, TOGETHER + 1, 2 * count):
        found = np.concatenate([model.score(X[i : i + some], task[i : i + some]) for i in range(0, 2 * count, some)])
        np.testing.assert_array_equal(found, one_by_one)
    assert np.unique(one_by_one).size > count
    label = np.where(one_by_one > 0, 1, -1)
    np.testing.assert_array_equal(model.learn(weft.Stream(X[:1], label[:1], task[:1])), one_by_one[:1])


def test_where_events_come_one_by_one():
    """Rows with gaps, rows that are too wide, tasks that are not tied, no rows at all."""
    model = trained("mtrbp", "linear", 20)
    assert is_together(model, 3)
    assert not is_together(model, 2)
    assert not is_together(model, 30, NONE)
    rng = np.random.default_rng(2)
    gaps, wide = weft.Model("mtrbp", B=9), weft.Model("mtrbp", B=9)
    gaps.learn(weft.Stream(table(rng, 30, 20, gaps=True), rng.choice([-1, 1], 30), rng.integers(4, size=30)))
    X = np.zeros((30, WIDEST + 40))
    X[:, -50:] = rng.normal(size=(30, 50))
    wide.learn(weft.Stream(X, rng.choice([-1, 1], 30), rng.integers(4, size=30)))
    for model in (gaps, wide, weft.Model("mtrbp", B=9)):
        assert not is_together(model, 30)
        assert len(model.score(sparse.csr_array(X), [0] * 30)) == 30


def fingerprint():
    """Scores of all learners."""
    found = hashlib.blake2b(digest_size=12)
    for name in NAMES:
        for kernel in KERNELS:
            model, rng = trained(name, kernel, 37), np.random.default_rng(3)
            found.update(
                model.score(table(rng, TOGETHER + 4, 37, gaps=True), rng.integers(4, size=TOGETHER + 4)).tobytes()
            )
    return found.hexdigest()


def test_plain_mode():
    folders = [str(Path(weft.__file__).parents[1]), str(Path(__file__).parents[1])]
    environment = {**os.environ, "WEFT_PLAIN": "1", "PYTHONPATH": os.pathsep.join(folders)}
    program = (
        "import json; from learners.test_column_blocks import fingerprint; from weft.compiled.jit import PLAIN;"
        "print(json.dumps([PLAIN, fingerprint()]))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, fingerprint()]
