"""The memory traffic of `adaptive` without its arithmetic: a lower limit of its time per event.

A feature has a cache line of eight numbers, a pair half of one. Every non-zero of a row reads and writes both,
prefetched one row ahead; nothing is computed. As for a new model, the first use of memory counts.
"""

from collections.abc import Callable

import numpy as np
from scipy import sparse

from weft.compiled.instructions import prefetch
from weft.compiled.jit import compiled, inlined_only
from weft.compiled.lanes import WIDTH, broadcast, load_four, store_four
from weft.storage.memory import zeros

LINE = 8


@inlined_only
def _add(array, at, x):
    half = np.uint64(WIDTH)
    store_four(array, at, load_four(array, at) + x)
    store_four(array, at + half, load_four(array, at + half) + x)


@compiled
def _move(own, features, task, indptr, indices, values):
    known, line = np.uint64(len(features)), np.uint64(LINE)
    for i in range(len(task)):
        ahead = min(i + 1, len(task) - 1)
        first, then = np.uint64(task[i]) * known, np.uint64(task[ahead]) * known
        begin, end, later = np.uint64(indptr[i]), np.uint64(indptr[i + 1]), np.uint64(indptr[ahead])
        for e in range(begin, end):
            j = np.uint64(indices[later + e - begin])
            prefetch(own, (then + j) * line)
            prefetch(features, j * line)
            j, x = np.uint64(indices[e]), broadcast(values[e])
            _add(own, (first + j) * line, x)
            _add(features, j * line, x)


def moved(X: sparse.csr_array, task: np.ndarray, tasks: int) -> Callable[[], None]:
    """A pass over all rows, which have the same length."""
    width = X.shape[1]
    rows = (task.astype(np.int64), X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data)

    def run() -> None:
        shapes = ((tasks * width, LINE), (width, LINE))
        own, features = (zeros(shape, kind) for shape, kind in zip(shapes, (np.float32, np.float64), strict=True))
        _move(own, features, *rows)

    run()
    return run
