"""Comparators in hindsight against brute force, closed forms, and the sets that must contain them."""

import itertools
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from weft.evaluation import best_in_hindsight, best_linear, loss_and_slope
from weft.guarantees.measures import LOSSES, simplex_variance, variance

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=12, deadline=None)


def problem(seed, N=3, d=2, n=30, loss="square"):
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(n, d)), rng.integers(N, size=n)
    y = np.sum(X * rng.normal(size=(N, d))[task], axis=1) + rng.normal(size=n)
    if loss in ("logistic", "hinge"):
        y = np.where(y > 0, 1.0, -1.0)
    y[rng.random(n) < 0.1] = np.nan
    return X, y, task


def total(U, X, y, task, loss):
    return np.sum(loss_and_slope(loss, np.sum(X * U[task], axis=1), y, 0.1)[0])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sigma", [None, 0.0, 0.3])
def test_no_feasible_point_is_better_in_space(loss, sigma):
    X, y, task = problem(1, loss=loss)
    U = best_in_hindsight(X, y, task, 3, loss, D=0.8, sigma=sigma)
    assert np.linalg.norm(U, axis=1).max() <= 0.8 * (1 + 1e-12)
    assert sigma is None or variance(U) <= (sigma * 0.8) ** 2 * (1 + 1e-12) + 1e-24
    best, rng = total(U, X, y, task, loss), np.random.default_rng(0)
    for step in 10.0 ** rng.uniform(-3, 0.5, size=400):
        V = U + step * rng.normal(size=U.shape)
        V *= np.minimum(1, 0.8 / np.linalg.norm(V, axis=1))[:, None]
        if sigma is not None and variance(V) > 0:
            V = V.mean(axis=0) + (V - V.mean(axis=0)) * min(1, sigma * 0.8 / np.sqrt(variance(V)))
        assert total(V, X, y, task, loss) >= best - 1e-6


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sigma", [None, 0.0, 0.3])
def test_no_feasible_point_is_better_on_the_simplex(loss, sigma):
    X, y, task = problem(2, loss=loss)
    U = best_in_hindsight(X, y, task, 3, loss, sigma=sigma, domain="simplex")
    np.testing.assert_allclose(U.sum(axis=1), 1, atol=1e-12)
    assert U.min() >= 0
    assert sigma is None or simplex_variance(U) <= sigma**2 * (1 + 1e-9) + 1e-18
    # Brute force: in two dimensions a row is (a, 1 - a), and the loss is a sum over tasks.
    at = np.linspace(0, 1, 41)
    table = np.array([[total(np.array([[a, 1 - a]] * 3), X[task == i], y[task == i], task[task == i], loss)
                       for a in at] for i in range(3)])  # fmt: skip
    rows = np.array(list(itertools.product(range(41), repeat=3)))
    low = 1.0 - (1.0 if sigma is None else sigma)
    first, second = at[rows], 1 - at[rows]
    allowed = (first.min(axis=1) >= low * first.max(axis=1)) & (second.min(axis=1) >= low * second.max(axis=1))
    losses = table[np.arange(3), rows].sum(axis=1)[allowed]
    best = total(U, X, y, task, loss)
    assert best <= losses.min() + 1e-6
    assert best >= losses.min() - 1.0  # and the grid comes near


def test_square_loss_without_limits_is_least_squares():
    X, y, task = problem(3, N=2, n=40)
    U = best_in_hindsight(sparse.csr_matrix(X), y, task, 4, "square")
    np.testing.assert_array_equal(U[2:], 0.0)
    for i in range(2):
        rows = (task == i) & ~np.isnan(y)
        np.testing.assert_allclose(X[rows].T @ (X[rows] @ U[i] - y[rows]), 0, atol=1e-9)
    np.testing.assert_allclose(best_in_hindsight(X, y, task, 2, "square", D=1e3), U[:2], atol=1e-5)


def test_linear_loss_in_a_ball_has_a_closed_form():
    X, y, task = problem(4)
    G = np.zeros((3, 2))
    np.add.at(G, task, np.where(np.isnan(y), 0, 1)[:, None] * X)
    U = best_in_hindsight(X, y, task, 3, "linear", D=2.0)
    np.testing.assert_allclose(U, -2 * G / np.linalg.norm(G, axis=1, keepdims=True), atol=1e-5)
    U = best_in_hindsight(X, y, task, 3, "linear", D=2.0, sigma=0.0)
    np.testing.assert_allclose(U, np.tile(-2 * G.sum(axis=0) / np.linalg.norm(G.sum(axis=0)), (3, 1)), atol=1e-5)


@few
@given(seeds, st.integers(1, 4), st.integers(1, 4), st.sampled_from([0.0, 0.05, 0.5, 0.9, 1.0, None]))
def test_the_linear_program_and_the_convex_solver_agree(seed, N, d, sigma):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(N, d))
    U = best_linear(G, sigma)
    np.testing.assert_allclose(U.sum(axis=1), 1, atol=1e-12)
    s = 1.0 if sigma is None else sigma
    assert U.min() >= 0
    assert simplex_variance(U) <= s**2 * (1 + 1e-9) + 1e-18
    # |<g, u> + 99| is <g, u> + 99 all over the simplex, and is computed by the other branch.
    V = best_in_hindsight(G, np.full(N, -99.0), np.arange(N), N, "absolute", sigma=sigma, domain="simplex")
    assert np.sum(G * V) == pytest.approx(np.sum(G * U), abs=1e-5)


def test_linear_program_by_hand():
    np.testing.assert_allclose(best_linear([[0, 1], [3, 0]], 1.0), np.eye(2))
    np.testing.assert_allclose(best_linear([[0, 1], [3, 0]], 0.0), [[0, 1], [0, 1]], atol=1e-12)
    # sigma = 1/2: u_1 = (2a, 1 - 2a), u_2 = (a, 1 - a) with 1 - 2a >= (1 - a)/2, so a = 1/3; g = (0, 1), (1.2, 0).
    np.testing.assert_allclose(best_linear([[0, 1], [1.2, 0]], 0.5), [[2 / 3, 1 / 3], [1 / 3, 2 / 3]], atol=1e-9)


def test_many_rows_are_one_expression():
    rng = np.random.default_rng(5)
    X, task = sparse.random(20_000, 30, density=0.1, random_state=6, format="csr"), rng.integers(8, size=20_000)
    y = X @ rng.normal(size=30) + 0.1 * rng.normal(size=20_000)
    U = best_in_hindsight(X, y, task, 8, "square", D=6.0, sigma=0.05)
    V = best_in_hindsight(X, y, task, 8, "square")
    assert total(V, X.toarray(), y, task, "square") <= total(U, X.toarray(), y, task, "square") < 250


def test_what_is_refused():
    X, y, task = problem(7)
    for change, text in (
        ({"sigma": 0.5}, "give D as well"),
        ({"sigma": -1.0, "D": 1.0}, "sigma must be at least 0"),
        ({"D": 0.0}, "D must be finite and above 0"),
        ({"D": 1.0, "domain": "simplex"}, "the simplex has no D"),
        ({"domain": "sphere"}, "domain is one of space, simplex"),
        ({"loss": "cubic"}, "loss is one of"),
        ({"loss": "hinge"}, "-1 and \\+1"),
        ({"loss": "linear"}, "no best comparator here"),
        ({"N": 2}, "N = 2 tasks have 0 to 1"),
        ({"y": y[:3]}, "the numbers must be equal"),
        ({"X": np.where(X.max() == X, np.inf, X)}, "not finite"),
    ):
        arguments = {"X": X, "y": y, "task": task, "N": 3, "loss": "square", **change}
        with pytest.raises(ValueError, match=text):
            best_in_hindsight(**arguments)


def test_a_missing_solver_is_named(monkeypatch):
    X, y, task = problem(8)
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(ImportError, match=r'pip install "weft\[solvers\]"'):
        best_in_hindsight(X, y, task, 3, "absolute", D=1.0)
    best_in_hindsight(X, y, task, 3, "square")
    best_in_hindsight(X, y, task, 3, "linear", domain="simplex", sigma=0.5)
