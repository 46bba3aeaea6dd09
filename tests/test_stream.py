"""Streams: taking, cutting, shuffling, sharing rows."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

import weft
from contracts.streams import make_events
from weft import Stream
from weft.storage.events import read_tasks

VIEWS = [("single", "named"), ("rounds", "dense"), ("rounds", "sparse"), ("shared", "shared")]


def content(stream):
    """Examples as a reader sees them: round, task, label, row by feature name."""
    names = range(stream.data.width) if isinstance(stream.data.features, int) else stream.data.features
    rows = stream.X.toarray()[stream.row]
    which = np.repeat(np.arange(stream.n_rounds), np.diff(stream.rounds))
    named = [{names[f]: row[f] for f in np.flatnonzero(row)} for row in rows]
    return list(zip(which.tolist(), stream.tasks, map(str, stream.y), named, strict=True))


def shifted(examples, by):
    return [(t + by, *rest) for t, *rest in examples]


@pytest.mark.parametrize(("kind", "form"), VIEWS)
def test_cutting_and_joining(kind, form):
    stream = make_events("binary", kind, form, seed=1).stream()
    edges = [0, 1, 7, 7, 20, stream.n_rounds]
    joined = []
    for a, b in pairwise(edges):
        piece = stream.cut(a, b)
        assert piece.n_rounds == b - a
        assert list(dict.fromkeys(piece.tasks)) == piece.task_names  # slots do not depend on the cut
        joined += shifted(content(piece), a)
    assert joined == content(stream)
    assert stream.cut(0, stream.n_rounds) is stream


@pytest.mark.parametrize(("kind", "form"), VIEWS)
def test_taking_in_any_order(kind, form):
    stream = make_events("real", kind, form, seed=2).stream()
    whole = content(stream)
    rng = np.random.default_rng(3)
    for order in ([5], [3, 1, 2], [0, 9, 20], rng.permutation(stream.n_rounds), [4, 4, 4]):
        piece = stream.take(np.array(order))
        expected = [(at, *rest) for at, t in enumerate(order) for when, *rest in whole if when == t]
        assert content(piece) == expected
        again = piece.take(np.arange(piece.n_rounds)[::-1])
        assert content(again) == content(stream.take(np.array(order)[::-1]))


def test_taking_copies_no_names_and_no_more_rows_than_it_must():
    stream = Stream(np.eye(100), np.ones(100), np.arange(100))
    piece = stream.cut(10, 12)
    assert piece.data.length == 2
    assert piece.task_names == [10, 11]


@pytest.mark.parametrize("edges", [(-1, 3), (3, 2), (0, 99), (1, 37), (37, 37)])
def test_cuts_outside(edges):
    stream = make_events("binary", "single", "dense", seed=1).stream()
    assert stream.n_rounds == 36
    with pytest.raises(ValueError, match="36 rounds"):
        stream.cut(*edges)


def test_shuffling():
    stream = make_events("binary", "rounds", "named", seed=4).stream()
    one, other = stream.shuffled(1), stream.shuffled(1)
    assert content(one) == content(other)
    assert content(one) != content(stream.shuffled(2))
    strip = lambda examples: sorted(repr(rest) for _, *rest in examples)  # noqa: E731
    assert strip(content(one)) == strip(content(stream))
    assert sorted(np.diff(one.rounds)) == sorted(np.diff(stream.rounds))


def test_shared_is_rounds_of_equal_rows():
    rng = np.random.default_rng(5)
    X, Y = rng.integers(-1, 2, (6, 4)), rng.integers(-1, 2, (6, 3))
    shared = Stream.shared(X, Y, ["a", "b", 7])
    rounds = Stream(np.repeat(X, 3, 0), Y.ravel(), ["a", "b", 7] * 6, np.repeat(np.arange(6), 3))
    assert content(shared) == content(rounds)
    assert shared.data.length == 6
    assert np.array_equal(shared.labels("binary"), rounds.labels("binary"), equal_nan=True)
    assert content(Stream.shared(sparse.csr_array(X), Y, ["a", "b", 7])) == content(shared)


def test_labels_of_each_kind():
    rounds = Stream([[1.0]] * 4, [1, 0, np.nan, -1], list("abcd"), rounds=[0] * 4)
    assert np.array_equal(rounds.labels("binary"), [1, np.nan, np.nan, -1], equal_nan=True)
    assert np.array_equal(rounds.labels("real"), [1, 0, np.nan, -1], equal_nan=True)
    assert np.array_equal(rounds.labels("point"), [0, 0, np.nan, 0], equal_nan=True)
    assert Stream([[1.0]] * 2, None, "a").labels("point").tolist() == [0.0, 0.0]
    assert rounds.y.tolist()[:2] == [1.0, 0.0]  # what was given is not changed


def test_rounds_are_runs():
    stream = Stream([[1.0]] * 6, [1] * 6, list("abcabc"), rounds=[5, 5, 2, 2, 2, 9])
    assert stream.rounds.tolist() == [0, 2, 5, 6]
    assert stream.n_rounds == 3
    assert Stream([[1.0]] * 3, [1] * 3, "a").rounds.tolist() == [0, 1, 2, 3]
    wrapped = Stream([[1.0]] * 3, [1] * 3, list("abc"), rounds=np.array([1, 0, 255], np.uint8))
    assert wrapped.n_rounds == 3


@pytest.mark.parametrize(
    ("task", "names"),
    [
        (["b", "a", "b"], ["b", "a"]),
        (np.array(["b", "a", "b"]), ["b", "a"]),
        (np.array([7, -2, 7]), [7, -2]),
        (np.array([2**62, -(2**62), 2**62]), [2**62, -(2**62)]),
        (np.array([5, 3, 5], np.uint8), [5, 3]),
        ("ann", ["ann"]),
        (4, [4]),
        (np.int64(4), [4]),
        ([("a", 1), "a", ("a", 1)], [("a", 1), "a"]),
        (("x", "y", "x"), ["x", "y"]),
        (range(3), [0, 1, 2]),
        (np.array(["b", 3, "b"], object), ["b", 3]),
        ([np.int64(2), 2, "2"], [2, "2"]),
    ],
    ids=str,
)
def test_task_names(task, names):
    codes, found = read_tasks(task, 3)
    assert found == names
    assert all(type(name) in (str, int, tuple) for name in found)
    given = [task] * 3 if isinstance(task, str | int | np.integer) else list(task)
    assert [found[code] for code in codes] == given


def test_repr():
    stream = Stream([[1.0, 0.0], [0.0, 2.0]], [1, -1], ["ann", "bob"])
    assert repr(stream) == "Stream(2 examples, 2 rounds, 2 tasks, 2 features, 2 non-zeros)"
    assert len(stream) == 2
    assert stream.tasks == ["ann", "bob"]


# --- masks, and arrays that are handed out ---


def masked(values, mask):
    return np.ma.array(values, mask=mask)


def test_a_masked_feature_is_refused_by_its_place():
    X = masked([[1.0, 2.0], [3.0, 4.0]], [[0, 0], [0, 1]])
    model = weft.Model("pa")
    for attempt in (
        lambda: weft.Stream(X, [1, -1], "ann"),
        lambda: weft.Stream(list(X), [1, -1], "ann"),
        lambda: model.score(X, "ann"),
    ):
        with pytest.raises(ValueError, match="row 1: feature 1 is masked"):
            attempt()
    with pytest.raises(ValueError, match="row 0: feature 1 is masked"):
        model.learn_one(X[1], 1, "ann")
    assert model.tasks == []
    assert weft.Stream(masked([[1.0]], [[0]]), [1], "ann").X.toarray().tolist() == [[1.0]]


def test_a_masked_label_is_missing():
    y = masked([1.0, -1.0], [0, 1])
    with pytest.raises(ValueError, match=r"row 1: label nan; give a label"):
        weft.Stream([[1.0], [2.0]], y, "ann")
    stream = weft.Stream([[1.0], [2.0]], y, ["ann", "bob"], rounds=[0, 0])
    assert np.isnan(stream.labels("binary")).tolist() == [False, True]
    shared = weft.Stream.shared([[1.0]], masked([[1.0, 1.0]], [[1, 0]]), ["ann", "bob"])
    assert np.isnan(shared.y).tolist() == [True, False]
    with pytest.raises(ValueError, match="label"):
        weft.Model("pa").learn_one({"a": 1.0}, np.ma.masked, "ann")


def test_masked_tasks_and_rounds_are_refused():
    with pytest.raises(ValueError, match="row 1: task is masked"):
        weft.Stream([[1.0], [2.0]], [1, 1], masked([1, 2], [0, 1]))
    with pytest.raises(ValueError, match="row 0: rounds is masked"):
        weft.Stream([[1.0], [2.0]], [1, 1], ["ann", "bob"], masked([0, 1], [1, 0]))


def test_arrays_of_a_stream_cannot_be_written():
    stream = weft.Stream([{"a": 1.0}, {"b": 2.0}], [1, -1], ["ann", "bob"])
    expected = weft.Model("pa").learn(stream).tolist()
    arrays = [stream.row, stream.y, stream.task_codes, stream.rounds, *stream.data[:3]]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 10**9
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
    stream.task_names.clear()
    stream.data.features.clear()
    stream.X.indices[:] = 10**9
    stream.labels("binary")[:] = 7.0
    with pytest.raises(AttributeError):
        stream.row = np.array([10**9])
    assert weft.Model("pa").learn(stream).tolist() == expected
