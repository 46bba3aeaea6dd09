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
drift of G. Where d m^2 is small, or many rows come at once, U may as well stay folded: `settle` takes the whole step on
B. When pieces are folded depends on the rows taken alone: reading (`dots`, `column`, `matrix`) changes nothing, and the
room behind the last feature and task that occurred has no influence on any number, so arrays may be padded with zeros
at any time. BLAS adds up what lies together in another order than what has gaps: it is given copies without gaps.

Invariants: G is symmetric and U'U up to rounding; a column that got no row is exactly 0, also in what `dots` returns.

Accuracy: T enlarges nothing for the penalties of `proximal`, so errors add up and do not grow. G knows the squares of
singular values to some roundings of the largest one, s_1^2. Singular values below FLOOR s_1 = 1.5e-7 s_1 cannot be told
from each other and are shrunk by the factor of FLOOR s_1: an error of at most that size in U.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import compiled, helper_no_alloc

ROOM = 64
"""Rows that X holds, unless said otherwise."""
NONZEROS = 1 << 14
"""Numbers that X holds, unless said otherwise."""
FLOOR = math.sqrt(100.0 * float(np.finfo(float).eps))
"""The least singular value that a Gram matrix resolves, in units of the largest."""
NOTHING = 1e-290
"""A column whose squared length is not above this is left as it is: its eigenvalues would underflow."""
ROWS, NUMBERS = range(2)
FEATURES, TASKS, LOOSE = range(3)

Rule = Callable[[Floats], Floats]
"""What becomes of singular values; 0 <= rule(s) <= s."""


class LowRank(NamedTuple):
    """U = B S + X' C and its Gram matrix; the functions below change the arrays in place.

    >>> from weft.maths.proximal import soft
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
    begins: Ints
    """Where the rows of X begin in `indices` and `values`."""
    indices: Ints
    values: Floats
    used: Ints
    """The rows in X, and their numbers."""
    counts: Ints
    """The features, and the tasks, up to the last one that occurred; 1 if there are pieces, 0 if U is B."""


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
        begins=np.zeros(room, dtype=np.int64),
        indices=np.zeros(nonzeros, dtype=np.int64),
        values=np.zeros(nonzeros),
        used=np.zeros(2, dtype=np.int64),
        counts=np.zeros(3, dtype=np.int64),
    )


def dots(U: LowRank, indices: Ints, values: Floats) -> Floats:
    """U'x: the score of x under every task."""
    c = np.empty(len(U.G))
    row_dots(U, indices, values, 0, len(indices), np.zeros(len(U.B)), c)
    return c


def add(U: LowRank, indices: Ints, values: Floats, a: Floats, c: Floats | None = None) -> None:
    """U <- U + x a'; the features of x ascend, and `c` is what `dots` says of x, if that is at hand."""
    n2 = float(values @ values)
    if n2 == 0.0 or not a.any():
        return
    if c is None:
        c = dots(U, indices, values)
    if U.used[ROWS] == len(U.C) or U.used[NUMBERS] + len(values) > len(U.values):
        fold(U)
    reach(U, int(indices[-1]) + 1, int(np.flatnonzero(a)[-1]) + 1)
    m = U.counts[TASKS]
    half = np.outer(c[:m] + 0.5 * n2 * a[:m], a[:m])
    U.G[:m, :m] += half + half.T
    if len(values) > len(U.values):  # a row that X can never hold; U is folded
        U.B[indices, :m] += np.outer(values, a[:m])
        return
    k, start = U.used
    stop = start + len(values)
    U.begins[k] = start
    U.indices[start:stop] = indices
    U.values[start:stop] = values
    U.C[k] = a
    U.used[:] = k + 1, stop
    U.counts[LOOSE] = 1


def shrink(U: LowRank, rule: Rule) -> Spectrum:
    """Every singular value s becomes rule(s), where 0 <= rule(s) <= s."""
    live, T, spectrum = _shrinkage(U, rule)
    if T is not None:
        k, m = U.used[ROWS], U.counts[TASKS]
        U.S[:m, live] = U.S[:m, live].copy() @ T
        U.C[:k, live] = U.C[:k, live].copy() @ T
        U.counts[LOOSE] = 1
    return spectrum


def settle(U: LowRank, rule: Rule) -> Spectrum:
    """The same where U is B, changed or not since the last step, and stays so."""
    d, m = U.counts[FEATURES], U.counts[TASKS]
    B = U.B[:d, :m].copy()
    U.G[:m, :m] = B.T @ B
    live, T, spectrum = _shrinkage(U, rule)
    if T is not None:
        U.B[:d, live] = B[:, live] @ T
    return spectrum


def matrix(U: LowRank) -> Floats:
    """U as one array."""
    d, m = U.counts[FEATURES], U.counts[TASKS]
    if not U.counts[LOOSE]:
        return U.B.copy()
    whole = np.zeros(U.B.shape)
    whole[:d, :m] = U.B[:d, :m].copy() @ U.S[:m, :m].copy()
    _spread(U, 0, int(m), whole)
    return whole


def column(U: LowRank, task: int) -> Floats:
    """The weights of one task."""
    d, m = U.counts[FEATURES], U.counts[TASKS]
    if not U.counts[LOOSE]:
        return U.B[:, task].copy()
    u = np.zeros((len(U.B), 1))
    u[:d, 0] = U.B[:d, :m].copy() @ U.S[:m, task].copy()
    _spread(U, task, task + 1, u)
    return u[:, 0].copy()


def fold(U: LowRank) -> None:
    """Put the pieces together again, and make the Gram matrix anew."""
    if U.counts[LOOSE]:
        d, m = U.counts[FEATURES], U.counts[TASKS]
        U.B[:] = matrix(U)
        U.S[:m, :m] = np.eye(m)
        B = U.B[:d, :m].copy()
        U.G[:m, :m] = B.T @ B
        U.used[:] = 0
        U.counts[LOOSE] = 0


def reach(U: LowRank, features: int, tasks: int) -> None:
    """Features and tasks up to these numbers may occur from now on: U's columns of new tasks are 0, in all pieces."""
    U.counts[FEATURES] = max(U.counts[FEATURES], features)
    known = U.counts[TASKS]
    if tasks > known:
        new = np.arange(known, tasks)
        U.S[new, new] = 1.0
        U.counts[TASKS] = tasks


def _shrinkage(U: LowRank, rule: Rule) -> tuple[Ints | slice, Floats | None, Spectrum]:
    """The columns that are not 0, the matrix T that shrinks them, or None if it is I, and G after the step."""
    m = int(U.counts[TASKS])
    found = np.zeros(len(U.G))
    diagonal = U.G.diagonal()[:m]
    live: Ints | slice = slice(0, m)
    here: tuple[Ints | slice, Ints | slice] | tuple[Ints, ...] = (live, live)
    if m == 0 or not (diagonal > NOTHING).all():
        live = np.flatnonzero(diagonal > NOTHING)
        if not len(live):
            return live, None, Spectrum(found, 0)
        here = np.ix_(live, live)
    squares, Q, failed = lapack.dsyevd(U.G[here], lower=1)
    if failed:
        squares, Q = np.linalg.eigh(U.G[here])
    floor = FLOOR * math.sqrt(squares[-1])
    s = np.sqrt(np.maximum(squares, floor * floor))
    factors = rule(s) / s
    shrunk = np.sqrt(np.maximum(squares, 0.0)) * factors
    T = None
    if (factors != 1.0).any():
        T = (Q * factors) @ Q.T
        root = Q * shrunk
        U.G[here] = root @ root.T
    found[: len(shrunk)] = np.sort(shrunk)[::-1]
    rank = int(np.count_nonzero((squares > floor * floor) & (shrunk > 0.0)))
    return live, T, Spectrum(found, rank)


@compiled
def row_dots(U: LowRank, indices: Ints, values: Floats, begin: int, end: int, space: Floats, c: Floats) -> None:
    """c = U'x of the row values[begin:end], with space of a number per feature that is 0 before and after."""
    B, S, counts = U.B, U.S, U.counts
    m = counts[TASKS]
    z = c if counts[LOOSE] == 0 else np.empty(m)
    for j in range(len(c)):
        c[j] = 0.0
    for j in range(m):
        z[j] = 0.0
    for e in range(begin, end):
        for j in range(m):
            z[j] += values[e] * B[indices[e], j]
    if counts[LOOSE] == 0:
        return
    for i in range(m):
        if z[i] != 0.0:
            for j in range(m):
                c[j] += z[i] * S[i, j]
    rows_dots(U, 0, indices, values, begin, end, space, c)


@helper_no_alloc
def rows_dots(
    U: LowRank, first: int, indices: Ints, values: Floats, begin: int, end: int, space: Floats, c: Floats
) -> None:
    """Add what the rows of X from `first` on contribute to U'x."""
    _, _, C, _, begins, kept, numbers, used, counts = U
    if first == used[ROWS]:
        return
    for e in range(begin, end):
        space[indices[e]] = values[e]
    for r in range(first, used[ROWS]):
        product = overlap(begins, kept, numbers, used, r, space)
        if product != 0.0:
            for j in range(counts[TASKS]):
                c[j] += product * C[r, j]
    for e in range(begin, end):
        space[indices[e]] = 0.0


@compiled
def _spread(U: LowRank, first: int, last: int, whole: Floats) -> None:
    """Add X' C to the columns first .. last-1 of U."""
    _, _, C, _, begins, kept, numbers, used, _ = U
    for r in range(used[ROWS]):
        end = begins[r + 1] if r + 1 < used[ROWS] else used[NUMBERS]
        for e in range(begins[r], end):
            for j in range(first, last):
                whole[kept[e], j - first] += numbers[e] * C[r, j]


@helper_no_alloc
def overlap(begins: Ints, kept: Ints, numbers: Floats, used: Ints, r: int, space: Floats) -> float:
    """The product of row r of X with the row that lies in `space`."""
    product = 0.0
    end = begins[r + 1] if r + 1 < used[ROWS] else used[NUMBERS]
    for e in range(np.uint64(begins[r]), np.uint64(end)):
        product += numbers[e] * space[np.uint64(kept[e])]
    return product


@helper_no_alloc
def own_score(U: LowRank, k: int, indices: Ints, values: Floats, begin: int, end: int, space: Floats) -> float:
    """What `row_dots` has for task k, to the bit."""
    B, S, C, _, begins, kept, numbers, used, counts = U
    s = 0.0
    if counts[LOOSE] == 0:
        for e in range(begin, end):
            s += values[e] * B[indices[e], k]
        return s
    if k >= counts[TASKS]:
        return s
    for i in range(counts[TASKS]):
        z = 0.0
        for e in range(begin, end):
            z += values[e] * B[indices[e], i]
        if z != 0.0:
            s += z * S[i, k]
    for e in range(begin, end):
        space[indices[e]] = values[e]
    for r in range(used[ROWS]):
        if C[r, k] != 0.0:
            s += overlap(begins, kept, numbers, used, r, space) * C[r, k]
    for e in range(begin, end):
        space[indices[e]] = 0.0
    return s
