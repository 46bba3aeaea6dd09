"""Regret bounds of multitask mirror descent: their quantities, that they hold, and what they refuse."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from oracles import dense_descent as dense
from weft.evaluation import (
    Descent,
    best_linear,
    ftrl,
    loss_and_slope,
    proposition2,
    proposition5,
    proposition6,
    proposition7,
    proposition8,
    regret,
    theorem1,
    theorem1_varying,
)
from weft.guarantees.descent import divergence, energy
from weft.guarantees.measures import LOSSES, simplex_variance, variance

EUCLIDEAN, P_NORM, ENTROPY, P_SIMPLEX = "euclidean", ("p-norm", 1.5), "entropy", ("p-norm simplex", 1.4)
EVERY = (EUCLIDEAN, P_NORM, ENTROPY, P_SIMPLEX)
SIMPLEX = (ENTROPY, P_SIMPLEX)
seeds, sizes, kinds = st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from(dense.KINDS)
single = st.sampled_from([kind for kind in dense.KINDS if kind != "compound"])
shares = st.sampled_from([0.0, 0.5, 2.0, 4.0, math.inf])
few = settings(max_examples=30, deadline=None)


def play(kind, seed, N, d, regularizer=EUCLIDEAN, T=20, loss="linear", **options):
    draw = dense.adversary(kind, seed, N, d, loss, regularizer in SIMPLEX)
    return dense.descend(draw, T, N, d, regularizer, loss=loss, **options)


def rival(rng, N, d, regularizer, b):
    """A random comparator of the learner with this b."""
    if regularizer in SIMPLEX:
        return dense.similar_on_simplex(rng, N, d, 0.0 if b == math.inf else 1 / math.sqrt(1 + b))
    return np.tile(rng.normal(size=d), (N, 1)) if b == math.inf else rng.normal(size=(N, d))


# ------------------------------------------------------------------------------------------------ what is measured


@pytest.mark.parametrize("loss", LOSSES)
def test_slopes_are_derivatives(loss):
    a, y = np.array([-2.0, -0.3, 0.2, 0.95, 1.7, 40.0]), np.array([1.0, -1.0, 1.0, 1.0, -1.0, np.nan])
    value, slope = loss_and_slope(loss, a, y, 0.3)
    up, down = loss_and_slope(loss, a + 1e-6, y, 0.3)[0], loss_and_slope(loss, a - 1e-6, y, 0.3)[0]
    np.testing.assert_allclose(slope, (up - down) / 2e-6, atol=1e-6)
    assert value[-1] == slope[-1] == 0
    expected = {"square": 9, "logistic": math.log1p(math.exp(2)), "hinge": 3, "absolute": 3, "linear": -2}
    assert value[0] == pytest.approx(expected.get(loss, 2.7))


def test_slopes_at_the_ends_and_kinks():
    assert loss_and_slope("logistic", [800.0, -800.0], [1.0, 1.0])[1].tolist() == [0.0, -1.0]
    assert loss_and_slope("hinge", [1.0], [1.0])[1] == 0
    assert loss_and_slope("absolute", [2.0], [2.0])[1] == 0
    with pytest.raises(ValueError, match="-1 and \\+1"):
        loss_and_slope("hinge", [1.0], [2.0])
    with pytest.raises(ValueError, match="loss is one of square"):
        loss_and_slope("cubic", [1.0], [2.0])


@pytest.mark.parametrize("regularizer", EVERY, ids=str)
def test_regret_and_energy_by_hand(regularizer):
    run = play("compound", 3, 4, 3, regularizer, b=2.0, loss="hinge")
    U, q = (
        np.random.default_rng(0).normal(size=(4, 3)),
        {EUCLIDEAN: 2, P_NORM: 3, ENTROPY: np.inf}.get(regularizer, 3.5),
    )
    half, total, energies = dense.half_inverse(run.inverse), 0.0, []
    for t in range(20):
        G = np.zeros((4, 3))
        for r in range(run.rounds[t], run.rounds[t + 1]):
            x, y, i = run.X[r], run.y[r], run.task[r]
            if not np.isnan(y):
                total += max(0, 1 - y * run.scores[r]) - max(0, 1 - y * (U[i] @ x))
                G[i] = -y * x if y * run.scores[r] < 1 else 0
        energies.append(np.sum(dense.norm(half @ G, q) ** 2))
    assert regret(run, U) == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(energy(run), energies, rtol=1e-9)
    held = run._replace(X=sparse.csr_matrix(run.X))
    assert regret(held, U) == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(energy(held), energies, rtol=1e-9)


@pytest.mark.parametrize("regularizer", EVERY, ids=str)
def test_divergence_by_its_definition(regularizer):
    run, rng = play("random", 1, 3, 4, regularizer), np.random.default_rng(2)
    Y, Z = rng.dirichlet(np.ones(4), size=3), rng.dirichlet(np.ones(4), size=3)

    def psi(V):
        p = 2 if regularizer == EUCLIDEAN else regularizer[1]
        return np.sum(V * np.log(V)) if regularizer == ENTROPY else np.sum(dense.norm(V, p) ** 2) / 2

    slope = (psi(Z + 1e-6 * (Y - Z)) - psi(Z - 1e-6 * (Y - Z))) / 2e-6
    assert divergence(run, Y, Z) == pytest.approx(psi(Y) - psi(Z) - slope, rel=1e-6)
    assert divergence(run, Y, Y) == pytest.approx(0, abs=1e-12)


def test_variances_by_hand():
    assert variance(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 3.0]])) == pytest.approx((2 + 1 + 1 + 4) / 2)
    assert variance(np.array([[1.0, 2.0]])) == 0
    assert simplex_variance(np.array([[0.5, 0.5, 0.0], [0.4, 0.6, 0.0]])) == pytest.approx((0.1 / 0.5) ** 2)


# --------------------------------------------------------------------------------------------------------- Theorem 1


@few
@given(seeds, sizes, st.integers(2, 4), kinds, shares, st.sampled_from(EVERY), st.floats(0.01, 3.0))
def test_theorem1(seed, N, d, kind, b, regularizer, eta):
    run, rng = play(kind, seed, N, d, regularizer, b=b, eta=eta), np.random.default_rng(seed)
    U = rival(rng, N, d, regularizer, b)
    if np.any(energy(run)):
        sharp, varying = theorem1(run, U), theorem1_varying(run, U)
        assert sharp.holds
        assert varying.holds
        assert sharp.left == varying.left
        assert sharp.right <= varying.right * (1 + 1e-9)


@few
@given(seeds, sizes, sizes, kinds, st.sampled_from([0.0, 2.0, 4.0]), st.floats(0.01, 3.0))
def test_theorem1_is_an_equality_at_the_last_point(seed, N, d, kind, b, eta):
    """Without projection, linear losses and the Euclidean norm: R(x_{T+1}) is the right side."""
    run = play(kind, seed, N, d, b=b, eta=eta)
    G = np.zeros((N, d))
    np.add.at(G, run.task, np.where(np.isnan(run.y), 0, 1)[:, None] * run.X)
    if np.any(energy(run)):
        left, right = theorem1(run, -eta * run.inverse @ G)
        assert left == pytest.approx(right, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("regularizer", EVERY, ids=str)
def test_theorem1_finds_a_learner_out(regularizer):
    still = np.zeros((2, 3)) if regularizer not in SIMPLEX else np.full((2, 3), 1 / 3)
    assert theorem1(play("alternating", 5, 2, 3, regularizer, eta=0.02, T=40), still).holds
    assert not theorem1(play("alternating", 5, 2, 3, regularizer, eta=0.02, T=40, lie=60), still).holds  # wrong eta
    target = still if regularizer not in SIMPLEX else np.tile(np.eye(3)[1], (2, 1))
    assert not theorem1(play("against", 5, 2, 3, regularizer, eta=0.2, T=150, lie=-1), target).holds  # uphill


def eq12_as_printed(T):
    """N = 1, d = 1, 1/eta_t = t, and linear losses with the iterates x_t = sqrt(2/t), so that B_t = 1/t at u = 0."""
    t = np.arange(1, T + 1)
    x = np.sqrt(2 / np.arange(1, T + 2))
    g = t * (x[:-1] - x[1:])  # x_{t+1} = x_t - g_t / t
    run = Descent(
        X=g[:, None], y=np.ones(T), task=np.zeros(T, int), rounds=np.arange(T + 1), scores=g * x[:-1], eta=1 / t,
        inverse=np.eye(1), root=np.eye(1), loss="linear", start=x[:1], iterates=x[:-1, None, None],
    )  # fmt: skip
    return run, max((x[:-1] ** 2 / 2) * t) + np.sum(g**2 / t) / 2


def test_equation_12_is_false_as_printed():
    run, printed = eq12_as_printed(50)
    bound = theorem1_varying(run, [[0.0]])
    assert bound.left == pytest.approx(3.7100, abs=1e-4)
    assert printed == pytest.approx(1.1912, abs=1e-4)
    assert bound.left > 3.1 * printed
    assert bound.holds
    assert bound.right == pytest.approx(50 + printed - 1, rel=1e-12)


@few
@given(seeds, sizes, sizes, kinds, st.sampled_from([0.0, 2.0]), st.sampled_from([EUCLIDEAN, P_NORM]))
def test_theorem1_with_rates_that_fall(seed, N, d, kind, b, regularizer):
    run = play(kind, seed, N, d, regularizer, b=b, eta=lambda total: 1 / math.sqrt(total), radius=1.0)
    U = np.random.default_rng(seed).normal(size=(N, d))
    U /= 1e-9 + math.sqrt(np.sum(dense.norm(run.root @ U, 1.5 if regularizer == P_NORM else 2) ** 2))
    if np.any(energy(run)):
        assert theorem1_varying(run, U).holds
        called = run._replace(iterates=run.iterates.__getitem__)
        assert theorem1_varying(called, U) == theorem1_varying(run, U)


# ------------------------------------------------------------------------------------------------ the tuned learners


@few
@given(
    seeds, st.integers(2, 4), sizes, single, st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from(["paper", "best", 0.0])
)
def test_proposition2(seed, N, d, kind, sigma, rule):
    D, L, T, s = 1.5, 1.0, 20, sigma**2 * (N - 1) / N
    best = math.inf if s == 0 else max(0.0, math.sqrt((N - 1) * (1 - s) / s) - 1)
    b = {"paper": float(N), "best": best}.get(rule, 0.0)
    if b == math.inf:
        eta = N * D / (L * math.sqrt(T))
    else:
        eta = N * D / L * math.sqrt((1 + s * b) * (1 + b) / ((b + N) * T))
    run = play(kind, seed, N, d, b=b, eta=eta, T=T)
    for U in (dense.similar(np.random.default_rng(seed), N, d, D, sigma), np.zeros((N, d))):
        bound = proposition2(run, U, D, L, sigma, b)
        assert bound.holds
        assert theorem1(run, U).right <= bound.right * (1 + 1e-9)
    if rule == "paper":
        assert bound == proposition2(run, U, D, L, sigma)
        assert bound.right <= D * L * math.sqrt(2 * T * (1 + sigma**2 * (N - 1))) * (1 + 1e-9)
    if rule == "best":
        assert bound.right == pytest.approx(D * L * math.sqrt(T) * (math.sqrt(1 - s) + math.sqrt(s * (N - 1))))


def test_proposition2_finds_a_learner_out():
    N, D, T, sigma = 4, 1.0, 100, 0.1
    eta = N * D * math.sqrt((1 + sigma**2 * (N - 1)) * (1 + N) / (2 * N * T))
    right = play("against", 1, N, 2, b=N, eta=eta, T=T)
    assert proposition2(right, np.zeros((N, 2)), D, 1.0, sigma).holds
    wrong = play("against", 1, N, 2, b=N, eta=eta, T=T, lie=-1.0)
    assert not proposition2(wrong, np.zeros((N, 2)), D, 1.0, sigma).holds


def test_a_larger_horizon_is_allowed_and_a_smaller_one_is_not():
    N, d, T = 3, 2, 50
    run = play("random", 4, N, d, b=N, eta=N * math.sqrt((1 + 0.5) * (1 + N) / (2 * N * T)), T=20)
    sigma = math.sqrt(0.5 / 2)
    bound = proposition2(run, np.zeros((N, d)), 1.0, 1.0, sigma, T=T)
    assert bound.holds
    assert bound.right == pytest.approx(math.sqrt(T * 1.5 * 2 * N / (1 + N)))
    with pytest.raises(ValueError, match="the run has 20 where T = 19"):
        proposition2(run, np.zeros((N, d)), 1.0, 1.0, sigma, T=19)
    with pytest.raises(ValueError, match="needs eta = "):
        proposition2(run, np.zeros((N, d)), 1.0, 1.0, sigma)


@few
@given(seeds, st.integers(1, 4), sizes, single, st.sampled_from([0.0, 0.4, 1.0]), st.sampled_from([1.1, 1.5, 2.0]))
def test_proposition5(seed, N, d, kind, sigma, p):
    D, T, f, L = 2.0, 20, 1 + sigma**2 * (N - 1), 1.0  # |phi|_q <= |phi|_2 <= 1
    eta = D * math.sqrt((p - 1) * N * (N + 1) * f / T) / L
    run = play(kind, seed, N, d, ("p-norm", p), b=N, eta=eta, T=T)
    U = dense.similar(np.random.default_rng(seed), N, d, D, sigma, p)
    bound = proposition5(run, U, D, L, sigma)
    assert bound.holds
    assert theorem1(run, U).right <= bound.right * (1 + 1e-9)
    assert bound.right == pytest.approx(D * math.sqrt(f * 4 * T / (p - 1)))


def adaptive(kind, seed, N, d, D, sigma, regularizer, loss="linear", T=25, **options):
    f, lam = 1 + sigma**2 * (N - 1), 1.0 if regularizer == EUCLIDEAN else regularizer[1] - 1
    c = D * math.sqrt(lam * N * (N + 1) * f)
    radius = D * math.sqrt((1 if regularizer == EUCLIDEAN else 2) * N * f)
    return play(kind, seed, N, d, regularizer, b=N, eta=lambda total: c / math.sqrt(total), radius=radius,
                loss=loss, T=T, **options)  # fmt: skip


@few
@given(seeds, sizes, sizes, single, st.sampled_from([0.0, 0.4, 1.0]), st.sampled_from([EUCLIDEAN, P_NORM]))
def test_propositions_6_and_7(seed, N, d, kind, sigma, regularizer):
    D, f, p = 1.5, 1 + sigma**2 * (N - 1), 2.0 if regularizer == EUCLIDEAN else 1.5
    K, q = (4, 2.0) if p == 2 else (6 / math.sqrt(0.5), 3.0)
    U = dense.similar(np.random.default_rng(seed), N, d, D, sigma, p)
    for loss in ("linear", "logistic", "square"):
        run = adaptive(kind, seed, N, d, D, sigma, regularizer, loss)
        if not np.any(energy(run)):
            continue
        slopes = loss_and_slope(loss, run.scores, run.y)[1]
        bound = proposition6(run, U, D, sigma)
        assert bound.holds
        assert bound.right == pytest.approx(K * D * math.sqrt(f * np.sum((slopes * dense.norm(run.X, q)) ** 2)))
        assert theorem1_varying(run, U).right <= bound.right * (1 + 1e-9)
        if loss != "linear":
            M = dense.norm(run.X[~np.isnan(run.y)], q).max() ** 2 * (2 if loss == "square" else 0.25)
            fit = np.sum(loss_and_slope(loss, np.sum(run.X * U[run.task], axis=1), run.y)[0])
            bound = proposition7(run, U, D, sigma)
            assert bound.holds
            assert bound.right == pytest.approx(K**2 * 2 * M * D**2 * f + K * D * math.sqrt(2 * M * f * fit))


def test_propositions_6_and_7_find_a_learner_out():
    U = np.zeros((3, 2))
    right, wrong = (adaptive("against", 3, 3, 2, 0.5, 0.5, EUCLIDEAN, T=600, lie=lie) for lie in (1.0, -1.0))
    assert proposition6(right, U, 0.5, 0.5).holds
    assert not proposition6(wrong, U, 0.5, 0.5).holds
    still = Descent(  # one task with |phi| = 1 whose scores never leave 5, where y = 0
        X=np.ones((200, 1)), y=np.zeros(200), task=np.zeros(200, int), rounds=np.arange(201), loss="square",
        scores=np.full(200, 5.0), eta=math.sqrt(2) / (10 * np.sqrt(np.arange(1, 201))), inverse=np.eye(1),
        root=np.eye(1), radius=1.0,
    )  # fmt: skip
    assert not proposition7(still, [[0.0]], 1.0, 0.0).holds


@few
@given(seeds, st.integers(1, 4), st.integers(3, 5), single, st.sampled_from([0.0, 0.4, 1.0]), st.sampled_from(SIMPLEX))
def test_proposition8(seed, N, d, kind, sigma, regularizer):
    T, f, L = 20, 1 + sigma**2 * (N - 1), 1.0
    lam, C = (1.0, math.log(d)) if regularizer == ENTROPY else (0.4, (1 - d ** (2 / 1.4 - 2)) / 2)
    b = (1 - sigma**2) / sigma**2 if sigma else math.inf
    run = play(kind, seed, N, d, regularizer, b=b, eta=N * math.sqrt(2 * lam * C / (f * T)) / L, T=T)
    G = np.zeros((N, d))
    np.add.at(G, run.task, np.where(np.isnan(run.y), 0, 1)[:, None] * run.X)
    for U in (dense.similar_on_simplex(np.random.default_rng(seed), N, d, sigma), best_linear(G, sigma)):
        bound = proposition8(run, U, L, sigma)
        assert bound.holds
        assert theorem1(run, U).right <= bound.right * (1 + 1e-9)
        assert bound.right == pytest.approx(L * math.sqrt(f * 2 * C * T / lam))


def test_proposition8_finds_a_learner_out():
    N, d, T = 3, 3, 200
    for lie, holds in ((1.0, True), (-1.0, False)):
        run = play("against", 2, N, d, ENTROPY, b=0.0, eta=N * math.sqrt(2 * math.log(d) / (N * T)), T=T, lie=lie)
        G = np.zeros((N, d))
        np.add.at(G, run.task, np.where(np.isnan(run.y), 0, 1)[:, None] * run.X)
        assert proposition8(run, best_linear(G), 1.0, 1.0).holds is holds


@few
@given(seeds, sizes, st.integers(2, 4), kinds, shares, st.sampled_from(EVERY), st.booleans())
def test_ftrl(seed, N, d, kind, b, regularizer, falling):
    eta = (lambda t: 0.7 / math.sqrt(t + 1)) if falling else 0.3
    run = play(kind, seed, N, d, regularizer, b=b, eta=eta, update="leader")
    U = rival(np.random.default_rng(seed), N, d, regularizer, b)
    if np.any(energy(run)):
        assert ftrl(run, U).holds
        if not falling and regularizer == EUCLIDEAN and kind != "against":  # which turns rounding into directions
            same = play(kind, seed, N, d, regularizer, b=b, eta=eta)
            np.testing.assert_allclose(run.scores, same.scores, atol=1e-12)
            assert ftrl(run, U).right == pytest.approx(theorem1(same, U).right, rel=1e-9)


def test_ftrl_finds_a_learner_out():
    for lie, holds in ((1.0, True), (-1.0, False)):
        run = play("against", 5, 2, 3, b=1.0, eta=0.2, T=150, update="leader", lie=lie)
        assert ftrl(run, np.zeros((2, 3))).holds is holds


# ----------------------------------------------------------------------------------------------- what is refused


def test_one_rate_or_falling_rates():
    run = play("random", 1, 2, 2)
    with pytest.raises(ValueError, match="Theorem 1 needs one eta"):
        theorem1(run._replace(eta=np.linspace(1, 2, 20)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="rates that do not increase"):
        theorem1_varying(run._replace(eta=np.linspace(1, 2, 20)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="each needs its rate"):
        theorem1(run._replace(eta=np.ones(3)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="rates that are finite and above 0"):
        theorem1(run._replace(eta=np.zeros(20)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="no round of this run has a gradient"):
        theorem1(run._replace(y=np.full(20, np.nan)), np.zeros((2, 2)))


def test_points_that_are_not_the_runs():
    run = play("random", 1, 2, 2)
    with pytest.raises(ValueError, match="needs `iterates`"):
        theorem1_varying(run._replace(iterates=None), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="The first of `iterates` is not `start`"):
        theorem1_varying(run._replace(iterates=run.iterates + 1), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="scores of round 19 are not those"):
        theorem1_varying(run._replace(scores=run.scores + (np.arange(20) == 19)), np.zeros((2, 2)))


def test_comparators_outside_the_decision_set():
    run = play("random", 1, 2, 2)
    for change, text in (
        ({"radius": 1.0}, "outside the run's ball of radius 1"),
        ({"ball": 1.0}, "a row longer than the run's ball, 1"),
        ({"spread": 1.0}, "farther apart than the run's spread, 1"),
        ({"root": None}, "the rows of the tasks differ"),
        ({"root": np.eye(2)}, "`root` is not A"),
    ):
        with pytest.raises(ValueError, match=text):
            theorem1(run._replace(**change), [[1.0, 1.0], [-1.0, 1.0]])
    with pytest.raises(ValueError, match=r"comparator has shape \(2, 3\); it needs \(2, 2\)"):
        regret(run, np.zeros((2, 3)))
    run = play("random", 1, 2, 2, ENTROPY, b=3.0)
    with pytest.raises(ValueError, match="non-negative and sum to 1"):
        theorem1(run, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="is outside the simplex"):
        theorem1(run, np.eye(2))


def test_regularisers_that_do_not_exist():
    run = play("random", 1, 2, 2)
    for change, text in (
        ({"regularizer": ("p-norm", 1.0)}, "1 < p <= 2; p is 1"),
        ({"regularizer": ("p-norm", 1.5)}, "0.5-strongly convex, and the run says lam = 1"),
        ({"regularizer": "p-norm"}, "regularizer is"),
        ({"update": "sideways"}, "update is one of"),
        ({"update": "leader"}, "Theorem 1 is about the update 'mirror', not about 'leader'"),
    ):
        with pytest.raises(ValueError, match=text):
            theorem1(run._replace(**change), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="about the update 'leader'"):
        ftrl(run, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="needs a start at 0"):
        ftrl(run._replace(update="leader", start=np.ones(2)), np.zeros((2, 2)))


def test_the_premises_of_proposition2():
    N, U = 2, np.array([[1.0, 0.0], [0.0, 1.0]])  # Var = 1
    run = play("random", 1, N, 2, b=N, eta=2 * math.sqrt(1.5 * 3 / (4 * 20)))
    good = {"D": 1.0, "L": 1.0, "sigma": math.sqrt(0.5), "b": 2.0}
    flat = np.full((2, 2), 0.5)
    assert proposition2(run, flat, **good).holds
    for change, text in (
        ({"D": 0.5}, "needs \\|u_i\\| <= D = 0.5; the longest is 0.7071"),
        ({"L": 0.9}, "length at most L = 0.9; the longest is 1"),
        ({"b": 1.0}, "with b = 1; this run has a different A"),
        ({"b": math.inf}, "b = inf is about equal tasks"),
        ({"sigma": 1.0}, "needs eta = "),
        ({"sigma": -1.0}, "needs sigma >= 0"),
        ({"D": 0.0}, "needs a finite D > 0"),
    ):
        with pytest.raises(ValueError, match=text):
            proposition2(run, flat, **{**good, **change})
    with pytest.raises(ValueError, match=r"needs Var\(u\) <= sigma\^2 D\^2 = 0.5; it is 1"):
        proposition2(run, U, **good)
    with pytest.raises(ValueError, match="needs a start at 0"):
        proposition2(run._replace(start=np.ones(2)), flat, **good)
    with pytest.raises(ValueError, match="about the Euclidean regulariser"):
        proposition2(run._replace(regularizer=P_NORM, lam=0.5), flat, **good)


def test_the_premises_of_the_others():
    run, U = adaptive("random", 1, 2, 3, 1.0, 0.5, EUCLIDEAN, "square"), np.zeros((2, 3))
    assert proposition7(run, U, 1.0, 0.5).holds
    for change, text in (
        ({"radius": math.inf}, "points that stay within the set of comparators"),
        ({"eta": run.eta * 1.01}, "Proposition 6 needs eta_t = "),
        ({"regularizer": ENTROPY, "start": None}, "squared norms on the whole space"),
        ({"inverse": np.eye(2), "root": np.eye(2)}, "this run has a different A"),
    ):
        with pytest.raises(ValueError, match=text):
            proposition6(run._replace(**change), U, 1.0, 0.5)
    assert proposition6(run._replace(radius=math.inf, ball=1.0, spread=0.25), U, 1.0, 0.5) == proposition6(
        run, U, 1.0, 0.5
    )
    wide = proposition6(run._replace(radius=run.radius * 1.4), U, 1.0, 0.5)
    assert wide.right == pytest.approx(1.5 * proposition6(run, U, 1.0, 0.5).right)
    with pytest.raises(ValueError, match="about smooth losses"):
        proposition7(adaptive("random", 1, 2, 3, 1.0, 0.5, EUCLIDEAN, "absolute"), U, 1.0, 0.5)
    with pytest.raises(ValueError, match="on the simplex, not about 'euclidean'"):
        proposition8(run, U, 1.0, 0.5)
    run = play("random", 1, 2, 3, ENTROPY, b=0.0, eta=2 * math.sqrt(2 * math.log(3) / 40))
    assert proposition8(run, np.eye(3)[:2], 1.0, 1.0).holds
    with pytest.raises(ValueError, match=r"Var_Delta\(u\) <= sigma\^2 = 0.25; it is 1"):
        proposition8(run, np.eye(3)[:2], 1.0, 0.5)
    with pytest.raises(ValueError, match="needs a start at 1/d"):
        proposition8(run._replace(start=np.array([0.5, 0.25, 0.25])), np.eye(3)[:2], 1.0, 1.0)


def test_rounds_with_several_tasks():
    """Compound rounds obey the tuned bounds in the energy; Proposition 7, which needs |g|^2 <= 2 M l, refuses them."""
    N, U = 3, np.zeros((3, 2))
    run = play("compound", 8, N, 2, b=N)
    L = math.sqrt(np.max(energy(run)) * (N + 1) / 2)
    assert L > 1
    eta = math.sqrt(N * 1.5 * (N + 1) / 2 / 20) / L
    run = play("compound", 8, N, 2, b=N, eta=eta)
    assert proposition2(run, U, 1.0, L, 0.5).holds
    with pytest.raises(ValueError, match="length at most L = 1"):
        proposition2(run, U, 1.0, 1.0, 0.5)
    run = adaptive("compound", 8, N, 2, 1.0, 0.5, EUCLIDEAN, "square")
    bound = proposition6(run, U, 1.0, 0.5)
    assert bound.holds
    assert bound.right == pytest.approx(4 * math.sqrt(1.5 * np.sum(energy(run)) * (N + 1) / 2))
    with pytest.raises(ValueError, match="Proposition 7 is about rounds with one active task"):
        proposition7(run, U, 1.0, 0.5)
