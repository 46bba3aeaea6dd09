"""One sparse row at a time: its entries, dot products with vectors over the features, and steps along it.

There are two orders of summation, and a kernel keeps to one of them, for their bits differ. `dot` has four sums side by
side, which do not wait for each other; the products go to the four in turn, and those of the last one to three entries
to the first, as in `pair_rows`. `dot_in_order` has one sum; `product_in_order` and those of rows and columns of a table
are the same sum without |x|^2.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import inlined_only
from weft.storage.batch import Batch


class Row(NamedTuple):
    """The features `indices[begin:end]`, in ascending order, with their `values[begin:end]`."""

    indices: Ints
    values: Floats
    begin: int
    end: int


@inlined_only
def row_of(batch: Batch, i: int) -> Row:
    """The row of example i, for callers that count no references: the arrays of it are not counted."""
    r = batch.row[i]
    return Row(batch.indices, batch.values, batch.indptr[r], batch.indptr[r + 1])


@inlined_only
def dot(vector: Floats, x: Row) -> tuple[float, float]:
    """v . x and |x|^2 by four sums side by side."""
    indices, values, begin, end = x
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    t0, t1, t2, t3, s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    first, whole = np.uint64(begin), np.uint64(begin + (end - begin) // 4 * 4)
    for e in range(first, whole, np.uint64(4)):
        v0, v1, v2, v3 = values[e], values[e + one], values[e + two], values[e + three]
        s0 += v0 * v0
        s1 += v1 * v1
        s2 += v2 * v2
        s3 += v3 * v3
        t0 += vector[np.uint64(indices[e])] * v0
        t1 += vector[np.uint64(indices[e + one])] * v1
        t2 += vector[np.uint64(indices[e + two])] * v2
        t3 += vector[np.uint64(indices[e + three])] * v3
    for e in range(whole, np.uint64(end)):
        v0 = values[e]
        s0 += v0 * v0
        t0 += vector[np.uint64(indices[e])] * v0
    return (t0 + t1) + (t2 + t3), (s0 + s1) + (s2 + s3)


@inlined_only
def dot_in_order(vector: Floats, x: Row) -> tuple[float, float]:
    """v . x and |x|^2, entry by entry."""
    indices, values, begin, end = x
    total, square = 0.0, 0.0
    for e in range(begin, end):
        total += vector[indices[e]] * values[e]
        square += values[e] * values[e]
    return total, square


@inlined_only
def product_in_order(vector: Floats, x: Row) -> float:
    """v . x, entry by entry."""
    total = 0.0
    for e in range(np.uint64(x.begin), np.uint64(x.end)):
        total += x.values[e] * vector[np.uint64(x.indices[e])]
    return total


@inlined_only
def product_with_row(W: Floats, k: int, x: Row) -> float:
    """The same for row k of a table of weights."""
    total, row = 0.0, np.uint64(k)
    for e in range(np.uint64(x.begin), np.uint64(x.end)):
        total += x.values[e] * W[row, np.uint64(x.indices[e])]
    return total


@inlined_only
def product_with_column(W: Floats, k: int, x: Row) -> float:
    """The same for column k."""
    total, column = 0.0, np.uint64(k)
    for e in range(np.uint64(x.begin), np.uint64(x.end)):
        total += x.values[e] * W[np.uint64(x.indices[e]), column]
    return total


@inlined_only
def square_in_order(x: Row) -> float:
    """|x|^2, entry by entry."""
    square = 0.0
    for e in range(x.begin, x.end):
        square += x.values[e] * x.values[e]
    return square


@inlined_only
def add(vector: Floats, x: Row, step: float) -> None:
    """v += step x."""
    indices, values, begin, end = x
    for e in range(np.uint64(begin), np.uint64(end)):
        vector[np.uint64(indices[e])] += step * values[e]


@inlined_only
def spread_out(vector: Floats, x: Row) -> None:
    """Write x into a vector that is 0 elsewhere."""
    for e in range(np.uint64(x.begin), np.uint64(x.end)):
        vector[np.uint64(x.indices[e])] = x.values[e]


@inlined_only
def clear(vector: Floats, x: Row) -> None:
    """Undo `spread_out`."""
    for e in range(np.uint64(x.begin), np.uint64(x.end)):
        vector[np.uint64(x.indices[e])] = 0.0
