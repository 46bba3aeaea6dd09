"""weft compare: several learners on one file."""

import json

import pytest

from weft.learners.catalogue import LEARNERS, PLACES

THREE = ["--learner", "pa", "--learner", "pa:C=0.1,pooled=true", "--shuffles", "2"]


def test_the_table(weft_command, events):
    text = weft_command("compare", events, *THREE).stdout
    assert "pa" in text
    assert "error" in text


def test_one_of_something(weft_command, events):
    events.write_text(events.read_text().replace("bob", "ann").replace("[red]", "ann"))
    told = weft_command("compare", events, "--learner", "pa", "--shuffles", "1").stdout
    assert told.splitlines()[0].rstrip() == "60 examples, 1 task, 1 shuffle"


@pytest.mark.parametrize("columns", [60, 80])
def test_long_names_leave_room_for_learners(weft_command, events, monkeypatch, columns):
    """Names of tasks that begin and end alike are told apart by what is between."""
    monkeypatch.setenv("COLUMNS", str(columns))
    text = events.read_text()
    for name, number in (("ann", 153), ("bob", 201), ("[red]", 78)):
        text = text.replace(f'"{name}"', f'"customer-with-a-very-long-name-{number}@mail.example.com"')
    events.write_text(text)
    told = weft_command("compare", events, *THREE).stdout
    assert "pa:C=0.1,po" in told
    assert any(number in told for number in ("e-153@ma…", "e-201@ma…", "e-78@ma…"))
    assert max(map(len, told.splitlines())) <= columns


def test_json(weft_command, events):
    result = weft_command("compare", events, *THREE, "--json")
    data = json.loads(result.stdout)
    assert "pa:C=0.1,pooled=true" in json.dumps(data)


def test_the_seed_decides(weft_command, events):
    def errors(seed):
        data = json.loads(weft_command("compare", events, *THREE, "--json", "--seed", seed).stdout)
        return [row["error"] for row in data["learners"]]

    assert errors(3) == errors(3)


def test_bad_lines_are_skipped_on_request(weft_command, events):
    with events.open("a") as file:
        file.write("oops\n")
    assert "line 61" in weft_command("compare", events, *THREE, code=2).stderr
    assert (
        "skipped 1 line; the first is line 61" in weft_command("compare", events, *THREE, "--on-error", "skip").stderr
    )


def test_learners_must_be_comparable(weft_command, events):
    error = weft_command("compare", events, "--learner", "pa", "--learner", "pa", code=2).stderr
    assert "the learner 'pa' is given twice" in error
    mixed = ["--learner", "pa", "--learner", "pa:loss=epsilon-insensitive"]
    assert "predict different things (binary, real)" in weft_command("compare", events, *mixed, code=2).stderr


# --- all learners ---


@pytest.fixture
def three(monkeypatch):
    """A short catalogue."""
    few = {name: PLACES[name] for name in ("perceptron", "pa", "mt-ogd")}
    monkeypatch.setattr("weft.learners.catalogue.PLACES", few)


def test_all_takes_the_whole_catalogue(weft_command, events):
    text = weft_command("compare", events, "--all", "--shuffles", "1").stdout
    table, _, foot = text.partition("Left out, ")
    for name in LEARNERS:
        assert f"\n {name} " in table or f"\n{name} " in table or f"\n  {name}: " in foot
    errors = [float(line.split()[1]) for line in table.splitlines() if line.split()[:1] and line.split()[0] in LEARNERS]
    assert errors == sorted(errors)
    assert len(errors) >= 16


def test_given_settings_join_them(weft_command, events, three):
    data = json.loads(
        weft_command("compare", events, "--all", "--learner", "pa:C=0.1", "--learner", "pa", "--json").stdout
    )
    assert [row["learner"] for row in data["learners"]] == ["perceptron", "pa", "mt-ogd", "pa:C=0.1"]
    assert (data["left_out"], data["time_limit"]) == ([], 60)
    assert all(row["seconds_per_event"] > 0 for row in data["learners"])


def test_labels_decide_who_takes_part(weft_command, three):
    lines = [{"task": "ab"[i % 2], "x": {"one": 1, "i": i / 9}, "y": i / 9} for i in range(9)]
    stdin = "\n".join(map(json.dumps, lines))
    text = weft_command("compare", "-", "--all", "--shuffles", "2", stdin=stdin).stdout
    assert "pa:loss=epsilon-insensitive" in text
    assert "mt-ogd:loss=square" in text
    assert "Left out, 1 of 3 learners:\n  perceptron: classifies, and the labels are numbers\n" in text
    classes = '{"task": "a", "x": {"w": 1}, "y": 0}\n{"task": "a", "x": {"w": 2}, "y": 1}\n'
    text = weft_command("compare", "-", "--all", "--shuffles", "2", stdin=classes).stdout
    assert "Left out" not in text  # 0 and 1 are classes


def test_refusals_and_the_limit_are_told(weft_command, events, three, tmp_path):
    (tmp_path / "edges.csv").write_text("ann,bob\n")
    tied = ["--learner", "mt-ogd:graph=edges.csv"]
    text = weft_command("compare", events, "--all", *tied, "--shuffles", "1").stdout
    assert "  mt-ogd:graph=edges.csv: the graph of mt-ogd does not name the task '[red]'" in text
    assert "does not name the task" in weft_command("compare", events, *tied, "--shuffles", "1", code=2).stderr
    error = weft_command("compare", events, "--all", "--time-limit", "1e-9", code=2).stderr
    assert error.startswith("weft: no learner is left to compare; perceptron: stopped after ")
    assert "by the time limit of 1e-09 s" in error
    assert "Invalid value for '--time-limit'" in weft_command("compare", events, "--time-limit", "0", code=2).stderr


def test_a_typing_error_stops_all(weft_command, events, three):
    assert "pa has no parameter 'D'" in weft_command("compare", events, "--all", "--learner", "pa:D=1", code=2).stderr


def test_a_page(weft_command, events, tmp_path):
    pytest.importorskip("jinja2")
    page = tmp_path / "out.html"
    scopes = ["--learner", "pa", "--learner", "pa:scope=alone", "--shuffles", "2"]
    result = weft_command("compare", events, *scopes, "--report", page)
    assert f"wrote {page}" in result.stderr
    assert f"Does sharing help on {events.name}?" in page.read_text()
    assert "when every task learns alone" in page.read_text()


def test_a_page_in_no_place_is_refused_before_any_work(weft_command, events, tmp_path):
    pytest.importorskip("jinja2")
    assert "end its name in .html" in weft_command("compare", events, *THREE, "--report", "out.pdf", code=2).stderr
    lost = weft_command("compare", events, *THREE, "--report", tmp_path / "no" / "out.html", code=2)
    assert "no" in lost.stderr
    assert lost.stdout == ""
    copy = tmp_path / "events.html"
    copy.write_bytes(events.read_bytes())
    told = weft_command("compare", copy, *THREE, "--format", "jsonl", "--report", copy, code=2).stderr
    assert "would replace the file that is read" in told


# --- numbers ---


def test_regression(weft_command, tmp_path, monkeypatch):
    """0 and 1, or -1 and +1, as numbers: by default, by name, and for the whole catalogue."""
    few = {name: PLACES[name] for name in ("perceptron", "pa", "mt-ogd", "arow", "auto")}
    monkeypatch.setattr("weft.learners.catalogue.PLACES", few)
    rows = "".join(f"{'ab'[i % 2]},{i % 5},{(-1, 1)[i % 3 > 0]}\n" for i in range(60))
    (tmp_path / "numbers.csv").write_text("task,x,y\n" + rows)

    def labels(*options):
        found = json.loads(weft_command("compare", "numbers.csv", "--shuffles", "1", "--json", *options).stdout)
        assert all(("rmse" in row) == ("--regression" in options) for row in found["learners"])
        return [row["learner"] for row in found["learners"]]

    assert "mt-ogd:loss=logistic" in labels()
    assert {"auto", "auto alone", "auto pooled", "mt-ogd:loss=square"} <= {*labels("--regression")}
    chosen = ("--learner", "pa", "--learner", "mt-ogd:scope=alone")
    assert {*labels(*chosen, "--regression")} == {"pa", "mt-ogd:scope=alone"}
    everyone = {*labels("--all", "--regression")}
    assert everyone == {"pa:loss=epsilon-insensitive", "mt-ogd:loss=square", "auto:loss=square"}
    refused = weft_command("compare", "numbers.csv", "--regression", "--learner", "perceptron", code=2).stderr
    assert "perceptron with these parameters predicts no numbers" in refused
