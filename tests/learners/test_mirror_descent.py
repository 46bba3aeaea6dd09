"""Multitask gradient descent against its oracle."""

import math

import numpy as np
import pytest

import weft
from learners.descent_runs import LOSSES, difference, learn, make_events
from oracles.mirror_descent import graph as laplacian
from oracles.mirror_descent import mt_ogd
from oracles.mirror_descent_simplex import mt_ftrl
from weft.storage import pairs

pytestmark = pytest.mark.xdist_group("mt-ogd")

N, T = 5, 60
SETTINGS = {
    "nothing given": {},
    "b = 0": {"eta": 0.1, "b": 0.0},
    "b = 2": {"eta": 0.1, "b": 2.0},
    "b = N": {"eta": 0.1},
    "b = inf": {"eta": 0.3, "b": math.inf},
    "theory": {"D": 1.0, "L": 3.0, "sigma": 0.5, "T": T},
    "theory, best": {"D": 1.0, "L": 3.0, "sigma": 0.5, "T": T, "rule": "best"},
    "theory, sigma 0": {"D": 1.0, "L": 3.0, "sigma": 0.0, "T": T},
    "theory, best, sigma 0": {"D": 1.0, "L": 3.0, "sigma": 0.0, "T": T, "rule": "best"},
    "theory, sigma 1": {"D": 1.0, "L": 3.0, "sigma": 1.0, "T": T},
    "theory, b = 2, ball": {"D": 1.0, "L": 3.0, "sigma": 0.4, "T": T, "b": 2.0, "projection": "mahalanobis"},
    "adaptive": {"eta": "adaptive", "D": 0.5, "sigma": 0.4},
    "adaptive, b = 2.5": {"eta": "adaptive", "D": 0.3, "sigma": 0.1, "b": 2.5},
    "adaptive, b = inf": {"eta": "adaptive", "D": 0.5, "sigma": 0.4, "b": math.inf},
    "adaptive, no projection": {"eta": "adaptive", "D": 0.5, "sigma": 0.4, "projection": "none"},
    "adaptive, radius": {"eta": "adaptive", "D": 0.5, "sigma": 0.4, "radius": 0.3},
    "mahalanobis": {"eta": 0.1, "projection": "mahalanobis", "radius": 0.4},
    "mahalanobis, b = 0": {"eta": 0.1, "projection": "mahalanobis", "D": 0.2, "sigma": 0.3, "b": 0.0},
    "mahalanobis, b = inf": {"eta": 0.1, "projection": "mahalanobis", "D": 0.1, "sigma": 0.3, "b": math.inf},
    "variance": {"eta": 0.1, "projection": "variance", "D": 0.3, "sigma": 0.3, "b": 2.0},
    "variance, b = N": {"eta": 0.1, "projection": "variance", "D": 0.3, "sigma": 0.2},
    "variance, sigma 0": {"eta": 0.1, "projection": "variance", "D": 0.3, "sigma": 0.0, "b": 2.0},
    "variance, sigma 0, adaptive": {"eta": "adaptive", "projection": "variance", "D": 0.3, "sigma": 0.0, "b": 2.0},
    "variance, b = inf": {"eta": 0.1, "projection": "variance", "D": 0.3, "sigma": 0.3, "b": math.inf},
    "variance, adaptive": {"eta": "adaptive", "projection": "variance", "D": 0.5, "sigma": 0.2},
}
DENSE = {
    "ball": {"eta": 0.1, "projection": "ball", "D": 0.3},
    "ball, b = 0": {"eta": 0.1, "projection": "ball", "D": 0.3, "b": 0.0},
    "ball, b = 40": {"eta": 0.1, "projection": "ball", "D": 0.3, "b": 40.0},
    "ball, b = inf": {"eta": 0.1, "projection": "ball", "D": 0.2, "b": math.inf},
    "ball, adaptive": {"eta": "adaptive", "projection": "ball", "D": 0.4, "sigma": 0.3},
    "ball, theory": {"projection": "ball", "D": 0.4, "L": 2.0, "sigma": 0.3, "T": T},
    "v-sigma": {"eta": 0.1, "projection": "v-sigma", "D": 0.3, "sigma": 0.3, "b": 2.0},
    "v-sigma, adaptive": {"eta": "adaptive", "projection": "v-sigma", "D": 0.5, "sigma": 0.3},
    "v-sigma, sigma 0": {"eta": 0.1, "projection": "v-sigma", "D": 0.3, "sigma": 0.0, "b": 2.0},
    "v-sigma, b = inf": {"eta": 0.1, "projection": "v-sigma", "D": 0.2, "sigma": 0.3, "b": math.inf},
}


def oracle_of(parameters):
    """The same in the oracle's words, where the rate and the projection are always said."""
    if not parameters:
        return {"eta": "adaptive", "D": 1.0, "sigma": 0.3}
    adaptive = parameters.get("eta") == "adaptive"
    return {"eta": "theory", "projection": "mahalanobis" if adaptive else "none", **parameters}


def agrees(parameters, loss, together, tolerance, seed=1, rounds=T):
    events = make_events(seed, loss, together=together, N=N, T=rounds)
    run = learn("mt-ogd", events, tasks=N, loss=loss, **parameters)
    result = mt_ogd(*events, N=N, loss=loss, **oracle_of(parameters))
    assert difference(run, events, result) <= tolerance


@pytest.mark.parametrize("together", [False, True], ids=["single", "rounds"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("setting", SETTINGS)
def test_scores_models_losses_and_rates_are_those_of_the_oracle(setting, loss, together):
    agrees(SETTINGS[setting], loss, together, 1e-12)


@pytest.mark.parametrize("together", [False, True], ids=["single", "rounds"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("setting", DENSE)
def test_projections_that_move_every_task(setting, loss, together):
    agrees(DENSE[setting], loss, together, 1e-8, rounds=30)


@pytest.mark.parametrize("setting", ["b = 2", "adaptive", "mahalanobis", "nothing given"])
@pytest.mark.parametrize("limit", [0, 12])
def test_hashed_pairs(setting, limit, monkeypatch):
    monkeypatch.setattr(pairs, "DENSE_LIMIT", limit)
    for together in (False, True):
        agrees(SETTINGS[setting], "logistic", together, 1e-12)


def test_projections_happen_in_these_streams():
    """Without this the comparisons above could hold for want of a projection."""
    events = make_events(1, "square", N=N, T=T)
    free = learn("mt-ogd", events, tasks=N, loss="square", eta=0.1).model.weights()
    for setting in ("mahalanobis", "variance, b = N"):
        held = learn("mt-ogd", events, tasks=N, loss="square", **SETTINGS[setting]).model.weights()
        assert np.abs(held - free).max() > 0.05


# ------------------------------------------------------------------------------------------------------------ graphs

NAMES = ["ann", "bob", "eve", "joe", "zoe"]


def weights(entries):
    W = np.zeros((N, N))
    for i, j, w in entries:
        W[i, j] = W[j, i] = w
    return W


PATH = weights([(0, 1, 1.0), (1, 2, 2.0), (3, 4, 0.5)])
CLIQUES = weights([(0, 2, 1.0), (0, 4, 1.0), (2, 4, 1.0), (1, 3, 1.0)])
SPD = np.eye(N) + np.cov(np.random.default_rng(3).normal(size=(N, 9)))
GRAPHS = {
    "edges": ([("ann", "bob"), ("bob", "eve", 2.0), ("joe", "zoe", 0.5)], {}, laplacian(PATH).A),
    "stronger edges": (
        {"edges": [("ann", "bob"), ("bob", "eve", 2.0), ("joe", "zoe", 0.5)]},
        {"graph_strength": 2.5},
        laplacian(PATH, 2.5).A,
    ),
    "weights": ((PATH, NAMES), {}, laplacian(PATH).A),
    "cliques": ([["ann", "eve", "zoe"], ["bob", "joe"]], {}, laplacian(CLIQUES).A),
    "stronger cliques": ([["ann", "eve", "zoe"], ["bob", "joe"]], {"graph_strength": 0.4}, laplacian(CLIQUES, 0.4).A),
    "matrix": ({"matrix": SPD, "tasks": NAMES}, {}, SPD),
}
ON_GRAPHS = {
    "constant": {"eta": 0.1},
    "mahalanobis": {"eta": 0.1, "projection": "mahalanobis", "radius": 0.3},
    "mahalanobis, D": {"eta": 0.1, "projection": "mahalanobis", "D": 0.1, "sigma": 0.5},
    "adaptive": {"eta": "adaptive", "D": 0.2, "sigma": 0.4},
    "nothing given": {},
}


def oracle_on(form, A, parameters):
    """The radius of a graph: |u|_A^2 <= N D^2 + (lambda_max - 1)(N-1) sigma^2 D^2, on a matrix lambda_max N D^2."""
    settings, top = oracle_of(parameters), np.linalg.eigvalsh(A)[-1]
    D, sigma = settings.get("D"), settings.get("sigma")
    if "radius" not in settings and sigma is not None:
        settings["radius"] = D * math.sqrt(top * N if form == "matrix" else N + (top - 1) * (N - 1) * sigma**2)
    return settings


def agrees_on(form, parameters, together, names, tolerance, **extra):
    graph, more, A = GRAPHS[form]
    events = make_events(2, "square", together=together, N=N, T=30)
    run = learn("mt-ogd", events, names=NAMES, tasks=names, graph=graph, loss="square", **more, **parameters, **extra)
    result = mt_ogd(*events, N=N, A=A, loss="square", **oracle_on(form, A, parameters))
    assert difference(run, events, result, NAMES) <= tolerance
    order = [run.model.tasks.index(name) for name in NAMES]
    np.testing.assert_allclose(run.model.relations()[np.ix_(order, order)], np.linalg.inv(A), rtol=0, atol=1e-13)
    again = weft.Model.from_bytes(run.model.to_bytes())
    np.testing.assert_array_equal(again.weights(), run.model.weights())


@pytest.mark.parametrize("together", [False, True], ids=["single", "rounds"])
@pytest.mark.parametrize("names", [None, ["zoe", "bob", "joe", "ann", "eve"]], ids=["own order", "permuted"])
@pytest.mark.parametrize("setting", ON_GRAPHS)
@pytest.mark.parametrize("form", GRAPHS)
def test_graphs_of_named_tasks(form, setting, names, together):
    agrees_on(form, ON_GRAPHS[setting], together, names, 1e-12)


@pytest.mark.parametrize("limit", [0, 12])
@pytest.mark.parametrize("form", ["edges", "cliques", "matrix"])
def test_hashed_pairs_on_graphs(form, limit, monkeypatch):
    monkeypatch.setattr(pairs, "DENSE_LIMIT", limit)
    for setting in ("constant", "mahalanobis", "adaptive"):
        agrees_on(form, ON_GRAPHS[setting], True, NAMES[::-1], 1e-12)


@pytest.mark.parametrize("names", [None, ["zoe", "bob", "joe", "ann", "eve"]], ids=["own order", "permuted"])
@pytest.mark.parametrize("form", GRAPHS)
def test_balls_on_graphs(form, names):
    for parameters in ({"eta": 0.1, "projection": "ball", "D": 0.2}, {**ON_GRAPHS["adaptive"], "projection": "ball"}):
        agrees_on(form, parameters, True, names, 1e-8)


# -------------------------------------------------------------------------------------------------- follow the leader

LEADERS = {
    "constant": {"eta": 0.1, "b": 2.0},
    "constant, b = inf": {"eta": 0.1, "b": math.inf},
    "sqrt": {"eta": "sqrt", "eta0": 0.3, "b": 2.0},
    "sqrt, b = N": {"eta0": 0.3},
    "sqrt, b = 0": {"eta0": 0.3, "b": 0.0},
    "sqrt, b = inf": {"eta0": 0.3, "b": math.inf},
}


def leader(events, loss, parameters, **more):
    rest = {name: value for name, value in parameters.items() if name not in ("eta", "eta0")}
    eta = parameters["eta"] if isinstance(parameters.get("eta"), float) else ("sqrt", parameters.get("eta0", 1.0))
    return mt_ftrl(*events, loss=loss, eta=eta, **rest, **more)


@pytest.mark.parametrize("regularizer", ["euclidean", "entropy"])
@pytest.mark.parametrize("together", [False, True], ids=["single", "rounds"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("setting", LEADERS)
def test_the_regularised_leader(setting, loss, together, regularizer):
    events = make_events(4, loss, together=together, N=N, T=T)
    run = learn("mt-ftrl", events, tasks=N, loss=loss, regularizer=regularizer, **LEADERS[setting])
    result = leader(events, loss, LEADERS[setting], N=N, regularizer=regularizer)
    assert difference(run, events, result) <= 1e-12


@pytest.mark.parametrize("regularizer", ["euclidean", "entropy"])
@pytest.mark.parametrize("form", ["edges", "cliques", "stronger cliques", "matrix"])
def test_the_regularised_leader_on_graphs(form, regularizer):
    graph, more, A = GRAPHS[form]
    if form == "matrix" and regularizer == "entropy":
        A = laplacian(PATH, 0.7).A  # A^-1/2 must be stochastic
        graph = {"matrix": A, "tasks": NAMES}
    for together in (False, True):
        events = make_events(5, together=together, N=N, T=T)
        for setting in ({"eta": 0.2}, {"eta0": 0.4}):
            run = learn(
                "mt-ftrl",
                events,
                names=NAMES,
                tasks=NAMES[::-1],
                graph=graph,
                regularizer=regularizer,
                **more,
                **setting,
            )
            result = leader(events, "logistic", setting, N=N, A=A, regularizer=regularizer)
            assert difference(run, events, result, NAMES) <= 1e-12
