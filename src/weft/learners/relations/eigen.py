"""Eigenvalues and eigenvectors of small symmetric matrices, to the same bits wherever they are computed.

Jacobi's method (Golub and Van Loan 2013, Sec. 8.5): rotations that make one pair of entries zero at a time, row by row,
until nothing off the diagonal is left. For some tens of rows it takes as long as LAPACK; its bits depend on no library,
no thread and no padding.
"""

import math

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import compiled, helper

MOST_SWEEPS = 60
NEGLIGIBLE = 1e-18
"""An entry off the diagonal counts as 0 below this share of the geometric mean of its two diagonal entries."""
TINY = 1e-300


@compiled
def jacobi(A: Floats, n: int, V: Floats) -> None:
    """A[:n, :n] = V D V': D is left on the diagonal of A, and the columns of V are the eigenvectors."""
    for i in range(n):
        for j in range(n):
            V[i, j] = 1.0 if i == j else 0.0
    largest = 0.0
    for i in range(n):
        for j in range(n):
            largest = max(largest, abs(A[i, j]))
    for _ in range(MOST_SWEEPS):
        rotated = False
        for p in range(n - 1):
            for q in range(p + 1, n):
                size = abs(A[p, q])
                if size <= TINY or size <= NEGLIGIBLE * max(math.sqrt(abs(A[p, p]) * abs(A[q, q])), largest):
                    continue
                rotated = True
                tau = (A[q, q] - A[p, p]) / (2.0 * A[p, q])
                t = 1.0 / (abs(tau) + math.sqrt(1.0 + tau * tau))
                t = t if tau >= 0.0 else -t
                c = 1.0 / math.sqrt(1.0 + t * t)
                _rotate(A, V, n, p, q, c, t * c, t)
        if not rotated:
            return


@helper
def _rotate(A: Floats, V: Floats, n: int, p: int, q: int, c: float, s: float, t: float) -> None:
    """One rotation in the plane of p and q, which makes A[p, q] zero."""
    change = t * A[p, q]
    A[p, p] -= change
    A[q, q] += change
    A[p, q], A[q, p] = 0.0, 0.0
    for k in range(n):
        if k != p and k != q:
            x, y = A[p, k], A[q, k]
            A[p, k] = c * x - s * y
            A[q, k] = s * x + c * y
            A[k, p], A[k, q] = A[p, k], A[q, k]
        x, y = V[k, p], V[k, q]
        V[k, p] = c * x - s * y
        V[k, q] = s * x + c * y


@compiled
def exponential(L: Floats, n: int, out: Floats) -> float:
    """out = exp(L) n / trace exp(L); returns c with out = exp(L - c I). The largest eigenvalue is subtracted first."""
    A, V = np.empty((n, n)), np.empty((n, n))
    for i in range(n):
        for j in range(n):
            A[i, j] = 0.5 * (L[i, j] + L[j, i])
    jacobi(A, n, V)
    top, total = A[0, 0], 0.0
    for i in range(1, n):
        top = max(top, A[i, i])
    for i in range(n):
        total += math.exp(A[i, i] - top)
    more = math.log(total / n)
    for i in range(n):
        for j in range(i + 1):
            entry = 0.0
            for k in range(n):
                entry += V[i, k] * math.exp((A[k, k] - top) - more) * V[j, k]
            out[i, j], out[j, i] = entry, entry
    return float(top + more)
