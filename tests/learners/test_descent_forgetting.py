"""A task is forgotten by gradient descent in a ball: the others are those of before, projected for one task fewer."""

from types import SimpleNamespace

import numpy as np
import pytest

import weft
from oracles.mirror_descent_projections import project_mahalanobis, project_variance

pytestmark = pytest.mark.xdist_group("mt-ogd")

B, D, SIGMA = 2.0, 1.0, 0.2


def clique(N):
    """A of the complete graph: (1 + b) I - b/N 1 1^T."""
    return SimpleNamespace(A=(1.0 + B) * np.eye(N) - B / N)


def learned(parameters, alike):
    """Six tasks, the last one far from the others unless all are `alike`."""
    rng, model = np.random.default_rng(2), weft.Model("mt-ogd", b=B, eta=0.3, loss="square", **parameters)
    truth = np.tile(rng.normal(size=4), (6, 1))
    truth[5] *= 1.0 if alike else -3.0
    X, task = rng.normal(size=(90, 4)), np.arange(90) % 6
    model.learn(weft.Stream(X, np.sum(X * truth[task], axis=1), task.tolist()))
    return model


def expected(parameters, W):
    if parameters["projection"] == "variance":
        return project_variance(W, D, SIGMA)
    return project_mahalanobis(W, clique(len(W)), parameters["radius"])


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("forgotten", [0, 5])
@pytest.mark.parametrize(
    "parameters",
    [
        {"projection": "variance", "D": D, "sigma": SIGMA},
        {"projection": "mahalanobis", "radius": 0.5},
        {"projection": "mahalanobis", "radius": 2.0},
        {"projection": "mahalanobis", "radius": 50.0},
    ],
    ids=str,
)
def test_the_others_are_projected_once(parameters, forgotten, alike):
    model = learned(parameters, alike)
    W = model.weights()
    model.forget(forgotten)
    rest = np.delete(W, forgotten, axis=0)
    np.testing.assert_allclose(model.weights(), expected(parameters, rest), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("parameters", [{"projection": "variance", "D": D, "sigma": SIGMA}])
def test_some_are_outside_of_the_smaller_ball(parameters):
    """Or the test above could hold for want of a projection."""
    changed = []
    for forgotten in range(6):
        W = learned(parameters, False).weights()
        rest = np.delete(W, forgotten, axis=0)
        changed.append(not np.allclose(expected(parameters, rest), rest, rtol=1e-6))
    assert any(changed)
    assert not all(changed)
