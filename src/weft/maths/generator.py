"""NumPy's default random generator as an array, so that draws are part of a learner's state.

PCG64 (O'Neill 2014, PCG: a family of simple fast space-efficient statistically good algorithms) steps a 128-bit number,
state <- state * MULTIPLIER + increment, and folds it to 64 bits (XSL-RR). Integers below n are made of 32 bits by
Lemire's method (2019, Fast random integer generation in an interval); a 64-bit draw serves twice. Kernels get by with
int64, in which no product of 16-bit limbs overflows.

>>> state = seeded(7)
>>> [int(integer_below(state, 10)) for _ in range(5)], np.random.default_rng(7).integers(10, size=5).tolist()
([9, 6, 6, 8, 5], [9, 6, 6, 8, 5])
"""

from typing import Any

import numpy as np

from weft.compiled.arrays import Ints
from weft.compiled.jit import compiled, helper, inlined_only

LIMBS, BITS = 8, 16
INCREMENT, HAS_HALF, HALF, LENGTH = 8, 16, 17, 18
"""An array of 18: limbs of the state, lowest first, limbs of the increment, whether a half is kept, and that half."""
MASK = (1 << BITS) - 1
WORD = 1 << 32
MOST = 1 << 31
"""The largest n that may be drawn below."""
MULTIPLIER = np.array([(0x2360ED051FC65DA44385DF649FCCF645 >> BITS * i) & MASK for i in range(LIMBS)], np.int64)


def seeded(seed: int) -> Ints:
    """The state of `np.random.default_rng(seed)`."""
    start: Any = np.random.PCG64(seed).state
    numbers = (start["state"]["state"], start["state"]["inc"])
    limbs = [number >> BITS * i & MASK for number in numbers for i in range(LIMBS)]
    return np.array([*limbs, start["has_uint32"], start["uinteger"]], np.int64)


def valid(state: Any) -> bool:
    """Whether an array that came from a file is the state of a generator."""
    if not isinstance(state, np.ndarray) or state.dtype != np.int64 or state.shape != (LENGTH,):
        return False
    limbs = state[:HAS_HALF]
    odd = state[INCREMENT] % 2 == 1
    return bool(
        limbs.min() >= 0 and limbs.max() <= MASK and odd and state[HAS_HALF] in (0, 1) and 0 <= state[HALF] < WORD
    )


@inlined_only
def step(state: Ints) -> None:
    """state <- state * MULTIPLIER + increment, modulo 2^128: limbs from the highest, then what they carry."""
    for i in range(LIMBS - 1, -1, -1):
        total = state[INCREMENT + i]
        for j in range(i + 1):
            total += state[j] * MULTIPLIER[i - j]
        state[i] = total
    carry = 0
    for i in range(LIMBS):
        total = state[i] + carry
        state[i] = total & MASK
        carry = total >> BITS


@inlined_only
def rotated(state: Ints, at: int) -> int:
    """Limb `at` of the 64 bits: both halves of the state joined by xor, turned right by its six highest bits."""
    turn = state[LIMBS - 1] >> 10
    low = (at + (turn >> 4)) & 3
    high = (low + 1) & 3
    both = (state[low] ^ state[low + 4]) | ((state[high] ^ state[high + 4]) << BITS)
    return int((both >> (turn & 15)) & MASK)


@helper
def bits32(state: Ints) -> int:
    """The next 32 random bits: the lower half of a 64-bit draw, or the upper half of the one before."""
    if state[HAS_HALF] == 1:
        state[HAS_HALF] = 0
        return int(state[HALF])
    step(state)
    state[HAS_HALF] = 1
    state[HALF] = rotated(state, 2) | (rotated(state, 3) << BITS)
    return rotated(state, 0) | (rotated(state, 1) << BITS)


@compiled
def integer_below(state: Ints, n: int) -> int:
    """A random integer from 0 to n-1, 1 <= n <= MOST: what `Generator.integers(n)` would give.

    The upper word of n times 32 bits, where few of the products with a small lower word are drawn again, so that every
    number comes from equally many. Nothing is drawn for n = 1.
    """
    if n == 1:
        return 0
    product = bits32(state) * n
    if product % WORD < n:
        least = WORD % n
        while product % WORD < least:
            product = bits32(state) * n
    return product // WORD
