"""Distances of tasks from their neighbours: every form against the definition on whole matrices."""

import time

import numpy as np
import pytest

import weft
from inspection.test_explanation import DESCENTS, learned
from weft.learners.descent import distances as descent_distances
from weft.storage import pairs
from weft.store.codec import decode, encode


def neighbours(model):
    """Who is a neighbour of whom, with weights, from the learner's graph alone."""
    graph, tasks = model.learner.__dict__.get("graph"), model.tasks
    n = len(tasks)
    if graph is None or graph.grows:
        return np.ones((n, n)) - np.eye(n)
    order = [graph.names.index(name) for name in tasks]
    if graph.kind == "cliques":
        label = graph.labels[order]
        return (label[:, None] == label[None, :]) - np.eye(n)
    W = graph.matrix.toarray()[np.ix_(order, order)]
    return -(W - np.diag(np.diag(W))) if graph.kind == "matrix" else W


@pytest.mark.parametrize("limit", [pairs.DENSE_LIMIT, 4], ids=["table", "hashed"])
@pytest.mark.parametrize("setting", DESCENTS, ids=str)
def test_distances_are_as_defined(setting, limit, monkeypatch):
    monkeypatch.setattr(pairs, "DENSE_LIMIT", limit)
    monkeypatch.setattr(descent_distances, "AT_ONCE", 30)  # three features of nine tasks at a time
    model, _ = learned(setting)
    n, d = len(model.tasks), len(model.features)
    found = model.learner.distances(model.state, n, d)
    own, shared = model.learner.parts(model.state, n, d)
    np.testing.assert_allclose(found.own, np.linalg.norm(own, axis=1), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.shared, np.linalg.norm(shared, axis=1), rtol=1e-9, atol=1e-12)
    W, X = neighbours(model), model.weights()
    for i in range(n):
        degree = W[i].sum()
        mean = W[i] @ X / degree if degree > 0 else np.zeros(d)
        if np.linalg.norm(mean) == 0:
            assert np.isnan(found.apart[i])
        else:
            expected = np.linalg.norm(X[i] - mean) / np.linalg.norm(mean)
            assert found.apart[i] == pytest.approx(expected, rel=1e-7, abs=1e-7)


def test_a_loner_stands_apart_although_its_own_part_is_no_longer():
    model = weft.Model("mt-ogd", b=10.0, eta=0.5, loss="square", tasks=11)
    stream = weft.Stream([[1.0]] * 11, [1.0] * 10 + [-1.0], list(range(11)), rounds=[0] * 11)
    model.learn(stream)
    found = model.learner.distances(model.state, 11, 1)
    np.testing.assert_allclose(found.own, found.own[0])
    assert found.apart.argmax() == 10
    assert found.apart[10] > 4 * found.apart[:10].max()


def test_a_file_of_a_large_graph_needs_no_event_to_be_read():
    """Rows of A^-1 of components beyond 2,000 tasks are not part of a file."""
    graph = [(k, k + 1) for k in range(2050)]
    model = weft.Model("mt-ogd", graph=graph, eta=0.5, loss="square")
    model.learn_one({"x": 1.0}, 1.0, 5)
    model.learn_one({"x": 1.0}, 1.0, 6)
    again = weft.Model.from_bytes(model.to_bytes())
    assert again.predict_one({"x": 1.0}, 7) == model.predict_one({"x": 1.0}, 7) > 0.0
    assert again.explain({"x": 1.0}, 6) == model.explain({"x": 1.0}, 6)
    own = weft.Model.from_bytes(model.to_bytes()).learner.parts(again.state, 2051, 1)[0]
    np.testing.assert_array_equal(own, model.learner.parts(model.state, 2051, 1)[0])
    fresh = weft.Model.from_bytes(model.to_bytes())
    found, before = (m.learner.distances(m.state, 2051, 1) for m in (fresh, model))
    np.testing.assert_array_equal(found.apart, before.apart)


def test_a_feature_that_never_held_anything_scores_nothing():
    """Named with the value 0, it is known by name and is not a corner of the simplex yet."""
    model = weft.Model("mt-eg", loss="square", tasks=["ann", "bob"])
    model.learn_one({"x": 1.0, "y": 2.0, "z": 0.0}, 1.0, "ann")
    assert model.weights()[0, 2] == 0.0
    assert model.predict_one({"z": 1.0}, "ann") == 0.0


def test_columns_that_no_task_has_take_no_time():
    """A file may claim 2^31 columns: distances are those of the features that tasks have."""
    model = weft.Model("mt-ogd", graph=[(0, 1), (1, 2)], eta=0.5, loss="square", features=2)
    model.learn_one([1.0, 0.5], 1.0, 0)
    model.learn_one([1.0, -1.0], 1.0, 1)
    header, arrays = decode(model.to_bytes())
    header["features"]["columns"] = 2**31
    wide = weft.Model.from_bytes(encode(header, arrays))
    began = time.process_time()
    for found, expected in zip(wide.distances(), model.distances(), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert time.process_time() - began < 5.0
