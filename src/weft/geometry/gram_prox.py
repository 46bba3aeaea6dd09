"""Proximal steps after a rank-one change, without touching the whole matrix.

A d x m matrix U (features x tasks) takes rows, U <- U + x a', and proximal steps that shrink its singular values. With
U'U = Q diag(s^2) Q' such a step multiplies from the right by a symmetric m x m matrix,

    U <- U T,    T = Q diag(shrink(s) / s) Q',

so the Gram matrix G = U'U decides all of it. `LowRank` keeps G, and U in pieces:

    U = B S + X' C

B is a d x m matrix that rests, S is m x m, X holds the k sparse rows taken since B was last made, and C is k x m. A row
is appended to X and its coefficients a to C; a proximal step multiplies S and C by T, and nothing is ever divided by S,
which the nuclear norm makes singular. With c = U'x,

    U + x a'   has   G + c a' + a c' + |x|^2 a a'       O(nnz(x) m + nnz(X) + (m + k) m)
    U T        has   Q diag(shrink(s)^2) Q'             O((m + k) m^2)

Before X overflows the pieces are *folded*: B <- U, S <- I, X and C empty, G <- B'B, at O(d m^2), which also ends the
drift of G. When that happens depends on the rows taken alone: reading (`dots`, `column`, `matrix`) changes nothing, and
the room behind the last feature and task that occurred has no influence on any number, so arrays may be padded with
zeros at any time.

Invariants: G is symmetric and U'U up to rounding; a column that got no row is exactly 0, also in what `dots` returns.

Accuracy: T enlarges nothing for the penalties of `proximal`, so errors add up and do not grow. G knows the squares of
singular values to some roundings of the largest one, s_1^2. Singular values below FLOOR s_1 = 1.5e-7 s_1 cannot be told
from each other and are shrunk by the factor of FLOOR s_1: an error of at most that size in U.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from weft.batch import Floats, Ints

ROOM = 64
"""Rows that X holds, unless said otherwise."""
NONZEROS = 1 << 14
"""Numbers that X holds, unless said otherwise."""
FLOOR = math.sqrt(100.0 * float(np.finfo(float).eps))
"""The least singular value that a Gram matrix resolves, in units of the largest."""
NOTHING = 1e-290
"""A column whose squared length is not above this is left as it is: its eigenvalues would underflow."""
ROWS, FEATURES, TASKS = range(3)


class LowRank(NamedTuple):
    """U = B S + X' C and its Gram matrix; the functions below change the arrays in place.

    >>> from weft.geometry.proximal import soft
    >>> U = zeros(features=5, tasks=2)
    >>> add(U, np.array([0, 3]), np.array([3.0, 4.0]), np.array([1.0, 0.0]))
    >>> shrink(U, lambda s: soft(s, 1.0)).values.round(12).tolist()
    [4.0, 0.0]
    >>> column(U, 0).round(12).tolist()
    [2.4, 0.0, 0.0, 3.2, 0.0]
    """

    B: Floats
    S: Floats
    C: Floats
    G: Floats
    indptr: Ints
    indices: Ints
    values: Floats
    counts: Ints
    """The rows in X; the features, and the tasks, up to the last one that occurred."""


class Spectrum(NamedTuple):
    """Singular values after a proximal step, in descending order, and how many are resolved and not 0."""

    values: Floats
    rank: int


def zeros(features: int, tasks: int, room: int = ROOM, nonzeros: int = NONZEROS) -> LowRank:
    """The matrix 0."""
    return LowRank(
        B=np.zeros((features, tasks)),
        S=np.zeros((tasks, tasks)),
        C=np.zeros((room, tasks)),
        G=np.zeros((tasks, tasks)),
        indptr=np.zeros(room + 1, dtype=np.int64),
        indices=np.zeros(nonzeros, dtype=np.int64),
        values=np.zeros(nonzeros),
        counts=np.zeros(3, dtype=np.int64),
    )


def dots(U: LowRank, indices: Ints, values: Floats) -> Floats:
    """U'x: the score of x under every task."""
    k, _, m = U.counts
    c = np.zeros(len(U.G))
    c[:m] = (values @ U.B[indices, :m]) @ U.S[:m, :m]
    if k:
        x = np.zeros(len(U.B))
        x[indices] = values
        stop = U.indptr[k]
        products = np.add.reduceat(U.values[:stop] * x[U.indices[:stop]], U.indptr[:k])
        c[:m] += products @ U.C[:k, :m]
    return c


def add(U: LowRank, indices: Ints, values: Floats, a: Floats, c: Floats | None = None) -> None:
    """U <- U + x a'; the features of x ascend, and `c` is what `dots` says of x, if that is at hand."""
    n2 = float(values @ values)
    if n2 == 0.0 or not a.any():
        return  # X has no place for an empty row: `reduceat` would read the next one's numbers
    if c is None:
        c = dots(U, indices, values)
    start = U.indptr[U.counts[ROWS]]
    if U.counts[ROWS] == len(U.C) or start + len(values) > len(U.values):
        fold(U)
        start = 0
    U.counts[FEATURES] = max(U.counts[FEATURES], indices[-1] + 1)
    U.counts[TASKS] = m = max(U.counts[TASKS], np.flatnonzero(a)[-1] + 1)
    half = np.outer(c[:m] + 0.5 * n2 * a[:m], a[:m])
    U.G[:m, :m] += half + half.T
    if len(values) > len(U.values):  # a row that X can never hold; S = I after folding
        U.B[indices, :m] += np.outer(values, a[:m])
        U.S[:m, :m] = np.eye(m)
        return
    k, stop = U.counts[ROWS], start + len(values)
    U.indices[start:stop] = indices
    U.values[start:stop] = values
    U.C[k] = a
    U.counts[ROWS] = k + 1
    U.indptr[k + 1] = stop


def shrink(U: LowRank, rule: Callable[[Floats], Floats]) -> Spectrum:
    """Every singular value s becomes rule(s), where 0 <= rule(s) <= s."""
    k = U.counts[ROWS]
    found = np.zeros(len(U.G))
    live = np.flatnonzero(np.diagonal(U.G) > NOTHING)
    if not len(live):
        return Spectrum(found, 0)
    squares, Q = np.linalg.eigh(U.G[np.ix_(live, live)])
    floor = FLOOR * math.sqrt(squares[-1])
    s = np.sqrt(np.maximum(squares, floor * floor))
    factors = rule(s) / s
    shrunk = np.sqrt(np.maximum(squares, 0.0)) * factors
    if (factors != 1.0).any():
        m = U.counts[TASKS]
        T = (Q * factors) @ Q.T
        U.S[:m, live] = U.S[:m, live] @ T
        U.C[:k, live] = U.C[:k, live] @ T
        root = Q * shrunk
        U.G[np.ix_(live, live)] = root @ root.T
    found[: len(live)] = np.sort(shrunk)[::-1]
    return Spectrum(found, int(((squares > floor * floor) & (shrunk > 0.0)).sum()))


def matrix(U: LowRank) -> Floats:
    """U as one array."""
    k, d, m = U.counts
    whole = np.zeros(U.B.shape)
    whole[:d, :m] = U.B[:d, :m] @ U.S[:m, :m]
    for row in range(k):
        part = slice(U.indptr[row], U.indptr[row + 1])
        whole[U.indices[part], :m] += np.outer(U.values[part], U.C[row, :m])
    return whole


def column(U: LowRank, task: int) -> Floats:
    """The weights of one task."""
    k, d, m = U.counts
    u = np.zeros(len(U.B))
    u[:d] = U.B[:d, :m] @ U.S[:m, task]
    stop = U.indptr[k]
    np.add.at(u, U.indices[:stop], np.repeat(U.C[:k, task], np.diff(U.indptr[: k + 1])) * U.values[:stop])
    return u


def fold(U: LowRank) -> None:
    """Put the pieces together again, and make the Gram matrix anew."""
    _, d, m = U.counts
    U.B[:] = matrix(U)
    U.S[:m, :m] = np.eye(m)
    U.G[:m, :m] = U.B[:d, :m].T @ U.B[:d, :m]
    U.counts[ROWS] = 0
