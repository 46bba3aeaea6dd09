"""`weft pack`: one or several files as one, read like them by every command."""

import pytest


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
