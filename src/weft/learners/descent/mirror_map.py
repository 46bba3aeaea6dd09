r"""Mirror maps over a table of dual vectors, one column per task, and what changes when a few entries do.

Multitask mirror descent is ordinary mirror descent on y = A^{1/2} x (Cesa-Bianchi, Laforgue, Paudice and Pontil 2022,
Remark 1). Every task k has a dual vector theta_k, here column k of `theta` (features x tasks), and

    entropy   y_k = softmax(f theta_k)                                                     Eq. 18
    p-norm    y_k = f_q(theta_k),  f_q(v)_j = sign(v_j) (|v_j| / |v|_q)^{q-1} |v|_q        Sec. 3.2

Both need one number that runs over all features: Z_k = sum_j exp(f theta_kj), or U_k = sum_j |theta_kj|^q. They are
kept up to date entry by entry, so that an event costs O(tasks x its non-zeros) and not O(tasks x features), and made
anew when much of them has been subtracted, or when the entries have been touched many times over.

`sums[k]` = (Z_k or U_k relative to an offset, the offset, the largest value since it was made): the offset is the
exponent, or the scale, of the largest entry, which keeps exponentials and powers in range.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import helper_no_alloc, inlined_only
from weft.learners.descent.positions import ColumnSum

ENTROPY, P_NORM, P_SIMPLEX = range(3)
"""Kinds of mirror maps; the last is the p-norm on the simplex, where the table holds y itself."""

LOST = 1e-3
"""A sum below this part of its peak has lost too many digits."""
BEYOND = 40.0
"""An entry of e^40 times the offset, or 2^40, moves the offset."""
_GROWN = 1099511627776.0  # 2^40


class Map(NamedTuple):
    """Which mirror map: its kind, q of the p-norm, and the factor f of the entropy."""

    kind: int
    q: float
    f: float


@inlined_only
def term(mirror: Map, offset: float, theta: float) -> float:
    """What an entry adds to its column's sum."""
    if mirror.kind == ENTROPY:
        return math.exp(mirror.f * theta - offset)
    if theta == 0.0:
        return 0.0
    return math.pow(abs(theta) / offset, mirror.q)


@helper_no_alloc
def refresh(mirror: Map, theta: Floats, known: Ints, sums: Floats, k: int) -> None:
    """The sum of column k from its entries; for the entropy over the known features."""
    kind, _, f = mirror
    top = -np.inf if kind == ENTROPY else 0.0
    for j in range(theta.shape[0]):
        if kind != ENTROPY:
            top = max(top, abs(theta[j, k]))
        elif known[j] != 0:
            top = max(top, f * theta[j, k])
    sums[k, ColumnSum.SUM], sums[k, ColumnSum.OFFSET] = 0.0, top
    if top != -np.inf:
        for j in range(theta.shape[0]):
            if kind != ENTROPY or known[j] != 0:
                sums[k, ColumnSum.SUM] += term(mirror, top, theta[j, k])
    else:
        sums[k, ColumnSum.OFFSET] = 0.0
    sums[k, ColumnSum.PEAK] = sums[k, ColumnSum.SUM]


@helper_no_alloc
def add_to_sum(mirror: Map, theta: Floats, known: Ints, sums: Floats, j: int, k: int, step: float) -> None:
    """theta[j, k] += step, with the sum of column k."""
    before = theta[j, k]
    after = before + step
    theta[j, k] = after
    offset = sums[k, ColumnSum.OFFSET]
    if mirror.kind == ENTROPY:
        beyond = mirror.f * after - offset > BEYOND
    else:
        beyond = abs(after) > offset * _GROWN or offset == 0.0
    if beyond:
        refresh(mirror, theta, known, sums, k)
        return
    sums[k, ColumnSum.SUM] += term(mirror, offset, after) - term(mirror, offset, before)
    sums[k, ColumnSum.PEAK] = max(sums[k, ColumnSum.PEAK], sums[k, ColumnSum.SUM])
    if sums[k, ColumnSum.SUM] < LOST * sums[k, ColumnSum.PEAK]:
        refresh(mirror, theta, known, sums, k)


@helper_no_alloc
def column_norm(q: float, sums: Floats, k: int) -> float:
    """|theta_k|_q, which is |y_k|_p as well."""
    if sums[k, ColumnSum.SUM] <= 0.0:
        return 0.0
    return float(sums[k, ColumnSum.OFFSET] * math.pow(sums[k, ColumnSum.SUM], 1.0 / q))


@helper_no_alloc
def image(mirror: Map, theta: float, sums: Floats, k: int) -> float:
    """y_kj from theta_kj."""
    kind, q, f = mirror
    if kind == P_SIMPLEX:  # the table holds y itself
        return theta
    if kind == ENTROPY:
        return float(math.exp(f * theta - sums[k, ColumnSum.OFFSET]) / sums[k, ColumnSum.SUM])
    if theta == 0.0:
        return 0.0
    size = column_norm(q, sums, k)
    y = size * math.pow(abs(theta) / size, q - 1.0)
    return math.copysign(y, theta)


@helper_no_alloc
def dual_norm(q: float, values: Floats, begin: int, end: int) -> float:
    """|x|_q of a row, without overflow; q = inf: the largest entry."""
    top = 0.0
    for e in range(begin, end):
        top = max(top, abs(values[e]))
    if top == 0.0 or math.isinf(q):
        return top
    total = 0.0
    for e in range(begin, end):
        total += math.pow(abs(values[e]) / top, q)
    return top * math.pow(total, 1.0 / q)
