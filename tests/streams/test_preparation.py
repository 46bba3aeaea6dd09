"""Steps of preprocessing, each against its definition."""

import math

import numpy as np
import pytest
from scipy import sparse

from weft.streams import Known
from weft.streams import preparation as steps

X = np.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0], [1.0, 7.0, 1.0], [0.0, 2.0, 0.0]])


def data(rows, **others):
    given = {"y": np.array([1.0, 5.0, 2.0, 9.0]), "task": np.array([0, 1, 0, 1]), "extra": {}} | others
    return Known("made", rows, task_names=["ann", "bob"], feature_names=["a", "b", "c"], **given)


@pytest.fixture(params=["dense", "sparse"])
def both(request):
    return data(X if request.param == "dense" else sparse.csr_array(X))


def table(found):
    return found.X.toarray() if sparse.issparse(found.X) else found.X


def test_log_counts(both):
    assert np.allclose(table(steps.log_counts(both)), np.log(1 + X))
    assert np.allclose(table(steps.log_counts(both, base=2)), np.log2(1 + X))
    assert np.array_equal(table(both), X)
    with pytest.raises(ValueError, match="the step takes counts"):
        steps.log_counts(data(-X))
    with pytest.raises(ValueError, match="base=1 must be"):
        steps.log_counts(both, base=1)


def test_presence(both):
    assert np.array_equal(table(steps.presence(both)), X != 0)


def test_unit_rows(both):
    found = table(steps.unit_rows(both))
    assert np.allclose(found[0], [0.6, 0.0, 0.8])
    assert np.array_equal(found[1], [0, 0, 0])
    assert np.allclose(np.linalg.norm(found, axis=1), [1, 0, 1, 1])


def test_largest_row_one(both):
    assert np.allclose(table(steps.largest_row_one(both)), X / math.sqrt(51))
    assert np.array_equal(table(steps.largest_row_one(data(0 * X))), 0 * X)


def test_row_lengths(both):
    assert np.allclose(steps.row_lengths(both.X), np.linalg.norm(X, axis=1))
    assert steps.row_lengths(sparse.csr_array((2, 3))).tolist() == [0.0, 0.0]


def test_standardised():
    constant = np.column_stack([X, np.full(4, 7.0)])
    found = steps.standardised(data(constant)).X
    assert np.allclose(found[:, :3].mean(axis=0), 0)
    assert np.allclose(found[:, :3].std(axis=0), 1)
    assert np.array_equal(found[:, 3], constant[:, 3])
    some = steps.standardised(data(X), rows=[0, 2]).X
    assert np.allclose(some[[0, 2]].mean(axis=0), 0)
    with pytest.raises(ValueError, match="sparse"):
        steps.standardised(data(sparse.csr_array(X)))


def test_with_constant(both):
    found = steps.with_constant(both, 2.0)
    assert np.array_equal(table(found), np.column_stack([X, np.full(4, 2.0)]))
    assert found.feature_names == ["a", "b", "c", "constant"]


def test_offset_columns():
    made = data(sparse.csr_array(X), extra={"task_offset": np.array([0, 3])})
    found = steps.offset_columns(made)
    assert found.X.shape == (4, 5)
    assert np.array_equal(found.X.toarray()[:, :3], X * (made.task == 0)[:, None])
    assert found.X.toarray()[3].tolist() == [0, 0, 0, 0, 2]
    with pytest.raises(ValueError, match="no task_offset"):
        steps.offset_columns(data(sparse.csr_array(X)))


def test_binarised(both):
    assert steps.binarised(both, 50).y.tolist() == [-1, 1, -1, 1]
    with pytest.raises(ValueError, match="percentile=100 must lie between 0 and 100"):
        steps.binarised(both, 100)


def test_order_and_choice(both):
    made = data(both.X, extra={"date": np.array([4, 2, 3, 1]), "groups": np.array([7, 8])}, by_row=("date",))
    found = steps.sorted_by(made, "date")
    assert found.y.tolist() == [9, 5, 2, 1]
    assert found.extra["date"].tolist() == [1, 2, 3, 4]
    assert found.extra["groups"].tolist() == [7, 8]
    assert np.array_equal(table(found), X[[3, 1, 2, 0]])
    assert found.task.tolist() == [1, 1, 0, 0]
    assert steps.tasks_of(made, [1]).y.tolist() == [5, 9]
    mixed = steps.shuffled(made, 3)
    assert sorted(mixed.y) == sorted(made.y)
    assert mixed.y.tolist() == steps.shuffled(made, 3).y.tolist()
    assert any(steps.shuffled(made, seed).y.tolist() != made.y.tolist() for seed in range(3))
    for at, date in enumerate(mixed.extra["date"]):
        assert mixed.y[at] == made.y[made.extra["date"].tolist().index(date)]
    with pytest.raises(ValueError, match="no 'time' per row; it has date"):
        steps.sorted_by(made, "time")


def test_as_stream(both):
    stream = steps.as_stream(data(both.X))
    assert stream.task_names == ["ann", "bob"]
    assert stream.y.tolist() == [1, 5, 2, 9]
    with pytest.raises(ValueError, match="topics"):
        steps.as_stream(data(both.X, task=None))
    with pytest.raises(ValueError, match="belongs to all tasks"):
        steps.tasks_of(data(both.X, task=None), [0])
