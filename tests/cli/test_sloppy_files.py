"""Files as people happen to have them: what is wrong is said with file, line, field and remedy, before anything is
learned; and what is harmless is taken."""

import json

import pyarrow
import pytest
from pyarrow import ipc, parquet

import weft

TWO = "user,text,label\nann,free money now,spam\nbob,see you soon,ham\n"

REFUSED = {
    "header alone": ("m.csv", "user,text,label\n", (), "m.csv: the stream is empty; give at least one event"),
    "cells too many": ("m.csv", "user,text,label\nann,free, money,now,spam\n", (), "line 2: 5 cells, the header"),
    "cells too few": ("m.csv", TWO + "eve,what now\n", (), "m.csv, line 4: 2 cells, the header has 3"),
    "not closed": ("m.csv", 'user,text,label\nann,"free money,spam\nbob,you,ham\n', (), "line 2: a quoted cell is not"),
    "latin-1": ("m.csv", TWO.replace("see", "größe").encode("latin-1"), (), "m.csv, line 3: the line is not UTF-8"),
    "index": ("m.csv", ",user,x,label\n0,a,1,0\n", (), r"without its index (pandas: to_csv(index=False))"),
    "array": ("m.json", '[["user", "a"], ["label", 1]]', (), "one per line and without brackets around them"),
    "cut": ("m.jsonl", '{"user": "a", "x": 1, "label": 1}\n{"user": "a", "x"\n', (), "line 2: the line ends in the"),
    "two kinds": ("m.jsonl", '{"user": "a", "x": 1, "label": "1"}\n{"user": "a", "x": 1, "label": 0}\n', (),
                  "m.jsonl: '1' and 0 are labels of two kinds"),
    "one label": ("m.csv", "user,x,label\na,1,spam\n", (), "m.csv: 'spam' is the only label so far; give both"),
    "positive": ("m.csv", TWO, ("--positive", "spm"), "positive='spm' is not one of the labels, such as 'spam' and"),
    "positive number": ("m.csv", "user,x,label\na,1,0\na,2,1\n", ("--positive", "2"), "positive=2 is not one of the"),
    "numbers as text": ("m.csv", "user,age,label\na,31,0\nb,44,1\n", ("--text", "age"),
                        "m.csv: the field 'age', named as text, holds numbers such as 31; leave it out of --text"),
    "weights": ("m.csv", "user,x,w,label\na,1,1,0\na,1,2,1\n", ("--weight", "w", "--learner", "pa"),
                "m.csv, line 3: weight 2; pa takes no weights of events"),
    "text where JSON is expected": ("m.jsonl", TWO, (), "m.jsonl, line 1: not JSON at column 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_said_by_file_and_line(weft_command, tmp_path, case):
    name, content, options, message = REFUSED[case]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    result = weft_command("learn", name, "--model", "m.weft", *options, code=2)
    assert message in result.stderr
    assert not (tmp_path / "m.weft").exists()


def test_a_row_of_parquet_that_cannot_be_used_comes_before_labels(weft_command, tmp_path):
    rows = [{"user": "a", "x": 1.0, "label": "spam"}, {"user": None, "x": 1.0, "label": "spam"}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "m.parquet")
    result = weft_command("learn", "m.parquet", "--model", "m.weft", "--task", "user", "--label", "label", code=2)
    assert 'm.parquet, row 2, field "user": the task is missing' in result.stderr
    result = weft_command("learn", tmp_path, "--model", "m.weft", code=2)
    assert "is a folder; give a file" in result.stderr


def test_blank_lines_around_a_table(weft_command, tmp_path):
    (tmp_path / "m.csv").write_text(f"\n\n{TWO}\n\n")
    told = weft_command("learn", "m.csv", "--model", "m.weft").stderr
    assert "task: user; label: label (ham, spam)" in told


def test_what_is_remarked_of_numbers(weft_command, tmp_path):
    rows = [f'{{"user": "a", "ts": {1772000000 + i}, "age": "{30 + i % 9}", "label": {i % 2}}}\n' for i in range(30)]
    (tmp_path / "m.jsonl").write_text("".join(rows))
    told = weft_command("learn", "m.jsonl", "--model", "m.weft").stderr
    assert "task: user; label: label (0, 1); 1 category; time: ts" in told
    assert "note: age holds numbers in quotes such as 30, which are read as names of a category" in told
    weft_command("learn", "m.jsonl", "--model", "n.weft", "--numeric", "ts")
    assert "ts" in weft.load(tmp_path / "n.weft").features


def test_fields_of_objects_are_listed(weft_command, tmp_path):
    (tmp_path / "m.jsonl").write_text('{"by": {"id": "ann"}, "geo": {"lat": 1}, "label": 1}\n')
    told = weft_command("learn", "m.jsonl", "--model", "m.weft", code=2).stderr
    assert "which field is the task? name it with --task; the fields are by.id, geo.lat, label" in told


@pytest.mark.parametrize("more", [(), ("--multiclass",), ("--regression",), ("--task", "user", "--label", "label")])
def test_labels_that_are_never_there_are_refused(weft_command, tmp_path, more):
    (tmp_path / "m.csv").write_text("user,text,label\nann,free money,\nbob,see you at lunch,\n")
    told = weft_command("learn", "m.csv", "--model", "m.weft", *more, code=2).stderr
    assert told == (
        "weft: m.csv: the field 'label', the label, is empty in all of the first 2 records; name another with --label\n"
    )
    assert not (tmp_path / "m.weft").exists()
    weft_command("pack", "m.csv", "--out", "m.weftpack")  # which is there to be predicted


def test_fields_that_a_further_file_does_not_have_are_told(weft_command, tmp_path):
    lines = '{"user": "a", "body": "free money", "label": 1}\n{"user": "b", "body": "lunch", "label": 0}\n'
    (tmp_path / "a.jsonl").write_text(lines)
    weft_command("learn", "a.jsonl", "--model", "m.weft", "--text", "body")
    assert "note" not in weft_command("learn", "a.jsonl", "--model", "m.weft", "--restart").stderr
    (tmp_path / "b.jsonl").write_text(lines.replace("body", "bdy"))
    told = weft_command("learn", "b.jsonl", "--model", "m.weft").stderr
    assert "weft: note: b.jsonl has no field 'body', which the schema names as text; did you mean bdy?\n" in told
    (tmp_path / "c.jsonl").write_text(lines.replace("label", "lbl"))
    told = weft_command("learn", "c.jsonl", "--model", "m.weft", code=2).stderr
    assert "weft: note: c.jsonl has no field 'label', which the schema names as label; did you mean lbl?\n" in told
    assert 'c.jsonl, line 1, field "label": the label is missing' in told


def test_a_field_to_ignore_that_is_not_there_is_told(weft_command, tmp_path):
    (tmp_path / "m.csv").write_text(TWO)
    result = weft_command("learn", "m.csv", "--model", "m.weft", "--ignore", "txet")
    assert "note: there is no field 'txet' to ignore; did you mean text?" in result.stderr


def test_json_in_a_file_that_is_called_csv(weft_command, tmp_path):
    (tmp_path / "m.csv").write_text('\ufeff{"user": "a", "x": 1, "label": 1}\n{"user": "b", "x": 2, "label": 0}\n')
    weft_command("learn", "m.csv", "--model", "m.weft", "--quiet")
    assert weft.load(tmp_path / "m.weft").features == ["x"]


def test_an_arrow_stream_is_read_as_an_arrow_file(weft_command, tmp_path):
    rows = [{"user": "ab"[i % 2], "x": float(i), "label": ["no", "yes"][i % 2]} for i in range(20)]
    table, models = pyarrow.Table.from_pylist(rows), []
    for name, new in (("a.arrow", ipc.new_file), ("b.arrow", ipc.new_stream)):
        with new(tmp_path / name, table.schema) as file:
            file.write_table(table, max_chunksize=7)
        weft_command("learn", name, "--model", f"{name}.weft", "--quiet")
        models.append(weft.load(tmp_path / f"{name}.weft").to_bytes())
    assert models[0] == models[1]
    result = weft_command("learn", "-", "--model", "c.weft", stdin=(tmp_path / "b.arrow").read_bytes(), code=2)
    assert "and such files are not read from pipes; give its name" in result.stderr


def test_prediction_needs_no_column_but_the_task(weft_command, tmp_path):
    """As with JSON lines and data frames, a field that is absent is missing."""
    lines = ["user,ts,id,country,text,label"]
    lines += [f"{'ab'[i % 2]},2026-03-01,{i},us,{['free money', 'see you'][i % 2]},{i % 2}" for i in range(12)]
    (tmp_path / "m.csv").write_text("\n".join(lines))
    weft_command("learn", "m.csv", "--model", "m.weft", "--text", "text", "--id", "id", "--time", "ts", "--quiet")
    (tmp_path / "new.csv").write_text("text,user\nfree money,a\n")
    (tmp_path / "new.jsonl").write_text(json.dumps({"user": "a", "text": "free money"}))
    parquet.write_table(pyarrow.Table.from_pylist([{"user": "a", "text": "free money"}]), tmp_path / "new.parquet")
    found = [weft_command("predict", f"new.{kind}", "--model", "m.weft").stdout for kind in ("csv", "jsonl", "parquet")]
    assert found[0] == found[1] == found[2]
    assert found[0].startswith("id,task,score,probability,label\n")
    (tmp_path / "new.csv").write_text("text,usr\nfree money,a\n")
    assert "did you mean usr?" in weft_command("predict", "new.csv", "--model", "m.weft", code=2).stderr


def test_names_of_tasks_stay_readable_at_60_columns(weft_command, tmp_path, monkeypatch):
    rows = [f'{{"user": "customer-{i % 3}-of-acme", "x": {i}, "label": {i % 2}}}\n' for i in range(30)]
    (tmp_path / "m.jsonl").write_text("".join(rows))
    weft_command("learn", "m.jsonl", "--model", "m.weft", "--quiet")
    monkeypatch.setenv("COLUMNS", "60")
    shown = weft_command("inspect", "m.weft").stdout
    assert max(map(len, shown.splitlines())) <= 60
    assert shown.count("customer-1-of-acme ") == 2  # in the table of errors, and in that of what tasks borrow
    assert "Columns that did not fit: mean loss" in shown
    assert "Columns that did not fit: pooled expert, own expert," in shown
    monkeypatch.setenv("COLUMNS", "100")
    assert "did not fit" not in weft_command("inspect", "m.weft").stdout


LONG = "customer-{}-of-acme-corporation-in-europe"
TABLES = {
    "learn": ("learn", "m.jsonl", "--model", "n.weft", "--restart"),
    "inspect": ("inspect", "m.weft"),
    "recent": ("inspect", "m.weft", "--recent"),
    "against": ("inspect", "m.weft", "--against", "m.jsonl"),
    "distances": ("inspect", "own.weft"),
    "weights": ("inspect", "m.weft", "--task", LONG.format(1)),
    "own weights": ("inspect", "own.weft", "--task", LONG.format(1)),
    "compare": ("compare", "m.jsonl", "--shuffles", "2", "--learner", "pa:pooled=true", "--learner", "arow"),
}


@pytest.mark.parametrize("table", TABLES)
def test_long_names_are_folded_in_columns_that_can_be_read(weft_command, tmp_path, monkeypatch, table):
    name = "a-feature-with-a-rather-long-name"
    rows = [f'{{"user": "{LONG.format(i % 3)}", "{name}": {i}, "label": {i * 7 % 2}}}\n' for i in range(30)]
    (tmp_path / "m.jsonl").write_text("".join(rows))
    weft_command("learn", "m.jsonl", "--model", "m.weft", "--quiet")
    weft_command("learn", "m.jsonl", "--model", "own.weft", "--learner", "mt-ogd", "--quiet")
    monkeypatch.setenv("COLUMNS", "60")
    lines = weft_command(*TABLES[table]).stdout.splitlines()
    sentences = ("One task: weft", "Task customer")  # commands and sentences have one line, however long
    assert max(len(line) for line in lines if not line.startswith(sentences)) <= 60
    wanted = name if "weights" in table else "customer-"
    begins = [line.split()[0] for line in lines if line.startswith(f" {wanted[:9]}")]
    if table == "compare":
        assert sorted(line.split()[0] for line in lines if "±" in line) == ["arow", "pa:pooled=true"]
    else:
        assert begins
        assert min(map(len, begins)) >= 20


def test_quiet_leaves_remarks_out(weft_command, tmp_path):
    (tmp_path / "m.csv").write_text("user,x,label\na,1,0\nb,2,1\n")
    weft_command("learn", "m.csv", "--model", "m.weft", "--quiet")
    full, quiet = (weft_command("explain", "m.weft", "--task", "a", "--x", '{"x": 1}', *o) for o in ((), ("--quiet",)))
    assert "mixed by stack" in full.stdout
    assert full.stdout.startswith(quiet.stdout)
    assert "mixed by stack" not in quiet.stdout
    assert weft_command("inspect", "m.weft", "--quiet").stderr == ""
    assert weft_command("policy", "m.weft", "--task", "a", "--no-gives", "--quiet").stdout == ""
    assert "does not give" in weft_command("policy", "m.weft", "--task", "a", "--quiet").stdout
