"""Proximal steps on the singular values of a matrix with few columns, without leaving compiled code.

For a d x m matrix with m up to a dozen or so, calling LAPACK from Python takes longer than what it computes. Here are
the steps of `gram_prox` on the pieces of a `LowRank` for kernels that take many of them in a row.

`eigen` is the classical method (Golub and Van Loan, Matrix Computations, Sec. 8.3): Householder reflections make the
matrix tridiagonal, and implicit QL steps with Wilkinson's shift make it diagonal. Eigenvectors are kept as rows, so
that a rotation works on numbers that lie together. Errors are some roundings of the largest eigenvalue, as LAPACK's.
"""

import numpy as np

from weft.batch import Floats, Ints, squared_norm
from weft.geometry.gram_prox import FEATURES, FLOOR, LOOSE, NOTHING, NUMBERS, ROWS, TASKS, LowRank
from weft.geometry.proximal import log_value
from weft.jit import kernel

MOST_SHIFTS = 60
"""QL steps for one eigenvalue; two are usual."""
ROUNDING = float(np.finfo(float).eps)


@kernel
def eigen(A: Floats, w: Floats, Q: Floats) -> bool:
    """w[i] and the row Q[i]: eigenvalues, in no order, and eigenvectors of the symmetric matrix A, which is used up.

    Returns whether the method came to its end, which fails for numbers that are not finite.
    """
    m = len(w)
    side, v, p = np.zeros(m), np.zeros(m), np.zeros(m)
    for i in range(m):
        for j in range(m):
            Q[i, j] = 1.0 if i == j else 0.0
    for k in range(m - 2):
        _reflect(A, Q, k, v, p)
    for i in range(m):
        w[i] = A[i, i]
        side[i] = A[i + 1, i] if i + 1 < m else 0.0
    for i in range(m):
        if not _converge(w, side, Q, i):
            return False
    return True


@kernel
def _reflect(A: Floats, Q: Floats, k: int, v: Floats, p: Floats) -> None:
    """Make the numbers of column k below the first subdiagonal 0: A <- H A H and Q <- H Q with H = I - 2 v v'/|v|^2."""
    m = len(v)
    tail = 0.0
    for i in range(k + 2, m):
        tail += A[i, k] * A[i, k]
    if tail == 0.0:
        return
    first = A[k + 1, k]
    length = np.sqrt(first * first + tail)
    v[k + 1] = first + length if first >= 0.0 else first - length
    for i in range(k + 2, m):
        v[i] = A[i, k]
    beta = 2.0 / (v[k + 1] * v[k + 1] + tail)
    half = 0.0
    for i in range(k + 1, m):
        s = 0.0
        for j in range(k + 1, m):
            s += A[i, j] * v[j]
        p[i] = beta * s
        half += p[i] * v[i]
    half *= 0.5 * beta
    for i in range(k + 1, m):
        p[i] -= half * v[i]
    for i in range(k + 1, m):
        for j in range(k + 1, m):
            A[i, j] -= v[i] * p[j] + p[i] * v[j]
    A[k + 1, k] = -length if first >= 0.0 else length
    for j in range(m):
        p[j] = 0.0
    for i in range(k + 1, m):
        for j in range(m):
            p[j] += v[i] * Q[i, j]
    for i in range(k + 1, m):
        for j in range(m):
            Q[i, j] -= beta * v[i] * p[j]


@kernel
def _converge(w: Floats, side: Floats, Q: Floats, first: int) -> bool:
    """QL steps on the tridiagonal matrix from `first` on until w[first] is an eigenvalue."""
    m = len(w)
    for _ in range(MOST_SHIFTS):
        last = first
        while last + 1 < m and abs(side[last]) > ROUNDING * (abs(w[last]) + abs(w[last + 1])):
            last += 1
        if last == first:
            return True
        # Wilkinson's shift: the eigenvalue of the leading 2 x 2 block that is closer to w[first].
        half = (w[first + 1] - w[first]) / (2.0 * side[first])
        root = np.sqrt(half * half + 1.0)
        bulge = w[last] - w[first] + side[first] / (half + root if half >= 0.0 else half - root)
        cos, sin, shift = 1.0, 1.0, 0.0
        whole = True
        for i in range(last - 1, first - 1, -1):
            across, along = sin * side[i], cos * side[i]
            root = np.sqrt(across * across + bulge * bulge)
            side[i + 1] = root
            if root == 0.0:  # the matrix falls apart here
                w[i + 1] -= shift
                side[last] = 0.0
                whole = False
                break
            sin, cos = across / root, bulge / root
            rest = w[i + 1] - shift
            mixed = (w[i] - rest) * sin + 2.0 * cos * along
            shift = sin * mixed
            w[i + 1] = rest + shift
            bulge = cos * mixed - along
            for j in range(m):
                upper, lower = Q[i, j], Q[i + 1, j]
                Q[i + 1, j] = sin * upper + cos * lower
                Q[i, j] = cos * upper - sin * lower
        if whole:
            w[first] -= shift
            side[first] = bulge
            side[last] = 0.0
    return False


@kernel
def shrink(U: LowRank, logd: bool, strength: float) -> float:
    """`gram_prox.shrink` by `soft` or, with `logd`, by `log_shrink`.

    Returns the sum of the singular values; nothing is changed if it is infinite.
    """
    G, m = U.G, U.counts[TASKS]
    live = np.empty(m, np.int64)
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
    A, w, Q = np.empty((n, n)), np.empty(n), np.empty((n, n))
    for i in range(n):
        for j in range(n):
            A[i, j] = G[live[i], live[j]] / largest  # squares of squares would leave the range of numbers
    if not eigen(A, w, Q):
        return np.inf
    top = 0.0
    for i in range(n):
        w[i] *= largest
        top = max(top, w[i])
    floor = FLOOR * np.sqrt(top)
    total, changes = 0.0, False
    factors = np.empty(n)
    for i in range(n):
        s = np.sqrt(max(w[i], floor * floor))
        shrunk = log_value(s, strength) if logd else max(s - strength, 0.0)
        factors[i] = shrunk / s
        changes = changes or factors[i] != 1.0
        w[i] = np.sqrt(max(w[i], 0.0)) * factors[i]
        total += w[i]
    if changes:
        T = A  # used up by now
        _weighted(Q, w, n, True, T)
        for i in range(n):
            for j in range(n):
                G[live[i], live[j]] = T[i, j]
        _weighted(Q, factors, n, False, T)
        _times(U.S, m, live, n, T)
        _times(U.C, U.used[ROWS], live, n, T)
        U.counts[LOOSE] = 1
    return total


@kernel
def _weighted(Q: Floats, w: Floats, n: int, square: bool, T: Floats) -> None:
    """T = Q' diag(w) Q, or with the squares of w."""
    for i in range(n):
        for j in range(n):
            T[i, j] = 0.0
    for k in range(n):
        weight = w[k] * w[k] if square else w[k]
        if weight != 0.0:
            for i in range(n):
                a = weight * Q[k, i]
                for j in range(n):
                    T[i, j] += a * Q[k, j]


@kernel
def _times(M: Floats, rows: int, live: Ints, n: int, T: Floats) -> None:
    """M <- M T, for some rows, and the columns that are not 0."""
    row = np.empty(n)
    for r in range(rows):
        for j in range(n):
            row[j] = 0.0
        for i in range(n):
            a = M[r, live[i]]
            if a != 0.0:
                for j in range(n):
                    row[j] += a * T[i, j]
        for j in range(n):
            M[r, live[j]] = row[j]


@kernel
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


@kernel
def reach(U: LowRank, features: int, tasks: int) -> None:
    """`gram_prox.reach`."""
    for k in range(U.counts[TASKS], tasks):
        U.S[k, k] = 1.0
    U.counts[FEATURES] = max(U.counts[FEATURES], features)
    U.counts[TASKS] = max(U.counts[TASKS], tasks)
