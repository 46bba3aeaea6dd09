"""Multiclass against dense NumPy, against streams with a row per task, and at its edges."""

import datetime
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import weft
from reductions.same_row_oracle import run_hinge
from weft.reductions import Multiclass, code_distance, decode_hamming, exhaustive_code, log2_code, same_row
from weft.store.codec import FileError


def made(n=120, d=6, s=5, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, s, n)
    X = rng.normal(size=(s, d))[y] + noise * rng.normal(size=(n, d))
    X[rng.random(X.shape) < 0.3] = 0.0
    return X, y


def growing_targets(y):
    """One-vs-rest signs in order of appearance; NaN before a label is known."""
    labels = list(dict.fromkeys(y))
    Y = np.full((len(y), len(labels)), np.nan)
    known = 0
    for t, label in enumerate(y):
        known = max(known, labels.index(label) + 1)
        Y[t, :known] = -1.0
        Y[t, labels.index(label)] = 1.0
    return labels, Y


def first_best(scores):
    return int(np.flatnonzero(scores == scores.max())[0])


def test_growing_labels_against_dense_numpy():
    X, y = made()
    y = [f"label {number}" for number in y]
    labels, Y = growing_targets(y)
    scores, W = run_hinge(X, Y, C=0.1, r=1)
    expected = []
    for t in range(len(y)):
        known = 0 if t == 0 else int(np.sum(~np.isnan(Y[t - 1])))
        expected.append(labels[first_best(scores[t, :known])] if known else None)
    learner = Multiclass("implicit", C=0.1)
    assert learner.learn(X, y) == expected
    assert learner.labels == labels
    assert learner.mistakes == sum(a != b for a, b in zip(expected, y, strict=True))
    assert learner.error == learner.mistakes / learner.events
    np.testing.assert_allclose(learner.model.weights(), W, rtol=0, atol=1e-12)
    np.testing.assert_allclose(learner.scores(X), X @ W.T, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("coding", "r"), [("log2", 1), ("ecoc", 4)])
def test_codes_against_dense_numpy(coding, r):
    X, y = made(seed=3)
    M = log2_code(5) if coding == "log2" else exhaustive_code(5)
    scores, W = run_hinge(X, M[y].astype(float), C=0.05, r=r)
    expected = decode_hamming(M, np.where(scores >= 0, 1, -1)).tolist()
    learner = Multiclass(coding=coding, labels=range(5), C=0.05)
    assert learner.learn(X, y) == expected
    np.testing.assert_allclose(learner.model.weights(), W, rtol=0, atol=1e-12)
    assert learner.predict(X) == decode_hamming(M, np.where(X @ W.T >= 0, 1, -1)).tolist()
    assert learner.scores(X).shape == (len(X), M.shape[1])


@pytest.mark.parametrize("name", ["implicit", "finite-horizon", "infinite-horizon", "pa", "perceptron"])
def test_equals_a_stream_with_a_row_per_task(name):
    X, y = made(seed=5)
    learner = Multiclass(name, labels=range(5))
    learner.learn(X, y)
    parameters = {"norm": "linf"} if "norm" in {p.name for p in _parameters(name)} else {}
    model = weft.Model(name, tasks=5, **parameters)
    signs = np.where(np.arange(5) == y[:, None], 1, -1)
    n = len(X)
    model.learn(weft.Stream(np.repeat(X, 5, axis=0), signs.ravel(), np.tile(range(5), n), np.repeat(range(n), 5)))
    np.testing.assert_allclose(learner.model.weights(), model.weights(), rtol=0, atol=1e-12)


def _parameters(name):
    return next(entry for entry in weft.catalogue() if entry.name == name).parameters


@pytest.mark.parametrize(("coding", "declared"), [("one-vs-rest", True), ("one-vs-rest", False), ("ecoc", True)])
def test_pieces_and_calls_are_invisible(coding, declared, monkeypatch):
    X, y = made(n=90, seed=7)
    names = [chr(97 + number) for number in y]
    options = {"coding": coding, "labels": list("abcde") if declared else None}
    whole = Multiclass(**options)
    predicted = whole.learn(X, names)
    monkeypatch.setattr(same_row, "PIECE", 17)
    pieces = Multiclass(**options)
    assert pieces.learn(X, names) == predicted
    calls = Multiclass(**options)
    assert calls.learn(X[:31], names[:31]) + calls.learn(X[31:], names[31:]) == predicted
    ones = Multiclass(**options)
    assert [ones.learn_one(x, label) for x, label in zip(X, names, strict=True)] == predicted
    for other in (pieces, calls, ones):
        assert other.model.to_bytes() == whole.model.to_bytes()
        assert (other.labels, other.mistakes, other.events) == (whole.labels, whole.mistakes, whole.events)
    assert np.array_equal(pieces.scores(X), whole.scores(X))


def test_dense_sparse_and_dicts_agree():
    X, y = made(seed=11)
    dense, rows, dicts = (Multiclass(C=0.1) for _ in range(3))
    predicted = dense.learn(X, y)
    assert rows.learn(sparse.csr_array(X), y) == predicted
    named = [{f"f{at}": value for at, value in enumerate(x)} for x in X]
    assert dicts.learn(named, y) == predicted
    assert rows.model.to_bytes() == dense.model.to_bytes()
    assert rows.predict_one(sparse.csr_array(X[:1])) == dense.predict_one(X[0]) == dicts.predict_one(named[0])


def test_labels_of_any_hashable_kind():
    labels = [frozenset({"a", 1}), datetime.date(2024, 2, 29), ("x", 2), 3.5, "word", b"bytes"]
    X, y = made(s=6, seed=13)
    y = [labels[number] for number in y]
    for learner in (Multiclass(), Multiclass(coding="log2", labels=labels)):
        predicted = learner.learn(X, y)
        assert set(predicted) <= {None, *labels}
        assert set(learner.labels) == set(labels)
        assert learner.predict(X[:3])[0] in labels


def test_numpy_labels_come_back_as_plain_python():
    learner = Multiclass()
    learner.learn(np.eye(2), np.array(["a", "b"]))
    learner.learn(np.eye(2), [np.int64(3), np.float64(0.5)])
    assert [type(label) for label in learner.labels] == [str, str, int, float]


def test_before_any_label_there_is_no_prediction():
    learner = Multiclass()
    assert learner.predict([[1.0, 2.0]]) == [None]
    assert learner.scores([[1.0, 2.0]]).shape == (1, 0)
    assert np.isnan(learner.error)
    assert learner.learn_one({"a": 1.0}, "x") is None
    assert learner.mistakes == 1


def test_ties_go_to_the_label_that_came_first():
    assert Multiclass(labels=["b", "a"]).predict([[1.0]]) == ["b"]
    learner = Multiclass()
    learner.learn([[1.0, 0.0], [0.0, 1.0]], ["b", "a"])
    assert learner.predict([[0.0, 0.0]]) == ["b"]


def test_default_norms():
    def norm(**options):
        return Multiclass(labels=range(5), **options).model.learner.norm

    assert norm() == "linf"
    assert norm(coding="log2") == "linf"
    assert norm(coding="ecoc") == "4-max"
    assert norm(coding="ecoc", norm="l1") == "l1"
    code = np.array([[1, 1, 1], [1, -1, 1], [1, 1, -1], [-1, 1, 1], [-1, -1, -1]])
    assert code_distance(code) == 1
    assert norm(coding=code) == "1-max"
    assert Multiclass(coding="log2", labels=["only"]).learn([[1.0]], ["only"]) == ["only"]


def test_a_matrix_is_a_code():
    X, y = made(seed=17)
    by_name, by_matrix = (Multiclass(coding=c, labels=range(5)) for c in ("ecoc", exhaustive_code(5)))
    assert by_name.learn(X, y) == by_matrix.learn(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coding": "hadamard"}, "choose one of one-vs-rest, log2, ecoc"),
        ({"coding": "log2"}, "needs to know the labels"),
        ({"coding": "ecoc"}, "needs to know the labels"),
        ({"coding": [[1, -1], [-1, 1]]}, "needs to know the labels"),
        ({"coding": [[1, -1], [-1, 1]], "labels": "xyz"}, "labels is str"),
        ({"coding": [[1, -1], [-1, 1]], "labels": ["x", "y", "z"]}, "2 rows for 3 labels"),
        ({"coding": [[1, -1], [1, -1]], "labels": ["x", "y"]}, "same row"),
        ({"coding": "ecoc", "labels": range(13)}, "12 labels"),
        ({"labels": ["x", "x"]}, "'x' twice"),
        ({"labels": []}, "labels is empty"),
        ({"labels": [None]}, "missing"),
        ({"norm": "l0"}, "norm"),
        ({"D": 1}, "no parameter 'D'"),
        ({"learner": "pa", "norm": "l1"}, "no parameter 'norm'"),
        ({"loss": "epsilon-insensitive"}, "not a classifier"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Multiclass(**options)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0, 0.0], [np.nan, 0.0]], ["a", "new"], "row 1: feature 0"),
        ([[1.0, 0.0], [0.0, 1.0]], ["new", None], "row 1: the label is missing"),
        ([[1.0, 0.0], [0.0, 1.0]], ["new", float("nan")], "row 1: the label is missing"),
        ([[1.0, 0.0], [0.0, 1.0]], ["new", ["a"]], "row 1: label .* not hashable"),
        ([[1.0, 0.0], [0.0, 1.0]], ["new"], "y has 1 entries, X has 2 rows"),
        ([[1.0, 0.0], [0.0, 1.0]], "ab", "y is str"),
        ([[1.0, 0.0], [0.0, 1.0]], [["a"], ["b", "c"]], "row 0: label"),
        ([[1.0, 0.0], [0.0, 1.0]], np.zeros((2, 1)), "one-dimensional"),
        (np.zeros((0, 2)), [], "empty"),
    ],
)
def test_wrong_input_is_refused_by_row_and_leaves_no_trace(X, y, message):
    learner = Multiclass()
    learner.learn([[1.0, 2.0], [2.0, 1.0]], ["a", "b"])
    before = learner.model.to_bytes()
    with pytest.raises(ValueError, match=message):
        learner.learn(X, y)
    assert learner.model.to_bytes() == before
    assert (learner.labels, learner.events) == (["a", "b"], 2)


def test_an_undeclared_label_is_refused():
    learner = Multiclass(labels=["a", "b"])
    with pytest.raises(ValueError, match="row 1: label 'c' was not declared; the labels are 'a', 'b'"):
        learner.learn([[1.0], [2.0]], ["a", "c"])
    assert learner.events == 0


@pytest.mark.parametrize("coding", ["one-vs-rest", "ecoc", "growing"])
def test_saved_and_loaded_goes_on_as_if_nothing_had_happened(tmp_path, coding):
    X, y = made(seed=19)
    names = [("class", int(number)) for number in y]
    labels = None if coding == "growing" else [("class", number) for number in range(5)]
    learner = Multiclass(coding="one-vs-rest" if coding == "growing" else coding, labels=labels)
    learner.learn(X[:60], names[:60])
    learner.save(tmp_path / "some.weft")
    again = Multiclass.load(tmp_path / "some.weft")
    assert again.learn(X[60:], names[60:]) == learner.learn(X[60:], names[60:])
    assert (again.labels, again.mistakes, again.events) == (learner.labels, learner.mistakes, learner.events)
    assert again.model.to_bytes() == learner.model.to_bytes()
    assert len(weft.load(tmp_path / "some.weft").tasks) == len(again.model.tasks)  # it is a model file, too


def test_files_that_do_not_fit_are_refused(tmp_path):
    weft.Model("pa").save(tmp_path / "plain.weft")
    with pytest.raises(FileError, match=r"plain\.weft: the file holds no multiclass"):
        Multiclass.load(tmp_path / "plain.weft")
    with pytest.raises(FileNotFoundError, match="there is no model file"):
        Multiclass.load(tmp_path / "none.weft")
    learner = Multiclass()
    learner.learn([[1.0]], [datetime.date(2024, 1, 1)])
    with pytest.raises(ValueError, match="cannot save the label"):
        learner.save(tmp_path / "date.weft")
    assert not (tmp_path / "date.weft").exists()


@pytest.mark.skipif(not os.environ.get("WEFT_DATA"), reason="WEFT_DATA does not name the folder of real data")
def test_the_papers_norms_beat_the_sum_on_reuters_topics():
    """Sec. 8.2 on the documents of a single top-level topic: linf, and r-max below r = k, beat l1."""
    data = np.load(Path(os.environ["WEFT_DATA"]) / "rcv1_2316.npz", allow_pickle=False)
    counts = data["data"].astype(float)
    X = sparse.csr_array((np.log2(1 + counts), data["indices"], data["indptr"]), shape=tuple(data["shape"]))
    tops = np.array([name[0] for name in data["label_names"]])
    ptr = data["label_indptr"]
    found = [set(tops[data["label_indices"][a:b]].tolist()) for a, b in pairwise(ptr)]
    single = [at for at, top in enumerate(found) if len(top) == 1]
    y = [next(iter(found[at])) for at in single]
    labels = sorted(set(y))

    def error(**options):
        learner = Multiclass("implicit", labels=labels, C=1e-3, **options)
        learner.learn(X[single], y)
        return learner.error

    assert len(single) > 1900
    assert labels == ["C", "E", "G", "M"]
    assert error() < 0.17 < error(norm="l1")
    assert error(coding="ecoc") < 0.18 < 0.22 < error(coding="ecoc", norm="l1")
