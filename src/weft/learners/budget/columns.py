"""The kernels of a row with all rows of the active set: a column of the Gram matrix.

The values of the row are spread out over all features, zeros in between, so that each kept row finds what it needs. A
kept row without gaps (all columns of a table) is read beside them, sixteen numbers at a time. Other rows have to look
up one feature after the other, and mostly find zeros: two texts share few words. So, if many columns are asked for,
the rows with gaps are also listed by feature, and then only what is shared costs anything.

The order of summation depends on the kept row alone, and zeros do not change a sum: columns have the same bits
whichever way was taken. <x, x> is summed in that order too, so that a row has distance 0 to itself.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.instructions import LANES, lanes_dot, prefetch
from weft.compiled.jit import helper, helper_no_alloc, inlined_only
from weft.graphs.relation import Relation
from weft.learners.budget.active_set import (
    BEGIN,
    END,
    ENTERED,
    NONZEROS,
    OWNER,
    SCALE,
    SQUARE,
    ActiveSet,
    Rows,
)
from weft.learners.budget.ties import tie
from weft.maths.kernels import KernelCode, row_scale, scaled_value
from weft.storage.batch import Batch
from weft.storage.state import SUPPORT

CAME, FIRST = range(2)
"""Columns of `known`: when the row came of which a slot knows (0: none), and its first feature if it has no gaps, else
one of the numbers below."""

GAPS, LISTED = -1.0, -2.0

FEATURES, WORK, TIED = range(3)
"""Positions in `notes`: how many features are listed (0: there is no list), look-ups that a new list would have saved,
and how many the last column would have taken without one."""

FEW = 16
"""No list is made for so few columns."""

PER_NONZERO, PER_SHARED = 8, 2
"""What an entry of the list costs in look-ups: when the list is made, and whenever the entry is used."""

AHEAD, LINE = 2, 8
"""Memory is asked for so many rows ahead; a cache line holds so many numbers."""


class Workspace(NamedTuple):
    """A row spread out, what is known about the rows in all slots, and the list: which rows have a feature."""

    wide: Floats
    known: Floats
    notes: Floats
    bounds: Ints  # (features, 2): where a feature's entries begin and end
    features: Ints  # that are listed
    slots: Ints
    values: Floats
    products: Floats  # <x, z> of the rows that are listed


@helper
def workspace(state: ActiveSet, wide: Floats, columns: int) -> Workspace:
    """For about so many columns; `wide` is zero."""
    features, nonzeros = (0, 0) if columns <= FEW else (len(wide), len(state.values))
    bounds, values = np.empty((features, 2), np.int64), np.empty(nonzeros)
    listed, slots = np.empty(nonzeros, np.int64), np.empty(nonzeros, np.int64)
    known, products = np.zeros((len(state.marks), 2)), np.empty(len(state.marks))
    return Workspace(wide, known, np.zeros(3), bounds, listed, slots, values, products)


@helper_no_alloc
def event_column(
    code: KernelCode, ties: int, rows: Rows, relation: Relation, batch: Batch, i: int, work: Workspace, out: Floats
) -> float:
    """The kernels of example i with all rows; returns |x|^2."""
    begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    return kernel_column(code, ties, rows, relation, batch.task[i], batch.indices, batch.values, begin, end, work, out)


@helper_no_alloc
def kernel_column(
    code: KernelCode,
    ties: int,
    rows: Rows,
    relation: Relation,
    task: int,
    indices: Ints,
    values: Floats,
    begin: int,
    end: int,
    work: Workspace,
    out: Floats,
) -> float:
    """out_s = K([x_s, i_s], [x, task]) in units of `unit`, for x = values[begin:end]; returns |x|^2."""
    marks, numbers, kept, kept_values = rows.marks, rows.numbers, rows.indices, rows.values
    wide, known, products, n = work.wide, work.known, work.products, rows.used[SUPPORT]
    for e in range(begin, end):
        wide[indices[e]] = values[e]
    xx = dot(wide, indices, values, begin, end, first_of(indices, begin, end))
    scale, looked_up, tied = row_scale(code, xx), 0, 0
    is_found = find_shared(indices, values, begin, end, work)
    for s in range(n):
        bond = tie(ties, relation, task, marks[s, OWNER])
        if bond == 0.0:
            out[s] = 0.0
            continue
        first, last = marks[s, BEGIN], marks[s, END]
        if known[s, CAME] != numbers[s, ENTERED]:
            known[s, CAME], known[s, FIRST] = numbers[s, ENTERED], first_of(kept, first, last)
        if known[s, FIRST] >= 0.0:
            if s + AHEAD < n:
                for e in range(marks[s + AHEAD, BEGIN], marks[s + AHEAD, END], LINE):
                    prefetch(kept_values, e)
            product = dot(wide, kept, kept_values, first, last, known[s, FIRST])
        elif is_found and known[s, FIRST] == LISTED:
            product = products[s]
            tied += last - first
        else:
            product = dot(wide, kept, kept_values, first, last, GAPS)
            looked_up += last - first
        out[s] = bond * scaled_value(code, product, xx, numbers[s, SQUARE], scale * numbers[s, SCALE])
    for e in range(begin, end):
        wide[indices[e]] = 0.0
    note_look_ups(rows, work, is_found, looked_up, tied)
    return xx


# --- dot products ---


@inlined_only
def first_of(indices: Ints, begin: int, end: int) -> float:
    """The first feature of a row that lacks none up to its last, else GAPS."""
    if end > begin and indices[end - 1] - indices[begin] == end - begin - 1:
        return float(indices[begin])
    return GAPS


@inlined_only
def dot(wide: Floats, indices: Ints, values: Floats, begin: int, end: int, first: float) -> float:
    """<x, z> of a row that was spread out and z = values[begin:end], with `first_of` z."""
    start, stop, total = np.uint64(begin), np.uint64(end), 0.0
    if first >= 0.0:
        shift, count = np.uint64(first), stop - start
        whole = count // np.uint64(LANES) * np.uint64(LANES)
        total = lanes_dot(wide, shift, values, start, whole)
        for e in range(whole, count):
            total += wide[shift + e] * values[start + e]
    else:
        for e in range(start, stop):
            total += wide[np.uint64(indices[e])] * values[e]
    return total


# --- rows by feature ---


@helper_no_alloc
def find_shared(indices: Ints, values: Floats, begin: int, end: int, work: Workspace) -> bool:
    """<x, z> of all rows that are listed, for x = values[begin:end], if that is quicker than to look up."""
    bounds, slots, parts, products = work.bounds, work.slots, work.values, work.products
    if work.notes[FEATURES] == 0.0:
        return False
    shared = 0
    for e in range(begin, end):
        shared += bounds[indices[e], 1] - bounds[indices[e], 0]
    if PER_SHARED * shared > work.notes[TIED]:
        return False
    for s in range(len(products)):
        products[s] = 0.0
    zero, one = np.uint64(0), np.uint64(1)
    for e in range(np.uint64(begin), np.uint64(end)):
        feature, x = np.uint64(indices[e]), values[e]
        for p in range(np.uint64(bounds[feature, zero]), np.uint64(bounds[feature, one])):
            products[np.uint64(slots[p])] += x * parts[p]
    return True


@helper_no_alloc
def note_look_ups(rows: Rows, work: Workspace, is_found: bool, looked_up: int, tied: int) -> None:
    """Makes the list, or makes it anew, once as much was looked up as that costs."""
    notes, is_first = work.notes, work.notes[FEATURES] == 0.0
    notes[TIED] = looked_up + tied
    if is_found or is_first:
        notes[WORK] += looked_up
        cost = PER_NONZERO * rows.counts[NONZEROS] + (len(work.bounds) if is_first else 0)
        if len(work.bounds) > 0 and notes[WORK] > cost:
            list_rows(rows, work)


@helper_no_alloc
def list_rows(rows: Rows, work: Workspace) -> None:
    """All rows with gaps by feature. A feature's entries are in the order of slots."""
    marks, indices, known, n = rows.marks, rows.indices, work.known, rows.used[SUPPORT]
    bounds, features, notes, at = work.bounds, work.features, work.notes, 0
    for j in range(len(bounds) if notes[FEATURES] == 0.0 else int(notes[FEATURES])):
        f = j if notes[FEATURES] == 0.0 else features[j]
        bounds[f, 0], bounds[f, 1] = 0, 0
    notes[FEATURES], notes[WORK] = 0.0, 0.0
    for s in range(n):
        first, last = marks[s, BEGIN], marks[s, END]
        known[s, CAME], known[s, FIRST] = rows.numbers[s, ENTERED], first_of(indices, first, last)
        if known[s, FIRST] == GAPS:
            known[s, FIRST] = LISTED
            for e in range(first, last):
                f = indices[e]
                if bounds[f, 1] == 0:
                    features[int(notes[FEATURES])] = f
                    notes[FEATURES] += 1.0
                bounds[f, 1] += 1
    for s in range(n, len(known)):
        known[s, CAME] = 0.0
    for j in range(int(notes[FEATURES])):
        f = features[j]
        count = bounds[f, 1]
        bounds[f, 0], bounds[f, 1] = at, at
        at += count
    for s in range(n):
        if known[s, FIRST] == LISTED:
            for e in range(marks[s, BEGIN], marks[s, END]):
                p = bounds[indices[e], 1]
                work.slots[p], work.values[p] = s, rows.values[e]
                bounds[indices[e], 1] = p + 1
