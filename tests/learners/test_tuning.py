"""Theory's parameters: closed forms of the paper, optimality, limits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.graphs.interaction import clique, cliques
from weft.learners.descent.tuning import (
    adaptive_constant,
    adaptive_constant_clique,
    best_b,
    clique_inverse_diagonal,
    paper_b,
    radius,
    simplex_variance,
    theory_eta,
    variance,
)


def bound(N, b, sigma):
    """Prop. 2 without D L sqrt(T): the square of what multiplies it."""
    s = sigma**2 * (N - 1) / N
    return (1 + s * b) * (b + N) / (1 + b)


@given(N=st.integers(2, 500), sigma=st.floats(0.01, 1.0), factor=st.floats(0.0, 3.0))
@settings(deadline=None)
def test_the_best_b_makes_the_bound_least(N, sigma, factor):
    b, s = best_b(N, sigma), sigma**2 * (N - 1) / N
    assert b >= 0.0
    assert bound(N, b, sigma) == pytest.approx((math.sqrt(1 - s) + math.sqrt(s * (N - 1))) ** 2, rel=1e-9)
    assert bound(N, b, sigma) <= bound(N, factor * b + factor, sigma) * (1 + 1e-9)


def test_rules_at_the_ends():
    assert best_b(10, 0.0) == math.inf
    assert best_b(10, 1.0) == best_b(10, 3.0) == best_b(1, 0.0) == best_b(1, 0.5) == 0.0
    assert [paper_b(7, sigma) for sigma in (0.0, 0.5, 1.0, 2.0)] == [7.0, 7.0, 0.0, 0.0]


@pytest.mark.parametrize("N", [1, 2, 30])
@pytest.mark.parametrize("b", [0.0, 0.1, 30.0, 1e200, math.inf])
def test_the_diagonal_of_the_clique(N, b):
    assert clique_inverse_diagonal(N, b) == pytest.approx(clique(N, b).largest_diagonal, rel=1e-15)


@given(
    N=st.integers(1, 100), b=st.floats(0.0, 1e6), D=st.floats(0.01, 100), sigma=st.floats(0, 1), T=st.integers(1, 10**9)
)
@settings(deadline=None)
def test_steps_and_radii(N, b, D, sigma, T):
    s = sigma**2 * (N - 1) / N
    assert radius(N, b, D, sigma) == pytest.approx(math.sqrt(N * D**2 * (1 + b * sigma**2 * (N - 1) / N)), rel=1e-12)
    eta = N * D / 3.0 * math.sqrt((1 + s * b) * (1 + b) / ((b + N) * T))
    assert theory_eta(N, b, D, 3.0, sigma, float(T)) == pytest.approx(eta, rel=1e-12)
    c = D * math.sqrt(0.4 * N * (N + 1) * (1 + (N - 1) * sigma**2))
    assert adaptive_constant_clique(N, float(N), D, sigma, 0.4) == pytest.approx(c, rel=1e-12)
    general = adaptive_constant(clique(N, b), radius(N, b, D, sigma), 0.4)
    assert adaptive_constant_clique(N, b, D, sigma, 0.4) == pytest.approx(general, rel=1e-12)


def test_one_shared_model():
    assert radius(9, math.inf, 2.0, 0.0) == radius(9, math.inf, 2.0, 0.7) == 6.0
    assert theory_eta(9, math.inf, 2.0, 0.5, 0.0, 100.0) == pytest.approx(9 * 2.0 / (0.5 * 10.0), rel=1e-14)
    assert theory_eta(9, 1e15, 2.0, 0.5, 0.0, 100.0) == pytest.approx(3.6, rel=1e-12)


def test_the_constant_of_a_graph_follows_its_loneliest_task():
    assert adaptive_constant(cliques([0, 0, 1]), 3.0) == pytest.approx(3.0 * math.sqrt(2.0), rel=1e-15)


def test_the_ball_holds_the_comparators():
    """Every u with |u_i| <= D and Var <= sigma^2 D^2 lies in the tight ball; mirrored pairs reach its surface."""
    rng = np.random.default_rng(0)
    for N in (2, 5, 12):
        U = rng.normal(size=(N, 3))
        U /= np.linalg.norm(U, axis=1).max()
        sigma = math.sqrt(variance(U))
        for b in (0.5, N, 100.0):
            assert clique(N, b).quadratic(U) <= radius(N, b, 1.0, sigma) ** 2 * (1 + 1e-12)
    U = np.array([[1.0, 0.0], [-1.0, 0.0]] * 3)
    assert clique(6, 4.0).quadratic(U) == pytest.approx(radius(6, 4.0, 1.0, math.sqrt(variance(U))) ** 2, rel=1e-12)


def test_variances():
    U = np.array([[1.0, 2.0], [3.0, -2.0], [2.0, 3.0]])
    assert variance(U) == pytest.approx(U.var(axis=0, ddof=1).sum())
    pairs = sum(((U[i] - U[j]) ** 2).sum() for i in range(3) for j in range(3)) / 6
    assert 2 * variance(U) == pytest.approx(pairs)
    centred = U - U.mean(axis=0)
    assert variance(U, 1.0) == pytest.approx((np.abs(centred).sum(axis=1) ** 2).sum() / 2)
    assert variance(U, np.inf) == pytest.approx((np.abs(centred).max(axis=1) ** 2).sum() / 2)
    assert variance(U[:1]) == 0.0


def test_the_variance_on_the_simplex():
    U = np.array([[0.6, 0.4, 0.0], [0.3, 0.6, 0.1]])
    assert simplex_variance(U) == 1.0
    assert simplex_variance(U[:, :2]) == pytest.approx(0.25)
    assert simplex_variance(U[:1]) == 0.0
    sigma = math.sqrt(simplex_variance(U[:, :2]))  # u_i >= (1 - sigma) u_k
    assert (U[0, :2] >= (1 - sigma) * U[1, :2] - 1e-12).all()
    assert (U[1, :2] >= (1 - sigma) * U[0, :2] - 1e-12).all()
