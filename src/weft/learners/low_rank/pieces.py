"""A matrix of low rank in pieces, which takes rows and proximal steps without being touched as a whole.

A d x m matrix U (features x tasks) takes rows, U <- U + x a', and proximal steps that shrink its singular values. With
U'U = Q diag(s^2) Q' such a step multiplies from the right by a symmetric m x m matrix,

    U <- U T,    T = Q diag(shrink(s) / s) Q',

so the Gram matrix G = U'U decides all of it. `LowRank` keeps G, and U in pieces:

    U = B S + X' C

B is a d x m matrix that does not change, S is m x m, X holds the k sparse rows taken since B was last made, and C is
k x m. A row is appended to X and its coefficients a to C; a proximal step multiplies S and C by T, and nothing is ever
divided by S, which the nuclear norm makes singular. With c = U'x,

    U + x a'   has   G + c a' + a c' + |x|^2 a a'       O(nnz(x) m + nnz(X) + (m + k) m)
    U T        has   Q diag(shrink(s)^2) Q'             O((m + k) m^2)

Before X overflows the pieces are *folded*: B <- U, S <- I, X and C empty, G <- B'B, at O(d m^2), which also ends the
drift of G. These steps are written twice: in compiled code for few tasks (`compiled_steps`) and on LAPACK for many
(`lapack_steps`). Here is what both read. When pieces are folded depends on the rows taken alone: reading (`dots`,
`column`, `matrix`) changes nothing, and the room after the last feature and task that occurred has no influence on any
number, so arrays may be padded with zeros at any time.

Invariants: G is symmetric and U'U up to rounding; a column that got no row is exactly 0, also in what `dots` returns.

Accuracy: T enlarges nothing for the penalties of `proximal`, so errors add up and do not grow. G has the squares of
singular values to some roundings of the largest one, s_1^2. Singular values below FLOOR s_1 = 1.5e-7 s_1 cannot be told
from each other and are shrunk by the factor of FLOOR s_1: an error of at most that size in U.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import compiled, helper_no_alloc, inlined, inlined_only
from weft.storage.sparse_rows import Row, clear, product_in_order, product_with_column, spread_out

ROOM = 64
"""Rows that X holds, unless said otherwise."""
NONZEROS = 1 << 14
"""Numbers that X holds, unless said otherwise."""
FLOOR = math.sqrt(100.0 * float(np.finfo(float).eps))
"""The least singular value that a Gram matrix resolves, in units of the largest."""
NOTHING = 1e-290
"""A column whose squared length is not above this is left as it is: its eigenvalues would underflow."""
USED = 2
ROWS, NUMBERS = range(USED)
"""Positions in `used`: the rows in X, and their numbers."""
COUNTS = 3
FEATURES, TASKS, LOOSE = range(COUNTS)
"""Positions in `counts`: the features, and the tasks, up to the last one that occurred; 1 if there are pieces, 0 if U
is B."""


class LowRank(NamedTuple):
    """U = B S + X' C and its Gram matrix; steps change the arrays in place.

    >>> from weft.learners.low_rank.lapack_steps import add, shrink
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
    counts: Ints


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
        used=np.zeros(USED, dtype=np.int64),
        counts=np.zeros(COUNTS, dtype=np.int64),
    )


def dots(U: LowRank, indices: Ints, values: Floats) -> Floats:
    """U'x: the score of x under every task."""
    c = np.empty(len(U.G))
    row_dots(U, Row(indices, values, 0, len(indices)), np.zeros(len(U.B)), c)
    return c


def matrix(U: LowRank) -> Floats:
    """U as one array."""
    d, m = U.counts[FEATURES], U.counts[TASKS]
    if not U.counts[LOOSE]:
        return U.B.copy()
    whole = np.zeros(U.B.shape)
    whole[:d, :m] = U.B[:d, :m].copy() @ U.S[:m, :m].copy()
    _add_rows(U, 0, int(m), whole)
    return whole


def column(U: LowRank, task: int) -> Floats:
    """The weights of one task."""
    d, m = U.counts[FEATURES], U.counts[TASKS]
    if not U.counts[LOOSE]:
        return U.B[:, task].copy()
    u = np.zeros((len(U.B), 1))
    u[:d, 0] = U.B[:d, :m].copy() @ U.S[:m, task].copy()
    _add_rows(U, task, task + 1, u)
    return u[:, 0].copy()


@inlined
def reach(U: LowRank, features: int, tasks: int) -> None:
    """Features and tasks up to these numbers may occur from now on: U's columns of new tasks are 0, in all pieces."""
    for k in range(U.counts[TASKS], tasks):
        U.S[k, k] = 1.0
    U.counts[FEATURES] = max(U.counts[FEATURES], features)
    U.counts[TASKS] = max(U.counts[TASKS], tasks)


@inlined_only
def kept_row(U: LowRank, r: int) -> Row:
    """Row r of X. Only for callers that do not count references."""
    end = U.begins[r + 1] if r + 1 < U.used[ROWS] else U.used[NUMBERS]
    return Row(U.indices, U.values, U.begins[r], end)


@compiled
def row_dots(U: LowRank, x: Row, space: Floats, c: Floats) -> None:
    """c = U'x, with space of a number per feature that is 0 before and after."""
    B, S, counts, (indices, values, begin, end) = U.B, U.S, U.counts, x
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
    rows_dots(U, 0, x, space, c)


@helper_no_alloc
def rows_dots(U: LowRank, first: int, x: Row, space: Floats, c: Floats) -> None:
    """Add what the rows of X from `first` on contribute to c = U'x."""
    if first == U.used[ROWS]:
        return
    spread_out(space, x)
    for r in range(first, U.used[ROWS]):
        product = product_in_order(space, kept_row(U, r))
        if product != 0.0:
            for j in range(U.counts[TASKS]):
                c[j] += product * U.C[r, j]
    clear(space, x)


@helper_no_alloc
def own_score(U: LowRank, k: int, x: Row, space: Floats) -> float:
    """u_k.x: what `row_dots` has for task k, to the bit."""
    if U.counts[LOOSE] == 0:
        return product_with_column(U.B, k, x)
    s = 0.0
    if k >= U.counts[TASKS]:
        return s
    for i in range(U.counts[TASKS]):
        z = product_with_column(U.B, i, x)
        if z != 0.0:
            s += z * U.S[i, k]
    spread_out(space, x)
    for r in range(U.used[ROWS]):
        if U.C[r, k] != 0.0:
            s += product_in_order(space, kept_row(U, r)) * U.C[r, k]
    clear(space, x)
    return s


@compiled
def _add_rows(U: LowRank, first: int, last: int, whole: Floats) -> None:
    """Add X' C to the columns first .. last-1 of U."""
    _, _, C, _, begins, kept, numbers, used, _ = U
    for r in range(used[ROWS]):
        end = begins[r + 1] if r + 1 < used[ROWS] else used[NUMBERS]
        for e in range(begins[r], end):
            for j in range(first, last):
                whole[kept[e], j - first] += numbers[e] * C[r, j]
