"""Labels: one rule for files, streams and single events, which is applied once."""

import math
from fractions import Fraction

import numpy as np
import pytest

import weft
from weft import labels
from weft.labels import LARGEST_LABEL, one_label, scalar_label, wrong_labels
from weft.stream import Stream
from weft.streams import read_chunks


@pytest.mark.parametrize(
    ("y", "expected"),
    [(1, 1.0), (-2.5, -2.5), (np.float32(0.5), 0.5), (np.int8(3), 3.0), (Fraction(1, 4), 0.25)],
)
def test_scalar_label(y, expected):
    assert scalar_label(y) == expected
    assert type(scalar_label(y)) is float


Y = np.array([1.0, -1.0, 0.0, 0.5, math.nan, math.inf, 1e100, -1.1e100])


@pytest.mark.parametrize(
    ("target", "options", "wrong"),
    [
        ("binary", {"dormant": False}, [2, 3, 4, 5, 6, 7]),
        ("binary", {"dormant": True}, [3, 5, 6, 7]),
        ("binary", {"dormant": False, "missing": True}, [2, 3, 5, 6, 7]),
        ("real", {"dormant": False}, [4, 5, 7]),
        ("real", {"dormant": True}, [5, 7]),
        ("real", {"dormant": False, "missing": True}, [5, 7]),
        ("point", {"dormant": False}, []),
    ],
)
def test_wrong_labels(target, options, wrong):
    assert np.flatnonzero(wrong_labels(Y, target, **options)).tolist() == wrong


def test_a_stream_and_a_reader_refuse_the_same(tmp_path):
    """Every label on its own, as a row of a stream and as a line of a file."""
    for y in Y.tolist():
        path = tmp_path / "events.csv"
        path.write_text(f"task,y,x\nann,{y:g},1\n")
        for target in ("binary", "real"):
            with_stream = with_file = True
            try:
                Stream([[1.0]], [y], "ann").labels(target)
            except ValueError:
                with_stream = False
            try:
                next(read_chunks(path, target=target)).stream.labels(target)
            except ValueError:
                with_file = False
            assert with_stream == with_file


@pytest.fixture
def checks(monkeypatch):
    """How often labels were checked against a kind of target."""
    counted = []
    for home in ("weft.stream.wrong_labels", "weft.streams.records.wrong_labels"):
        monkeypatch.setattr(home, lambda *a, **k: counted.append(a[1]) or wrong_labels(*a, **k))
    monkeypatch.setattr("weft.single_events.one_label", lambda *a: counted.append(a[1]) or one_label(*a))
    return counted


def test_labels_of_a_file_are_checked_once(tmp_path, checks):
    path = tmp_path / "events.csv"
    path.write_text("task,y,x\nann,1,1\nbob,-1,2\n")
    model = weft.Model("perceptron")
    for chunk in read_chunks(path):
        model.learn(chunk.stream)
    assert model.tally.total["events"] == 2
    assert checks == ["binary"]


def test_a_file_that_was_read_for_numbers_is_checked_for_classes(tmp_path, checks):
    path = tmp_path / "events.csv"
    path.write_text("task,y,x\nann,1,1\nbob,0.5,2\n")
    chunk = next(read_chunks(path, target="real"))
    with pytest.raises(ValueError, match=r"row 1: label 0\.5; classification takes -1 and"):
        weft.Model("perceptron").learn(chunk.stream)
    assert checks == ["real", "binary"]


def test_labels_of_a_stream_are_checked_once_per_use(checks):
    stream = Stream([[1.0], [2.0]], [1, -1], "ann")
    weft.Model("perceptron").learn(stream.take(np.array([1, 0])))
    assert checks == ["binary"]


@pytest.mark.parametrize("x", [{"a": 1.0}, [1.0], np.array([2.0])], ids=str)
def test_the_label_of_an_event_is_checked_once(x, checks):
    model = weft.Model("perceptron")
    model.learn_one(x, np.int64(1), "ann")
    assert checks == ["binary"]
    with pytest.raises(ValueError, match=r"label 3; classification takes -1 and \+1 \(map 0/1"):
        model.learn_one(x, 3, "ann")


def test_a_file_to_be_scored_may_lack_labels(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("task,y,x\nann,,1\n")
    chunk = next(read_chunks(path, labels=False))
    assert np.isnan(chunk.labels[0])
    with pytest.raises(ValueError, match="row 0: label nan; give a label, or leave the row out"):
        _ = chunk.stream
    assert labels.CLASSES.startswith("classification")


@pytest.mark.parametrize("y", [1.1e100, -1e155, 1e308, 10**200])
def test_labels_that_are_too_large(y, tmp_path):
    """A stream, an event and a file name the row, the value and what to do; nothing is learned."""
    model = weft.Model("mt-ogd", loss="square")
    model.learn_one({"a": 1.0}, LARGEST_LABEL, "ann")
    before = model.to_bytes()
    with pytest.raises(ValueError, match=r"row 1: label .*e\+.*1e\+100, scale them"):
        model.learn(Stream([[1.0], [1.0]], [1.0, y], "ann"))
    with pytest.raises(ValueError, match=r"too large; labels lie within -1e\+100 .. 1e\+100, scale them"):
        model.learn_one({"a": 1.0}, y, "ann")
    path = tmp_path / "events.csv"
    path.write_text(f"task,y,x\nann,1,1\nann,{y:g},1\n")
    with pytest.raises(ValueError, match=r"line 3.*too large; labels lie within"):
        list(read_chunks(path, target="real"))
    assert model.to_bytes() == before
