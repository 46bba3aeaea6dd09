"""`weft pack`: one or several files as one, read like them by every command."""

import json

import pytest

import weft
from weft.streams import InputError


def test_a_packed_file_is_learned_predicted_and_resumed_like_its_text(weft_command, events, tmp_path):
    result = weft_command("pack", events, "--out", "e.weftpack")
    size = (tmp_path / "e.weftpack").stat().st_size
    assert result.stdout == f"Packed 60 events into e.weftpack: {size:,} bytes.\n"
    assert list(tmp_path.glob(".*")) == []  # nothing is left beside it
    weft_command("learn", events, "--model", "text.weft", "--learner", "pa")
    weft_command("learn", "e.weftpack", "--model", "packed.weft", "--learner", "pa")
    assert (tmp_path / "text.weft").read_bytes() == (tmp_path / "packed.weft").read_bytes()
    again = weft_command("learn", "e.weftpack", "--model", "packed.weft")
    assert "was learned already, all 60 events of it" in again.stdout
    outputs = [weft_command("predict", file, "--model", "text.weft").stdout for file in (events, "e.weftpack")]
    assert outputs[0] == outputs[1]


def test_several_files_of_different_formats(weft_command, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"task": "ann", "x": {"a": 1, "b": 2}, "y": 1}\n')
    (tmp_path / "b.csv").write_text("task,b,y,c\nbob,1,-1,3\n")
    weft_command("pack", "a.jsonl", "b.csv", "a.jsonl", "--out", "both.weftpack")
    (tmp_path / "all.jsonl").write_text(
        '{"task": "ann", "x": {"a": 1, "b": 2}, "y": 1}\n{"task": "bob", "x": {"b": 1, "c": 3}, "y": -1}\n'
        '{"task": "ann", "x": {"a": 1, "b": 2}, "y": 1}\n'
    )
    for file in ("both.weftpack", "all.jsonl"):
        weft_command("learn", file, "--model", f"{file}.weft", "--learner", "pa")
    assert (tmp_path / "both.weftpack.weft").read_bytes() == (tmp_path / "all.jsonl.weft").read_bytes()


def test_what_cannot_be_packed(weft_command, events, tmp_path):
    (tmp_path / "n.svm").write_text("1 qid:ann 1:1\n")
    result = weft_command("pack", events, "n.svm", "--out", "e.weftpack", code=2)
    assert "pack each kind into a file of its own" in result.stderr
    assert not (tmp_path / "e.weftpack").exists()
    assert "the folder nowhere does not exist" in weft_command("pack", events, "--out", "nowhere/e", code=2).stderr
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.parametrize("text", ["", "\n"])
def test_an_empty_file(weft_command, tmp_path, text):
    (tmp_path / "e.jsonl").write_text(text)
    assert "the stream is empty" in weft_command("pack", "e.jsonl", "--out", "e.weftpack", code=2).stderr


OPTIONS = ("--task", "user", "--label", "label", "--text", "body", "--id", "k", "--weight", "w")


@pytest.fixture
def mail(tmp_path):
    """A file of 20 records; the first ones all have one label."""
    records = [
        {
            "user": f"u{i % 3}",
            "body": f"free money {i % 7}",
            "age": i,
            "k": f"id {i}",
            "w": 1 + i % 2,
            "c": "d" * (i % 4),
        }
        | {"label": "spam" if i < 9 or i % 2 else "ham"}
        for i in range(20)
    ]
    path = tmp_path / "mail.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_packed_records_are_learned_without_options(weft_command, mail, tmp_path):
    assert "Packed 20 events" in weft_command("pack", mail, "--out", "mail.weftpack", *OPTIONS).stdout
    runs = (("a.weft", mail, OPTIONS), ("b.weft", "mail.weftpack", ()), ("c.weft", "mail.weftpack", OPTIONS))
    for name, file, options in runs:
        weft_command("learn", file, "--model", name, "--quiet", *options)
    first = (tmp_path / "a.weft").read_bytes()
    assert first == (tmp_path / "b.weft").read_bytes() == (tmp_path / "c.weft").read_bytes()
    outputs = [weft_command("predict", file, "--model", "a.weft").stdout for file in (mail, "mail.weftpack")]
    assert outputs[0] == outputs[1]
    assert outputs[0].startswith("id,task,score")
    found = weft_command("learn", "mail.weftpack", "--model", "m.weft", "--text", "c", code=2)
    assert "was packed with another schema: text is c, not body" in found.stderr


def test_a_label_that_no_learner_takes_is_not_packed(weft_command, tmp_path):
    (tmp_path / "e.jsonl").write_text('{"user": "a", "f": 1, "label": 1}\n{"user": "a", "f": 1, "label": 1e300}\n')
    found = weft_command("pack", "e.jsonl", "--task", "user", "--label", "label", "--out", "e.weftpack", code=2)
    assert "line 2: label 1e+300 is too large" in found.stderr
    assert not (tmp_path / "e.weftpack").exists()


def test_events_without_a_schema_stay_events(weft_command, events):
    weft_command("pack", events, "--out", "e.weftpack")
    with pytest.raises(InputError, match="holds events without a schema"):
        list(weft.read("e.weftpack", task="user"))
