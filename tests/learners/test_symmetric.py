"""Products, members and factors of symmetric matrices, against dense algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triangles import SIZES, a_gram, dense, lower, near
from weft.learners.budget import symmetric


@pytest.mark.parametrize("n", SIZES)
def test_products(n):
    rng = np.random.default_rng(n)
    G = rng.normal(size=(n, n))
    G += G.T
    u, v = rng.normal(size=(2, n))
    M = lower(G)
    found, added, two_u, two_v = np.full(n, np.nan), v.copy(), np.full(n, np.nan), np.full(n, np.nan)
    symmetric.symmetric_times(M, n, v, found)
    symmetric.add_symmetric_times(M, n, u, added)
    symmetric.symmetric_times_two(M, n, u, v, two_u, two_v)
    near(found, G @ v, 1e-14)
    near(added, v + G @ u, 1e-14)
    near(two_u, G @ u, 1e-14)
    np.testing.assert_array_equal(two_v, found)
    wide, again = lower(G, 2 * n + 40), np.empty(n)
    symmetric.symmetric_times(wide, n, v, again)
    np.testing.assert_array_equal(again, found)
    dense(M, n)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=10), st.integers(0, 10))
@settings(deadline=None)
def test_largest(values, n):
    n = min(n, len(values))
    exact = np.inf if np.isnan(values[:n]).any() else max(map(abs, values[:n]), default=0.0)
    assert symmetric.largest(np.array(values), n) == exact


@pytest.mark.parametrize("n", SIZES)
def test_members(n):
    """A column is taken, written, added, and moved from the last slot."""
    H, k, top = a_gram(n)
    for r in {0, n // 3, n - 1}:
        M, column = lower(H), np.empty(n)
        symmetric.take_column(M, n, r, column)
        np.testing.assert_array_equal(column, H[r])
        symmetric.set_member(M, n, r, k, top)
        exact = H.copy()
        exact[r], exact[:, r], exact[r, r] = k, k, top
        np.testing.assert_array_equal(dense(M, n), exact)
        symmetric.set_member(M, n, n, column, 7.0)
        exact = np.block([[exact, column[:, None]], [column[None], np.array([[7.0]])]])
        np.testing.assert_array_equal(dense(M, n + 1), exact)
        symmetric.move_last(M, n + 1, r)
        M[n] = np.nan
        order = [*range(r), n, *range(r + 1, n)]
        np.testing.assert_array_equal(dense(M, n), exact[np.ix_(order, order)])


@pytest.mark.parametrize("n", SIZES)
def test_factors(n):
    H, *_ = a_gram(n)
    for ridge in (0.0, 0.5):
        U = np.full((n + 3, n + 3), np.nan)
        assert symmetric.factor(lower(H), n, ridge, U)
        assert np.isnan(U[np.tril_indices(n + 3, -1)]).all()
        upper = np.triu(U[:n, :n])
        assert (upper.diagonal() > 0.0).all()
        near(upper.T @ upper, H + ridge * np.eye(n), 1e-14)


def test_what_has_no_factors():
    U = np.empty((3, 3))
    assert symmetric.factor(np.diag([1.0, 1e-9, 1e9]), 3, 0.0, U)
    for M in (np.diag([1.0, 0.0, 1.0]), np.diag([1.0, 1.0, -1.0]), np.ones((3, 3)), np.diag([1.0, np.nan, 1.0])):
        assert not symmetric.factor(M, 3, 0.0, U)
    nearly = np.eye(3)
    nearly[1, 0] = 1.0 - 1e-13
    assert not symmetric.factor(nearly, 3, 0.0, U)
    nearly[1, 0] = 1.0 - 1e-11
    assert symmetric.factor(nearly, 3, 0.0, U)
