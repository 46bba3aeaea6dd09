"""Stated limits, odd input and hostile files: refused by line, in bounded time and memory."""

import gzip
import json
import subprocess
import sys
import time

import pytest

from weft.streams import InputError, read_chunks
from weft.streams.blocks import LONGEST_LINE

GOOD = {
    "jsonl": '{"task": "ann", "x": {"a": 1}, "y": 1}',
    "csv": "ann,1,1,2",
    "svm": "1 qid:ann 1:1",
    "vw": "1 'ann |x a:1",
}
HEAD = {"csv": "task,y,a,b\n"}
LONG = "9" * 5000

REFUSED = [
    ("csv", "ann,1,1," + "x" * 200_000, "field larger than field limit"),
    ("csv", "ann,1,1_000,2", 'field "a": "1_000" is not a number'),
    ("csv", "ann,1,٣,2", 'field "a": "٣" is not a number'),
    ("csv", f"{LONG},1,1,2", "an integer of 5000 digits"),
    ("csv", "ann,1,0x10,2", 'field "a": "0x10" is not a number'),
    ("svm", "1 qid:ann 1:1_000", 'field "1": "1_000" is not a number'),
    ("svm", "1 qid:ann 1:٣", 'field "1": "٣" is not a number'),
    ("svm", "1 qid:ann ٣:1", '"٣:1" is not a feature'),
    ("svm", "1_0 qid:ann 3:1", '"1_0" is not a number'),
    ("svm", f"1 qid:{LONG} 3:1", "an integer of 5000 digits"),
    ("svm", f"1 qid:ann {LONG}:1", "is too large; write indices below"),
    ("jsonl", '{"task": ' + "[" * 50 + '"a"' + "]" * 50 + ', "x": {}, "y": 1}', "a list within 16 others"),
    ("jsonl", '{"task": ' + "[" * 90_000 + '"a"' + "]" * 90_000 + ', "x": {}, "y": 1}', "nested too deeply"),
    ("jsonl", '{"task": "a", "x": ' + "[" * 90_000 + "]" * 90_000 + ', "y": 1}', "nested too deeply"),
    ("jsonl", '{"task": ' + LONG + ', "x": {}, "y": 1}', "digits"),
    ("jsonl", '{"task": ' + LONG[:1500] + ', "x": {}, "y": 1}', "an integer of more than 1000 digits"),
    ("jsonl", '{"task": "a", "x": {"a": ' + LONG + '}, "y": 1}', "digits"),
    ("jsonl", '{"task": "a", "x": {"a": 1_000}, "y": 1}', "not JSON at column"),
    ("vw", "1 'ann |x a:1_000", 'field "a": "1_000" is not a number'),
    ("vw", "1 'ann |x a:٣", 'field "a": "٣" is not a number'),
    ("vw", f"1 '{LONG} |x a", "an integer of 5000 digits"),
    ("vw", "1 |x a:1", 'field "task": the task is missing; write it as the tag'),
    ("vw", "1 'ann a:1", "has no bar; write label 'TASK | name:value"),
    ("vw", "1 -2.5 'ann |x a:1", 'field "importance weight": -2.5 is not a weight; write a number from 0 to 1e+06'),
    ("vw", "1 x 'ann |x a:1", 'field "importance weight": "x" is not a number; write a number from 0 on'),
    ("vw", "yes 'ann |x a:1", 'field "y": "yes" is not a number'),
    ("vw", "1 'ann |x :1", '":1" is a feature without a name'),
    ("vw", "3 'ann |x a", 'field "y": 3 is not a label'),
    ("vw", "1 'ann |x a:1e151", 'field "x": 1e+151 is too large'),
    ("vw", "1 |task a b |x c", '"a b" is not one task'),
]


def write(tmp_path, ending, bad):
    path = tmp_path / f"events.{ending}"
    path.write_text(HEAD.get(ending, "") + "\n".join([GOOD[ending]] * 15 + ["", bad, GOOD[ending]]) + "\n")
    return path, 17 + HEAD.get(ending, "").count("\n")


@pytest.mark.parametrize(("ending", "bad", "message"), REFUSED, ids=range(len(REFUSED)))
def test_odd_input_is_refused_by_its_line(tmp_path, ending, bad, message):
    path, line = write(tmp_path, ending, bad)
    with pytest.raises(InputError) as caught:
        list(read_chunks(path))
    assert str(caught.value).startswith(f"{path}, line {line}")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500
    chunks = list(read_chunks(path, on_error="skip"))
    assert sum(map(len, chunks)) == 16
    assert [fault.line for chunk in chunks for fault in chunk.skipped] == [line]


@pytest.mark.parametrize("ending", ["jsonl", "csv", "svm", "vw"])
@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_all_line_ends_are_read(tmp_path, ending, end):
    path = tmp_path / f"e.{ending}"
    lines = [*HEAD.get(ending, "").splitlines(), *[GOOD[ending]] * 5]
    path.write_bytes(end.join(lines).encode())
    (chunk,) = read_chunks(path)
    assert chunk.tasks == ["ann"] * 5
    assert chunk.lines[-1] == len(lines)


def test_a_carriage_return_at_the_end_of_a_piece(tmp_path, monkeypatch):
    """What follows a carriage return decides what it is, and may not have been read yet."""
    line = GOOD["jsonl"].encode()
    path = tmp_path / "e.jsonl"
    for end in (b"\r\n", b"\r"):
        path.write_bytes((line + end) * 20)
        for size in range(len(line) - 1, len(line) + 4):
            monkeypatch.setattr("weft.streams.blocks.BLOCK", size)
            assert [n for chunk in read_chunks(path) for n in chunk.lines] == list(range(1, 21))


def test_a_cell_may_hold_line_breaks_within_quotes(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text('task,y,a\nann,1,1\n"two\nlines",1,2\nann,-1,3\n"q""uote",1,"4"\n')
    chunks = list(read_chunks(path, chunk=1))
    assert [task for chunk in chunks for task in chunk.tasks] == ["ann", "two\nlines", "ann", 'q"uote']
    assert [line for chunk in chunks for line in chunk.lines] == [2, 3, 5, 6]
    for chunk in chunks:
        rest = [line for later in read_chunks(path, start=chunk.position) for line in later.lines]
        assert rest == [line for line in [2, 3, 5, 6] if line > chunk.lines[-1]]


def test_a_quote_that_is_never_closed(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text('task,y,a\nann,1,1\n"open,1,2\nann,-1,3\n')
    with pytest.raises(InputError, match="line 3: a quoted cell is not closed on its line"):
        list(read_chunks(path))
    (chunk,) = read_chunks(path, on_error="skip")
    assert chunk.lines == [2, 4]


def test_separators_and_decimal_commas(tmp_path):
    path = tmp_path / "e.csv"
    for separator, value in ((";", "1,5"), ("\t", "1.5"), ("|", "1.5"), (",", "1.5")):
        path.write_text(separator.join(["a", "task", "y"]) + "\n" + separator.join([value, "ann", "1"]) + "\n")
        (chunk,) = read_chunks(path)
        assert chunk.X == [{"a": 1.5}]


def test_a_long_line_is_refused_in_bounded_memory(tmp_path):
    path = tmp_path / "bomb.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(GOOD["jsonl"].encode() + b"\n")
        for _ in range(150):
            file.write(b"x" * (1 << 20))
        file.write(b"\n" + GOOD["jsonl"].encode() + b"\n")
    code = (
        "import resource, sys\n"
        "from weft.streams import InputError, read_chunks\n"
        "list(read_chunks(sys.argv[2]))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n    list(read_chunks(sys.argv[1]))\nexcept InputError as error:\n    print(error)\n"
        "chunks = list(read_chunks(sys.argv[1], on_error='skip'))\n"
        "print([c.lines for c in chunks], [f.line for c in chunks for f in c.skipped])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    small = tmp_path / "small.jsonl"
    small.write_text(GOOD["jsonl"] + "\n")
    done = subprocess.run([sys.executable, "-c", code, path, small], capture_output=True, text=True, check=True)
    error, found, memory = done.stdout.splitlines()
    assert f"line 2: the line is longer than {LONGEST_LINE:,} bytes" in error
    assert found == "[[1], [3]] [2]"
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(memory) * unit < 120 << 20


def test_a_wide_header_takes_linear_time(tmp_path):
    path = tmp_path / "e.csv"
    names = [f"column {i}" for i in range(60_000)]
    path.write_text(",".join(["task", "y", *names]) + "\nann,1" + ",1" * len(names) + "\n")
    began = time.process_time()
    (chunk,) = read_chunks(path)
    assert time.process_time() - began < 5.0  # by comparing all pairs: a minute
    assert len(chunk.events.indices) == 60_000


def test_rounds_that_come_back_after_a_resume_are_refused(tmp_path):
    path = tmp_path / "e.jsonl"
    rounds = [1, 1, 2, 3, 1]
    lines = [json.dumps({"task": i, "x": {"a": 1}, "y": 1, "round": r}) for i, r in enumerate(rounds)]
    path.write_text("\n".join(lines) + "\n")
    first = next(read_chunks(path, chunk=2))
    with pytest.raises(InputError, match=r"line 5.*round 1 has ended already"):
        list(read_chunks(path, start=first.position))


def test_formats_are_recognised_by_their_content(tmp_path):
    for name, text in {
        "a.txt": GOOD["jsonl"],
        "b.data": "1 qid:ann 1:1",
        "c": "1 'ann |x a:1",
        "d.dat": "task,y,a\nann,1,1",
        "e.log": "task\ty\ta\nann\t1\t1",
    }.items():
        (tmp_path / name).write_text(text + "\n")
        (chunk,) = read_chunks(tmp_path / name)
        assert chunk.tasks == ["ann"], name


def test_values_of_a_name_that_appears_twice_are_added_up_in_vw(tmp_path):
    path = tmp_path / "e.vw"
    path.write_text("1 'ann | the cat the:0.5 |x the |other the |half:0.5 dog:3\n" * 2)
    (chunk,) = read_chunks(path)
    assert chunk.X == [{"the": 2.5, "cat": 1.0, "other^the": 1.0, "half^dog": 1.5}] * 2
    path.write_text("1 1 bob|x a\n1 |user carl |x a\n")
    assert [task for chunk in read_chunks(path, task_column="user") for task in chunk.tasks] == ["bob", "carl"]


def test_a_large_index_costs_no_memory(tmp_path):
    """An array over all columns up to this one would have 16 GB."""
    import weft

    path = tmp_path / "e.svm"
    path.write_text("1 qid:ann 1:1 2:1\n")
    model = weft.Model("pa")
    for chunk in read_chunks(path):
        model.learn(chunk.stream)
    path.write_text("1 qid:ann 1:1 2147483647:1\n1 qid:ann 1:1\n")
    (chunk,) = read_chunks(path)
    scores = model.score(chunk.unlabelled)
    assert scores[0] == scores[1] != 0.0


SHORTEST = [
    ("csv", "task\n", "a\n"),
    ("csv", "task\n", " \n"),
    ("csv", "task,a\n", "a,\n"),
    ("csv", "a,task\n", "1,b\n"),
    ("vw", "", "'a|\n"),
    ("vw", "", "'a| b c\n"),
    ("svm", "", "1 qid:a\n"),
    ("svm", "", "1 qid:a 1:1 2:2\n"),
    ("jsonl", "", '{"x":{},"task":1}\n'),
]


@pytest.mark.parametrize(("ending", "head", "line"), SHORTEST, ids=range(len(SHORTEST)))
def test_the_shortest_lines_fit_the_columns(tmp_path, ending, head, line):
    """Compiled code checks no bounds: a block of nothing but such lines must have room."""
    path = tmp_path / f"e.{ending}"
    count = 1_100_000 // len(line)
    path.write_text(head + line * count + ("a\n" if line == " \n" else ""))
    seen = sum(map(len, read_chunks(path, labels=False, target="real", chunk=1 << 20)))
    assert seen == (1 if line == " \n" else count)


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    path = tmp_path / "e.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"need the package pyarrow; install it with pip install 'weft\[arrow\]'"):
        list(read_chunks(path))


def test_without_zstandard_the_extra_is_named(tmp_path, monkeypatch):
    path = tmp_path / "e.jsonl.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(InputError, match=r"needs the package zstandard; install it with pip install 'weft\[zstd\]'"):
        list(read_chunks(path))
