"""weft compare: several learners on one file."""

import json

LEARNERS = ["--learner", "pa", "--learner", "pa:C=0.1,pooled=true", "--shuffles", "2"]


def test_the_table(weft_command, events):
    text = weft_command("compare", events, *LEARNERS).stdout
    assert "pa" in text
    assert "error" in text


def test_json(weft_command, events):
    result = weft_command("compare", events, *LEARNERS, "--json")
    data = json.loads(result.stdout)
    assert "pa:C=0.1,pooled=true" in json.dumps(data)


def test_the_seed_decides(weft_command, events):
    def errors(seed):
        data = json.loads(weft_command("compare", events, *LEARNERS, "--json", "--seed", seed).stdout)
        return [row["error"] for row in data["learners"]]

    assert errors(3) == errors(3)


def test_bad_lines_are_skipped_on_request(weft_command, events):
    with events.open("a") as file:
        file.write("oops\n")
    assert "line 61" in weft_command("compare", events, *LEARNERS, code=2).stderr
    assert (
        "skipped 1 line; the first is line 61"
        in weft_command("compare", events, *LEARNERS, "--on-error", "skip").stderr
    )


def test_learners_must_be_comparable(weft_command, events):
    error = weft_command("compare", events, "--learner", "pa", "--learner", "pa", code=2).stderr
    assert "the learner 'pa' is given twice" in error
    mixed = ["--learner", "pa", "--learner", "pa:loss=epsilon-insensitive"]
    assert "predict different things (binary, real)" in weft_command("compare", events, *mixed, code=2).stderr
