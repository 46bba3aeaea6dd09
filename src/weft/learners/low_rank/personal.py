"""Personal parts under group soft thresholding, at the cost of the rows that change them.

Every task k has a vector v_k. A proximal step shortens all of them by tau, and none of them turns (Yang, Zhao and Gao
2017, Eq. 18). So a vector is kept as a row of `V` that does not change, its length, and the length that v_k has now:

    v_k = V[k] now_k / length_k          `lengths[k]` = (now_k, length_k)

A proximal step is now_k <- max(now_k - tau, 0) for every task, one number each. A row x with the step a changes the
numbers of its own features, and |v + a x|^2 = |v|^2 + 2 a v.x + a^2 |x|^2 is the squared length of the sum; where that
cancels, the length is recomputed from V. A vector of length 0 is cleared when the next row comes.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import inlined
from weft.storage.sparse_rows import Row, product_with_row

LENGTHS = 2
NOW, LENGTH = range(LENGTHS)
"""Columns of `lengths`."""
CANCELS = 1e-6
"""A squared length that falls below this part of what it was is recomputed."""
STRETCH = 1e60
"""Numbers that are more than this times too large are scaled back."""


class Personal(NamedTuple):
    """The vectors v_k of all tasks."""

    V: Floats
    lengths: Floats


@inlined
def personal_score(personal: Personal, k: int, x: Row) -> float:
    """v_k.x."""
    V, lengths = personal
    if lengths[k, NOW] > 0.0:
        return float(product_with_row(V, k, x) * (lengths[k, NOW] / lengths[k, LENGTH]))
    return 0.0


@inlined
def lengthen(personal: Personal, k: int, x: Row, a: float, n2: float) -> None:
    """v_k <- v_k + a x, with n2 = |x|^2."""
    (V, lengths), (indices, values, begin, end) = personal, x
    if a == 0.0 or n2 == 0.0:
        return
    if lengths[k, NOW] == 0.0:
        if lengths[k, LENGTH] > 0.0:
            for f in range(V.shape[1]):
                V[k, f] = 0.0
        for e in range(begin, end):
            V[k, indices[e]] = a * values[e]
        lengths[k, NOW] = lengths[k, LENGTH] = abs(a) * np.sqrt(n2)
        return
    now = lengths[k, NOW]
    scale = now / lengths[k, LENGTH]
    square = now * now + 2.0 * a * (product_with_row(V, k, x) * scale) + a * a * n2
    for e in range(begin, end):
        V[k, indices[e]] += a / scale * values[e]
    if square > CANCELS * now * now:
        lengths[k, NOW] = np.sqrt(square)
        lengths[k, LENGTH] = np.sqrt(square) / scale
    else:
        total = 0.0
        for f in range(V.shape[1]):
            total += V[k, f] * V[k, f]
        lengths[k, LENGTH] = np.sqrt(total)
        lengths[k, NOW] = scale * np.sqrt(total)
    if lengths[k, LENGTH] > STRETCH * lengths[k, NOW]:
        scale = lengths[k, NOW] / lengths[k, LENGTH]
        for f in range(V.shape[1]):
            V[k, f] *= scale
        lengths[k, LENGTH] = lengths[k, NOW]


@inlined
def shorten(personal: Personal, tau: float) -> float:
    """Every vector is shortened by tau, or is 0; returns the sum of the lengths (Eq. 18)."""
    lengths, total = personal.lengths, 0.0
    for k in range(len(lengths)):
        if lengths[k, NOW] > 0.0:
            lengths[k, NOW] = max(lengths[k, NOW] - tau, 0.0)
            total += lengths[k, NOW]
    return total


def vectors(personal: Personal) -> Floats:
    """The vectors v_k, as rows.

    >>> personal = Personal(np.zeros((2, 3)), np.zeros((2, 2)))
    >>> lengthen(personal, 0, Row(np.array([0, 2]), np.array([3.0, 4.0]), 0, 2), 1.0, 25.0)
    >>> shorten(personal, 2.5), vectors(personal).tolist()
    (2.5, [[1.5, 0.0, 2.0], [0.0, 0.0, 0.0]])
    """
    now, length = personal.lengths[:, NOW], personal.lengths[:, LENGTH]
    found: Floats = personal.V * np.where(now > 0.0, now / np.where(length > 0.0, length, 1.0), 0.0)[:, None]
    return found
