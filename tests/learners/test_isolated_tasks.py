"""Declared tasks that a graph does not mention are tied to nobody, with every learner that takes a graph."""

import numpy as np
import pytest

import weft
from weft.learners.catalogue import build

LEARNERS = [entry.name for entry in weft.catalogue() if hasattr(build(entry.name, {}), "graph")]
TASKS = ["eve", "ann", "bob", "joe"]
NAMED = ["ann", "bob", "eve", "joe"]
FORMS = {
    "edges": ([("ann", "bob")], {"edges": [["ann", "bob"]], "tasks": NAMED}),
    "cliques": ([["bob", "ann"]], [["bob", "ann"], ["eve"], ["joe"]]),
    "weights": (([[0, 2], [2, 0]], ["ann", "bob"]), {"edges": [["ann", "bob", 2.0]], "tasks": NAMED}),
}
FEATURES = ["x", "y", "z"]


def learned(name, graph, events=40, **more):
    model = weft.Model(name, graph=graph, tasks=TASKS, features=FEATURES, **more)
    rng = np.random.default_rng(5)
    X = [dict(zip(FEATURES, row, strict=True)) for row in rng.normal(size=(events, 3)).tolist()]
    tasks = [TASKS[k] for k in rng.integers(0, 4, events)]
    model.learn(weft.Stream(X, np.where(rng.random(events) < 0.5, 1, -1), tasks))
    return model


def test_there_are_learners_of_all_families():
    assert {"mt-ogd", "mt-eg", "mt-pnorm", "mt-ftrl", "foml", "mt-perceptron", "mtforg"} <= set(LEARNERS)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LEARNERS)
def test_the_model_is_that_of_a_graph_that_names_all(name, form):
    short, full = FORMS[form]
    model = learned(name, short)
    assert model.tasks == TASKS
    assert model.to_bytes() == learned(name, full).to_bytes()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LEARNERS)
def test_relations(name, form):
    relations = learned(name, FORMS[form][0]).relations()
    for alone in (0, 3):
        assert np.array_equal(relations[alone], np.eye(4)[alone])
        assert np.array_equal(relations[:, alone], np.eye(4)[alone])
    assert relations[1, 2] > 0.0


@pytest.mark.parametrize("name", LEARNERS)
def test_a_file_remembers_them(name, tmp_path):
    model = learned(name, [("ann", "bob")])
    model.save(tmp_path / "model")
    loaded = weft.load(tmp_path / "model")
    assert loaded.tasks == TASKS
    for again in (model, loaded):
        again.learn_one({"x": 1.0, "y": -2.0}, 1, "eve")
    assert loaded.to_bytes() == model.to_bytes()


@pytest.mark.parametrize("name", LEARNERS)
def test_they_neither_teach_nor_learn(name):
    model = weft.Model(name, graph=[("ann", "bob")], tasks=TASKS, features=FEATURES)
    before = {task: model.predict_one({"x": 1.0}, task) for task in TASKS}
    model.learn_one({"x": 1.0}, -1, "eve")
    for task in ("ann", "bob", "joe"):
        assert model.predict_one({"x": 1.0}, task) == before[task]
    assert model.predict_one({"x": 1.0}, "eve") != before["eve"]


@pytest.mark.parametrize("name", LEARNERS)
def test_others_are_still_refused(name):
    model = weft.Model(name, graph=[("ann", "bob")], tasks=TASKS, features=FEATURES)
    with pytest.raises(ValueError, match="does not name the task 'tom'"):
        model.learn_one({"x": 1.0}, 1, "tom")


def test_of_a_learner_that_is_built():
    learner = build("mt-ogd", {"graph": [("ann", "bob")]})
    assert weft.Model(learner, tasks=TASKS).relations().shape == (4, 4)
    assert learner.traits.task_names == ("ann", "bob")


def test_growing_graphs_stay_as_they_are():
    model = weft.Model("mt-ogd", graph="none", tasks=["ann"])
    model.learn_one({"x": 1.0}, 1, "eve")
    assert model.tasks == ["ann", "eve"]
