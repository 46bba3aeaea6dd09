"""The steps on U by LAPACK, called from Python: rows are added, and singular values shrink (see `pieces`).

Where d m^2 is small, or many rows come at once, U may as well stay folded: `settle` takes the whole step on B. BLAS
adds up contiguous numbers in another order than those with gaps: it is given contiguous copies.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from weft.compiled.arrays import Floats, Ints
from weft.learners.low_rank.pieces import (
    FEATURES,
    FLOOR,
    LOOSE,
    NOTHING,
    NUMBERS,
    ROWS,
    TASKS,
    LowRank,
    dots,
    matrix,
    reach,
)

Rule = Callable[[Floats], Floats]
"""What becomes of singular values; 0 <= rule(s) <= s."""


class Spectrum(NamedTuple):
    """Singular values after a proximal step, in descending order, and how many are resolved and not 0."""

    values: Floats
    rank: int


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


def fold(U: LowRank) -> None:
    """Put the pieces together: B <- U, S <- I, X and C empty, G <- B'B."""
    if U.counts[LOOSE]:
        d, m = U.counts[FEATURES], U.counts[TASKS]
        U.B[:] = matrix(U)
        U.S[:m, :m] = np.eye(m)
        B = U.B[:d, :m].copy()
        U.G[:m, :m] = B.T @ B
        U.used[:] = 0
        U.counts[LOOSE] = 0


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
