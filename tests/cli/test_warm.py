"""`weft warm`: learners are compiled ahead of their first use."""

import json

import weft


def test_a_learner_that_was_compiled_is_not_compiled_again(weft_command):
    weft_command("warm", "perceptron")
    assert "perceptron: was compiled already" in weft_command("warm", "perceptron").stdout


def test_without_a_name_it_is_the_default_learner(weft_command):
    rows = json.loads(weft_command("warm", "--json").stdout)
    assert [row["learner"] for row in rows] == ["auto"]
    assert rows[0]["functions_compiled"] >= 0
    assert rows[0]["seconds"] > 0


def test_an_unknown_learner_is_refused_before_anything_is_compiled(weft_command):
    result = weft_command("warm", "perceptron", "perceptrom", code=2)
    assert "unknown learner 'perceptrom'" in result.stderr
    assert result.stdout == ""


def test_quiet_prints_nothing(weft_command):
    assert weft_command("warm", "perceptron", "--quiet").stdout == ""


def test_files_of_records_are_read_too(weft_command, monkeypatch):
    """The first `weft learn FILE` compiles nothing more: files, texts and missing values are part of a first use."""
    read, learned, learn, found = weft.read, [], weft.Model.learn, []
    monkeypatch.setattr(weft, "read", lambda path, schema: found.append(path.suffix) or read(path, schema))
    monkeypatch.setattr(
        weft.Model, "learn", lambda model, stream: learned.append(model.schema is not None) or learn(model, stream)
    )
    weft_command("warm", "perceptron")
    assert (found, learned) == ([".jsonl", ".csv"], [False, True, True])
