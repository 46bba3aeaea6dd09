"""Dicts that compiled code reads: the same slots and values as Python finds, and nothing that it should leave alone."""

import gc
import random
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.compiled import python_dict
from weft.compiled.python_dict import READABLE, UNREAD, DictReader

pytestmark = pytest.mark.skipif(not READABLE, reason="this interpreter's objects are not read directly")

NAMES = [*(f"name{n}" for n in range(40)), *range(10), -1, 2**40, "é", "日本", ""]
SLOTS = {name: slot for slot, name in enumerate(NAMES)}


def reader(room=64):
    indices, values = np.full(room, -9, np.int64), np.full(room, -9.0)
    found = DictReader(SLOTS, indices, values)
    return lambda x: found.read(found.words, id(x)), indices, values


numbers = st.one_of(st.floats(), st.integers(-(2**63), 2**63 - 1))


@settings(deadline=None)  # the first call compiles
@given(st.dictionaries(st.sampled_from(NAMES), numbers))
def test_names_become_slots_and_values_are_exact(x):
    read, indices, values = reader()
    assert read(x) == len(x)
    assert indices[: len(x)].tolist() == [SLOTS[name] for name in x]
    np.testing.assert_array_equal(values[: len(x)], np.array([float(v) for v in x.values()]))


class Text(str):
    """A name that is not exactly a string."""


@pytest.mark.parametrize(
    "x",
    [
        {"unknown": 1.0},
        {("name", 1): 1.0},
        {1.0: 1.0},
        {True: 1.0},
        {None: 1.0},
        {Text("name1"): 1.0},
        {"name1": True},
        {"name1": None},
        {"name1": "1"},
        {"name1": 2**63},
        {"name1": -(2**70)},
        {"name1": np.float64(1.0)},
        {"name1": np.int64(1)},
        {"name1": 1j},
    ],
    ids=repr,
)
def test_everything_else_is_left_to_python(x):
    read, indices, _ = reader()
    assert read(x) == UNREAD
    assert read({"name3": 0.5}) == 1
    assert indices[0] == 3


def test_rows_longer_than_the_buffers_are_left_to_python():
    read, indices, _ = reader(room=3)
    assert read(dict.fromkeys(NAMES[:3], 1.0)) == 3
    assert read(dict.fromkeys(NAMES[:4], 1.0)) == UNREAD
    assert indices.tolist() == [0, 1, 2]


def test_dicts_with_removed_entries():
    x = dict.fromkeys(NAMES, 1.0)
    for name in NAMES[::2]:
        del x[name]
    read, indices, _ = reader()
    assert read(x) == len(NAMES) // 2
    assert indices[: len(NAMES) // 2].tolist() == [SLOTS[name] for name in NAMES[1::2]]


def test_names_that_are_added_later_are_found():
    slots = {"a": 0}
    indices, values = np.zeros(4, np.int64), np.zeros(4)
    found = DictReader(slots, indices, values)
    x = {"b": 1.0}
    assert found.read(found.words, id(x)) == UNREAD
    slots.update({f"more{n}": n for n in range(1000)} | {"b": 7})
    assert found.read(found.words, id(x)) == 1
    assert indices[0] == 7


def test_no_reference_is_gained_or_lost():
    read, _, _ = reader()
    name, value, x = "name7", 0.123456789, {}
    x[name] = value
    before = [sys.getrefcount(each) for each in (name, value, x)]
    for _ in range(10_000):
        read(x)
        read({"unknown": value})
    gc.collect()
    assert [sys.getrefcount(each) for each in (name, value, x)] == before


def test_many_random_dicts():
    random.seed(5)
    read, indices, values = reader()
    for _ in range(3000):
        x = {name: random.choice([random.random(), random.randrange(-5, 5)]) for name in random.sample(NAMES, 20)}
        assert read(x) == 20
        assert indices[:20].tolist() == [SLOTS[name] for name in x]
        assert values[:20].tolist() == list(x.values())


def test_objects_of_another_shape_are_noticed(monkeypatch):
    monkeypatch.setattr(python_dict, "_TYPE", 16)
    assert not python_dict._is_readable()
