"""Random start numbers that depend on nothing but their position: there is no generator to be kept.

A number is one of STEPS quantiles of a normal distribution, chosen by ten bits of a hash of 32 bits (two rounds of
multiplication and shifts, in integers of 64 bits that never overflow).
"""

from statistics import NormalDist

import numpy as np

from weft.compiled.arrays import Array
from weft.compiled.jit import inlined_only

STEPS = 1024
QUANTILES = np.array([NormalDist().inv_cdf((step + 0.5) / STEPS) for step in range(STEPS)])
_MASK = (1 << 32) - 1


@inlined_only
def _mixed(x: int) -> int:
    """Spread 32 bits over 32 bits, one to one."""
    x = (x ^ (x >> 16)) * 0x7FEB352D & _MASK
    x = (x ^ (x >> 15)) * 0x045D9F3B & _MASK
    return x ^ (x >> 16)


@inlined_only
def hashed(kind: int, number: int) -> int:
    """32 random bits that depend on a kind, an integer below 2^16, and a number."""
    return _mixed(_mixed((number & _MASK) ^ kind) ^ (number >> 32))


@inlined_only
def draw(kind: int, number: int, deviation: float, count: int, out: Array, row: int) -> None:
    """Put the first `count` numbers of row `number` of a kind, an integer below 2^16, into a row of an array."""
    start = hashed(kind, number)
    for n in range(count):
        out[row, n] = deviation * QUANTILES[_mixed((start + n * 0x3C6EF35F) & _MASK) & (STEPS - 1)]
