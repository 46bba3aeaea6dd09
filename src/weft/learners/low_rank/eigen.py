"""Eigenvalues and eigenvectors of small symmetric matrices, without leaving compiled code.

For a matrix of up to WIDE columns, calling LAPACK from Python takes longer than what it computes. This is the classical
method (Golub and Van Loan, Matrix Computations, Sec. 8.3): Householder reflections make the matrix tridiagonal, and
implicit QL steps with Wilkinson's shift make it diagonal. Eigenvectors are kept as rows, so that a rotation works on
numbers that lie together. Errors are some roundings of the largest eigenvalue, as LAPACK's.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.instructions import lanes_dot
from weft.compiled.jit import compiled, helper_no_alloc, inlined
from weft.learners.low_rank.pieces import ROOM
from weft.learners.low_rank.vector_rows import WIDE, rotate, subtract, sum_rows

MOST_SHIFTS = 60
"""QL steps for one eigenvalue; two are usual."""
ROUNDING = float(np.finfo(float).eps)
TINY = 1e-290
"""A square below this counts as 0."""


class Desk(NamedTuple):
    """Working space for one step after the other; small matrices have rows of WIDE numbers, zeros after the last."""

    A: Floats
    Q: Floats
    T: Floats
    w: Floats
    squares: Floats
    signs: Floats
    factors: Floats
    x: Floats
    y: Floats
    live: Ints  # the columns that are not 0
    products: Floats  # of rows of X with another row, where they are not 0
    rows: Ints  # which rows these are


@compiled
def new_desk() -> Desk:
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


@inlined
def eigen(m: int, desk: Desk) -> bool:
    """w[i] and the row Q[i]: eigenvalues, in no order, and eigenvectors of the symmetric m x m matrix A.

    A is overwritten. Returns whether the method converged, which fails for numbers that are not finite.
    """
    A, Q, w, squares, signs = desk.A, desk.Q, desk.w, desk.squares, desk.signs
    for i in range(m):
        for j in range(WIDE):
            Q[i, j] = 1.0 if i == j else 0.0
    for k in range(m - 2):
        _reflect(A, Q, m, k, desk.x, desk.y)
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
    below = k + 1
    sum_rows(v, A, below, m, WIDE, p)
    half = 0.5 * beta * (beta * lanes_dot(p, 0, v, 0, WIDE))
    for j in range(WIDE):
        p[j] = beta * p[j] - half * v[j]
    subtract(A, below, m, v, p)
    subtract(A, below, m, p, v)
    A[below, k] = -length if first >= 0.0 else length
    sum_rows(v, Q, below, m, WIDE, p)
    for j in range(WIDE):
        p[j] *= beta
    subtract(Q, below, m, v, p)


@helper_no_alloc
def _converge(w: Floats, squares: Floats, signs: Floats, Q: Floats, m: int, first: int, least: float) -> bool:
    """QL steps on the tridiagonal matrix from `first` on until w[first] is an eigenvalue.

    The squares p = bulge^2, c = cos^2 and s = sin^2 are updated without a root (Parlett, The Symmetric Eigenvalue
    Problem, Sec. 8.15), so that one rotation does not wait for the roots of another; gamma is bulge times the cosine
    before it.
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
