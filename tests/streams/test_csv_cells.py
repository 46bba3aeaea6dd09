"""Cells of CSV: where a record ends."""

import pytest

import weft
from command_line import weft_command
from weft.streams import read_chunks
from weft.streams.csv_cells import Cells

__all__ = ["weft_command"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"a,b\n", True),
        (b'a,"b"\n', True),
        (b'a,"b\n', False),
        (b'a,"b\nc"\n', True),
        (b'a,"b ""c""\n', False),  # the last quotes are doubled, and close nothing
        (b'a,"b ""c""\nd",e\n', True),
        (b'a,"b""\n', False),
        (b'a,b"c\n', True),
    ],
)
def test_where_a_record_ends(text, expected):
    cells, goes_on = Cells(",", None), False
    for line in text.splitlines(keepends=True):
        goes_on = cells.is_open(line, goes_on)
    assert goes_on is not expected


@pytest.mark.parametrize("content", [b"x,1,2\n", b"\n", b'"",""\n', b'x,1,"a ""b"""\n'])
@pytest.mark.parametrize("command", ["learn", "pack"])
def test_where_a_record_ends_is_found_in_linear_time(weft_command, tmp_path, monkeypatch, content, command):
    """A cell that is not closed on its line, and half a million bytes behind it; in plain Python too."""
    path = tmp_path / "e.csv"
    path.write_bytes(b'task,y,a\nann,1,1\n"open,1,2\n' + content * (1 + (1 << 19) // len(content)))
    read, real = 0, Cells.is_open

    def counted(cells, line, was_open=False):
        nonlocal read
        read += len(line)
        return real(cells, line, was_open)

    monkeypatch.setattr(Cells, "is_open", counted)
    monkeypatch.setattr("weft.streams.scanners.PLAIN", True)
    options = ["--model", "m.weft", "--learner", "pa"] if command == "learn" else ["--out", "e.weftpack"]
    result = weft_command(command, path, *options, code=2)
    assert "line 3" in result.stderr
    assert 0 < read <= 4 * path.stat().st_size


@pytest.mark.parametrize(
    ("separator", "decimal", "text", "expected"),
    [
        (None, None, "task;y;a\nann;1;1,5\n", 1.5),
        (";", ".", "task;y;a\nann;1;2.5\n", 2.5),
        ("\t", ",", "task\ty\ta\nann\t1\t1,5\n", 1.5),
        ("~", None, "task~y~a\nann~1~3\n", 3.0),
    ],
)
@pytest.mark.parametrize("schema", [None, weft.Schema(task="task", label="y")])
def test_separator_and_decimal_point_may_be_given(tmp_path, separator, decimal, text, expected, schema):
    path = tmp_path / "e.csv"
    path.write_text(text)
    [chunk] = read_chunks(path, separator=separator, decimal=decimal, schema=schema)
    assert [{"a": expected}] == chunk.X


def test_what_is_not_a_separator(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("task,y\na,1\n")
    with pytest.raises(ValueError, match="the separator '::' is not one ASCII character"):
        list(read_chunks(path, separator="::"))


SCHEMA = weft.Schema(task="user", label="label")


def test_a_decimal_comma_is_told_to_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('user,age,label\nann,"1,5",1\nbob,"-2,25",0\n')
    [stream] = weft.read(path, SCHEMA, decimal=",")
    assert (stream.data.features, stream.X.toarray().ravel().tolist()) == (["age"], [1.5, -2.25])
    [stream] = weft.read(path, SCHEMA)
    assert stream.data.features == ["age=1,5", "age=-2,25"]
    with pytest.raises(ValueError, match=r'line 2, field "age": "1,5" is not a number; .* --decimal ,'):
        list(weft.read(path, task="user", label="label", numeric=["age"]))
    path.write_text("user~age~label\nann~1,5~1\n")
    [stream] = weft.read(path, SCHEMA, separator="~", decimal=",")
    assert stream.data.features == ["age"]
