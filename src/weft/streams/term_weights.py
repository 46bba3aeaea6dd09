"""Steps for word counts: which columns are kept, and the weight of rare ones. Both use all rows.

Neither uses labels. They are in a module of their own, so that the cached results of experiments that use only
`weft.streams.preparation` do not depend on them.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from weft.streams.known import Array, Known
from weft.streams.preparation import tasks_of


def frequent_columns(data: Known, count: int, per_task: bool = False) -> Known:
    """The `count` columns that occur in most rows, in the order of the file; among equals, the first ones.

    `per_task`: by the mean of the tasks' shares of rows, so that every task counts the same.
    """
    if not (isinstance(count, int) and count >= 1):
        raise ValueError(f"count={count!r} must be an integer >= 1")
    step = "frequent_columns"
    shares = [_occurrences(part, step) / max(len(part), 1) for part in (_parts(data) if per_task else [data])]
    kept = np.sort(np.argsort(-np.mean(shares, axis=0), kind="stable")[:count])
    names = None if data.feature_names is None else [data.feature_names[column] for column in kept.tolist()]
    return replace(data, X=sparse.csr_array(data.X[:, kept]), feature_names=names)


def inverse_frequencies(data: Known, per_task: bool = False) -> Known:
    """Every value is multiplied by log(n / rows that have the column), the idf: a word in all texts gets weight 0.

    `per_task`: n and the rows are those of the value's own task.
    """
    parts, step = _parts(data) if per_task else [data], "inverse_frequencies"
    weights = np.array([np.log(max(len(part), 1) / np.maximum(_occurrences(part, step), 1)) for part in parts])
    of_rows = np.asarray(data.task) if per_task else np.zeros(len(data), np.int64)
    values = data.X.data * weights[np.repeat(of_rows, np.diff(data.X.indptr)), data.X.indices]
    return replace(data, X=sparse.csr_array((values, data.X.indices, data.X.indptr), shape=data.X.shape))


def _parts(data: Known) -> list[Known]:
    """The rows of every task."""
    return [tasks_of(data, np.array([k])) for k in range(len(data.task_names))]


def _occurrences(data: Known, step: str) -> Array:
    """In how many rows every column is not zero."""
    X: Any = data.X
    if not isinstance(X, sparse.csr_array):
        raise ValueError(f"{step}: {data.name} is dense; every column occurs in every row")
    return np.bincount(X.indices[X.data != 0.0], minlength=X.shape[1])
