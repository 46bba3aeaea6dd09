"""Memory is asked for what the next example needs while the present one is worked on: it answers slowly.

It takes few questions at a time, so that every turn over four entries asks a little. Asking for something behind the
end of an array does nothing.
"""

import numpy as np

from weft.batch import Batch, Floats, Ints
from weft.geometry.parts import PART_WIDTH, POOLED_WIDTH
from weft.instructions import prefetch
from weft.jit import inner
from weft.pairs import BASE, FAR, HASHED, SIZE, TASK_STRIDE, Pairs, first_place, first_slot, number_of, place


@inner
def next_row(own: Floats, features: Floats, batch: Batch, i: int) -> tuple[int, int, int]:
    """Where the row of the next example begins and ends, and its task; an empty one where all is in the cache."""
    if i + 1 < len(batch.task) and own.size + features.size > FAR:
        row = batch.row[i + 1]
        return batch.indptr[row], batch.indptr[row + 1], batch.task[i + 1]
    return 0, 0, 0


@inner
def ask(rows: Floats, width: int, first: int, indices: Ints, begin: int, count: int) -> None:
    """Ask for rows of so many columns, counted from `first`."""
    for n in range(count):
        index = indices[np.uint64(begin) + np.uint64(n)]
        prefetch(rows, (np.uint64(first) + np.uint64(index)) * np.uint64(width))


@inner
def ask_shared(features: Floats, pooled: Floats, pairs: Pairs, k: int, indices: Ints, begin: int, count: int) -> None:
    """Ask for features, and for the keys of their pairs with task k if these are hashed."""
    layout, keys, table = pairs
    ask(features, PART_WIDTH, 0, indices, begin, count)
    if len(pooled):
        ask(pooled, POOLED_WIDTH, 0, indices, begin, count)
    if layout[HASHED]:
        base, size = np.uint64(table[k, BASE]), np.uint64(table[k, SIZE])
        for n in range(count):
            prefetch(keys, base + first_place(indices[begin + n], size))


@inner
def ask_own(pairs: Pairs, own: Floats, k: int, indices: Ints, begin: int, count: int) -> None:
    """Ask for the parts of pairs of task k; their keys were asked for before."""
    layout, keys, table = pairs
    if layout[HASHED]:
        base, size, start = np.uint64(table[k, BASE]), np.uint64(table[k, SIZE]), first_slot(table[k, BASE])
        for n in range(count):
            number = number_of(keys[place(keys, base, size, indices[begin + n])])
            prefetch(own, max(start + number - 1, 0) * PART_WIDTH)
    else:
        ask(own, PART_WIDTH, k * layout[TASK_STRIDE], indices, begin, count)
