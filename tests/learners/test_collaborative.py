"""COML and CW-COL against their dense oracles; what they say and refuse."""

import numpy as np
import pytest

import weft
from learners.robust_runs import KINDS, beside, events
from oracles.robust import Coml, CwCol

pytestmark = pytest.mark.xdist_group("collaborative")

PARAMETERS = {
    "coml": [{}, {"C": 0.1}, {"e1": 0.3, "e2": 2.0}, {"e2": 0.0}, {"C": 20.0, "e1": 5.0, "e2": 1e-3}],
    "cw-col": [{}, {"r": 0.1}, {"mix": 0.9, "r": 10.0}, {"mix": 1.0}, {"mix": 0.0}],
}
CASES = [(name, parameters) for name, many in PARAMETERS.items() for parameters in many]
ORACLES = {"coml": Coml, "cw-col": CwCol}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "parameters"), CASES, ids=str)
def test_equals_the_oracle(name, parameters, kind):
    found = events(kind, rounds=80)
    model, oracle = weft.Model(name, tasks=5, features=9, **parameters), ORACLES[name](5, 9, **parameters)
    np.testing.assert_allclose(model.learn(found.stream), beside(oracle, found), atol=1e-10)
    np.testing.assert_allclose(model.weights(), oracle.u, atol=1e-10)
    np.testing.assert_allclose(model.state.w[:9], oracle.w, atol=1e-10)
    np.testing.assert_allclose(model.outliers(), np.linalg.norm(oracle.u - oracle.w, axis=1), atol=1e-10)
    if name == "cw-col":
        np.testing.assert_allclose(1.0 / (1.0 + model.state.personal[:5, :9]), oracle.personal, atol=1e-12)
        np.testing.assert_allclose(1.0 / (1.0 + model.state.shared[:9]), oracle.shared, atol=1e-12)


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_row_of_zeros_changes_nothing(name):
    model = weft.Model(name)
    model.learn(events("some").stream)
    weights = [array.copy() for array in model.state]
    model.learn(weft.Stream([[0.0] * 9, [0.0] * 9], [1, -1], [0, 3], rounds=[0, 0]))
    assert model.learn_one([0.0] * 9, 1, 2) == 0.0
    assert all(np.array_equal(a, b) for a, b in zip(model.state, weights, strict=True))


def test_a_loss_of_exactly_zero_changes_no_precision():
    """After a row of 1 the weight is 1/2, so that a row of 2 has the margin 1."""
    model = weft.Model("cw-col", r=1.0, mix=1.0)
    model.learn_one([1.0], 1, "ann")
    before = [array.copy() for array in model.state]
    assert model.learn_one([2.0], 1, "ann") == 1.0
    assert all(np.array_equal(a, b) for a, b in zip(model.state, before, strict=True))


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_parts_of_a_score(name):
    found = events("all")
    model = weft.Model(name)
    model.learn(found.stream)
    x = found.X[7]
    parts = model.explain(x, 1)
    assert parts.shared == pytest.approx(model.state.w[:9] @ x)
    assert parts.own + parts.shared == pytest.approx(parts.score)
    stranger = model.explain(x, "stranger")
    assert (stranger.score, stranger.own, stranger.shared) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("name", PARAMETERS)
def test_relations_are_cosines_between_the_models(name):
    rng = np.random.default_rng(4)
    model = weft.Model(name, tasks=["silent"])
    X, task = rng.normal(size=(60, 5)), rng.integers(0, 3, 60)
    model.learn(weft.Stream(X, np.sign(X[:, 0] + 0.3 * rng.normal(size=60)), task))
    W, found = model.weights(), model.relations()
    for i in range(1, 4):
        for j in range(1, 4):
            cosine = W[i] @ W[j] / np.linalg.norm(W[i]) / np.linalg.norm(W[j])
            assert found[i, j] == pytest.approx(cosine, abs=1e-12)
    assert found[0].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_a_new_task_takes_the_global_model_in_with_its_first_step():
    model = weft.Model("coml", e2=3.0)
    for _ in range(5):
        model.learn_one({"free": 1.0, "offer": 1.0}, 1, "ann")
    assert model.predict_one({"free": 1.0, "offer": 1.0}, "bob") == 0.0
    model.learn_one({"lunch": 1.0}, -1, "bob")
    assert model.predict_one({"free": 1.0, "offer": 1.0}, "bob") > 0.5


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        ("coml", "C", 0.0),
        ("coml", "e1", 0.0),
        ("coml", "e2", -1.0),
        ("coml", "matrix_limit", "lots"),
        ("cw-col", "r", 0.0),
        ("cw-col", "mix", 1.5),
        ("cw-col", "mix", -0.1),
    ],
)
def test_bad_parameters(name, parameter, value):
    with pytest.raises(ValueError, match=f"{name}: {parameter}=.* must be"):
        weft.Model(name, **{parameter: value})


@pytest.mark.parametrize("name", PARAMETERS)
def test_too_many_tasks_or_features(name):
    model = weft.Model(name, matrix_limit=1000)
    with pytest.raises(ValueError, match=r"whole tables of 2 tasks x 100 features.*raise matrix_limit"):
        model.learn(weft.Stream(np.ones((2, 100)), [1, 1], ["ann", "bob"]))
    assert model.tasks == []
