"""The oracles of multitask mirror descent against the paper's definitions, reductions and Theorem 1."""

import math

import cvxpy as cp
import numpy as np
import pytest

from oracles.mirror_descent import (
    INF,
    Adaptive,
    Constant,
    Ogd,
    clique,
    clique_strength,
    graph,
    loss_derivative,
    loss_value,
    mt_ogd,
    tight_radius,
    variance,
)
from oracles.mirror_descent_hedge import hedge_mt_eg, hedge_mt_ogd
from oracles.mirror_descent_projections import project, project_balls, project_exactly
from oracles.mirror_descent_simplex import (
    Eg,
    PNorm,
    PNormSimplex,
    PNormSimplexExact,
    link,
    mt_eg,
    mt_ftrl,
    mt_pnorm,
    simplex_p,
)
from oracles.mirror_descent_trial import table_of_variances, variance_problem

LOSSES = ("square", "logistic", "hinge", "absolute", "epsilon-insensitive")
N, D = 4, 3
W = np.array([[0, 1, 0, 0.5], [1, 0, 2, 0], [0, 2, 0, 0], [0.5, 0, 0, 0]])
GEOMETRIES = {"b = N": clique(N, N), "b = 0.3": clique(N, 0.3), "graph": graph(W, 1.5)}


def stream(seed, *, T=60, synchronous=False, labels="real"):
    """X, y, task, rounds (None: one row each), with zero rows and dormant ones."""
    rng = np.random.default_rng(seed)
    rounds, task = [0], []
    for _ in range(T):
        k = int(rng.integers(1, N + 1)) if synchronous else 1
        task += list(rng.permutation(N)[:k])
        rounds.append(len(task))
    X = rng.normal(size=(len(task), D)) * 10 ** rng.uniform(-0.5, 0.3, size=(len(task), 1))
    X[rng.random(len(task)) < 0.1] = 0.0
    y = np.sum((0.5 * rng.normal(size=(N, D)) + 0.5)[task] * X, axis=1) + 0.3 * rng.normal(size=len(task))
    y = np.where(y >= 0, 1.0, -1.0) if labels == "signs" else y
    y[rng.random(len(task)) < 0.1] = np.nan
    return X, y, np.array(task), (rounds if synchronous else None)


def close(a, b, tolerance=1e-12):
    return np.allclose(a, b, rtol=tolerance, atol=tolerance)


# -------------------------------------------------------------------------------- the update is the argmin


def argmin(geometry, start_slope, G, eta, psi, constraints):
    """Eq. 9 by a convex solver: <eta G, x> + Psi(A^{1/2} x) - <A^{1/2} grad Psi(A^{1/2} x_t), x>."""
    X = cp.Variable(G.shape)
    Y = geometry.root @ X
    objective = cp.sum(cp.multiply(eta * G - geometry.root @ start_slope, X)) + psi(Y)
    cp.Problem(cp.Minimize(objective), constraints(X, Y)).solve(solver=cp.CLARABEL)
    return X.value


def euclidean(Y):
    return cp.sum_squares(Y) / 2


def p_norm(p):
    return lambda Y: sum(cp.square(cp.pnorm(Y[i], p)) for i in range(Y.shape[0])) / 2


def entropy(Y):
    return -cp.sum(cp.entr(Y))


def simplex(Z):
    return [Z >= 0, cp.sum(Z, axis=1) == 1]


def two_gradients(seed, eta_first):
    """A first gradient that leads away from the start, and a compound one to be checked."""
    rng = np.random.default_rng(seed)
    first, second = np.zeros((N, D)), rng.normal(size=(N, D))
    first[1], second[2] = eta_first * rng.normal(size=D), 0.0
    return first, second


@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=GEOMETRIES)
@pytest.mark.parametrize("projection", ["none", "mahalanobis", "ball", "v-sigma"])
def test_ogd_is_the_argmin(geometry, projection):
    settings = {"projection": projection, "D": 0.5, "sigma": 0.4, "radius": 0.8}
    learner = Ogd(geometry, D, Constant(0.7), **settings)
    first, G = two_gradients(1, 1.0)
    learner.move(first)

    def constraints(X, Y):
        allowed = {"none": [], "mahalanobis": [cp.norm(Y, "fro") <= 0.8], "ball": [cp.norm(X, 2, axis=1) <= 0.5]}
        spread = cp.norm((np.eye(N) - 1 / N) @ X, "fro") <= math.sqrt(N - 1) * 0.4 * 0.5
        return allowed.get(projection, [*allowed["ball"], spread])

    best = argmin(geometry, geometry.root @ learner.models(), G, 0.7, euclidean, constraints)
    learner.move(G)
    assert close(learner.models(), best, 2e-4)


@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=GEOMETRIES)
@pytest.mark.parametrize("radius", [None, 0.6])
def test_p_norm_is_the_argmin(geometry, radius):
    learner = PNorm(geometry, D, 1.5, Constant(0.4), radius)
    first, G = two_gradients(2, 1.0)
    learner.move(first)
    y = geometry.root @ learner.models()
    assert close(link(y, 1.5), learner.theta)

    def ball(X, Y):
        return [] if radius is None else [sum(cp.square(cp.pnorm(Y[i], 1.5)) for i in range(N)) <= radius**2]

    best = argmin(geometry, learner.theta, G, 0.4, p_norm(1.5), ball)
    learner.move(G)
    assert close(learner.models(), best, 2e-4)


@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=GEOMETRIES)
@pytest.mark.parametrize("form", [PNormSimplex, PNormSimplexExact, Eg])
@pytest.mark.parametrize("eta", [0.1, 0.6])
def test_simplex_learners_are_the_argmin(geometry, form, eta):
    learner = Eg(geometry, D, Constant(eta)) if form is Eg else form(geometry, D, 1.5, Constant(eta))
    first, G = two_gradients(3, 1.0)
    learner.move(first)
    y = geometry.root @ learner.models()
    slope = np.log(y) + 1 if form is Eg else link(y, 1.5)
    inside = (lambda X, Y: simplex(X)) if form is PNormSimplexExact else (lambda X, Y: simplex(Y))
    best = argmin(geometry, slope, G, eta, entropy if form is Eg else p_norm(1.5), inside)
    learner.move(G)
    assert close(learner.models(), best, 2e-4)
    assert close(learner.models().sum(axis=1), 1.0)
    assert learner.models().min() >= 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("projection", ["mahalanobis", "ball", "variance", "v-sigma"])
def test_projections_against_a_solver(projection, seed):
    geometry = clique(N, 3.0)
    Z = np.random.default_rng(seed).normal(size=(N, D)) + 0.5
    settings = {"D": 1.0, "sigma": 0.5, "radius": 1.2}
    X, exact = project(Z, geometry, projection, **settings), project_exactly(Z, geometry, projection, **settings)
    assert close(X, exact, 2e-4)

    def distance(P):
        return np.linalg.norm(geometry.root @ (P - Z))

    assert distance(X) <= distance(exact) + 1e-7  # both are feasible: the nearer is the better
    assert close(project(X, geometry, projection, **settings), X, 1e-9)
    if projection in ("ball", "v-sigma"):
        assert np.linalg.norm(X, axis=1).max() <= 1 + 1e-13
    if projection in ("variance", "v-sigma"):
        assert variance(X) <= 0.25 * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_optimality_of_the_ball_projection(seed):
    """A (Z - X) = diag(mu) X with mu >= 0, and mu_i > 0 only where |x_i| = D: sufficient, the problem is convex."""
    rng = np.random.default_rng(seed)
    A = (clique(N, 10 ** rng.uniform(-1, 3)) if seed % 2 else graph(W, 10 ** rng.uniform(-1, 2))).A
    Z = rng.normal(size=(N, D)) * 10 ** rng.uniform(-0.5, 1) + rng.normal(size=D)
    X = project_balls(Z, A, 1.0)
    slope, size = A @ (Z - X) / np.abs(A).max(), np.linalg.norm(X, axis=1)
    assert size.max() <= 1 + 1e-13
    mu = np.where(size > 1 - 1e-9, np.sum(slope * X, axis=1) / size**2, 0.0)
    assert mu.min() >= -1e-12
    assert close(slope, mu[:, None] * X, 1e-11)


# --------------------------------------------------------------------------------------------- reductions


def alone(learner, seed, i, **parameters):
    """The learner run on the rows of task i, as if there were no other."""
    X, y, task, _ = stream(seed, labels="signs")
    rows = task == i
    return rows, learner(X[rows], y[rows], np.zeros(rows.sum(), int), N=1, **parameters)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("learner", [mt_ogd, mt_eg, mt_ftrl])
def test_b_zero_is_independent(learner, loss):
    X, y, task, _ = stream(5, labels="signs")
    together = learner(X, y, task, N=N, b=0.0, eta=0.3, loss=loss)
    for i in range(N):
        rows, single = alone(learner, 5, i, b=0.0, eta=0.3, loss=loss)
        assert close(together.scores[rows], single.scores)
        assert close(together.X_tasks[i], single.X_tasks[0])


@pytest.mark.parametrize("learner", [mt_ogd, mt_eg, mt_ftrl])
def test_b_infinite_is_one_learner_with_eta_over_n(learner):
    X, y, task, _ = stream(6, labels="signs")
    together = learner(X, y, task, N=N, b=INF, eta=0.8)
    pooled = learner(X, y, np.zeros(len(y), int), N=1, b=0.0, eta=0.8 / N)
    assert close(together.scores, pooled.scores)
    nearly = learner(X, y, task, N=N, b=1e12, eta=0.8)
    assert close(together.scores, nearly.scores, 1e-4)


@pytest.mark.parametrize("projection", ["mahalanobis", "ball", "variance", "v-sigma"])
def test_b_infinite_is_the_limit_of_the_projections(projection):
    X, y, task, _ = stream(7, T=15)
    settings = {"N": N, "eta": 1.0, "loss": "square", "projection": projection, "D": 0.4, "sigma": 0.5}
    limit = mt_ogd(X, y, task, b=INF, radius=0.4 * math.sqrt(N), **settings)
    nearly = mt_ogd(X, y, task, b=1e3, radius=0.4 * math.sqrt(N), **settings)
    assert close(limit.scores, nearly.scores, 1e-2)


@pytest.mark.parametrize("synchronous", [False, True])
def test_p_two_is_ogd(synchronous):
    X, y, task, rounds = stream(8, synchronous=synchronous)
    plain = {"N": N, "loss": "square", "b": 2.0, "eta": 0.1}
    assert close(mt_pnorm(X, y, task, rounds, p=2.0, **plain).scores, mt_ogd(X, y, task, rounds, **plain).scores)
    inside = mt_ogd(X, y, task, rounds, projection="mahalanobis", radius=0.7, **plain)
    assert close(mt_pnorm(X, y, task, rounds, p=2.0, radius=0.7, **plain).scores, inside.scores)
    adaptive = plain | {"eta": "adaptive", "D": 1.0, "sigma": 0.4}
    pair = mt_pnorm(X, y, task, rounds, p=2.0, **adaptive), mt_ogd(X, y, task, rounds, **adaptive)
    assert close(pair[0].scores, pair[1].scores)


@pytest.mark.parametrize("synchronous", [False, True])
def test_constant_ftrl_is_mirror_descent(synchronous):
    X, y, task, rounds = stream(9, synchronous=synchronous, labels="signs")
    for learner, regularizer in ((mt_ogd, "euclidean"), (mt_eg, "entropy")):
        descent = learner(X, y, task, rounds, N=N, b=2.0, eta=0.4)
        leader = mt_ftrl(X, y, task, rounds, N=N, b=2.0, eta=0.4, regularizer=regularizer)
        assert close(descent.scores, leader.scores)
        assert close(descent.X_tasks, leader.X_tasks)


def test_square_root_ftrl_scales_the_sum_of_gradients():
    X, y, task, _ = stream(10)
    run = mt_ftrl(X, y, task, N=N, b=2.0, eta=("sqrt", 0.5), loss="square", keep=True)
    moves = np.cumsum([0, *(G.any() for G in run.gradients)])
    for t in (1, 20, len(run.gradients)):
        rate = 0.5 / math.sqrt(1 + moves[t])
        assert close(run.iterates[t], -rate * clique(N, 2.0).inverse @ sum(run.gradients[:t]))
    assert close(run.eta, 0.5 / np.sqrt(1 + moves[:-1]))


@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=GEOMETRIES)
def test_eq_16_is_ogd_in_y(geometry):
    X, y, task, _ = stream(11)
    run = mt_ogd(X, y, task, N=N, A=geometry.A, eta=0.4, loss="square", projection="mahalanobis", radius=0.9, keep=True)
    Y = np.zeros((N, D))
    for x, G in zip(run.iterates, run.gradients, strict=False):
        assert close(x, geometry.inverse_root @ Y)
        Y = Y - 0.4 * geometry.inverse_root @ G
        Y *= min(1.0, 0.9 / max(np.linalg.norm(Y), 1e-300))
    assert close(run.X_tasks, geometry.inverse_root @ Y)


LEARNERS = {
    "ogd": (mt_ogd, {"eta": "adaptive", "D": 1.0, "sigma": 0.3, "projection": "ball"}),
    "p-norm": (mt_pnorm, {"eta": "adaptive", "D": 1.0, "sigma": 0.3, "p": 1.3, "radius": "theory"}),
    "p-norm simplex": (mt_pnorm, {"eta": "theory", "sigma": 0.3, "domain": "simplex", "L": 2.0, "T": 60}),
    "eg": (mt_eg, {"eta": "theory", "sigma": 0.3, "L": 2.0, "T": 60}),
    "ftrl": (mt_ftrl, {"eta": ("sqrt", 0.5), "regularizer": "entropy"}),
    "hedge ogd": (hedge_mt_ogd, {"D": 1.0, "L": 2.0}),
    "hedge eg": (hedge_mt_eg, {"L": 2.0}),
}


@pytest.mark.parametrize(("learner", "parameters"), LEARNERS.values(), ids=LEARNERS)
def test_dormant_rows_are_scored_and_forgotten(learner, parameters):
    X, y, task, rounds = stream(12, T=30, synchronous=True)
    run = learner(X, y, task, rounds, N=N, loss="absolute", **parameters)
    kept = ~np.isnan(y)
    shorter = [0, *np.cumsum(kept)[np.array(rounds[1:]) - 1]]
    without = learner(X[kept], y[kept], task[kept], shorter, N=N, loss="absolute", **parameters)
    assert close(run.scores[kept], without.scores)
    assert close(run.X_tasks, without.X_tasks)
    assert np.any(run.scores[~kept] != 0)


# ---------------------------------------------------------------------------------------- rates and losses


@pytest.mark.parametrize("loss", LOSSES)
def test_derivatives(loss):
    for a in (-2.3, -0.4, 0.37, 1.9):
        for y in (-1.0, 1.0):
            numeric = (loss_value(loss, a + 1e-6, y) - loss_value(loss, a - 1e-6, y)) / 2e-6
            assert math.isclose(loss_derivative(loss, a, y), numeric, abs_tol=1e-8)
    assert loss_derivative("hinge", 1.0, 1.0) == loss_derivative("absolute", 0.5, 0.5) == 0.0


def test_rates_of_the_propositions():
    sigma, radius, T, L = 0.4, 2.0, 100, 3.0
    f = 1 + sigma**2 * (N - 1)
    X, y, task = np.ones((1, D)), np.ones(1), [0]
    known = {"N": N, "D": radius, "sigma": sigma, "loss": "absolute"}
    theory = known | {"eta": "theory", "L": L, "T": T}
    assert close(mt_ogd(X, y, task, **theory).eta, radius * math.sqrt(N * (N + 1) * f / (2 * T)) / L)
    assert close(mt_pnorm(X, y, task, p=1.5, **theory).eta, radius * math.sqrt(0.5 * N * (N + 1) * f / T) / L)
    c = radius * math.sqrt(N * (N + 1) * f)
    assert close(mt_ogd(X, y, task, **known, eta="adaptive").eta, c / math.sqrt(D))
    assert close(mt_pnorm(X, y, task, p=1.5, **known, eta="adaptive").eta, math.sqrt(0.5) * c / D ** (1 / 3))
    rate = N * math.sqrt(2 * math.log(D) / (f * T)) / L
    assert close(mt_eg(X, y, task, N=N, sigma=sigma, L=L, T=T, eta="theory").eta, rate)


def test_best_b_minimises_the_bound():
    for sigma in (0.1, 0.3, 0.7, 0.95):
        s, best = sigma**2 * (N - 1) / N, clique_strength(N, sigma, "best")
        grid = np.array([best, *np.linspace(0, 100, 3001)])
        bound = (1 + s * grid) * (grid + N) / (1 + grid)
        assert bound[0] <= bound.min() + 1e-12
        assert math.isclose(bound[0], (math.sqrt(1 - s) + math.sqrt(s * (N - 1))) ** 2)


def test_adaptive_sums():
    geometry, rng = GEOMETRIES["graph"], np.random.default_rng(13)
    G = rng.normal(size=(N, D))
    one = np.zeros_like(G)
    one[2] = G[2]
    rate = Adaptive(1.0, geometry)
    assert rate.now == INF
    rate.after(one)
    assert math.isclose(rate.total, G[2] @ G[2])
    rate.after(G)
    assert math.isclose(
        rate.total - G[2] @ G[2], np.sum(geometry.inverse * (G @ G.T)) / geometry.inverse.diagonal().max()
    )


# ------------------------------------------------------------------------------------------------ theorems


def regret(run, X, y, task, U, loss):
    return sum(
        l - loss_value(loss, float(U[i] @ x), label)
        for l, x, label, i in zip(run.losses, X, y, task, strict=True)
        if not math.isnan(label)
    )


def comparators(seed, geometry, kind):
    """0 and random ones, in all the sets of radius 1 used below; the simplex learners: y in the simplex."""
    rng = np.random.default_rng(seed)
    if kind in ("eg", "simplex"):
        Y = rng.dirichlet(np.full(D, 0.3), size=(4, N))
        return [geometry.inverse_root @ y for y in Y]
    if kind == "simplex-exact":
        return list(rng.dirichlet(np.full(D, 0.3), size=(4, N)))
    U = rng.normal(size=(4, 1, D)) + 0.2 * rng.normal(size=(4, N, D))
    U /= np.linalg.norm(U, axis=2).max(axis=1)[:, None, None]
    return [np.zeros((N, D)), *(u for u in U if variance(u) <= 0.25)]


def divergence(kind, U, V, p=2.0):
    """B_Psi(u, v)"""
    if kind == "eg":
        return np.sum(U * np.log(np.where(U > 0, U, 1.0) / V)) - U.sum() + V.sum()
    sizes = [np.sum(np.linalg.norm(M, p, axis=1) ** 2) / 2 for M in (U, V)]
    return sizes[0] - sizes[1] - np.sum(link(V, p) * (U - V))


SETS = ["none", "mahalanobis", "ball", "variance", "v-sigma"]


@pytest.mark.parametrize("synchronous", [False, True])
@pytest.mark.parametrize("kind", [*SETS, "p-norm", "simplex", "simplex-exact", "eg"])
@pytest.mark.parametrize("b", [0.0, 1.0, N])
def test_theorem_1(kind, b, synchronous):
    X, y, task, rounds = stream(20, T=8 if "exact" in kind else 60, synchronous=synchronous, labels="signs")
    geometry, p, eta = clique(N, b), 1.4, 0.5
    settings = {"N": N, "b": b, "eta": eta, "loss": "hinge", "keep": True}
    if kind in SETS:
        radius = tight_radius(N, b, 1.0, 0.5)
        run = mt_ogd(X, y, task, rounds, projection=kind, D=1.0, sigma=0.5, radius=radius, **settings)
        p, curvature = 2.0, 1.0
    elif kind == "eg":
        run, curvature = mt_eg(X, y, task, rounds, **settings), 1.0
    else:
        domain = "space" if kind == "p-norm" else kind
        run, curvature = mt_pnorm(X, y, task, rounds, p=p, domain=domain, **settings), p - 1
    for U in comparators(21, geometry, kind):
        first = divergence(kind, geometry.root @ U, geometry.root @ run.iterates[0], p)
        assert regret(run, X, y, task, U, "hinge") <= first / eta + eta / (2 * curvature) * run.energy.sum() + 1e-9


@pytest.mark.parametrize("projection", ["mahalanobis", "v-sigma"])
def test_proposition_6(projection):
    X, y, task, _ = stream(22, T=150)
    sigma = 0.5
    run = mt_ogd(X, y, task, N=N, eta="adaptive", D=1.0, sigma=sigma, loss="absolute", projection=projection, keep=True)
    squares = sum(np.sum(G * G) for G in run.gradients)
    for U in comparators(23, clique(N, N), projection):
        assert regret(run, X, y, task, U, "absolute") <= 4 * math.sqrt((1 + sigma**2 * (N - 1)) * squares)


@pytest.mark.parametrize("T", [40, None])
@pytest.mark.parametrize("learner", [hedge_mt_ogd, hedge_mt_eg])
def test_hedge(learner, T):
    X, y, task, _ = stream(24, T=40, labels="signs")
    size = {"L": 3.0} if learner is hedge_mt_eg else {"L": 3.0, "D": 1.0}
    run = learner(X, y, task, N=N, T=T, **size)
    assert close(run.weights.sum(axis=1), 1.0)
    spread = run.expert_losses.max(axis=1) - run.expert_losses.min(axis=1)
    regret_to_best = run.losses.sum() - run.expert_losses.sum(axis=0).min()
    assert regret_to_best <= math.log(5) / run.eta[-1] + np.sum(run.eta * spread**2) / 8
    t = 1 + np.cumsum([0, *~np.isnan(y)])[:-1]
    assert close(run.eta, np.sqrt(8 * math.log(5) / (t if T is None else T)) / 6)
    past = np.cumsum(run.expert_losses, axis=0) - run.expert_losses
    weights = np.exp(-run.eta[:, None] * past)
    assert close(run.weights, weights / weights.sum(axis=1, keepdims=True))
    for variance_of_expert, total in zip((0.0, 0.25, 0.5, 0.75, 1.0), run.expert_losses.sum(axis=0), strict=True):
        sigma = math.sqrt(variance_of_expert)
        if learner is hedge_mt_ogd:
            rate = "adaptive" if T is None else "theory"
            single = mt_ogd(X, y, task, N=N, eta=rate, sigma=sigma, T=T, projection="ball", **size)
        elif T is not None:
            single = mt_eg(X, y, task, N=N, eta="theory", sigma=sigma, T=T, **size)
        else:
            continue  # below
        assert math.isclose(single.losses.sum(), total, rel_tol=1e-12)


def test_eg_experts_without_a_horizon():
    """One expert of variance 1 on one task: EG with the rate sqrt(2 ln d/t)/L in the t-th labelled round."""
    X, y, _, _ = stream(26, labels="signs")
    run = hedge_mt_eg(X, y, np.zeros(len(y), int), N=1, L=3.0, variances=[1.0])
    theta, t = np.zeros(D), 1
    for x, label, score in zip(X, y, run.scores, strict=True):
        w = np.exp(theta) / np.exp(theta).sum()
        assert close(score, w @ x)
        if not math.isnan(label):
            theta -= math.sqrt(2 * math.log(D) / t) / 3 * loss_derivative("logistic", w @ x, label) * x
            t += 1


def test_one_expert_is_the_learner():
    X, y, task, rounds = stream(25, synchronous=True)
    settings = {"N": N, "D": 1.0, "L": 4.0, "T": 60, "loss": "absolute"}
    mixed = hedge_mt_ogd(X, y, task, rounds, variances=[0.25], **settings)
    single = mt_ogd(X, y, task, rounds, sigma=0.5, eta="theory", projection="ball", **settings)
    assert close(mixed.scores, single.scores)
    assert close(mixed.X_tasks, single.X_tasks)


# --------------------------------------------------------------------------------------------------- trial


def test_variance_problem():
    for sigma2 in (0.01, 0.25, 0.5):
        _, y, _, U = variance_problem(0, sigma2, T=500)
        assert math.isclose(np.linalg.norm(U, axis=1).max(), 1.0)
        assert math.isclose(variance(U), sigma2, rel_tol=1e-9)
        assert np.abs(y).max() < 1.6


def test_sharing_helps_close_tasks():
    table = table_of_variances(variances=(0.01, 0.16), seeds=2, T=700)
    assert np.all(table["best"]["MT/IT"][:, 0] < table["best"]["MT/IT"][:, 1])
    assert np.all(table["best"]["MT/IT"] < 0.8)
    assert np.all(table["paper"]["MT/IT"] < 0.8)


def test_p_of_the_simplex():
    assert math.isclose(simplex_p(10), 2 * math.log(10) / (2 * math.log(10) - 1))
