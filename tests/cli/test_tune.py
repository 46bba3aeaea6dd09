"""`weft tune`."""

import json
import random

import weft


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
