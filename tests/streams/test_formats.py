"""Good files of every format give the same events; chunks are cut between rounds."""

import gzip
import io
import json

import numpy as np
import pytest

import weft
from weft.streams import InputError, SourceChanged, read_chunks

EVENTS = [("ann", {"a": 1.0, "b": -2.5}, 1), ("bob", {"b": 4.0}, -1), (7, {}, 1), ("ann", {"c": 0.5}, -1)]


def write_jsonl(path, events, **extra):
    lines = [
        json.dumps({"task": t, "x": x, "y": y} | {k: v[i] for k, v in extra.items()})
        for i, (t, x, y) in enumerate(events)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def learned(path, **options):
    model = weft.Model("pa", C=0.5)
    for chunk in read_chunks(path, **options):
        model.learn(chunk.stream)
    return model


def test_jsonl_and_csv_hold_the_same_events(tmp_path):
    jsonl = write_jsonl(tmp_path / "e.jsonl", EVENTS)
    csv = tmp_path / "e.csv"
    csv.write_text("a,task,b,y,c\n1,ann,-2.5,1,\n,bob,4,-1,\n,7,,+1,\n,ann,0,-1.0,0.5\n")
    one, two = learned(jsonl), learned(csv)
    assert one.tasks == two.tasks == ["ann", "bob", 7]
    assert one.features == two.features == ["a", "b", "c"]
    assert np.array_equal(one.weights(), two.weights())
    assert one.tally.counts.tolist() == [2, 1, 1]


def test_svmlight_numbers_its_features_and_reads_the_task_from_qid(tmp_path):
    path = tmp_path / "e.svm"
    path.write_text("# head\n+1 qid:7 1:1.0 3:-2.5 # note\n-1 qid:ann 3:4\n\n1 qid:007\n")
    model = learned(path)
    assert model.tasks == [7, "ann", "007"]
    assert model.features == [0, 1, 2, 3]
    assert model.weights()[0].tolist() == pytest.approx([0.0, 1 / 7.25, 0.0, -2.5 / 7.25])


def test_lists_are_numbered_columns_and_list_names_are_tuples(tmp_path):
    path = tmp_path / "e.jsonl"
    path.write_text('{"task": ["eu", 3], "x": [1, 0, 2], "y": 1}\n\n{"task": [["a"], 1], "x": [0, 0, 1], "y": -1}\n')
    (chunk,) = read_chunks(path)
    assert chunk.tasks == [("eu", 3), (("a",), 1)]
    assert chunk.lines == [1, 3]
    assert learned(path).features == [0, 1, 2]


@pytest.mark.parametrize("ending", ["ndjson", "json", "JSONL"])
def test_endings_of_json_lines(tmp_path, ending):
    assert learned(write_jsonl(tmp_path / f"e.{ending}", EVENTS)).tally.total["events"] == 4


def test_gzip_and_standard_input(tmp_path, monkeypatch):
    plain = write_jsonl(tmp_path / "e.jsonl", EVENTS)
    packed = tmp_path / "e.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(plain.read_bytes())))
    expected = learned(plain).to_bytes()
    assert learned(packed).to_bytes() == learned("-").to_bytes() == expected


def test_a_cut_gzip_file_is_refused(tmp_path):
    path = tmp_path / "e.jsonl.gz"
    path.write_bytes(gzip.compress(write_jsonl(tmp_path / "e.jsonl", EVENTS * 500).read_bytes())[:-20])
    with pytest.raises(InputError, match=r"e\.jsonl\.gz: the gzip file is damaged or truncated"):
        list(read_chunks(path))


def test_byte_order_mark_and_windows_line_ends(tmp_path):
    path = tmp_path / "e.csv"
    path.write_bytes(b"\xef\xbb\xbftask,y,a\r\nann,1,2\r\nbob,-1,3\r\n")
    assert learned(path).tasks == ["ann", "bob"]
    lines = tmp_path / "e.jsonl"
    lines.write_bytes(b'\xef\xbb\xbf{"task": "ann", "x": {"a": 1}, "y": 1}\r\n')
    assert learned(lines).tasks == ["ann"]


@pytest.mark.parametrize("chunk", [1, 2, 3, 4, 5, 100])
def test_chunks_are_cut_between_rounds_and_cutting_is_invisible(tmp_path, chunk):
    rounds = [1, 1, 1, 1, 2, 5, 5, 3]
    events = [(f"t{i}", {"a": float(i + 1), "b": 1.0}, 1 if i % 2 else -1) for i in range(8)]
    path = write_jsonl(tmp_path / "e.jsonl", events, round=rounds)
    chunks = list(read_chunks(path, chunk=chunk))
    assert sum(c.stream.n_rounds for c in chunks) == 4
    assert [line for c in chunks for line in c.lines] == list(range(1, 9))
    assert learned(path, chunk=chunk).to_bytes() == learned(path).to_bytes()


def test_reading_goes_on_at_a_position(tmp_path):
    path = write_jsonl(tmp_path / "e.jsonl", [("t", [1.0 * i], 1) for i in range(10)])
    chunks = list(read_chunks(path, chunk=4))
    rest = list(read_chunks(path, chunk=4, start=chunks[0].position))
    assert [line for c in rest for line in c.lines] == [5, 6, 7, 8, 9, 10]
    assert rest[-1].position == chunks[-1].position
    assert list(read_chunks(path, start=chunks[-1].position)) == []
    with path.open("a") as file:
        file.write('{"task": "t", "x": [1, 2], "y": 1}\n')
    with pytest.raises(
        InputError, match=r'line 11, field "x": a list of 2 values, but the file began with a list of 1'
    ):
        list(read_chunks(path, start=chunks[-1].position))


def test_csv_keeps_its_header_when_reading_goes_on(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("task,y,a\nann,1,1\nann,-1,2\nbob,1,3\n")
    first = next(read_chunks(path, chunk=1))
    assert first.lines == [2]
    rest = list(read_chunks(path, start=first.position))
    assert [c.lines for c in rest] == [[3, 4]]


def test_a_changed_beginning_is_noticed(tmp_path):
    path = write_jsonl(tmp_path / "e.jsonl", EVENTS)
    position = next(read_chunks(path, chunk=2)).position
    path.write_text(path.read_text().replace("2.5", "2.6"))
    with pytest.raises(SourceChanged, match="has changed in the 2 lines"):
        list(read_chunks(path, start=position))


def test_labels_follow_the_target(tmp_path):
    real = write_jsonl(tmp_path / "r.jsonl", [("t", {"a": 1.0}, 3.25)])
    assert next(read_chunks(real, target="real")).labels.tolist() == [3.25]
    none = tmp_path / "n.jsonl"
    none.write_text('{"task": "t", "x": [1, 2]}\n')
    assert not next(read_chunks(none, target="point")).stream.has_labels
    assert np.isnan(next(read_chunks(none, labels=False)).labels).all()


def test_a_task_is_dormant_where_its_label_is_missing_in_a_round(tmp_path):
    path = tmp_path / "e.jsonl"
    path.write_text(
        '{"task": "a", "x": {"f": 1}, "y": 1, "round": 1}\n'
        '{"task": "b", "x": {"f": 1}, "y": null, "round": 1}\n'
        '{"task": "c", "x": {"f": 1}, "y": 0, "round": 1}\n{"task": "d", "x": {"f": 1}, "round": 1}\n'
    )
    assert learned(path).tally.counts.tolist() == [1, 0, 0, 0]


def test_names_with_colons_quotes_and_escapes(tmp_path):
    names = ['a":b', "w:1", 'x" :y', "plain"]
    path = write_jsonl(tmp_path / "e.jsonl", [("t", dict.fromkeys(names, 1.0), 1)])
    assert learned(path).features == names
