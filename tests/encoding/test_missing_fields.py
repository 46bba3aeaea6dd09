"""Missing values: entries with NaN for numeric fields that were known before, and their place in files."""

from itertools import pairwise

import numpy as np
import pytest

import weft
from weft.encoding.missing_values import MOST_FIELDS, add_missing
from weft.store.model_file import _read_fields
from weft.vocabulary import Vocabulary

RECORDS = [
    {"u": "a", "age": 1.0, "c": "x"},
    {"u": "a", "age": None, "height": 0.0},
    {"u": "a", "c": "y"},
    {"u": "a", "age": 2.0, "height": 3.0},
]


def by_hand(records, known, grows=True):
    """Names and values of every row, None for a missing one."""
    rows, known = [], list(known)
    for record in records:
        row = {}
        for name, value in record.items():
            if name != "u" and value is not None:
                row |= {name: value} if isinstance(value, float) else {f"{name}={value}": 1.0}
        there = [name for name in row if "=" not in name]
        missing = {name: None for name in known if name not in row}
        known += [name for name in there if grows and name not in known]
        rows.append({name: value for name, value in (row | missing).items() if value != 0.0})
    return rows, known


def in_words(batch, names):
    pairs = [
        (names[slot], None if np.isnan(value) else value)
        for slot, value in zip(batch.indices.tolist(), batch.values.tolist(), strict=True)
    ]
    return [dict(pairs[a:b]) for a, b in pairwise(batch.indptr.tolist())]


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_fields_are_known_from_their_first_number_on(size):
    """However the records are cut; a value of zero is not missing."""
    vocabulary = Vocabulary()
    vocabulary.reads_missing = True
    found = []
    for begin in range(0, len(RECORDS), size):
        stream = weft.Stream.from_records(RECORDS[begin : begin + size], task="u")
        proposal = vocabulary.propose(stream, np.zeros(len(stream)))
        vocabulary.accept(proposal)
        found += in_words(proposal.batch, list(vocabulary.features))
    expected, known = by_hand(RECORDS, [])
    assert found == expected
    assert [vocabulary.features[slot] for slot in vocabulary.fields.tolist()] == known


def test_scored_rows_do_not_depend_on_each_other():
    vocabulary = Vocabulary()
    vocabulary.reads_missing = True
    vocabulary.accept(vocabulary.propose(weft.Stream.from_records(RECORDS[:1], task="u"), np.zeros(1)))
    batch = vocabulary.read(weft.Stream.from_records(RECORDS, task="u"), unknown=True)
    names = [*vocabulary.features, "height", "c=y"]
    assert in_words(batch, names) == by_hand(RECORDS, ["age"], grows=False)[0]


def test_other_learners_see_nothing_of_it():
    stream = weft.Stream.from_records(RECORDS, task="u")
    batch = Vocabulary().propose(stream, np.zeros(4)).batch
    assert not np.isnan(batch.values).any()


def test_there_is_a_limit():
    count = MOST_FIELDS + 20
    indptr, slots = np.array([0, count, count]), np.arange(count)
    found = add_missing(indptr, slots, np.ones(count), np.ones(count, bool), np.zeros(0, np.int64))
    assert len(found.known) == MOST_FIELDS
    assert found.slots[count:].tolist() == list(range(MOST_FIELDS))


def test_the_file_keeps_what_is_known():
    model = weft.Model("pa", schema=weft.Schema(task="u", label="y"))
    model.vocabulary.reads_missing = False
    model.learn([{**record, "y": i % 2} for i, record in enumerate(RECORDS)])
    model.vocabulary.fields = np.array([0, 2], np.int64)
    again = weft.Model.from_bytes(model.to_bytes())
    assert again.vocabulary.fields.tolist() == [0, 2]
    assert again.to_bytes() == model.to_bytes()


@pytest.mark.parametrize("wrong", [[2, 0], [0, 99], [-1], ["a"], [0, 0], [True], None, list(range(MOST_FIELDS + 1))])
def test_what_a_file_says_is_checked(wrong):
    with pytest.raises(ValueError, match=r"they are not|their slots"):
        _read_fields(wrong, MOST_FIELDS + 5 if isinstance(wrong, list) and len(wrong) > 9 else 3)
