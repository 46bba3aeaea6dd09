"""What is kept in passing equals what is made anew: 20,000 events against dense NumPy.

Factors that are folded into the parts, sums that are made anew now and then, normalisers that follow every step.
"""

import math

import numpy as np
import pytest

import weft
from learners.descent_runs import deviation
from weft.learners.descent import cliques_ball, dual_growth, mt_ogd
from weft.learners.descent import graph as descent_graph
from weft.learners.descent.positions import CliqueScalar, DualScalar, GraphScalar

pytestmark = pytest.mark.xdist_group("mt-lazy")

N, D, EVENTS = 4, 5, 20_000
I, J = np.eye(N), np.full((N, N), 1 / N)
PATH = np.diag([1.0, 1.0, 0.0], 1) + np.diag([1.0, 1.0, 0.0], -1)
PAIRS = np.kron(np.eye(2), 1 - np.eye(2))


def laplacian(W):
    return I + np.diag(W.sum(axis=1)) - W


GEOMETRIES = {
    "b = 3": ({"b": 3.0, "tasks": N}, I + 3 * (I - J)),
    "b = 0": ({"b": 0.0, "tasks": N}, I),
    "b = inf": ({"b": math.inf, "tasks": N}, None),
    "edges": ({"graph": {"edges": [(0, 1), (1, 2)], "tasks": [0, 1, 2, 3]}}, laplacian(PATH)),
    "cliques": ({"graph": [[0, 1], [2, 3]]}, laplacian(PAIRS)),
}


def stream(seed, events=EVENTS):
    """Sparse rows whose labels drift, so that steps go on."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(events, D)) * (rng.random((events, D)) < 0.6)
    task, U = rng.integers(N, size=events), rng.normal(size=(N, D))
    y = np.sum(X * U[task], axis=1) * np.cos(np.arange(events) / 700) + 0.3 * rng.normal(size=events)
    return X, np.where(y >= 0, 1.0, -1.0), task


def hinge_slope(score, label):
    return -label if label * score < 1 else 0.0


def logistic_slope(score, label):
    return -label / (1 + math.exp(min(label * score, 700.0)))


SLOPES = {"hinge": hinge_slope, "logistic": logistic_slope}


def powers(A):
    """A, A^-1 and A^{-1/2}; at b = inf all are J."""
    if A is None:
        return J, J, J
    values, vectors = np.linalg.eigh(A)
    return A, np.linalg.inv(A), (vectors / np.sqrt(values)) @ vectors.T


def gradient_descent(X, y, task, A, loss, eta, project):
    """X <- Proj(X - eta A^-1 G), event by event; `project` changes it in place and returns its factor."""
    inverse, models, scores, shrunk = powers(A)[1], np.zeros((N, D)), np.zeros(len(y)), 0.0
    for t, (x, i) in enumerate(zip(X, task, strict=True)):
        scores[t] = models[i] @ x
        g = SLOPES[loss](scores[t], y[t])
        if g:
            models -= np.outer(eta * g * inverse[:, i], x)
            shrunk += math.log10(project(models))
    return scores, models, shrunk


def ball(A, radius):
    matrix = powers(A)[0]

    def project(models):
        size = math.sqrt(np.vdot(models, matrix @ models))
        factor = min(1.0, radius / size) if size else 1.0
        models *= factor
        return factor

    return project


def variance(limit):
    def project(models):
        mean = models.mean(axis=0)
        size = np.linalg.norm(models - mean)
        factor = min(1.0, limit / size) if size else 1.0
        models[:] = mean + factor * (models - mean)
        return factor

    return project


# slow: steps and shrinking of a usual size; fast: every step leaves the ball by far, and s falls below 1e-100 at once
PACES = {"slow": {"eta": 0.05, "radius": 0.8}, "fast": {"eta": 3000.0, "radius": 0.01}}


@pytest.mark.parametrize(
    ("form", "pace", "loss"),
    [*((form, pace, "hinge") for form in GEOMETRIES for pace in PACES), ("b = 3", "slow", "logistic")],
)
def test_the_mahalanobis_ball(form, pace, loss, monkeypatch):
    monkeypatch.setattr(mt_ogd, "RESYNC", 500)
    more, A = GEOMETRIES[form]
    X, y, task = stream(1)
    model = weft.Model("mt-ogd", projection="mahalanobis", loss=loss, features=D, **PACES[pace], **more)
    assert model.learner.hyper.resync == 500
    scores = model.learn(weft.Stream(X, y, task))
    expected = gradient_descent(X, y, task, A, loss, PACES[pace]["eta"], ball(A, PACES[pace]["radius"]))
    assert deviation(scores, expected[0]) <= 1e-9
    assert deviation(model.weights(), expected[1]) <= 1e-9
    least = descent_graph.FOLD if form == "edges" else cliques_ball.FOLD
    assert least <= model.state.scalars[GraphScalar.SCALE if form == "edges" else CliqueScalar.SCALE] <= 1
    assert expected[2] < (-1000 if pace == "fast" else -10)  # so that s was folded, or at least used


def test_sums_are_made_anew_now_and_then(monkeypatch):
    """Without this the comparisons above could hold for want of a resynchronisation."""
    found = []
    for resync in (500, mt_ogd.RESYNC):
        monkeypatch.setattr(mt_ogd, "RESYNC", resync)
        model = weft.Model("mt-ogd", projection="mahalanobis", b=3.0, eta=0.05, radius=0.8, tasks=N, features=D)
        model.learn(weft.Stream(*stream(1)))
        found.append(model.state.scalars[CliqueScalar.ZZ])
    assert found[0] != found[1]
    assert found[0] == pytest.approx(found[1], rel=1e-9)


@pytest.mark.parametrize("pace", ["slow", "fast"])
@pytest.mark.parametrize("form", ["b = 3", "b = 0", "b = inf"])
def test_the_variance_projection(form, pace):
    more, A = GEOMETRIES[form]
    eta, sigma = (0.05, 0.3) if pace == "slow" else (300.0, 0.02)
    X, y, task = stream(2)
    model = weft.Model("mt-ogd", projection="variance", loss="hinge", features=D, eta=eta, D=1.0, sigma=sigma, **more)
    scores = model.learn(weft.Stream(X, y, task))
    expected = gradient_descent(X, y, task, A, "hinge", eta, variance(math.sqrt(N - 1) * sigma))
    assert deviation(scores, expected[0]) <= 1e-9
    assert deviation(model.weights(), expected[1]) <= 1e-9
    assert cliques_ball.FOLD <= model.state.scalars[CliqueScalar.SCALE] <= 1
    if form != "b = inf":
        assert expected[2] < (-1000 if pace == "fast" else -10)


def test_the_sums_of_the_ball_are_those_of_its_parts():
    """Without resynchronisation, and with single events: Q and the four sums after 20,000 steps in passing."""
    X, y, task = stream(3)
    model = weft.Model("mt-ogd", b=3.0, projection="mahalanobis", eta=0.05, radius=0.8, tasks=N, features=D)
    model.learn(weft.Stream(X, y, task))
    own, shared = model.learner.parts(model.state, N, D)
    models, scalars = own + shared, model.state.scalars
    s = scalars[CliqueScalar.SCALE]
    found = s * s * scalars[[CliqueScalar.ZZ, CliqueScalar.SS, CliqueScalar.SM, CliqueScalar.MM]]
    total, m = own.sum(axis=0), shared[0]
    np.testing.assert_allclose(found, [np.vdot(own, own), total @ total, total @ m, m @ m], rtol=0, atol=1e-9)
    assert scalars[CliqueScalar.Q] == pytest.approx(np.vdot(models, GEOMETRIES["b = 3"][1] @ models), abs=1e-9)


# ------------------------------------------------------------------------------------------------------- mirror maps


def softmax(theta):
    y = np.exp(theta - theta.max(axis=1, keepdims=True))
    return y / y.sum(axis=1, keepdims=True)


def link(theta, q):
    """f_q, row by row, with all that is large scaled away."""
    top = np.maximum(np.abs(theta).max(axis=1, keepdims=True), 1e-300)
    size = np.maximum(top * np.sum((np.abs(theta) / top) ** q, axis=1, keepdims=True) ** (1 / q), 1e-300)
    return np.sign(theta) * (np.abs(theta) / size) ** (q - 1) * size


def mirror_descent_of(X, y, task, A, slope, eta, image, radius=None):
    """theta -= eta A^{-1/2} G, x = A^{-1/2} image(theta), all made anew in every event."""
    half, theta, scores = powers(A)[2], np.zeros((N, D)), np.zeros(len(y))
    Y = image(theta)
    for t, (x, i) in enumerate(zip(X, task, strict=True)):
        scores[t] = half[i] @ Y @ x
        g = slope(scores[t], y[t])
        if g:
            theta -= np.outer(eta * g * half[:, i], x)
            Y = image(theta)
            if radius is not None:
                p = radius[1]
                size = math.sqrt(np.sum(np.sum(np.abs(Y) ** p, axis=1) ** (2 / p)))
                factor = min(1.0, radius[0] / size)
                theta *= factor
                Y *= factor
    return scores, half @ Y


@pytest.mark.parametrize("eta", [0.2, 30.0])
@pytest.mark.parametrize(
    ("name", "form"), [*(("mt-eg", form) for form in ("b = 3", "b = 0", "b = inf", "edges")), ("mt-ftrl", "b = 3")]
)
def test_the_normalisers_of_the_entropy(name, form, eta):
    more, A = GEOMETRIES[form]
    X, y, task = stream(4)
    more = dict(more, regularizer="entropy") if name == "mt-ftrl" else more
    model = weft.Model(name, loss="hinge", features=D, eta=eta, **more)
    scores = model.learn(weft.Stream(X, y, task))
    expected = mirror_descent_of(X, y, task, A, hinge_slope, eta, softmax)
    assert deviation(scores, expected[0]) <= 1e-9
    assert deviation(model.weights(), expected[1]) <= 1e-9


@pytest.mark.parametrize(
    ("form", "p", "eta", "radius", "events"),
    [
        ("b = 3", 1.1, 0.02, None, EVENTS),
        ("b = 3", 1.1, 30.0, None, EVENTS),
        ("b = 3", 1.1, 3000.0, 0.01, EVENTS),
        ("b = 3", 1.5, 0.02, 0.5, 5000),
        ("b = inf", 1.1, 30.0, None, 5000),
        ("b = inf", 1.1, 3000.0, 0.01, 5000),
        ("edges", 1.1, 30.0, None, 5000),
        ("edges", 1.5, 0.02, 0.5, 5000),
    ],
)
def test_the_norms_of_dual_vectors(form, p, eta, radius, events):
    more, A = GEOMETRIES[form]
    X, y, task = stream(5, events)
    model = weft.Model("mt-pnorm", p=p, loss="hinge", features=D, eta=eta, radius=radius, **more)
    scores = model.learn(weft.Stream(X, y, task))
    ball = None if radius is None else (radius, p)
    expected = mirror_descent_of(X, y, task, A, hinge_slope, eta, lambda theta: link(theta, p / (p - 1)), ball)
    assert deviation(scores, expected[0]) <= 1e-9
    assert deviation(model.weights(), expected[1]) <= 1e-9
    assert dual_growth.FOLD <= model.state.scalars[DualScalar.SCALE] <= 1
