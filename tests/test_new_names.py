"""Single events with names that were never seen: as in a batch, without making the buffers again for each of them."""

from itertools import pairwise

import numpy as np
import pytest

import weft
from weft.storage import pairs
from weft.storage.single import is_ordinary


def events(count, seed=0, tasks=200, features=300):
    rng = np.random.default_rng(seed)
    return [
        (
            {f"f{j}": float(rng.normal()) for j in rng.choice(features, 5, replace=False)},
            int(rng.choice([-1, 1])),
            f"t{rng.integers(tasks)}",
        )
        for _ in range(count)
    ]


def in_batches(name, stream, **parameters):
    model = weft.Model(name, **parameters)
    scores = [float(model.learn(weft.Stream([x], [y], [task]))[0]) for x, y, task in stream]
    return scores, model.to_bytes()


@pytest.mark.parametrize("limit", [pairs.DENSE_LIMIT, 0], ids=["table", "hashed"])
@pytest.mark.parametrize("name", ["pa", "auto", "mt-ogd"])
def test_as_in_batches(name, limit, monkeypatch):
    monkeypatch.setattr(pairs, "DENSE_LIMIT", limit)
    stream, model = events(150), weft.Model(name)
    scores = [model.learn_one(x, y, task) for x, y, task in stream]
    assert (scores, model.to_bytes()) == in_batches(name, stream)


@pytest.mark.parametrize("name", ["pa", "perceptron"])
def test_pooled_tasks(name, monkeypatch):
    """Regions that single events have made, or that come from a file, are shared by all tasks from the first event."""
    monkeypatch.setattr(pairs, "DENSE_LIMIT", 30)
    stream, model = events(150, tasks=20, features=40), weft.Model(name, pooled=True)
    scores = [model.learn_one(x, y, task) for x, y, task in stream[:75]]
    assert model.state.pairs.layout[pairs.HASHED]
    model = weft.Model.from_bytes(model.to_bytes())
    scores += [model.learn_one(x, y, task) for x, y, task in stream[75:]]
    assert not model.state.pairs.table[1:].any()
    assert (scores, model.to_bytes()) == in_batches(name, stream, pooled=True)


@pytest.mark.parametrize("name", ["pa", "auto", "mt-ogd"])
def test_the_buffers_are_kept(name, monkeypatch):
    """Tasks, features and pairs are new all the time; buffers are made again only when capacities double."""
    monkeypatch.setattr(pairs, "DENSE_LIMIT", 0)
    model, made = weft.Model(name), []
    for x, y, task in events(1500, tasks=3000, features=2000):
        model.learn_one(x, y, task)
        made.append(model._single)
    assert sum(one is not other for one, other in pairwise(made)) < 60
    assert model.tally.total["events"] == 1500


BAD = {
    "nan": {"new": float("nan"), "a": 1.0},
    "too large": {"a": 1.0, "new": 1e200},
    "text": {"new": "much"},
    "name": {1.5: 1.0},
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("task", ["ann", "bob"])
def test_what_is_refused_adds_no_names(case, task):
    model = weft.Model("auto")
    model.learn_one({"a": 1.0}, 1, "ann")
    before = model.to_bytes()
    with pytest.raises(ValueError, match=r"new|1\.5"):
        model.learn_one(BAD[case], 1, task)
    assert model.to_bytes() == before
    assert model.tasks == ["ann"]
    assert model.features == ["a"]


def test_a_task_that_the_graph_does_not_name():
    model = weft.Model("mt-ogd", graph=[["ann", "bob"]])
    with pytest.raises(ValueError, match="does not name the task 'eve'"):
        model.learn_one({"a": 1.0}, 1, "eve")
    assert model.features == []
    model.learn_one({"a": 1.0}, 1, "ann")
    assert model.features == ["a"]


def test_what_an_ordinary_event_is():
    assert is_ordinary({"a": 1.0, "b": -2})
    assert is_ordinary({})
    for x in ({"a": 0.0}, {1: 1.0}, {"a": True}, {"a": np.float64(1.0)}, {"a": 1e-151}, {"a": 10**151}):
        assert not is_ordinary(x)


@pytest.mark.parametrize("x", [{"a": 1.0, "new": 0.0}, {"a": True, "new": 1}, {"a": np.float32(0.5)}, {7: 1.0}])
def test_unusual_events_with_new_names(x):
    model = weft.Model("pa")
    stream = [({"a": 2.0}, 1, "ann"), (x, -1, "bob"), (x, 1, "ann"), ({"a": 1.0, "new": 2.0}, -1, "eve")]
    scores = [model.learn_one(*each) for each in stream]
    assert (scores, model.to_bytes()) == in_batches("pa", stream)


def test_a_row_longer_than_any_buffer():
    model = weft.Model("pa")
    wide = {f"f{j}": 1.0 for j in range(5000)}
    assert model.learn_one(wide, 1, "ann") == 0.0
    assert model.learn_one(wide, 1, "bob") == 0.0
    assert np.isclose(model.predict_one(wide, "bob"), 1.0)


def test_tables_of_single_events_stay_small(monkeypatch):
    """Names that come one by one leave a large table early; a long batch makes a full one again. Nobody sees it."""
    found = []
    for limit in (0, 1 << 23):
        monkeypatch.setattr(pairs, "ONE_BY_ONE_LIMIT", limit)
        monkeypatch.setattr(pairs, "FULL_LIMIT", 0)
        model, stream = weft.Model("pa"), events(400, tasks=4, features=12)
        scores = [model.learn_one(*each) for each in stream]
        assert bool(model.state.pairs.layout[pairs.HASHED]) == (limit == 0)
        x, y, task = zip(*stream, strict=True)
        scores += model.learn(weft.Stream(x, y, task)).tolist()
        assert not model.state.pairs.layout[pairs.HASHED]
        found.append((scores, model.to_bytes()))
    assert found[0] == found[1]
