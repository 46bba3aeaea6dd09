"""Support vector machines: the minimum, from any start, against an interior point method."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from oracles.smoothed_batch import dual, primal
from oracles.smoothed_batch import svm as oracle
from weft.learners.refit.svm import GAP, svm


def problem(seed, n, d, share=1.0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < share)
    y = np.where(X @ rng.normal(size=d) + noise * rng.normal(size=n) >= 0, 1.0, -1.0)
    c = rng.random(n) / n
    X[0], c[1], X[3], y[3] = 0.0, 0.0, X[2], -y[2]  # a row of zeros, one without weight, one twice with both labels
    return X, y, c


@pytest.mark.parametrize(
    ("n", "d", "reg"), [(40, 3, 1e-2), (60, 30, 1e-2), (30, 60, 1e-3), (80, 4, 10.0), (200, 10, 1e-4), (90, 1, 1e-2)]
)
def test_the_minimum_from_any_start(n, d, reg):
    X, y, c = problem(n, n, d)
    w, _ = oracle(X, y, c, reg)
    rng = np.random.default_rng(0)
    for start in (np.zeros(n), c, c * rng.random(n), 3.0 * c):
        fit = svm(sparse.csr_array(X), y, c, reg, start)
        np.testing.assert_allclose(fit.w, w, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(fit.margins, y * (X @ fit.w), atol=1e-12 * (1 + np.abs(fit.margins).max()))
        assert fit.a.min() >= 0
        assert np.all(fit.a <= c)
        assert primal(X, y, c, reg, fit.w) - dual(X, y, c, reg, fit.a) <= 2 * GAP * c.sum()


@pytest.mark.parametrize(("n", "d", "share"), [(700, 600, 0.05), (600, 2000, 0.02)])
def test_faces_that_are_too_large_for_a_matrix(n, d, share):
    """Coordinate descent alone: the gap proves the minimum."""
    X, y, c = problem(1, n, d, share, noise=0.1)
    fit = svm(sparse.csr_array(X), y, c, 1e-3, np.zeros(n))
    assert np.sum((fit.a > 0) & (fit.a < c)) > 256
    assert 0 <= primal(X, y, c, 1e-3, fit.w) - dual(X, y, c, 1e-3, fit.a) <= 2 * GAP * c.sum()


def test_a_start_at_the_minimum_is_seen_at_once():
    X, y, c = problem(5, 300, 8)
    rows = sparse.csr_array(X)
    cold = svm(rows, y, c, 1e-2, np.zeros(300))
    assert cold.turns > 2
    assert svm(rows, y, c, 1e-2, cold.a).turns == 1


def test_against_another_solver():
    X, y, c = problem(2, 50, 4)
    v = cp.Variable(4)
    found = cp.Problem(cp.Minimize(c @ cp.pos(1 - cp.multiply(y, X @ v)) + 5e-3 * cp.sum_squares(v)))
    found.solve(solver="CLARABEL")
    fit = svm(sparse.csr_array(X), y, c, 1e-2, np.zeros(50))
    assert primal(X, y, c, 1e-2, fit.w) == pytest.approx(found.value, rel=1e-7)


def test_extremes():
    X = sparse.csr_array(np.zeros((3, 2)))
    fit = svm(X, np.array([1.0, -1.0, 1.0]), np.ones(3), 0.1, np.zeros(3))
    assert fit.w.tolist() == [0.0, 0.0]
    assert fit.a.tolist() == [1.0, 1.0, 1.0]
    assert svm(sparse.csr_array((2, 0)), np.ones(2), np.ones(2), 0.1, np.zeros(2)).w.shape == (0,)
    for size in (1e150, 1e-150):  # as large and as small as rows may be
        fit = svm(
            sparse.csr_array(np.array([[size, 0.0], [size, size]])), np.array([1.0, -1.0]), np.ones(2), 1.0, np.zeros(2)
        )
        assert np.isfinite(fit.w).all()
