"""Missing values of numeric fields: an entry with the value NaN where a record lacks a number that others have.

A field is known from the record on in which it first had a number. What is known belongs to the model, so that it does
not matter how a stream is cut. At most MOST_FIELDS fields are known: beyond that, records are sparse.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.jit import compiled

MOST_FIELDS = 100
"""Fields whose missing values are noticed: the first so many."""

_Rows = tuple[Ints, Ints, Floats, Array]
_Entries = tuple[Ints, Floats]


class WithMissing(NamedTuple):
    """Rows with entries for missing values, over slots, and the slots of all fields that are known after them."""

    indptr: Ints
    slots: Ints
    values: Floats
    known: Ints


def add_missing(indptr: Ints, slots: Ints, values: Floats, is_field: Array, known: Ints) -> WithMissing:
    """Add the entries of missing values to rows.

    is_field  which entries are numbers of a field
    known     the slots of the fields that are known before, ascending

    >>> rows = np.array([0, 1, 2]), np.array([4, 7]), np.array([1.5, 1.0]), np.array([True, False])
    >>> found = add_missing(*rows, np.array([2]))
    >>> found.indptr.tolist(), found.slots.tolist(), found.known.tolist()
    ([0, 2, 5], [4, 2, 7, 2, 4], [2, 4])
    """
    rows, room, ends = (
        (indptr, slots, values, is_field),
        np.zeros(MOST_FIELDS, np.int64),
        np.zeros(len(indptr), np.int64),
    )
    room[: len(known)] = known
    count = _add(rows, room, len(known), ends, (np.zeros(0, np.int64), np.zeros(0)))
    if ends[-1] == indptr[-1]:  # nothing is missing
        return WithMissing(indptr, slots, values, room[:count].copy())
    room[: len(known)] = known
    entries = np.empty(ends[-1], np.int64), np.empty(ends[-1])
    count = _add(rows, room, len(known), ends, entries)
    return WithMissing(ends, *entries, room[:count].copy())


@compiled
def _add(rows: _Rows, known: Ints, count: int, ends: Ints, entries: _Entries) -> int:
    """Fill `ends` and, if they have room, the entries; `known` takes up new fields. Returns how many are known."""
    indptr, slots, values, is_field = rows
    all_slots, all_values = entries
    is_filled = all_slots.shape[0] > 0
    is_there = np.zeros(known.shape[0], np.bool_)
    used = 0
    for r in range(indptr.shape[0] - 1):
        is_there[:] = False
        for e in range(indptr[r], indptr[r + 1]):
            if is_filled:
                all_slots[used], all_values[used] = slots[e], values[e]
            used += 1
            if is_field[e]:
                at = np.searchsorted(known[:count], slots[e])
                if at < count and known[at] == slots[e]:
                    is_there[at] = True
        for k in range(count):
            if not is_there[k]:
                if is_filled:
                    all_slots[used], all_values[used] = known[k], np.nan
                used += 1
        for e in range(indptr[r], indptr[r + 1]):
            if is_field[e] and count < known.shape[0]:
                at = np.searchsorted(known[:count], slots[e])
                if at == count or known[at] != slots[e]:
                    for k in range(count, at, -1):
                        known[k] = known[k - 1]
                    known[at] = slots[e]
                    count += 1
        ends[r + 1] = used
    return count
