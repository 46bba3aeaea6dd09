"""Sums whose rounding does not add up, or does not depend on an order."""

import math

from weft.compiled.arrays import Floats
from weft.compiled.jit import helper_no_alloc, inlined
from weft.storage.pairs import BASE, COUNT, HASHED, Pairs, first_slot

_TWO_30, _TWO_60 = 1073741824.0, 1152921504606846976.0


@inlined
def add_exactly(total: float, rest: float, value: float) -> tuple[float, float]:
    """total + value, and `rest` with what rounding loses of it (Neumaier 1974)."""
    new = total + value
    if abs(total) >= abs(value):
        return new, rest + ((total - new) + value)
    return new, rest + ((value - new) + total)


@helper_no_alloc
def squares_in_any_order(pairs: Pairs, values: Floats) -> float:
    """The sum of squares over all pairs, the same bits wherever they lie: integers do not round."""
    layout, _, table = pairs
    regions, top, high, low = len(table) if layout[HASHED] else 1, 0.0, 0, 0
    for sweep in range(2):
        for r in range(regions):
            first, last = 0, len(values)
            if layout[HASHED]:  # what is left of a region that has moved does not count
                first = first_slot(table[r, BASE])
                last = first + table[r, COUNT]
            for j in range(first, last):
                if sweep == 0:
                    top = max(top, abs(values[j]))
                else:
                    part = values[j] / top
                    part = part * part * _TWO_30
                    whole = math.floor(part)
                    high += int(whole)
                    low += int((part - whole) * _TWO_30)
        if top == 0.0:
            return 0.0
    return top * top * (high / _TWO_30 + low / _TWO_60)
