"""Vectors inside kernels: products of two sparse rows, p-norms, sorting."""

import math

import numpy as np
from numpy.typing import NDArray

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import compiled, helper

Vector = NDArray[np.float64]


@helper
def sparse_dot(
    indices: Ints,
    values: Floats,
    begin: int,
    end: int,
    others: Ints,
    other_values: Floats,
    first: int,
    last: int,
) -> float:
    """<x, z> of two sparse rows, by one walk through both."""
    total = 0.0
    i, j = begin, first
    while i < end and j < last:
        if indices[i] == others[j]:
            total += values[i] * other_values[j]
            i += 1
            j += 1
        elif indices[i] < others[j]:
            i += 1
        else:
            j += 1
    return total


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
