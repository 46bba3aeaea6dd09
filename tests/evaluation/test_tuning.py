"""Tuning: a planted optimum is found, nothing is learned twice, and a search can be stopped."""

import random

import numpy as np
import pytest

import weft
from weft.evaluation import tuning
from weft.evaluation.search_space import Dimension, space_of
from weft.evaluation.tuning import tune
from weft.learners.catalogue import build


def made(n=900, seed=3):
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(n, 5)), rng.integers(0, 4, n)
    return weft.Stream(X, np.where(X @ rng.normal(size=5) > 0, "yes", "no"), task)


@pytest.mark.parametrize("sampler", ["random", "optuna"])
def test_a_search_beats_a_bad_default(sampler):
    stream = made()
    found = tune(stream, "mt-ogd", candidates=12, sampler=sampler, metric="loss", b=1.0)
    assert found.best.parameters["b"] == 1.0
    assert found.best.events == len(stream)
    assert found.best.loss <= found.default.loss
    model = weft.Model("mt-ogd", **found.best.parameters)
    model.learn(stream)
    assert model.tally.total["loss"] == found.best.loss  # what is told is what the model does
    assert eval(found.python).parameters == model.parameters


def test_only_the_better_ones_go_on():
    found = tune(made(), "mt-ogd", candidates=9, sampler="random")
    events = sorted(one.events for one in found.candidates)
    assert events == [100] * 6 + [300] * 2 + [900]
    first = [one for one in found.candidates if one.events == 100]
    kept = [one for one in found.candidates if one.events > 100]
    assert kept[0] is found.candidates[0]
    for one in kept:  # none that was left behind was better over the first part
        model = weft.Model("mt-ogd", **one.parameters)
        model.learn(made().cut(0, 100))
        assert all(model.tally.total["error"] <= other.error for other in first)


def test_a_model_goes_on_where_it_stopped(monkeypatch):
    learned, learn = [], weft.Model.learn
    monkeypatch.setattr(weft.Model, "learn", lambda self, stream: learned.append(len(stream)) or learn(self, stream))
    tune(made(), "pa", candidates=9, sampler="random")
    assert sum(learned) == 900 + 9 * 100 + 3 * 200 + 1 * 600  # the defaults, then every part once


def test_the_number_of_workers_changes_nothing():
    one, two = (tune(made(), "mt-ogd", candidates=9, sampler="random", workers=n).as_json() for n in (1, 3))
    assert one["best"] == two["best"]


def test_candidates_that_are_refused_do_not_end_the_search(monkeypatch):
    class Wild(tuning.Proposer):
        def next(self):
            return {"eta": -1.0} if self._generator.random() < 0.5 else super().next()

    monkeypatch.setattr(tuning, "Proposer", Wild)
    monkeypatch.setattr(tuning, "ATTEMPTS", 1)
    found = tune(made(), "mt-ogd", candidates=12, sampler="random", seed=1)
    assert {bool(one.problem) for one in found.candidates} == {True, False}
    assert not found.best.problem


def test_ctrl_c_leaves_the_best_so_far():
    calls = []

    def stop(done, total):
        calls.append((done, total))
        if len(calls) == 2:
            raise KeyboardInterrupt

    found = tune(made(), "mt-ogd", candidates=30, sampler="random", workers=1, on_progress=stop)
    assert found.was_stopped
    assert len(found.candidates) == 8
    assert found.best.events in (100, 900)
    assert found.settings is not None


@pytest.mark.parametrize(("seed", "metric"), [(0, "error"), (1, "loss")])
def test_the_best_so_far_is_compared_on_the_same_events(seed, metric):
    """A search that was stopped in its first part has candidates of 100 events, and defaults that learned all 900."""
    calls = []

    def stop(done, total):
        calls.append(done)
        if len(calls) == 3:
            raise KeyboardInterrupt

    options = {"candidates": 30, "sampler": "random", "workers": 1, "seed": seed, "metric": metric}
    found = tune(made(), "mt-ogd", on_progress=stop, **options)
    model, first = weft.Model("mt-ogd"), found.candidates[0]
    model.learn(made().cut(0, first.events))
    is_better = getattr(first, metric) < model.tally.total[metric]
    assert (first.events, found.default.events) == (100, 900)
    assert is_better == (metric == "error")  # both cases
    assert found.best is (first if is_better else found.default)


def test_spaces():
    names = {dimension.name for dimension in space_of(build("mt-ogd", {}))}
    assert {"eta", "b"} <= names
    assert "loss" not in names
    assert "graph" not in names
    generator = random.Random(0)
    for name in ("mt-ogd", "pa", "arow", "osmtl-e", "mtbprj-2", "auto", "romco-nucl"):
        for dimension in space_of(build(name, {})):
            for _ in range(20):
                value = dimension.draw(generator)
                assert not dimension.options or value in dimension.options
                if not dimension.options:
                    assert dimension.low * 0.99 <= value <= dimension.high * 1.01
    assert Dimension("n", low=1, high=64, is_integer=True).draw(generator) in range(1, 65)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"candidates": 0}, "candidates=0 must be an integer"),
        ({"metric": "f1"}, "metric='f1' must be"),
        ({"workers": True}, "workers=True"),
        ({"sampler": "grid"}, "sampler='grid'"),
        ({"colour": 1}, "colour"),
    ],
)
def test_refusals(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        tune(made(), "mt-ogd", **given)
    with pytest.raises(ValueError, match=r"takes a weft\.Stream"):
        tune([1], "mt-ogd")
