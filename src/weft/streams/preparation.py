"""Steps between a file and a stream, each with a name: scaling, labels, order.

Every step takes a `Known` and returns a new one, so that an experiment states its preprocessing explicitly:

    mail = unit_rows(log_counts(known("pkdd06a")))
    stream = as_stream(shuffled(mail, seed=3))
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from weft.stream import Stream
from weft.streams.known import Array, Known


def log_counts(data: Known, base: float = math.e) -> Known:
    """Every value x becomes log(1 + x), which reduces the effect of large counts. Needs values >= 0."""
    values = data.X.data if _is_sparse(data.X) else data.X
    if values.size and values.min() < 0.0:
        raise ValueError(f"log_counts: {data.name} holds negative values; the step takes counts")
    if not (math.isfinite(base) and base > 1.0):
        raise ValueError(f"base={base!r} must be a finite number > 1")
    return replace(data, X=_with_values(data.X, np.log1p(values) / math.log(base)))


def square_roots(data: Known) -> Known:
    """Every value x becomes sign(x) sqrt(|x|): reduces the effect of large values, independent of the unit."""
    values = data.X.data if _is_sparse(data.X) else data.X
    return replace(data, X=_with_values(data.X, np.sign(values) * np.sqrt(np.abs(values))))


def presence(data: Known) -> Known:
    """Every non-zero value becomes 1: whether a word occurs."""
    values = data.X.data if _is_sparse(data.X) else data.X
    return replace(data, X=_with_values(data.X, (values != 0.0).astype(np.float64)))


def unit_rows(data: Known) -> Known:
    """Every row is divided by its Euclidean length; an empty row stays empty."""
    lengths = row_lengths(data.X)
    factors = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
    if _is_sparse(data.X):
        return replace(data, X=_with_values(data.X, data.X.data * np.repeat(factors, np.diff(data.X.indptr))))
    return replace(data, X=data.X * factors[:, None])


def largest_row_one(data: Known) -> Known:
    """All rows are divided by the length of the longest, so that relative lengths stay. Uses all rows."""
    longest = float(row_lengths(data.X).max())
    return replace(data, X=data.X / longest) if longest > 0.0 else data


def standardised(data: Known, rows: Any = None) -> Known:
    """Every column minus its mean, divided by its standard deviation; constant columns stay unchanged. Dense sets only.

    rows  compute mean and deviation from these rows only; the others are then unseen data
    """
    if _is_sparse(data.X):
        raise ValueError(f"standardised: {data.name} is sparse, and the result would be dense")
    seen = data.X if rows is None else data.X[rows]
    mean, deviation = seen.mean(axis=0), seen.std(axis=0)
    varies = deviation > 1e-12 * np.maximum(np.abs(mean), 1.0)
    return replace(data, X=(data.X - np.where(varies, mean, 0.0)) / np.where(varies, deviation, 1.0))


def unit_interval(data: Known) -> Known:
    """Columns with other values than 0 and 1 are shifted and scaled to [0, 1]. Uses all rows; dense sets only."""
    if _is_sparse(data.X):
        raise ValueError(f"unit_interval: {data.name} is sparse, and the result would be dense")
    low, high = data.X.min(axis=0), data.X.max(axis=0)
    scaled = (high > low) & np.any((data.X != 0.0) & (data.X != 1.0), axis=0)
    return replace(data, X=(data.X - np.where(scaled, low, 0.0)) / np.where(scaled, high - low, 1.0))


def with_constant(data: Known, value: float = 1.0) -> Known:
    """A further column that is `value` in every row: the intercept of a linear model."""
    column = np.full((len(data), 1), value)
    if _is_sparse(data.X):
        X: Any = sparse.csr_array(sparse.hstack([data.X, sparse.csr_array(column)], format="csr"))
    else:
        X = np.hstack([data.X, column])
    names = None if data.feature_names is None else [*data.feature_names, "constant"]
    return replace(data, X=X, feature_names=names)


def offset_columns(data: Known) -> Known:
    """Separate columns for every task, where tasks do not share a dictionary (`pu_spam`).

    `extra["task_offset"]` is the shift of the columns of each task.
    """
    if "task_offset" not in data.extra or data.task is None or not _is_sparse(data.X):
        raise ValueError(f"offset_columns: {data.name} has no task_offset; its tasks share their columns")
    offset = np.asarray(data.extra["task_offset"], np.int64)
    columns = data.X.indices + np.repeat(offset[data.task], np.diff(data.X.indptr))
    width = int(max(data.X.shape[1], columns.max(initial=0) + 1))
    X = sparse.csr_array((data.X.data, columns, data.X.indptr), shape=(len(data), width))
    return replace(data, X=X, feature_names=None)


def binarised(data: Known, percentile: float) -> Known:
    """Labels become +1 above that percentile of all labels, else -1 (`school`: 75)."""
    if not 0.0 < percentile < 100.0:
        raise ValueError(f"percentile={percentile!r} must lie between 0 and 100")
    limit = np.percentile(data.y, percentile)
    return replace(data, y=np.where(data.y > limit, 1.0, -1.0))


def rows_of(data: Known, rows: Any) -> Known:
    """These rows in this order (numbers or a mask), with their entries in `extra`; tasks keep their numbers."""
    extra = {name: array[rows] if name in data.by_row else array for name, array in data.extra.items()}
    task = None if data.task is None else data.task[rows]
    return replace(data, X=data.X[rows], y=data.y[rows], task=task, extra=extra)


def tasks_of(data: Known, tasks: Any) -> Known:
    """The rows of these tasks, by number, in the order of the file (`landmine`: `extra["tasks19"]`)."""
    if data.task is None:
        raise ValueError(f"tasks_of: every row of {data.name} belongs to all tasks")
    return rows_of(data, np.flatnonzero(np.isin(data.task, tasks)))


def shuffled(data: Known, seed: int) -> Known:
    """All rows in a random order."""
    return rows_of(data, np.random.default_rng(seed).permutation(len(data)))


def sorted_by(data: Known, name: str) -> Known:
    """Rows in the order of a further array (`sentiment4`: "date"); rows with equal values keep their order."""
    if name not in data.by_row:
        raise ValueError(f"sorted_by: {data.name} has no {name!r} per row; it has {', '.join(data.by_row) or 'none'}")
    return rows_of(data, np.argsort(data.extra[name], kind="stable"))


def as_stream(data: Known) -> Stream:
    """One round per row, under the tasks' names."""
    if data.task is None:
        raise ValueError(f"as_stream: {data.name} has topics; weft.reductions.Multilabel learns them")
    names = data.task_names
    return Stream(data.X, data.y, [names[number] for number in data.task.tolist()])


def row_lengths(X: Any) -> Array:
    """The Euclidean length of every row."""
    if _is_sparse(X):
        lengths = np.zeros(X.shape[0])
        filled = np.diff(X.indptr) > 0
        if X.nnz:
            lengths[filled] = np.sqrt(np.add.reduceat(X.data * X.data, X.indptr[:-1][filled]))
        return lengths
    dense: Array = np.sqrt(np.einsum("ij,ij->i", X, X))
    return dense


def _is_sparse(X: Any) -> bool:
    return sparse.issparse(X)


def _with_values(X: Any, values: Array) -> Any:
    if not _is_sparse(X):
        return values
    return sparse.csr_array((values, X.indices, X.indptr), shape=X.shape)
