"""Rows of features from whatever a user holds."""

from collections import Counter, OrderedDict
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from weft.storage.rows import Given, Rows, read_rows, tidy

X = np.array([[1.0, 0.0, -2.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 3.5, 0.0, 4.0]])


class Frame:
    """What a data frame looks like from outside."""

    def __init__(self, table, columns):
        self.table, self.columns = table, columns

    def to_numpy(self):
        return self.table


def dense(rows):
    return sparse.csr_array((rows.values, rows.indices, rows.indptr), shape=(rows.length, rows.width)).toarray()


@pytest.mark.parametrize(
    "make",
    [
        np.array,
        np.asfortranarray,
        lambda x: x.tolist(),
        lambda x: [tuple(r) for r in x],
        lambda x: tuple(map(tuple, x)),
        lambda x: list(x),
        lambda x: x.astype(object),
        lambda x: x.astype(np.float32),
        lambda x: x.astype(np.float16),
        sparse.csr_array,
        sparse.csc_array,
        sparse.coo_array,
        sparse.csr_matrix,
        sparse.lil_array,
        sparse.dok_array,
        sparse.bsr_array,
        sparse.dia_array,
        lambda x: Frame(x, list("abcd")),
    ],
)
def test_every_form_gives_the_same_rows(make):
    rows = read_rows(make(X))
    assert rows.length == 3
    assert np.array_equal(dense(rows), X)
    assert rows.indptr.tolist() == [0, 2, 2, 4]
    assert [array.dtype for array in rows[:3]] == [np.int64, np.int64, np.float64]
    assert all(array.flags.c_contiguous and array.flags.writeable for array in rows[:3])


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint8, np.int32, np.uint64, np.int64])
def test_whole_numbers(kind):
    table = np.array([[1, 0], [0, 1]], kind)
    assert np.array_equal(dense(read_rows(table)), np.eye(2))
    assert np.array_equal(dense(read_rows(sparse.csr_array(table))), np.eye(2))


def test_dicts_name_their_features():
    rows = read_rows(
        [
            {"b": 1, "a": 0.0},
            {},
            {"a": True, ("c", 1): np.float32(2)},
            OrderedDict(b=Fraction(1, 2)),
            Counter("zz"),
        ]
    )
    assert rows.features == ["b", "a", ("c", 1), "z"]
    assert np.array_equal(dense(rows), [[1, 0, 0, 0], [0] * 4, [0, 1, 2, 0], [0.5, 0, 0, 0], [0, 0, 0, 2]])


def test_frames_name_their_columns():
    assert read_rows(Frame(X, ["a", "b", 3, ("x", 1)])).features == ["a", "b", 3, ("x", 1)]
    with pytest.raises(ValueError, match="two columns of one name"):
        read_rows(Frame(X, list("abca")))
    with pytest.raises(ValueError, match=r"column 1\.5"):
        read_rows(Frame(X, ["a", 1.5, "b", "c"]))


def test_tidy_sorts_drops_zeros_and_keeps_the_pieces_apart():
    rng = np.random.default_rng(0)
    for _ in range(30):
        lengths = rng.integers(0, 6, 7)
        indices = np.concatenate([rng.permutation(9)[:n] for n in lengths]).astype(np.int64)
        values = np.where(rng.random(len(indices)) < 0.4, 0.0, rng.normal(size=len(indices)))
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        expected = np.zeros((7, 9))
        for r in range(7):
            expected[r, indices[indptr[r] : indptr[r + 1]]] = values[indptr[r] : indptr[r + 1]]
        rows = tidy(Rows(indptr, indices, values, 9))
        assert np.array_equal(dense(rows), expected)
        assert np.all(rows.values != 0)
        for r in range(7):
            assert np.all(np.diff(rows.indices[rows.indptr[r] : rows.indptr[r + 1]]) > 0)


def test_rows_without_columns():
    assert read_rows(np.empty((3, 0))).length == 3
    assert read_rows([[], []]).length == 2
    assert read_rows([{}, {}]).length == 2
    assert read_rows(sparse.csr_array((4, 2))).length == 4


def test_features_as_dicts_had_them():
    rows = [[3, 1, 2], [], [5], [4, 0], []]
    given = Given(np.cumsum([0, *map(len, rows)]), np.array([feature for row in rows for feature in row]))
    for some in ([0, 1, 2, 3, 4], [3, 0], [2, 2, 4, 0], [1, 3]):
        assert given.of(np.array(some)).tolist() == [feature for at in some for feature in rows[at]]
