"""Proximal steps against their definition: nothing near or far has a smaller objective."""

import cvxpy as cp
import numpy as np
import pytest

from weft.maths.proximal import group_soft, log_shrink, log_values, logdet_prox, nuclear_prox, soft, thin_svd


def log_objective(s, h, rho):
    return 0.5 * (s - h) ** 2 + rho * np.log1p(s * s)


def slope(s, h, rho):
    return s - h + 2 * rho * s / (1 + s * s)


def nuclear(W):
    return np.linalg.svd(W, compute_uv=False).sum()


def logdet(W):
    return np.linalg.slogdet(np.eye(W.shape[1]) + W.T @ W)[1]


def columns(W):
    return np.linalg.norm(W, axis=0).sum()


def wide_range(rng, n):
    """Scalar problems of both regimes, many of them where the second local minimum has just come into being."""
    rho = np.where(rng.random(n) < 0.4, rng.uniform(0, 4, n), rng.uniform(4, 50, n))
    h = np.where(rng.random(n) < 0.5, rng.uniform(0, 40, n), 10 ** rng.uniform(-6, 3, n))
    near = n // 10
    rho[:near] = 4 + 10 ** rng.uniform(-14, 0, near)
    h[:near] = 3 * np.sqrt(3) + 10 ** rng.uniform(-9, 0.3, near) * rng.choice([-1, 1], near)
    return h, rho


def test_log_shrink_is_the_global_minimum():
    h, rho = wide_range(np.random.default_rng(1), 10_000)
    s = log_shrink(h, rho)
    assert ((s >= 0) & (s <= h)).all()
    best, at = np.full(len(h), np.inf), np.zeros(len(h))
    for u in np.linspace(0, 1, 2001):
        value = log_objective(u * h, h, rho)
        at, best = np.where(value < best, u * h, at), np.minimum(best, value)
    # A second grid over the two cells around the best point of the first.
    for u in np.linspace(-1, 1, 201):
        best = np.minimum(best, log_objective(np.maximum(at + u * h / 2000, 0), h, rho))
    assert (log_objective(s, h, rho) <= best * (1 + 4e-16)).all()
    assert (np.abs(slope(s, h, rho)) <= 8e-16 * (1 + h)).all()


def test_log_shrink_agrees_with_the_roots_of_the_cubic():
    h, rho = wide_range(np.random.default_rng(2), 600)
    s = log_shrink(h, rho)
    for one, hat, r in zip(s[60:], h[60:], rho[60:], strict=True):  # the first are triple roots but for rounding
        roots = np.roots([1, -hat, 1 + 2 * r, -hat])
        real = roots.real[np.abs(roots.imag) < 1e-7 * (1 + hat)]
        values = log_objective(real, hat, r)
        assert log_objective(one, hat, r) <= values.min() * (1 + 1e-12)
        assert np.abs(real - one).min() <= 1e-6 * (1 + hat)


def test_log_shrink_between_three_roots():
    rho, h = 4.2, 5.368
    roots = np.sort(np.roots([1, -h, 1 + 2 * rho, -h]).real)
    np.testing.assert_allclose(roots, [1.352, 1.759, 2.257], atol=5e-4)
    lowest = roots[np.argmin(log_objective(roots, h, rho))]
    np.testing.assert_allclose(log_shrink(h, rho), lowest, rtol=1e-12)
    assert lowest != roots[1]


@pytest.mark.parametrize("rho", [4.2, 6.0, 20.0, 50.0])
def test_log_shrink_leaps_once_beyond_rho_4(rho):
    h = np.linspace(0, 3 * rho, 50_001)
    s = log_shrink(h, rho)
    steps = np.diff(s)
    assert (steps > 0).all()
    last = np.sqrt(rho - 1 + np.sqrt(rho * (rho - 4)))
    first = np.sqrt(2 * rho + 1) / last
    leap = np.argmax(steps)
    assert s[leap] <= first
    assert s[leap + 1] >= last
    # Everywhere else the slope of the inverse, 1 + 2 rho (1-s^2)/(1+s^2)^2, bounds how fast s may move.
    rest = np.delete(steps, leap)
    curvature = 1 + 2 * rho * (1 - s**2) / (1 + s**2) ** 2
    bound = np.delete(np.maximum(1 / curvature[1:], 1 / curvature[:-1]), leap)
    assert (rest <= 1.01 * bound * (h[1] - h[0])).all()


def test_log_shrink_is_continuous_up_to_rho_4():
    h = np.linspace(0, 12, 200_001)
    assert np.diff(log_shrink(h, 4.0)).max() < 0.1  # a vertical tangent at h = 3 sqrt(3), and no leap
    assert np.diff(log_shrink(h, 3.9)).max() < 40 * (h[1] - h[0]) * 1.01  # 1/(1 - rho/4) = 40


def test_log_shrink_at_the_edges():
    h = np.array([0.0, 1e-300, 1e-8, 1.0, 7.0, 1e6])
    np.testing.assert_array_equal(log_shrink(h, 0.0), h)
    np.testing.assert_array_equal(log_shrink(-h, 4.5), -log_shrink(h, 4.5))
    np.testing.assert_allclose(log_shrink(1e-9, np.array([0.1, 4.0, 100.0])), 1e-9 / (1 + 2 * np.array([0.1, 4, 100])))
    assert log_shrink(0.0, 50.0) == 0.0
    assert 0 < log_shrink(1.0, 1e12) < 1e-11
    assert log_shrink(3.0, 1.0).shape == ()
    assert log_shrink(np.ones((2, 3)), 1.0).shape == (2, 3)


@pytest.mark.parametrize("rho", [0.0, 0.5, 4.0, 4.2, 6.0, 20.0, 50.0])
def test_singular_values_are_shrunk_alike(rho):
    """The compiled text has branches of its own; both minima occur from rho = 4 on."""
    h = np.concatenate([np.linspace(0, 3 * rho + 1, 400), [1e-9, 1e3, 1e6]])
    found = log_values(h, rho)
    np.testing.assert_allclose(found, log_shrink(h, rho), rtol=1e-12, atol=1e-15)
    last = np.sqrt(rho - 1 + np.sqrt(rho * (rho - 4))) if rho > 4 else 0.0
    assert {bool(s > last) for s in found} == {True, False}


def test_a_value_does_not_depend_on_its_neighbours():
    h, rho = wide_range(np.random.default_rng(3), 300)
    np.testing.assert_array_equal(log_shrink(h, rho), [log_shrink(a, b) for a, b in zip(h, rho, strict=True)])


def test_soft_beats_a_grid():
    rng = np.random.default_rng(4)
    s, tau = rng.normal(size=200) * 3, rng.exponential(size=200)
    found = soft(s, tau)
    for w in np.linspace(-10, 10, 4001):
        assert (0.5 * (found - s) ** 2 + tau * np.abs(found) <= 0.5 * (w - s) ** 2 + tau * np.abs(w) + 1e-15).all()


def steps(U, strength):
    return [
        (group_soft(U, strength), columns),
        (nuclear_prox(U, strength).matrix, nuclear),
        (logdet_prox(U, strength).matrix, logdet),
    ]


@pytest.mark.parametrize("shape", [(12, 5), (5, 5), (3, 6), (1, 4), (7, 1)])
@pytest.mark.parametrize("strength", [0.3, 1.5, 6.0])
def test_steps_beat_other_matrices(shape, strength):
    rng = np.random.default_rng(5)
    U = rng.normal(size=shape) * 2
    for W, penalty in steps(U, strength):

        def objective(M, penalty=penalty):
            return 0.5 * np.square(M - U).sum() + strength * penalty(M)

        least = objective(W)
        for scale in 10.0 ** np.arange(-6, 1.5):
            for _ in range(20):
                assert least <= objective(W + scale * rng.normal(size=shape)) + 1e-12
        for share in np.linspace(0, 1.2, 60):
            assert least <= objective(share * U) + 1e-12
            assert least <= objective(share * W) + 1e-12


def test_nuclear_prox_against_a_convex_solver():
    rng = np.random.default_rng(6)
    for shape, tau in [((6, 4), 0.7), ((4, 6), 1.5), ((8, 3), 0.05)]:
        U = rng.normal(size=shape)
        W = cp.Variable(shape)
        problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(W - U) + tau * cp.normNuc(W)))
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
        found = nuclear_prox(U, tau)
        np.testing.assert_allclose(found.matrix, W.value, atol=1e-6)
        assert 0.5 * np.square(found.matrix - U).sum() + tau * nuclear(found.matrix) <= problem.value + 1e-9


def test_no_penalty_changes_nothing_and_a_huge_one_leaves_nothing():
    U = np.random.default_rng(7).normal(size=(9, 4))
    U[:, 2] = 0.0
    for W, _ in steps(U, 0.0):
        np.testing.assert_array_equal(W, U)
    for W, _ in steps(U, 1e9)[:2]:
        np.testing.assert_array_equal(W, 0.0)
    assert 0 < np.abs(logdet_prox(U, 1e9).matrix).max() < 1e-8
    for W, _ in steps(U, 0.5):
        np.testing.assert_array_equal(W[:, 2], 0.0)
    for W, _ in steps(np.zeros((4, 3)), 0.5):
        np.testing.assert_array_equal(W, 0.0)


def test_values_and_rank_are_those_of_the_result():
    rng = np.random.default_rng(8)
    U = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 8)) + 1e-3 * rng.normal(size=(30, 8))
    for step, rank in [(nuclear_prox(U, 0.1), 3), (logdet_prox(U, 0.1), 8), (nuclear_prox(U, 0.0), 8)]:
        np.testing.assert_allclose(step.values, np.linalg.svd(step.matrix, compute_uv=False), atol=1e-12)
        assert step.rank == rank == np.linalg.matrix_rank(step.matrix)
    assert nuclear_prox(U, 1e6).rank == 0


def test_thin_svd_factors():
    rng = np.random.default_rng(9)
    for shape in [(500, 7), (7, 500), (5, 5), (3, 0)]:
        U = rng.normal(size=shape)
        P, s, Qt = thin_svd(U)
        np.testing.assert_allclose((P * s) @ Qt, U, atol=1e-13)
        np.testing.assert_allclose(P.T @ P, np.eye(len(s)), atol=1e-13)
        np.testing.assert_allclose(Qt @ Qt.T, np.eye(len(s)), atol=1e-13)
        np.testing.assert_allclose(s, np.linalg.svd(U, compute_uv=False), rtol=1e-13)


def test_arguments_are_left_alone():
    U = np.random.default_rng(10).normal(size=(6, 4))
    copy = U.copy()
    for W, _ in steps(U, 0.0) + steps(U, 0.4):
        assert not np.shares_memory(W, U)
    np.testing.assert_array_equal(U, copy)


def test_columns_of_zeros_stay_exactly_zero():
    rng = np.random.default_rng(11)
    for _ in range(50):
        U = rng.normal(size=rng.integers(2, 30, 2))
        empty = rng.random(U.shape[1]) < 0.4
        U[:, empty] = 0.0
        for W, _ in steps(U, 0.1):
            np.testing.assert_array_equal(W[:, empty], 0.0)
