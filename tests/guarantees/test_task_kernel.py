"""The multitask kernel against the closed forms, identities and errors of section 3 of the paper."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from weft.graphs.interaction import clique, cliques, laplacian, spd
from weft.guarantees import task_kernel
from weft.guarantees.task_kernel import (
    c_G,
    gram,
    inverse_centred,
    inverse_grounded,
    multitask_gram,
    part_products,
    resistances,
    self_products,
    spread_norm,
    squared_norm,
)
from weft.maths.kernels import Kernel

KERNELS = [
    Kernel(name, degree=3, gamma=0.7, coef0=coef0, normalize=normalize)
    for name, coef0, normalize in [
        ("linear", 1.0, False),
        ("linear", 1.0, True),
        ("poly", 1.0, False),
        ("poly", 0.0, True),
        ("poly", 0.5, True),
        ("gaussian", 1.0, False),
        ("gaussian", 1.0, True),
    ]
]


@st.composite
def graphs(draw):
    """Weights of a graph on up to 8 tasks, with edges of 1 or of any weight, possibly with isolated tasks."""
    N = draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    W = np.triu((rng.random((N, N)) < draw(st.sampled_from([0.0, 0.2, 0.5, 1.0]))).astype(float), 1)
    if draw(st.booleans()):
        W *= rng.uniform(0.1, 3.0, (N, N))
    return W + W.T


def rows_and_tasks(seed, N, n=9, d=4):
    """Rows with repetitions and a zero row."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    X[n // 2] = 0.0
    X[-1] = X[0]
    return X, rng.integers(0, N, n), rng.normal(size=n)


def one_by_one(kernel, X, Z):
    """A double loop, each dot product added feature by feature."""

    def dot(x, z):
        return sum((a * b for a, b in zip(x, z, strict=True)), 0.0)

    return np.array([[kernel.of(dot(x, z), dot(x, x), dot(z, z)) for z in Z.tolist()] for x in X.tolist()])


# --- closed forms ---


@pytest.mark.parametrize("K", [1, 2, 3, 10, 139])
def test_the_complete_graph(K):
    for A in (clique(K, float(K)), laplacian(np.ones((K, K)) - np.eye(K))):
        np.testing.assert_allclose(A.dense(), (np.eye(K) + 1.0) / (K + 1), rtol=0, atol=1e-13)
        assert c_G(A) == pytest.approx(math.sqrt(2 / (K + 1)), rel=1e-12)


def test_cliques_isolated_tasks_and_no_edges():
    labels = np.array([0, 1, 0, 2, 1, 0])
    A, size = cliques(labels), np.bincount(labels)[labels]
    same = labels[:, None] == labels
    np.testing.assert_allclose(A.dense(), np.where(same, 1 + np.eye(6), 0) / (size + 1)[:, None], rtol=0, atol=1e-14)
    assert c_G(A) == 1.0  # task 3 is isolated
    assert c_G(cliques([0, 0, 0, 1, 1])) == pytest.approx(math.sqrt(2 / 3), rel=1e-12)
    W = np.zeros((4, 4))
    W[0, 1] = W[1, 0] = W[1, 2] = W[2, 1] = 1.0
    assert c_G(laplacian(W)) == pytest.approx(1.0, rel=1e-12)
    for none in (clique(5, 0.0), laplacian(np.zeros((5, 5)))):
        np.testing.assert_array_equal(none.dense(), np.eye(5))
        assert c_G(none) == 1.0


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_facts_about_the_inverse(W):
    A = laplacian(W)
    inverse = A.dense()
    assert inverse.min() >= -1e-14
    np.testing.assert_allclose(inverse, inverse.T, rtol=0, atol=1e-13)
    np.testing.assert_allclose(inverse.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert (np.diagonal(inverse)[:, None] >= inverse - 1e-13).all()
    together = sparse.csgraph.connected_components(W, directed=False)[1]
    np.testing.assert_array_equal(inverse > 1e-15, together[:, None] == together)
    assert c_G(A) == pytest.approx(math.sqrt(inverse.max()), rel=1e-12)  # the largest entry is on the diagonal


# --- resistances ---


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_both_resistance_identities(W):
    A = laplacian(W)
    R = resistances(A)
    assert R.shape == (len(W) + 1, len(W) + 1)
    assert R.min() >= 0.0
    np.testing.assert_allclose(R, R.T, rtol=0, atol=1e-12)
    np.testing.assert_allclose(inverse_centred(R), A.dense(), rtol=0, atol=1e-10)
    np.testing.assert_allclose(inverse_grounded(R), A.dense(), rtol=0, atol=1e-10)
    np.testing.assert_allclose(R[0, 1:], A.diagonal(), rtol=0, atol=1e-10)


def test_resistances_in_series_and_in_parallel():
    np.testing.assert_allclose(resistances(clique(1, 0.0)), [[0, 1], [1, 0]], atol=1e-14)
    # Two tasks without an edge are connected through the dummy node only; an edge of 1 is parallel to these 1 + 1.
    assert resistances(clique(2, 0.0))[1, 2] == pytest.approx(2.0)
    assert resistances(clique(2, 2.0))[1, 2] == pytest.approx(2 / 3)


def test_resistances_of_strong_ties():
    """Rows of A sum to 1 up to the rounding of their entries, which are large here."""
    W = np.random.default_rng(0).uniform(1e9, 3e9, size=(6, 6))
    A = laplacian(np.triu(W, 1) + np.triu(W, 1).T)
    assert np.abs(A.dense(1.0).sum(axis=1) - 1.0).max() > 1e-9
    assert resistances(A)[0, 1:].min() > 0.0


def test_the_printed_coefficient_is_wrong():
    """Proposition 3.1 has |R|_1 / n^2: for k = 1, where A^-1 = 1, that gives 3/4."""
    R = np.array([[0.0, 1.0], [1.0, 0.0]])
    k, n = 1, 2
    printed = -R[1, 1] / 2 + R[1].sum() / (2 * n) + R[1].sum() / (2 * n) - R.sum() / n**2 + (k + 2) / n**2
    assert printed == 0.75
    assert inverse_centred(R).tolist() == [[1.0]]
    assert inverse_grounded(R).tolist() == [[1.0]]
    for W in (np.ones((4, 4)) - np.eye(4), np.zeros((3, 3))):
        R = resistances(laplacian(W))
        off = inverse_centred(R) - R.sum() / (2 * len(R) ** 2) - laplacian(W).dense()
        assert (off < -0.1).all()


def test_growing_averages_raise_the_entry():
    """Against the prose below Proposition 3.1: at the same R_ij, larger R_i. and R_j. make (A^-1)_ij larger."""
    R = resistances(clique(3, 3.0))
    farther = R.copy()
    farther[1, 3] += 0.1
    farther[3, 1] += 0.1
    assert inverse_centred(farther)[0, 1] > inverse_centred(R)[0, 1]


def test_resistances_of_no_graph_are_refused():
    with pytest.raises(ValueError, match="does not sum to 1"):
        resistances(spd(np.array([[2.0, -0.5], [-0.5, 2.0]])))


# --- Gram matrices ---


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: f"{k.name}-{k.coef0}-{k.normalize}")
def test_gram_is_kernel_value_for_every_pair(kernel):
    X, _, _ = rows_and_tasks(1, 3, n=12)
    Z = np.vstack([rows_and_tasks(2, 3, n=5)[0], X[3:5]])
    for one, other in ((X, None), (X, Z)):
        found = gram(kernel, one, other)
        expected = one_by_one(kernel, one, one if other is None else other)
        np.testing.assert_allclose(found, expected, rtol=1e-15 if kernel.name == "gaussian" else 0, atol=0)
        for form in (sparse.csr_array, sparse.csr_matrix, sparse.coo_array, sparse.csc_array):
            np.testing.assert_array_equal(gram(kernel, form(one), None if other is None else form(other)), found)
    np.testing.assert_allclose(self_products(kernel, X), np.diagonal(gram(kernel, X)), rtol=1e-15)


def test_repeated_rows_have_distance_zero():
    rng = np.random.default_rng(0)
    X = 1e3 * rng.normal(size=(40, 300))
    X[20:] = X[:20] * (1 + 1e-16)
    K = gram(Kernel("gaussian", gamma=5.0), X)
    np.testing.assert_array_equal(K[:20, 20:].diagonal(), 1.0)
    assert K[0, 1] == 0.0
    # The rule is about rounding alone: rows that differ by 1e-6 of their length are not the same.
    near = np.array([[1.0, 0.0], [1.0, 1e-6]])
    assert gram(Kernel("gaussian", gamma=1e12), near)[0, 1] == pytest.approx(math.exp(-1), rel=1e-3)


def test_long_rows_do_not_overflow_a_normalised_polynomial():
    X = np.array([[1e120, 0.0], [1e120, 1e120], [1.0, 2.0]])
    for kernel in (Kernel("poly", degree=3, normalize=True), Kernel(normalize=True)):
        found = gram(kernel, X)
        np.testing.assert_array_equal(found, one_by_one(kernel, X, X))
        np.testing.assert_allclose(np.diagonal(found), 1.0, rtol=1e-14)
    assert np.isinf(self_products(Kernel("poly", degree=3), X)[0])


def test_rows_of_no_length_resemble_nothing():
    X = np.array([[0.0, 0.0], [0.0, 2.0]])
    assert gram(Kernel(normalize=True), X).tolist() == [[0.0, 0.0], [0.0, 1.0]]
    assert gram(Kernel("poly", coef0=0.0, normalize=True), X).tolist() == [[0.0, 0.0], [0.0, 1.0]]
    assert gram(Kernel("poly", coef0=1.0, normalize=True), X)[0, 0] == 1.0
    assert self_products(Kernel(normalize=True), X).tolist() == [0.0, 1.0]
    assert gram(Kernel(), np.zeros((0, 3))).shape == (0, 0)
    assert multitask_gram(Kernel(), clique(2, 2.0), np.zeros((0, 3)), []).shape == (0, 0)


@settings(max_examples=40, deadline=None)
@given(graphs(), st.sampled_from(KERNELS), st.integers(0, 10**6))
def test_the_multitask_gram(W, kernel, seed):
    A = laplacian(W)
    X, task, _ = rows_and_tasks(seed, len(W))
    G = multitask_gram(kernel, A, X, task)
    base, inverse = gram(kernel, X), np.linalg.inv(A.dense(1.0))
    expected = np.array([[inverse[i, j] * base[r, s] for s, j in enumerate(task)] for r, i in enumerate(task)])
    np.testing.assert_allclose(G, expected, rtol=1e-10, atol=1e-12)
    assert np.linalg.eigvalsh(G).min() >= -1e-10 * max(1.0, np.abs(G).max())
    R2 = self_products(kernel, X).max()
    assert np.abs(G).max() <= c_G(A) ** 2 * R2 * (1 + 1e-12)
    # A row is most similar to itself within its own task.
    for j in range(len(W)):
        elsewhere = multitask_gram(kernel, A, X, task, X, np.full(len(X), j))
        assert (np.diagonal(G) >= np.diagonal(elsewhere) - 1e-12 * (1 + R2)).all()
    np.testing.assert_allclose(multitask_gram(kernel, A, X, task, X[:4], task[:4]), G[:, :4], rtol=1e-12, atol=1e-14)


@settings(max_examples=40, deadline=None)
@given(graphs(), st.sampled_from(KERNELS), st.integers(0, 10**6))
def test_the_norm_in_three_ways(W, kernel, seed):
    """b'Gb = trace(K_ff A) = sum_i |f_i|^2 + sum over edges |f_i - f_j|^2."""
    A = laplacian(W)
    X, task, b = rows_and_tasks(seed, len(W))
    G, F = multitask_gram(kernel, A, X, task), part_products(kernel, A, b, X, task)
    size = 1e-10 * (1 + float(np.abs(b) @ np.abs(G) @ np.abs(b)) * (1 + W.sum()))
    edges = sum(
        W[i, j] * (F[i, i] + F[j, j] - 2 * F[i, j]) for i in range(len(W)) for j in range(i + 1, len(W)) if W[i, j]
    )
    assert squared_norm(b, G) == pytest.approx(float(np.trace(F)) + edges, abs=size)
    assert spread_norm(A, F) == pytest.approx(squared_norm(b, G), abs=size)
    assert float(np.sum(F * A.dense(1.0))) == pytest.approx(squared_norm(b, G), abs=size)


def test_the_norm_of_linear_parts_by_their_weights():
    A = cliques([0, 0, 1])
    X, task, b = rows_and_tasks(4, 3)
    parts = A.dense() @ np.array([b[task == i] @ X[task == i] for i in range(3)])
    np.testing.assert_allclose(part_products(Kernel(), A, b, X, task), parts @ parts.T, atol=1e-12)
    assert squared_norm(b, multitask_gram(Kernel(), A, X, task)) == pytest.approx(A.quadratic(parts), rel=1e-12)


def test_the_norm_with_any_positive_definite_matrix():
    A = spd(np.array([[2.0, 0.5, 0.0], [0.5, 3.0, -1.0], [0.0, -1.0, 1.5]]))
    X, task, b = rows_and_tasks(5, 3)
    F = part_products(Kernel(), A, b, X, task)
    assert spread_norm(A, F) == pytest.approx(squared_norm(b, multitask_gram(Kernel(), A, X, task)), rel=1e-10)


def test_many_tasks_and_few_rows():
    G = multitask_gram(Kernel(), clique(50_000, 50_000.0), np.ones((3, 1)), [7, 7, 49_999])
    np.testing.assert_allclose(G * 50_001, [[2, 2, 1], [2, 2, 1], [1, 1, 2]], rtol=1e-9)


def test_bad_input_is_refused():
    A, X = clique(2, 2.0), np.ones((2, 3))
    for task, told in (([0], "one task slot per row"), ([0, 2], "the slot 2; there are 2"), ([-1, 0], "the slot -1")):
        with pytest.raises(ValueError, match=told):
            multitask_gram(Kernel(), A, X, task)
    with pytest.raises(ValueError, match="one task slot per row, 2 integers"):
        part_products(Kernel(), A, [1, 1], X, [0.0, 1.0])
    with pytest.raises(ValueError, match="belong together"):
        multitask_gram(Kernel(), A, X, [0, 1], X)
    with pytest.raises(ValueError, match="X has 3 features and Z has 2"):
        gram(Kernel(), X, X[:, :2])
    with pytest.raises(ValueError, match="Z has 1 dimensions"):
        gram(Kernel(), X, X[0])
    with pytest.raises(ValueError, match="not finite"):
        gram(Kernel(), np.array([[np.nan]]))


def test_the_rule_for_equal_rows_is_that_of_the_learners():
    """Just below the limit the distance is 0, just above it is not."""
    kernel = Kernel("gaussian", gamma=1e14)
    for dot in (1 - 0.4e-14, 1 - 0.9e-14, 1 - 1.2e-14, 1 - 3e-14, 1 + 1e-15):
        found = task_kernel._values(kernel.code, np.array(dot), np.array(1.0), np.array(1.0), np.array(1.0))
        assert float(found) == pytest.approx(kernel.of(dot, 1.0, 1.0), rel=1e-14)
