"""weft inspect --relations and --plot: where the matrix of relations goes, and what is refused."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import weft


@pytest.fixture
def model(weft_command):
    """Two pairs of friends and a loner, on a graph."""
    graph = {"edges": [("ann", "bob", 2.0), ("[red]", "joe", 1.0)], "tasks": ["ann", "[red]", "bob", "joe", "eve"]}
    model = weft.Model("mt-ogd", graph=graph, eta=0.5)
    model.learn_one({"x": 1.0}, 1, "ann")
    model.save("m.weft")
    return model


def test_a_picture(weft_command, model):
    result = weft_command("inspect", "m.weft", "--plot", "m.svg")
    assert result.stderr == "weft: drew the relations of 5 tasks into m.svg\n"
    assert "5 tasks, 1 features" in result.stdout
    root = ElementTree.fromstring(Path("m.svg").read_text(encoding="utf-8"))
    words = " ".join(root.itertext())
    assert all(task in words for task in model.tasks)
    assert f"ann, bob: {model.relations()[0, 2]:.4g}" in words
    first = Path("m.svg").read_bytes()
    weft_command("inspect", "m.weft", "--plot", "m.svg", "--json")
    assert Path("m.svg").read_bytes() == first
    assert sorted(path.name for path in Path().iterdir()) == ["m.svg", "m.weft"]


def test_in_the_terminal(weft_command, model):
    lines = weft_command("inspect", "m.weft", "--relations").stdout.splitlines()
    at = lines.index("How tasks are related")
    assert lines[at + 1].split() == ["1", "2", "3", "4", "5", "distance", "from", "neighbours"]
    found = {line.split()[1]: line.split()[2:7] for line in lines[at + 2 : at + 7]}
    assert set(found) == set(model.tasks)
    order = list(found)
    assert abs(order.index("ann") - order.index("bob")) == abs(order.index("[red]") - order.index("joe")) == 1
    assert found["ann"][order.index("bob")] == "9"
    assert found["ann"][order.index("ann")] == "."
    assert found["eve"] == ["." if name == "eve" else "0" for name in order]
    assert "How tasks are related" not in weft_command("inspect", "m.weft").stdout


def test_as_json_on_request(weft_command, model):
    assert set(json.loads(weft_command("inspect", "m.weft", "--json").stdout)["relations"]) == {"summary", "strongest"}
    found = json.loads(weft_command("inspect", "m.weft", "--json", "--relations").stdout)["relations"]
    order = [model.tasks.index(name) for name in found["order"]]
    assert np.array_equal(found["matrix"], model.relations()[np.ix_(order, order)])
    apart = model.learner.distances(model.state, 5, 1).apart[order].tolist()
    assert found["apart"]["values"] == [None if np.isnan(value) else value for value in apart]
    assert found["apart"]["measure"] == "distance from neighbours"
    assert found["apart"]["stand_apart"] == []


def test_nothing_to_show(weft_command, events):
    weft_command("learn", events, "--model", "pa.weft", "--learner", "pa")
    words = "here are no relations to draw: with pa an event moves its own task's weights only"
    assert f"\nT{words}.\n" in weft_command("inspect", "pa.weft", "--relations").stdout
    found = json.loads(weft_command("inspect", "pa.weft", "--json", "--relations").stdout)["relations"]
    assert (found["matrix"], found["order"], found["apart"]) == (None, None, None)
    assert weft_command("inspect", "pa.weft", "--plot", "pa.svg", code=2).stderr == f"weft: t{words}\n"
    assert not Path("pa.svg").exists()


@pytest.mark.parametrize(("tasks", "words"), [(0, "no tasks yet"), (1, "one task")])
def test_too_few_tasks(weft_command, tasks, words):
    weft.Model("mt-ogd", tasks=tasks or None).save("few.weft")
    assert weft_command("inspect", "few.weft", "--plot", "x.svg", code=2).stderr.endswith(f"knows {words}\n")
    assert f"knows {words}." in weft_command("inspect", "few.weft", "--relations").stdout


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("m.png", "the picture is SVG; end its name in .svg"),
        ("m", "the picture is SVG; end its name in .svg"),
        ("nowhere/m.svg", "cannot write nowhere/m.svg: the folder nowhere does not exist"),
        ("m.weft/m.svg", "cannot write m.weft/m.svg: Not a directory; a folder in its path is a file"),
        ("folder.svg", "cannot write folder.svg: it is a folder; give the name of a file"),
    ],
)
def test_places_that_cannot_be_drawn_to(weft_command, model, place, words):
    Path("folder.svg").mkdir()
    assert words in weft_command("inspect", "m.weft", "--plot", place, code=2).stderr
    assert sorted(path.name for path in Path().iterdir()) == ["folder.svg", "m.weft"]


def test_a_folder_that_may_not_be_written(weft_command, model, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied", "somewhere")

    monkeypatch.setattr("weft.store.files.os.open", refuse)
    error = weft_command("inspect", "m.weft", "--plot", "m.svg", code=2).stderr
    assert error == "weft: cannot write m.svg: Permission denied; check the permissions of the file and its folder\n"


def test_the_model_is_not_drawn_over(weft_command, model):
    model.save("model.svg")
    error = weft_command("inspect", "model.svg", "--plot", "./model.svg", code=2).stderr
    assert "would replace the model" in error
    assert weft.load("model.svg").to_bytes() == model.to_bytes()


def test_the_stronger_direction_counts(weft_command, model, monkeypatch):
    matrix = np.eye(5)
    matrix[3, 1], matrix[1, 3], matrix[0, 2] = 0.9, 0.1, 0.5
    monkeypatch.setattr(type(model.learner), "relations", lambda *_: matrix)
    found = json.loads(weft_command("inspect", "m.weft", "--json").stdout)["relations"]
    assert found["strongest"][0] == {"tasks": ["[red]", "joe"], "relation": 0.9}
    assert found["strongest"][1] == {"tasks": ["ann", "bob"], "relation": 0.5}
    matrix[0, 1] = np.nan
    found = json.loads(weft_command("inspect", "m.weft", "--json").stdout)["relations"]
    assert found == {"summary": "undefined between some tasks, which have not learned anything yet"}
