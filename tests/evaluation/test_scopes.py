"""The same learner alone and pooled, and scaled rows, against models that are made by hand."""

import numpy as np
import pytest

import weft
from weft.evaluation.scopes import Alone, Pooled, with_intercept


def made(rounds=False, events=200, seed=2):
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(events, 4)) * 3.0, np.arange(events) % 3
    X[5] = 0.0
    y = np.where(X[:, 0] + X[:, 1] * (task == 2) > 0, 1, -1)
    return weft.Stream(X, y, [f"t{k}" for k in task], np.arange(events) // 3 if rounds else None)


@pytest.mark.parametrize("rounds", [False, True])
def test_alone_is_a_model_per_task(rounds):
    stream = made(rounds)
    scores, tasks = Alone(weft.Model("mt-ogd").learner).learn(stream), np.array(stream.tasks)
    for name in stream.task_names:
        here = tasks == name
        by_hand = weft.Model("mt-ogd").learn(weft.Stream(stream.X.toarray()[here], stream.y[here], tasks[here]))
        np.testing.assert_array_equal(scores[here], by_hand)
    assert not np.array_equal(scores, weft.Model("mt-ogd").learn(stream))


@pytest.mark.parametrize("rounds", [False, True])
def test_pooled_is_one_task(rounds):
    stream = made(rounds)
    scores = Pooled(weft.Model("arow").learner).learn(stream)
    by_hand = weft.Model("arow").learn(weft.Stream(stream.X.toarray(), stream.y, ["one"] * len(stream)))
    np.testing.assert_array_equal(scores, by_hand)


def test_scaled_rows_have_length_one_and_an_intercept():
    stream = made()
    X, scaled = stream.X.toarray(), with_intercept(stream).X.toarray()
    length = np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(scaled[:, :4], np.divide(X, length, out=np.zeros_like(X), where=length > 0), rtol=1e-12)
    np.testing.assert_array_equal(scaled[:, 4], 1.0)
    named = weft.Stream([{"a": 3.0, "b": 4.0}, {}], [1, -1], ["x", "y"])
    assert with_intercept(named).data.features == ["a", "b", "(intercept)"]
    np.testing.assert_allclose(with_intercept(named).X.toarray(), [[0.6, 0.8, 1.0], [0.0, 0.0, 1.0]])


def test_compare_takes_scopes():
    found = weft.compare(made(), [("pa", {}), ("pa", {"scope": "alone"}), ("pa", {"pooled": True})], shuffles=2)
    errors = {row["learner"]: row["error"] for row in found.rows()}
    assert errors["pa"] == errors["pa scope=alone"]
    with pytest.raises(ValueError, match="scope='apart'; choose one of together, alone, pooled"):
        weft.compare(made(), [("pa", {"scope": "apart"})])
