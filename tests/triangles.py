"""Gram matrices of which only the lower triangle is used; all else is NaN and must stay NaN."""

import numpy as np

SIZES = [1, 2, 3, 4, 5, 15, 16, 17, 18, 31, 32, 33, 34, 50, 67]


def lower(G, capacity=None):
    """The lower triangle of G as kernels store it."""
    n = len(G)
    M = np.full((capacity or n + 3, capacity or n + 3), np.nan)
    M[:n, :n][np.tril_indices(n)] = G[np.tril_indices(n)]
    return M


def dense(M, n):
    """The symmetric matrix; nothing else may have been written."""
    outside = np.ones(M.shape, bool)
    outside[:n, :n][np.tril_indices(n)] = False
    assert np.isnan(M[outside]).all()
    L = np.tril(np.nan_to_num(M[:n, :n], nan=np.inf))
    return L + np.tril(L, -1).T


def gaussian(X, Z, gamma):
    return np.exp(-gamma * ((X[:, None] - Z[None]) ** 2).sum(axis=-1))


def a_gram(n, seed=0, gamma=0.5):
    """A Gram matrix of n members and one more, the kernel column of that one, and its K(t,t)."""
    X = np.random.default_rng(seed).normal(size=(n + 1, 4))
    G = gaussian(X, X, gamma)
    return G[:n, :n], G[:n, n].copy(), float(G[n, n])


def extended(n, seed=0, gamma=0.5):
    """H, Q, k, K(t,t), a and delta^2 of a new member, by numpy.linalg."""
    H, k, top = a_gram(n, seed, gamma)
    Q = np.linalg.inv(H)
    a = np.linalg.solve(H, k)
    return H, (Q + Q.T) / 2, k, top, a, top - k @ a


def near(found, exact, tolerance=1e-10):
    np.testing.assert_allclose(found, exact, rtol=0, atol=tolerance * np.abs(exact).max())
