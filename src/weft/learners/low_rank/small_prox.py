"""Proximal steps on the singular values of a matrix with few columns, without leaving compiled code.

For a d x m matrix with m up to WIDE, calling LAPACK from Python takes longer than what it computes. Here are the steps
of `gram_prox` on the pieces of a `LowRank` for kernels that take many of them in a row; small matrices lie in rows of
WIDE numbers, zeros behind the last (`wide`).

`eigen` is the classical method (Golub and Van Loan, Matrix Computations, Sec. 8.3): Householder reflections make the
matrix tridiagonal, and implicit QL steps with Wilkinson's shift make it diagonal. Eigenvectors are kept as rows, so
that a rotation works on numbers that lie together. Errors are some roundings of the largest eigenvalue, as LAPACK's.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.instructions import lanes_dot
from weft.compiled.jit import compiled, helper_no_alloc, inlined
from weft.learners.low_rank.gram_prox import (
    FEATURES,
    FLOOR,
    LOOSE,
    NOTHING,
    NUMBERS,
    ROOM,
    ROWS,
    TASKS,
    LowRank,
    overlap,
)
from weft.learners.low_rank.wide import WIDE, rotate, subtract, sum_listed, sum_rows
from weft.maths.proximal import log_value
from weft.storage.batch import squared_norm

MOST_SHIFTS = 60
"""QL steps for one eigenvalue; two are usual."""
ROUNDING = float(np.finfo(float).eps)
TINY = 1e-290
"""A square below this counts as 0."""


class Desk(NamedTuple):
    """Working space for steps, one after the other."""

    A: Floats
    Q: Floats
    T: Floats
    w: Floats
    squares: Floats
    signs: Floats
    factors: Floats
    x: Floats
    y: Floats
    live: Ints
    products: Floats
    rows: Ints


@compiled
def desk() -> Desk:
    """Working space."""
    square, row = (WIDE, WIDE), WIDE
    return Desk(
        np.zeros(square),
        np.zeros(square),
        np.zeros(square),
        np.zeros(row),
        np.zeros(row),
        np.zeros(row),
        np.zeros(row),
        np.zeros(row),
        np.zeros(row),
        np.zeros(row, np.int64),
        np.zeros(ROOM),
        np.zeros(ROOM, np.int64),
    )


# --- eigenvalues ---


@inlined
def eigen(m: int, space: Desk) -> bool:
    """w[i] and the row Q[i]: eigenvalues, in no order, and eigenvectors of the symmetric m x m matrix A.

    A is used up. Returns whether the method came to its end, which fails for numbers that are not finite.
    """
    A, Q, w, squares, signs = space.A, space.Q, space.w, space.squares, space.signs
    for i in range(m):
        for j in range(WIDE):
            Q[i, j] = 1.0 if i == j else 0.0
    for k in range(m - 2):
        _reflect(A, Q, m, k, space.x, space.y)
    top = 0.0
    for i in range(m):
        side = A[i + 1, i] if i + 1 < m else 0.0
        w[i], squares[i], signs[i] = A[i, i], side * side, 1.0 if side >= 0.0 else -1.0
        top = max(top, abs(w[i]))
    for i in range(m):
        if not _converge(w, squares, signs, Q, m, i, ROUNDING * top * ROUNDING * top):
            return False
    return True


@helper_no_alloc
def _reflect(A: Floats, Q: Floats, m: int, k: int, v: Floats, p: Floats) -> None:
    """Make the numbers of column k below the first subdiagonal 0: A <- H A H and Q <- H Q with H = I - 2 v v'/|v|^2.

    Rows up to k are not touched, and columns up to k of the others not looked at again.
    """
    tail = 0.0
    for i in range(k + 2, m):
        tail += A[i, k] * A[i, k]
    if tail < TINY:
        return
    first = A[k + 1, k]
    length = np.sqrt(first * first + tail)
    for i in range(WIDE):
        v[i] = 0.0
    v[k + 1] = first + length if first >= 0.0 else first - length
    for i in range(k + 2, m):
        v[i] = A[i, k]
    beta = 2.0 / (v[k + 1] * v[k + 1] + tail)
    below, rows = k + 1, m - k - 1
    sum_rows(v, below, 1, rows, A, below * WIDE, WIDE, WIDE, p, 0)
    half = 0.5 * beta * (beta * lanes_dot(p, 0, v, 0, WIDE))
    for j in range(WIDE):
        p[j] = beta * p[j] - half * v[j]
    subtract(A, below, m, v, p)
    subtract(A, below, m, p, v)
    A[below, k] = -length if first >= 0.0 else length
    sum_rows(v, below, 1, rows, Q, below * WIDE, WIDE, WIDE, p, 0)
    for j in range(WIDE):
        p[j] *= beta
    subtract(Q, below, m, v, p)


@helper_no_alloc
def _converge(w: Floats, squares: Floats, signs: Floats, Q: Floats, m: int, first: int, least: float) -> bool:
    """QL steps on the tridiagonal matrix from `first` on until w[first] is an eigenvalue.

    The squares p = bulge^2, c = cos^2 and s = sin^2 go round without a root (Parlett, The Symmetric Eigenvalue Problem,
    Sec. 8.15), so that one rotation does not wait for the roots of another; gamma is bulge times the cosine before it.
    """
    for _ in range(MOST_SHIFTS):
        last = m - 1
        for i in range(m - 2, first - 1, -1):
            last = i if squares[i] <= least else last
        if last == first:
            return True
        # Wilkinson's shift: the eigenvalue of the leading 2 x 2 block that is closer to w[first].
        side = np.sqrt(squares[first])
        half = (w[first + 1] - w[first]) / (2.0 * side)
        root = np.sqrt(half * half + 1.0)
        shift = w[first] - side / (half + root if half >= 0.0 else half - root)
        gamma, c, s, sign = w[last] - shift, 1.0, 0.0, 1.0
        p = gamma * gamma
        for i in range(last - 1, first - 1, -1):
            if p < TINY:
                p, gamma = 0.0, 0.0
            square, before = squares[i], c
            r = p + square
            squares[i + 1] = s * r
            sign *= math.copysign(1.0, gamma)
            c, s = p / r, square / r
            rotate(Q, i, c, s, sign, signs[i])
            old = gamma
            gamma = c * (w[i] - shift) - s * old
            w[i + 1] = old + (w[i] - gamma)
            if p > 0.0:
                p = gamma * gamma * (r / p)
            else:
                p, sign = before * square, -sign
        squares[first] = s * p
        w[first] = shift + gamma
        signs[first] *= sign * math.copysign(1.0, gamma)
    return False


# --- steps ---


@inlined
def shrink(U: LowRank, logd: bool, strength: float, space: Desk) -> float:
    """`gram_prox.shrink` by `soft` or, with `logd`, by `log_shrink`.

    Returns the sum of the singular values; nothing is changed if it is infinite.
    """
    G, m = U.G, U.counts[TASKS]
    A, w, factors, live = space.A, space.w, space.factors, space.live
    n, largest = 0, 0.0
    for i in range(m):
        if G[i, i] > NOTHING:
            live[n] = i
            n += 1
            largest = max(largest, G[i, i])
    if n == 0:
        return 0.0
    if not np.isfinite(largest):
        return np.inf
    scale = 1.0 / largest  # squares of squares would leave the range of numbers
    for i in range(n):
        for j in range(n):
            A[i, j] = scale * G[live[i], live[j]]
        for j in range(n, WIDE):
            A[i, j] = 0.0
    if not eigen(n, space):
        return np.inf
    top = 0.0
    for i in range(n):
        w[i] *= largest
        top = max(top, w[i])
    floor = FLOOR * np.sqrt(top)
    total, changes = 0.0, False
    for i in range(n):
        s = np.sqrt(max(w[i], floor * floor))
        shrunk = log_value(s, strength) if logd else max(s - strength, 0.0)
        factors[i] = shrunk / s
        changes = changes or factors[i] != 1.0
        w[i] = np.sqrt(max(w[i], 0.0)) * factors[i]
        total += w[i]
    if changes:
        _multiply(U, n, space)
    return total


@helper_no_alloc
def _multiply(U: LowRank, n: int, space: Desk) -> None:
    """G <- Q' diag(w^2) Q, and S and C times T = Q' diag(factors) Q."""
    Q, T, w, factors, live, a, row = space.Q, space.T, space.w, space.factors, space.live, space.x, space.y
    for i in range(n):
        for k in range(n):
            a[k] = w[k] * w[k] * Q[k, i]
        sum_rows(a, 0, 1, n, Q, 0, WIDE, WIDE, row, 0)
        for j in range(n):
            U.G[live[i], live[j]] = row[j]
    for i in range(n):
        for k in range(n):
            a[k] = factors[k] * Q[k, i]
        sum_rows(a, 0, 1, n, Q, 0, WIDE, WIDE, T, i * WIDE)
    _times(U.S, U.counts[TASKS], live, n, T, a, row)
    _times(U.C, U.used[ROWS], live, n, T, a, row)
    U.counts[LOOSE] = 1


@helper_no_alloc
def _times(M: Floats, rows: int, live: Ints, n: int, T: Floats, a: Floats, row: Floats) -> None:
    """M <- M T, for some rows, and the columns that are not 0."""
    if live[n - 1] == n - 1:  # all of them
        for r in range(rows):
            sum_rows(M, r * M.shape[1], 1, n, T, 0, WIDE, WIDE, row, 0)
            for j in range(n):
                M[r, j] = row[j]
        return
    for r in range(rows):
        for j in range(n):
            a[j] = M[r, live[j]]
        sum_rows(a, 0, 1, n, T, 0, WIDE, WIDE, row, 0)
        for j in range(n):
            M[r, live[j]] = row[j]


@inlined
def few_dots(
    U: LowRank, indices: Ints, values: Floats, begin: int, end: int, wide: Floats, space: Desk, c: Floats
) -> None:
    """What `gram_prox.row_dots` says, to the bit, with zeros behind the last task; `wide` is 0 before and after."""
    B, S, m = U.B, U.S, U.counts[TASKS]
    if U.counts[LOOSE] == 0:
        sum_listed(values, begin, end, indices, B, B.shape[1], m, c, 0, False)
        return
    sum_listed(values, begin, end, indices, B, B.shape[1], m, space.x, 0, False)
    sum_rows(space.x, 0, 1, m, S, 0, S.shape[1], m, c, 0)
    few_rows_dots(U, 0, indices, values, begin, end, wide, space, c)


@helper_no_alloc
def few_rows_dots(
    U: LowRank, first: int, indices: Ints, values: Floats, begin: int, end: int, wide: Floats, space: Desk, c: Floats
) -> None:
    """What `gram_prox.rows_dots` does."""
    begins, kept, numbers, used = U.begins, U.indices, U.values, U.used
    products, rows, found = space.products, space.rows, 0
    for e in range(begin, end):
        wide[indices[e]] = values[e]
    for r in range(first, used[ROWS]):
        product = overlap(begins, kept, numbers, used, r, wide)
        products[found], rows[found] = product, r
        found += 1 if product != 0.0 else 0
    for e in range(begin, end):
        wide[indices[e]] = 0.0
    sum_listed(products, 0, found, rows, U.C, U.C.shape[1], U.counts[TASKS], c, 0, True)


@inlined
def fold(U: LowRank, space: Desk) -> None:
    """`gram_prox.fold`."""
    B, S, C, G, begins, kept, numbers, used, counts = U
    d, m, row = counts[FEATURES], counts[TASKS], space.x
    stride = B.shape[1]
    for f in range(d):
        sum_rows(B, f * stride, 1, m, S, 0, S.shape[1], m, row, 0)
        for j in range(m):
            B[f, j] = row[j]
    for r in range(used[ROWS]):
        end = begins[r + 1] if r + 1 < used[ROWS] else used[NUMBERS]
        for e in range(begins[r], end):
            for j in range(m):
                B[kept[e], j] += numbers[e] * C[r, j]
    for i in range(m):
        sum_rows(B, i, stride, d, B, 0, stride, m, row, 0)
        for j in range(m):
            G[i, j], S[i, j] = row[j], 1.0 if i == j else 0.0
    used[ROWS], used[NUMBERS], counts[LOOSE] = 0, 0, 0


@inlined
def add(U: LowRank, k: int, indices: Ints, values: Floats, begin: int, end: int, a: float, c: Floats) -> None:
    """`gram_prox.add` of the row values[begin:end] to column k, a times, where X has room for it and c = U'x."""
    C, G, used, counts = U.C, U.G, U.used, U.counts
    n2 = squared_norm(values, begin, end)
    if n2 == 0.0 or a == 0.0:
        return
    for j in range(counts[TASKS]):
        G[j, k] += a * c[j]
        G[k, j] += a * c[j]
        C[used[ROWS], j] = 0.0
    G[k, k] += a * a * n2
    C[used[ROWS], k] = a
    U.begins[used[ROWS]] = used[NUMBERS]
    for e in range(begin, end):
        U.indices[used[NUMBERS]] = indices[e]
        U.values[used[NUMBERS]] = values[e]
        used[NUMBERS] += 1
    used[ROWS] += 1
    counts[LOOSE] = 1


@inlined
def reach(U: LowRank, features: int, tasks: int) -> None:
    """`gram_prox.reach`."""
    for k in range(U.counts[TASKS], tasks):
        U.S[k, k] = 1.0
    U.counts[FEATURES] = max(U.counts[FEATURES], features)
    U.counts[TASKS] = max(U.counts[TASKS], tasks)
