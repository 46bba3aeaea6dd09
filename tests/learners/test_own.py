"""The Perceptron and the Passive-Aggressive learners, one per task or pooled, against the oracle."""

import numpy as np
import pytest

import weft
from oracles import shared_loss as oracle


def agree(name, X, y, task, rounds, **parameters):
    model = weft.Model(name, **parameters)
    scores = model.learn(weft.Stream(X, y, task, rounds=rounds))
    expected, W, _ = oracle.run(name, X, y, task, rounds, **parameters)
    size = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9 * size)
    weights = model.weights()
    assert len(weights) == len(model.tasks) == len(set(task))
    for found in weights if parameters.get("pooled") else []:
        np.testing.assert_allclose(found, W[0], rtol=0, atol=1e-9 * size)
    if not parameters.get("pooled"):
        np.testing.assert_allclose(weights, W, rtol=0, atol=1e-9 * size)
    return model


def rows(seed, loss="hinge", **options):
    """A stream of single rows, all of them awake."""
    X, y, task, _, _ = oracle.problem(seed, rounds=40, loss=loss, **options)
    keep = ~(np.isnan(y) | ((y == 0) & (loss == "hinge")))
    return X[keep], y[keep], [name for name, on in zip(task, keep, strict=True) if on]


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize(("tasks", "features"), [(4, 3), (1, 2), (3, 1)])
def test_perceptron(pooled, tasks, features):
    X, y, task = rows(1, tasks=tasks, features=features)
    agree("perceptron", X, y, task, None, pooled=pooled)


def test_a_zero_margin_is_a_mistake_of_the_perceptron():
    model = weft.Model("perceptron")
    X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    np.testing.assert_array_equal(model.learn(weft.Stream(X, [1, -1, 1], ["a"] * 3)), [0.0, 0.0, 2.0])
    np.testing.assert_array_equal(model.weights(), [[1.0, -1.0]])


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "epsilon-insensitive"])
@pytest.mark.parametrize("variant", ["pa", "pa-i", "pa-ii"])
def test_passive_aggressive(variant, loss, pooled):
    X, y, task = rows(2, loss)
    for C in (0.05, 0.5, 20.0):
        agree("pa", X, y, task, None, variant=variant, C=C, loss=loss, epsilon=0.15, pooled=pooled)


def test_the_defaults_are_pa_i_with_hinge_and_c_of_one():
    X, y, task = rows(3)
    model = agree("pa", X, y, task, None)
    same = weft.Model("pa", variant="pa-i", C=1.0, loss="hinge", pooled=False)
    same.learn(weft.Stream(X, y, task))
    np.testing.assert_array_equal(model.weights(), same.weights())


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("name", ["perceptron", "pa"])
def test_a_round_is_scored_before_it_is_learned(name, pooled):
    X, y, task, rounds, _ = oracle.problem(4, rounds=15)
    agree(name, X, y, task, rounds, pooled=pooled)


def test_pa_corrects_exactly_and_pa_i_at_most_by_c():
    X = np.array([[3.0, 4.0]])
    for variant, expected in (("pa", 1 / 25), ("pa-i", 0.01), ("pa-ii", 1 / (25 + 50))):
        model = weft.Model("pa", variant=variant, C=0.01)
        model.learn(weft.Stream(X, [1], ["a"]))
        np.testing.assert_allclose(model.weights(), expected * X, rtol=1e-14)
