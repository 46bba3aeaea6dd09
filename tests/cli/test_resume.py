"""Files with rounds that are learned in several runs: the model is that of one run, whatever was cut where."""

import json
import random

import pytest

import weft
from weft.cli.progress_file import progress_path
from weft.streams.ended_rounds import EndedRounds

RULE = ("--learner", "implicit", "--set", "norm=linf", "--set", "C=0.5")


def rounds_file(seed, rounds=12, kind="number"):
    """Lines of a file with rounds of 1 to 4 events; a round joins its events, so that cutting it would show."""
    chance, lines = random.Random(seed), []
    for i in range(rounds):
        name = {"number": i, "text": f"day {i}"}[kind]
        for task in chance.sample("abcd", chance.randint(1, 4)):
            x = {f"f{k}": chance.choice([-1.0, 0.5, 2.0]) for k in range(3)}
            lines.append(json.dumps({"task": task, "x": x, "y": chance.choice([-1, 1]), "round": name}) + "\n")
    return lines


def as_csv(lines):
    rows = [json.loads(line) for line in lines]
    head = "task,y,round,f0,f1,f2\n"
    return [head] + [
        ",".join(str(cell) for cell in (row["task"], row["y"], row["round"], *row["x"].values())) + "\n" for row in rows
    ]


@pytest.mark.parametrize("kind", ["number", "text", "csv"])
def test_a_file_that_grows_by_any_pieces_gives_the_model_of_the_whole(weft_command, tmp_path, kind):
    for seed in range(3):
        lines = rounds_file(seed, kind="number" if kind == "csv" else kind)
        lines = as_csv(lines) if kind == "csv" else lines
        path = tmp_path / ("e.csv" if kind == "csv" else "e.jsonl")
        path.write_text("".join(lines))
        weft_command("learn", path, "--model", f"whole{seed}.weft", *RULE, "--quiet")
        cuts = [*sorted(random.Random(seed).sample(range(2, len(lines)), 5)), len(lines)]
        model = f"m{seed}.weft"
        told = 0
        for cut in cuts:
            path.write_text("".join(lines[:cut]))
            every = ["--every", "3"] if seed == 1 else []
            found = json.loads(weft_command("learn", path, "--model", model, *RULE, *every, "--json").stdout)
            assert found["events_before"] == told
            told += found["events"]
            assert told == found["total"]["events"] == cut - (kind == "csv")
            assert "learned already" in weft_command("learn", path, "--model", model).stdout
        assert weft.load(model).to_bytes() == weft.load(f"whole{seed}.weft").to_bytes()


def test_a_round_that_comes_back_after_a_resume_is_refused_as_in_one_run(weft_command, tmp_path):
    lines = rounds_file(4)
    back = json.dumps({"task": "a", "x": {"f0": 1.0}, "y": 1, "round": 3}) + "\n"
    path = tmp_path / "e.jsonl"
    path.write_text("".join([*lines, back]))
    one = weft_command("learn", path, "--model", "one.weft", *RULE, code=2).stderr
    assert f'line {len(lines) + 1}, field "round": round 3 has ended already' in one
    path.write_text("".join(lines))
    weft_command("learn", path, "--model", "m.weft", *RULE, "--quiet")
    held = weft.load("m.weft").to_bytes()
    path.write_text("".join([*lines, back]))
    assert weft_command("learn", path, "--model", "m.weft", code=2).stderr == one
    assert weft.load("m.weft").to_bytes() == held
    skipping = json.loads(weft_command("learn", path, "--model", "m.weft", "--on-error", "skip", "--json").stdout)
    assert [fault["line"] for fault in skipping["skipped"]] == [len(lines) + 1]
    assert weft.load("m.weft").to_bytes() == held


def test_after_another_file_the_last_round_cannot_be_reopened_and_is_refused(weft_command, tmp_path):
    """What was learned in between cannot be undone, so the round has ended."""
    lines = rounds_file(5)
    last = json.loads(lines[-1])["round"]
    more = json.dumps({"task": "new", "x": {"f0": 1.0}, "y": 1, "round": last}) + "\n"
    path, other = tmp_path / "e.jsonl", tmp_path / "o.jsonl"
    path.write_text("".join(lines))
    other.write_text("".join(rounds_file(6)))
    weft_command("learn", path, "--model", "m.weft", *RULE, "--quiet")
    weft_command("learn", other, "--model", "m.weft", "--quiet")
    path.write_text("".join([*lines, more]))
    told = weft_command("learn", path, "--model", "m.weft", code=2).stderr
    assert f"round {last} has ended already" in told


def kept(folder):
    return sorted(path.name for path in folder.glob("m.weft.before-*"))


def test_a_file_without_rounds_keeps_no_second_model(weft_command, events, tmp_path):
    weft_command("learn", events, "--model", "m.weft", "--learner", "pa")
    assert "open_round" not in progress_path(events.with_name("m.weft")).read_text()
    assert kept(tmp_path) == []


def test_one_model_before_the_last_round_is_kept_as_long_as_it_is_needed(weft_command, events, tmp_path):
    lines, path, names = rounds_file(9), tmp_path / "e.jsonl", []
    (tmp_path / "m.weft.before-0123456789abcdef").write_bytes(b"of a run that was killed")
    (tmp_path / "m.weft.before-lunch").write_bytes(b"of somebody else")
    for cut in (len(lines) // 2, len(lines)):
        path.write_text("".join(lines[:cut]))
        weft_command("learn", path, "--model", "m.weft", *RULE, "--quiet")
        [name] = set(kept(tmp_path)) - {"m.weft.before-lunch"}
        names.append(name)
        state = json.loads((tmp_path / "m.weft.progress").read_text())["states"][-1]
        assert name == f"m.weft.before-{state['open_round']['name']}"
        assert (tmp_path / name).read_bytes()[-32:].hex() == state["open_round"]["model"]
        assert (tmp_path / "m.weft").read_bytes()[-32:].hex() == state["model"]
    assert names[0] != names[1]
    weft_command("learn", events, "--model", "m.weft", "--quiet")
    assert kept(tmp_path) == ["m.weft.before-lunch"]


def test_what_a_killed_run_had_begun_to_write_is_removed(weft_command, events, tmp_path):
    """Also of the model before the last round, whose name no later run writes to."""
    names = [f".{target}.weft-00000000000000aa.tmp" for target in ("m.weft", f"m.weft.before-{'1f' * 8}")]
    others = [f".{target}.weft-00000000000000aa.tmp" for target in ("m.weft.before-lunch", "other.weft.before-1f")]
    for name in (*names, *others):
        (tmp_path / name).write_bytes(b"half")
    weft_command("learn", events, "--model", "m.weft", "--quiet")
    assert sorted(path.name for path in tmp_path.glob(".*.tmp")) == sorted(others)


def test_a_model_before_the_last_round_that_is_gone_ends_the_round(weft_command, tmp_path):
    lines, path = rounds_file(5), tmp_path / "e.jsonl"
    path.write_text("".join(lines))
    weft_command("learn", path, "--model", "m.weft", *RULE, "--quiet")
    [name] = kept(tmp_path)
    (tmp_path / name).unlink()
    last = json.loads(lines[-1])["round"]
    more = [json.dumps({"task": "new", "x": {"f0": 1.0}, "y": 1, "round": last + i}) + "\n" for i in (0, 1)]
    path.write_text("".join([*lines, more[0]]))
    assert f"round {last} has ended already" in weft_command("learn", path, "--model", "m.weft", code=2).stderr
    path.write_text("".join([*lines, more[1]]))
    weft_command("learn", path, "--model", "m.weft", "--quiet")
    weft_command("learn", path, "--model", "whole.weft", *RULE, "--quiet")
    assert weft.load("m.weft").to_bytes() == weft.load("whole.weft").to_bytes()


def test_a_model_before_the_last_round_that_is_another_is_refused(weft_command, tmp_path):
    lines, path = rounds_file(5), tmp_path / "e.jsonl"
    path.write_text("".join(lines[:-1]))
    weft_command("learn", path, "--model", "m.weft", *RULE, "--quiet")
    [name] = kept(tmp_path)
    path.write_text("".join(lines))
    before = (tmp_path / name).read_bytes()
    for other in (before[:-1], before[:50] + b"?" + before[51:], (tmp_path / "m.weft").read_bytes()):
        (tmp_path / name).write_bytes(other)
        told = weft_command("learn", path, "--model", "m.weft", code=2).stderr
        assert name in told
        assert "remove it, and learning goes on behind the last round" in told
    (tmp_path / name).write_bytes(before)
    weft_command("learn", path, "--model", "m.weft", "--quiet")
    weft_command("learn", path, "--model", "whole.weft", *RULE, "--quiet")
    assert weft.load("m.weft").to_bytes() == weft.load("whole.weft").to_bytes()


@pytest.mark.parametrize("name", ["../../etc/x", "0123", "0123456789abcdeF", 7])
def test_the_name_of_a_kept_model_is_not_trusted(weft_command, tmp_path, name):
    path, progress = tmp_path / "e.jsonl", tmp_path / "m.weft.progress"
    path.write_text("".join(rounds_file(5)))
    weft_command("learn", path, "--model", "m.weft", *RULE, "--quiet")
    data = json.loads(progress.read_text())
    data["states"][-1]["open_round"]["name"] = name
    progress.write_text(json.dumps(data))
    told = weft_command("learn", path, "--model", "m.weft", code=2).stderr
    assert "m.weft.progress cannot be read; remove it" in told


def test_lines_of_an_open_round_that_were_edited_are_refused(weft_command, tmp_path):
    lines = rounds_file(7)
    path = tmp_path / "e.jsonl"
    path.write_text("".join(lines))
    weft_command("learn", path, "--model", "m.weft", *RULE, "--quiet")
    edited = json.loads(lines[-1])
    edited["x"]["f0"] += 1.0
    path.write_text("".join([*lines[:-1], json.dumps(edited) + "\n", lines[0]]))
    assert "has changed in the" in weft_command("learn", path, "--model", "m.weft", code=2).stderr


def test_ended_rounds_are_the_set_that_they_stand_for():
    chance = random.Random(8)
    for _ in range(30):
        ended, expected = EndedRounds(), set()
        for _ in range(200):
            number = chance.choice(
                [chance.randint(-20, 60), str(chance.randint(0, 40)), f"d{chance.randint(0, 9)}", "007"]
            )
            assert (number in ended) == ((type(number), number) in expected)
            ended.update([number, number])
            expected.add((type(number), number))
        starts, stops = ended._numbers.starts, ended._numbers.stops
        assert all(stop < start for stop, start in zip(stops, starts[1:], strict=False))
    ended = EndedRounds()
    ended.update(range(1_000_000))
    ended.update(str(i) for i in range(1000))
    assert len(ended) == 2
