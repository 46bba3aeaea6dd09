"""Small proximal steps in compiled code against LAPACK and full steps."""

import numpy as np
import pytest

from weft.learners.low_rank import lapack_steps, pieces
from weft.learners.low_rank.compiled_steps import add_scaled, few_dots, fold, shrink
from weft.learners.low_rank.eigen import eigen, new_desk
from weft.learners.low_rank.pieces import reach
from weft.maths.proximal import log_shrink, log_values, logdet_prox, nuclear_prox, soft, soft_values
from weft.storage.sparse_rows import Row


def spectra(rng, m):
    """Matrices of every kind: full, of low rank, diagonal, with equal eigenvalues, graded over many magnitudes."""
    X = rng.normal(size=(m + 3, m))
    yield X.T @ X
    yield X[: m // 2 + 1].T @ X[: m // 2 + 1]
    yield np.diag(rng.random(m))
    yield np.eye(m)
    yield np.zeros((m, m))
    yield np.ones((m, m))
    scale = 10.0 ** -np.linspace(0, 12, m)
    yield scale[:, None] * (X.T @ X) * scale
    Q = np.linalg.qr(rng.normal(size=(m, m)))[0]
    yield (Q * np.repeat([1.0, 2.0], [m // 2, m - m // 2])) @ Q.T
    banded = np.diag(np.ones(m)) + np.diag(np.ones(m - 1), 1) + np.diag(np.ones(m - 1), -1)
    yield banded
    side = rng.integers(-2, 3, m - 1).astype(float)  # integers: bulges that are exactly 0
    yield np.diag(rng.integers(-1, 2, m).astype(float)) + np.diag(side, 1) + np.diag(side, -1)
    scale = np.where(np.arange(m) % 2, 1.0, 10.0 ** -rng.integers(70, 150))  # squares that underflow
    yield scale[:, None] * (X.T @ X) * scale


@pytest.mark.parametrize("m", [1, 2, 3, 4, 7, 12, 16])
def test_eigenvalues_and_vectors(m):
    rng, space = np.random.default_rng(m), new_desk()
    for _ in range(20):
        for A in spectra(rng, m):
            A = (A + A.T) / 2
            space.A[:], space.A[:m, :m] = 0.0, A
            assert eigen(m, space)
            w, Q = space.w[:m], space.Q[:m, :m]
            size = np.abs(A).max() * m
            np.testing.assert_allclose(np.sort(w), np.linalg.eigvalsh(A), atol=1e-14 * size)
            np.testing.assert_allclose(Q @ Q.T, np.eye(m), atol=1e-13)
            np.testing.assert_allclose((Q.T * w) @ Q, A, atol=1e-14 * size)


def test_numbers_that_are_not_finite_come_to_an_end():
    space = new_desk()
    space.A[:] = np.nan
    eigen(4, space)
    U = pieces.zeros(2, 3)
    reach(U, 2, 3)
    U.G[:] = np.inf
    assert shrink(U, False, 0.1, space) == np.inf


@pytest.mark.parametrize("logd", [False, True])
@pytest.mark.parametrize("strength", [0.0, 1e-6, 0.01, 0.5, 9.0])
@pytest.mark.parametrize(("d", "m"), [(1, 1), (2, 4), (50, 5), (40, 12)])
def test_steps_equal_full_ones(d, m, strength, logd):
    """Rows for one column each, some of them 0, and shrinking in between; the arrays have room to spare."""
    rng = np.random.default_rng(d)
    U, W, space = pieces.zeros(d + 3, m + 2), np.zeros((d, m)), new_desk()
    for t in range(60):
        k, indices = int(rng.integers(m if t > 5 else 1)), np.sort(rng.permutation(d)[: rng.integers(0, 7)])
        values, a = rng.normal(size=len(indices)), float(rng.choice([-0.7, 0.0, 1.3]))
        reach(U, d, k + 1)
        x = Row(indices, values, 0, len(indices))
        add_scaled(U, k, x, a, pieces.dots(U, indices, values))
        W[indices, k] += a * values
        total = shrink(U, logd, strength, space)
        full = (logdet_prox if logd else nuclear_prox)(W, strength)
        W = full.matrix
        np.testing.assert_allclose(pieces.matrix(U)[:d, :m], W, atol=2e-8)
        np.testing.assert_allclose(U.G[:m, :m], W.T @ W, atol=1e-7)
        assert total == pytest.approx(full.values.sum(), abs=1e-6)
        np.testing.assert_array_equal(pieces.matrix(U)[:d, :m][:, ~W.any(axis=0)], 0.0)
        if t == 40:
            lapack_steps.fold(U)
    assert strength > 0.1 or np.abs(W).max() > 0.1


def test_scores_and_folding():
    """To the bit what any number of columns gives; folding changes the pieces and not the matrix."""
    rng, space = np.random.default_rng(4), new_desk()
    U, wide, c = pieces.zeros(30, 11), np.zeros(30), np.full(16, np.nan)
    for t in range(40):
        indices = np.sort(rng.permutation(25)[:6])
        values = rng.normal(size=6)
        x = Row(indices, values, 0, 6)
        reach(U, 25, min(1 + t // 3, 9))
        few_dots(U, x, wide, space, c)
        np.testing.assert_array_equal(c[:11], pieces.dots(U, indices, values))
        np.testing.assert_array_equal(c[11:], 0.0)
        assert not wide.any()
        add_scaled(U, int(rng.integers(U.counts[pieces.TASKS])), x, 0.5, c)
        shrink(U, False, 0.05, space)
        if t % 10 == 9:
            before = pieces.matrix(U)
            fold(U, space)
            np.testing.assert_allclose(U.B, before, atol=1e-14)
            np.testing.assert_allclose(U.G, before.T @ before, atol=1e-13)
            np.testing.assert_array_equal(U.S[:9, :9], np.diag(np.arange(9) < U.counts[pieces.TASKS]))
            assert not U.used.any()
            assert not U.counts[pieces.LOOSE]
            np.testing.assert_array_equal(pieces.matrix(U), U.B)


def test_values_one_by_one():
    rng = np.random.default_rng(0)
    for _ in range(300):
        h, rho = rng.exponential(size=20) * 10.0 ** rng.uniform(-3, 2), float(10.0 ** rng.uniform(-3, 1.7))
        np.testing.assert_allclose(log_values(h, rho), log_shrink(h, rho), rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(soft_values(h, rho), soft(h, rho))
    assert log_values(np.array([0.0, 2.0]), 0.0).tolist() == [0.0, 2.0]
