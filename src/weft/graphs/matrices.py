"""What interaction matrices are to a learner: their powers, by entry, by column, or applied to rows.

`CliqueBlocks` are disjoint cliques, in O(1) per entry and O(N) memory. `General` matrices work by connected component;
across components all powers vanish.
"""

import math
from typing import Any, Protocol

import numpy as np
import scipy

from weft.compiled.arrays import Floats, Ints
from weft.graphs.components import Blocks, in_order
from weft.graphs.definite import AT_ONCE, MOST_DENSE, check_power


class Interaction(Protocol):
    """What all interaction matrices offer; tasks are slots 0 .. N-1."""

    N: int
    components: Ints
    """Which connected component a task belongs to, counted from 0 in order of appearance."""

    @property
    def is_stochastic(self) -> bool:
        """Whether A^-1/2 is non-negative with rows that sum to 1, as exponentiated gradients need."""

    def part(self, i: int, power: float = -1.0) -> tuple[Ints, Floats]:
        """The tasks of the component of i, and their entries in column i of A^power."""

    def diagonal(self, power: float = -1.0) -> Floats:
        """The diagonal of A^power."""

    def dense(self, power: float = -1.0) -> Floats:
        """A^power as an N x N array."""

    def quadratic(self, X: Floats) -> float:
        """|X|_A^2, the trace of X'AX, for one row per task."""

    def inner(self, G: Floats) -> float:
        """The sum of A^-1_ij <g_i, g_j> over all pairs of rows."""

    def solve(self, G: Floats) -> Floats:
        """A^-1 G, for one row per task."""

    @property
    def largest_eigenvalue(self) -> float:
        """Of A."""

    def column(self, i: int, power: float = -1.0) -> Floats:
        """Column i of A^power, all N entries."""
        whole = np.zeros(self.N)
        members, values = self.part(i, power)
        whole[members] = values
        return whole

    def entry(self, i: int, j: int, power: float = -1.0) -> float:
        """(A^power)_ij."""
        members, values = self.part(i, power)
        if not 0 <= j < self.N:
            raise IndexError(f"task slot {j} is not among the {self.N} tasks")
        at = int(np.searchsorted(members, j))
        return float(values[at]) if at < len(members) and members[at] == j else 0.0

    @property
    def largest_diagonal(self) -> float:
        """max_i A^-1_ii."""
        return float(self.diagonal().max())


class CliqueBlocks(Interaction):
    """Disjoint cliques: block c of n_c tasks is I + b_c (I - J)."""

    def __init__(self, labels: Ints, b: Floats) -> None:
        self.N = len(labels)
        apart = (b[labels] == 0.0) | (np.bincount(labels)[labels] == 1)  # there the block is I
        self.components = in_order(np.where(apart, len(b) + np.arange(self.N), labels))
        self.sizes = np.bincount(self.components)
        self.b = np.empty(len(self.sizes))
        self.b[self.components] = np.where(apart, 0.0, b[labels])
        self._sorted = np.argsort(self.components, kind="stable")
        self._begin = np.cumsum(self.sizes) - self.sizes

    @property
    def is_stochastic(self) -> bool:
        """Always."""
        return True

    def coefficients(self, power: float = -1.0) -> tuple[Floats, Floats]:
        """own_c and share_c with (A^power)_ij = own_c [i = j] + share_c for i, j in component c."""
        different, where = np.unique(self.b, return_inverse=True)
        found = np.array([powers(b, power) for b in different.tolist()])[where]
        return found[:, 0], found[:, 1] / self.sizes

    def part(self, i: int, power: float = -1.0) -> tuple[Ints, Floats]:
        """The tasks of the clique of i, and their entries in column i of A^power."""
        if not 0 <= i < self.N:
            raise IndexError(f"task slot {i} is not among the {self.N} tasks")
        c = self.components[i]
        members = self._sorted[self._begin[c] : self._begin[c] + self.sizes[c]].copy()
        own, rest = powers(float(self.b[c]), power)
        values = np.full(len(members), rest / len(members))
        values[np.searchsorted(members, i)] += own
        return members, values

    def entry(self, i: int, j: int, power: float = -1.0) -> float:
        """(A^power)_ij, in O(1)."""
        if not (0 <= i < self.N and 0 <= j < self.N):
            raise IndexError(f"task slot {i if not 0 <= i < self.N else j} is not among the {self.N} tasks")
        c = self.components[i]
        if self.components[j] != c:
            return 0.0
        own, rest = powers(float(self.b[c]), power)
        return float(rest / self.sizes[c] + (own if i == j else 0.0))

    def diagonal(self, power: float = -1.0) -> Floats:
        """The diagonal of A^power."""
        own, share = self.coefficients(power)
        return (own + share)[self.components]

    def dense(self, power: float = -1.0) -> Floats:
        """A^power as an N x N array."""
        own, share = self.coefficients(power)
        same = self.components[:, None] == self.components[None, :]
        whole = np.where(same, share[self.components][:, None], 0.0)
        whole[np.arange(self.N), np.arange(self.N)] += own[self.components]
        return whole

    def _sums(self, X: Floats) -> Floats:
        """The sum of the rows of each component."""
        return np.asarray(np.add.reduceat(X[self._sorted], self._begin, axis=0))

    def quadratic(self, X: Floats) -> float:
        """|X|_A^2, where a block with b = inf counts its mean only: n |xbar|^2."""
        X = np.asarray(X, dtype=np.float64)
        mean = self._sums(X) / self.sizes[:, None]
        apart = self._sums((X - mean[self.components]) ** 2).sum(axis=1)
        factor = np.where(np.isinf(self.b), 0.0, 1.0 + self.b)
        return float((self.sizes * (mean**2).sum(axis=1) + factor * apart).sum())

    def inner(self, G: Floats) -> float:
        """The sum of A^-1_ij <g_i, g_j> over all pairs of rows."""
        G = np.asarray(G, dtype=np.float64)
        own, share = self.coefficients()
        return float((own * self._sums(G**2).sum(axis=1) + share * (self._sums(G) ** 2).sum(axis=1)).sum())

    def solve(self, G: Floats) -> Floats:
        """A^-1 G, for one row per task."""
        G = np.asarray(G, dtype=np.float64)
        own, share = self.coefficients()
        return own[self.components][:, None] * G + (share[:, None] * self._sums(G))[self.components]

    @property
    def largest_eigenvalue(self) -> float:
        """1 + the largest b."""
        return 1.0 + float(self.b.max())


class General(Interaction):
    """A sparse matrix by connected components; `least` bounds the eigenvalues from below where that is known."""

    def __init__(self, A: Any, least: float | None = None, stochastic: bool | None = None) -> None:
        self.N = A.shape[0]
        self._A = A
        self._stochastic = stochastic
        self._blocks = Blocks(A, least)
        self.components = self._blocks.labels
        if least is None:
            self._blocks.check("the interaction matrix A")

    @property
    def is_stochastic(self) -> bool:
        """Whether A^-1/2 >= 0 with unit row sums; these hold if A1 = 1, and the former if no A_ij > 0 for i != j."""
        if self._stochastic is None:
            self._stochastic = self._check_stochastic()
        return self._stochastic

    def _check_stochastic(self) -> bool:
        if np.abs(self._A @ np.ones(self.N) - 1.0).max() > 1e-9 * max(1.0, float(abs(self._A).max())):
            return False
        coordinates = self._A.tocoo()
        if (coordinates.data[coordinates.row != coordinates.col] <= 0.0).all():
            return True
        for _, block in self._blocks:
            for first in range(0, block.n, AT_ONCE):
                columns = block.columns(np.arange(first, min(block.n, first + AT_ONCE)), -0.5)
                if columns.min() < -1e-12:
                    return False
        return True

    def part(self, i: int, power: float = -1.0) -> tuple[Ints, Floats]:
        """The tasks of the component of i, and their entries in column i of A^power."""
        check_power(power)
        if not 0 <= i < self.N:
            raise IndexError(f"task slot {i} is not among the {self.N} tasks")
        c = self.components[i]
        members = self._blocks.members[c]
        return members, self._blocks[c].column(int(np.searchsorted(members, i)), power)

    def diagonal(self, power: float = -1.0) -> Floats:
        """The diagonal of A^power. A component of n > 2,000 tasks takes n sparse solutions, once."""
        check_power(power)
        whole = np.empty(self.N)
        for members, block in self._blocks:
            whole[members] = block.diagonal(power)
        return whole

    def dense(self, power: float = -1.0) -> Floats:
        """A^power as an N x N array."""
        check_power(power)
        whole = np.zeros((self.N, self.N))
        for members, block in self._blocks:
            whole[np.ix_(members, members)] = block.columns(np.arange(block.n), power)
        return whole

    def quadratic(self, X: Floats) -> float:
        """|X|_A^2, the trace of X'AX."""
        X = np.asarray(X, dtype=np.float64)
        return float((X * (self._A @ X)).sum())

    def inner(self, G: Floats) -> float:
        """The sum of A^-1_ij <g_i, g_j> over all pairs of rows."""
        G = np.asarray(G, dtype=np.float64)
        return float((G * self.solve(G)).sum())

    def solve(self, G: Floats) -> Floats:
        """A^-1 G, for one row per task."""
        G = np.asarray(G, dtype=np.float64)
        moved = np.empty_like(G)
        for members, block in self._blocks:
            moved[members] = block.solve(G[members])
        return moved

    @property
    def largest_eigenvalue(self) -> float:
        """Of A, from dense blocks or by Lanczos iterations from a fixed start."""
        largest = 0.0
        for members in self._blocks.members:
            block = self._A[members][:, members]
            if len(members) <= MOST_DENSE:
                found = np.linalg.eigvalsh(block.toarray())[-1]
            else:
                start = np.random.default_rng(0).normal(size=len(members))
                found = scipy.sparse.linalg.eigsh(block, k=1, which="LA", v0=start, return_eigenvectors=False)[0]
            largest = max(largest, float(found))
        return largest


def powers(b: float, power: float) -> tuple[float, float]:
    """(1+b)^power, and 1 minus that without cancellation; at b = inf the power must be negative."""
    if math.isinf(b):
        if not power < 0.0:
            raise ValueError(f"power={power!r} must be negative: at b = inf, one shared model, A itself does not exist")
        return 0.0, 1.0
    if power == 1.0:
        return 1.0 + b, -b
    if power == -1.0:
        return 1.0 / (1.0 + b), b / (1.0 + b)
    root = math.sqrt(1.0 + b)
    if power == 0.5:
        return root, -b / (1.0 + root)
    if power == -0.5:
        return 1.0 / root, b / (1.0 + root) / root
    exponent = power * math.log1p(b)
    return math.exp(exponent), -math.expm1(exponent)
