"""`weft explain` and `weft inspect --against`: parts that add up, and what sharing gains."""

import json

import pytest

import weft


@pytest.mark.parametrize("learner", ["mt-ogd", "auto"])
def test_parts_add_up_to_the_score(weft_command, events, tmp_path, learner):
    weft_command("learn", events, "--model", "m.weft", "--learner", learner)
    x = {"free": 1.0, "hello": 0.5}
    for task in ("ann", "somebody new"):
        told = json.loads(weft_command("explain", "m.weft", "--task", task, "--x", json.dumps(x), "--json").stdout)
        score = weft.load(tmp_path / "m.weft").predict_one(x, task)
        assert told["score"] == pytest.approx(score, rel=1e-9, abs=1e-12)
        assert sum(told["parts"].values()) == pytest.approx(score, rel=1e-9, abs=1e-9)
    text = weft_command("explain", "m.weft", "--task", "ann", "--x", json.dumps(x)).stdout
    assert text.startswith("score of ann")


@pytest.mark.parametrize("learner", ["auto", "adaptive", "mt-ogd", "pa"])
def test_a_task_of_several_fields(weft_command, tmp_path, learner):
    rows = [{"shop": "xyz"[i % 3], "item": i % 2, "price": i / 7, "sold": i % 2} for i in range(12)]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ("--task", "shop,item", "--label", "sold", "--learner", learner)
    weft_command("learn", "s.jsonl", "--model", "s.weft", *options)
    model = weft.load(tmp_path / "s.weft")
    score = model.predict_one({"price": 2.0}, ("y", 1))
    found = model.explain({"price": 2.0}, ("y", 1))
    assert (found.task, found.score) == (("y", 1), score)
    assert sum(found.parts.values()) == pytest.approx(score, rel=1e-9, abs=1e-12)
    record = '{"shop": "y", "item": 1, "price": 2.0}'
    for asked in (("--task", '["y", 1]', "--x", '{"price": 2.0}'), ("--task", "y,1", "--x", record), ("--x", record)):
        told = json.loads(weft_command("explain", "s.weft", *asked, "--json").stdout)
        assert (told["task"], told["score"]) == (["y", 1], score)
        assert weft_command("explain", "s.weft", *asked).stdout.startswith('score of ["y", 1] ')
    assert weft_command("inspect", "s.weft", "--task", "y,1").stdout.count('["y", 1]') == 1
    told = weft_command("explain", "s.weft", "--task", '["new", 1]', "--x", '{"price": 2.0}', "--json")
    assert json.loads(told.stdout)["task"] == ["new", 1]
    assert "note: explained as a new task: the model has no task '[\"new\", 1]'" in told.stderr
    assert json.loads(told.stdout)["score"] == model.predict_one({"price": 2.0}, ("new", 1))


def test_mistakes_are_told(weft_command, events):
    weft_command("learn", events, "--model", "m.weft", "--learner", "pa")
    assert "--x is not JSON" in weft_command("explain", "m.weft", "--task", "ann", "--x", "{", code=2).stderr
    assert "--x is a list" in weft_command("explain", "m.weft", "--task", "ann", "--x", "[1]", code=2).stderr


def test_against_a_file(weft_command, events, tmp_path):
    weft_command("learn", events, "--model", "m.weft", "--learner", "mt-ogd")
    before = (tmp_path / "m.weft").read_bytes()
    facts = json.loads(weft_command("inspect", "m.weft", "--against", events, "--json").stdout)["sharing"]
    total = facts["total"]
    assert total["together"] == weft.load(tmp_path / "m.weft").tally.total["error"]
    assert total["gain"] == pytest.approx(1.0 - total["together"] / total["alone"])
    assert [row["task"] for row in facts["tasks"]] == ["ann", "bob", "[red]"]
    text = weft_command("inspect", "m.weft", "--against", events).stdout
    assert "alone" in text
    assert "all 3 tasks" in text
    assert (tmp_path / "m.weft").read_bytes() == before


def test_recent_errors(weft_command, events):
    weft_command("learn", events, "--model", "m.weft", "--learner", "pa")
    text = weft_command("inspect", "m.weft", "--recent").stdout
    assert "Error over recent events" in text
    facts = json.loads(weft_command("inspect", "m.weft", "--recent", "--json").stdout)
    errors = [row["error"] for row in facts["recent"]]
    assert errors == sorted(errors, reverse=True)


def test_compare_without_learners_shows_what_sharing_gains(weft_command, events):
    told = json.loads(weft_command("compare", events, "--in-order", "--json").stdout)
    names = [row["learner"] for row in told["learners"]]
    assert {"auto", "auto alone", "auto pooled"} <= set(names)
    assert told["shuffles"] == 0


def test_a_model_per_class(weft_command, tmp_path):
    model = weft.Multiclass("mt-ogd")
    for at, label in enumerate(["ant", "bee", "cat"] * 5):
        model.learn_one({label: 1.0}, label, task=("ann", "bob")[at % 2])
    model.save(tmp_path / "c.weft")
    told = json.loads(weft_command("inspect", "c.weft", "--json").stdout)
    assert told["classes"] == ["ant", "bee", "cat"]
    assert [row["events"] for row in told["tasks"]] == [8, 7]
    assert "3 classes: ant, bee, cat" in weft_command("inspect", "c.weft").stdout
