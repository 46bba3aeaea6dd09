"""Public data sets by name: found, verified, refused with a reason when something is wrong."""

import dataclasses
import io
import os
import pickle

import numpy as np
import pytest
from scipy import sparse

import weft
from streams.small_sets import DENSE, made
from weft.streams import known
from weft.streams.known import describe, find, folders, read
from weft.streams.known_sets import SETS


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A small known data set in the folder WEFT_DATA."""
    content, described = made("dense")
    monkeypatch.setitem(SETS, "tiny", described)
    monkeypatch.setenv("WEFT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "tiny.npz"
    path.write_bytes(content)
    return path


def test_dense(tiny):
    found = known("tiny")
    assert found.X.tolist() == DENSE["X"].tolist()
    assert found.X.dtype == found.y.dtype == np.float64
    assert found.task.tolist() == [0, 1, 1, 0]
    assert (found.task_names, found.feature_names) == (["ann", "bob"], ["a", "b"])
    assert found.extra["date"].tolist() == [3, 1, 2, 0]
    assert found.by_row == ("date",)
    assert (found.origin, found.terms, len(found)) == ("here", "free", 4)
    assert "4 rows, 2 features, 2 tasks; free" in repr(found)
    assert weft.streams.known is known
    assert len(weft.Stream(found.X, found.y, found.task)) == 4


def test_sparse_and_topics():
    found = read(*made("sparse"), "here")
    assert found.X.toarray().tolist() == [[0, 0, 1], [0, 0, 0], [2, 3, 0]]
    assert found.feature_names == ["a", "b", "ü"]
    topics = read(*made("topics"), "here")
    assert topics.y.toarray().tolist() == [[0, 1], [0, 0], [1, 1]]
    assert topics.task is None
    assert topics.task_names == ["sport", "money"]


def test_the_user_s_cache_comes_second(tiny, tmp_path):
    assert folders() == [tmp_path / "data", tmp_path / "cache" / "data"]
    second = tmp_path / "cache" / "data" / "tiny.npz"
    second.parent.mkdir(parents=True)
    second.write_bytes(tiny.read_bytes())
    assert find("tiny") == tiny
    tiny.unlink()
    assert find("tiny") == second
    assert len(known("tiny")) == 4


def test_a_missing_set_says_where_it_was_looked_for(tiny, tmp_path, monkeypatch):
    tiny.unlink()
    with pytest.raises(FileNotFoundError) as error:
        known("tiny")
    told = str(error.value)
    assert f"no tiny.npz in {tmp_path / 'data'} and in {tmp_path / 'cache' / 'data'}" in told
    assert "weft data get tiny" in told
    monkeypatch.delenv("WEFT_DATA")
    with pytest.raises(FileNotFoundError, match="WEFT_DATA is not set"):
        known("tiny")


def test_another_file_is_refused(tiny):
    tiny.write_bytes(made("sparse")[0])
    with pytest.raises(ValueError, match="is not the known set tiny: its SHA-256 sum differs"):
        known("tiny")


def test_a_wrong_name():
    with pytest.raises(ValueError, match=r"unknown data set 'shcool' \(did you mean 'school'\?\); there are emnist"):
        known("shcool")


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("dense", {"X": None}, "the array X is missing"),
        ("dense", {"X": DENSE["X"][:3]}, r"X has the shape \(3, 2\), expected \(4, 2\)"),
        ("dense", {"X": np.full((4, 2), np.nan)}, "X holds a value that is not finite"),
        ("dense", {"X": np.full((4, 2), "x")}, "X has the type <U1"),
        ("dense", {"y": np.array([1, 0, 1, 1])}, r"y must hold -1 and \+1 only"),
        ("dense", {"task": np.array([0, 1, 2, 0])}, "task must lie between 0 and 1"),
        ("dense", {"task": np.array([0, 1, -1, 0])}, "task must lie between 0 and 1"),
        ("dense", {"task": np.array([0.0, 1, 1, 0])}, "task has the type float64"),
        ("dense", {"task_names": np.array(["ann", "ann"])}, "task_names holds a name twice"),
        ("dense", {"date": np.array([1, 2])}, "date has 2 entries, expected 4"),
        ("dense", {"date": np.array([1, np.inf, 1, 1])}, "date holds an infinite value"),
        ("dense", {"groups": None}, "the array groups is missing"),
        ("dense", {"y": np.array(1)}, "y is a single value"),
        ("sparse", {"indices": np.array([3, 0, 1])}, "indices must lie between 0 and 2"),
        ("sparse", {"indices": np.array([2, 1, 1])}, "indices must not contain a column twice in one row"),
        ("sparse", {"indptr": np.array([0, 2, 1, 3])}, "indptr must increase from 0 to the number of indices"),
        ("sparse", {"indptr": np.array([0, 1, 1, 4])}, "indptr must increase"),
        ("sparse", {"indptr": np.array([0, 1, 3])}, "indptr must have 4 entries"),
        ("sparse", {"data": np.array([1, 2])}, r"data has the shape \(2,\), expected \(3,\)"),
        ("sparse", {"shape": np.array([3, 4])}, r"shape is \[3, 4\], expected \[3, 3\]"),
        ("sparse", {"feature_names_utf8": np.frombuffer(b"a\nb", np.uint8)}, "must hold 3 lines"),
        ("sparse", {"feature_names_utf8": np.frombuffer(b"\xff\nb\nc", np.uint8)}, "UTF-8"),
        ("topics", {"label_indices": np.array([1, 0, 2])}, "label_indices must lie between 0 and 1"),
        ("topics", {"label_names": np.array(["sport"])}, "label_names has the shape"),
    ],
)
def test_what_is_damaged_is_named(kind, changes, message):
    with pytest.raises(ValueError, match=message) as error:
        read(*made(kind, changes), "some/file.npz")
    assert str(error.value).startswith("some/file.npz is damaged: ")


def test_no_pickle_is_opened():
    class Trap:
        def __reduce__(self):
            return (os.abort, ())

    file = io.BytesIO()
    np.savez(file, **{**DENSE, "X": np.array([Trap()], object)})
    with pytest.raises(ValueError, match=r"is not a file of plain arrays"):
        read(file.getvalue(), made("dense")[1], "trap.npz")
    for content in (b"", b"not a zip", pickle.dumps(3), made("dense")[0][:200]):
        with pytest.raises(ValueError, match="is not a file of plain arrays"):
            read(content, made("dense")[1], "trap.npz")


def test_descriptions():
    assert describe("school").rows == 15_362
    for name, described in SETS.items():
        assert described.name == name
        assert len(described.sha256) == 64
        assert described.origin
        assert described.terms
        assert dataclasses.replace(described) == described


@pytest.mark.parametrize("name", SETS)
def test_the_real_ones(name):
    if find(name) is None:
        pytest.skip("WEFT_DATA does not name the folder with the data sets")
    found, described = known(name), SETS[name]
    assert find(name).stat().st_size == described.size
    assert found.X.shape == (described.rows, described.features)
    assert sparse.issparse(found.X) == described.sparse
    assert len(found.task_names) == described.tasks
    assert found.y.shape[0] == described.rows
    if described.label != "topics":
        assert len(np.unique(found.task)) == described.tasks


def test_without_a_home_folder_the_chosen_folder_is_searched(tmp_path, monkeypatch):
    for name in ("WEFT_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as it is where nobody knows the user
    monkeypatch.setenv("WEFT_DATA", str(tmp_path))
    assert folders() == [tmp_path]
    monkeypatch.delenv("WEFT_DATA")
    with pytest.raises(OSError, match="set WEFT_CACHE to a folder of your own"):
        folders()
