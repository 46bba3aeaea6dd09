"""Weights of events: 1 changes no bit, 0 nothing but the tally, 2 makes a step twice as long; others refuse them."""

import numpy as np
import pytest

import weft
from contracts.settings import FEATURES
from contracts.streams import make_events
from weft.store.codec import decode


def weighted(events, weight):
    stream = events.stream()
    y = None if events.target == "point" and events.kind == "single" else events.labels
    rounds = None if events.kind == "single" else events.rounds
    return stream, weft.Stream(events.table(), y, list(events.tasks), rounds, weight=weight)


@pytest.mark.parametrize("kind", ["single", "rounds"])
def test_weights_of_one_change_no_bit(setting, kind):
    plain, stream = weighted(make_events(setting.target, kind, "sparse"), np.ones(make_count(setting, kind)))
    one, other = setting.model(), setting.model()
    np.testing.assert_array_equal(one.learn(plain), other.learn(stream))
    assert one.to_bytes() == other.to_bytes()


def make_count(setting, kind):
    return len(make_events(setting.target, kind, "dense").tasks)


def _arrays(model):
    return {name: np.array(part) for name, part in model.state._asdict().items() if isinstance(part, np.ndarray)}


@pytest.mark.parametrize("kind", ["single", "rounds"])
def test_a_weight_of_zero_changes_the_tally_alone(setting, kind):
    events = make_events(setting.target, kind, "dense")
    plain, stream = weighted(events, np.zeros(len(events.tasks)))
    model = setting.declared()
    model.learn(plain)
    if not setting.traits.takes_weights:
        before = model.to_bytes()
        with pytest.raises(ValueError, match="takes no weights of events"):
            model.learn(stream)
        with pytest.raises(ValueError, match="takes no weights of events"):
            model.learn_one({0: 1.0}, 1, task=events.tasks[0], weight=2.0)
        assert model.to_bytes() == before
        return
    before, saved = _arrays(model), decode(model.to_bytes())[1]
    counted, scores = model.tally.total["events"], model.score(plain)
    model.learn(stream)
    for name, part in _arrays(model).items():
        # Room is made before a round, for the most that it can need whatever its weights (`auto` with effort best may
        # give every task of it a matrix): arrays may have become longer, by zeros.
        expected = np.zeros_like(part)
        expected[tuple(slice(0, size) for size in before[name].shape)] = before[name]
        np.testing.assert_array_equal(part, expected, name)
    after = decode(model.to_bytes())[1]
    assert after.keys() == saved.keys()
    for name in saved.keys() - {"tally", "recent"}:
        np.testing.assert_array_equal(after[name], saved[name], name)
    np.testing.assert_array_equal(model.score(plain), scores)
    assert model.tally.total["events"] == 2 * counted


def test_single_events_with_weights_are_those_of_a_stream(setting):
    if not setting.traits.takes_weights:
        return
    events = make_events(setting.target, "single", "named")
    weight = np.random.default_rng(4).uniform(0.0, 3.0, len(events.tasks))
    _, stream = weighted(events, weight)
    bulk, one = setting.model(), setting.model()
    scores = bulk.learn(stream)
    rows = zip(events.table(), events.labels, events.tasks, weight.tolist(), strict=True)
    np.testing.assert_array_equal([one.learn_one(x, y, task, weight=w) for x, y, task, w in rows], scores)
    assert one.to_bytes() == bulk.to_bytes()
    assert bulk.to_bytes() != learned(setting, events).to_bytes()


def learned(setting, events):
    model = setting.model()
    model.learn(events.stream())
    return model


def test_a_constant_rate_makes_the_step_as_many_times_as_long(setting):
    """The first step of gradient descent with a given rate, without a ball, is a multiple of the plain one."""
    given = setting.parameters
    if setting.name not in ("mt-ogd", "mt-ftrl") or given.get("eta") != 0.1:
        return
    row, label = {f: 0.01 * (f + 1) for f in range(FEATURES)}, 1.0
    task = setting.some_tasks("ann")[0]
    steps = []
    for weight in (1.0, 2.0):
        model = setting.model()
        model.learn_one(row, label, task, weight=weight)
        steps.append(model.weights())
    np.testing.assert_allclose(steps[1], 2.0 * steps[0], rtol=1e-12)
    assert np.any(steps[0] != 0.0)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, 1e7])
def test_what_is_not_a_weight(weight):
    model = weft.Model("mt-ogd")
    with pytest.raises(ValueError, match="weights are numbers from 0 to 1e"):
        model.learn_one({"x": 1.0}, 1, task="ann", weight=weight)
    assert model.tasks == []
