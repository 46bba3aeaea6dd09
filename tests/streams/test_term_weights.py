"""Frequent columns, and weights of rare ones, on a small table of counts."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from weft.streams.known import Known
from weft.streams.term_weights import frequent_columns, inverse_frequencies

COUNTS = np.array([[1.0, 0.0, 3.0, 0.0], [2.0, 0.0, 0.0, 1.0], [4.0, 5.0, 0.0, 0.0], [1.0, 0.0, 2.0, 0.0]])


def counts(X=COUNTS):
    names = ["the", "once", "twice", "also once"]
    return Known("counts", sparse.csr_array(X), np.ones(4), np.zeros(4, int), ["a"], names)


def test_frequent_columns():
    found = frequent_columns(counts(), 3)
    np.testing.assert_array_equal(found.X.toarray(), COUNTS[:, :3])  # "once" comes before "also once"
    assert found.feature_names == ["the", "once", "twice"]
    assert frequent_columns(counts(), 9).X.shape == (4, 4)


def test_a_stored_zero_is_no_occurrence():
    data = counts()
    data.X.data[data.X.indices == 0] = 0.0
    assert frequent_columns(data, 1).feature_names == ["twice"]


def test_inverse_frequencies():
    expected = COUNTS * np.log(4.0 / np.array([4.0, 1.0, 2.0, 1.0]))
    np.testing.assert_allclose(inverse_frequencies(counts()).X.toarray(), expected, rtol=1e-15)
    np.testing.assert_array_equal(counts().X.toarray(), COUNTS)


def two_tasks():
    """Task a has the first row, b the others."""
    names = ["the", "once", "twice", "also once"]
    return Known("counts", sparse.csr_array(COUNTS), np.ones(4), np.array([0, 1, 1, 1]), ["a", "b"], names)


def test_every_task_counts_the_same():
    """Shares: the 1, once 1/6, twice (1 + 1/3)/2, also once 1/6; idf of b from its three rows only."""
    assert frequent_columns(two_tasks(), 2, per_task=True).feature_names == ["the", "twice"]
    X = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]))
    rare = replace(two_tasks(), X=X, feature_names=["two of b", "all of a"])
    assert frequent_columns(rare, 1).feature_names == ["two of b"]
    assert frequent_columns(rare, 1, per_task=True).feature_names == ["all of a"]
    found = inverse_frequencies(two_tasks(), per_task=True).X.toarray()
    expected = COUNTS * np.log(3.0 / np.array([3.0, 1.0, 1.0, 1.0]))
    expected[0] = 0.0
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_a_column_that_no_row_has():
    empty = COUNTS.copy()
    empty[:, 1] = 0.0
    assert np.all(np.isfinite(inverse_frequencies(counts(empty)).X.toarray()))


@pytest.mark.parametrize("count", [0, -1, 2.5])
def test_a_wrong_count_is_refused(count):
    with pytest.raises(ValueError, match="must be an integer >= 1"):
        frequent_columns(counts(), count)


@pytest.mark.parametrize("step", [lambda data: frequent_columns(data, 1), inverse_frequencies])
def test_dense_sets_are_refused(step):
    dense = Known("dense", COUNTS, np.ones(4), np.zeros(4, int), ["a"], None)
    with pytest.raises(ValueError, match="dense is dense"):
        step(dense)
