"""`weft tune`."""

import json
import random
import shlex

import weft
from weft.evaluation import tuning


def test_the_command(weft_command, tmp_path):
    rng = random.Random(1)
    lines = [{"task": "ab"[i % 2], "x": {"u": rng.gauss(0, 1), "v": rng.gauss(0, 1)}} for i in range(200)]
    text = "".join(json.dumps({**line, "y": 1 if line["x"]["u"] > 0 else 0}) + "\n" for line in lines)
    (tmp_path / "events.jsonl").write_text(text)
    options = ("--learner", "mt-ogd", "--candidates", "6", "--sampler", "random")
    told = weft_command("tune", "events.jsonl", *options).stdout
    assert "the defaults" in told
    command = next(line for line in told.splitlines() if line.startswith("weft learn events.jsonl --model MODEL"))
    weft_command(*command.replace("MODEL", "m.weft").split()[1:], "--quiet")
    best = json.loads(weft_command("tune", "events.jsonl", *options, "--json").stdout)["best"]
    assert weft.load(tmp_path / "m.weft").tally.total["error"] == best["error"]
    assert "unknown learner" in weft_command("tune", "events.jsonl", "--learner", "mt-ogx", code=2).stderr


def test_what_is_printed_has_the_fields(weft_command, tmp_path):
    """The command and the Python that are pasted read the file as the search has read it."""
    rng = random.Random(1)
    rows = [(rng.choice("ab"), rng.gauss(0, 1), "spam" if rng.random() < 0.5 else "ham") for _ in range(120)]
    text = "who,size,what,junk\n" + "".join(f"{who},{size},{what},{size}\n" for who, size, what in rows)
    (tmp_path / "mail.csv").write_text(text)
    told = weft_command(
        "tune", "mail.csv", "--task", "who", "--label", "what", "--ignore", "junk", "--candidates", "3",
        "--sampler", "random", "--learner", "mt-ogd", "--set", "loss=logistic",
    ).stdout.splitlines()  # fmt: skip
    command, python = told[-2:]
    assert "--task who --label what" in command
    assert "--ignore junk" in command
    weft_command(*shlex.split(command.replace("MODEL", "m.weft"))[1:], "--quiet")
    model = eval(python)
    for stream in weft.read(tmp_path / "mail.csv", model.schema):
        model.learn(stream)
    learned = weft.load(tmp_path / "m.weft")
    assert model.schema == learned.schema
    assert model.tally.total == learned.tally.total


def test_ctrl_c_leaves_the_best_so_far(weft_command, events, monkeypatch):
    calls, learn = [], tuning._Search._learn

    def stopped(self, one, rounds):
        calls.append(rounds)
        if len(calls) == 4:
            raise KeyboardInterrupt
        learn(self, one, rounds)

    monkeypatch.setattr(tuning._Search, "_learn", stopped)
    result = weft_command("tune", str(events), "--candidates", "9", "--workers", "1", "--sampler", "random", code=130)
    assert "stopped; this is the best so far, of 4 candidates" in result.stderr
    assert "the defaults" in result.stdout
    assert result.stdout.splitlines()[-1].startswith('weft.Model("mt-ogd"')


def test_regression(weft_command, tmp_path):
    """Labels are numbers: deviations, not percentages, also of candidates that diverge; and what is printed runs."""
    rng = random.Random(1)
    rows = [(rng.choice("ab"), rng.gauss(0, 1)) for _ in range(120)]
    (tmp_path / "heat.csv").write_text("task,x,y\n" + "".join(f"{who},{x},{x / 10}\n" for who, x in rows))
    told = weft_command("tune", "heat.csv", "--regression", "--candidates", "6", "--sampler", "random").stdout
    assert "%" not in told
    assert max(map(len, told.splitlines()[:9])) <= 80
    command, python = told.splitlines()[-2:]
    assert "--set loss=square" in command
    assert "loss='square'" in python
    weft_command(*shlex.split(command.replace("MODEL", "m.weft"))[1:], "--quiet")
    assert weft.load(tmp_path / "m.weft").parameters["loss"] == "square"
    found = weft_command("tune", "heat.csv", "--regression", "--learner", "pa", "--candidates", "2", "--json").stdout
    assert json.loads(found)["best"]["parameters"]["loss"] == "epsilon-insensitive"
    assert (
        "arow with these parameters predicts no numbers"
        in weft_command("tune", "heat.csv", "--regression", "--learner", "arow", code=2).stderr
    )
