"""The oracles of the smoothed multitask learners against what the papers say that they do."""

import math

import cvxpy as cp
import numpy as np
import pytest

from oracles.smoothed import Osmtl, floored

K, D = 4, 3
variants = pytest.mark.parametrize("variant", ["e", "t"])
conditions = pytest.mark.parametrize("condition", ["margin", "mistake", "active"])


def rounds(seed, T=60, absent=0.3, noise=0.15, d=D):
    """Rounds (X, y, tasks) of noisy teachers somewhat alike, from which tasks are absent at random; rows of norm 1."""
    rng = np.random.default_rng(seed)
    U = rng.normal(size=d) + 0.7 * rng.normal(size=(K, d))
    made = []
    for t in range(T):
        present = np.flatnonzero(rng.random(K) >= absent) if t else np.arange(K)
        tasks = rng.permutation(present) if t else present
        X = rng.normal(size=(len(tasks), d))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        s = np.sum(U[tasks] * X, axis=1)
        made.append((X, np.where((s >= 0) ^ (rng.random(len(tasks)) < noise), 1.0, -1.0), tasks))
    return made


def perceptrons(stream, step, margin):
    """Independent learners; an update where y s < 1 or, without margin, y s <= 0."""
    W, scores = np.zeros((K, D)), []
    for X, y, tasks in stream:
        for x, label, i in zip(X, y, tasks, strict=True):
            scores.append(W[i] @ x)
            if label * scores[-1] < 1 if margin else label * scores[-1] <= 0:
                W[i] += step * label * x
    return W, scores


def learn(learner, stream):
    return [score for X, y, tasks in stream for score in learner.learn_round(X, y, tasks)]


def flat(stream):
    return [([x], [label], [i]) for X, y, tasks in stream for x, label, i in zip(X, y, tasks, strict=True)]


# ---------------------------------------------------------------------------------------------------- OSMTL


@variants
@conditions
def test_alpha_1_is_independent_perceptrons(variant, condition):
    learner = Osmtl(D, K, variant, condition, alpha=1.0, C=0.3)
    scores = learn(learner, rounds(1))
    W, expected = perceptrons(rounds(1), 0.3, condition != "mistake")
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    np.testing.assert_allclose(learner.W, W, atol=1e-12)


@variants
@conditions
def test_lam_inf_freezes_P(variant, condition):
    learner = Osmtl(D, K, variant, condition, alpha=0.4, C=0.5, lam=math.inf)
    learn(learner, rounds(2))
    assert np.all(learner.P == 1 / K)
    assert learner.updates.min() > 0
    moved = Osmtl(D, K, variant, condition, alpha=0.4, C=0.5)
    learn(moved, rounds(2))
    assert np.abs(moved.P - 1 / K).max() > 0.01
    assert np.abs(moved.W - learner.W).max() > 0.01


@variants
def test_a_stream_of_single_rows_never_moves_P(variant):
    learner = Osmtl(D, K, variant, alpha=0.4, C=0.5)
    scores = learn(learner, flat(rounds(3)))
    np.testing.assert_allclose(learner.P, 1 / K, atol=1e-15)
    np.testing.assert_allclose(scores, perceptrons(rounds(3), 0.5 * (0.4 + 0.6 / K), True)[1], atol=1e-12)


@variants
@conditions
@pytest.mark.parametrize("lam", [None, 1e-3, 1.4, 50.0])
@pytest.mark.parametrize("p_min", [0.0, 0.02, 0.25, 0.9])
def test_rows_of_P_stay_on_the_simplex_above_the_floor(variant, condition, lam, p_min):
    learner = Osmtl(D, K, variant, condition, alpha=0.2, C=1.5, lam=lam, p_min=p_min)
    for X, y, tasks in rounds(4, T=120):
        before = learner.P
        learner.learn_round(X, y, tasks)
        np.testing.assert_allclose(learner.P.sum(axis=1), 1.0, atol=1e-9)
        assert learner.P.min() >= min(p_min, 1 / K) - 1e-12
        away = np.setdiff1d(np.arange(K), tasks)
        assert np.array_equal(learner.P[:, away], before[:, away])
        assert np.array_equal(learner.P[away], before[away])


def watched(learner, stream):
    """Rounds with what the learner was before and after each."""
    for X, y, tasks in stream:
        W, P, updates = learner.W.copy(), learner.P.copy(), learner.updates.copy()
        alpha, C = learner.parameters
        learner.learn_round(X, y, tasks)
        yield X, y, tasks, W, P, learner.updates - updates, alpha, C


@conditions
@pytest.mark.parametrize("p_min", [0.0, 0.06])
def test_step_e_is_the_proximal_argmin_with_absent_coordinates_held(condition, p_min):
    rng, compared = np.random.default_rng(0), 0
    learner, lam = Osmtl(D, K, "e", condition, alpha=0.3, C=0.8, lam=0.4, p_min=p_min), 0.4
    for turn, (X, y, tasks, W, P, updated, alpha, C) in enumerate(watched(learner, rounds(5, T=40))):
        losses = np.maximum(0, 1 - y * (W @ X.T))
        for k in np.flatnonzero(updated):
            old, new = P[k, tasks], learner.P[k, tasks]

            def value(p, old=old, l=losses[k], C=C, alpha=alpha):
                return C * (1 - alpha) * p @ l + lam * np.sum(p * np.log(p / old))

            for _ in range(20):  # along the simplex, inside the floor
                other = p_min + (old.sum() - p_min * len(old)) * rng.dirichlet(np.ones(len(old)))
                for size in (1.0, 0.1, 0.01):
                    assert value(new) <= value((1 - size) * new + size * other) + 1e-12
            if turn % 8 == 0 and len(old) > 1:
                p = cp.Variable(len(old))
                objective = C * (1 - alpha) * losses[k] @ p + lam * cp.sum(cp.kl_div(p, old))
                cp.Problem(cp.Minimize(objective), [cp.sum(p) == old.sum(), p >= p_min]).solve(solver="CLARABEL")
                np.testing.assert_allclose(new, p.value, atol=2e-4)  # the solver is no sharper
                compared += 1
    assert compared > 3


def test_step_t_keeps_what_is_below_the_threshold():
    kept = unmoved = 0
    learner = Osmtl(D, K, "t", alpha=0.3, C=0.8, lam=0.9)
    for X, y, tasks, W, P, updated, _, _ in watched(learner, rounds(6, T=120)):
        losses = np.maximum(0, 1 - y * (W @ X.T))
        for k in np.flatnonzero(updated):
            rest = np.maximum(0, 0.9 - losses[k])
            if rest.sum() == 0:
                assert np.array_equal(learner.P[k], P[k])
                unmoved += 1
            else:
                np.testing.assert_allclose(learner.P[k, tasks] * rest.sum(), P[k, tasks].sum() * rest, atol=1e-12)
                kept += 1
    assert kept > 20
    assert unmoved > 3


@variants
@conditions
def test_step_of_W_is_the_argmin_of_eq_8_with_half_the_square(variant, condition):
    rng = np.random.default_rng(0)
    learner = Osmtl(D, K, variant, condition, alpha=0.3, C=0.8)
    for X, y, tasks, W, P, updated, alpha, C in watched(learner, rounds(7, T=40)):
        for k in range(K):
            margins, here = y * (X @ W[k]), tasks == k
            eta = alpha * here + (1 - alpha) * P[k, tasks]

            def value(w, half, y=y, X=X, weights=C * eta * (margins < 1), w_t=W[k]):
                return weights @ (1 - y * (X @ w)) + half * np.sum((w - w_t) ** 2)

            due = {"margin": margins[here] < 1, "mistake": margins[here] <= 0, "active": margins < 1}[condition]
            assert updated[k] == (here.any() and due.any())
            if not updated[k]:
                assert np.array_equal(learner.W[k], W[k])
                continue
            w = learner.W[k]
            for z in rng.normal(size=(20, D)) * np.repeat([1.0, 0.01], 10)[:, None]:
                assert value(w, 0.5) < value(w + z, 0.5)
            # With the square as printed it would be the half of that step.
            assert value((W[k] + w) / 2, 1.0) < value(w, 1.0) or np.array_equal(w, W[k])


# ---------------------------------------------------------------------------------------------------- its guarantee


def regret_and_bound(learner, stream, rivals):
    """Of every task against every rival (M x d): both sides of Theorem 1, the sums over the rounds t."""
    regret, extra, u = np.zeros((K, len(rivals))), np.zeros((K, len(rivals))), np.zeros(K)
    alpha, C = learner.parameters
    for X, y, tasks, W, _, updated, *_ in watched(learner, stream):
        own, theirs = np.maximum(0, 1 - y * (W @ X.T)), np.maximum(0, 1 - y * (rivals @ X.T))
        for position, k in enumerate(tasks):
            regret[k] += own[k, position] - theirs[:, position]
            if updated[k]:
                others = np.delete(theirs, position, axis=1)
                extra[k] += theirs[:, position] + (others.max(axis=1) if others.size else 0.0)
                u[k] += 1
    bound = np.sum(rivals**2, axis=1) / (2 * C * alpha) + (1 - alpha) / alpha * extra + C * u[:, None] / (2 * alpha)
    return regret, bound  # the rows are at most 1 long


def some_rivals(stream, seed=0):
    """Random ones, and a good one for every task."""
    rng = np.random.default_rng(seed)
    rivals = list(rng.normal(size=(30, D)) * rng.choice([0.3, 1.0, 4.0], size=(30, 1)))
    for k in range(K):
        rows = [(x, label) for X, y, tasks in stream for x, label, i in zip(X, y, tasks, strict=True) if i == k]
        w = np.zeros(D)
        for n in range(1, 150):
            x, label = rows[n % len(rows)]
            w += (label * (w @ x) < 1) * label * x / math.sqrt(n)
        rivals += [w, w / 2]
    return np.array(rivals)


@variants
@pytest.mark.parametrize("condition", ["margin", "active"])
@pytest.mark.parametrize(("alpha", "C"), [(0.05, 0.5), (0.5, 0.1), (0.9, 1.0), (1.0, 0.2), (None, None)])
def test_theorem_1(variant, condition, alpha, C):
    for seed in range(4):
        stream = rounds(seed, T=60, absent=0.3 * (seed % 2), noise=0.1 * seed)
        learner = Osmtl(D, K, variant, condition, alpha=alpha, C=C, T=60, p_min=0.05 * (seed // 2))
        regret, bound = regret_and_bound(learner, stream, some_rivals(stream))
        assert np.all(regret <= bound + 1e-9)


@variants
def test_theorem_1_holds_in_every_epoch_after_a_restart(variant):
    stream = rounds(8, T=63, absent=0.2)
    learner = Osmtl(D, K, variant, restart=True)
    for m in range(6):
        epoch = stream[2**m - 1 : 2 ** (m + 1) - 1]
        assert learner.parameters == (math.sqrt(2**m) / (1 + math.sqrt(2**m)), (1 + math.sqrt(2**m)) / 2**m)
        assert not learner.W.any()
        assert np.all(learner.P == 1 / K)
        regret, bound = regret_and_bound(learner, epoch, some_rivals(stream))
        assert np.all(regret <= bound + 1e-9)


def test_theorem_1_fails_for_mistakes():
    """A small step settles the sign, and a loss of 1 - C is never worked on again."""
    learner, same = Osmtl(1, 1, "e", "mistake", alpha=1.0, C=0.01), ([[1.0]], [1.0], [0])
    loss = sum(1 - learner.learn_round(*same)[0] for _ in range(200))
    assert loss > 1 / (2 * 0.01) + 0.01 * learner.updates[0] / 2 + 100  # the rival w = 1 has no loss


@variants
def test_epochs_without_restart_change_the_letters_only(variant):
    learner = Osmtl(D, K, variant)
    stream = rounds(9, T=31, absent=0.0)
    learn(learner, stream)
    by_hand = Osmtl(D, K, variant, T=1)
    for m in range(5):
        by_hand.T = 2**m
        learn(by_hand, stream[2**m - 1 : 2 ** (m + 1) - 1])
    np.testing.assert_array_equal(learner.W, by_hand.W)
    np.testing.assert_array_equal(learner.P, by_hand.P)


# ---------------------------------------------------------------------------------------------------- its tasks


@variants
@conditions
def test_permuting_tasks_permutes_all(variant, condition):
    order = np.array([2, 0, 3, 1])  # the new number of task i
    one, two = (Osmtl(D, K, variant, condition, alpha=0.3, C=0.8) for _ in range(2))
    stream = rounds(10)
    np.testing.assert_allclose(learn(one, stream), learn(two, [(X, y, order[i]) for X, y, i in stream]), atol=1e-12)
    np.testing.assert_allclose(one.W, two.W[order], atol=1e-12)
    np.testing.assert_allclose(one.P, two.P[np.ix_(order, order)], atol=1e-12)


def test_newcomers_are_looked_at_like_the_average_task():
    learner = Osmtl(1, 2, "e", alpha=0.0, C=1.0, lam=1.0)
    learner.learn_round([[1.0], [0.5]], [1.0, -1.0], [0, 1])
    P = learner.P
    assert P[0, 0] == pytest.approx(0.5)  # both have lost 1: nobody has told them apart
    learner.learn_round([[1.0], [0.5]], [1.0, -1.0], [0, 1])
    assert learner.P[0, 0] > 0.5
    P = learner.P
    learner.learn_round([[2.0]], [math.nan], [2])
    np.testing.assert_allclose(learner.P, np.block([[P * 2 / 3, np.full((2, 1), 1 / 3)], [np.full((1, 3), 1 / 3)]]))
    with pytest.raises(AssertionError):
        learner.learn_round([[2.0]], [1.0], [4])


@variants
@conditions
def test_odd_rounds(variant, condition):
    learner = Osmtl(1, 0, variant, condition)
    assert learner.learn_round([], [], []) == []
    assert learner.learn_round([[0.0]], [1.0], [0]) == [0.0]
    assert learner.rounds == 1
    state = learner.W.copy(), learner.P.copy(), learner.parameters
    learner.learn_round([[5.0]], [math.nan], [0])
    assert (state[0] == learner.W).all()
    assert (state[1] == learner.P).all()
    assert learner.parameters == state[2]
    learner.learn_round([[5.0], [0.0]], [1.0, math.nan], [0, 1])
    assert np.isfinite(learner.W).all()
    assert learner.N == 2


def test_floored_is_the_nearest():
    rng = np.random.default_rng(0)
    for _ in range(5):
        q = rng.dirichlet(np.full(5, 0.4)) + 1e-6
        p = cp.Variable(5)
        cp.Problem(cp.Minimize(cp.sum(cp.kl_div(p, q))), [cp.sum(p) == 0.8, p >= 0.1]).solve(solver="CLARABEL")
        np.testing.assert_allclose(floored(q, 0.8, 0.1), p.value, atol=2e-4)  # the solver is no sharper
