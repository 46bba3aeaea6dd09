"""Laws that the oracles of the robust family keep: reductions, the regret inequality, and convex solvers."""

import cvxpy as cp
import numpy as np
import pytest

from oracles.robust import (
    Coml,
    CwCol,
    PaUnique,
    Refit,
    Romco,
    arow,
    log_values,
    mtfl,
    mtfl_objective,
    soft_values,
    trml,
    trml_loss,
)
from weft.maths.proximal import log_shrink, logdet_prox, nuclear_prox

PRECISE = {"solver": cp.CLARABEL, "tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def rounds(rng, count, tasks, features, most=None):
    """Random rounds of one to `most` tasks; labels follow one direction per task, some are wrong, some rows are 0."""
    truth = rng.normal(size=(tasks, 1)) * rng.normal(size=features) + 0.5 * rng.normal(size=(tasks, features))
    for _ in range(count):
        present = np.sort(rng.choice(tasks, rng.integers(1, (most or tasks) + 1), replace=False))
        X = rng.normal(size=(len(present), features)) * (rng.random((len(present), 1)) > 0.05)
        y = np.where((X * truth[present]).sum(axis=1) >= 0, 1.0, -1.0) * rng.choice([1, -1], len(present), p=[0.9, 0.1])
        yield X, y, present


@pytest.mark.parametrize("kind", ["nucl", "logd"])
@pytest.mark.parametrize("schedule", ["constant", "sqrt", "geometric"])
def test_without_penalties_romco_is_subgradient_descent(kind, schedule):
    romco = Romco(kind, 4, 6, eta1=0.03, eta2=0.2, lam1=0.0, lam2=0.0, schedule=schedule, kappa=0.97)
    Z = np.zeros((6, 4))
    for t, (X, y, tasks) in enumerate(rounds(np.random.default_rng(1), 200, 4, 6), start=1):
        expected = np.array([Z[:, i] @ x for x, i in zip(X, tasks, strict=True)])
        np.testing.assert_allclose(romco.learn_round(X, y, tasks), expected, atol=1e-11)
        step = 0.23 * {"constant": 1.0, "sqrt": t**-0.5, "geometric": 0.97 ** (t - 1)}[schedule]
        for x, label, i, s in zip(X, y, tasks, expected, strict=True):
            Z[:, i] += step * label * x * (label * s < 1)
    np.testing.assert_allclose(romco.U, 0.03 / 0.23 * Z, atol=1e-11)
    np.testing.assert_allclose(romco.V, 0.2 / 0.23 * Z, atol=1e-11)


def test_huge_penalties_leave_nothing():
    nucl, logd = (Romco(kind, 3, 5, lam1=1e6, lam2=1e6) for kind in ("nucl", "logd"))
    for X, y, tasks in rounds(np.random.default_rng(2), 50, 3, 5):
        np.testing.assert_array_equal(nucl.learn_round(X, y, tasks), 0.0)
        assert np.abs(logd.learn_round(X, y, tasks)).max(initial=0.0) < 1e-3  # the log-determinant only comes close
    assert not nucl.U.any()
    assert not nucl.V.any()
    assert not logd.V.any()


def nuclear(U):
    return np.linalg.svd(U, compute_uv=False).sum()


def loss_and_penalty(U, V, X, y, tasks, lam1, lam2):
    margins = y * (X * (U + V)[:, tasks].T).sum(axis=1)
    return np.maximum(0, 1 - margins).sum() + lam1 * nuclear(U) + lam2 * np.linalg.norm(V, axis=0).sum()


@pytest.mark.parametrize("always", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_regret_of_nucl(seed, always):
    """Theorem 3 with the halves of its proof, over the rounds in which the weights were touched."""
    rng = np.random.default_rng(seed)
    m, d = 4, 5
    eta1, eta2, lam1, lam2 = 10.0 ** rng.uniform([-2, -2, -3, -3], [0, 0, 0, 0])
    romco = Romco("nucl", m, d, eta1, eta2, lam1, lam2, always_prox=always)
    played, gradients, own = [], 0.0, 0.0
    for X, y, tasks in rounds(rng, 150, m, d):
        value = loss_and_penalty(romco.U, romco.V, X, y, tasks, lam1, lam2)
        active = y * romco.learn_round(X, y, tasks) < 1
        if active.any() or always:
            played.append((X, y, tasks))
            own += value
            gradients += np.square(X[active]).sum()
    comparators = [(np.zeros((d, m)), np.zeros((d, m))), (romco.U, romco.V)]
    for scale in 10.0 ** rng.uniform(-2, 0.5, 40):
        U = scale * np.outer(rng.normal(size=d), rng.normal(size=m))
        comparators.append(
            (U + 0.1 * scale * rng.normal(size=(d, m)), scale * rng.normal(size=(d, m)) * rng.integers(2))
        )
    comparators.append(best_comparator(played, m, d, eta1, eta2, lam1, lam2))
    for U, V in comparators:
        theirs = sum(loss_and_penalty(U, V, *one, lam1, lam2) for one in played)
        room = np.square(U).sum() / (2 * eta1) + np.square(V).sum() / (2 * eta2) + (eta1 + eta2) / 2 * gradients
        assert own - theirs <= room + 1e-9


def best_comparator(played, m, d, eta1, eta2, lam1, lam2):
    """The comparator for which the inequality leaves least room."""
    U, V = cp.Variable((d, m)), cp.Variable((d, m))
    X, y, tasks = (np.concatenate(part) for part in zip(*played, strict=True))
    margins = cp.multiply(y, cp.sum(cp.multiply(X, (U + V)[:, tasks].T), axis=1))
    penalty = lam1 * cp.normNuc(U) + lam2 * cp.sum(cp.norm(V, 2, axis=0))
    cost = cp.sum(cp.pos(1 - margins)) + len(played) * penalty
    cp.Problem(cp.Minimize(cost + cp.sum_squares(U) / (2 * eta1) + cp.sum_squares(V) / (2 * eta2))).solve(cp.CLARABEL)
    return U.value, V.value


def test_the_regret_inequality_is_tight():
    """The same example T times: against U = V = T eta x both sides are eta T (T + 1)."""
    eta, T = 1e-3, 100
    romco = Romco("nucl", 1, 1, eta, eta, 0.0, 0.0)
    own = sum(1 - romco.learn_round(np.ones((1, 1)), np.ones(1), [0])[0] for _ in range(T))
    u = T * eta
    bound = u * u / (2 * eta) + u * u / (2 * eta) + (eta + eta) / 2 * T
    np.testing.assert_allclose(own - T * (1 - 2 * u), bound, rtol=1e-12)
    np.testing.assert_allclose(bound, eta * T * (T + 1), rtol=1e-12)


def test_schedules_of_the_shrinkage():
    """`rho_only` leaves the steps and the personal part alone; rho0 stands for eta1 lam1."""
    stream = list(rounds(np.random.default_rng(3), 60, 3, 5))
    U, V = np.zeros((5, 3)), np.zeros((5, 3))
    romco = Romco("logd", 3, 5, 0.2, 0.1, 0.7, 0.05, schedule="sqrt", rho_only=True, rho0=1.0)
    for t, (X, y, tasks) in enumerate(stream, start=1):
        s = romco.learn_round(X, y, tasks)
        active = y * s < 1
        if not active.any():
            continue
        g = np.zeros((5, 3))
        g[:, tasks[active]] = -(y[active, None] * X[active]).T
        U = logdet_prox(U - 0.2 * g, t**-0.5).matrix
        V = V - 0.1 * g
        V = V * np.maximum(0, 1 - 0.005 / np.maximum(np.linalg.norm(V, axis=0), 1e-300))
        np.testing.assert_allclose(romco.U, U, atol=1e-9)
        np.testing.assert_allclose(romco.V, V, atol=1e-12)


def test_a_round_without_loss_changes_nothing_unless_asked():
    X, y, tasks = np.array([[2.0, 0.0]]), np.ones(1), np.array([1])
    for always in (False, True):
        romco = Romco("nucl", 2, 2, 1.0, 1.0, 0.1, 0.1, always_prox=always)
        romco.learn_round(X, y, tasks)
        before = romco.U.copy(), romco.V.copy()
        assert y * romco.learn_round(X, y, tasks) > 1
        assert (np.array_equal(romco.U, before[0]) and np.array_equal(romco.V, before[1])) != always
        assert len(romco.learn_round(np.zeros((0, 2)), np.zeros(0), np.zeros(0, dtype=int))) == 0


def test_two_ways_to_shrink_singular_values():
    rng = np.random.default_rng(4)
    h, rho = rng.exponential(5, 500), np.where(rng.random(500) < 0.5, 4.0, 25.0) * rng.random(500)
    ours = np.array([log_values([a], b)[0] for a, b in zip(h, rho, strict=True)])
    np.testing.assert_allclose(log_shrink(h, rho), ours, rtol=1e-9)
    assert soft_values(np.array([3.0, 0.5]), 1.0).tolist() == [2.0, 0.0]


def test_coml_without_the_global_model_is_pa():
    rng = np.random.default_rng(5)
    for e1, C in [(1.0, 1.0), (1.0, 0.05), (4.0, 0.2)]:
        coml, pa = Coml(4, 5, C, e1, 0.0), PaUnique(4, 5, C / e1)
        for X, y, tasks in rounds(rng, 200, 4, 5):
            np.testing.assert_allclose(coml.learn_round(X, y, tasks), pa.learn_round(X, y, tasks), atol=1e-12)


def test_coml_steps_are_argmins():
    rng = np.random.default_rng(6)
    C, e1, e2 = 0.3, 1.0, 2.5
    coml, moved = Coml(3, 4, C, e1, e2), 0
    for X, y, tasks in rounds(rng, 40, 3, 4, most=1):
        old, w, k = coml.u[tasks[0]].copy(), coml.w.copy(), tasks[0]
        score = coml.learn_round(X, y, tasks)
        if y * score >= 1 or not X.any():
            np.testing.assert_array_equal(coml.u[k], old)
            continue
        u = cp.Variable(4)
        near = e1 / 2 * cp.sum_squares(u - old) + e2 / 2 * cp.sum_squares(u - w)
        cp.Problem(cp.Minimize(near + C * cp.pos(1 - y[0] * (X[0] @ u)))).solve(**PRECISE)
        np.testing.assert_allclose(coml.u[k], u.value, atol=1e-5)
        moved += 1
    assert moved > 15


def test_arow_steps_are_argmins():
    rng = np.random.default_rng(7)
    for _ in range(30):
        d, r = 4, 10 ** rng.uniform(-1, 1)
        mean, variance, x = rng.normal(size=d), rng.uniform(0.1, 1, d), rng.normal(size=d)

        def objective(m, S, mean=mean, variance=variance, x=x, r=r):
            divergence = 0.5 * (np.log(variance / S) + S / variance + (m - mean) ** 2 / variance - 1).sum()
            return divergence + (max(0.0, 1 - m @ x) ** 2 + x @ (S * x)) / (2 * r)

        m, S = arow(mean, variance, x, 1.0, r)
        if mean @ x >= 1:
            assert m is mean
            assert S is variance
            continue
        for scale in (1e-3, 1e-2, 0.1):
            for _ in range(20):
                other = objective(m + scale * rng.normal(size=d), S * np.exp(scale * rng.normal(size=d)))
                assert objective(m, S) <= other + 1e-13


def test_cw_col_at_the_ends_of_the_mix():
    """With mix = 1 every task is AROW by itself; a single task with its own global model twice is the same AROW."""
    alone, single = CwCol(3, 4, mix=1.0), CwCol(1, 4, mix=0.3)
    means, variances = np.zeros((3, 4)), np.ones((3, 4))
    mean, variance = np.zeros(4), np.ones(4)
    for X, y, tasks in rounds(np.random.default_rng(8), 200, 3, 4, most=1):
        k = tasks[0]
        np.testing.assert_allclose(alone.learn_round(X, y, tasks), X @ means[k], atol=1e-12)
        means[k], variances[k] = arow(means[k], variances[k], X[0], y[0], 1.0) if X.any() else (means[k], variances[k])
        np.testing.assert_allclose(single.learn_round(X, y, [0]), X @ mean, atol=1e-9)
        mean, variance = arow(mean, variance, X[0], y[0], 1.0) if X.any() else (mean, variance)


def tables(rng, tasks=3, features=5):
    truth = np.outer(rng.normal(size=features), rng.normal(size=tasks)) + 0.2 * rng.normal(size=(features, tasks))
    X = [rng.normal(size=(rng.integers(4, 12), features)) for _ in range(tasks)]
    y = [np.where(Xi @ w + 0.3 * rng.normal(size=len(Xi)) >= 0, 1.0, -1.0) for Xi, w in zip(X, truth.T, strict=True)]
    return X, y


@pytest.mark.parametrize(("gamma", "eps"), [(0.5, 1e-2), (3.0, 1e-3)])
def test_mtfl_against_a_convex_solver(gamma, eps):
    X, y = tables(np.random.default_rng(9))
    W = cp.Variable((5, 3))
    loss = sum(cp.sum_squares(Xi @ W[:, i] - yi) for i, (Xi, yi) in enumerate(zip(X, y, strict=True)))
    problem = cp.Problem(cp.Minimize(loss + gamma * cp.square(cp.normNuc(cp.hstack([W, np.sqrt(eps) * np.eye(5)])))))
    problem.solve(**PRECISE)
    found = mtfl(X, y, gamma, eps)
    assert abs(mtfl_objective(found, X, y, gamma, eps) - problem.value) <= 1e-7 * problem.value
    np.testing.assert_allclose(found, W.value, atol=1e-4)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("lam", [0.02, 0.2])
def test_trml_against_a_convex_solver(loss, lam):
    X, y = tables(np.random.default_rng(10))
    W = cp.Variable((5, 3))
    data = zip(X, y, strict=True)
    if loss == "logistic":
        cost = sum(cp.sum(cp.logistic(-cp.multiply(yi, Xi @ W[:, i]))) / len(yi) for i, (Xi, yi) in enumerate(data))
    else:
        cost = sum(cp.sum_squares(Xi @ W[:, i] - yi) / len(yi) for i, (Xi, yi) in enumerate(data))
    problem = cp.Problem(cp.Minimize(cost + lam * cp.normNuc(W)))
    problem.solve(**PRECISE)
    found = trml(X, y, lam, loss)
    value, gradient = trml_loss(found, X, y, loss)
    assert abs(value + lam * nuclear(found) - problem.value) <= 1e-7
    np.testing.assert_allclose(found, W.value, atol=1e-4)
    # Optimality: found = prox(found - gradient) for any step.
    np.testing.assert_allclose(nuclear_prox(found - 0.7 * gradient, 0.7 * lam).matrix, found, atol=1e-9)


@pytest.mark.parametrize("fit", [lambda X, y: mtfl(X, y, 1.0, 1e-2), lambda X, y: trml(X, y, 0.05)])
def test_batch_methods_in_a_stream(fit):
    """Scores are 0 until the hundredth row, then those of the last fit; tasks without rows are no obstacle."""
    stream = [part for part in rounds(np.random.default_rng(11), 130, 3, 4) if 2 not in part[2]]
    refit, seen = Refit(fit, 3, 4, every=20), 0
    for X, y, tasks in stream:
        scores = refit.learn_round(X, y, tasks)
        assert seen >= 20 or not scores.any()
        seen += len(y)
    assert not refit.W[:, 2].any()
    assert refit.W[:, :2].any(axis=0).all()
    right = sum(
        ((x @ refit.W[:, i]) * label > 0) for X, y, tasks in stream for x, label, i in zip(X, y, tasks, strict=True)
    )
    assert right > 0.75 * seen
