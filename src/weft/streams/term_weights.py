"""Steps for counts of words: which columns are kept, and how much a rare one counts. Both look at all rows.

Neither looks at a label. They stand by themselves, so that what is prepared with `weft.streams.preparation` alone does
not hang on them.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from weft.streams.known import Array, Known


def frequent_columns(data: Known, count: int) -> Known:
    """The `count` columns that occur in most rows, in the order of the file; of equals, those that stand first."""
    if not (isinstance(count, int) and count >= 1):
        raise ValueError(f"count={count!r} must be a whole number >= 1")
    occurs = _occurrences(data, "frequent_columns")
    kept = np.sort(np.argsort(-occurs, kind="stable")[:count])
    names = None if data.feature_names is None else [data.feature_names[column] for column in kept.tolist()]
    return replace(data, X=sparse.csr_array(data.X[:, kept]), feature_names=names)


def inverse_frequencies(data: Known) -> Known:
    """Every value is multiplied by log(n / rows that have the column), the idf: a word of all texts says nothing."""
    weights = np.log(len(data) / np.maximum(_occurrences(data, "inverse_frequencies"), 1))
    X = sparse.csr_array((data.X.data * weights[data.X.indices], data.X.indices, data.X.indptr), shape=data.X.shape)
    return replace(data, X=X)


def _occurrences(data: Known, step: str) -> Array:
    """In how many rows every column is not zero."""
    X: Any = data.X
    if not hasattr(X, "indptr"):
        raise ValueError(f"{step}: {data.name} is dense; every column occurs in every row")
    return np.bincount(X.indices[X.data != 0.0], minlength=X.shape[1])
