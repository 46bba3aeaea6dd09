"""The batch oracles of the smoothed learners against their objectives."""

import math

import cvxpy as cp
import numpy as np
import pytest

from oracles.smoothed_batch import Data, attention, dual, entropy, itl, primal, shamo, shamo_run, smtl, stl, svm

K, D = 4, 3


def data(seed, n=80, groups=2, even=False):
    """Tasks in groups that have a teacher each, with a tenth of the labels turned."""
    rng = np.random.default_rng(seed)
    U = rng.normal(size=(groups, D))
    task = (
        np.arange(n) % K if even else np.concatenate([np.arange(K), rng.choice(K, size=n - K, p=[0.4, 0.3, 0.2, 0.1])])
    )
    X = rng.normal(size=(n, D))
    s = np.sum(U[task % groups] * X, axis=1)
    return X, np.where((s >= 0) ^ (rng.random(n) < 0.1), 1.0, -1.0), task


@pytest.mark.parametrize(("n", "d", "reg"), [(40, 3, 1e-2), (60, 30, 1e-2), (30, 60, 1e-3), (80, 4, 10.0)])
def test_svm_is_the_argmin(n, d, reg):
    rng = np.random.default_rng(n)
    X, y, c = rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], size=n), rng.random(n) / n
    X[0], c[1], X[3], y[3] = 0.0, 0.0, X[2], -y[2]  # a row of zeros, one without weight, one twice with both labels
    w, a = svm(X, y, c, reg)
    assert primal(X, y, c, reg, w) - dual(X, y, c, reg, a) <= 1e-13
    assert a.min() >= 0
    assert np.all(a <= c)
    np.testing.assert_allclose(w, (a * y) @ X / reg, atol=1e-9)
    v = cp.Variable(d)
    problem = cp.Problem(cp.Minimize(c @ cp.pos(1 - cp.multiply(y, X @ v)) + reg / 2 * cp.sum_squares(v)))
    problem.solve(solver="CLARABEL")
    assert primal(X, y, c, reg, w) == pytest.approx(problem.value, abs=1e-8)
    assert primal(X, y, c, reg, w) <= primal(X, y, c, reg, v.value) + 1e-14
    np.testing.assert_allclose(w, v.value, atol=1e-3)


def test_svm_of_nothing():
    w, _ = svm(np.zeros((2, 3)), np.ones(2), np.ones(2))
    assert not w.any()


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("lam", [0.03, 0.3, 3.0])
def test_objective_of_smtl_never_rises(alpha, lam):
    for seed in range(2):
        fit = smtl(*data(seed), "e", alpha, lam)
        assert np.all(np.diff(fit.objectives.ravel()) <= 1e-10)
        assert fit.objectives[0, 0] - fit.objectives[-1, 1] > 1e-5
        np.testing.assert_allclose(fit.P.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("kind", ["e", "t"])
def test_smtl_ends_at_a_point_of_its_own_map(kind):
    X, y, task = data(3)
    fit, d = smtl(X, y, task, kind, 0.4, 0.6), Data(X, y, task)
    assert len(fit.objectives) < 50
    for k in range(K):
        w, L = fit.W[k], d.losses(fit.W[k])
        q = np.exp(-0.6 / 0.6 * L) if kind == "e" else np.maximum(0, 0.6 - L)
        np.testing.assert_allclose(fit.P[k], q / q.sum(), atol=1e-12)
        eta = 0.4 * (np.arange(K) == k) + 0.6 * fit.P[k]
        v = cp.Variable(D)
        losses = cp.pos(1 - cp.multiply(y, X @ v))
        objective = sum(eta[j] * cp.sum(losses[task == j]) / np.sum(task == j) for j in range(K))
        cp.Problem(cp.Minimize(objective + 5e-3 * cp.sum_squares(v))).solve(solver="CLARABEL")
        np.testing.assert_allclose(w, v.value, atol=5e-3)  # P has moved by less than 1e-4 since


def test_attention_e_is_the_argmin():
    rng = np.random.default_rng(0)
    for _ in range(10):
        L, alpha, lam = rng.random(K) * 2, rng.random(), rng.random() + 0.05
        p = attention("e", L, alpha, lam)
        for q in rng.dirichlet(np.ones(K), size=20):
            for r in (q, 0.99 * p + 0.01 * q):
                assert (1 - alpha) * p @ L - lam * entropy(p) <= (1 - alpha) * r @ L - lam * entropy(r) + 1e-14


def test_attention_t():
    L = np.array([0.5, 0.1, 0.3, 0.1])
    np.testing.assert_allclose(attention("t", L, 0.5, 0.3), [0, 0.5, 0, 0.5])
    np.testing.assert_allclose(attention("t", L, 0.5, 0.4), np.array([0, 3, 1, 3]) / 7)
    np.testing.assert_allclose(attention("t", L, 0.5, 0.05), [0, 0.5, 0, 0.5])  # uniform over the least
    for kind in "et":
        np.testing.assert_allclose(attention(kind, L, 0.5, math.inf), 0.25)


@pytest.mark.parametrize("kind", ["e", "t"])
def test_extremes_of_smtl_are_itl_and_stl(kind):
    rows = data(4, even=True)
    np.testing.assert_allclose(smtl(*rows, kind, alpha=1.0, lam=0.5).W, itl(*rows), atol=1e-9)
    pooled = smtl(*rows, kind, alpha=0.0, lam=math.inf)
    np.testing.assert_allclose(pooled.W, np.tile(stl(*rows), (K, 1)), atol=1e-9)
    assert len(pooled.objectives) == 1


@pytest.mark.parametrize("m", [1, 2, 3, 6])
def test_total_of_shamo_never_rises(m):
    moves = 0
    for seed in range(8):
        X, y, task = data(seed, groups=4)
        d, rng = Data(X, y, task), np.random.default_rng(seed)
        run = shamo_run(d, rng.integers(m, size=K), m, 1e-2)
        assert np.all(np.diff(run.totals) <= 1e-8)
        moves += len(run.totals)
        own = d.N @ [d.losses(run.W[k])[k] for k in range(K)] / d.n
        assert run.totals[-1] == pytest.approx(own + 5e-3 * np.sum(run.hypotheses**2), abs=1e-12)
        for k in range(K):
            losses = [d.losses(h)[k] for h in run.hypotheses]
            assert losses[run.assignment[k]] <= min(losses) + 1e-9
        for c in set(run.assignment.tolist()):  # no other hypothesis of this cluster makes the total less
            chosen = run.assignment[task] == c
            best = primal(X[chosen], y[chosen], np.full(chosen.sum(), 1 / d.n), 1e-2, run.hypotheses[c])
            for z in rng.normal(size=(10, D)) * np.repeat([0.3, 0.01], 5)[:, None]:
                w = run.hypotheses[c] + z
                assert best < primal(X[chosen], y[chosen], np.full(chosen.sum(), 1 / d.n), 1e-2, w)
    assert moves > 8 or m == 1  # something was reassigned


def test_shamo_of_one_is_stl_and_of_planted_groups_finds_them():
    rows = data(5, n=200)
    one = shamo(*rows, 1)
    np.testing.assert_allclose(one.W, np.tile(stl(*rows), (K, 1)), atol=1e-9)
    two = shamo(*rows, 2, seed=1)
    assert two.assignment[0] == two.assignment[2] != two.assignment[1] == two.assignment[3]
    assert two.totals[-1] < one.totals[-1]
    same = shamo(*rows, 2, seed=1)
    np.testing.assert_array_equal(same.W, two.W)
