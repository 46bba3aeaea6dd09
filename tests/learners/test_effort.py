"""Experts of `effort` against the oracle with dictionaries: each alone and all together, on hard streams."""

import numpy as np
import pytest

import weft
from learners.adaptive_runs import GROUP, LIMITS, expect_same_mixtures, learn_in_bulk, learn_in_chunks, learn_one_by_one
from learners.effort_runs import Twin, stack_of
from oracles.adaptive_cases import case_of
from weft.learners.adaptive.learners import NAMES, RANKS
from weft.storage import pairs

pytestmark = pytest.mark.xdist_group(GROUP)

CLOSE = 1e-9
LOGISTIC = ("toy", "all kinds of columns", "columns that stop being dense", "correlated columns", "very sure")
SQUARE = (*LOGISTIC, "labels far outside", "constant label 7.25")
RUNS = [
    (case, loss, names)
    for loss, cases in (("logistic", LOGISTIC), ("square", SQUARE))
    for case in cases
    for names in (*((name,) for name in NAMES), NAMES)
    if names != ("bayes",) or loss == "logistic"
]


def parameters_of(names, loss):
    return {"experts": [name for name in names if name != "bayes" or loss == "logistic"], "loss": loss}


@pytest.mark.parametrize(("case", "loss", "names"), RUNS)
def test_oracle(case, loss, names, monkeypatch):
    oracle, events = Twin(loss, names, RANKS["balanced"]), case_of(case, loss)
    wanted = []
    for k, row, y in events:
        wanted += oracle.learn_round([row], [y], [k])
    labels = [y for _, _, y in events if y == y]
    unit = 1.0 if loss == "logistic" else max(labels) - min(labels)
    runs, models = [], []
    for learn, layout in ((learn_in_bulk, "table"), (learn_in_chunks, "table"), (learn_one_by_one, "hashed")):
        monkeypatch.setattr(pairs, "DENSE_LIMIT", LIMITS[layout])
        models.append(weft.Model("auto", **parameters_of(names, loss)))
        runs.append(learn(models[-1], events))
        np.testing.assert_allclose(runs[-1], wanted, rtol=CLOSE, atol=CLOSE * max(unit, 1.0))
        found = stack_of(models[-1], oracle.experts)
        for name, expected in oracle.stack.items():
            np.testing.assert_allclose(found[name], expected, rtol=CLOSE, atol=CLOSE)
        expect_same_mixtures(models[-1], oracle)
    assert runs[0] == runs[1] == runs[2]
    assert models[0].to_bytes() == models[1].to_bytes()
