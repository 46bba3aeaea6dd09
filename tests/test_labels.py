"""Labels: one rule for files, streams and single events; two classes of any kind."""

import io
import math
from fractions import Fraction

import numpy as np
import pytest

import weft
from weft import labels
from weft.labels import (
    LARGEST_LABEL,
    PLAIN,
    UNKNOWN,
    Classes,
    Labels,
    label_array,
    one_label,
    scalar_label,
    wrong_labels,
)
from weft.store.digests import FileError
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
    encoded = Classes.encoded
    monkeypatch.setattr(Classes, "encoded", lambda *a, **k: counted.append("binary") or encoded(*a, **k))
    home = "weft.streams.records.wrong_labels"
    monkeypatch.setattr(home, lambda *a, **k: counted.append(a[1]) or wrong_labels(*a, **k))
    monkeypatch.setattr("weft.methods.single_events.one_label", lambda *a: counted.append(a[1]) or one_label(*a))
    return counted


def test_labels_of_a_file_are_checked_by_the_reader_and_the_model(tmp_path, checks):
    path = tmp_path / "events.csv"
    path.write_text("task,y,x\nann,1,1\nbob,-1,2\n")
    model = weft.Model("perceptron")
    for chunk in read_chunks(path):
        model.learn(chunk.stream)
    assert model.tally.total["events"] == 2
    assert checks == ["binary", "binary"]


def test_a_file_that_was_read_for_numbers_is_checked_for_classes(tmp_path, checks):
    path = tmp_path / "events.csv"
    path.write_text("task,y,x\nann,1,1\nbob,0.5,2\n")
    chunk = next(read_chunks(path, target="real"))
    with pytest.raises(ValueError, match=r"row 1: label 0\.5; classification takes two classes"):
        weft.Model("perceptron").learn(chunk.stream)
    assert checks == ["real", "binary"]


def test_labels_of_a_stream_are_checked_once_per_use(checks):
    stream = Stream([[1.0], [2.0]], [1, -1], "ann")
    weft.Model("perceptron").learn(stream.take(np.array([1, 0])))
    assert checks == ["binary"]


@pytest.mark.parametrize("x", [{"a": 1.0}, [1.0], np.array([2.0])], ids=str)
def test_the_label_of_an_event_is_checked_once(x, checks):
    model = weft.Model("perceptron", classes=[-1, 1])
    model.learn_one(x, 1, "ann")
    checks.clear()
    model.learn_one(x, np.int64(1), "ann")
    assert checks == ["binary"] * (1 if isinstance(x, dict) else 2)  # other rows become a stream
    with pytest.raises(ValueError, match=r"label 3; classification takes two classes"):
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


# --- classes ---


def labelled(*y):
    """A stream of one task with these labels."""
    return Stream(np.ones((len(y), 1)), list(y), "ann")


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([1, -1], (-1, 1)),
        ([1.0, 0.0, 1.0], (0, 1)),
        ([True, False], (False, True)),
        (["spam", "ham"], ("ham", "spam")),
        (np.array(["no", "yes"]), ("no", "yes")),
        ([1, 1], (-1, 1)),
    ],
    ids=str,
)
def test_two_classes_of_any_kind(y, classes):
    """The larger one is positive, in whatever order they come; the model and its file remember them."""
    model, plain = weft.Model("pa"), weft.Model("pa")
    scores = model.learn(labelled(*y))
    assert np.array_equal(scores, plain.learn(labelled(*[1 if label == classes[1] else -1 for label in y])))
    assert model.classes == classes
    again = weft.Model.from_bytes(model.to_bytes())
    assert again.classes == classes
    assert again.to_bytes() == model.to_bytes()
    labels = [classes[int(score >= 0.0)] for score in model.score([[1.0], [-1.0]], "ann")]
    assert model.predict([[1.0], [-1.0]], "ann").tolist() == labels


def test_classes_are_known_when_both_are():
    model = weft.Model("pa")
    assert model.classes is None
    model.learn_one({"a": 1.0}, 1, "ann")
    assert model.classes == (-1, 1)
    model.learn_one({"a": 1.0}, 0, "ann")  # so it was not -1
    assert model.classes == (0, 1)
    before = model.to_bytes()
    for third in (-1, 2, "ham", 0.5):
        with pytest.raises(ValueError, match=r"label .*; the classes of this model are 0 and 1"):
            model.learn_one({"a": 1.0}, third, "ann")
        with pytest.raises(ValueError, match=r"row 1: label .*; the classes of this model are 0 and 1"):
            model.learn(labelled(1, third))
    assert model.to_bytes() == before


def test_one_string_does_not_say_which_class_it_is():
    model = weft.Model("pa")
    empty = model.to_bytes()
    for learn in (lambda: model.learn_one({"a": 1.0}, "ham", "ann"), lambda: model.learn(labelled("ham", "ham"))):
        with pytest.raises(ValueError, match=r"'ham' is the only label so far; give both classes, negative first"):
            learn()
        assert model.to_bytes() == empty
    model = weft.Model("pa", classes=["ham", "spam"])
    assert [model.learn_one({"a": 1.0}, y, "ann") for y in ("ham", "spam")] == [0.0, -1.0]
    assert model.predict([{"a": 1.0}], "ann").tolist() == ["spam"]


@pytest.mark.parametrize("classes", ["ab", ["a"], ["a", "a"], [0, 0.0], [None, 1], [math.nan, 1]], ids=str)
def test_classes_that_are_not_two(classes):
    with pytest.raises(ValueError, match=r"classes=|is not"):
        weft.Model("pa", classes=classes)
    with pytest.raises(ValueError, match="does not classify"):
        weft.Model("auto", loss="square", classes=[0, 1])


def test_cutting_a_stream_of_classes_changes_nothing():
    y = ["spam", "ham", "ham", "spam", "ham", "spam"]
    stream = Stream(np.random.default_rng(5).normal(size=(6, 3)), y, list("ababab"))
    whole = weft.Model("pa")
    whole.learn(stream)
    for cut in range(2, 6):
        model = weft.Model("pa")
        model.learn(stream.cut(0, cut))
        model.learn(stream.cut(cut, 6))
        assert model.to_bytes() == whole.to_bytes()


def test_a_refused_stream_leaves_no_class_behind():
    model = weft.Model("mt-ogd", graph={"edges": [["ann", "bob"]]})
    before = model.to_bytes()
    with pytest.raises(ValueError, match="does not name the task"):
        model.learn(Stream([[1.0], [1.0]], ["a", "b"], ["ann", "eve"]))
    assert model.classes is None
    assert model.to_bytes() == before


def test_zero_is_dormant_in_rounds_unless_it_is_a_class():
    rounds = [0, 0, 1, 1]
    stream = Stream(np.ones((4, 1)), [1, 0, 1, 0], ["a", "b", "a", "b"], rounds)
    assert np.array_equal(stream.labels("binary"), [1, np.nan, 1, np.nan], equal_nan=True)
    assert stream.labels("binary", Classes(0, 1)).tolist() == [1, -1, 1, -1]


def test_labels_that_are_not_labels():
    with pytest.raises(ValueError, match=r"row 1: label \[\] is not a number, a truth value or a string"):
        labelled("a", [])
    with pytest.raises(ValueError, match="row 1: label missing; give a label"):
        labelled("a", None)
    with pytest.raises(ValueError, match=r"row 0: label 'a'; this learner predicts numbers"):
        weft.Model("auto", loss="square").learn(labelled("a", "b"))
    assert labelled("a", "b").y.tolist() == ["a", "b"]
    _, wrong, found = UNKNOWN.encoded(Labels(np.array([2.0, 1.0])), dormant=False)
    assert (found, wrong.tolist()) == (PLAIN, [True, False])


@pytest.mark.parametrize("wrong", [["ham", "ham"], ["ham"], ["ham", [1]], "ham", {"a": 1}, [1e101, "ham"]], ids=str)
def test_forged_classes_in_a_file(wrong):
    model = weft.Model("pa")
    model.learn(labelled("ham", "spam"))
    out = io.BytesIO()
    model.write_to(out.write, {"classes": wrong})
    with pytest.raises(FileError, match="classes cannot be used"):
        weft.Model.from_bytes(out.getvalue())


# --- weights ---


@pytest.mark.parametrize("weight", [[1.0, -1.0], [1.0, math.nan], [1.0, math.inf], [1.0, 2e6], [1.0], [[1.0, 1.0]]])
def test_wrong_weights(weight):
    with pytest.raises(ValueError, match="weight"):
        Stream(np.ones((2, 1)), [1, -1], "ann", weight=weight)


def test_weights_go_with_their_events():
    stream = Stream(np.ones((3, 1)), [1, -1, 1], "ann", weight=[1, 2, 0])
    assert stream.weight.tolist() == [1, 2, 0]
    assert stream.take(np.array([2, 1])).weight.tolist() == [0, 2]
    assert Stream(np.ones((1, 1)), [1], "ann").weight is None


def test_learners_without_a_gradient_step_refuse_weights():
    model = weft.Model("pa")
    model.learn(Stream(np.ones((2, 1)), [1, -1], "ann", weight=[1, 1]))
    before = model.to_bytes()
    with pytest.raises(ValueError, match="row 1: weight 2; pa takes no weights of events"):
        model.learn(Stream(np.ones((2, 1)), [1, -1], "ann", weight=[1, 2]))
    with pytest.raises(ValueError, match=r"weight 0\.5; pa takes no weights of events"):
        model.learn_one({"a": 1.0}, 1, "ann", weight=0.5)
    assert model.to_bytes() == before


def test_labels_of_another_kind_are_not_classes():
    """One word among numbers is a label that does not fit, not the only class."""
    labels = label_array([1, -1, "spam", 1])
    y, wrong, classes = UNKNOWN.encoded(labels, dormant=False)
    assert (wrong.tolist(), classes.shown) == ([False, False, True, False], (-1, 1))
    assert y[[0, 1, 3]].tolist() == [1.0, -1.0, 1.0]
