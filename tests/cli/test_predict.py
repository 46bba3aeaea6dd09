"""weft predict: scores as the model gives them, in the file's order; nothing is learned."""

import csv
import json

import pytest

import weft


@pytest.fixture
def model(weft_command, events):
    weft_command("learn", events, "--model", "m.weft", "--learner", "pa")
    return weft.load("m.weft")


def test_scores_and_labels(weft_command, events, model, tmp_path):
    before = (tmp_path / "m.weft").read_bytes()
    result = weft_command("predict", events, "--model", "m.weft")
    rows = list(csv.DictReader(result.stdout.splitlines()))
    asked = [json.loads(line) for line in events.read_text().splitlines()]
    assert [row["task"] for row in rows] == [event["task"] for event in asked]
    assert [float(row["score"]) for row in rows] == [model.predict_one(e["x"], e["task"]) for e in asked]
    assert all((float(row["score"]) >= 0) == (row["label"] == "1") for row in rows)
    wrong = sum(int(row["label"]) != event["y"] for row, event in zip(rows, asked, strict=True))
    assert f"error {100 * wrong / 60:.1f}% ({wrong} of 60 labelled events)" in result.stderr
    assert (tmp_path / "m.weft").read_bytes() == before


def test_json_lines_new_tasks_and_missing_labels(weft_command, model):
    stdin = '{"task": ["new", 1], "x": {"unheard": 1}}\n{"task": "ann", "x": {}}\n'
    result = weft_command("predict", "-", "--model", "m.weft", "--json", stdin=stdin)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert lines[0] == {"task": ["new", 1], "score": 0.0, "label": 1}
    assert 'note: 1 task new to the model (["new", 1])' in result.stderr
    assert "error" not in result.stderr


def test_a_file_of_predictions(weft_command, events, model, tmp_path):
    result = weft_command("predict", events, "--model", "m.weft", "--out", "p.csv")
    assert result.stdout == ""
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 61
    with events.open("a") as file:
        file.write("oops\n")
    skipping = weft_command("predict", events, "--model", "m.weft", "--out", "q.csv", "--on-error", "skip")
    assert "skipped 1 malformed line" in skipping.stderr
    assert (tmp_path / "q.csv").read_text() == (tmp_path / "p.csv").read_text()


@pytest.mark.parametrize("out", [None, "-", "p.csv", "p.jsonl"])
@pytest.mark.parametrize("fault", ["oops", '{"task": "ann", "x": {"free": "much"}}'])
def test_lines_before_one_that_is_refused_are_answered(weft_command, events, model, tmp_path, fault, out):
    lines = events.read_text().splitlines()
    asked = [weft_command("predict", events, "--model", "m.weft").stdout.splitlines()]
    (tmp_path / "bad.jsonl").write_text("\n".join([*lines[:41], fault, *lines[41:]]) + "\n")
    place = ("--out", out) if out else ()
    for file, name, stdin in (("bad.jsonl", "bad.jsonl", None), ("-", "standard input", "bad.jsonl")):
        given = None if stdin is None else (tmp_path / stdin).read_text()
        result = weft_command("predict", file, "--model", "m.weft", *place, stdin=given, code=2)
        written = result.stdout if out in (None, "-") else (tmp_path / out).read_text()
        if out == "p.jsonl":
            assert [json.loads(line)["task"] for line in written.splitlines()] == [
                json.loads(line)["task"] for line in lines[:41]
            ]
        else:
            assert written.splitlines() == asked[0][:42]
        assert f"weft: {name}, line 42" in result.stderr.splitlines()[-1]
        assert ("wrote 41 predictions to" in result.stderr) == (out not in (None, "-"))


def test_rows_before_one_that_is_refused_are_answered_in_all_formats(weft_command, tmp_path):
    from pyarrow import Table, parquet

    records = [{"user": f"u{i % 3}", "age": float(i), "label": ["no", "yes"][i % 2]} for i in range(9)]
    parquet.write_table(Table.from_pylist(records), tmp_path / "good.parquet")
    weft_command("learn", "good.parquet", "--model", "m.weft", "--task", "user", "--label", "label", "--quiet")
    asked = weft_command("predict", "good.parquet", "--model", "m.weft").stdout.splitlines()
    records[5]["user"] = None
    parquet.write_table(Table.from_pylist(records), tmp_path / "bad.parquet")
    rows = [f"{record['user'] or ''},{record['age']},{record['label']}\n" for record in records]
    (tmp_path / "bad.csv").write_text("user,age,label\n" + "".join(rows))
    for file, where in (("bad.parquet", "row 6"), ("bad.csv", "line 7")):
        result = weft_command("predict", file, "--model", "m.weft", code=2)
        assert result.stdout.splitlines() == asked[:6]
        assert f'{file}, {where}, field "user": the task is missing' in result.stderr


def test_nothing_is_replaced_where_the_first_line_is_refused(weft_command, events, model, tmp_path):
    (tmp_path / "p.csv").write_text("as before\n")
    (tmp_path / "bad.jsonl").write_text("oops\n" + events.read_text())
    weft_command("predict", "bad.jsonl", "--model", "m.weft", "--out", "p.csv", code=2)
    assert (tmp_path / "p.csv").read_text() == "as before\n"


def test_csv_without_a_label_column_and_svmlight(weft_command, model, tmp_path):
    (tmp_path / "e.csv").write_text("task,free\nann,1\n")
    rows = weft_command("predict", "e.csv", "--model", "m.weft").stdout.splitlines()
    assert rows[1].startswith("ann,")
    (tmp_path / "e.svm").write_text("1 qid:ann 4:1\n")
    result = weft_command("predict", "e.svm", "--model", "m.weft", code=2)
    assert "columns without names, but the model has learned features with names" in result.stderr


def test_regression_has_no_label(weft_command):
    stdin = '{"task": "a", "x": {"f": 1}, "y": 2.5}\n'
    options = ["--learner", "pa", "--set", "loss=epsilon-insensitive"]
    weft_command("learn", "-", "--model", "r.weft", *options, stdin=stdin)
    result = weft_command("predict", "-", "--model", "r.weft", stdin=stdin)
    assert result.stdout.splitlines()[0] == "task,score"
    assert "mean deviation 1.5000 over 1 labelled events" in result.stderr
    assert "mean deviation" in weft_command("inspect", "r.weft").stdout
