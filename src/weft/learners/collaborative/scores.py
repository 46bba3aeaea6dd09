"""Scores from a table of weights, a row per task, and from one row of weights."""

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import helper
from weft.storage.batch import Batch


@helper
def table_scores(W: Floats, batch: Batch, lo: int, hi: int, scores: Floats) -> None:
    """Examples lo .. hi-1, each under its own task."""
    for i in range(lo, hi):
        r = batch.row[i]
        scores[i] = table_margin(W, batch.task[i], batch.indices, batch.values, batch.indptr[r], batch.indptr[r + 1])


@helper
def table_margin(W: Floats, k: int, indices: Ints, values: Floats, begin: int, end: int) -> float:
    """w_k.x of the row values[begin:end]."""
    s = 0.0
    for e in range(begin, end):
        s += values[e] * W[k, indices[e]]
    return s


@helper
def margin(w: Floats, indices: Ints, values: Floats, begin: int, end: int) -> float:
    """w.x of the row values[begin:end]."""
    s = 0.0
    for e in range(begin, end):
        s += values[e] * w[indices[e]]
    return s
