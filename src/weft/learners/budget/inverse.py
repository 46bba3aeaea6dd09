"""The inverse Q of a Gram matrix H, kept up to date while members come and go (O(n^2) a change).

Budget Projectrons (Cavallanti and Cesa-Bianchi 2012, Sec. 4.1) project a new member t on the span of the n that are
there: with k its kernel column, a = Q k are the coefficients and delta^2 = K(t,t) - k'a is the squared distance. Adding
t extends the inverse (block inversion), and on the extended inverse E

    D_j^2 = 1 / E_jj    is the squared distance of member j to the span of all others, t included,
    g = -E_.r / E_rr    are the coefficients of r projected on the others, and
    E_lm - E_lr E_rm / E_rr    is the inverse without r.

Matrices may be larger than n x n: slots 0..n-1 hold members, and only the lower triangle (column <= row) is read or
written.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import compiled, helper
from weft.learners.budget.symmetric import (
    LEAST_PIVOT,
    add_rows,
    add_symmetric_times,
    factor,
    largest,
    move_last,
    symmetric_times,
    symmetric_times_two,
    take_column,
)

FIRST_RIDGE, RIDGE_GROWTH, RIDGES = 1e-9, 100.0, 10
"""A singular matrix gets a ridge: this part of its mean diagonal, and more until it works.

With a ridge of 1e-14 entries of 1e14 cancel in Q k, and two digits are left. With 1e-9 there are six or more, and as
many again after a refinement, which is done with the true H.
"""


class Gram(NamedTuple):
    """The Gram matrix H of the members and its inverse Q, lower triangles."""

    H: Floats
    Q: Floats


class Vectors(NamedTuple):
    """Working space, a number per member each."""

    a: Floats  # the coefficients H^-1 k
    rest: Floats
    column: Floats
    product: Floats


@helper
def refine(Q: Floats, n: int, k: Floats, a: Floats, rest: Floats) -> float:
    """a += Q (k - H a) for rest = H a; largest |k - H a| before, as a part of the largest |k|."""
    for i in range(np.uint64(n)):
        rest[i] = k[i] - rest[i]
    add_symmetric_times(Q, n, rest, a)
    off, scale = largest(rest, n), largest(k, n)
    return off / scale if 0.0 < scale < np.inf else off


@compiled
def coefficients(gram: Gram, n: int, k: Floats, v: Vectors) -> float:
    """a = H^-1 k as Q k, refined once: a += Q (k - H a).

    Returns how far Q k was off: largest |k - H a| before the refinement, as a part of the largest |k|.
    """
    symmetric_times(gram.Q, n, k, v.a)
    symmetric_times(gram.H, n, v.a, v.rest)
    return refine(gram.Q, n, k, v.a, v.rest)


@helper
def error_of_column(n: int, j: int, product: Floats) -> float:
    """Largest |product - e_j|, for product = H Q e_j."""
    product[j] -= 1.0
    return largest(product, n)


@compiled
def inverse_error(gram: Gram, n: int, j: int, v: Vectors) -> float:
    """Largest |H Q e_j - e_j|: whether column j of Q still is one of the inverse."""
    take_column(gram.Q, n, j, v.column)
    symmetric_times(gram.H, n, v.column, v.product)
    return error_of_column(n, j, v.product)


@compiled
def checked_coefficients(gram: Gram, n: int, j: int, k: Floats, v: Vectors) -> tuple[float, float]:
    """`coefficients` and `inverse_error` of column j, bit for bit, with one pass over H for both."""
    symmetric_times(gram.Q, n, k, v.a)
    take_column(gram.Q, n, j, v.column)
    symmetric_times_two(gram.H, n, v.a, v.column, v.rest, v.product)
    return refine(gram.Q, n, k, v.a, v.rest), error_of_column(n, j, v.product)


@compiled
def append(Q: Floats, n: int, a: Floats, delta2: float) -> None:
    """A new member in slot n: Q <- [[Q + aa'/delta2, -a/delta2], [-a'/delta2, 1/delta2]]. It needs delta2 > 0."""
    for i in range(np.uint64(n)):
        x = a[i] / delta2
        for c in range(i + np.uint64(1)):
            Q[i, c] += x * a[c]
        Q[np.uint64(n), i] = -x
    Q[n, n] = 1.0 / delta2


@compiled
def remove(Q: Floats, n: int, r: int, column: Floats) -> bool:
    """Q <- Q_-r,-r - Q_-r,r Q_r,-r / Q_rr, and the last member moves into slot r. `column` is scratch.

    False, with Q as it was, if Q_rr is not positive: Q is not the inverse of a Gram matrix any more, and has to be
    rebuilt.
    """
    pivot = Q[r, r]
    if not pivot > 0.0:
        return False
    take_column(Q, n, r, column)
    for i in range(np.uint64(n)):
        x = column[i] / pivot
        for c in range(i + np.uint64(1)):
            Q[i, c] -= x * column[c]
    move_last(Q, n, r)
    return True


@compiled
def extended_diagonal(Q: Floats, n: int, a: Floats, delta2: float, out: Floats) -> None:
    """E_jj = Q_jj + a_j^2/delta2 of the inverse extended by a new member: D_j = E_jj^-1/2 for the old ones."""
    for j in range(n):
        out[j] = Q[j, j] + a[j] * a[j] / delta2


@compiled
def projection(Q: Floats, n: int, r: int, a: Floats, delta2: float, g: Floats) -> bool:
    """Coefficients of r projected on the other old members and the new one, which has slot r of `g`.

    g_l = -(delta2 Q_lr + a_r a_l) / s and g_r = a_r / s with s = delta2 Q_rr + a_r^2: -E_.r / E_rr, where delta2 does
    not divide. False if there are none: see `replace`.
    """
    pivot = Q[r, r]
    s = delta2 * pivot + a[r] * a[r]
    if not (pivot > 0.0 and s > 0.0):
        return False
    old, new = delta2 / s, a[r] / s
    take_column(Q, n, r, g)
    for i in range(n):
        g[i] = -(old * g[i] + new * a[i])
    g[r] = new
    return True


@compiled
def replace(Q: Floats, n: int, r: int, a: Floats, delta2: float, column: Floats) -> bool:
    """The new member takes the slot of r: `append` followed by `remove` in one pass. `column` is scratch.

    Written out, the terms a_l a_m a_r^2/delta2^2 cancel. With s = delta2 Q_rr + a_r^2, x = (Q_rr a - a_r Q_.r)/s and
    the projection g of r, Q_lm += x_l a_m + g_l Q_mr for the others, and the new member has Q_lt = -x_l, Q_tt = Q_rr/s.
    Nothing is divided by delta2, so a member may be replaced by its near double.

    False, with Q as it was, if Q_rr or s is not positive: Q has to be rebuilt.
    """
    pivot = Q[r, r]
    s = delta2 * pivot + a[r] * a[r]
    if not (pivot > 0.0 and s > 0.0):
        return False
    diagonal, old, new = pivot / s, delta2 / s, a[r] / s
    take_column(Q, n, r, column)
    slot, one = np.uint64(r), np.uint64(1)
    if n % 2 == 1:
        Q[0, 0] += (diagonal * a[0] - new * column[0]) * a[0] - (old * column[0] + new * a[0]) * column[0]
    for i in range(np.uint64(n % 2), np.uint64(n), np.uint64(2)):
        j = i + one
        x, y = diagonal * a[i] - new * column[i], diagonal * a[j] - new * column[j]
        f, g = -(old * column[i] + new * a[i]), -(old * column[j] + new * a[j])
        for c in range(j):
            u, v = a[c], column[c]
            Q[i, c] += x * u + f * v
            Q[j, c] += y * u + g * v
        Q[j, j] += y * a[j] + g * column[j]
        if i > slot:
            Q[i, slot] = -x
        if j > slot:
            Q[j, slot] = -y
    for c in range(slot):
        Q[slot, c] = new * column[c] - diagonal * a[c]
    Q[slot, slot] = diagonal
    return True


@helper
def is_sound(gram: Gram, n: int) -> bool:
    """Are all members apart from the span of the others? 1 / Q_jj is the squared distance, H_jj the squared length."""
    H, Q = gram
    for j in range(n):
        if not (Q[j, j] > 0.0 and Q[j, j] * H[j, j] * LEAST_PIVOT < 1.0):
            return False
    return True


@helper
def invert(U: Floats, n: int, Q: Floats) -> None:
    """Q = (U'U)^-1."""
    size, zero, one, four = np.uint64(n), np.uint64(0), np.uint64(1), np.uint64(4)
    # Y = U'^-1 is lower triangular: row i of U'Y = I. Rows above come in fours, which end in a staircase.
    for i in range(size):
        scale = -1.0 / U[i, i]
        for c in range(i):
            Q[i, c] = 0.0
        for k in range(zero, i, four):
            last = k + four if k + four < i else i
            add_rows(Q, i, scale, U, k, last, zero, k + one)
            for l in range(k + one, last):
                add_rows(Q, i, scale, U, l, l + one, k + one, l + one)
        Q[i, i] = -scale
    # Q = Y'Y: row i needs no row of Y above it.
    for i in range(size):
        x = Q[i, i]
        for c in range(i + one):
            Q[i, c] *= x
        add_rows(Q, i, 1.0, Q, i + one, size, zero, i + one)


@compiled
def rebuild(gram: Gram, n: int, U: Floats) -> float:
    """Q = H^-1 by Cholesky's method, O(n^3), with `U` as scratch. Returns the ridge that H needed: 0 normally.

    Members that depend on each other get a ridge on the diagonal; H Q is not the identity then, and `inverse_error`
    large, but `coefficients` are as good as ever. Each may be apart from those before it, and yet not from all others.
    Should no ridge help (H has entries that are not finite), the answer is inf.
    """
    H, Q = gram
    mean = 0.0
    for i in range(n):
        mean += H[i, i]
    mean = mean / n if mean > 0.0 else 1.0
    ridge = 0.0
    for _ in range(RIDGES):
        if factor(H, n, ridge, U):
            invert(U, n, Q)
            if is_sound(gram, n):
                return ridge
        ridge = FIRST_RIDGE * mean if ridge == 0.0 else RIDGE_GROWTH * ridge
    return np.inf
