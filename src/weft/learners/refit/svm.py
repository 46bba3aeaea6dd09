"""Weighted support vector machines without intercept, by coordinate descent on the dual with exact steps on its faces.

    min_w  sum_i c_i (1 - y_i <x_i, w>)_+ + reg/2 |w|^2
    max_a  sum_i a_i - |sum_i a_i y_i x_i|^2 / (2 reg),   0 <= a_i <= c_i,    w = sum_i a_i y_i x_i / reg

Coordinate descent (Hsieh, Chang, Lin, Keerthi and Sundararajan 2008, Alg. 1) goes over the rows in their order, those
alone that can move: a_i < c_i with a margin below 1, or a_i > 0 with one above. It soon finds which a_i lie at a bound,
and is slow with the others; their face of the box is small, and a Newton step on it is exact. Both raise the dual. The
gap between the two objectives proves what was found: reg/2 |w - w*|^2 is at most the gap.

Any a may be begun with, which is what a library's solver does not offer: one that was fitted to fewer rows, or to other
weights c, is nearly right.

>>> from scipy import sparse
>>> X = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, -1.0]]))
>>> found = svm(X, np.array([1.0, 1.0, -1.0]), np.full(3, 1.0), 0.5, np.zeros(3))
>>> found.w.round(12).tolist(), found.a.round(12).tolist()
([1.0, 0.5], [0.5, 0.125, 0.0])
"""

from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import compiled, inlined_only
from weft.storage.sparse_rows import Row, add, clear, product_in_order, spread_out

GAP = 1e-12
"""Primal minus dual at which a fit ends, relative to the loss of w = 0."""
MOST_TURNS = 1000
PATIENCE = 10
"""Turns in which the dual has to rise: rows of very different sizes leave no digits to come closer."""
PASSES = 10
"""Passes over the rows that can move, between two checks of all rows."""
MOST_FREE = 256
"""Faces of more dimensions are left to coordinate descent: an eigenvalue problem of that size takes milliseconds."""
FACES = 8
"""Bounds that are met on the way before coordinate descent goes on: each is an eigenvalue problem."""
SAME = 1e-12
"""Eigenvalues below this part of the largest are zeros."""


class Problem(NamedTuple):
    """Rows as a CSR matrix, their labels, |x_i|^2 and bounds c_i, and the regulariser."""

    indptr: Ints
    indices: Ints
    values: Floats
    y: Floats
    square: Floats
    c: Floats
    reg: float


class Fit(NamedTuple):
    """The best w that was met, 0 among them, its margins y_i <x_i, w>, the dual variables, and checks of all rows."""

    w: Floats
    margins: Floats
    a: Floats
    turns: int


def svm(X: Any, y: Floats, c: Floats, reg: float, a: Floats) -> Fit:
    """The minimum for the rows of X, a CSR array, begun from dual variables a, which are cut to their boxes."""
    square = squares(X.indptr, X.data)
    problem = Problem(X.indptr, X.indices, X.data, y, square, c, reg)
    idle = square == 0.0  # a row of zeros has the loss 1, whatever w
    a = np.where(idle, c, np.clip(a, 0.0, c))
    columns, total, turns, before = X.T, float(c.sum()), 0, -np.inf
    best, least = (np.zeros(X.shape[1]), np.zeros(len(y))), total
    while True:
        turns += 1
        w = columns @ (a * y) / reg
        margins = y * (X @ w)
        square_w, total_a = reg * float(w @ w), float(a.sum())
        primal = float(c @ hinge(margins)) + square_w / 2.0
        if primal < least:
            best, least = (w, margins), primal
        dual = total_a - square_w / 2.0
        stuck = turns % PATIENCE == 0 and dual - before <= 0.1 * GAP * total
        if least - dual <= GAP * total or stuck or turns == MOST_TURNS:
            return Fit(*best, a, turns)
        if turns % PATIENCE == 0:
            before = dual
        w = w.copy()
        moving = np.flatnonzero(~idle & (((a < c) & (margins < 1.0)) | ((a > 0.0) & (margins > 1.0))))
        descend(problem, moving, a, w, PASSES)
        free = np.flatnonzero(~idle & (a > 0.0) & (a < c))
        if 0 < len(free) <= MOST_FREE:
            gram, slope = face(problem, free, w)
            a[free] = _to_the_top(gram, slope, a[free], c[free])


def hinge(margins: Floats) -> Floats:
    """The losses of rows."""
    return np.maximum(0.0, 1.0 - margins)


def _to_the_top(gram: Floats, slope: Floats, a: Floats, c: Floats) -> Floats:
    """Dual variables between their bounds go where their slopes vanish, or to the first bounds on the way there.

    Where more of them than dimensions leave some direction in which w stays and the dual rises, they follow that one.
    """
    inside, length = np.arange(len(a)), np.sqrt(np.diag(gram))
    for _ in range(FACES):
        size = length[inside]  # rows of length 1: how different their sizes are does not matter
        values, vectors = np.linalg.eigh(gram[inside][:, inside] / np.outer(size, size))
        turned = (slope[inside] / size) @ vectors
        curved = values > SAME * max(float(values[-1]), 0.0)
        step = vectors[:, curved] @ (turned[curved] / values[curved]) / size
        flat = vectors[:, ~curved] @ turned[~curved]
        endless = bool(np.abs(flat * size).max(initial=0.0) > 1e-9)
        if endless:
            step = flat / size
        room = np.where(step > 0.0, c[inside] - a[inside], a[inside]) / np.maximum(np.abs(step), 1e-300)
        first = float(room.min())
        far = first if endless else min(1.0, first)
        if not np.isfinite(far):
            break
        a[inside] = np.clip(a[inside] + far * step, 0.0, c[inside])
        if far < first:
            break
        met = room <= first
        a[inside[met]] = np.where(step[met] > 0.0, c[inside[met]], 0.0)
        slope = slope - gram[:, inside] @ (far * step)
        inside = inside[~met]
        if not len(inside):
            break
    return a


@compiled
def face(problem: Problem, free: Ints, w: Floats) -> tuple[Floats, Floats]:
    """y_i y_j <x_i, x_j> / reg between some rows, and the slopes 1 - y_i <x_i, w> of the dual."""
    n, wide = free.shape[0], np.zeros(w.shape[0])
    gram, slope = np.zeros((n, n)), np.ones(n)
    for s in range(n):
        _fill_row(problem, free, s, wide, w, gram, slope)
    return gram, slope


@inlined_only
def _fill_row(problem: Problem, free: Ints, s: int, wide: Floats, w: Floats, gram: Floats, slope: Floats) -> None:
    """Row s of the face's Gram matrix up to the diagonal, and its mirror image; `wide` is 0 before and after."""
    indptr, indices, values, y, _, _, reg = problem
    i = free[s]
    x = Row(indices, values, indptr[i], indptr[i + 1])
    spread_out(wide, x)
    for e in range(x.begin, x.end):
        slope[s] -= y[i] * values[e] * w[indices[e]]
    for t in range(s + 1):
        j = free[t]
        product = product_in_order(wide, Row(indices, values, indptr[j], indptr[j + 1]))
        gram[s, t] = gram[t, s] = y[i] * y[j] * product / reg
    clear(wide, x)


@compiled
def squares(indptr: Ints, values: Floats) -> Floats:
    """|x_i|^2 of all rows."""
    found = np.zeros(indptr.shape[0] - 1)
    for i in range(found.shape[0]):
        for e in range(indptr[i], indptr[i + 1]):
            found[i] += values[e] * values[e]
    return found


@compiled
def descend(problem: Problem, moving: Ints, a: Floats, w: Floats, passes: int) -> None:
    """Maximise the dual in one a_i after the other (Eq. 9 and 10), some times over the rows `moving`."""
    for _ in range(passes):
        farthest = 0.0
        for at in range(moving.shape[0]):
            farthest = max(farthest, _step(problem, moving[at], a, w))
        if farthest < 1e-13:
            return


@inlined_only
def _step(problem: Problem, i: int, a: Floats, w: Floats) -> float:
    """Maximise the dual in a_i; returns the size of its slope, or 0 if a_i stays."""
    indptr, indices, values, y, square, c, reg = problem
    x = Row(indices, values, indptr[i], indptr[i + 1])
    slope = 1.0 - y[i] * product_in_order(w, x)
    changed = min(max(a[i] + slope * reg / square[i], 0.0), c[i])
    if changed == a[i]:
        return 0.0
    add(w, x, (changed - a[i]) * y[i] / reg)
    a[i] = changed
    return float(abs(slope))
