"""Memory is asked for what the next example needs while the present one is worked on: it answers slowly.

It takes few questions at a time, so that every turn over four entries asks a little. Asking for something behind the
end of an array does nothing.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.instructions import prefetch
from weft.compiled.jit import helper_no_alloc, inlined
from weft.learners.adaptive.parts import PART_WIDTH
from weft.storage.batch import Batch
from weft.storage.pairs import BASE, FAR, HASHED, SIZE, TASK_STRIDE, Pairs, first_place, first_slot, number_of, place


class Coming(NamedTuple):
    """The row of the next example, from `begin` to `end`, and its task; empty where all is in the cache."""

    indices: Ints
    begin: int
    end: int
    task: int


@inlined
def next_row(own: Floats, features: Floats, batch: Batch, i: int) -> Coming:
    """The row after that of example i."""
    if i + 1 < len(batch.task) and own.size + features.size > FAR:
        row = batch.row[i + 1]
        return Coming(batch.indices, batch.indptr[row], batch.indptr[row + 1], batch.task[i + 1])
    return Coming(batch.indices, 0, 0, 0)


@inlined
def ask(rows: Floats, width: int, first: int, indices: Ints, begin: int, count: int) -> None:
    """Ask for rows of so many columns, counted from `first`."""
    for n in range(count):
        index = indices[np.uint64(begin) + np.uint64(n)]
        prefetch(rows, (np.uint64(first) + np.uint64(index)) * np.uint64(width))


@inlined
def ask_some(rows: Floats, width: int, first: int, coming: Coming, at: int, count: int) -> None:
    """Ask for some entries of the next row, if it is as long."""
    if coming.begin + at + count <= coming.end:
        ask(rows, width, first, coming.indices, coming.begin + at, count)


@inlined
def ask_last(rows: Floats, width: int, first: int, coming: Coming, whole: int, turn: int) -> None:
    """Ask for those entries of the next row that turns over `whole` entries, so many each, have left."""
    done = min(whole, (coming.end - coming.begin) // turn * turn)
    ask(rows, width, first, coming.indices, coming.begin + done, coming.end - coming.begin - done)


@helper_no_alloc
def ask_keys(pairs: Pairs, coming: Coming) -> None:
    """Ask for the keys of the hashed pairs of the next example."""
    base, size = np.uint64(pairs.table[coming.task, BASE]), np.uint64(pairs.table[coming.task, SIZE])
    for e in range(coming.begin, coming.end):
        prefetch(pairs.keys, base + first_place(coming.indices[e], size))


@helper_no_alloc
def ask_own(pairs: Pairs, own: Floats, coming: Coming) -> None:
    """Ask for the pairs of the next example; the keys of hashed ones were asked for before."""
    if not pairs.layout[HASHED]:
        first = coming.task * pairs.layout[TASK_STRIDE]
        ask(own, PART_WIDTH, first, coming.indices, coming.begin, coming.end - coming.begin)
        return
    base, size = np.uint64(pairs.table[coming.task, BASE]), np.uint64(pairs.table[coming.task, SIZE])
    start = first_slot(pairs.table[coming.task, BASE])
    for e in range(coming.begin, coming.end):
        number = number_of(pairs.keys[place(pairs.keys, base, size, coming.indices[e])])
        prefetch(own, max(start + number - 1, 0) * PART_WIDTH)
