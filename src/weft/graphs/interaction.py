"""Interaction matrices: how much of a step of one task reaches the others.

A learner with interaction matrix A, symmetric and positive definite, moves task j by A^-1_ij times what task i learned
(Cesa-Bianchi, Laforgue, Paudice and Pontil 2022, Multitask Online Mirror Descent, Sec. 3; Cavallanti and Cesa-Bianchi
2012, Memory constraint online multitask classification, Sec. 3). Here are

* `clique(N, b)`: A = I + b (I - J), J = 11'/N, so that A^s = (1+b)^s (I - J) + J for every real s. b = 0: independent
  tasks. b = inf: one shared model; only the negative powers exist, and all of them are J;
* `cliques(labels, strength)`: disjoint unit-weight cliques; one of n tasks is a block with b = strength n;
* `laplacian(W, strength)`: A = I + strength L, L = diag(W1) - W, for symmetric weights W >= 0;
* `spd(A)`: any symmetric positive definite matrix;
* `interaction(graph, names)`: the one for a `Graph` and its tasks in a given order.

The first two take O(1) per entry and O(N) memory. The others work by connected component; across components all powers
vanish.

>>> clique(3, 3.0).column(0).tolist()
[0.5, 0.25, 0.25]
>>> laplacian(np.ones((3, 3)) - np.eye(3)).column(0).round(12).tolist()
[0.5, 0.25, 0.25]
"""

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.linalg import eigsh

from weft.compiled.arrays import Floats, Ints
from weft.graphs.components import Blocks, in_order, symmetric, weighted
from weft.graphs.definite import AT_ONCE, MOST_DENSE, check_power
from weft.graphs.reading import Graph
from weft.names import Name


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
                found = eigsh(block, k=1, which="LA", v0=start, return_eigenvectors=False)[0]
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


def clique(N: int, b: float) -> CliqueBlocks:
    """A = I + b (I - J) on N >= 1 tasks, 0 <= b <= inf."""
    if isinstance(N, bool) or not isinstance(N, int | np.integer) or N < 1:
        raise ValueError(f"N={N!r} must be a whole number of tasks >= 1")
    return CliqueBlocks(np.zeros(N, np.int64), np.array([_number(b, "b", infinite=True)]))


def cliques(labels: ArrayLike, strength: float = 1.0) -> CliqueBlocks:
    """Disjoint unit-weight cliques, one label per task: A = I + strength L."""
    given = np.asarray(labels)
    if given.ndim != 1 or not len(given) or given.dtype.kind not in "iu":
        raise ValueError("labels must be a sequence of whole numbers, the clique of every task")
    ordered = in_order(given)
    return CliqueBlocks(ordered, _number(strength, "strength") * np.bincount(ordered).astype(np.float64))


def laplacian(W: Any, strength: float = 1.0) -> General:
    """A = I + strength L, L = diag(W1) - W; W (an array or scipy.sparse) is symmetric, >= 0, with a zero diagonal."""
    weights = weighted(W)
    A = sparse.diags_array(np.asarray(weights.sum(axis=1)).ravel()) - weights
    A = sparse.csr_array(sparse.eye_array(weights.shape[0]) + _number(strength, "strength") * A)
    A.eliminate_zeros()
    return General(A, least=1.0, stochastic=True)


def spd(A: Any) -> General:
    """Any symmetric positive definite matrix (an array or scipy.sparse)."""
    return General(symmetric(A, "the interaction matrix A"))


def interaction(
    graph: Graph, names: Sequence[Name] | int, b: float | None = None, strength: float = 1.0
) -> CliqueBlocks | General:
    """The interaction matrix of a graph over the tasks in the given order; a growing graph also takes their number.

    `b` belongs to "complete" alone, and is required there; `strength` multiplies the Laplacian of the others.
    """
    count = names if isinstance(names, int) else len(names)
    if b is not None and graph.kind != "complete":
        raise ValueError(f'b={b!r} belongs to the graph "complete"; elsewhere `strength` multiplies the Laplacian')
    if graph.kind == "none":
        return clique(count, 0.0)
    if graph.kind == "complete":
        if b is None:
            raise ValueError('the graph "complete" needs b, from 0 (independent tasks) to inf (one shared model)')
        return clique(count, b)
    order = graph.order(names)
    if graph.kind == "cliques":
        return cliques(graph.labels[order], strength)
    matrix = graph.matrix[order][:, order]
    if graph.kind == "edges":
        return laplacian(matrix, strength)
    if strength != 1.0:
        raise ValueError(f"strength={strength!r} multiplies a Laplacian; the matrix A is taken as it is, strength 1")
    return spd(matrix)


def _number(value: Any, letter: str, infinite: bool = False) -> float:
    number = float(value) if isinstance(value, int | float | np.integer | np.floating) else math.nan
    if isinstance(value, bool) or not number >= 0.0 or (math.isinf(number) and not infinite):
        raise ValueError(f"{letter}={value!r} must be a number >= 0{', or inf' if infinite else ', and finite'}")
    return number
