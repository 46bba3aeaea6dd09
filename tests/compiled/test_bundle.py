"""A tuple of arrays behind a pointer: every field is passed on, and writing changes the arrays themselves."""

from typing import NamedTuple

import numpy as np

from weft.compiled.bundle import hold, opened, packed
from weft.compiled.jit import compiled, helper_no_alloc


class Inner(NamedTuple):
    flag: bool
    number: float
    table: np.ndarray


class Outer(NamedTuple):
    inner: Inner
    ints: np.ndarray
    count: int


@helper_no_alloc
def _add(bundle, row):
    inner, ints, count = opened(bundle)
    for column in range(inner.table.shape[1]):
        inner.table[row, column] += (inner.number if inner.flag else 0.0) * ints[column] + count


@compiled
def add_to_all(inner, ints, count):
    bundle = packed(Outer(inner, ints, count))
    for row in range(inner.table.shape[0]):
        _add(bundle, row)


@helper_no_alloc
def _sum(bundle):
    (numbers,) = opened(bundle)
    total = 0.0
    for at in range(len(numbers)):
        total += numbers[at]
    return total


class Own(NamedTuple):
    numbers: np.ndarray


@compiled
def sums_of_own(times, size):
    """A bundle of an array that this function allocates, while it allocates and drops others of the same size."""
    own = Own(np.ones(size))
    bundle = packed(own)
    wrong = 0
    for at in range(times):
        other = np.full(size, 2.0 + at)
        wrong += _sum(bundle) != size or other[0] != 2.0 + at
    hold(own)
    return wrong


def test_an_allocated_array_lives_until_hold():
    assert sums_of_own(50, 64) == 0


def test_every_field_is_passed_on_and_arrays_are_not_copied():
    for flag, expected in ((True, [[8.5, 6.0, 13.5]] * 2), (False, [[7.0, 7.0, 7.0]] * 2)):
        table = np.zeros((2, 3))
        add_to_all(Inner(flag, 0.5, table), np.array([3, -2, 13]), 7)
        assert table.tolist() == expected


def test_a_bundle_of_strided_arrays():
    table = np.zeros((4, 6))
    add_to_all(Inner(True, 2.0, table[::2, ::3]), np.arange(4)[::2], 1)
    assert table[::2, ::3].tolist() == [[1.0, 5.0]] * 2
    assert table.sum() == 12.0
