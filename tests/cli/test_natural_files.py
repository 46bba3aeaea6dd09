"""Files as people have them, learned and predicted by copy and paste."""

import csv
import io
import json

import numpy as np
import pytest

import weft

SPAM = [f"free money for you number {i}" for i in range(20)]
HAM = [f"see you at lunch on day {i}" for i in range(20)]
WORDS = [text for pair in zip(SPAM, HAM, strict=True) for text in pair]


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def write_jsonl(path, labels):
    records = [
        {"user": ["ann", "bob"][i // 2 % 2], "text": text, "label": labels[1 - i % 2]} for i, text in enumerate(WORDS)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return records


@pytest.mark.parametrize(
    ("labels", "shown"),
    [(("ham", "spam"), ("ham", "spam")), ((0, 1), ("0", "1")), ((False, True), ("false", "true"))],
    ids=["words", "numbers", "booleans"],
)
def test_json_lines(weft_command, tmp_path, labels, shown):
    records = write_jsonl(tmp_path / "mail.jsonl", labels)
    result = weft_command("learn", "mail.jsonl", "--model", "mail.weft", "--predictions", "issued.csv")
    assert "task: user; label: label" in result.stderr
    assert "1 text" in result.stderr
    assert "--task user --label label --text text" in result.stderr
    issued = rows_of((tmp_path / "issued.csv").read_text())
    assert list(issued[0]) == ["task", "score", "probability", "label"]
    assert float(issued[0]["score"]) == 0.0  # before anything was learned
    assert len(issued) == len(records)
    result = weft_command("predict", "mail.jsonl", "--model", "mail.weft")
    assert "these are not honest predictions" in result.stderr
    rows = rows_of(result.stdout)
    assert [row["label"] for row in rows] == [shown[1 - i % 2] for i in range(len(rows))]
    assert all(0.0 < float(row["probability"]) < 1.0 for row in rows)
    assert weft.load(tmp_path / "mail.weft").classes == labels


def write_csv(path):
    lines = ["id,date,country,text,user,label"]
    lines += [
        f'{i},2026-03-{1 + i % 28:02d},{["us", "de", ""][i % 3]},"{text}, yes",u{i % 2},{["ham", "spam"][1 - i % 2]}'
        for i, text in enumerate(WORDS)
    ]
    path.write_text("\n".join(lines) + "\n")


def test_csv_with_an_id_a_date_a_country_and_a_text(weft_command, tmp_path):
    write_csv(tmp_path / "mail.csv")
    result = weft_command("learn", "mail.csv", "--model", "mail.weft")
    assert "task: user; label: label (ham, spam); 1 category, 1 text; id: id; time: date" in result.stderr
    weft_command("predict", "mail.csv", "--model", "mail.weft", "--out", "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert list(rows[0]) == ["id", "task", "score", "probability", "label"]
    assert (rows[3]["id"], rows[3]["task"], rows[3]["label"]) == (3, "u1", "ham")
    weft_command("predict", "mail.csv", "--model", "mail.weft", "--out", "out.parquet")
    from pyarrow import parquet

    assert parquet.read_table(tmp_path / "out.parquet").to_pylist() == rows
    result = weft_command("learn", "mail.csv", "--model", "other.weft", "--task", "user", "--label", "label",
                          "--text", "text", "--ignore", "date,id", "--quiet")  # fmt: skip
    assert weft.load(tmp_path / "other.weft").schema == weft.Schema(
        task="user", label="label", text=["text"], ignore=["date", "id"]
    )
    result = weft_command("learn", "mail.csv", "--model", "other.weft", "--category", "id", code=2)
    assert "another schema: category is id, where none was given" in result.stderr or "one role" in result.stderr


def test_a_date_is_refused(weft_command, tmp_path):
    write_csv(tmp_path / "mail.csv")
    options = ["--task", "user", "--label", "label", "--features", "country,date"]
    result = weft_command("learn", "mail.csv", "--model", "mail.weft", *options, code=2)
    assert 'mail.csv, line 2, field "date": "2026-03-01" is a date; name the field as time (--time)' in result.stderr
    assert not (tmp_path / "mail.weft").exists()


def test_a_frame_with_categories_and_holes():
    import pandas

    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "customer": rng.choice(["a", "b"], 60),
            "plan": pandas.Categorical(rng.choice(["free", "paid"], 60)),
            "age": np.where(rng.random(60) < 0.2, np.nan, rng.normal(40, 9, 60)),
            "churned": rng.random(60) < 0.5,
        },
        index=np.arange(100, 160),
    )
    schema = weft.Schema.infer(frame)
    assert (schema.task, schema.label) == ("customer", "churned")
    model = weft.Model(schema=schema)
    model.learn(frame)
    predicted = model.predict(frame)
    assert isinstance(predicted, pandas.Series)
    assert predicted.index.equals(frame.index)
    assert set(predicted.tolist()) <= {True, False}
    assert model.predict_proba(frame).between(0.0, 1.0).all()


def test_several_files_and_resuming(weft_command, tmp_path):
    records = write_jsonl(tmp_path / "a.jsonl", ("ham", "spam"))
    lines = (tmp_path / "a.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "a.jsonl").write_text("".join(lines[:15]))
    (tmp_path / "b.jsonl").write_text("".join(lines[15:30]))
    weft_command("learn", "a.jsonl", "b.jsonl", "--model", "m.weft", "--save-every", "60s", "--quiet")
    with (tmp_path / "b.jsonl").open("a") as file:
        file.write("".join(lines[30:]))
    result = weft_command("learn", "a.jsonl", "b.jsonl", "--model", "m.weft")
    assert "Learned 10 events of a.jsonl, b.jsonl (after 30 learned earlier)" in result.stdout
    expected = weft.Model(schema=weft.load(tmp_path / "m.weft").schema, classes=["ham", "spam"])
    expected.learn(records)
    assert (tmp_path / "m.weft").read_bytes() == expected.to_bytes()
    result = weft_command("learn", "a.jsonl", "--model", "m.weft", "--save-every", "soon", code=2)
    assert "'soon' is not a time" in result.stderr


def test_regression(weft_command, tmp_path):
    (tmp_path / "r.csv").write_text("device,volts,target\n" + "".join(f"d{i % 2},{i},{2 * i}\n" for i in range(30)))
    weft_command("learn", "r.csv", "--model", "r.weft", "--regression", "--predictions", "issued.csv")
    assert weft.load(tmp_path / "r.weft").target == "real"
    assert (tmp_path / "issued.csv").read_text().startswith("task,score\n")
    weft_command("learn", "r.csv", "--model", "r.weft", "--regression")


def test_standard_input(weft_command, tmp_path):
    write_jsonl(tmp_path / "mail.jsonl", ("ham", "spam"))
    text = (tmp_path / "mail.jsonl").read_text()
    options = ["--task", "user", "--label", "label", "--text", "text"]
    weft_command("learn", "-", "--model", "m.weft", *options, stdin=text)
    result = weft_command("predict", "-", "--model", "m.weft", stdin=text.splitlines()[0] + "\n")
    assert rows_of(result.stdout)[0]["label"] == "spam"


def test_what_is_said_of_strange_events(weft_command, tmp_path):
    write_jsonl(tmp_path / "mail.jsonl", ("ham", "spam"))
    weft_command("learn", "mail.jsonl", "--model", "m.weft", "--quiet")
    (tmp_path / "new.jsonl").write_text('{"user": "ann", "text": "quux"}\n')
    result = weft_command("predict", "new.jsonl", "--model", "m.weft")
    assert "1 event without any feature that the model knows" in result.stderr


def test_which_field_is_the_task(weft_command, tmp_path):
    (tmp_path / "e.jsonl").write_text('{"who": "ann", "text": "a b c", "label": 1}\n')
    result = weft_command("learn", "e.jsonl", "--model", "m.weft", code=2)
    assert "which field is the task? name it with --task; the fields are who, text, label" in result.stderr


def test_plain_events_with_words_as_labels(weft_command, tmp_path):
    lines = [f'{{"task": "ann", "x": {{"f{i % 3}": 1}}, "y": "{["no", "yes"][i % 2]}"}}' for i in range(10)]
    (tmp_path / "e.jsonl").write_text("\n".join(lines) + "\n")
    weft_command("learn", "e.jsonl", "--model", "m.weft", "--quiet")
    model = weft.load(tmp_path / "m.weft")
    assert (model.classes, model.schema) == (("no", "yes"), None)


def test_fields_are_inferred_from_standard_input(weft_command, tmp_path):
    write_jsonl(tmp_path / "mail.jsonl", ("ham", "spam"))
    text = (tmp_path / "mail.jsonl").read_text()
    result = weft_command("learn", "-", "--model", "m.weft", stdin=text)
    assert "task: user; label: label (ham, spam); 1 text" in result.stderr
    weft_command("learn", "mail.jsonl", "--model", "file.weft", "--quiet")
    assert (tmp_path / "m.weft").read_bytes() == (tmp_path / "file.weft").read_bytes()
    write_csv(tmp_path / "mail.csv")
    weft_command("learn", "-", "--model", "c.weft", "--quiet", stdin=(tmp_path / "mail.csv").read_text())
    weft_command("learn", "mail.csv", "--model", "d.weft", "--quiet")
    assert (tmp_path / "c.weft").read_bytes() == (tmp_path / "d.weft").read_bytes()
    result = weft_command("learn", "-", "--model", "n.weft", "--task", "usr", stdin=text, code=2)
    assert "standard input has no field 'usr', which the schema names as task; did you mean user?" in result.stderr
    result = weft_command("learn", "-", "--model", "n.weft", stdin="", code=2)
    assert "the stream is empty" in result.stderr


def test_options_of_inspect_against(weft_command, tmp_path):
    rows = "".join(f"{['ann', 'bob'][i % 2]},{[-1, 1][i % 2]},{i % 3}\n" for i in range(20))
    (tmp_path / "e.csv").write_text("who,seen,x\n" + rows)
    weft_command("learn", "e.csv", "--model", "m.weft", "--task", "who", "--label", "seen", "--quiet")
    assert weft.load(tmp_path / "m.weft").schema is None
    options = ["--against", "e.csv", "--task-column", "who", "--label", "seen", "--json"]
    facts = json.loads(weft_command("inspect", "m.weft", *options).stdout)
    assert facts["sharing"]["total"]["events"] == 20
    result = weft_command("inspect", "m.weft", "--label", "seen", code=2)
    assert "--against FILE" in result.stderr
    write_jsonl(tmp_path / "mail.jsonl", ("ham", "spam"))
    weft_command("learn", "mail.jsonl", "--model", "mail.weft", "--quiet")
    result = weft_command("inspect", "mail.weft", "--against", "mail.jsonl", "--category", "text", code=2)
    assert "another schema" in result.stderr or "one role" in result.stderr
    assert "gain" in weft_command("inspect", "mail.weft", "--against", "mail.jsonl", "--text", "text").stdout


def test_all_files_are_looked_at_before_the_first_is_learned(weft_command, tmp_path):
    write_jsonl(tmp_path / "mail.jsonl", ("ham", "spam"))
    (tmp_path / "other.csv").write_text("user,txt,label\nann,a b c,spam\n")
    result = weft_command("learn", "mail.jsonl", "other.csv", "--model", "m.weft", code=2)
    assert "other.csv has no field 'text', which the schema names as text; did you mean txt?" in result.stderr
    assert not (tmp_path / "m.weft").exists()


def test_what_looks_like_an_id_is_remarked(weft_command, tmp_path):
    lines = [f"u{i % 2},{i * 7919:x}-{i * 104729:x}-ff,{i % 3},{i % 2}" for i in range(30)]
    (tmp_path / "e.csv").write_text("\n".join(["user,key,x,label", *lines]) + "\n")
    result = weft_command("learn", "e.csv", "--model", "m.weft")
    assert "note: key looks like an id and is not used" in result.stderr
    assert weft.load(tmp_path / "m.weft").features == ["x"]


def test_quiet(weft_command, tmp_path):
    write_jsonl(tmp_path / "mail.jsonl", ("ham", "spam"))
    weft_command("learn", "mail.jsonl", "--model", "m.weft", "--quiet")
    assert weft_command("predict", "mail.jsonl", "--model", "m.weft", "--quiet", "--out", "o.csv").output == ""
    learners = ["--learner", "pa", "--in-order", "--quiet"]
    assert weft_command("compare", "mail.jsonl", *learners).stderr == ""
    assert weft_command("forget", "m.weft", "--task", "ann", "--quiet").output == ""


@pytest.mark.parametrize("name", ["m.csv", "m.tsv"])
def test_decimal_commas(weft_command, tmp_path, name):
    mark = "\t" if name == "m.tsv" else "|"
    rows = [f"u{i % 3}{mark}{i},{i % 7}5{mark}{i % 2}\n" for i in range(40)]
    (tmp_path / name).write_text(f"user{mark}age{mark}label\n" + "".join(rows))
    result = weft_command("learn", name, "--model", "a.weft")
    assert (
        "note: age holds numbers such as 0,05, which are read as names of a category; in CSV --decimal ,"
        in result.stderr
    )
    assert "label: label (0, 1); 1 category" in result.stderr
    separator = "\\t" if name == "m.tsv" else "|"
    result = weft_command("learn", name, "--model", "b.weft", "--decimal", ",", "--separator", separator)
    assert "label: label (0, 1); 1 numeric" in result.stderr
    assert "note:" not in result.stderr
    assert weft.load(tmp_path / "b.weft").features == ["age"]


def test_marks_between_thousands_are_remarked(weft_command, tmp_path):
    rows = [f"u{i % 3};1.00{i},50;{i % 2}\n" for i in range(8)]
    (tmp_path / "m.csv").write_text("user;age;label\n" + "".join(rows))
    assert "note: age holds numbers such as 1.000,50," in weft_command("learn", "m.csv", "--model", "a.weft").stderr
