"""The regret bounds of multitask mirror descent hold for runs of weft's learners."""

import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from learners.descent_runs import CLASSIFY, Events, iterates_of, learn, make_events, record
from oracles.mirror_descent_simplex import mt_pnorm, simplex_p
from weft import evaluation
from weft.evaluation import best_in_hindsight, best_linear
from weft.learners.descent.tuning import best_b, radius

# The bounds must hold also for a comparator that is not quite the best.
pytestmark = [
    pytest.mark.xdist_group("mt-bounds"),
    pytest.mark.filterwarnings("ignore:Solution may be inaccurate"),
]

N, D, T = 4, 5, 40
seeds, kinds = st.integers(0, 2**32 - 1), st.sampled_from(["random", "against", "rounds"])
losses = st.sampled_from(["logistic", "hinge", "absolute", "epsilon-insensitive"])
sigmas = st.sampled_from([0.0, 0.2, 0.6, 0.95])
law = settings(deadline=None, max_examples=15)


def against(seed, loss, name, **parameters):
    """Labels opposite to the score, on few rows that repeat."""
    rng = np.random.default_rng(seed)
    pool = rng.normal(size=(4, D))
    pool /= np.linalg.norm(pool, axis=1, keepdims=True)
    model = weft.Model(name, tasks=N, features=D, loss=loss, **parameters)
    X, y, task = pool[rng.integers(4, size=T)], np.zeros(T), rng.integers(N, size=T)
    for t in range(T):
        y[t] = -1.0 if model.score(X[t : t + 1], [int(task[t])])[0] >= 0 else 1.0
        model.learn(weft.Stream(X[t : t + 1], y[t : t + 1], task[t : t + 1]))
    return Events(X, y, task, np.arange(T + 1))


def stream(kind, seed, loss, name, **parameters):
    """Rows of length at most 1, labels of size at most 1."""
    if kind == "against":
        return against(seed, loss, name, **parameters)
    events = make_events(seed, loss, together=kind == "rounds", N=N, d=D, T=T, length=1.0)
    return events if loss in CLASSIFY else events._replace(y=np.clip(events.y, -1, 1))


def longest(kind, b):
    """|g| of a round, where every row has |g| <= 1: as one task's, in the norm of A^-1."""
    if kind != "rounds":
        return 1.0
    own, shared = (0.0, 1 / N) if b == math.inf else (1 / (1 + b), b / (1 + b) / N)
    return math.sqrt((own * N + shared * N * N) / (own + shared))


def comparators(events, loss, size, sigma, p=2.0, hindsight=True):
    """Zero, some at the edge of what is allowed, and the best in hindsight (Euclidean)."""
    rng = np.random.default_rng(0)
    yield np.zeros((N, D))
    for _ in range(3):
        mean, apart = rng.normal(size=D), rng.normal(size=(N, D))
        mean /= np.linalg.norm(mean, p)
        apart -= apart.mean(axis=0)
        apart *= sigma * math.sqrt(N - 1) / math.sqrt(np.sum(np.linalg.norm(apart, p, axis=1) ** 2))
        U = mean + apart
        yield size * U / max(1.0, np.linalg.norm(U, p, axis=1).max())
    if hindsight:
        yield best_in_hindsight(events.X, events.y, events.task, N, loss, D=size, sigma=sigma)


def on_the_simplex(sigma):
    """Rows of the simplex with Var_Delta at most sigma^2: the middle, and corners of that set."""
    rng = np.random.default_rng(0)
    yield np.full((N, D), 1 / D)
    for _ in range(4):
        yield best_linear(rng.normal(size=(N, D)), sigma)


# -------------------------------------------------------------------------------------------------- constant rates


@law
@given(kinds, losses, seeds, sigmas, st.sampled_from(["paper", "best"]), st.sampled_from([None, "ball", "v-sigma"]))
def test_proposition_2_and_theorem_1(kind, loss, seed, sigma, rule, projection):
    b = float(N) if rule == "paper" else float(best_b(N, sigma))
    L, size = longest(kind, b), 1.5
    parameters = {"D": size, "L": L, "sigma": sigma, "T": float(T), "rule": rule, "projection": projection}
    events = stream(kind, seed, loss, "mt-ogd", **parameters)
    run = learn("mt-ogd", events, tasks=N, loss=loss, **parameters)
    allowed = {"ball": {"ball": size}, "v-sigma": {"ball": size, "spread": (N - 1) * (sigma * size) ** 2}}
    kept = record(run, events, b, loss, **allowed.get(projection, {}))
    for U in comparators(events, loss, size, sigma, hindsight=seed % 4 == 0):
        bound = evaluation.proposition2(kept, U, size, L, sigma, b)
        assert bound.holds
        assert evaluation.theorem1(kept, U).holds
        assert evaluation.theorem1(kept, U).right <= bound.right * (1 + 1e-9)


@law
@given(seeds, sigmas, st.booleans())
def test_proposition_2_for_square_losses_in_balls(seed, sigma, adversary):
    """|g| <= 2 (D + 1) as long as |x_i| <= D."""
    parameters = {"D": 1.0, "L": 4.0, "sigma": sigma, "T": float(T), "projection": "ball"}
    events = stream("against" if adversary else "random", seed, "square", "mt-ogd", **parameters)
    run = learn("mt-ogd", events, tasks=N, loss="square", **parameters)
    for U in comparators(events, "square", 1.0, sigma, hindsight=seed % 4 == 0):
        assert evaluation.proposition2(record(run, events, N, "square", ball=1.0), U, 1.0, 4.0, sigma).holds


@law
@given(losses, seeds, st.sampled_from([[(0, 1), (1, 2, 2.0)], [[0, 1], [2]]]), st.sampled_from([0.05, 0.5]))
def test_theorem_1_on_graphs(loss, seed, graph, eta):
    events = make_events(seed, loss, together=True, N=3, d=D, T=T, length=1.0)
    for name, more, regularizer, lam in (
        ("mt-ogd", {}, "euclidean", 1.0),
        ("mt-pnorm", {"p": 1.3}, ("p-norm", 1.3), 1.3 - 1),
    ):
        run = learn(name, events, graph=graph, loss=loss, eta=eta, **more)
        kept = record(run, events, 0.0, loss, regularizer=regularizer, lam=lam)
        inverse = run.model.relations()
        values, vectors = np.linalg.eigh(inverse)
        kept = kept._replace(inverse=inverse, root=(vectors / np.sqrt(values)) @ vectors.T)
        for scale in (0.0, 0.3, 2.0):
            assert evaluation.theorem1(kept, scale * np.random.default_rng(seed).normal(size=(3, D))).holds


@law
@given(kinds, losses, seeds, sigmas, st.sampled_from([2.0, 1.5, 1.1]))
def test_proposition_5(kind, loss, seed, sigma, p):
    kind = "random" if kind == "rounds" else kind
    parameters = {"D": 1.2, "L": 1.0, "sigma": sigma, "T": float(T), "p": p}
    events = stream(kind, seed, loss, "mt-pnorm", **parameters)
    run = learn("mt-pnorm", events, tasks=N, loss=loss, **parameters)
    kept = record(run, events, N, loss, regularizer=("p-norm", p), lam=p - 1)
    for U in comparators(events, loss, 1.2, sigma, p, hindsight=False):
        assert evaluation.proposition5(kept, U, 1.2, 1.0, sigma).holds
        assert evaluation.theorem1(kept, U).holds


# --------------------------------------------------------------------------------------------------- adaptive rates


@law
@given(
    kinds,
    st.sampled_from(["logistic", "square", "hinge", "absolute"]),
    seeds,
    sigmas,
    st.sampled_from(["mahalanobis", "v-sigma", 1.5, 1.2]),
)
def test_propositions_6_and_7(kind, loss, seed, sigma, form):
    size, tight = 0.7, float(radius(N, float(N), 0.7, sigma))
    parameters, more = {"eta": "adaptive", "D": size, "sigma": sigma}, {"radius": tight}
    name, p = ("mt-ogd", 2.0) if isinstance(form, str) else ("mt-pnorm", form)
    if form == "v-sigma":
        more = {"ball": size, "spread": (N - 1) * (sigma * size) ** 2}
    if isinstance(form, str):
        parameters["projection"] = form
    else:
        parameters["p"] = p
        more = {"radius": math.sqrt(2) * tight, "regularizer": ("p-norm", p), "lam": p - 1}
    events = stream(kind, seed, loss, name, **parameters)
    run = learn(name, events, tasks=N, loss=loss, **parameters)
    kept = record(run, events, N, loss, **more)
    varying = kept._replace(iterates=iterates_of(name, events, tasks=N, loss=loss, **parameters))
    for U in comparators(events, loss, size, sigma, p, hindsight=p == 2 and seed % 4 == 0):
        assert evaluation.proposition6(kept, U, size, sigma).holds
        assert evaluation.theorem1_varying(varying, U).holds
        if loss in ("logistic", "square") and kind != "rounds":
            assert evaluation.proposition7(kept, U, size, sigma).holds


# ------------------------------------------------------------------------------------------------------ the simplex


@law
@given(kinds, losses, seeds, sigmas, st.sampled_from(["entropy", "p-norm", "square"]))
def test_proposition_8(kind, loss, seed, sigma, form):
    kind = "random" if kind == "rounds" else kind
    name, p = "mt-eg", simplex_p(D)
    parameters, more = {"L": 1.0, "sigma": sigma, "T": float(T)}, {"regularizer": "entropy"}
    if form == "p-norm":
        name, more = "mt-pnorm", {"regularizer": ("p-norm simplex", p), "lam": p - 1}
        parameters["domain"] = "simplex"
    if form == "square":
        loss, parameters["L"] = "square", 4.0
    events = stream(kind, seed, loss, name, **parameters)
    run = learn(name, events, tasks=N, loss=loss, **parameters)
    b = math.inf if sigma == 0 else (1 - sigma**2) / sigma**2
    kept = record(run, events, b, loss, **more)
    for U in on_the_simplex(sigma):
        assert evaluation.proposition8(kept, U, parameters["L"], sigma).holds
        assert evaluation.theorem1(kept, U).holds


@pytest.mark.parametrize("seed", range(2))
def test_both_forms_of_the_p_norm_on_the_simplex_keep_their_bound(seed):
    """(a) x in the simplex, by a solver; (b) y in the simplex, as mt-pnorm has it."""
    sigma, p, eta = 0.6, simplex_p(D), 0.4
    b = (1 - sigma**2) / sigma**2
    events = make_events(seed, N=N, d=D, T=12, length=1.0, dormant=0.0)
    run = learn("mt-pnorm", events, tasks=N, eta=eta, sigma=sigma, domain="simplex")
    mine = record(run, events, b, "logistic", regularizer=("p-norm simplex", p), lam=p - 1)
    exact = mt_pnorm(*events, N=N, eta=eta, sigma=sigma, domain="simplex-exact")
    other = mine._replace(scores=exact.scores, eta=exact.eta, regularizer=("p-norm", p), start=np.full(D, 1 / D))
    for U in on_the_simplex(sigma):
        assert evaluation.theorem1(mine, U).holds
        assert evaluation.theorem1(other, U).holds


# ------------------------------------------------------------------------------------------------ leader and Hedge


@law
@given(kinds, losses, seeds, st.sampled_from(["euclidean", "entropy"]), st.sampled_from([0.05, 0.5, 3.0]))
def test_the_leader_keeps_its_bound(kind, loss, seed, regularizer, eta0):
    parameters = {"eta0": eta0, "b": 3.0, "regularizer": regularizer}
    events = stream(kind, seed, loss, "mt-ftrl", **parameters)
    run = learn("mt-ftrl", events, tasks=N, loss=loss, **parameters)
    kept = record(run, events, 3.0, loss, update="leader", regularizer=regularizer)
    entropy = regularizer == "entropy"
    for U in on_the_simplex(0.5) if entropy else comparators(events, loss, 1.5, 0.8, hindsight=False):
        assert evaluation.ftrl(kept, U).holds


@law
@given(st.sampled_from(["random", "against"]), losses, seeds, st.sampled_from([T, None]))
def test_hedge_over_gradient_descent(kind, loss, seed, horizon):
    grid = [k / N for k in range(1, N + 1)]
    parameters = {"D": 1.2, "L": 1.0, "T": horizon, "variances": grid}
    events = stream(kind, seed, loss, "hedge-mt-ogd", **parameters)
    events = events._replace(y=np.where(np.isnan(events.y), 1.0, events.y))
    run = learn("hedge-mt-ogd", events, tasks=N, loss=loss, **parameters)
    kept = record(run, events, N, loss, ball=1.2)
    assert evaluation.hedge_inequality(kept).holds
    if horizon is not None:
        for U in comparators(events, loss, 1.2, 0.4, hindsight=seed % 4 == 0):
            assert evaluation.hedge_theorem9(kept, U, 1.2, 1.0).holds


@law
@given(st.sampled_from(["random", "against"]), losses, seeds, st.sampled_from([{"T": T}, {}, {"eta_h": 0.8}]))
def test_hedge_over_exponentiated_gradients(kind, loss, seed, more):
    events = stream(kind, seed, loss, "hedge-mt-eg", L=1.0, **more)
    events = events._replace(y=np.where(np.isnan(events.y), 1.0, events.y))
    run = learn("hedge-mt-eg", events, tasks=N, loss=loss, L=1.0, **more)
    assert evaluation.hedge_inequality(record(run, events, 0.0, loss)).holds


# --------------------------------------------------------------------------------------------------------- real data


def lenk(persons):
    """Ratings of computers by some persons, in a random order; rows of length 1, ratings between -1 and 1."""
    folder = os.environ.get("WEFT_DATA")
    if not folder:
        pytest.skip("WEFT_DATA does not name the folder with the data sets")
    data = np.load(Path(folder) / "lenk.npz", allow_pickle=False)
    keep = np.flatnonzero(data["task"] < persons)
    keep = np.random.default_rng(0).permutation(keep)
    X = data["X"][keep].astype(float)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return Events(X, data["y"][keep] / 5.0 - 1.0, data["task"][keep].astype(int), np.arange(len(keep) + 1))


def models_of(events, persons, size, sigma):
    """One least-squares model for all, and one per task, pulled towards it as far as `size` and `sigma` require."""
    shared = best_in_hindsight(events.X, events.y, events.task * 0, 1, "square")[0]
    U = np.array([best_ridge(events.X[events.task == i], events.y[events.task == i], shared) for i in range(persons)])
    mean = U.mean(axis=0) / max(1.0, np.linalg.norm(U.mean(axis=0)) / size)
    apart = U - U.mean(axis=0)
    part = sigma * size * math.sqrt(persons - 1) / np.linalg.norm(apart)
    for scale in (0.0, 0.5 * part, part):
        V = mean + min(1.0, scale) * apart
        yield V / max(1.0, np.linalg.norm(V, axis=1).max() / size)


def best_ridge(X, y, center):
    return center + np.linalg.solve(X.T @ X + np.eye(X.shape[1]), X.T @ (y - X @ center))


def test_the_bounds_hold_on_ratings_of_computers():
    persons, size, sigma = 190, 3.0, 0.3
    events = lenk(persons)
    horizon = len(events.y)
    theory = {"D": size, "L": 1.0, "sigma": sigma, "T": float(horizon)}
    for rule, b in (("paper", float(persons)), ("best", float(best_b(persons, sigma)))):
        run = learn("mt-ogd", events, tasks=persons, loss="absolute", rule=rule, **theory)
        kept = record(run, events, b, "absolute")
        for U in models_of(events, persons, size, sigma):
            assert evaluation.proposition2(kept, U, size, 1.0, sigma, b).holds
            assert evaluation.theorem1(kept, U).holds
    run = learn("mt-ogd", events, tasks=persons, loss="square", eta="adaptive", D=size, sigma=sigma)
    kept = record(run, events, persons, "square", radius=float(radius(persons, float(persons), size, sigma)))
    for U in models_of(events, persons, size, sigma):
        assert evaluation.proposition6(kept, U, size, sigma).holds
        assert evaluation.proposition7(kept, U, size, sigma).holds
    run = learn("mt-eg", events, tasks=persons, loss="absolute", sigma=0.5, L=1.0, T=float(horizon))
    kept = record(run, events, 3.0, "absolute", regularizer="entropy")
    corners = np.eye(events.X.shape[1])
    for row in (corners.mean(axis=0), corners[0], corners[7]):
        U = np.tile(row, (persons, 1))
        assert evaluation.proposition8(kept, U, 1.0, 0.5).holds


def test_theorem_9_holds_on_ratings_of_computers():
    persons, size = 30, 3.0
    events = lenk(persons)
    grid = [k / persons for k in range(1, persons + 1)]
    more = {"D": size, "L": 1.0, "T": len(events.y), "variances": grid}
    run = learn("hedge-mt-ogd", events, tasks=persons, loss="absolute", **more)
    kept = record(run, events, persons, "absolute", ball=size)
    assert evaluation.hedge_inequality(kept).holds
    for U in models_of(events, persons, size, 0.5):
        assert evaluation.hedge_theorem9(kept, U, size, 1.0).holds
