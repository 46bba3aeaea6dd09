"""weft inspect and weft catalogue: what a model holds, what learners there are."""

import json

import pytest

import weft
from weft.learners.catalogue import LEARNERS, catalogue


@pytest.fixture(autouse=True)
def model(weft_command, events):
    weft_command("learn", events, "--model", "m.weft", "--learner", "pa")
    return weft.load("m.weft")


def test_inspect_a_model(weft_command):
    text = weft_command("inspect", "m.weft").stdout
    for part in (
        "pa (Crammer et al. 2006)",
        "C=1.0",
        "3 tasks, 8 features",
        "60 events",
        "its own task's weights only",
        "all 3 tasks",
    ):
        assert part in text


def test_inspect_a_task(weft_command, model):
    text = weft_command("inspect", "m.weft", "--task", "bob", "--top", "2").stdout
    assert "Task bob: 20 events" in text
    data = json.loads(weft_command("inspect", "m.weft", "--task", "bob", "--top", "2", "--json").stdout)
    weights = data["task"]["weights"]
    row = dict(zip(model.features, model.weights()[1], strict=True))
    assert len(weights) == 2
    assert weights[0]["weight"] == max(row.values(), key=abs)
    assert weights[0]["weight"] == row[weights[0]["feature"]]


def test_inspect_as_json(weft_command):
    data = json.loads(weft_command("inspect", "m.weft", "--json").stdout)
    assert data["counts"] == {"tasks": 3, "features": 8, "events": 60, "support": None}
    assert data["learner"]["name"] == "pa"
    assert len(data["tasks"]) == 3


@pytest.mark.parametrize("learner", ["auto", "adaptive", "pa"])
def test_experts_and_their_weights(weft_command, events, tmp_path, learner):
    weft_command("learn", events, "--model", "n.weft", "--learner", learner)
    told = json.loads(weft_command("inspect", "n.weft", "--json").stdout)["experts"]
    if learner != "auto":
        assert told is None
        return
    assert told == weft.load(tmp_path / "n.weft").experts()
    assert [abs(weight) for weight in told.values()] == sorted(map(abs, told.values()), reverse=True)
    shown = " ".join(weft_command("inspect", "n.weft").stdout.split())
    assert "Weights of the experts: " + ", ".join(f"{name} {weight:+.2f}" for name, weight in told.items()) in shown


def test_tasks_by_number_and_tuple(weft_command):
    stdin = '{"task": 7, "x": [1], "y": 1}\n{"task": ["eu", 1], "x": [1], "y": 1}\n'
    weft_command("learn", "-", "--model", "n.weft", stdin=stdin)
    assert "Task 7: 1 event," in weft_command("inspect", "n.weft", "--task", "7").stdout
    assert 'Task ["eu", 1]: 1 event,' in weft_command("inspect", "n.weft", "--task", '["eu", 1]').stdout
    error = weft_command("inspect", "m.weft", "--task", "bobb", code=2).stderr
    assert error == "weft: the model has no task 'bobb'; did you mean bob?\n"


def test_relations_of_three_tasks_name_every_pair_once(weft_command):
    model = weft.Model("mt-ogd", graph=[("ann", "bob"), ("bob", "eve", 2.0)], eta=0.5)
    model.learn_one({"x": 1.0}, 1, "ann")
    model.save("graph.weft")
    found = json.loads(weft_command("inspect", "graph.weft", "--json").output)["relations"]["strongest"]
    assert [pair["tasks"] for pair in found] == [["bob", "eve"], ["ann", "bob"], ["ann", "eve"]]
    assert found[0]["relation"] == pytest.approx(model.relations()[1, 2])


def test_relations_that_are_similarities(weft_command):
    """Two tasks have one cosine, which is not part of a step."""
    model = weft.Model("romco-nucl")
    model.learn(weft.Stream([[1.0, 0.0], [1.0, 1.0]], [1, 1], ["ann", "bob"]))
    model.save("alike.weft")
    found = json.loads(weft_command("inspect", "alike.weft", "--json").output)["relations"]
    assert found["summary"].startswith("between")
    assert found["strongest"] == [{"tasks": ["ann", "bob"], "relation": pytest.approx(model.relations()[0, 1])}]


def test_pooled_relations(weft_command, events):
    weft_command("learn", events, "--model", "p.weft", "--learner", "pa", "--set", "pooled=true")
    assert "pooled: all tasks have the same weights" in weft_command("inspect", "p.weft").stdout


def test_a_kernel_learner_shows_its_support(weft_command, events):
    kernel = 'kernel={"name": "poly", "degree": 2}'
    weft_command("learn", events, "--model", "k.weft", "--learner", "implicit", "--set", kernel, "--set", "C=1")
    data = json.loads(weft_command("inspect", "k.weft", "--json").stdout)
    assert data["counts"]["support"] == len(weft.load("k.weft").support()) > 0
    text = weft_command("inspect", "k.weft", "--task", "ann").stdout
    assert "rows (kernel form)" in text
    assert "no weights to show" in text


def test_the_catalogue_lists_all_learners(weft_command):
    text = weft_command("catalogue").stdout
    assert all(name in text for name in LEARNERS)
    assert "osgl" in text
    data = json.loads(weft_command("catalogue", "--json").stdout)
    assert [learner["name"] for learner in data["learners"]] == list(LEARNERS)


@pytest.mark.parametrize("entry", catalogue(), ids=lambda entry: entry.name)
def test_the_catalogue_tells_all_parameters(weft_command, entry):
    text = weft_command("catalogue", entry.name).stdout
    assert entry.paper in text
    assert entry.advice in text
    data = json.loads(weft_command("catalogue", entry.name, "--json").stdout)
    assert data["advice"] == entry.advice
    assert [p["name"] for p in data["parameters"]] == [p.name for p in entry.parameters]
    assert all(p.name in text for p in entry.parameters)
