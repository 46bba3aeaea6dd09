"""Mirror descent with p-norms and the entropy against its oracle."""

import math

import numpy as np
import pytest

from learners.descent_runs import LOSSES, deviation, difference, learn, make_events
from oracles.mirror_descent import graph as laplacian
from oracles.mirror_descent_simplex import Eg, PNormSimplex, mt_eg, mt_pnorm, simplex_interaction, simplex_p

pytestmark = pytest.mark.xdist_group("mt-mirror")

N, D, T = 5, 6, 60
NAMES = ["ann", "bob", "eve", "joe", "zoe"]
W = np.zeros((N, N))
for i, j, w in ((0, 1, 1.0), (1, 2, 2.0), (3, 4, 0.5)):
    W[i, j] = W[j, i] = w
EDGES = [("ann", "bob"), ("bob", "eve", 2.0), ("joe", "zoe", 0.5)]
LAPLACIAN = laplacian(W, 1.5).A
BLOCKS = laplacian(np.kron(np.diag([1.0, 0.0]), np.ones((3, 3)))[:N, :N] * (1 - np.eye(N))).A  # ann, bob, eve

SPACE = {
    "b = 0": {"eta": 0.1, "b": 0.0},
    "b = 2": {"eta": 0.1, "b": 2.0},
    "b = N": {"eta": 0.1},
    "b = inf": {"eta": 0.1, "b": math.inf},
    "radius": {"eta": 0.1, "b": 2.0, "radius": 0.4},
    "radius, b = inf": {"eta": 0.1, "b": math.inf, "radius": 0.4},
    "adaptive": {"eta": "adaptive", "D": 0.4, "sigma": 0.4},
    "adaptive, b = 3": {"eta": "adaptive", "D": 0.3, "sigma": 0.4, "b": 3.0},
    "theory": {"D": 1.0, "L": 3.0, "sigma": 0.5, "T": float(T)},
    "theory, sigma 1": {"D": 1.0, "L": 3.0, "sigma": 1.0, "T": float(T)},
}
SIMPLEX = {
    "sigma": {"eta": 0.5, "sigma": 0.5},
    "b = 0": {"eta": 0.5, "b": 0.0},
    "b = 2": {"eta": 0.5, "b": 2.0},
    "b = inf": {"eta": 0.5, "b": math.inf},
    "fast": {"eta": 8.0, "b": 2.0},
    "theory": {"L": 3.0, "T": float(T), "sigma": 0.4},
    "theory, sigma 0": {"L": 3.0, "T": float(T), "sigma": 0.0},
    "theory, sigma 1": {"L": 3.0, "T": float(T), "sigma": 1.0},
}


def space_of(parameters):
    adaptive = parameters.get("eta") == "adaptive"
    return {"eta": "theory", **({"radius": "theory"} if adaptive else {}), **parameters}


@pytest.mark.parametrize("together", [False, True], ids=["single", "rounds"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("setting", SPACE)
def test_p_norms(setting, loss, together):
    events = make_events(1, loss, together=together, N=N, d=D, T=T)
    for p in (2.0, 1.5, 1.1):
        run = learn("mt-pnorm", events, tasks=N, loss=loss, p=p, **SPACE[setting])
        result = mt_pnorm(*events, N=N, loss=loss, p=p, **space_of(SPACE[setting]))
        assert difference(run, events, result) <= 1e-11


def test_without_parameters_p_is_three_halves_and_steps_are_adaptive():
    for together in (False, True):
        events = make_events(2, together=together, N=N, d=D, T=T)
        run = learn("mt-pnorm", events, tasks=N)
        result = mt_pnorm(*events, N=N, p=1.5, eta="adaptive", D=1.0, sigma=0.3)
        assert difference(run, events, result) <= 1e-12


@pytest.mark.parametrize("together", [False, True], ids=["single", "rounds"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("setting", SIMPLEX)
def test_p_norms_on_the_simplex(setting, loss, together):
    events = make_events(3, loss, together=together, N=N, d=D, T=12)
    for p in (None, 1.5):
        run = learn("mt-pnorm", events, tasks=N, loss=loss, p=p, domain="simplex", **SIMPLEX[setting])
        settings = {"eta": "theory", **SIMPLEX[setting]}
        result = mt_pnorm(*events, N=N, loss=loss, p=p, domain="simplex", **settings)
        assert difference(run, events, result) <= 1e-9
        assert_in_simplex(run.model.weights())


@pytest.mark.parametrize("together", [False, True], ids=["single", "rounds"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("setting", SIMPLEX)
def test_the_exponentiated_gradient(setting, loss, together):
    events = make_events(4, loss, together=together, N=N, d=D, T=T)
    run = learn("mt-eg", events, tasks=N, loss=loss, **SIMPLEX[setting])
    result = mt_eg(*events, N=N, loss=loss, **{"eta": "theory", **SIMPLEX[setting]})
    assert difference(run, events, result) <= 1e-12
    assert_in_simplex(run.model.weights())


def assert_in_simplex(models):
    assert models.min() >= 0
    np.testing.assert_allclose(models.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("together", [False, True], ids=["single", "rounds"])
@pytest.mark.parametrize("names", [None, ["zoe", "bob", "joe", "ann", "eve"]], ids=["own order", "permuted"])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("mt-pnorm", {"eta": 0.1, "p": 1.5}),
        ("mt-pnorm", {"eta": 0.1, "p": 1.2, "radius": 0.4}),
        ("mt-pnorm", {"eta": 0.5, "domain": "simplex"}),
        ("mt-eg", {"eta": 0.5}),
    ],
    ids=["p-norm", "ball", "simplex", "entropy"],
)
def test_graphs_of_named_tasks(name, parameters, names, together):
    events = make_events(5, "square", together=together, N=N, d=D, T=20)
    cliques, matrix = [NAMES[:3], NAMES[3:4], NAMES[4:]], {"matrix": LAPLACIAN, "tasks": NAMES}
    oracle = mt_eg if name == "mt-eg" else mt_pnorm
    for graph, strength, A in ((EDGES, 1.5, LAPLACIAN), (cliques, 1.0, BLOCKS), (matrix, 1.0, LAPLACIAN)):
        more = {"names": NAMES, "tasks": names, "graph": graph, "graph_strength": strength, "loss": "square"}
        run = learn(name, events, **more, **parameters)
        result = oracle(*events, N=N, A=A, loss="square", **parameters)
        assert difference(run, events, result, NAMES) <= 1e-9


def test_adaptive_steps_of_p_norms_on_a_graph():
    """rho^2 = 2 (N + (lambda_max - 1)(N-1) sigma^2) D^2, c = rho sqrt(lambda / max_i A^-1_ii)."""
    events = make_events(6, together=True, N=N, d=D, T=T)
    radius = 0.3 * math.sqrt(2 * (N + (np.linalg.eigvalsh(LAPLACIAN)[-1] - 1) * (N - 1) * 0.16))
    more = {"names": NAMES, "tasks": NAMES[::-1], "graph": EDGES, "graph_strength": 1.5}
    run = learn("mt-pnorm", events, p=1.4, eta="adaptive", D=0.3, sigma=0.4, **more)
    result = mt_pnorm(*events, N=N, A=LAPLACIAN, p=1.4, eta="adaptive", radius=radius)
    assert difference(run, events, result, NAMES) <= 1e-12


# ------------------------------------------------------------------------------------- rates without L or a horizon


@pytest.mark.parametrize("together", [False, True], ids=["single", "rounds"])
@pytest.mark.parametrize("domain", ["entropy", "p-norm"])
@pytest.mark.parametrize("L", [None, 2.0])
@pytest.mark.parametrize("horizon", [None, float(T)])
def test_without_a_horizon_the_rate_is_that_of_now(domain, L, horizon, together):
    """The rate of round t is that for T = t, t counting labelled rounds; L is the largest |g|_* so far."""
    events = make_events(7, "square", together=together, N=N, d=D, T=25)
    geometry, p = simplex_interaction(N, sigma=0.5), simplex_p(D)
    learner = Eg(geometry, D, None) if domain == "entropy" else PNormSimplex(geometry, D, p, None)
    C, curvature = (math.log(D), 1.0) if domain == "entropy" else ((1 - D ** (2 / p - 2)) / 2, p - 1)
    base = math.sqrt(2 * curvature * C * N / geometry.largest)
    name, more = ("mt-eg", {}) if domain == "entropy" else ("mt-pnorm", {"domain": "simplex"})
    run = learn(name, events, tasks=N, loss="square", sigma=0.5, L=L, T=horizon, **more)
    steepest, t, scores, etas = 0.0, 0, np.zeros(len(events.y)), np.zeros(len(events.y))
    for first, last in zip(events.bounds[:-1], events.bounds[1:], strict=True):
        models, G = learner.models(), np.zeros((N, D))
        for r in range(first, last):
            scores[r] = models[events.task[r]] @ events.X[r]
            if not math.isnan(events.y[r]):
                G[events.task[r]] = 2 * (scores[r] - events.y[r]) * events.X[r]
        awake = ~np.isnan(events.y[first:last])
        if not awake.any():
            continue
        t, steepest = t + 1, max(steepest, np.linalg.norm(G, learner.q, axis=1).max())
        rate = base / ((L or steepest) * math.sqrt(horizon or t))
        etas[first:last] = np.where(awake, rate, 0.0)
        learner.rate = Fixed(rate)
        learner.move(G)
    assert deviation(run.scores, scores) <= 1e-10
    assert deviation(run.model.weights(), learner.models()) <= 1e-10
    assert deviation(run.trace["eta"], etas) <= 1e-12


class Fixed:
    def __init__(self, eta):
        self.eta = eta

    def after(self, G):
        return self.eta
