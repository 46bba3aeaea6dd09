"""The buffers of single events."""

import numpy as np

import weft
from weft.names import Names
from weft.storage.single import UNKNOWN, Single


def single_over(names):
    model = weft.Model("perceptron")
    return Single(model.learner, model.state, names, 4, room=4)


def test_known_features_are_put_into_the_buffers():
    single = single_over(Names(["a", "b", "c"]))
    assert single.fill({"c": 1.5, "a": -2, "b": True}) == 3
    assert single.batch.indices[:3].tolist() == [2, 0, 1]
    assert single.batch.values[:3].tolist() == [1.5, -2.0, 1.0]
    assert single.fill({}) == 0


def test_what_falls_back_to_the_batch_path():
    single = single_over(Names([f"f{j}" for j in range(100)]))
    assert single.fill({"new": 1.0}) == UNKNOWN
    assert single.fill({"f0": "text"}) == UNKNOWN
    assert single.fill({"f0": None}) == UNKNOWN
    assert single.fill({"f0": 10**400}) == UNKNOWN
    assert single.fill({f"f{j}": 1.0 for j in range(single.room)}) == single.room
    assert single.fill({f"f{j}": 1.0 for j in range(single.room + 1)}) == UNKNOWN


def test_buffers_follow_the_features(monkeypatch):
    """Rows that became longer than the buffers use the buffers again, once the model knows more features."""
    model = weft.Model("pa")
    model.learn_one({"a": 1.0}, 1, "ann")
    model.learn_one({"a": 1.0}, 1, "ann")
    wide = {f"f{j}": 1.0 for j in range(200)}
    first = model.learn_one(wide, 1, "ann")
    monkeypatch.setattr(weft.Model, "learn", None)  # the batch path is closed
    assert first == 0.0
    assert np.isclose(model.learn_one(wide, 1, "ann"), 1.0)
    assert np.isclose(model.predict_one(wide, "ann"), 1.0)
