"""Files of records with a schema: every format gives the same model, byte for byte, however it is cut."""

import csv
import gzip
import json

import numpy as np
import pandas
import pytest

import weft
from streams import fuzz_records
from weft.streams import InputError, read_chunks

SCHEMA = weft.Schema(
    task="user", label="label", positive="spam", text=["body"], category=["zip"], ignore=["ts"], id="id", weight="w"
)


def make_records(count=300, seed=0):
    rng = np.random.default_rng(seed)
    words = ["free", "money", "Lunch", "größe", "naïve", "50", "the", "of", "a"]
    records = []
    for i in range(count):
        body = " ".join(rng.choice(words, rng.integers(0, 8)).tolist())
        records.append(
            {
                "user": ["ann", "bob", "zoë"][rng.integers(3)],
                "ts": "2026-03-01T10:00:00Z",
                "id": f"e{i}",
                "country": [None, "us", "de", "São Tomé"][rng.integers(4)],
                "zip": ["007", "7a", None][rng.integers(3)],
                "age": None if rng.random() < 0.3 else float(rng.integers(0, 3)),
                "new": bool(rng.random() < 0.5),
                "body": body + ', "quoted"\nline' if rng.random() < 0.1 else body,
                "w": 1.0,
                "label": ["ham", "spam"][rng.integers(2)],
            }
        )
    return records


def write_jsonl(path, records):
    path.write_text("".join(json.dumps(record, ensure_ascii=bool(i % 2)) + "\n" for i, record in enumerate(records)))


def write_csv(path, records, separator=","):
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        writer.writerow(records[0])
        writer.writerows([["" if value is None else value for value in record.values()] for record in records])


def write_parquet(path, records):
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.Table.from_pylist(records)
    at = table.schema.get_field_index("country")
    table = table.set_column(at, "country", table["country"].dictionary_encode())
    parquet.write_table(table, path, row_group_size=70)


def write_arrow(path, records):
    import pyarrow
    from pyarrow import ipc

    table = pyarrow.Table.from_pylist(records)
    with ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=90)


def learned(streams, **options):
    model = weft.Model("pa", schema=SCHEMA, **options)
    for stream in streams:
        model.learn(stream)
    return model.to_bytes()


@pytest.mark.parametrize("chunk", [1, 7, 4096])
def test_all_formats_give_one_model(tmp_path, chunk):
    import pandas
    import polars

    records = make_records()
    write_jsonl(tmp_path / "e.jsonl", records)
    (tmp_path / "e.jsonl.gz").write_bytes(gzip.compress((tmp_path / "e.jsonl").read_bytes()))
    write_csv(tmp_path / "e.csv", records)
    write_csv(tmp_path / "e.tsv", records, "\t")
    write_csv(tmp_path / "semicolons.csv", records, ";")
    write_parquet(tmp_path / "e.parquet", records)
    write_arrow(tmp_path / "e.arrow", records)
    expected = learned([records])
    for name in ("e.jsonl", "e.jsonl.gz", "e.csv", "e.tsv", "semicolons.csv", "e.parquet", "e.arrow"):
        assert learned(weft.read(tmp_path / name, SCHEMA, chunk=chunk)) == expected, name
    frames = [pandas.DataFrame(records), polars.DataFrame(records)]
    pieces = [[frame[i : i + max(chunk, 50)] for i in range(0, len(records), max(chunk, 50))] for frame in frames]
    assert [learned(piece) for piece in pieces] == [expected] * 2
    assert learned(weft.read([tmp_path / "e.csv"], SCHEMA)) == expected


def test_several_files(tmp_path):
    records = make_records(60)
    write_jsonl(tmp_path / "a.jsonl", records[:25])
    write_csv(tmp_path / "b.csv", records[25:])
    assert learned(weft.read([tmp_path / "a.jsonl", tmp_path / "b.csv"], SCHEMA)) == learned([records])


def test_single_events_are_the_same():
    records = make_records(80)
    model = weft.Model("pa", schema=SCHEMA)
    for record in records:
        model.learn_one(record)
    assert model.to_bytes() == learned([records])


DATES = ["2026-03-01", "2026-3-1", "2026/03/01", "01.03.2026", "1.3.2026", "03/25/2026", "3-25-2026", "31.12.1999 ",
         "2026-03-01T10:00:00Z", "2026-03-01T10:00:00.123+01:00", "2026-03-01 10:00", "2026-03-01T10:00[Europe/Rome]",
         "25.03.2026 10:00", "03/25/2026, 10:00 PM", "2026/03/01 10:00:00 UTC"]  # fmt: skip
NO_DATES = ["2026a", "3-1", "10.0.0.127", "192.168.10.2026", "25/31/2026", "0.1.2026", "1.2.3", "555-12-3456",
            "2026-03", "2026-03/01", "2026-03-01x", "20-26-0301", "1/2", "24/7/365", "12345-1-1"]  # fmt: skip


@pytest.mark.parametrize("shape", ["jsonl", "csv", "records", "frame"])
@pytest.mark.parametrize("text", [*DATES, *NO_DATES])
def test_dates_are_refused_in_whatever_shape(tmp_path, text, shape):
    records = [{"user": "ann", "d": "x", "label": "spam"}, {"user": "ann", "d": text, "label": "ham"}]
    path = tmp_path / f"a.{shape}"

    def read(**fields):
        schema = weft.Schema(task="user", label="label", **fields)
        if shape in ("jsonl", "csv"):
            (write_jsonl if shape == "jsonl" else write_csv)(path, records)
            return next(iter(weft.read(path, schema)))
        return (
            weft.Stream.from_frame(pandas.DataFrame(records), schema)
            if shape == "frame"
            else weft.Stream.from_records(records, schema)
        )

    for fields in ({"time": "d"}, {"ignore": ["d"]}, {"category": ["d"]}):
        assert len(read(**fields)) == 2
    if text in DATES:
        with pytest.raises(ValueError, match=r'field "d": .* is a date; .* \(--time\).*\(--ignore, --category\)'):
            read()
    else:
        assert read().data.features == ["d=x", f"d={text}"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"user": "ann", "d": "2026-03-01", "label": "spam"}', 'line 2, field "d": "2026-03-01" is a date'),
        ('{"user": "ann", "body": 3, "label": "spam"}', 'line 2, field "body": 3 is not a text'),
        ('{"user": "ann", "label": true}', 'line 2, field "label": true is not a label'),
        ('{"user": "ann", "label": 3}', 'line 2, field "label": 3 is not a label'),
        ('{"user": "ann"}', 'line 2, field "label": the label is missing'),
        ('{"label": "ham"}', 'line 2, field "user": the task is missing'),
        ('{"user": "ann", "user": "bob", "label": "ham"}', 'line 2, field "user": the field appears twice'),
        ('{"user": "ann", "label": "ham"', "line 2: the line ends in the middle of a record"),
        ("[1]", "line 2: .* is not a record"),
        ('{"user" : "ann", "label": "ham", "user": "bob"}', 'line 2, field "user": the field appears twice'),
        ('{"user": "ann", "label": "ham", "o": {"a"\t: 1, "a": 2}}', 'line 2, field "a": the field appears twice'),
        ('{"user": "ann", "label": "ham", "a\udcff": ""}', "line 2: the line is not UTF-8"),
        ('{"user": "ann", "label": "ham", "a\udcff": null}', "line 2: the line is not UTF-8"),
        ('{\0"user": "ann", "label": "ham"}', "line 2: not JSON at column 2"),
        ('{\0"user": "\xfc", "label": "ham"', "line 2: not JSON at column 2"),
        ('{"user": "\\ud800", "label": "ham"}', r"line 2: a \\u escape is one half of a character"),
        ('{"user": "ann", "label": "ham", "\\udfff": 1}', r"line 2: a \\u escape is one half of a character"),
        ('{"user": "ann", "age": Infinity, "label": "ham"}', 'line 2, field "age": inf is too large'),
    ],
)
def test_bad_lines(tmp_path, line, words):
    good = ['{"user": "ann", "label": "ham"}', '{"user": "ann", "label": "spam"}']
    path = tmp_path / "e.jsonl"
    path.write_bytes("\n".join([good[0], line, good[1], ""]).encode(errors="surrogateescape"))
    schema = weft.Schema(task="user", label="label", text=["body"])
    with pytest.raises(InputError, match=words):
        list(read_chunks(path, schema=schema))
    chunks = list(read_chunks(path, schema=schema, on_error="skip"))
    assert [fault.line for chunk in chunks for fault in chunk.skipped] == [2]
    assert sum(map(len, chunks)) == 2


def test_labels_that_are_numbers(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("user,x,y\nann,1,2.5\nbob,2,-1\n")
    schema = weft.Schema(task="user", label="y")
    model = weft.Model(loss="square", schema=schema)
    for stream in weft.read(path, schema):
        model.learn(stream)
    assert model.tally.total["events"] == 2
    path.write_text("user,x,y\nann,1,yes\n")
    with pytest.raises(InputError, match='field "y": "yes" is not a label for this learner; write a number'):
        list(read_chunks(path, schema=schema, target="real"))


def test_a_header_that_does_not_fit(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("user,txt,label\nann,a b,1\n")
    with pytest.raises(InputError, match=r"line 1: the header has no column 'text'.*; did you mean txt"):
        list(weft.read(path, task="user", label="label", text=["text"]))


def test_csv_values(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("user;a;b;c;d\n7;1,5;TRUE;nan;x\n007;.5;False;;2\n")
    [stream] = weft.read(path, task="user")
    assert stream.tasks == [7, "007"]
    assert stream.data.features == ["a", "b", "d=x", "d"]
    assert stream.X.toarray().tolist() == [[1.5, 1.0, 1.0, 0.0], [0.5, 0.0, 0.0, 2.0]]


def test_formats_without_fields(tmp_path):
    path = tmp_path / "e.svm"
    path.write_text("+1 qid:ann 1:1\n")
    with pytest.raises(InputError, match="svmlight has no fields"):
        list(weft.read(path, task="user"))


def test_without_a_schema_everything_is_as_before(tmp_path):
    path = tmp_path / "e.jsonl"
    path.write_text('{"task": "ann", "x": {"free": 1}, "y": 1}\n{"task": "ann", "x": {"free": 1}, "y": -1}\n')
    [stream] = weft.read(path)
    assert (stream.tasks, stream.y.tolist(), stream.schema) == (["ann", "ann"], [1.0, -1.0], None)


def test_rounds_and_nested_records(tmp_path):
    path = tmp_path / "e.jsonl"
    lines = [{"u": {"n": "a"}, "r": 1, "y": 0, "geo": {"lat": 1}}, {"u": {"n": "b"}, "r": 1, "y": 1, "v": [1, 2]}]
    write_jsonl(path, [*lines, {"u": {"n": "a"}, "r": 2, "y": 1}])
    [stream] = weft.read(path, task="u.n", label="y", round="r")
    assert stream.rounds.tolist() == [0, 2, 3]
    assert stream.data.features == ["geo.lat", "v[0]", "v[1]"]
    write_jsonl(path, [*lines, {"u": {"n": "a"}, "r": 1, "y": 1}])
    with pytest.raises(InputError, match="appears twice in round 1"):
        list(weft.read(path, task="u.n", label="y", round="r"))


def test_damaged_files_are_read_as_python_reads_their_lines():
    done, events, wrong = fuzz_records.fuzz(4000)
    assert wrong == []
    assert (done, events > 1000) == (4000, True)
