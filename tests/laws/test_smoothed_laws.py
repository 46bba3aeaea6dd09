"""Properties of the adaptive smoothed learners on any stream: rows of P, the guarantee of every task."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from learners.smoothed_runs import events, stream_of
from oracles.smoothed_batch import itl
from weft.evaluation import osmtl_theorem1, record_smoothed

pytestmark = pytest.mark.xdist_group("weft.learners.smoothed.rounds")


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    variant=st.sampled_from(["e", "t"]),
    condition=st.sampled_from(["margin", "mistake", "active"]),
    alpha=st.sampled_from([0.0, 0.3, 0.9, 1.0]),
    lam=st.sampled_from([1e-3, 0.3, 5.0, math.inf]),
    scale=st.sampled_from([1e-3, 1.0, 100.0]),
)
def test_rows_stay_on_the_simplex(seed, variant, condition, alpha, lam, scale):
    X, y, task, bounds = events(seed, rounds=30)
    model = weft.Model(f"osmtl-{variant}", alpha=alpha, C=1.0, lam=lam, condition=condition)
    model.learn(stream_of(scale * X, y, task, bounds))
    P = model.learner.attention(model.state, len(model.tasks))
    assert P.min() >= 0
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-9)
    if lam == math.inf:
        np.testing.assert_allclose(P, 1 / len(P), atol=1e-12)
    assert np.isfinite(model.weights()).all()


def test_rows_stay_on_the_simplex_for_long():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60_000, 3)), np.sign(rng.normal(size=60_000))
    model = weft.Model("osmtl-e", alpha=0.5, C=0.1, lam=3.0)
    model.learn(weft.Stream(X, y, np.arange(60_000) % 3, rounds=np.repeat(range(20_000), 3)))
    P = model.learner.attention(model.state, 3)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    variant=st.sampled_from(["e", "t"]),
    condition=st.sampled_from(["margin", "active"]),
    parameters=st.sampled_from([{"alpha": 0.7, "C": 0.5}, {"alpha": 0.2, "C": 0.1}, {"T": 60}, {"restart": True}]),
    length=st.sampled_from([0.0, 0.5, 3.0]),
)
def test_the_guarantee_of_every_task(seed, variant, condition, parameters, length):
    X, y, task, bounds = events(seed, rounds=60, late=False)
    model = weft.Model(f"osmtl-{variant}", condition=condition, tasks=range(5), **parameters)
    run = record_smoothed(model, stream_of(X, y, task, bounds))
    W = np.random.default_rng(seed).normal(size=(5, X.shape[1]))
    assert osmtl_theorem1(run, length * W).holds


def test_the_guarantee_against_the_best_of_each_task():
    X, y, task, bounds = events(3, rounds=400, late=False, dormant=0.0)
    model = weft.Model("osmtl-e", T=400, tasks=range(5))
    stream = stream_of(X, y, task, bounds)
    run = record_smoothed(model, stream)
    W = itl(X, y, task)
    bound = osmtl_theorem1(run, W)
    assert bound.holds
    assert (bound.right < 20 * np.bincount(task)).all()  # the bound is not vacuous


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"condition": "mistake"}, "does not cover updates on mistakes"),
        ({"alpha": 0.0, "C": 1.0}, "divides by alpha"),
        ({}, "needs restart=True"),
    ],
)
def test_premises(parameters, message):
    X, y, task, bounds = events(4, late=False)
    run = record_smoothed(weft.Model("osmtl-e", **parameters), stream_of(X, y, task, bounds))
    with pytest.raises(ValueError, match=message):
        osmtl_theorem1(run, np.zeros((5, X.shape[1])))


def test_other_learners_and_used_models_are_refused():
    stream = stream_of(*events(5))
    with pytest.raises(ValueError, match="has other guarantees"):
        record_smoothed(weft.Model("pa"), stream)
    model = weft.Model("osmtl-e", alpha=0.5, C=1.0)
    run = record_smoothed(model, stream)
    with pytest.raises(ValueError, match="new model"):
        record_smoothed(model, stream)
    with pytest.raises(ValueError, match="expected a row of weights per task"):
        osmtl_theorem1(run, np.zeros((2, 2)))
