"""Columns that many rows have, and weights of rare ones, on counts that fit on a page."""

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
    np.testing.assert_array_equal(found.X.toarray(), COUNTS[:, :3])  # "once" stands before "also once"
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


def test_a_column_that_no_row_has():
    empty = COUNTS.copy()
    empty[:, 1] = 0.0
    assert np.all(np.isfinite(inverse_frequencies(counts(empty)).X.toarray()))


@pytest.mark.parametrize("count", [0, -1, 2.5])
def test_a_wrong_count_is_refused(count):
    with pytest.raises(ValueError, match="must be a whole number >= 1"):
        frequent_columns(counts(), count)


@pytest.mark.parametrize("step", [lambda data: frequent_columns(data, 1), inverse_frequencies])
def test_dense_sets_are_refused(step):
    dense = Known("dense", COUNTS, np.ones(4), np.zeros(4, int), ["a"], None)
    with pytest.raises(ValueError, match="dense is dense"):
        step(dense)
