"""Names and their slots."""

import numpy as np
import pytest

import weft
from weft.names import MOST_BITS, MOST_NESTED, Names, plain


def located(names, given):
    """Locate and add, as a vocabulary does."""
    slots, addition = names.locate(given)
    after = names.after(addition)
    names.add(addition)
    assert len(names) == after
    return slots


def test_slots_in_order_of_appearance():
    names = Names()
    assert located(names, ["ann", 3, ("a", 1)]) is None  # the first names are their own slots
    assert located(names, ["bob", "ann", -1]).tolist() == [3, 0, 4]
    assert list(names) == ["ann", 3, ("a", 1), "bob", -1]
    assert [names[slot] for slot in range(5)] == list(names)
    assert names.known(["bob", "eve", 3]).tolist() == [3, -1, 1]


def test_pieces_of_one_stream_keep_their_slots():
    names = Names()
    for piece in (["ann", "bob"], ["ann", "bob"], ["ann"], ["ann", "bob", "eve"]):
        assert located(names, piece) is None
    assert names.known(["ann", "bob"]) is None
    assert names.known([]) is None
    assert located(names, ["bob", "ann"]).tolist() == [1, 0]
    assert names.known(["ann", "joe"]).tolist() == [0, -1]


def test_locating_adds_nothing():
    names = Names(["ann"])
    names.locate(["bob"])
    names.locate(7)
    assert list(names) == ["ann"]


def test_columns_are_their_own_slots():
    names = Names()
    assert located(names, 3) is None
    assert located(names, 5) is None
    assert located(names, 2) is None
    assert list(names) == [0, 1, 2, 3, 4]
    assert names.known(4) is None
    assert names.known(7).tolist() == [0, 1, 2, 3, 4, -1, -1]
    assert names.find(4) == 4
    assert names.find(5) == -1
    assert names.find(-1) == -1


def test_columns_and_names_mixed():
    names = Names()
    located(names, 2)
    assert located(names, ["a", 1, 5]).tolist() == [2, 1, 3]
    assert located(names, 4).tolist() == [0, 1, 4, 5]
    assert list(names) == [0, 1, "a", 5, 2, 3]
    assert names.known(7).tolist() == [0, 1, 4, 5, -1, 3, -1]
    assert len(set(names)) == len(names)


def test_names_first_columns_later():
    names = Names(["a", 1])
    assert located(names, 3).tolist() == [2, 1, 3]
    assert list(names) == ["a", 1, 0, 2]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", "a"),
        (np.str_("a"), "a"),
        (3, 3),
        (np.int8(3), 3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (("a", np.int64(1)), ("a", 1)),
    ],
)
def test_plain(name, expected):
    found = plain(name, "task")
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "name",
    [None, True, 1.0, b"a", [], ["a"], (), ("a", 2.0), ("a", ("b", None)), {"a"}, np.bool_(False)],
    ids=str,
)
def test_what_is_no_name(name):
    with pytest.raises(ValueError, match=r"^row 3: task .*string"):
        plain(name, "row 3: task")


def test_names_that_no_file_could_hold():
    """Deeper tuples than a reader follows, and integers that Python does not write."""
    deep = "a"
    for _ in range(MOST_NESTED):
        deep = (deep,)
    assert plain(deep, "task") == deep
    with pytest.raises(ValueError, match=r"^task has tuples nested more than 32 deep"):
        plain((deep,), "task")
    assert plain(2**MOST_BITS - 1, "task") == 2**MOST_BITS - 1
    for name in (2**MOST_BITS, -(10**5000), ("a", 10**5000)):
        with pytest.raises(ValueError, match=r"^task is an integer of more than 4096 bits; use a string"):
            plain(name, "task")
    model = weft.Model("perceptron")
    model.learn(weft.Stream([{2**MOST_BITS - 1: 1.0}], [1], [deep]))
    assert weft.Model.from_bytes(model.to_bytes()).tasks == [deep]
    for x, task in (({10**5000: 1.0}, "a"), ({"a": 1.0}, 10**5000), ({"a": 1.0}, (deep,))):
        with pytest.raises(ValueError, match=r"bits|deep"):
            model.learn_one(x, 1, task)
