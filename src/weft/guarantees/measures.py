"""Losses of linear scores, norms of rows, and variances of tasks: the quantities in regret bounds and comparators.

Cesa-Bianchi, Laforgue, Paudice and Pontil (2022), Multitask Online Mirror Descent, Definitions 1 and 2.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weft.storage.batch import Batch

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LOSSES = ("square", "logistic", "hinge", "absolute", "epsilon-insensitive", "linear")


def loss_and_slope(loss: str, scores: ArrayLike, y: ArrayLike, epsilon: float = 0.1) -> tuple[Floats, Floats]:
    """l(a) and l'(a) for every score a and label y; both 0 where y is NaN.

    square (a - y)^2; logistic ln(1 + e^{-ya}); hinge [1 - ya]_+; absolute |a - y|; epsilon-insensitive
    [|a - y| - epsilon]_+; linear a, where the row is the gradient. At a kink the slope is 0.

    >>> loss_and_slope("square", [1.0, 0.0], [3.0, float("nan")])
    (array([4., 0.]), array([-4.,  0.]))
    """
    a, label = np.asarray(scores, dtype=np.float64), np.asarray(y, dtype=np.float64)
    labelled = ~np.isnan(label)
    label = np.where(labelled, label, 1.0)
    if loss in ("logistic", "hinge") and np.any(np.abs(label) != 1):
        raise ValueError(f"The labels of the {loss} loss are -1 and +1, or NaN for a dormant task.")
    gap = a - label
    if loss == "square":
        value, slope = gap * gap, 2 * gap
    elif loss == "logistic":
        value = np.logaddexp(0.0, -label * a)
        slope = -label * np.exp(-np.logaddexp(0.0, label * a))
    elif loss == "hinge":
        value, slope = np.maximum(0.0, 1 - label * a), np.where(label * a < 1, -label, 0.0)
    elif loss in ("absolute", "epsilon-insensitive"):
        free = 0.0 if loss == "absolute" else epsilon
        value, slope = np.maximum(0.0, np.abs(gap) - free), np.where(np.abs(gap) > free, np.sign(gap), 0.0)
    elif loss == "linear":
        value, slope = a, np.ones_like(a)
    else:
        raise ValueError(f"loss is one of {', '.join(LOSSES)}, not {loss!r}.")
    return np.where(labelled, value, 0.0), np.where(labelled, slope, 0.0)


def products(X: Any, U: Floats, task: Integers) -> Floats:
    """<u_i, phi> for every row phi and its task i."""
    rows = csr(X)
    at = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    picked = rows.data * U[task[at], rows.indices]
    return np.bincount(at, weights=picked, minlength=rows.shape[0]).astype(np.float64)


def variance(U: Floats, p: float = 2.0) -> float:
    """Var_p(u) = sum_i |u_i - mean|_p^2 / (N - 1), 0 for one task (Definition 1)."""
    return float(np.sum(norms(U - np.mean(U, axis=0), p) ** 2)) / (len(U) - 1) if len(U) > 1 else 0.0


def simplex_variance(U: Floats) -> float:
    """Var_Delta(u) = max_j ((max_i u_ij - min_i u_ij) / max_i u_ij)^2, where 0/0 = 0 (Definition 2)."""
    high, low = np.max(U, axis=0), np.min(U, axis=0)
    return float(np.max(np.divide(high - low, high, out=np.zeros_like(high), where=high > 0), initial=0.0)) ** 2


def norms(V: Floats, p: float) -> Floats:
    """The p-norm of every row, scaled by its largest entry so that no power overflows."""
    V = np.abs(V)
    largest: Floats = np.max(V, axis=1, initial=0.0)
    if p == math.inf:
        return largest
    scaled = V / np.where(largest > 0, largest, 1.0)[:, None]
    return np.asarray(largest * np.sum(scaled**p, axis=1) ** (1 / p))


def row_norms(X: Any, p: float) -> Floats:
    """The p-norm of every sparse row."""
    rows = csr(X)
    at = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    size = np.abs(rows.data)
    largest = np.zeros(rows.shape[0])
    np.maximum.at(largest, at, size)
    if p == math.inf:
        return largest
    scaled = np.divide(size, largest[at], out=np.zeros_like(size), where=size > 0)
    return np.asarray(largest * np.bincount(at, weights=scaled**p, minlength=len(largest)) ** (1 / p))


def csr(X: Any) -> Any:
    """X as a sparse matrix of rows, without repeated entries."""
    from scipy import sparse

    rows = sparse.csr_array(X, dtype=np.float64)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def rows_of(batch: Batch, features: int) -> Any:
    """The rows of a batch's examples as a sparse matrix with `features` columns."""
    from scipy import sparse  # takes a third of a second, so not at the import of weft.evaluation

    rows = sparse.csr_array((batch.values, batch.indices, batch.indptr), shape=(len(batch.indptr) - 1, features))
    return rows[batch.row]
