"""Sums whose rounding does not add up, or does not depend on an order."""

import math

from weft.compiled.arrays import Floats
from weft.compiled.jit import helper_no_alloc, inlined
from weft.storage.pairs import Pairs, rows_in_use

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
    rows, top, high, low = rows_in_use(pairs, values), 0.0, 0, 0
    for j in range(rows):
        top = max(top, abs(values[j]))
    if top == 0.0:
        return 0.0
    for j in range(rows):
        part = values[j] / top
        part = part * part * _TWO_30
        whole = math.floor(part)
        high += int(whole)
        low += int((part - whole) * _TWO_30)
    return top * top * (high / _TWO_30 + low / _TWO_60)
