"""Steps for counts of words: which columns are kept, and how much a rare one counts. Both look at all rows.

Neither looks at a label. They stand by themselves, so that what is prepared with `weft.streams.preparation` alone does
not hang on them.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from weft.streams.known import Array, Known
from weft.streams.preparation import tasks_of


def frequent_columns(data: Known, count: int, per_task: bool = False) -> Known:
    """The `count` columns that occur in most rows, in the order of the file; of equals, those that stand first.

    `per_task`: by the mean of the tasks' shares of rows, so that every task counts the same.
    """
    if not (isinstance(count, int) and count >= 1):
        raise ValueError(f"count={count!r} must be a whole number >= 1")
    step = "frequent_columns"
    shares = [_occurrences(part, step) / max(len(part), 1) for part in (_parts(data) if per_task else [data])]
    kept = np.sort(np.argsort(-np.mean(shares, axis=0), kind="stable")[:count])
    names = None if data.feature_names is None else [data.feature_names[column] for column in kept.tolist()]
    return replace(data, X=sparse.csr_array(data.X[:, kept]), feature_names=names)


def inverse_frequencies(data: Known, per_task: bool = False) -> Known:
    """Every value is multiplied by log(n / rows that have the column), the idf: a word of all texts says nothing.

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
    if not hasattr(X, "indptr"):
        raise ValueError(f"{step}: {data.name} is dense; every column occurs in every row")
    return np.bincount(X.indices[X.data != 0.0], minlength=X.shape[1])
