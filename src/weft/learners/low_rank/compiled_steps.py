"""The steps on U for few tasks, without leaving compiled code.

These are the steps of `lapack_steps` on the pieces of a `LowRank` with up to WIDE columns, for kernels that take many
of them in a row: calling LAPACK from Python would take longer than what it computes.
"""

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import helper_no_alloc, inlined
from weft.learners.low_rank.eigen import Desk, eigen
from weft.learners.low_rank.pieces import (
    FEATURES,
    FLOOR,
    LOOSE,
    NOTHING,
    NUMBERS,
    ROWS,
    TASKS,
    LowRank,
    kept_row,
)
from weft.learners.low_rank.vector_rows import WIDE, add_listed, sum_listed, sum_rows
from weft.maths.proximal import log_value
from weft.storage.batch import squared_norm
from weft.storage.sparse_rows import Row, clear, product_in_order, spread_out


@inlined
def shrink(U: LowRank, logd: bool, strength: float, desk: Desk) -> float:
    """Every singular value of U shrinks by `strength`, or with `logd` as `log_shrink` says.

    Returns the sum of the singular values; nothing is changed if it is infinite.
    """
    G, m = U.G, U.counts[TASKS]
    A, w, factors, live = desk.A, desk.w, desk.factors, desk.live
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
    if not eigen(n, desk):
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
        _multiply(U, n, desk)
    return total


@helper_no_alloc
def _multiply(U: LowRank, n: int, desk: Desk) -> None:
    """G <- Q' diag(w^2) Q, and S and C times T = Q' diag(factors) Q."""
    Q, T, w, factors, live, a, row = desk.Q, desk.T, desk.w, desk.factors, desk.live, desk.x, desk.y
    for i in range(n):
        for k in range(n):
            a[k] = w[k] * w[k] * Q[k, i]
        sum_rows(a, Q, 0, n, WIDE, row)
        for j in range(n):
            U.G[live[i], live[j]] = row[j]
    for i in range(n):
        for k in range(n):
            a[k] = factors[k] * Q[k, i]
        sum_rows(a, Q, 0, n, WIDE, T[i])
    _times(U.S, U.counts[TASKS], live, n, T, a, row)
    _times(U.C, U.used[ROWS], live, n, T, a, row)
    U.counts[LOOSE] = 1


@helper_no_alloc
def _times(M: Floats, rows: int, live: Ints, n: int, T: Floats, a: Floats, row: Floats) -> None:
    """M <- M T, for some rows, and the columns that are not 0."""
    if live[n - 1] == n - 1:  # all of them
        for r in range(rows):
            sum_rows(M[r], T, 0, n, WIDE, row)
            for j in range(n):
                M[r, j] = row[j]
        return
    for r in range(rows):
        for j in range(n):
            a[j] = M[r, live[j]]
        sum_rows(a, T, 0, n, WIDE, row)
        for j in range(n):
            M[r, live[j]] = row[j]


@inlined
def few_dots(U: LowRank, x: Row, space: Floats, desk: Desk, c: Floats) -> None:
    """c = U'x as `row_dots` has it, to the bit, with zeros after the last task; `space` is 0 before and after."""
    B, S, m = U.B, U.S, U.counts[TASKS]
    if U.counts[LOOSE] == 0:
        sum_listed(x.values, x.indices, x.begin, x.end, B, m, c)
        return
    sum_listed(x.values, x.indices, x.begin, x.end, B, m, desk.x)
    sum_rows(desk.x, S, 0, m, m, c)
    few_rows_dots(U, 0, x, space, desk, c)


@helper_no_alloc
def few_rows_dots(U: LowRank, first: int, x: Row, space: Floats, desk: Desk, c: Floats) -> None:
    """Add what the rows of X from `first` on contribute to c = U'x, as `rows_dots` does."""
    products, rows, found = desk.products, desk.rows, 0
    spread_out(space, x)
    for r in range(first, U.used[ROWS]):
        product = product_in_order(space, kept_row(U, r))
        products[found], rows[found] = product, r
        found += 1 if product != 0.0 else 0
    clear(space, x)
    add_listed(products, rows, 0, found, U.C, U.counts[TASKS], c)


@inlined
def add_scaled(U: LowRank, k: int, x: Row, a: float, c: Floats) -> None:
    """Column k of U becomes u_k + a x, where X has room for x, and c = U'x."""
    C, G, used, counts = U.C, U.G, U.used, U.counts
    n2 = squared_norm(x.values, x.begin, x.end)
    if n2 == 0.0 or a == 0.0:
        return
    for j in range(counts[TASKS]):
        G[j, k] += a * c[j]
        G[k, j] += a * c[j]
        C[used[ROWS], j] = 0.0
    G[k, k] += a * a * n2
    C[used[ROWS], k] = a
    U.begins[used[ROWS]] = used[NUMBERS]
    for e in range(x.begin, x.end):
        U.indices[used[NUMBERS]] = x.indices[e]
        U.values[used[NUMBERS]] = x.values[e]
        used[NUMBERS] += 1
    used[ROWS] += 1
    counts[LOOSE] = 1


@inlined
def fold(U: LowRank, desk: Desk) -> None:
    """Put the pieces together: B <- U, S <- I, X and C empty, G <- B'B."""
    B, S, C, G, used, counts, row = U.B, U.S, U.C, U.G, U.used, U.counts, desk.x
    d, m = counts[FEATURES], counts[TASKS]
    for f in range(d):
        sum_rows(B[f], S, 0, m, m, row)
        for j in range(m):
            B[f, j] = row[j]
    for r in range(used[ROWS]):
        x = kept_row(U, r)
        for e in range(x.begin, x.end):
            for j in range(m):
                B[x.indices[e], j] += x.values[e] * C[r, j]
    for i in range(m):
        sum_rows(B[:, i], B, 0, d, m, row)
        for j in range(m):
            G[i, j], S[i, j] = row[j], 1.0 if i == j else 0.0
    used[ROWS], used[NUMBERS], counts[LOOSE] = 0, 0, 0
