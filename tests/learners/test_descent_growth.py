"""Tasks that are not declared: the rules that contain the number of tasks, written out densely.

A newcomer is counted before its first prediction and starts at the shared part; b by rule, eta by theory and the radius
are those for the new number of tasks, and everybody is projected once.
"""

import math
from itertools import pairwise

import numpy as np
import pytest

import weft
from learners.descent_runs import deviation
from oracles.mirror_descent import clique, clique_strength, ogd_theory_rate, tight_radius
from oracles.mirror_descent_projections import project
from oracles.mirror_descent_simplex import link, softmax
from weft.storage import pairs

pytestmark = pytest.mark.xdist_group("mt-growth")

WIDTH, MOST, T = 4, 7, 90


def stream(seed, together):
    """Rounds in which task k turns up with time; tasks count from 0 in the order of their first row."""
    rng, task, bounds, known = np.random.default_rng(seed), [], [0], 1
    for t in range(T):
        reach = min(MOST, 1 + t // 8)
        size = int(rng.integers(1, reach + 1)) if together else 1
        for i in rng.permutation(reach)[:size].tolist():
            new = i >= known
            task.append(known if new else i)
            known += new
        task[bounds[-1] :] = list(dict.fromkeys(task[bounds[-1] :]))
        bounds.append(len(task))
    X = rng.normal(size=(len(task), WIDTH)) * (rng.random((len(task), WIDTH)) < 0.8)
    U = rng.normal(size=WIDTH) + 0.5 * rng.normal(size=(MOST, WIDTH))
    y = np.sum(U[task] * X, axis=1) + 0.3 * rng.normal(size=len(task))
    if together:
        y[rng.random(len(task)) < 0.1] = np.nan
    return X, y, np.array(task), np.array(bounds)


def follow(learner, X, y, task, bounds):
    """A reference has `grow(N)`, `models()` and `move(G)`."""
    scores, N = np.zeros(len(y)), 0
    for first, last in pairwise(bounds):
        if task[first:last].max() >= N:
            N = int(task[first:last].max()) + 1
            learner.grow(N)
        G, models = np.zeros((N, WIDTH)), learner.models()
        for r in range(first, last):
            scores[r] = models[task[r]] @ X[r]
            if not math.isnan(y[r]):
                G[task[r]] = 2 * (scores[r] - y[r]) * X[r]
        if G.any():
            learner.move(G)
    assert N == MOST
    return scores, learner.models()


class Gradient:
    """Own parts z and a shared part m; x = z + m."""

    def __init__(
        self, *, eta=None, b=None, D=None, L=None, sigma=None, T=None, projection="none", radius=None, rule="paper"
    ):
        self.eta, self.b, self.length, self.L, self.sigma, self.T = eta, b, D, L, sigma, T
        self.projection, self.given, self.rule = projection, radius, rule
        self.z, self.m, self.squares = np.zeros((0, WIDTH)), np.zeros(WIDTH), 0.0

    def grow(self, N):
        b = self.b
        if b is None:  # a task alone has b = 1 by the rule of the paper, which says what those to come share with it
            b = 1.0 if N == 1 and self.rule == "paper" else clique_strength(N, self.sigma, self.rule)
        self.geometry, before = clique(N, b), len(self.z)
        share = 1.0 if b == math.inf else b / (1 + b)
        if self.projection in ("ball", "v-sigma") and before:
            mean = (self.z + self.m).mean(axis=0)
            start = share * mean if self.projection == "ball" else mean
        else:
            start = self.m
        self.z = np.vstack([self.z, np.tile(start - self.m, (N - before, 1))])
        self.share = share
        self.radius = self.given
        if self.given is None and self.length is not None and self.sigma is not None:
            self.radius = tight_radius(N, b, self.length, self.sigma)
        self.project()

    def project(self):
        if self.projection == "mahalanobis":
            models = self.models()
            size = math.sqrt(max(0.0, float(np.vdot(models, self.geometry.A @ models))))
            factor = min(1.0, self.radius / size) if size else 1.0
            self.z, self.m = factor * self.z, factor * self.m
        elif self.projection == "variance":  # the mean stays
            models = self.models()
            held = project(models, self.geometry, "variance", D=self.length, sigma=self.sigma)
            self.m, self.z = models.mean(axis=0), held - models.mean(axis=0)
        elif self.projection != "none":
            held = project(self.models(), self.geometry, self.projection, D=self.length, sigma=self.sigma)
            self.m, self.z = np.zeros_like(self.m), held

    def models(self):
        return self.z + self.m

    def rate(self, G):
        if self.eta == "adaptive":
            if np.count_nonzero(G.any(axis=1)) == 1:
                self.squares += float(np.sum(G * G))
            else:
                self.squares += float(np.vdot(G, self.geometry.inverse @ G)) / self.geometry.largest
            return self.radius * math.sqrt(2 / self.geometry.largest) / math.sqrt(self.squares)
        if self.eta is None:
            return ogd_theory_rate(len(G), self.geometry.b, self.length, self.L, self.sigma, self.T)
        return self.eta

    def move(self, G):
        eta, N = self.rate(G), len(G)
        self.z = self.z - eta * (1 - self.share) * G
        self.m = self.m - eta * self.share / N * G.sum(axis=0)
        self.project()


THEORY = {"D": 0.6, "L": 4.0, "sigma": 0.4, "T": float(T)}
GRADIENTS = {
    "constant": {"eta": 0.1},
    "constant, b = 2": {"eta": 0.1, "b": 2.0},
    "constant, b = inf": {"eta": 0.1, "b": math.inf},
    "theory": THEORY,
    "theory, best": {**THEORY, "rule": "best"},
    "adaptive": {"eta": "adaptive", "D": 0.4, "sigma": 0.4, "projection": "none"},
    "mahalanobis": {**THEORY, "projection": "mahalanobis"},
    "mahalanobis, best": {**THEORY, "rule": "best", "projection": "mahalanobis"},
    "mahalanobis, adaptive": {"eta": "adaptive", "D": 0.3, "sigma": 0.4, "projection": "mahalanobis"},
    "mahalanobis, radius": {"eta": 0.1, "projection": "mahalanobis", "radius": 0.3},
    "mahalanobis, b = inf": {"eta": 0.1, "b": math.inf, "projection": "mahalanobis", "radius": 0.3},
    "mahalanobis, b = 0": {"eta": 0.1, "b": 0.0, "projection": "mahalanobis", "radius": 0.3},
    "variance": {**THEORY, "projection": "variance"},
    "variance, sigma 0": {"eta": 0.1, "D": 0.5, "sigma": 0.0, "projection": "variance"},
    "variance, b = 0": {"eta": 0.1, "b": 0.0, "D": 0.5, "sigma": 0.2, "projection": "variance"},
    "ball": {"eta": 0.1, "D": 0.4, "projection": "ball"},
    "ball, theory": {**THEORY, "projection": "ball"},
    "v-sigma": {"eta": 0.1, "D": 0.4, "sigma": 0.3, "projection": "v-sigma"},
}


@pytest.mark.parametrize("together", [False, True], ids=["single", "rounds"])
@pytest.mark.parametrize("setting", GRADIENTS)
def test_gradient_descent(setting, together):
    parameters = GRADIENTS[setting]
    events = stream(1, together)
    expected = follow(Gradient(**parameters), *events)
    tolerance = 1e-8 if parameters.get("projection") in ("ball", "v-sigma") else 1e-11
    assert_follows("mt-ogd", parameters, events, expected, tolerance)


@pytest.mark.parametrize("setting", ["theory", "mahalanobis", "mahalanobis, adaptive"])
def test_gradient_descent_on_hashed_pairs(setting, monkeypatch):
    events = stream(2, together=True)
    expected = follow(Gradient(**GRADIENTS[setting]), *events)
    monkeypatch.setattr(pairs, "DENSE_LIMIT", 12)
    assert_follows("mt-ogd", GRADIENTS[setting], events, expected, 1e-11)


def assert_follows(name, parameters, events, expected, tolerance):
    X, y, task, bounds = events
    model = weft.Model(name, loss="square", **parameters)
    scores = model.learn(weft.Stream(X, y, task, rounds=np.repeat(np.arange(T), np.diff(bounds))))
    assert model.tasks == list(range(MOST))
    assert deviation(scores, expected[0]) <= tolerance
    assert deviation(model.weights(), expected[1]) <= tolerance


class Mirror:
    """theta = own + shared part of the dual; x = A^{-1/2} image(theta)."""

    def __init__(self, image, b, rate, ball=None):
        self.image, self.b, self.rate, self.ball = image, b, rate, ball
        self.own, self.shared = np.zeros((0, WIDTH)), np.zeros(WIDTH)

    def grow(self, N):
        self.geometry = clique(N, self.b(N))
        self.own = np.vstack([self.own, np.zeros((N - len(self.own), WIDTH))])
        self.project()

    def models(self):
        return self.geometry.inverse_root @ self.image(self.own + self.shared)

    def move(self, G):
        half, N = self.geometry.inverse_root, len(G)
        eta, shared = self.rate(self.geometry), half[0, 1] if N > 1 else 1.0
        if N > 1:
            self.own = self.own - eta * (half[0, 0] - shared) * G
        else:  # one task alone: what is own and what is shared still matters for those to come
            own = 0.0 if self.b(1) == math.inf else 1 / math.sqrt(1 + self.b(1))
            self.own, shared = self.own - eta * own * G, 1 - own
        self.shared = self.shared - eta * shared * G.sum(axis=0)
        self.project()

    def project(self):
        if self.ball is not None:
            p, radius = self.ball
            size = math.sqrt(np.sum(np.linalg.norm(self.image(self.own + self.shared), p, axis=1) ** 2))
            factor = min(1.0, radius(self.geometry) / size) if size else 1.0
            self.own, self.shared = factor * self.own, factor * self.shared


def eg_rate(geometry):
    """N sqrt(2 ln d / (f T)) / L with f = N A^-1_ii."""
    return len(geometry.A) * math.sqrt(2 * math.log(WIDTH) / (len(geometry.A) * geometry.largest * T)) / 3.0


def two_radius(geometry):
    return math.sqrt(2) * tight_radius(len(geometry.A), geometry.b, 0.4, 0.4)


MIRRORS = {
    "mt-eg": ({"sigma": 0.5, "L": 3.0, "T": float(T)}, lambda: Mirror(softmax, lambda N: 3.0, eg_rate)),
    "mt-eg, sigma 0": ({"sigma": 0.0, "eta": 0.4}, lambda: Mirror(softmax, lambda N: math.inf, lambda A: 0.4)),
    "mt-eg, b": ({"b": 1.5, "eta": 0.4}, lambda: Mirror(softmax, lambda N: 1.5, lambda A: 0.4)),
    "mt-ftrl": ({"eta": 0.4, "regularizer": "entropy"}, lambda: Mirror(softmax, float, lambda A: 0.4)),
    "mt-pnorm": ({"eta": 0.1, "p": 1.5}, lambda: Mirror(lambda v: link(v, 3.0), float, lambda A: 0.1)),
    "mt-pnorm, b = inf": (
        {"eta": 0.1, "p": 1.5, "b": math.inf},
        lambda: Mirror(lambda v: link(v, 3.0), lambda N: math.inf, lambda A: 0.1),
    ),
    "mt-pnorm, radius": (
        {"eta": 0.1, "p": 1.5, "radius": 0.5},
        lambda: Mirror(lambda v: link(v, 3.0), float, lambda A: 0.1, (1.5, lambda A: 0.5)),
    ),
    "mt-pnorm, radius and b = inf": (
        {"eta": 0.1, "p": 1.5, "radius": 0.5, "b": math.inf},
        lambda: Mirror(lambda v: link(v, 3.0), lambda N: math.inf, lambda A: 0.1, (1.5, lambda A: 0.5)),
    ),
    "mt-pnorm, theory": (
        {"p": 1.5, "D": 0.4, "L": 3.0, "sigma": 0.4, "T": float(T)},
        lambda: Mirror(lambda v: link(v, 3.0), float, lambda A: two_radius(A) * math.sqrt(0.5 / (A.largest * T)) / 3.0),
    ),
}


@pytest.mark.parametrize("together", [False, True], ids=["single", "rounds"])
@pytest.mark.parametrize("setting", MIRRORS)
def test_mirror_maps(setting, together):
    parameters, reference = MIRRORS[setting]
    events = stream(3, together)
    assert_follows(setting.split(",")[0], parameters, events, follow(reference(), *events), 1e-11)


def test_named_features_count_when_they_are_met():
    """mt-eg: a new feature enters every task with dual weight 0, and d is the number of features met."""
    rng, names, theta = np.random.default_rng(4), [f"f{j}" for j in range(6)], np.zeros((2, 6))
    model, geometry, known = weft.Model("mt-eg", b=3.0, loss="square", L=2.0, T=60.0, tasks=2), clique(2, 3.0), []
    model.learn(weft.Stream([{"f0": 0.5, "f1": 1.0}], [0.3], [0]))
    known = ["f0", "f1"]
    for step in range(60):
        if step:
            reach = min(6, 2 + step // 8)
            row = {names[j]: float(rng.normal()) for j in rng.permutation(reach)[:2]}
            label, task = float(rng.normal()), int(rng.integers(2))
        else:
            row, label, task = {"f0": 0.5, "f1": 1.0}, 0.3, 0
        known += [name for name in row if name not in known]
        d = len(known)
        x = np.array([row.get(name, 0.0) for name in known])
        y = softmax(theta[:, :d])
        score = geometry.inverse_root[task] @ y @ x
        if step:
            assert model.learn_one(row, label, task) == pytest.approx(score, abs=1e-12)
        rate = 2 * math.sqrt(2 * math.log(d) / (2 * geometry.largest * 60)) / 2.0
        theta[:, :d] -= np.outer(rate * 2 * (score - label) * geometry.inverse_root[:, task], x)
    order = [known.index(name) for name in model.features]
    assert deviation(model.weights(), (geometry.inverse_root @ softmax(theta))[:, order]) <= 1e-12


def test_a_new_feature_that_loses_all_its_weight_at_once():
    """It enters with e^37 times the weight of the others: the sum without it has to be made anew."""
    model = weft.Model("mt-eg", eta=37.0, b=0.0, loss="absolute")
    model.learn(weft.Stream([{"a": 1.0, "b": 1.0}], [-100.0], ["t"]))
    model.learn(weft.Stream([{"c": 1.0}], [-100.0], ["t"]))
    np.testing.assert_allclose(model.weights(), softmax(np.full((1, 3), -37.0)), rtol=1e-12)
