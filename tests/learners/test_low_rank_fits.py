"""Feature learning and the trace norm against the oracles and a convex solver."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from oracles.robust import mtfl, mtfl_objective, trml, trml_loss
from weft.learners.refit import low_rank_fits
from weft.learners.refit.low_rank_fits import _squared_norm, feature_learning, trace_norm
from weft.maths.losses import LOGISTIC, SQUARE


def tasks(seed, K=4, d=6, n=12, step=4):
    """Of n, n + step, ... rows, so that some have fewer than there are features."""
    rng = np.random.default_rng(seed)
    teachers = rng.normal(size=(d, 2)) @ rng.normal(size=(2, K))
    X = [rng.normal(size=(n + step * i, d)) / np.sqrt(d) for i in range(K)]
    return X, [
        np.where(Xi @ u + 0.3 * rng.normal(size=len(Xi)) >= 0, 1.0, -1.0) for Xi, u in zip(X, teachers.T, strict=True)
    ]


def owners(y):
    return np.repeat(np.arange(len(y)), [len(one) for one in y])


def features(X, y, gamma, eps, W=None):
    W = np.zeros((X[0].shape[1], len(X))) if W is None else W
    return feature_learning(sparse.csr_array(np.vstack(X)), np.concatenate(y), owners(y), gamma, eps, W)


def traced(X, y, lam, loss, W=None):
    task = owners(y)
    W = np.zeros((X[0].shape[1], len(X))) if W is None else W
    return trace_norm(sparse.csr_array(np.vstack(X)), np.concatenate(y), task, np.bincount(task), lam, loss, W)


@pytest.mark.parametrize(("gamma", "eps"), [(1.0, 1e-2), (0.1, 1e-3), (10.0, 1e-2)])
@pytest.mark.parametrize(("n", "d"), [(3, 6), (12, 4), (2, 20), (2, 60)])
def test_feature_learning_is_the_oracle(gamma, eps, n, d):
    X, y = tasks(n, n=n, d=d)
    expected, found = mtfl(X, y, gamma, eps), features(X, y, gamma, eps)
    np.testing.assert_allclose(found.W, expected, atol=1e-7)
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(features(X, y, gamma, eps, rng.normal(size=(d, 4))).W, expected, atol=1e-7)
    assert features(X, y, gamma, eps, found.W).steps <= 2


def test_tables_that_are_too_large_for_one(monkeypatch):
    X, y = tasks(2)
    together = features(X, y, 1.0, 1e-2).W
    monkeypatch.setattr(low_rank_fits, "TOGETHER", 10)
    np.testing.assert_allclose(features(X, y, 1.0, 1e-2).W, together, atol=1e-9)


def test_extrapolation_saves_most_of_the_steps():
    X, y = tasks(0)
    found = features(X, y, 1.0, 1e-4)
    assert found.steps < 150  # the alternation alone takes more than a thousand
    value = mtfl_objective(found.W, X, y, 1.0, 1e-4)
    for seed in range(5):
        off = found.W + 1e-4 * np.random.default_rng(seed).normal(size=found.W.shape)
        assert value < mtfl_objective(off, X, y, 1.0, 1e-4)


def test_large_weights_end_a_fit_at_a_relative_change():
    """Weights of a million change by more than CLOSE at every step, by rounding alone."""
    X, y = tasks(1)
    large = [1e6 * one for one in y]
    assert features(X, large, 1.0, 1e10).steps < 3 * features(X, y, 1.0, 1e-2).steps
    assert traced(X, large, 1e5, SQUARE).steps < 3 * traced(X, y, 0.1, SQUARE).steps


def test_feature_learning_against_a_convex_solver():
    X, y = tasks(1)
    W = cp.Variable((6, 4))
    loss = sum(cp.sum_squares(Xi @ W[:, i] - yi) for i, (Xi, yi) in enumerate(zip(X, y, strict=True)))
    problem = cp.Problem(cp.Minimize(loss + 0.5 * cp.square(cp.normNuc(cp.hstack([W, 0.1 * np.eye(6)])))))
    problem.solve(solver="CLARABEL")
    assert mtfl_objective(features(X, y, 0.5, 1e-2).W, X, y, 0.5, 1e-2) == pytest.approx(problem.value, rel=1e-7)


@pytest.mark.parametrize("lam", [0.003, 0.03, 0.3])
@pytest.mark.parametrize(("loss", "name"), [(LOGISTIC, "logistic"), (SQUARE, "squared")])
def test_trace_norm_is_the_oracle(lam, loss, name):
    X, y = tasks(3, n=2)
    expected, found = trml(X, y, lam, name), traced(X, y, lam, loss)
    np.testing.assert_allclose(found.W, expected, atol=1e-7)
    start = np.random.default_rng(0).normal(size=found.W.shape)
    np.testing.assert_allclose(traced(X, y, lam, loss, start).W, expected, atol=1e-7)
    assert traced(X, y, lam, loss, found.W).steps <= 2


def test_trace_norm_against_a_convex_solver():
    X, y = tasks(4)
    W = cp.Variable((6, 4))
    loss = sum(cp.sum_squares(Xi @ W[:, i] - yi) / len(yi) for i, (Xi, yi) in enumerate(zip(X, y, strict=True)))
    problem = cp.Problem(cp.Minimize(loss + 0.05 * cp.normNuc(W)))
    problem.solve(solver="CLARABEL")
    found = traced(X, y, 0.05, SQUARE).W
    value = trml_loss(found, X, y, "squared")[0] + 0.05 * np.linalg.svd(found, compute_uv=False).sum()
    assert value == pytest.approx(problem.value, rel=1e-7)
    with_logistic = traced(X, y, 0.05, LOGISTIC).W
    value, gradient = trml_loss(with_logistic, X, y, "logistic")
    # W is the minimum if -gradient / lam is a subgradient of the trace norm at W.
    assert np.linalg.norm(gradient, 2) <= 0.05 * (1 + 1e-6)
    assert -np.sum(gradient * with_logistic) == pytest.approx(
        0.05 * np.linalg.svd(with_logistic, compute_uv=False).sum(), rel=1e-6
    )


def test_a_huge_penalty_leaves_nothing_and_rows_of_zeros_too():
    X, y = tasks(5)
    assert not traced(X, y, 100.0, LOGISTIC).W.any()
    assert not traced([0.0 * one for one in X], y, 0.1, SQUARE).W.any()
    assert np.abs(features(X, y, 1e9, 1e-2).W).max() < 1e-5


def test_the_bound_on_a_large_norm():
    rng = np.random.default_rng(0)
    X = sparse.random_array((1100, 1030), density=0.01, rng=rng, format="csr")
    exact = np.linalg.norm(X.toarray(), 2) ** 2
    assert exact <= _squared_norm(X) <= 40 * exact
    small = X[:50]
    assert _squared_norm(small) == pytest.approx(np.linalg.norm(small.toarray(), 2) ** 2, rel=1e-10)
