"""Experts of `effort` against the oracle with dictionaries: each alone and all together, on hard streams."""

import numpy as np
import pytest

import weft
from learners.adaptive_runs import GROUP, LIMITS, expect_same_mixtures, learn_in_bulk, learn_in_chunks, learn_one_by_one
from learners.effort_runs import Twin, stack_of
from oracles.adaptive_cases import case_of
from weft.learners.adaptive.learners import CLASSIFY, NAMES, RANKS
from weft.learners.adaptive.state import FIRST_UNCERTAINTY, Stack
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
    if names[0] not in CLASSIFY or loss == "logistic"
]


def parameters_of(names, loss):
    return {"experts": [name for name in names if name not in CLASSIFY or loss == "logistic"], "loss": loss}


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
        shares = oracle.q if loss == "logistic" else [*oracle.L_of, oracle.gap_of]
        found = models[-1].state.stack[Stack.MIXTURE, : len(shares)]
        np.testing.assert_allclose(found, shares, rtol=CLOSE, atol=CLOSE)
    assert runs[0] == runs[1] == runs[2]
    assert models[0].to_bytes() == models[1].to_bytes()


def test_betting_rests():
    """A mail that is sent again and again: betting comes to rest in the kernel where it does in the oracle."""
    rng, events = np.random.default_rng(0), []
    for t in range(300):
        events.append((0, {f"{kind}{rng.integers(30)}": 1.0 for kind in "abc"}, -1.0))
        if t % 3 == 0:
            events.append((0, {f"w{i}": 1.0 for i in rng.integers(20, size=6)}, 1.0))
    mail = {f"w{i}": 1.0 for i in range(10)} | {f"n{i}": 1.0 for i in range(10)}
    events += [(0, mail, 1.0)] * 300 + [(0, mail | {"late": 1.0}, 1.0)] * 50 + [(0, mail, -1.0), (0, mail, 1.0)]
    oracle, model, rests = Twin("logistic", ("level",), 8), weft.Model("auto", experts=["level"]), 0
    wanted = []
    for k, row, y in events:
        rests += oracle.view(oracle.row(row), k).e[1] * y > 14.0
        wanted += oracle.learn_round([row], [y], [k])
    np.testing.assert_allclose(learn_in_bulk(model, events), wanted, rtol=CLOSE, atol=CLOSE)
    assert rests > 100
    assert np.abs(model.weights()).max() < 30.0


def test_fading_stays_a_filter():
    """For 12,000 events, with columns that are correlated, that stop and that come again: P stays a covariance."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(12_000, 6))
    X[:, 5] = X[:, 4] + 1e-6 * X[:, 5]
    X[3000:9000, 0] = 0.0
    y = np.where(X[:, 1] * np.where(np.arange(len(X)) // 2000 % 2, 1, -1) + 0.3 * rng.normal(size=len(X)) > 0, 1, -1)
    model = weft.Model("auto", experts=["fading"])
    scores = model.learn(weft.Stream(X, y, np.zeros(len(X), int)))
    P = model.state.fading_matrix[:7, :7]
    assert np.array_equal(P, P.T)
    assert np.linalg.eigvalsh(P).min() > -1e-6
    assert np.trace(P) <= 10.0 * 7
    late = np.arange(len(X)) % 2000 > 1000  # half a period after each change
    assert np.mean((scores[late] >= 0) == (y[late] > 0)) > 0.85


def test_fading_begins_anew_where_its_matrix_is_no_covariance_any_more():
    rng = np.random.default_rng(2)
    model = weft.Model("auto", experts=["fading"])
    model.learn(weft.Stream(rng.normal(size=(60, 3)), np.sign(rng.normal(size=60)), np.zeros(60, int)))
    seats, P = int(model.state.n_seats[0]), model.state.fading_matrix
    assert seats == 4  # three columns and the bias
    weights = model.state.fading_weights[:seats].copy()
    P[:seats, :seats] = -np.ones((seats, seats))
    model.learn_one([1.0, 2.0, 3.0], 1, 0)
    np.testing.assert_array_equal(P[:seats, :seats], FIRST_UNCERTAINTY * np.eye(seats))
    np.testing.assert_array_equal(model.state.fading_weights[:seats], weights)


@pytest.mark.parametrize("chosen", NAMES)
def test_room_is_made_for_the_experts_that_were_chosen_alone(chosen):
    model, plain = weft.Model("auto", experts=[chosen]), weft.Model("auto", effort="fast")
    has = {
        "fading": len(model.state.fading_weights) > 0 and model.state.fading_matrix.size > 0,
        "second": model.state.matrix_weights.size > 0 and model.state.matrices.size > 0,
        "grid": model.state.reservoir.size > 0 and model.state.grid.size > 0,
    }
    assert has == {name: name == chosen for name in has}
    assert plain.state.fading_weights.size == plain.state.matrix_weights.size == plain.state.grid.size == 0
