"""Gradient steps with weights, against the rule in plain Python."""

import math

import numpy as np
import pytest

import weft

TASKS, FEATURES, B = ["ann", "bob", "eve"], 4, 2.0


def made(events=60, seed=11):
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(events, FEATURES)), rng.integers(3, size=events)
    return X, rng.normal(size=events), task, rng.choice([0.0, 0.5, 1.0, 3.0], events)


def dot(w, x):
    return sum(a * b for a, b in zip(w, x, strict=True))


def by_gradient(X, y, task, weight, eta):
    """x_k -= eta A^-1_ki w g for all tasks k, with A^-1 = I/(1+b) + b/((1+b)N) 11'."""
    models, scores = [[0.0] * FEATURES for _ in TASKS], []
    for x, label, i, w in zip(X, y, task, weight, strict=True):
        s = dot(models[i], x)
        scores.append(s)
        slope = w * 2.0 * (s - label)
        for k, model in enumerate(models):
            reach = (1.0 / (1.0 + B) if k == i else 0.0) + B / ((1.0 + B) * len(TASKS))
            for f in range(FEATURES):
                model[f] -= eta * reach * slope * x[f]
    return scores


def by_exponentials(X, y, task, weight, eta):
    """theta_k -= eta A^{-1/2}_ki w g; models are A^{-1/2} times the softmax of theta."""
    theta, scores = [[0.0] * FEATURES for _ in TASKS], []
    own = 1.0 / math.sqrt(1.0 + B)
    shared = (1.0 - own) / len(TASKS)
    for x, label, i, w in zip(X, y, task, weight, strict=True):
        parts = [[math.exp(t) for t in row] for row in theta]
        points = [[p / sum(row) for p in row] for row in parts]
        s = sum((shared + (own if k == i else 0.0)) * dot(point, x) for k, point in enumerate(points))
        scores.append(s)
        slope = w * 2.0 * (s - label)
        for k, row in enumerate(theta):
            for f in range(FEATURES):
                row[f] -= eta * (shared + (own if k == i else 0.0)) * slope * x[f]
    return scores


@pytest.mark.parametrize(("name", "oracle", "eta"), [("mt-ogd", by_gradient, 0.03), ("mt-eg", by_exponentials, 0.2)])
def test_scores_are_those_of_the_plain_rule(name, oracle, eta):
    X, y, task, weight = made()
    model = weft.Model(name, b=B, eta=eta, loss="square", tasks=TASKS, features=FEATURES)
    scores = model.learn(weft.Stream(X, y, [TASKS[i] for i in task], weight=weight))
    np.testing.assert_allclose(scores, oracle(X, y, task, weight, eta), rtol=1e-9, atol=1e-12)
    assert not np.allclose(scores, oracle(X, y, task, np.ones(len(y)), eta))
