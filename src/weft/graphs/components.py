"""Symmetric matrices over tasks: checks that name the culprit, and connected components."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import scipy

from weft.compiled.arrays import Ints
from weft.graphs.definite import MOST_DENSE, DenseBlock, SparseBlock

ROUNDING = 1e-12
"""Entries that should be equal may differ by this much, relative to the largest entry of the matrix."""


def symmetric(matrix: Any, what: str, names: Sequence[Any] | None = None) -> Any:
    """A finite symmetric matrix as sparse rows, or a ValueError that begins with `what` and names the entry.

    `names` are the tasks of the rows, for messages; without them their slots are named.
    """
    rows: Any
    if scipy.sparse.issparse(matrix):
        rows = scipy.sparse.csr_array(cast(Any, matrix)).astype(np.float64)
    else:
        try:
            array = np.array(matrix, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{what} must be a square matrix of numbers") from None
        if array.ndim != 2:
            raise ValueError(f"{what} must be a square matrix, not an array of shape {array.shape}")
        rows = scipy.sparse.csr_array(array)
    n = rows.shape[0]
    if rows.shape != (n, n) or n == 0:
        raise ValueError(f"{what} must be a square matrix with at least one row, not {rows.shape[0]} x {rows.shape[1]}")
    if names is not None and len(names) != n:
        raise ValueError(f"{what} has {n} rows, but there are {len(names)} task names; give one per row, in order")
    rows.sum_duplicates()
    _refuse_entry(rows, ~np.isfinite(rows.data), what, "every entry must be finite", names)
    twist = (rows - rows.T).tocsr()
    uneven = np.abs(twist.data) > ROUNDING * (float(np.abs(rows.data).max()) if rows.nnz else 0.0)
    if uneven.any():
        i, j = _first(twist, uneven)
        here, there = float(rows[i, j]), float(rows[j, i])
        raise ValueError(
            f"{what} must be symmetric, but {_pair(i, j, names)} is {here!r} and {_pair(j, i, names)} is {there!r}"
        )
    rows = scipy.sparse.csr_array(0.5 * (rows + rows.T))
    rows.eliminate_zeros()
    rows.sort_indices()
    return rows


def weighted(matrix: Any, names: Sequence[Any] | None = None) -> Any:
    """The weights of a graph as sparse rows: symmetric, >= 0, with a zero diagonal."""
    what = "the weight matrix"
    rows = symmetric(matrix, what, names)
    _refuse_entry(rows, rows.data < 0.0, what, "weights must be >= 0", names)
    position = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    _refuse_entry(
        rows, rows.indices == position, what, "the diagonal must be 0, for no task is its own neighbour", names
    )
    return rows


def _first(rows: Any, bad: Any) -> tuple[int, int]:
    """Row and column of the first marked entry."""
    at = int(np.flatnonzero(bad)[0])
    return int(np.searchsorted(rows.indptr, at, side="right")) - 1, int(rows.indices[at])


def _refuse_entry(rows: Any, bad: Any, what: str, rule: str, names: Sequence[Any] | None) -> None:
    if bad.any():
        i, j = _first(rows, bad)
        raise ValueError(f"{what}: {rule}, but {_pair(i, j, names)} is {float(rows.data[np.flatnonzero(bad)[0]])!r}")


def _pair(i: int, j: int, names: Sequence[Any] | None) -> str:
    return f"the entry ({i}, {j})" if names is None else f"the entry of {names[i]!r} and {names[j]!r}"


def in_order(labels: Ints) -> Ints:
    """The same labels, counted from 0 in order of appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


class Blocks:
    """The connected components of a symmetric matrix; each is factored when it is first needed.

    `least` bounds the eigenvalues from below where that is known.
    """

    def __init__(self, A: Any, least: float | None = None) -> None:
        labels = scipy.sparse.csgraph.connected_components(A, directed=False)[1]
        self.labels = in_order(labels.astype(np.int64))
        sizes = np.bincount(self.labels)
        order = np.argsort(self.labels, kind="stable")
        self._bounds = np.concatenate([[0], np.cumsum(sizes)])
        self.members = np.split(order, self._bounds[1:-1])
        self._sorted = A[order][:, order]  # block diagonal
        self._least = least
        self._made: dict[int, DenseBlock | SparseBlock] = {}

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, c: int) -> DenseBlock | SparseBlock:
        if c not in self._made:
            self._made[c] = self._make(c)
        return self._made[c]

    def __iter__(self) -> Iterator[tuple[Ints, DenseBlock | SparseBlock]]:
        """Members and block of each component."""
        for c, members in enumerate(self.members):
            yield members, self[c]

    def _make(self, c: int) -> DenseBlock | SparseBlock:
        begin, end = int(self._bounds[c]), int(self._bounds[c + 1])
        if end - begin > MOST_DENSE:
            return SparseBlock(self._sorted[begin:end, begin:end], self._least)
        first, last = self._sorted.indptr[begin], self._sorted.indptr[end]
        position = np.repeat(np.arange(end - begin), np.diff(self._sorted.indptr[begin : end + 1]))
        block = np.zeros((end - begin, end - begin))
        block[position, self._sorted.indices[first:last] - begin] = self._sorted.data[first:last]
        return DenseBlock(block)

    def check(self, what: str, names: Sequence[Any] | None = None) -> None:
        """Refuse a matrix that is not positive definite; the message begins with `what` and names a task."""
        for c, members in enumerate(self.members):
            try:
                self[c]
            except ValueError as error:
                task = members[0] if names is None else names[members[0]]
                raise ValueError(f"{what} {error} (in the component of task {task!r})") from None
