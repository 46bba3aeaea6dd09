"""The kernels of a row with all rows of the active set: a column of the Gram matrix.

The values of the row are written to an array with a place per feature, 0 elsewhere, so that each kept row finds what it
needs. A kept row without gaps (all columns of a table) is read beside them, sixteen numbers at a time. Other rows have
to look up one feature after the other, and mostly find zeros: two texts share few words. So, if many columns are asked
for, an index lists the kept rows of every feature, and then only shared features cost anything.

The order of summation depends on the kept row alone, and zeros do not change a sum: columns have the same bits
whichever method was used. <x, x> is summed in that order too, so that a row has distance 0 to itself.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.instructions import LANES, lanes_dot, prefetch
from weft.compiled.jit import helper, helper_no_alloc, inlined_only
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
from weft.learners.budget.ties import TaskKernel, tie
from weft.maths.kernels import row_scale, scaled_value
from weft.storage.batch import Batch
from weft.storage.sparse_rows import Row, clear, product_in_order, row_of, spread_out
from weft.storage.state import SUPPORT

CAME, FIRST = range(2)
"""Columns of `known`: when the row entered that a slot describes (0: none), and its first feature if it has no gaps,
else GAPS, or INDEXED if the index has it."""

GAPS, INDEXED = -1.0, -2.0

FEATURES, WORK, TIED = range(3)
"""Positions in `notes`: how many features are in the index (0: there is no index), look-ups that a new index would have
saved, and how many the last column would have taken without one."""

FEW = 16
"""No index is made for this few columns."""

PER_NONZERO, PER_SHARED = 8, 2
"""What an entry of the index costs in look-ups: when the index is made, and whenever the entry is used."""

AHEAD, LINE = 2, 8
"""Memory is prefetched this many rows ahead; a cache line holds this many numbers."""


class Workspace(NamedTuple):
    """A row by feature, what is known about the rows in all slots, and the index: which rows have a feature."""

    wide: Floats
    known: Floats
    notes: Floats
    bounds: Ints  # (features, 2): where a feature's entries begin and end
    features: Ints  # that are in the index
    slots: Ints
    values: Floats
    products: Floats  # <x, z> of the rows in the index


@helper
def workspace(state: ActiveSet, wide: Floats, columns: int) -> Workspace:
    """For about this many columns; `wide` is 0."""
    features, nonzeros = (0, 0) if columns <= FEW else (len(wide), len(state.values))
    bounds, values = np.empty((features, 2), np.int64), np.empty(nonzeros)
    listed, slots = np.empty(nonzeros, np.int64), np.empty(nonzeros, np.int64)
    known, products = np.zeros((len(state.marks), 2)), np.empty(len(state.marks))
    return Workspace(wide, known, np.zeros(3), bounds, listed, slots, values, products)


@helper_no_alloc
def event_column(kernel: TaskKernel, rows: Rows, batch: Batch, i: int, work: Workspace, out: Floats) -> float:
    """The kernels of example i with all rows; returns |x|^2."""
    x = row_of(batch, i)
    return kernel_column(kernel, rows, x, batch.task[i], work, out)


@helper_no_alloc
def kernel_column(kernel: TaskKernel, rows: Rows, x: Row, task: int, work: Workspace, out: Floats) -> float:
    """out_s = K([x_s, i_s], [x, task]) in units of `unit`; returns |x|^2."""
    marks, numbers, kept, kept_values = rows.marks, rows.numbers, rows.indices, rows.values
    wide, known, n = work.wide, work.known, rows.used[SUPPORT]
    spread_out(wide, x)
    xx = row_dot(wide, x, first_of(x))
    scale, looked_up, tied = row_scale(kernel.base, xx), 0, 0
    is_found = find_shared(x, work)
    for s in range(n):
        bond = tie(kernel, task, marks[s, OWNER])
        if bond == 0.0:
            out[s] = 0.0
            continue
        z = Row(kept, kept_values, marks[s, BEGIN], marks[s, END])
        if known[s, CAME] != numbers[s, ENTERED]:
            known[s, CAME], known[s, FIRST] = numbers[s, ENTERED], first_of(z)
        if known[s, FIRST] >= 0.0:
            if s + AHEAD < n:
                for e in range(marks[s + AHEAD, BEGIN], marks[s + AHEAD, END], LINE):
                    prefetch(kept_values, e)
            product = row_dot(wide, z, known[s, FIRST])
        elif is_found and known[s, FIRST] == INDEXED:
            product = work.products[s]
            tied += z.end - z.begin
        else:
            product = product_in_order(wide, z)
            looked_up += z.end - z.begin
        out[s] = bond * scaled_value(kernel.base, product, xx, numbers[s, SQUARE], scale * numbers[s, SCALE])
    clear(wide, x)
    count_look_ups(rows, work, is_found, looked_up, tied)
    return xx


# --- dot products ---


@inlined_only
def first_of(z: Row) -> float:
    """The first feature of a row that lacks none up to its last, else GAPS."""
    if z.end > z.begin and z.indices[z.end - 1] - z.indices[z.begin] == z.end - z.begin - 1:
        return float(z.indices[z.begin])
    return GAPS


@inlined_only
def row_dot(wide: Floats, z: Row, first: float) -> float:
    """<x, z> for the row x that was spread out over `wide`, and z with its `first_of`."""
    if first < 0.0:
        return product_in_order(wide, z)
    start, shift = np.uint64(z.begin), np.uint64(first)
    count = np.uint64(z.end) - start
    whole = count // np.uint64(LANES) * np.uint64(LANES)
    total: float = lanes_dot(wide, shift, z.values, start, whole)
    for e in range(whole, count):
        total += wide[shift + e] * z.values[start + e]
    return total


# --- the index: rows by feature ---


@helper_no_alloc
def find_shared(x: Row, work: Workspace) -> bool:
    """<x, z> of all rows in the index, if that is quicker than to look up."""
    indices, values, begin, end = x
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
        feature, value = np.uint64(indices[e]), values[e]
        for p in range(np.uint64(bounds[feature, zero]), np.uint64(bounds[feature, one])):
            products[np.uint64(slots[p])] += value * parts[p]
    return True


@helper_no_alloc
def count_look_ups(rows: Rows, work: Workspace, is_found: bool, looked_up: int, tied: int) -> None:
    """Makes the index, or remakes it, once as much was looked up as that costs."""
    notes, is_first = work.notes, work.notes[FEATURES] == 0.0
    notes[TIED] = looked_up + tied
    if is_found or is_first:
        notes[WORK] += looked_up
        cost = PER_NONZERO * rows.counts[NONZEROS] + (len(work.bounds) if is_first else 0)
        if len(work.bounds) > 0 and notes[WORK] > cost:
            index_rows(rows, work)


@helper_no_alloc
def index_rows(rows: Rows, work: Workspace) -> None:
    """All rows with gaps, by feature. A feature's entries are in the order of slots."""
    marks, indices, known, n = rows.marks, rows.indices, work.known, rows.used[SUPPORT]
    bounds, features, notes, at = work.bounds, work.features, work.notes, 0
    for j in range(len(bounds) if notes[FEATURES] == 0.0 else int(notes[FEATURES])):
        f = j if notes[FEATURES] == 0.0 else features[j]
        bounds[f, 0], bounds[f, 1] = 0, 0
    notes[FEATURES], notes[WORK] = 0.0, 0.0
    for s in range(n):
        first, last = marks[s, BEGIN], marks[s, END]
        known[s, CAME] = rows.numbers[s, ENTERED]
        known[s, FIRST] = first_of(Row(indices, rows.values, first, last))
        if known[s, FIRST] == GAPS:
            known[s, FIRST] = INDEXED
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
        if known[s, FIRST] == INDEXED:
            for e in range(marks[s, BEGIN], marks[s, END]):
                p = bounds[indices[e], 1]
                work.slots[p], work.values[p] = s, rows.values[e]
                bounds[indices[e], 1] = p + 1
