"""Vectors inside kernels: p-norms, sums of squares and sorting."""

import math

import numpy as np
from numpy.typing import NDArray

from weft.compiled.jit import compiled, helper, helper_no_alloc

Vector = NDArray[np.float64]


@helper
def p_norm(p: float, v: Vector) -> float:
    """The p-norm, 1 <= p <= inf, without overflow."""
    top = 0.0
    total = 0.0
    for j in range(len(v)):
        top = max(top, abs(v[j]))
        total += abs(v[j])
    if p == 1.0:
        return total
    if math.isinf(p) or top == 0.0:
        return top
    total = 0.0
    for j in range(len(v)):
        ratio = abs(v[j]) / top
        if p == 2.0:
            total += ratio * ratio
        elif ratio > 0.0:
            total += math.pow(ratio, p)
    return top * (math.sqrt(total) if p == 2.0 else math.pow(total, 1.0 / p))


@helper_no_alloc
def sum_of_squares(values: Vector, begin: int, end: int) -> float:
    """The squares of values[begin:end] added one after the other; `batch.squared_norm` takes four sums in turn."""
    total = 0.0
    for e in range(begin, end):
        total += values[e] * values[e]
    return total


@compiled
def sort(values: Vector, count: int) -> None:
    """Sort the first `count` entries upwards, in place: a heap sort, far quicker to compile than np.sort."""
    for step in range(count + count // 2):  # first build the heap, then take its top off
        last = count
        parent = count // 2 - 1 - step
        if parent < 0:
            last = count + count // 2 - 1 - step
            values[0], values[last] = values[last], values[0]
            parent = 0
        while 2 * parent + 1 < last:
            child = 2 * parent + 1
            if child + 1 < last and values[child + 1] > values[child]:
                child += 1
            if values[parent] >= values[child]:
                break
            values[parent], values[child] = values[child], values[parent]
            parent = child
