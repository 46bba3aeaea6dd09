"""Every malformed line is named by file, line, field, value and remedy; skip mode continues and lists it."""

import gzip

import pytest

from weft.streams import InputError, read_chunks

GOOD = {
    "jsonl": '{"task": "ann", "x": {"a": 1}, "y": 1}',
    "csv": "ann,1,1,2",
    "svm": "1 qid:ann 1:1",
}
HEAD = {"jsonl": "", "csv": "task,y,a,b\n", "svm": ""}

FAULTS = [
    ("jsonl", '{"task": "ann", "x": {"a": -1e200}, "y": 1}', 'field "x": 1e+200 is too large; scale values'),
    ("csv", "ann,1,1,2e180", 'field "x": 2e+180 is too large'),
    ("svm", "1 qid:ann 1:1 2:1e151", 'field "x": 1e+151 is too large'),
    (
        "jsonl",
        '{"task": "ann", "x": {"a": 1}, "y": "yes"}',
        'field "y": "yes" is not a label for this learner; classification takes two classes',
    ),
    (
        "jsonl",
        '{"task": "ann", "x": {"a": 1}, "y": [1]}',
        'field "y": [1] is not a number; write one of two classes',
    ),
    (
        "jsonl",
        '{"task": "ann", "x": {"a": 1}, "y": 2}',
        'field "y": 2 is not a label for this classifier; classification takes two classes',
    ),
    ("jsonl", '{"task": "ann", "x": {"a": 1}, "y": 0.5}', 'field "y": 0.5 is not a label for this classifier'),
    ("jsonl", '{"task": "ann", "x": {"a": 1}}', 'field "y": the label is missing; write one of two classes'),
    ("jsonl", '{"task": "ann", "x": {"a": 1}, "y": null}', 'field "y": the label is missing'),
    ("jsonl", '{"task": "ann", "x": {"a": "b"}, "y": 1}', 'field "x.a": "b" is not a number; write a number'),
    ("jsonl", '{"task": "ann", "x": {"a": true}, "y": 1}', 'field "x.a": true is not a number'),
    ("jsonl", '{"task": "ann", "x": {"a": null}, "y": 1}', 'field "x.a": null is not a number'),
    ("jsonl", '{"task": "ann", "x": {"a": NaN}, "y": 1}', "NaN is not JSON; leave the feature out"),
    ("jsonl", '{"task": "ann", "x": {"a": -Infinity}, "y": 1}', "-Infinity is not JSON"),
    (
        "jsonl",
        '{"task": "ann", "x": {"a": 1e999}, "y": 1}',
        'field "x.a": a number beyond 1.8e308 is too large',
    ),
    ("jsonl", '{"task": "ann", "x": "a", "y": 1}', 'field "x": "a" is not a row; write'),
    (
        "jsonl",
        '{"task": "ann", "x": [1, 2], "y": 1}',
        'field "x": a list of 2 values, but the file began with named',
    ),
    ("jsonl", '{"task": 1.5, "x": {"a": 1}, "y": 1}', 'field "task": 1.5 is not a name; write a string'),
    ("jsonl", '{"task": true, "x": {"a": 1}, "y": 1}', 'field "task": true is not a name'),
    ("jsonl", '{"task": [], "x": {"a": 1}, "y": 1}', 'field "task": [] is not a name'),
    ("jsonl", '{"task": ["a", 0.5], "x": {"a": 1}, "y": 1}', 'field "task": 0.5 is not a name'),
    ("jsonl", '{"x": {"a": 1}, "y": 1}', 'field "task": is missing in'),
    ("jsonl", '{"task": "ann", "y": 1}', 'field "x": is missing'),
    (
        "jsonl",
        '{"task": "ann", "x": {"a": 1}, "y": 1, "label": 1}',
        'field "label": unknown field with value 1',
    ),
    ("jsonl", '{"task": "ann", "x": {"a": 1, "a": 2}, "y": 1}', 'field "x": "a" appears twice; keep one'),
    ("jsonl", '{"task": "ann", "x": {"a": 1}, "y": 1, "y": -1}', 'field "y": "y" appears twice'),
    (
        "jsonl",
        '{"task": "ann", "x": {"a": 1}, "y": 1, "round": 1}',
        'field "round": 1, but the file began without',
    ),
    ("jsonl", '{"task": "ann", "x": {"a": 1}, "y": 1, "round": 1.5}', 'field "round": 1.5 is not a round'),
    ("jsonl", "[1, 2]", '[1, 2] is not an event; write {"task"'),
    ("jsonl", '{"task": "ann", "x": {"a": 1}, "y', "the line ends in the middle of an event"),
    ("jsonl", '{"task": "ann" "x": 1}', "not JSON at column 16"),
    ("jsonl", GOOD["jsonl"] + GOOD["jsonl"], "not JSON at column"),
    ("jsonl", "[" * 100_000, "nested too deeply"),
    ("jsonl", '{\0"task": "ann", "x": {"a": 1}, "y": 1}', "not JSON at column 2"),
    ("jsonl", '{\0"\0\udcff\0', "the line is not UTF-8"),  # as UTF-16 it would be the beginning of an object
    ("jsonl", '{\0"\0\udcff\0a', "the line is not UTF-8"),
    ("csv", "ann,yes,1,2", 'field "y": "yes" is not a number; write one of two classes, such as -1 and +1'),
    ("csv", "ann,3,1,2", 'field "y": 3 is not a label for this classifier; classification takes two classes'),
    ("csv", "ann,,1,2", 'field "y": the label is missing'),
    ("csv", "ann,nan,1,2", 'field "y": "nan" is not finite'),
    ("csv", "ann,1,x,2", 'field "a": "x" is not a number; write a number, or leave the cell empty'),
    ("csv", "ann,1,1,inf", 'field "b": "inf" is not finite'),
    ("csv", "ann,1,1", "3 cells, the header has 4; fill or remove cells"),
    ("csv", "ann,1,1,2,3", "5 cells, the header has 4"),
    ("csv", 'an"n,1,1,2', "a quoted cell is not closed on its line"),
    ("csv", ",1,1,2", 'field "task": the task is missing'),
    ("svm", "yes qid:ann 1:1", 'field "y": "yes" is not a number; write one of two classes, such as -1 and +1'),
    ("svm", "nan qid:ann 1:1", 'field "y": "nan" is not finite'),
    ("svm", "3 qid:ann 1:1", 'field "y": 3 is not a label'),
    ("svm", "1 1:1", 'field "qid": "1:1" instead of the task; write label qid:TASK'),
    ("svm", "1", 'field "qid": nothing instead of the task'),
    ("svm", "1 qid:ann 1:x", 'field "1": "x" is not a number'),
    ("svm", "1 qid:ann 1:inf", 'field "1": "inf" is not finite'),
    ("svm", "1 qid:ann 1:1 1:2", 'field "1": the feature appears twice, again with "2"; add the values up'),
    ("svm", "1 qid:ann a:1", '"a:1" is not a feature; write index:value'),
    ("svm", "1 qid:ann 1:2:3 4", '"1:2:3" is not a feature'),
    ("svm", "1 qid:ann 99999999999:1", "is too large; write indices below"),
    ("svm", "1 qid:ann 99999999999999999999:1", "is too large"),
]


def write(tmp_path, ending, bad):
    path = tmp_path / f"events.{ending}"
    text = HEAD[ending] + "\n".join([GOOD[ending]] * 15 + ["", bad, GOOD[ending]]) + "\n"
    path.write_bytes(text.encode(errors="surrogateescape"))
    return path, 17 + HEAD[ending].count("\n")


@pytest.mark.parametrize(("ending", "bad", "message"), FAULTS, ids=range(len(FAULTS)))
def test_a_bad_line_is_named(tmp_path, ending, bad, message):
    path, line = write(tmp_path, ending, bad)
    with pytest.raises(InputError) as caught:
        list(read_chunks(path))
    text = str(caught.value)
    assert text.startswith(f"{path}, line {line}")
    assert message in text
    assert ";" in text  # the remedy
    assert "\n" not in text


@pytest.mark.parametrize(("ending", "bad", "message"), FAULTS, ids=range(len(FAULTS)))
@pytest.mark.parametrize("chunk", [1, 4096])
def test_a_bad_line_is_skipped_and_listed(tmp_path, ending, bad, message, chunk):
    path, line = write(tmp_path, ending, bad)
    chunks = list(read_chunks(path, on_error="skip", chunk=chunk))
    assert sum(map(len, chunks)) == 16
    (fault,) = [fault for chunk in chunks for fault in chunk.skipped]
    assert fault.line == line
    assert message in str(fault)


def test_bytes_that_are_not_utf8(tmp_path):
    for ending, good in GOOD.items():
        path = tmp_path / f"e.{ending}"
        path.write_bytes(f"{HEAD[ending]}{good}\n".encode() + good.replace("ann", "ä").encode("latin-1") + b"\n")
        with pytest.raises(InputError, match="the line is not UTF-8; write the file in UTF-8"):
            list(read_chunks(path))


def test_half_a_line_at_the_end(tmp_path):
    path = tmp_path / "e.jsonl"
    path.write_text(f"{GOOD['jsonl']}\n{GOOD['jsonl'][:20]}")
    with pytest.raises(InputError, match="line 2: the line ends in the middle of an event"):
        list(read_chunks(path))


@pytest.mark.parametrize("text", ["", "\n\n"])
@pytest.mark.parametrize("ending", ["jsonl", "csv", "svm"])
def test_an_empty_file(tmp_path, ending, text):
    path = tmp_path / f"e.{ending}"
    path.write_text(text)
    with pytest.raises(InputError, match="the stream is empty; give at least one event"):
        list(read_chunks(path))


def test_nothing_but_bad_lines(tmp_path):
    path = tmp_path / "e.jsonl"
    path.write_text("one\ntwo\n")
    with pytest.raises(InputError, match=r"all 2 lines were skipped.*line 1"):
        list(read_chunks(path, on_error="skip", chunk=1))


def test_bad_lines_at_the_end_are_listed_too(tmp_path):
    path = tmp_path / "e.jsonl"
    path.write_text(f"{GOOD['jsonl']}\none\ntwo\n")
    chunks = list(read_chunks(path, on_error="skip", chunk=1))
    assert [fault.line for chunk in chunks for fault in chunk.skipped] == [2, 3]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("user,y,a", 'field "task": no such column in the header (user, y, a); name the task'),
        ("task,label,a", 'field "y": no such column in the header (task, label, a); name the label'),
        ("task,y,a,a", 'the column "a" appears twice in the header'),
        ("task,y,,a", "a column has no name in the header"),
    ],
)
def test_bad_headers(tmp_path, header, message):
    path = tmp_path / "e.csv"
    path.write_text(f"{header}\nann,1,2,3\n")
    with pytest.raises(InputError) as caught:
        list(read_chunks(path))
    assert f"{path}, line 1" in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("rounds", "message"),
    [
        (
            [1, 2, 1],
            'line 3, field "round": round 1 has ended already; put the rows of one round next to each other',
        ),
        (
            [1, 1, 2],
            'line 2, field "task": "ann" appears twice in round 1; give its events rounds of their own',
        ),
        ([1, None, 2], 'line 2, field "round": is missing, but the file began with rounds'),
    ],
)
@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_bad_rounds(tmp_path, rounds, message, chunk):
    path = tmp_path / "e.jsonl"
    lines = [GOOD["jsonl"] if r is None else f'{{"round": {r}, {GOOD["jsonl"][1:]}' for r in rounds]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError) as caught:
        list(read_chunks(path, chunk=chunk))
    assert message in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file nowhere\.jsonl; give a file of events"):
        list(read_chunks("nowhere.jsonl"))
    (tmp_path / "e.txt").write_text("what is this\n")
    with pytest.raises(InputError, match=r"cannot tell the format from the ending '\.txt'; give --format jsonl, csv"):
        list(read_chunks(tmp_path / "e.txt"))
    with pytest.raises(ValueError, match="unknown format 'xml'; choose one of"):
        list(read_chunks(tmp_path / "e.txt", "xml"))
    folder = tmp_path / "e.jsonl"
    folder.mkdir()
    with pytest.raises(InputError, match="is a folder; give a file"):
        list(read_chunks(folder))
    fake = tmp_path / "f.jsonl.gz"
    fake.write_text("no gzip")
    with pytest.raises(InputError, match="the gzip file is damaged"):
        list(read_chunks(fake))
    empty = tmp_path / "g.jsonl.gz"
    empty.write_bytes(gzip.compress(b""))
    with pytest.raises(InputError, match="the stream is empty"):
        list(read_chunks(empty))
