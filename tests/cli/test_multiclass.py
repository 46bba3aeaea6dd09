"""More than two classes on the command line: one file that every command recognises."""

import csv
import io
import json

import pytest

import weft

WORDS = {"bills": "invoice due", "friends": "party tonight", "spam": "free money"}


@pytest.fixture
def records(tmp_path):
    found = [
        {"id": i, "user": ["ann", "bob"][i % 2], "text": f"{WORDS[folder]} hello {i % 7}", "folder": folder}
        for i, folder in enumerate([*WORDS] * 20)
    ]
    (tmp_path / "mail.jsonl").write_text("".join(json.dumps(record) + "\n" for record in found))
    return found


def test_learning_is_that_of_python(weft_command, tmp_path, records):
    options = ["--label", "folder", "--multiclass", "--predictions", "issued.csv"]
    result = weft_command("learn", "mail.jsonl", "--model", "m.weft", *options)
    assert "all 2 tasks" in result.stdout
    model = weft.load(tmp_path / "m.weft")
    expected = weft.Multiclass(schema=model.schema)
    issued = expected.learn(records).tolist()
    assert model.to_bytes() == expected.to_bytes()
    rows = list(csv.DictReader(io.StringIO((tmp_path / "issued.csv").read_text())))
    assert list(rows[0]) == ["id", "task", "score", "probability", "label"]
    assert [row["label"] or None for row in rows] == issued
    assert (rows[0]["score"], rows[0]["probability"], rows[7]["id"]) == ("", "", "7")


def test_predictions_have_the_class_and_its_probability(weft_command, tmp_path, records):
    weft_command("learn", "mail.jsonl", "--model", "m.weft", "--label", "folder", "--multiclass", "--quiet")
    result = weft_command("predict", "mail.jsonl", "--model", "m.weft", "--json")
    model = weft.load(tmp_path / "m.weft")
    found = [json.loads(line) for line in result.stdout.splitlines()]
    proba = model.predict_proba(weft.Stream.from_records(records, model.schema))
    for row, record, values in zip(found, records, proba.tolist(), strict=True):
        assert (row["id"], row["task"], row["label"]) == (record["id"], record["user"], record["folder"])
        assert row["probability"] == max(values)
    assert "error 0.0% (0 of 60 labelled events)" in result.stderr
    (tmp_path / "new.jsonl").write_text('{"id": 1, "user": "ann", "text": "free party", "folder": "other"}\n')
    result = weft_command("predict", "new.jsonl", "--model", "m.weft", "--out", "out.parquet")
    assert "error 100.0% (1 of 1 labelled events)" in result.stderr


def test_resuming_in_pieces(weft_command, tmp_path, records):
    lines = (tmp_path / "mail.jsonl").read_text().splitlines(keepends=True)
    weft_command("learn", "mail.jsonl", "--model", "whole.weft", "--label", "folder", "--multiclass", "--quiet")
    (tmp_path / "mail.jsonl").write_text("".join(lines[:31]))
    options = ["--label", "folder", "--multiclass", "--quiet", "--every", "7"]
    weft_command("learn", "mail.jsonl", "--model", "m.weft", *options)
    (tmp_path / "mail.jsonl").write_text("".join(lines))
    result = weft_command("learn", "mail.jsonl", "--model", "m.weft")
    assert "Learned 29 events of mail.jsonl (after 31 learned earlier)" in result.stdout
    assert (tmp_path / "m.weft").read_bytes() == (tmp_path / "whole.weft").read_bytes()


def test_what_the_other_commands_say(weft_command, tmp_path, records):
    weft_command("learn", "mail.jsonl", "--model", "m.weft", "--label", "folder", "--multiclass", "--quiet")
    assert "3 classes: bills, friends, spam" in weft_command("inspect", "m.weft").stdout
    facts = json.loads(weft_command("inspect", "m.weft", "--task", "ann", "--recent", "--json").stdout)
    assert (facts["task"]["name"], facts["task"]["events"], facts["classes"]) == ("ann", 30, [*WORDS])
    assert 0.0 <= facts["task"]["recent"]["error"] <= 1.0
    assert "worse" not in weft_command("inspect", "m.weft", "--recent").stdout
    event = ["--x", '{"text": "free money"}', "--task", "ann"]
    facts = json.loads(weft_command("explain", "m.weft", *event, "--json").stdout)
    assert facts["class"] == "spam"
    assert sum(facts["probabilities"].values()) == pytest.approx(1.0)
    assert sum(facts["parts"].values()) == pytest.approx(facts["score"])
    assert weft_command("explain", "m.weft", *event, "--class", "bills").stdout.startswith("class bills (prob")
    assert "did you mean bills?" in weft_command("explain", "m.weft", *event, "--class", "bill", code=2).stderr
    assert "ann: does not give, receives" in weft_command("policy", "m.weft", "--task", "ann", "--no-gives").stdout
    assert not weft.load(tmp_path / "m.weft").models[2].policy("ann").gives
    assert "Forgot bob: 30 events" in weft_command("forget", "m.weft", "--task", "bob").stdout
    assert weft.load(tmp_path / "m.weft").tasks == ["ann"]
    assert "learned already" in weft_command("learn", "mail.jsonl", "--model", "m.weft").stdout
    for option in ("--relations", "--against=mail.jsonl"):
        assert "one per class" in weft_command("inspect", "m.weft", option, code=2).stderr


def test_refusals_name_the_remedy(weft_command, tmp_path, records):
    result = weft_command("learn", "mail.jsonl", "--model", "m.weft", "--label", "folder", code=2)
    assert "more than two labels (bills, friends, spam, ...); add --multiclass" in result.stderr
    (tmp_path / "n.csv").write_text("user,x,y\n" + "".join(f"a,{i},{i}\n" for i in range(5)))
    result = weft_command("learn", "n.csv", "--model", "m.weft", "--task", "user", "--label", "y", code=2)
    assert "--regression" in result.stderr
    assert "--multiclass" in result.stderr
    lines = [f'{{"task": "ann", "x": {{"f{i}": 1}}, "y": "{i}"}}\n' for i in range(3)]
    (tmp_path / "plain.jsonl").write_text("".join(lines))
    result = weft_command("learn", "plain.jsonl", "--model", "m.weft", code=2)
    assert 'plain.jsonl, line 3, field "y": "2" is not a label' in result.stderr
    assert "weft learn --multiclass" in result.stderr
    weft_command("learn", "plain.jsonl", "--model", "p.weft", "--multiclass", "--quiet")
    assert weft.load(tmp_path / "p.weft").classes == ["0", "1", "2"]
    (tmp_path / "hole.jsonl").write_text('{"task": "ann", "x": {"f": 1}}\n')
    result = weft_command("learn", "hole.jsonl", "--model", "p.weft", code=2)
    assert 'hole.jsonl, line 1, field "y": the label is missing; write the class' in result.stderr
    result = weft_command("learn", "plain.jsonl", "--model", "q.weft", "--multiclass", "--regression", code=2)
    assert "one of the two" in result.stderr
    result = weft_command("compare", "mail.jsonl", "--label", "folder", code=2)
    assert "3 classes (bills, friends, spam)" in result.stderr
    assert "--multiclass" in result.stderr
    weft.Model("pa").save(tmp_path / "two.weft")
    result = weft_command("learn", "plain.jsonl", "--model", "two.weft", "--multiclass", code=2)
    assert "--multiclass needs another" in result.stderr
    assert not (tmp_path / "m.weft").exists()
