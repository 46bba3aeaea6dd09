"""Streams as batches of slots."""

import json

import numpy as np
import pytest
from scipy import sparse

from weft import Stream
from weft.names import MOST_NAMES, Names
from weft.vocabulary import _SHORT, Vocabulary, _sorted_rows, names_as_json, names_from_json


def table(batch, width):
    rows = (batch.values, batch.indices, batch.indptr)
    return sparse.csr_array(rows, shape=(len(batch.indptr) - 1, width)).toarray()


def test_new_names_get_the_next_slots():
    vocabulary = Vocabulary(Names(["bob"]), Names(["b"]))
    stream = Stream([{"a": 1.0, "b": 2.0}, {"c": 3.0}], [1, -1], ["ann", "bob"])
    proposal = vocabulary.propose(stream, stream.y)
    assert (len(vocabulary.tasks), len(vocabulary.features)) == (1, 1)  # nothing yet
    assert proposal.batch.task.tolist() == [1, 0]
    assert table(proposal.batch, 3).tolist() == [[2.0, 1.0, 0.0], [0.0, 0.0, 3.0]]
    vocabulary.accept(proposal)
    assert list(vocabulary.tasks) == ["bob", "ann"]
    assert list(vocabulary.features) == ["b", "a", "c"]


def test_batches_are_sorted_plain_arrays():
    vocabulary = Vocabulary(features=Names(["z", "y", "x"]))
    stream = Stream([{"x": 1.0, "w": 4.0, "y": 2.0, "z": 3.0}], [1], "ann")
    batch = vocabulary.propose(stream, stream.labels("binary")).batch
    assert batch.indices.tolist() == [0, 1, 2, 3]
    assert batch.values.tolist() == [3.0, 2.0, 1.0, 4.0]
    assert {array.dtype for array in batch} == {np.dtype(np.int64), np.dtype(np.float64)}
    assert all(array.flags.c_contiguous and array.flags.writeable for array in batch)


def test_reading_drops_features_and_sends_tasks_to_the_blank_slot():
    vocabulary = Vocabulary(Names(["ann", "bob"]), Names(["a", "b"]))
    stream = Stream([{"c": 9.0, "b": 1.0}, {"d": 1.0}, {"a": 2.0}], None, ["eve", "bob", "kim"])
    batch = vocabulary.read(stream)
    assert batch.task.tolist() == [2, 1, 2]
    assert table(batch, 2).tolist() == [[0.0, 1.0], [0.0, 0.0], [2.0, 0.0]]
    assert (len(vocabulary.tasks), len(vocabulary.features)) == (2, 2)


def test_reading_a_wider_table():
    vocabulary = Vocabulary(Names(["ann"]), Names(columns=2))
    X = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 4.0]])
    for wide in (X, sparse.csr_array(X)):
        assert table(vocabulary.read(Stream(wide, None, "ann")), 2).tolist() == [[1.0, 2.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    "names", [Names(), Names(["a", 1, ("b", (2, "c"))]), Names(columns=5), Names(["a", 9, -1], columns=3)]
)
def test_names_through_json(names):
    again = names_from_json(json.loads(json.dumps(names_as_json(names))))
    assert list(again) == list(names)
    assert again.columns == names.columns
    assert again.slots == names.slots


def test_many_columns_cost_nothing():
    assert names_as_json(Names(["a"], columns=2**32)) == {"columns": 2**32, "names": ["a"]}
    assert len(names_from_json({"columns": MOST_NAMES, "names": []})) == MOST_NAMES
    for columns in (MOST_NAMES + 1, -1):
        with pytest.raises(ValueError, match="number of columns"):
            names_from_json({"columns": columns, "names": []})


def test_rows_of_codes_are_sorted_and_lose_what_is_nothing():
    """Short and long rows, in order and not; entries without a slot and zeros go, missing values stay."""
    rng = np.random.default_rng(3)
    lengths = [0, 1, 2, 3, 7, _SHORT - 1, _SHORT, _SHORT + 1, 3 * _SHORT] * 4
    slots = [rng.permutation(500)[:length] - (0 if at % 2 else 60) for at, length in enumerate(lengths)]
    slots = [np.sort(row) if at % 5 == 0 else row for at, row in enumerate(slots)]
    source = [rng.choice([0.0, -0.0, 1e-200, np.nan, 1.5, -2.0, 7.0], length) for length in lengths]
    begins = np.concatenate([[0], np.cumsum(lengths)])
    found = _sorted_rows(begins, np.maximum(np.concatenate(slots), -1), np.concatenate(source))
    expected = [
        sorted((int(slot), value) for slot, value in zip(*row, strict=True) if slot >= 0 and not abs(value) < 1e-150)
        for row in zip(slots, source, strict=True)
    ]
    assert found.indptr.tolist() == [0, *np.cumsum([len(row) for row in expected])]
    assert found.indices.tolist() == [slot for row in expected for slot, _ in row]
    np.testing.assert_array_equal(found.values, [value for row in expected for _, value in row])
