"""weft learn --graph, and what weft inspect and weft compare show of learners with own and shared parts."""

import json

import numpy as np
import pytest

import weft
from weft.cli.graph_file import read_graph

EDGES = "task,task,weight\nann,bob,2\nbob,[red],0.5\neve\n"


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text(EDGES)
    return path


# --- files of graphs ---


def test_a_graph_of_edges(weft_command, events, edges):
    weft_command("learn", events, "--model", "m.weft", "--learner", "mt-ogd", "--graph", edges)
    model = weft.load("m.weft")
    assert model.tasks == ["ann", "bob", "[red]", "eve"]
    by_hand = weft.Model(
        "mt-ogd", graph={"edges": [("ann", "bob", 2.0), ("bob", "[red]", 0.5)], "tasks": ["ann", "bob", "[red]", "eve"]}
    )
    assert model.learner == by_hand.learner
    for line in events.read_text().splitlines():
        event = json.loads(line)
        by_hand.learn_one(event["x"], event["y"], event["task"])
    np.testing.assert_array_equal(by_hand.weights(), model.weights())


@pytest.mark.parametrize(
    "text",
    [
        "a,b\nb,7,2.5\n",
        "task,task\na,b\nb,7,2.5\n",
        "From,To,Weight\na,b\nb,7,2.5\n",
        "user,friend,weight\n a , b ,,\n\n7,b,2.5\n",
        '\ufeffsource,target\n"a",b,1\nb,7,2.50',
    ],
)
def test_headers_and_spaces(tmp_path, text):
    path = tmp_path / "g.csv"
    path.write_text(text, encoding="utf-8")
    assert read_graph(str(path)).names == ("a", "b", 7)
    assert read_graph(str(path)).as_json()["edges"] == [["a", "b"], ["b", 7, 2.5]]


def test_words_that_are_no_header_are_tasks(tmp_path):
    (tmp_path / "g.csv").write_text("task1,task2\ntask2,007\n")
    assert read_graph(str(tmp_path / "g.csv")).names == ("task1", "task2", "007")


def test_a_graph_in_json(weft_command, events, tmp_path):
    (tmp_path / "g.json").write_text('{"cliques": [["ann", "bob"], ["[red]"]]}')
    weft_command("learn", events, "--model", "m.weft", "--learner", "mt-eg", "--graph", "g.json")
    assert weft.load("m.weft").learner.graph.kind == "cliques"


@pytest.mark.parametrize("word", ["complete", "none"])
def test_words(weft_command, events, word):
    weft_command("learn", events, "--model", "m.weft", "--learner", "mt-pnorm", "--graph", word)
    assert weft.load("m.weft").learner.graph.kind == word


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("g.csv", "a,b\nb,b\n", "g.csv, line 2: b is joined to itself"),
        ("g.csv", "a,b\nb,c\nb,a,2\n", "g.csv, line 3: b and a are joined already in line 1"),
        ("g.csv", "a,b,1\nb,c,x\n", "g.csv, line 2: the weight 'x' must be a finite number >= 0"),
        ("g.csv", "a,b,heavy\n", "g.csv, line 1: the weight 'heavy' must be a finite number >= 0 (a header ends in"),
        ("g.csv", "a,b,-1\n", "g.csv, line 1: the weight '-1' must be"),
        ("g.csv", "a,b,inf\n", "g.csv, line 1: the weight 'inf' must be"),
        ("g.csv", "a,b\n\n,c\n", "g.csv, line 3: a task is missing"),
        ("g.csv", "a,,2\n", "g.csv, line 1: a task is missing"),
        ("g.csv", "a,b,1,2\n", "g.csv, line 1: 4 cells"),
        ("g.csv", "task,task\n\n", "g.csv has no edges"),
        ("g.json", '{"edges":\n [["a", "b"],,]}', "g.json, line 2: this is not JSON"),
        ("g.json", '[["a", "b"]]', "g.json, line 1: a graph in JSON is an object"),
        pytest.param("g.json", '{"edges": ' + "[" * 100_000, "g.json: lists are nested too deeply", id="deep"),
        ("g.json", '{"edges": [["a", "a"]]}', "g.json: the edge ('a', 'a') joins a task to itself"),
        ("g.json", "{}", "g.json: a graph as a dict has exactly one of"),
    ],
)
def test_files_that_are_no_graphs(weft_command, events, tmp_path, name, text, error):
    (tmp_path / name).write_text(text)
    found = weft_command("learn", events, "--model", "m.weft", "--learner", "mt-ogd", "--graph", name, code=2).stderr
    assert found.startswith(f"weft: {error}")
    assert not (tmp_path / "m.weft").exists()


def test_other_wrong_graphs(weft_command, events, edges, tmp_path):
    learn = ("learn", events, "--model", "m.weft")
    assert "there is no file nowhere.csv" in weft_command(*learn, "--graph", "nowhere.csv", code=2).stderr
    (tmp_path / "g.csv").write_bytes(b"\xff\xfe,b\n")
    assert "g.csv is not UTF-8" in weft_command(*learn, "--graph", "g.csv", code=2).stderr
    assert "auto has no parameter 'graph'" in weft_command(*learn, "--graph", edges, code=2).stderr
    both = ("--learner", "mt-ogd", "--graph", edges, "--set", "graph=none")
    assert "graph is set twice" in weft_command(*learn, *both, code=2).stderr
    with_b = ("--learner", "mt-ogd", "--graph", edges, "--set", "b=2")
    assert "b=2 and graph are both given" in weft_command(*learn, *with_b, code=2).stderr
    edges.write_text("ann,bob\n")
    error = weft_command(*learn, "--learner", "mt-ogd", "--graph", edges, code=2).stderr
    assert "the graph of mt-ogd does not name the task '[red]'" in error


def test_a_model_keeps_its_graph(weft_command, events, edges):
    weft_command("learn", events, "--model", "m.weft", "--learner", "mt-ogd", "--graph", edges)
    assert "nothing was done" in weft_command("learn", events, "--model", "m.weft", "--graph", edges).stdout
    error = weft_command("learn", events, "--model", "m.weft", "--graph", "none", code=2).stderr
    assert error == (
        "weft: m.weft was learned with graph=(2 edges, 4 tasks), not none; "
        "leave --graph out or choose another --model\n"
    )


# --- settings ---


@pytest.mark.parametrize(
    ("learner", "setting", "value"),
    [
        ("mt-ogd", "b=inf", float("inf")),
        ("mt-ogd", "b=4", 4.0),
        ("mt-ogd", "b=None", None),
        ("mt-ogd", "b=null", None),
        ("hedge-mt-ogd", "variances=[0,0.5,1]", (0.0, 0.5, 1.0)),
        ("mt-ftrl", "eta=sqrt", "sqrt"),
        ("pa", "pooled=True", True),
    ],
)
def test_values_as_people_write_them(weft_command, events, learner, setting, value):
    weft_command("learn", events, "--model", "m.weft", "--learner", learner, "--set", setting)
    assert getattr(weft.load("m.weft").learner, setting.split("=")[0]) == value


def test_compare_takes_graphs_and_lists(weft_command, events, edges):
    texts = ["mt-ogd:b=inf", "mt-ogd:graph=edges.csv,graph_strength=2", "hedge-mt-ogd:variances=[0,1],D=2"]
    options = [part for text in texts for part in ("--learner", text)]
    data = json.loads(weft_command("compare", events, *options, "--shuffles", "1", "--json").stdout)
    assert list(texts) == [row["learner"] for row in data["learners"]]
    error = weft_command("compare", events, "--learner", "mt-ogd:graph=no.csv", code=2).stderr
    assert "there is no file no.csv" in error


# --- looking at models ---


@pytest.fixture
def many(weft_command, tmp_path):
    """Twelve tasks that agree and one that does not, after 40 events each."""
    rng = np.random.default_rng(3)
    lines = []
    for i in range(13 * 40):
        task, x = i % 13, rng.normal(size=2).round(3).tolist()
        sign = -1 if task == 12 else 1
        event = {"task": f"t{task}", "x": {"free": x[0], "offer": x[1]}, "y": sign if x[0] - x[1] >= 0 else -sign}
        lines.append(json.dumps(event))
    path = tmp_path / "many.jsonl"
    path.write_text("\n".join(lines))
    weft_command("learn", path, "--model", "m.weft", "--learner", "mt-ogd", "--set", "b=4", "--quiet")
    return weft.load("m.weft")


def test_loners_stand_first(weft_command, many):
    text = weft_command("inspect", "m.weft").stdout
    section = text.split("How far tasks are from their neighbours")[1]
    rows = [line.split() for line in section.splitlines() if line.startswith(" t")]
    assert rows[0] == ["task", "|own|", "|shared|", "distance"]
    assert [len(rows), rows[1][0]] == [11, "t12"]
    distances = [float(row[3]) for row in rows[1:]]
    assert distances == sorted(distances, reverse=True)
    assert "3 closer tasks" in section
    assert "--all-tasks lists them" in section
    whole = weft_command("inspect", "m.weft", "--all-tasks").stdout.split("How far")[1]
    assert "closer tasks" not in whole
    assert all(f" {task} " in whole for task in many.tasks)


def test_distances_in_json(weft_command, many):
    data = json.loads(weft_command("inspect", "m.weft", "--json").stdout)["distances"]
    own, shared = many.learner.parts(many.state, 13, 2)
    assert data[0]["task"] == "t12"
    assert len(data) == 13
    for row in data:
        slot = many.tasks.index(row["task"])
        assert row["own"] == pytest.approx(np.linalg.norm(own[slot]))
        assert row["shared"] == pytest.approx(np.linalg.norm(shared[slot]))
        mean = np.delete(many.weights(), slot, axis=0).mean(axis=0)
        expected = np.linalg.norm(many.weights()[slot] - mean) / np.linalg.norm(mean)
        assert row["distance"] == pytest.approx(expected)


def test_a_task_in_parts(weft_command, many):
    text = weft_command("inspect", "m.weft", "--task", "t12").stdout
    assert "own + shared = weight" in text
    data = json.loads(weft_command("inspect", "m.weft", "--task", "t12", "--json").stdout)["task"]["weights"]
    own, shared = many.learner.parts(many.state, 13, 2)
    for row in data:
        at = many.features.index(row["feature"])
        assert row["own"] == pytest.approx(own[12, at])
        assert row["shared"] == pytest.approx(shared[12, at])
        assert row["weight"] == pytest.approx(many.weights()[12, at])
        assert f"{row['own']:+.4f}" in text
    largest = [max(abs(row["own"]), abs(row["shared"])) for row in data]
    assert largest == sorted(largest, reverse=True)


def test_tasks_without_neighbours_come_last(weft_command, events, edges):
    weft_command("learn", events, "--model", "g.weft", "--learner", "mt-ogd", "--graph", edges)
    data = json.loads(weft_command("inspect", "g.weft", "--json").stdout)["distances"]
    assert data[-1] == {"task": "eve", "own": 0.0, "shared": 0.0, "distance": None}
    text = weft_command("inspect", "g.weft").stdout
    assert "graph=(2 edges, 4 tasks)" in text
    assert [line.split() for line in text.splitlines() if line.startswith(" eve ")][-1] == [
        "eve",
        "0.0000",
        "0.0000",
        "-",
    ]
    weft_command("inspect", "g.weft", "--task", "ann")
    assert "All its weights are zero" in weft_command("inspect", "g.weft", "--task", "eve").stdout


def test_learners_without_a_shared_part_have_no_distances(weft_command, events):
    weft_command("learn", events, "--model", "p.weft")
    assert "neighbours" not in weft_command("inspect", "p.weft").stdout
    assert json.loads(weft_command("inspect", "p.weft", "--json").stdout)["distances"] is None


@pytest.mark.parametrize("learner", ["mt-ogd", "mt-pnorm", "mt-eg", "mt-ftrl", "hedge-mt-ogd", "hedge-mt-eg"])
def test_every_learner_with_parts_can_be_looked_at(weft_command, events, learner):
    weft_command("learn", events, "--model", "m.weft", "--learner", learner)
    assert "How far tasks are" in weft_command("inspect", "m.weft").stdout
    assert "own + shared" in weft_command("inspect", "m.weft", "--task", "ann").stdout


def test_the_catalogue_says_how_to_type_it(weft_command):
    text = weft_command("catalogue", "hedge-mt-ogd").stdout
    assert "--set 'variances=[0.0, 0.25, 0.5, 0.75, 1.0]'" in text
    assert "--graph FILE" in weft_command("catalogue", "mt-ogd").stdout
    assert "--graph FILE" not in text
