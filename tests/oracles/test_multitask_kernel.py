"""The multitask kernel's oracle against the facts that Sec. 3 states about it."""

import numpy as np
import pytest

from oracles.multitask_kernel import Base, Relations, edges_of, interaction, resistances

N = 6
SPD = np.eye(N) + np.cov(np.random.default_rng(5).normal(size=(N, 9)))
GRAPHS = {
    "complete": "complete",
    "none": "none",
    "cliques": [[0, 2, 5], [1, 3]],
    "edges": [(0, 1), (1, 2), (2, 0), (3, 4)],
    "weighted": [(0, 1, 0.5), (1, 2, 3.0), (4, 5)],
}
BASES = {
    "linear": Base("linear"),
    "linear, plain": Base("linear", normalize=False),
    "poly": Base("poly", gamma=0.5, degree=3, coef0=2.0),
    "poly, plain": Base("poly", degree=2, normalize=False),
    "gaussian": Base("gaussian", gamma=0.3),
}


def components(graph):
    """The component of every task."""
    label = np.arange(N)
    for _ in range(N):
        for i, j, *_ in edges_of(graph, N):
            label[[i, j]] = min(label[i], label[j])
    return label


@pytest.mark.parametrize("graph", GRAPHS)
def test_inverse_interaction_matrices(graph):
    """Not negative, rows that sum to 1, the diagonal largest, and 0 just where no path leads: there it is exact."""
    inverse, label = Relations(GRAPHS[graph], N).inverse, components(GRAPHS[graph])
    np.testing.assert_allclose(inverse, inverse.T, rtol=0, atol=1e-15)
    np.testing.assert_allclose(inverse.sum(axis=1), 1.0, rtol=0, atol=1e-14)
    assert (inverse.diagonal()[:, None] >= inverse - 1e-15).all()
    np.testing.assert_array_equal(inverse > 0, label[:, None] == label[None, :])
    np.testing.assert_array_equal(inverse == 0, label[:, None] != label[None, :])


def test_cliques_in_closed_form():
    np.testing.assert_allclose(Relations("complete", N).inverse, (np.eye(N) + 1) / (N + 1), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(Relations("none", N).inverse, np.eye(N))
    inverse = Relations(GRAPHS["cliques"], N).inverse
    for clique in [[0, 2, 5], [1, 3], [4]]:
        n = len(clique)
        np.testing.assert_allclose(inverse[np.ix_(clique, clique)], (np.eye(n) + 1) / (n + 1), rtol=0, atol=1e-15)
    assert Relations("complete", N).c == pytest.approx(np.sqrt(2 / (N + 1)), abs=1e-15)
    assert Relations(GRAPHS["cliques"], N).c == 1.0  # task 4 is isolated


@pytest.mark.parametrize("graph", ["complete", "none", "cliques", "edges"])
def test_resistances(graph):
    """Proposition 3.1, with (i, j) on its left side and 1/(2 n^2) before the norm of R; and with the dummy grounded."""
    A, n = interaction(GRAPHS[graph], N), N + 1
    R = resistances(A)
    mean = R.sum(axis=1) / n
    found = -R / 2 + (mean[:, None] + mean[None, :]) / 2 - R.sum() / (2 * n**2) + (N + 2) / n**2
    inverse = np.linalg.inv(A)
    np.testing.assert_allclose(found[:N, :N], inverse, rtol=0, atol=1e-10)
    grounded = (R[:N, N][:, None] + R[:N, N][None, :] - R[:N, :N]) / 2
    np.testing.assert_allclose(grounded, inverse, rtol=0, atol=1e-10)


@pytest.mark.parametrize("base", BASES)
def test_base_kernels(base):
    """Entry by entry, positive semidefinite, and of length 1 where it is normalised."""
    rng, K = np.random.default_rng(1), BASES[base]
    X, Z = rng.normal(size=(7, 4)), rng.normal(size=(5, 4))
    plain = {
        "linear": lambda x, z: sum(x * z),
        "poly": lambda x, z: (K.gamma * sum(x * z) + K.coef0) ** K.degree,
        "gaussian": lambda x, z: np.exp(-K.gamma * sum((x - z) ** 2)),
    }[K.name]
    scale = 0.5 if K.name != "gaussian" and K.normalize is None else 0.0
    expected = [[plain(x, z) / (plain(x, x) * plain(z, z)) ** scale for z in Z] for x in X]
    np.testing.assert_allclose(K.gram(X, Z), expected, rtol=1e-12, atol=0)
    G = K.gram(X, X)
    assert np.linalg.eigvalsh(G).min() > -1e-12 * np.abs(G).max()
    if K.normalize is None:
        np.testing.assert_allclose(G.diagonal(), 1.0, rtol=0, atol=1e-14)


def test_a_repeated_row_is_no_distance_away():
    x = np.random.default_rng(2).normal(size=(200, 9)) * 100
    G = Base("gaussian", gamma=3.0).gram(x, x)
    np.testing.assert_array_equal(G.diagonal(), 1.0)
    near = x + 1e-3  # far beyond 1e-14 of the squared lengths
    assert (Base("gaussian", gamma=3.0).gram(x, near).diagonal() < 1.0).all()


def test_a_row_of_norm_zero():
    X = np.array([[0.0, 0.0], [1.0, 2.0]])
    np.testing.assert_allclose(Base("linear").gram(X, X), [[0, 0], [0, 1]], rtol=0, atol=1e-15)
    np.testing.assert_allclose(Base("poly", coef0=0.0).gram(X, X), [[0, 0], [0, 1]], rtol=0, atol=1e-15)
    np.testing.assert_allclose(Base("poly").gram(X, X), [[1, 1 / 6], [1 / 6, 1]], rtol=0, atol=1e-15)


def test_newcomers():
    relations = Relations("complete", 2)
    assert relations.with_task(1) is relations
    np.testing.assert_allclose(relations.with_task(2).inverse, Relations("complete", 3).inverse)
    with pytest.raises(AssertionError, match="does not name"):
        Relations(SPD, N).with_task(N)
