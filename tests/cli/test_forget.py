"""`weft forget`: a task is removed from a file, and files that were learned stay learned."""

import json

import weft


def test_a_task_is_gone_and_learned_files_stay_learned(weft_command, events, tmp_path):
    weft_command("learn", events, "--model", "m.weft", "--learner", "pa")
    path = tmp_path / "m.weft"
    assert b"[red]" in path.read_bytes()
    result = weft_command("forget", "m.weft", "--task", "[red]")
    assert result.stdout == "Forgot [red]: 20 events, 4 own weights, 0 kept rows.\n"
    assert b"[red]" not in path.read_bytes()
    assert weft.load(path).tasks == ["ann", "bob"]
    again = weft_command("learn", events, "--model", "m.weft")
    assert "was learned already, all 60 events of it" in again.stdout
    assert weft.load(path).tasks == ["ann", "bob"]


def test_the_model_before_an_open_round_goes_too(weft_command, tmp_path):
    lines = [{"task": t, "x": {"a": 1}, "y": 1, "round": r} for r in range(3) for t in ("ann", "bob")]
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    weft_command("learn", "r.jsonl", "--model", "m.weft")
    assert list(tmp_path.glob("m.weft.before-*"))
    told = json.loads(weft_command("forget", "m.weft", "--task", "bob", "--json").stdout)
    assert told["task"] == "bob"
    assert told["events"] == 3
    assert told["remains"]
    assert not list(tmp_path.glob("m.weft.before-*"))


def test_a_model_without_progress(weft_command, tmp_path):
    model = weft.Model("pa")
    model.learn_one({"a": 1.0}, 1, task=7)
    model.learn_one({"a": 1.0}, 1, task="ann")
    model.save(tmp_path / "m.weft")
    weft_command("forget", "m.weft", "--task", "7")
    assert weft.load(tmp_path / "m.weft").tasks == ["ann"]
    assert not (tmp_path / "m.weft.progress").exists()
    assert "has no task 'eve'" in weft_command("forget", "m.weft", "--task", "eve", code=2).stderr
    assert "nowhere.weft" in weft_command("forget", "nowhere.weft", "--task", "eve", code=2).stderr
