"""The oracles of FOML and OMTRL against what their papers say that they do."""

import math

import numpy as np
import pytest
import scipy.linalg

from oracles.budget import MtPerceptron
from oracles.multitask_kernel import Base, interaction, with_edges
from oracles.smoothed import Foml, Omtrl, clique_inverse, covariance, exponential_of, logdet_step, vonneumann_step

K, D = 4, 3
LINEAR = Base("linear", normalize=False)
KINDS = ["logdet", "vonneumann", "cov"]
kinds = pytest.mark.parametrize("kind", KINDS)
conditions = pytest.mark.parametrize("condition", ["mistake", "margin"])


def stream(seed, T=150, single=False):
    """Rows, labels, tasks and bounds of rounds; tasks count from 0 in the order of their first row."""
    rng = np.random.default_rng(seed)
    U = rng.normal(size=D) + 0.7 * rng.normal(size=(K, D))
    tasks = [rng.permutation(K)[: 1 if single else rng.integers(1, K + 1)] for _ in range(T)]
    bounds, task = np.cumsum([0, *map(len, tasks)]), np.concatenate(tasks)
    _, first = np.unique(task, return_index=True)
    task = np.argsort(np.argsort(first))[task]
    X = rng.normal(size=(len(task), D))
    y = np.where((np.sum(U[task] * X, axis=1) >= 0) ^ (rng.random(len(task)) < 0.2), 1.0, -1.0)
    return X, y, task, bounds


def perceptrons(X, y, tasks, bounds, C, margin):
    """Independent learners; in a round every task has one row, so that its score is the margin of its turn."""
    W, scores = np.zeros((K, D)), []
    for x, label, i in zip(X, y, tasks, strict=True):
        scores.append(W[i] @ x)
        if label * scores[-1] < 1 if margin else label * scores[-1] <= 0:
            W[i] += C * label * x
    return W, scores


# ---------------------------------------------------------------------------------------------------- FOML


@pytest.mark.parametrize("tasks", [0, K])
@pytest.mark.parametrize("seed", range(4))
def test_foml_is_the_kernel_perceptron_of_the_complete_graph(tasks, seed):
    rows = stream(seed)
    foml, kernel = Foml(D, tasks), MtPerceptron(LINEAR, "complete", tasks)
    np.testing.assert_allclose(foml.learn(*rows), kernel.learn(*rows), atol=1e-10)
    assert foml.updates.sum() == kernel.M > 20


@pytest.mark.parametrize("b", [0.0, 0.5, 4.0, 30.0])
def test_b_weighs_the_edges_of_the_clique(b):
    edges = [(i, j, b / K) for i in range(K) for j in range(i)]
    np.testing.assert_allclose(clique_inverse(K, b), np.linalg.inv(with_edges(K, edges)), atol=1e-12)
    alpha = 1 / (1 + b)
    np.testing.assert_allclose(clique_inverse(K, b), alpha * np.eye(K) + (1 - alpha) / K, atol=1e-12)
    rows = stream(5)
    kernel = MtPerceptron(LINEAR, with_edges(K, edges), K)
    np.testing.assert_allclose(Foml(D, K, b=b).learn(*rows), kernel.learn(*rows), atol=1e-10)


def test_a_given_inverse():
    A, rows = interaction([(0, 1), (1, 2), (2, 3)], K), stream(6)
    foml = Foml(D, inverse=np.linalg.inv(A))
    np.testing.assert_allclose(foml.learn(*rows), MtPerceptron(LINEAR, A, K).learn(*rows), atol=1e-10)
    np.testing.assert_allclose(foml.W, np.linalg.inv(A) @ foml.own, atol=1e-10)
    with pytest.raises(AssertionError, match="without a row"):
        foml.learn_one(np.ones(D), 1.0, K)


@conditions
def test_b_0_is_independent_perceptrons(condition):
    rows = stream(7)
    foml = Foml(D, b=0.0, condition=condition, C=0.3)
    W, scores = perceptrons(*rows, 0.3, condition == "margin")
    np.testing.assert_allclose(foml.learn(*rows), scores, atol=1e-12)
    np.testing.assert_allclose(foml.W, W, atol=1e-12)


def test_margins_are_looked_at_again_within_a_round():
    x = [1.0, 0.0, 0.0]
    foml = Foml(D, 2)
    assert foml.learn_round([x, x], [1.0, 1.0], [0, 1]) == [0.0, 0.0]
    assert foml.updates.tolist() == [1, 0]  # the first has taught the second
    assert foml.W[:, 0] == pytest.approx([2 / 3, 1 / 3])
    margin = Foml(D, 2, condition="margin", C=0.5)
    margin.learn_round([x, x], [1.0, 1.0], [0, 1])
    assert margin.updates.tolist() == [1, 1]
    assert margin.W[:, 0] == pytest.approx([0.5, 0.5])


def test_C_is_a_scale_of_mistake_driven_scores():
    rows = stream(8)
    np.testing.assert_allclose(3 * Foml(D).learn(*rows), Foml(D, C=3.0).learn(*rows), atol=1e-10)


# ---------------------------------------------------------------------------------------------------- OMTRL


def logdet_divergence(A, B):
    M = A @ np.linalg.inv(B)
    return np.trace(M) - np.linalg.slogdet(M)[1] - len(A)


def log_of(A):
    values, vectors = np.linalg.eigh(A)
    return (vectors * np.log(values)) @ vectors.T


def vonneumann_divergence(A, B):
    return np.trace(A @ log_of(A) - A @ log_of(B) - A + B)


def some_inverse(rng):
    M = rng.normal(size=(K, 2 * K))
    return M @ M.T / (2 * K) + 0.2 * np.eye(K)


@pytest.mark.parametrize("kind", ["logdet", "vonneumann"])
@pytest.mark.parametrize("rate", [0.01, 0.5])
def test_relation_steps_are_bregman_argmins(kind, rate):
    rng = np.random.default_rng(0)
    for _ in range(5):
        inverse, W = some_inverse(rng), rng.normal(size=(K, D))
        if kind == "logdet":
            new, divergence = logdet_step(inverse, W, rate), logdet_divergence
        else:
            new, divergence = scipy.linalg.expm(vonneumann_step(log_of(inverse), W, rate)), vonneumann_divergence
        A_t, A = np.linalg.inv(inverse), np.linalg.inv(new)

        def value(A, A_t=A_t, W=W, divergence=divergence):
            return divergence(A, A_t) + rate * np.trace(A @ W @ W.T)

        least = value(A)
        assert least < value(A_t)
        for size in (0.1, 0.01, 1e-3):
            for _ in range(10):
                S = rng.normal(size=(K, K))
                E = size * np.linalg.eigvalsh(A)[0] * (S + S.T) / np.linalg.norm(S + S.T, 2)
                assert value(A + E) > least
                # No slope in any direction: what remains is of the second order.
                assert abs(value(A + 1e-2 * E) - value(A - 1e-2 * E)) <= 1e-2 * size * (value(A + E) - least) + 1e-9


def test_exponential_of_is_the_scaled_exponential():
    rng = np.random.default_rng(1)
    L = log_of(some_inverse(rng))
    inverse, logarithm = exponential_of(L + 3 * np.eye(K))
    E = scipy.linalg.expm(L)
    np.testing.assert_allclose(inverse, K * E / np.trace(E), atol=1e-12)
    np.testing.assert_allclose(scipy.linalg.expm(logarithm), inverse, atol=1e-12)
    huge, _ = exponential_of(1e4 * L)
    assert np.trace(huge) == pytest.approx(K)


def test_covariance():
    W = np.random.default_rng(2).normal(size=(K, 7))
    np.testing.assert_allclose(covariance(W), np.cov(W) + 1e-3 * np.eye(K), atol=1e-14)
    np.testing.assert_allclose(covariance(W[:, :1]), 1e-3 * np.eye(K))


@kinds
@conditions
@pytest.mark.parametrize("C", [1.0, 0.3])
def test_every_update_is_a_broadcast_and_then_a_relation_step(kind, condition, C):
    X, y, tasks, _ = stream(9, single=True)
    learner, moved = Omtrl(D, K, kind, rate=0.2, warmup=10, condition=condition, C=C), 0
    for t, (x, label, i) in enumerate(zip(X, y, tasks, strict=True)):
        W, inverse, logarithm, count = learner.W.copy(), learner.inverse, learner.logarithm, learner.updates[i]
        margin = label * (W[i] @ x)
        learner.learn_one(x, label, i)
        due = margin <= 0 if condition == "mistake" else margin < 1
        assert learner.updates[i] == count + due
        np.testing.assert_allclose(learner.W, W + due * C * label * np.outer(inverse[:, i], x), atol=1e-12)
        if not due or t < 10:
            assert np.array_equal(learner.inverse, inverse)
            continue
        moved += 1
        if kind == "logdet":
            raw = inverse + 0.2 * learner.W @ learner.W.T
        elif kind == "cov":
            raw = np.cov(learner.W) + 1e-3 * np.eye(K)
        else:  # from the logarithm, as A^-1 soon loses its small eigenvalues; a multiple of I is a factor
            change = 0.2 * learner.W @ learner.W.T
            raw = scipy.linalg.expm(logarithm + change - np.trace(change) * np.eye(K))
        np.testing.assert_allclose(learner.inverse, K * raw / np.trace(raw), atol=1e-9)
        assert np.trace(learner.inverse) == pytest.approx(K)
        np.testing.assert_allclose(learner.inverse, learner.inverse.T, atol=1e-10)
        assert np.linalg.eigvalsh(learner.inverse)[0] > -1e-10
    assert moved > 10


@kinds
@conditions
def test_warm_up_is_independent_perceptrons(kind, condition):
    rows = stream(10)
    learner = Omtrl(D, 0, kind, warmup=len(rows[1]), condition=condition, C=0.5)
    W, scores = perceptrons(*rows, 0.5, condition == "margin")
    np.testing.assert_allclose(learner.learn(*rows), scores, atol=1e-12)
    np.testing.assert_allclose(learner.W, W, atol=1e-12)
    np.testing.assert_array_equal(learner.inverse, np.eye(K))


@kinds
def test_a_single_task_is_a_perceptron(kind):
    X, y, _, _ = stream(11)
    scores = Omtrl(D, 1, kind, rate=5.0).learn(X, y, np.zeros(len(y), int))
    np.testing.assert_allclose(scores, perceptrons(X, y, np.zeros(len(y), int), None, 1.0, False)[1], atol=1e-10)


@kinds
def test_newcomers_are_tied_to_nobody(kind):
    X, y, tasks, bounds = stream(12)
    learner = Omtrl(D, K, kind)
    learner.learn(X, y, tasks, bounds)
    W, inverse = learner.W.copy(), learner.inverse.copy()
    learner.learn_one(X[0], math.nan, K)
    np.testing.assert_allclose(learner.inverse, scipy.linalg.block_diag(inverse, 1.0))
    np.testing.assert_allclose(learner.W, np.vstack([W, np.zeros(D)]))
    assert np.trace(learner.inverse) == pytest.approx(K + 1)
    learner.learn_one(X[0], 1.0, K)
    np.testing.assert_allclose(learner.W, np.vstack([W, X[0]]))


@kinds
def test_zero_rows_and_unlabelled_rows_change_nothing(kind):
    rows = stream(13)
    for learner in (Foml(D, K), Omtrl(D, K, kind)):
        learner.learn(*rows)
        W, inverse, updates = learner.W.copy(), learner.inverse.copy(), learner.updates.copy()
        assert learner.learn_round([np.zeros(D), np.ones(D)], [1.0, math.nan], [0, 1])[0] == 0.0
        assert learner.learn_round([], [], []) == []
        for now, then in ((learner.W, W), (learner.inverse, inverse), (learner.updates, updates)):
            assert np.array_equal(now, then)
