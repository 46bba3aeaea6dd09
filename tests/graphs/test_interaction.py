"""Interaction matrices against numpy.linalg, and the facts of the papers about them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from weft.graphs import components, definite
from weft.graphs.interaction import clique, cliques, interaction, laplacian, spd
from weft.graphs.reading import parse

POWERS = (1.0, -1.0, 0.5, -0.5)


def matrix_power(A, power):
    values, vectors = np.linalg.eigh(A)
    return (vectors * values**power) @ vectors.T


def clique_matrix(N, b):
    return np.eye(N) + b * (np.eye(N) - np.full((N, N), 1 / N))


def graph_matrix(W, strength=1.0):
    return np.eye(len(W)) + strength * (np.diag(W.sum(axis=1)) - W)


def random_weights(seed, n, density=0.3):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(0.2, 2.0, (n, n)) * (rng.random((n, n)) < density), 1)
    return W + W.T


def check_against(found, A, tolerance=1e-10):
    """All that an interaction matrix offers, against its dense matrix."""
    N = len(A)
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, 4))
    assert found.N == N
    for power in POWERS:
        exact = matrix_power(A, power)
        limit = tolerance * np.abs(exact).max()
        np.testing.assert_allclose(found.dense(power), exact, rtol=0, atol=limit)
        np.testing.assert_allclose(found.diagonal(power), np.diagonal(exact), rtol=0, atol=limit)
        for i in {0, N // 2, N - 1}:
            np.testing.assert_allclose(found.column(i, power), exact[:, i], rtol=0, atol=limit)
            assert [found.entry(i, j, power) for j in range(N)] == found.column(i, power).tolist()
            members, values = found.part(i, power)
            assert (found.components[members] == found.components[i]).all()
            np.testing.assert_array_equal(found.column(i, power)[members], values)
    inverse = np.linalg.inv(A)
    assert found.largest_diagonal == pytest.approx(inverse.diagonal().max(), rel=1e-9)
    assert found.quadratic(X) == pytest.approx(np.trace(X.T @ A @ X), rel=1e-9)
    assert found.inner(X) == pytest.approx(np.trace(X.T @ inverse @ X), rel=1e-9)


@pytest.mark.parametrize("N", [1, 2, 7])
@pytest.mark.parametrize("b", [0.0, 1e-9, 0.3, 7.0, 1e6])
def test_the_clique_is_its_closed_form(N, b):
    check_against(clique(N, b), clique_matrix(N, b), tolerance=max(1e-10, 1e-14 * b))
    for power in (-2.0, 0.0, 0.3, 3.0):
        exact = matrix_power(clique_matrix(N, b), power)
        np.testing.assert_allclose(clique(N, b).dense(power), exact, rtol=0, atol=1e-8 * np.abs(exact).max())
    assert clique(N, b).is_stochastic


def test_special_cliques():
    assert (clique(5, 0.0).dense(-0.5) == np.eye(5)).all()
    assert clique(4, 0.0).components.tolist() == [0, 1, 2, 3]
    assert clique(4, 1.0).components.tolist() == [0, 0, 0, 0]
    shared = clique(4, math.inf)
    for power in (-1.0, -0.5, -3.0):
        np.testing.assert_allclose(shared.dense(power), np.full((4, 4), 0.25), rtol=1e-15)
        np.testing.assert_allclose(shared.column(2, power), np.full(4, 0.25), rtol=1e-15)
    assert shared.largest_diagonal == 0.25
    X = np.random.default_rng(0).normal(size=(4, 3))
    assert shared.quadratic(X) == pytest.approx(4 * (X.mean(axis=0) ** 2).sum())
    assert shared.inner(X) == pytest.approx((X.sum(axis=0) ** 2).sum() / 4)
    for power in (1.0, 0.5, 0.0):
        with pytest.raises(ValueError, match="must be negative"):
            shared.entry(0, 1, power)
    assert clique(1, math.inf).dense(1.0).tolist() == [[1.0]]


def test_the_complete_graph_of_the_kernel_papers():
    """b = N is the complete graph with unit weights: A^-1 = (I + 11') / (N + 1)."""
    N = 6
    W = np.ones((N, N)) - np.eye(N)
    exact = (np.eye(N) + np.ones((N, N))) / (N + 1)
    for found in (clique(N, N), cliques(np.zeros(N, int)), laplacian(W), spd(graph_matrix(W))):
        np.testing.assert_allclose(found.dense(-1.0), exact, rtol=0, atol=1e-14)
        assert found.largest_diagonal == pytest.approx(2 / (N + 1), rel=1e-13)


@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0, 100.0])
def test_cliques_are_blocks(strength):
    labels = np.array([5, 3, 5, 9, 3, 5])
    W = (labels[:, None] == labels[None, :]).astype(float) - np.eye(6)
    found = cliques(labels, strength)
    check_against(found, graph_matrix(W, strength))
    check_against(laplacian(W, strength), graph_matrix(W, strength))
    together = [0, 1, 0, 2, 1, 0] if strength > 0.0 else [0, 1, 2, 3, 4, 5]
    assert found.components.tolist() == laplacian(W, strength).components.tolist() == together
    if strength == 1.0:  # (1 + [i = j]) / (n + 1) inside, 0 across, 1 alone
        assert found.entry(0, 2) == pytest.approx(1 / 4, rel=1e-15)
        assert found.entry(1, 1) == pytest.approx(2 / 3, rel=1e-15)
        assert found.entry(0, 1) == 0.0
        assert found.entry(3, 3) == found.largest_diagonal == 1.0


@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), density=st.floats(0.0, 1.0), strength=st.floats(0.01, 100.0))
@settings(deadline=None, max_examples=40)
def test_laplacians(seed, n, density, strength):
    """Any weights: dense algebra; non-negative, stochastic, largest on the diagonal, zero across components only."""
    W = random_weights(seed, n, density)
    found = laplacian(sparse.coo_array(W), strength)
    check_against(found, graph_matrix(W, strength))
    inverse, root = found.dense(-1.0), found.dense(-0.5)
    np.testing.assert_allclose(root @ root, inverse, rtol=0, atol=1e-10)
    same = found.components[:, None] == found.components[None, :]
    for power in (inverse, root):
        np.testing.assert_allclose(power.sum(axis=1), 1.0, rtol=0, atol=1e-10)
        np.testing.assert_array_equal(power[~same], 0.0)
        assert power.min() >= -1e-12
    assert (inverse[same] > 0.0).all()
    assert (inverse.diagonal()[:, None] >= inverse - 1e-12).all()
    assert found.is_stochastic
    assert spd(graph_matrix(W, strength)).is_stochastic


@given(seed=st.integers(0, 10**6), n=st.integers(1, 9), density=st.floats(0.0, 1.0))
@settings(deadline=None, max_examples=40)
def test_resistances(seed, n, density):
    """A^-1 is made of the resistances R of the graph with a dummy node 0 joined to every task (Cavallanti and
    Cesa-Bianchi 2012, Sec. 3; as printed the first identity lacks its last term)."""
    W = (random_weights(seed, n, density) > 0).astype(float)
    joined = np.ones((n + 1, n + 1))
    joined[1:, 1:] = W
    joined[0, 0] = 0.0
    pseudo = np.linalg.pinv(np.diag(joined.sum(axis=1)) - joined, hermitian=True)
    diagonal = pseudo.diagonal()
    R = diagonal[:, None] + diagonal[None, :] - 2 * pseudo
    inverse = laplacian(W).dense(-1.0)
    grounded = (R[1:, :1] + R[:1, 1:] - R[1:, 1:]) / 2
    np.testing.assert_allclose(inverse, grounded, rtol=0, atol=1e-10)
    np.testing.assert_allclose(inverse.diagonal(), R[0, 1:], rtol=0, atol=1e-10)
    m, rows = n + 1, R.sum(axis=1)
    centred = -R[1:, 1:] / 2 + (rows[1:, None] + rows[None, 1:]) / (2 * m) - R.sum() / (2 * m**2) + (n + 2) / m**2
    np.testing.assert_allclose(inverse, centred, rtol=0, atol=1e-10)


def test_the_norm_of_the_kernel_space():
    """sum_ij A^-1_ij <g_i, g_j> = sum_i |f_i|^2 + sum over edges |f_i - f_j|^2 for f = A^-1 g."""
    W = (random_weights(3, 8) > 0).astype(float)
    found = laplacian(W)
    g = np.random.default_rng(3).normal(size=(8, 5))
    f = found.dense(-1.0) @ g
    edges = sum(((f[i] - f[j]) ** 2).sum() for i in range(8) for j in range(i) if W[i, j])
    assert found.inner(g) == pytest.approx((f**2).sum() + edges, rel=1e-12)
    assert found.quadratic(f) == pytest.approx(found.inner(g), rel=1e-12)


def test_any_definite_matrix():
    rng = np.random.default_rng(4)
    B = rng.normal(size=(6, 6))
    A = B @ B.T + 0.1 * np.eye(6)
    check_against(spd(A), A, tolerance=1e-9)
    assert not spd(A).is_stochastic
    blocks = np.zeros((5, 5))
    blocks[np.ix_([0, 3, 4], [0, 3, 4])] = A[:3, :3]
    blocks[np.ix_([1, 2], [1, 2])] = A[3:5, 3:5]
    check_against(spd(sparse.csr_array(blocks)), blocks, tolerance=1e-9)
    assert spd(blocks).components.tolist() == [0, 1, 1, 0, 0]
    # Rows sum to 1, with a positive entry off the diagonal: the sign of A^-1/2 decides.
    L = np.array([[1.0, -1.2, 0.2], [-1.2, 2.4, -1.2], [0.2, -1.2, 1.0]])
    assert spd(np.eye(3) + 0.1 * L).is_stochastic == bool(matrix_power(np.eye(3) + 0.1 * L, -0.5).min() >= 0)
    mild = np.array([[1.0, -1.2, 0.01], [-1.2, 2.4, -1.2], [0.01, -1.2, 1.0]])
    np.fill_diagonal(mild, mild.diagonal() - mild.sum(axis=1))
    assert spd(np.eye(3) + mild).is_stochastic
    assert matrix_power(np.eye(3) + mild, -0.5).min() > 0


def ring(n):
    at = np.arange(n)
    W = sparse.coo_array((np.ones(n), (at, (at + 1) % n)), shape=(n, n))
    return sparse.csr_array(W + W.T)


def path(n):
    W = sparse.diags_array(np.ones(n - 1), offsets=1, shape=(n, n))
    return sparse.csr_array(W + W.T)


def grid(n):
    return sparse.csr_array(sparse.kron(path(n), sparse.eye_array(n)) + sparse.kron(sparse.eye_array(n), path(n)))


def ring_columns(n, strength, power):
    """Column 0 of a power: the ring's matrix is diagonal in Fourier's basis."""
    values = 1 + strength * (2 - 2 * np.cos(2 * np.pi * np.arange(n) / n))
    return np.fft.ifft(values**power).real


def grid_power(n, strength, power):
    """A grid is a sum of two paths: the eigenvectors are products of theirs."""
    values, vectors = np.linalg.eigh(graph_matrix(path(n).toarray()) - np.eye(n))
    both = (1 + strength * (values[:, None] + values[None, :])) ** power
    return lambda i, j: np.einsum("a,b,xa,yb,ab->xy", vectors[i], vectors[j], vectors, vectors, both).ravel()


def test_a_large_ring():
    """Sparse factors, beside a small second component."""
    n = 2500
    found = laplacian(sparse.block_diag([ring(n), path(2)], format="csr"), 2.0)
    assert n > definite.MOST_DENSE
    for power in POWERS:
        exact = np.concatenate([np.roll(ring_columns(n, 2.0, power), 1234), np.zeros(2)])
        np.testing.assert_allclose(found.column(1234, power), exact, rtol=0, atol=1e-12 * exact.max())
    assert found.entry(3, n) == 0.0
    np.testing.assert_allclose(found.part(n)[1], [0.6, 0.4], rtol=1e-14)
    for power in (-1.0, -0.5):
        alone = matrix_power(graph_matrix(path(2).toarray(), 2.0), power)[0, 0]
        exact = np.append(np.full(n, ring_columns(n, 2.0, power)[0]), [alone, alone])
        np.testing.assert_allclose(found.diagonal(power), exact, rtol=1e-11)
    assert found.largest_diagonal == pytest.approx(0.6, rel=1e-14)
    X = np.random.default_rng(6).normal(size=(n + 2, 2))
    Y = np.stack([found._blocks[0].solve(x) for x in X[:n].T], axis=1)
    assert found.inner(X) == pytest.approx((X[:n] * Y).sum() + clique(2, 4.0).inner(X[n:]), rel=1e-12)
    np.testing.assert_allclose(Y + 2.0 * (2 * Y - np.roll(Y, 1, 0) - np.roll(Y, -1, 0)), X[:n], rtol=0, atol=1e-12)


def test_a_large_grid():
    n = 50
    found = laplacian(grid(n), 0.5)
    for power in POWERS:
        exact = grid_power(n, 0.5, power)
        for i, j in ((0, 0), (20, 31), (49, 7)):
            column = exact(i, j)
            np.testing.assert_allclose(found.column(n * i + j, power), column, rtol=0, atol=1e-12 * column.max())


def test_sparse_and_dense_blocks_agree(monkeypatch):
    W = random_weights(8, 60, 0.06)
    dense = laplacian(W, 3.0)
    monkeypatch.setattr(components, "MOST_DENSE", 20)
    check_against(laplacian(W, 3.0), graph_matrix(W, 3.0))
    check_against(spd(graph_matrix(W, 3.0)), graph_matrix(W, 3.0))
    for power in POWERS:
        np.testing.assert_allclose(laplacian(W, 3.0).dense(power), dense.dense(power), rtol=0, atol=1e-11)


def test_the_spectrum_of_a_large_definite_matrix(monkeypatch):
    """Gershgorin's circles reach below 0 here, so the least eigenvalue has to be found."""
    n = 220
    monkeypatch.setattr(components, "MOST_DENSE", 20)
    A = sparse.diags_array([2.05, 1.0, 1.0], offsets=[0, 1, -1], shape=(n, n)).toarray()
    A[0, 0] = 1.06
    check_against(spd(A), A)
    assert not spd(A).is_stochastic
    positive = graph_matrix(ring(n).toarray(), 0.3)
    positive[[0, 1, 1, 2, 0, 2], [1, 0, 2, 1, 2, 0]] += np.array([-1, -1, -1, -1, 1, 1]) * 0.01
    positive[[0, 1, 2], [0, 1, 2]] += np.array([0, 2, 0]) * 0.01
    np.testing.assert_allclose(positive.sum(axis=1), 1.0)
    assert positive[0, 2] > 0
    assert spd(positive).is_stochastic
    A[0, 0] = -1.0
    with pytest.raises(ValueError, match="A is not positive definite"):
        spd(A)
    with pytest.raises(ValueError, match="A is not positive definite"):
        spd(graph_matrix(ring(n).toarray()) - np.eye(n))  # a Laplacian alone is singular


def test_few_columns_are_kept(monkeypatch):
    monkeypatch.setattr(definite, "MOST_KEPT", 3 * 2500)
    found = laplacian(ring(2500))
    first = found.column(0)
    for i in range(10):
        found.column(i)
    assert len(found._blocks[0]._kept) == 3
    np.testing.assert_array_equal(found.column(0), first)


def test_columns_belong_to_the_caller():
    for found in (laplacian(ring(2100)), laplacian(ring(10)), clique(10, 2.0), cliques([0, 1, 1], 1.0)):
        before = found.column(1)
        found.column(1)[:] = 7.0
        found.part(1)[1][:] = 7.0
        found.diagonal()[:] = 7.0
        np.testing.assert_array_equal(found.column(1), before)
        assert found.largest_diagonal < 7.0


@pytest.mark.parametrize("condition", [1.0, 1.5, 1e2, 1e6, 1e10])
def test_inverse_roots_by_shifts(condition):
    weights, shifts = definite.inverse_root(0.5, 0.5 * condition)
    x = np.geomspace(0.5, 0.5 * condition, 1001)
    assert np.abs((weights / (x[:, None] + shifts)).sum(axis=1) * np.sqrt(x) - 1).max() < 1e-12
    assert (weights > 0).all()
    assert (shifts > 0).all()


# ---------------------------------------------------------------------------------------------------- from graphs


def test_graphs_by_names_in_any_order():
    edges = parse([("a", "b"), ("b", "c", 2.5)])
    W = np.array([[0.0, 2.5, 1.0], [2.5, 0.0, 0.0], [1.0, 0.0, 0.0]])  # b, c, a
    check_against(interaction(edges, ["b", "c", "a"], strength=0.7), graph_matrix(W, 0.7))
    groups = interaction(parse([["a", "b"], ["c"]]), ["c", "b", "a"], strength=3.0)
    assert groups.components.tolist() == [0, 1, 1]
    assert groups.entry(1, 2) == pytest.approx(cliques([0, 0], 3.0).entry(0, 1))
    A = np.array([[2.0, -0.5, 0.3], [-0.5, 1.5, 0.0], [0.3, 0.0, 1.0]])
    order = [2, 0, 1]
    found = interaction(parse({"matrix": A, "tasks": [0, 1, 2]}), order)
    check_against(found, A[np.ix_(order, order)])


def test_growing_graphs():
    assert (interaction(parse("none"), ["a", "b"]).dense(-1.0) == np.eye(2)).all()
    np.testing.assert_array_equal(
        interaction(parse("complete"), ["a", "b", "c"], b=2.0).dense(), clique(3, 2.0).dense()
    )
    np.testing.assert_array_equal(interaction(parse("complete"), 3, b=math.inf).dense(), np.full((3, 3), 1 / 3))


REFUSED = {
    "complete without b": (lambda: interaction(parse("complete"), 3), "needs b"),
    "b with edges": (lambda: interaction(parse([("a", "b")]), ["a", "b"], b=1.0), "b=1.0 belongs to"),
    "b with none": (lambda: interaction(parse("none"), 2, b=1.0), "b=1.0 belongs to"),
    "strength of A": (
        lambda: interaction(parse({"matrix": np.eye(2), "tasks": [0, 1]}), [0, 1], strength=2.0),
        "strength=2.0 multiplies a Laplacian",
    ),
    "unknown task": (lambda: interaction(parse([("a", "b")]), ["a", "z"]), "does not name the task 'z'"),
    "N": (lambda: clique(0, 1.0), "N=0 must be"),
    "b": (lambda: clique(2, -1.0), "b=-1.0 must be a number >= 0, or inf"),
    "b nan": (lambda: clique(2, math.nan), "b=nan must be"),
    "strength": (lambda: laplacian(np.zeros((2, 2)), math.inf), "strength=inf must be a number >= 0, and finite"),
    "labels": (lambda: cliques([0.5, 1.0]), "labels must be"),
    "no labels": (lambda: cliques([]), "labels must be"),
    "signs": (lambda: laplacian([[0, -1], [-1, 0]]), r"weights must be >= 0, but the entry \(0, 1\) is -1.0"),
    "symmetry": (lambda: spd([[1, 0.5], [0.2, 1]]), r"must be symmetric, but the entry \(0, 1\) is 0.5"),
    "definite": (lambda: spd([[1, 2], [2, 1]]), "A is not positive definite: its smallest eigenvalue is -1"),
    "power": (lambda: spd(np.eye(2)).dense(2.0), "power=2.0 must be one of 1, -1, 0.5, -0.5"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    make, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("found", [clique(3, 1.0), laplacian(ring(3))], ids=["clique", "laplacian"])
def test_slots_out_of_range(found):
    for call in (lambda: found.entry(0, 3), lambda: found.entry(-1, 0), lambda: found.column(3)):
        with pytest.raises(IndexError, match="is not among the 3 tasks"):
            call()
