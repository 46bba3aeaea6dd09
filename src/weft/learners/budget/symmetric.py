"""Symmetric matrices of which the lower triangle is kept: products with vectors, rows of members, Cholesky's method.

Matrices may be larger than n x n: only rows and columns 0..n-1 are in use, and only entries with column <= row are read
or written. Products are bound by memory, so loops go along rows, several rows at a time, and in a form that compilers
turn into vector instructions without changing the order of a sum.
"""

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import compiled, inlined, inlined_only

Index = int | np.uint64
LEAST_PIVOT = 1e-12
"""A matrix with a pivot below this part of its diagonal entry counts as singular: its inverse would be rounding."""


@inlined_only
def add_two_rows(M: Floats, i: Index, v: Floats, out: Floats, lanes: Floats) -> None:
    """What the rows i and i+1 of the lower triangle add to M v: to their own entries, and to those before them.

    A dot product in one variable is a chain of additions that must not be reordered. Sixteen partial sums for each row
    are independent of each other: the loop over them becomes vector instructions, and they stay in registers.
    """
    one, two, three, width = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(16)
    j = i + one
    x, y = v[i], v[j]
    s, t = 0.0, 0.0
    whole = i // width * width
    if whole > np.uint64(0):
        for e in range(width + width):
            lanes[e] = 0.0
        for begin in range(np.uint64(0), whole, width):
            for e in range(width):
                c = begin + e
                z, p, q = v[c], M[i, c], M[j, c]
                lanes[e] += p * z
                lanes[e + width] += q * z
                out[c] += p * x + q * y
        for e in range(np.uint64(0), width, np.uint64(4)):
            f = e + width
            s += (lanes[e] + lanes[e + one]) + (lanes[e + two] + lanes[e + three])
            t += (lanes[f] + lanes[f + one]) + (lanes[f + two] + lanes[f + three])
    for c in range(whole, i):
        z, p, q = v[c], M[i, c], M[j, c]
        s += p * z
        t += q * z
        out[c] += p * x + q * y
    q = M[j, i]
    out[i] += s + (M[i, i] * x + q * y)
    out[j] += t + (q * x + M[j, j] * y)


@inlined_only
def add_first_row(M: Floats, n: int, v: Floats, out: Floats) -> None:
    """The same for row 0 if n is odd, so that all others come in twos."""
    if n % 2 == 1:
        out[0] += M[0, 0] * v[0]


@inlined_only
def clear(v: Floats, n: int) -> None:
    """v = 0."""
    for i in range(np.uint64(n)):
        v[i] = 0.0


@compiled
def add_symmetric_times(M: Floats, n: int, v: Floats, out: Floats) -> None:
    """out += M v, in one pass over the lower triangle."""
    lanes = np.empty(32)
    add_first_row(M, n, v, out)
    for i in range(np.uint64(n % 2), np.uint64(n), np.uint64(2)):
        add_two_rows(M, i, v, out, lanes)


@compiled
def symmetric_times(M: Floats, n: int, v: Floats, out: Floats) -> None:
    """out = M v."""
    clear(out, n)
    add_symmetric_times(M, n, v, out)


@compiled
def symmetric_times_two(M: Floats, n: int, u: Floats, v: Floats, Mu: Floats, Mv: Floats) -> None:
    """M u and M v, with the bits of `symmetric_times`: M comes from memory once."""
    lanes = np.empty(32)
    clear(Mu, n)
    clear(Mv, n)
    add_first_row(M, n, u, Mu)
    add_first_row(M, n, v, Mv)
    for i in range(np.uint64(n % 2), np.uint64(n), np.uint64(2)):
        add_two_rows(M, i, u, Mu, lanes)
        add_two_rows(M, i, v, Mv, lanes)


@compiled
def largest(v: Floats, n: int) -> float:
    """max |v_i|; inf if there is a nan."""
    top = 0.0
    for i in range(n):
        size = abs(v[i])
        if not size <= top:
            if size != size:
                return np.inf
            top = size
    return top


@inlined
def take_column(M: Floats, n: int, r: int, column: Floats) -> None:
    """column = M e_r."""
    for i in range(r):
        column[i] = M[r, i]
    for i in range(r, n):
        column[i] = M[i, r]


@compiled
def set_member(M: Floats, n: int, r: int, k: Floats, diagonal: float) -> None:
    """Row and column r <= n of M become k, with `diagonal` at their crossing: a member's entries in a Gram matrix."""
    for i in range(r):
        M[r, i] = k[i]
    M[r, r] = diagonal
    for i in range(r + 1, n):
        M[i, r] = k[i]


@compiled
def move_last(M: Floats, n: int, r: int) -> None:
    """The member in slot n-1 goes to slot r, whose entries are lost."""
    last = n - 1
    for i in range(r):
        M[r, i] = M[last, i]
    for i in range(r + 1, last):
        M[i, r] = M[last, i]
    M[r, r] = M[last, last]


@inlined_only
def add_rows(M: Floats, i: Index, scale: float, C: Floats, first: Index, last: Index, begin: Index, end: Index) -> None:
    """M_i += scale * the sum of C_ki M_k over k = first..last-1, in the columns begin..end-1."""
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    whole = first + (last - first) // four * four
    for k in range(first, whole, four):
        l, m, o = k + one, k + two, k + three
        x, y, z, w = scale * C[k, i], scale * C[l, i], scale * C[m, i], scale * C[o, i]
        for c in range(begin, end):
            M[i, c] += (x * M[k, c] + y * M[l, c]) + (z * M[m, c] + w * M[o, c])
    for k in range(whole, last):
        x = scale * C[k, i]
        for c in range(begin, end):
            M[i, c] += x * M[k, c]


@compiled
def factor(H: Floats, n: int, ridge: float, U: Floats) -> bool:
    """H + ridge I = U'U with U in the upper triangle; False if that is singular or not positive.

    Row j of U is what row j of H still has after the rows above (Cholesky's method by rows: no dot products).
    """
    size, zero, one = np.uint64(n), np.uint64(0), np.uint64(1)
    for j in range(size):
        for c in range(j, size):
            U[j, c] = H[c, j]
        U[j, j] += ridge
        add_rows(U, j, -1.0, U, zero, j, j, size)
        pivot = U[j, j]
        if not pivot > LEAST_PIVOT * H[j, j]:
            return False
        root = np.sqrt(pivot)
        U[j, j] = root
        for c in range(j + one, size):
            U[j, c] /= root
    return True
