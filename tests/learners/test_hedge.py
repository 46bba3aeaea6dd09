"""Hedge over multitask gradient descent and over exponentiated gradients against their oracles."""

import math

import numpy as np
import pytest

import weft
from learners.descent_runs import LOSSES, deviation, difference, learn, make_events
from oracles.mirror_descent_hedge import hedge_mt_eg, hedge_mt_ogd

pytestmark = pytest.mark.xdist_group("hedge")

N, D, T = 4, 5, 30
ORACLES = {"hedge-mt-ogd": hedge_mt_ogd, "hedge-mt-eg": hedge_mt_eg}
SETTINGS = {
    "anytime": {"L": 3.0},
    "horizon": {"L": 3.0, "T": float(T)},
    "own rate": {"L": 3.0, "eta_h": 0.7, "variances": [0.1, 0.7]},
    "own rate and horizon": {"L": 2.0, "T": 50.0, "eta_h": 2.5, "variances": [1.0, 0.3, 0.0]},
    "grid of Theorem 9": {"L": 2.0, "T": float(T), "variances": [0.25, 0.5, 0.75, 1.0]},
    "one expert": {"L": 2.0, "variances": [0.4]},
    "eta_h = 0": {"L": 2.0, "eta_h": 0.0},
}


def more(name):
    return {"D": 0.5} if name == "hedge-mt-ogd" else {}


def tolerance(name):
    return 1e-8 if name == "hedge-mt-ogd" else 1e-12


@pytest.mark.parametrize("together", [False, True], ids=["single", "rounds"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", ORACLES)
def test_predictions_weights_and_losses_of_the_experts_are_those_of_the_oracle(name, setting, loss, together):
    events = make_events(1, loss, together=together, N=N, d=D, T=T)
    run = learn(name, events, tasks=N, loss=loss, **SETTINGS[setting], **more(name))
    result = ORACLES[name](*events, N=N, loss=loss, **SETTINGS[setting], **more(name))
    assert difference(run, events, result) <= tolerance(name)
    assert_experts(run, events, result, tolerance(name))
    if loss == "logistic":
        np.testing.assert_allclose(run.model.relations().sum(axis=1), 1.0, rtol=0, atol=1e-12)


def assert_experts(run, events, result, allowed):
    K, awake, rounds = len(run.model.learner.variances), ~np.isnan(events.y), events.rounds
    assert deviation(run.trace["eta_h"][awake], result.eta[rounds][awake]) <= 1e-12
    for k in range(K):
        assert deviation(run.trace[f"weight {k}"][awake], result.weights[rounds, k][awake]) <= allowed
        summed = np.bincount(rounds, run.trace[f"loss {k}"], minlength=len(events.bounds) - 1)
        assert deviation(summed, result.expert_losses[:, k]) <= allowed


@pytest.mark.parametrize("together", [False, True], ids=["single", "rounds"])
@pytest.mark.parametrize("name", ORACLES)
def test_without_l_the_range_is_that_of_the_largest_gradient_so_far(name, together):
    """eta_h = sqrt(8 ln K / t) / B with B = 2 D L, on the simplex 2 L, and 0 before the first gradient."""
    events = make_events(2, "square", together=together, N=N, d=D, T=T)
    run = learn(name, events, tasks=N, loss="square", **more(name))
    K, p = 5, 2.0 if name == "hedge-mt-ogd" else math.inf
    total, steepest, t = np.zeros(K), 0.0, 0
    lengths = np.linalg.norm(events.X, p, axis=1)
    for first, last in zip(events.bounds[:-1], events.bounds[1:], strict=True):
        awake = np.arange(first, last)[~np.isnan(events.y[first:last])]
        if not len(awake):
            continue
        t += 1
        B = steepest * 2 * (0.5 if name == "hedge-mt-ogd" else 1.0)
        rate = math.sqrt(8 * math.log(K) / t) / B if B else 0.0
        weights = np.exp(-rate * (total - total.min()))
        np.testing.assert_allclose(run.trace["eta_h"][awake], rate, rtol=1e-12)
        for k in range(K):
            found = run.trace[f"loss {k}"][awake]
            np.testing.assert_allclose(
                run.trace[f"weight {k}"][awake], weights[k] / weights.sum(), rtol=1e-9, atol=1e-300
            )
            total[k] += found.sum()
            steepest = max(steepest, (2 * np.sqrt(found) * lengths[awake]).max())
    assert steepest > 0


def test_one_expert_is_its_learner():
    events = make_events(3, together=True, N=N, d=D, T=T)
    for name, single, parameters in (
        ("hedge-mt-ogd", "mt-ogd", {"D": 0.4, "L": 2.0, "T": 40.0}),
        ("hedge-mt-eg", "mt-eg", {"L": 2.0, "T": 40.0}),
        ("hedge-mt-eg", "mt-eg", {}),
    ):
        hedge = learn(name, events, tasks=N, variances=[0.36], **parameters)
        more = {"projection": "ball"} if single == "mt-ogd" else {}
        alone = learn(single, events, tasks=N, sigma=0.6, **parameters, **more)
        assert deviation(hedge.scores, alone.scores) <= 1e-14
        assert deviation(hedge.model.weights(), alone.model.weights()) <= 1e-14


@pytest.mark.parametrize("name", ORACLES)
def test_the_scores_are_those_of_the_weighted_models(name):
    events = make_events(4, together=True, N=N, d=D, T=T)
    run = learn(name, events, tasks=N, loss="logistic", **more(name))
    rows = np.random.default_rng(5).normal(size=(N, D))
    expected = np.sum(run.model.weights() * rows, axis=1)
    assert deviation(run.model.score(rows, list(range(N))), expected) <= 1e-12
    own, shared = run.model.learner.parts(run.model.state, N, D)
    assert deviation(own + shared, run.model.weights()) == 0.0
    again = weft.Model.from_bytes(run.model.to_bytes())
    np.testing.assert_array_equal(again.weights(), run.model.weights())
