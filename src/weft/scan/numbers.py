"""Decimal numbers as doubles, exactly as Python's `float` reads them.

A number w 10^q with w < 2^53 and |q| <= 22 is one exact product or quotient (Clinger 1990). Other numbers of at most 19
digits are w times a 128-bit approximation of 5^q, which nearly always decides the rounding (Lemire 2021, section 5).
What this leaves open is `HANDED` to Python: more digits, subnormal and infinite results, and products that do not
decide.
"""

from typing import Any

import numpy as np

from weft.compiled.jit import compiled, inlined_only
from weft.scan.words import U0, U1, U3, U8, as_float, leading_zeros, load, wide_product

READ, MALFORMED, HANDED = 0, 1, 2
"""A number was read; there is no number here; Python must read it."""

_U = np.uint64
_SMALLEST_POWER, _LARGEST_POWER = -342, 308
_LIMIT = _U(1) << _U(53)
_ALL = _U(0xFFFFFFFFFFFFFFFF)


def _powers_of_five() -> Any:
    """The leading 128 bits of 5^q: the upper and the lower half; rounded down for q >= 0, up for reciprocals."""
    table = np.zeros((_LARGEST_POWER - _SMALLEST_POWER + 1, 2), np.uint64)
    for row, q in enumerate(range(_SMALLEST_POWER, _LARGEST_POWER + 1)):
        if q >= 0:
            power = 5**q
            bits = power << 128 >> power.bit_length()
        else:
            power = 5**-q
            quotient = (1 << (power.bit_length() + 127)) // power + 1
            bits = quotient >> (quotient.bit_length() - 128)
        table[row] = bits >> 64, bits & (2**64 - 1)
    return table


_FIVES = _powers_of_five()
_TENS = np.array([float(10**q) for q in range(23)])


@inlined_only
def _nearest(w: Any, q: Any) -> tuple[float, bool]:
    """The double nearest to w 10^q, and whether that is certain; w is not 0."""
    if q < _SMALLEST_POWER or q > _LARGEST_POWER:
        return 0.0, False
    zeros = leading_zeros(w)
    w = w << zeros
    row = np.uint64(q - _SMALLEST_POWER)
    upper, lower = wide_product(w, _FIVES[row, 0])
    if upper & _U(511) == _U(511):  # the bits below the mantissa may still carry
        more, _ = wide_product(w, _FIVES[row, 1])
        total = lower + more
        if total < lower:
            upper += U1
        lower = total
    if lower == _ALL and (q < -27 or q > 55):
        return 0.0, False
    top = upper >> _U(63)
    shift = top + _U(9)
    mantissa = upper >> shift
    exponent = ((217706 * q) >> 16) + 63 + np.int64(top) - np.int64(zeros) + 1023
    if exponent <= 0:
        return 0.0, False
    # Halfway between two doubles: to the even one. Only small powers of five can be exact.
    if lower <= U1 and q >= -4 and q <= 23 and mantissa & U3 == U1 and mantissa << shift == upper:
        mantissa &= ~U1
    mantissa = (mantissa + (mantissa & U1)) >> U1
    if mantissa >= _LIMIT:
        mantissa = _LIMIT >> U1
        exponent += 1
    if exponent >= 2047:
        return 0.0, False
    return as_float((mantissa & ((_LIMIT >> U1) - U1)) | (_U(exponent) << _U(52))), True


@inlined_only
def _is_eight_digits(word: Any) -> Any:
    """Are all bytes of a word digits? The upper half of each is 3, before and after adding 6."""
    upper = _U(0xF0F0F0F0F0F0F0F0)
    return (word & upper) | (((word + _U(0x0606060606060606)) & upper) >> _U(4)) == _U(0x3333333333333333)


@inlined_only
def _eight_digits(word: Any) -> Any:
    """The number that eight digits make: pairs of digits, then of pairs, then of fours."""
    word -= _U(0x3030303030303030)
    word = word * _U(10) + (word >> U8)
    low, high = word & _U(0x000000FF000000FF), (word >> _U(16)) & _U(0x000000FF000000FF)
    return (low * _U(0x000F424000000064) + high * _U(0x0000271000000001)) >> _U(32)


@inlined_only
def _read_power(text: Any, at: Any) -> tuple[Any, Any, Any]:
    """The power of ten after an e: where it ends, the power, and whether it has a digit."""
    below = text[at] == 45
    if below or text[at] == 43:
        at += U1
    first, power = at, np.int64(0)
    digit = _U(text[at]) - _U(48)
    while digit <= _U(9):
        if power < 100000:
            power = power * 10 + np.int64(digit)
        at += U1
        digit = _U(text[at]) - _U(48)
    return at, (-power if below else power), at != first


@inlined_only
def read_number(text: Any, at: Any, is_json: bool) -> tuple[Any, float, int]:
    """The number that begins at `at`: where it ends, its value, and whether it was READ.

    In JSON a number has no plus sign, no leading zeros, and digits on both sides of its point.
    """
    negative = text[at] == 45
    if negative or (text[at] == 43 and not is_json):
        at += U1
    begin, w, q = at, U0, np.int64(0)
    digit = _U(text[at]) - _U(48)
    while digit <= _U(9):
        w = w * _U(10) + digit
        at += U1
        digit = _U(text[at]) - _U(48)
    digits = np.int64(at - begin)
    if is_json and (digits == 0 or (digits > 1 and text[begin] == 48)):
        return at, 0.0, MALFORMED
    if text[at] == 46:
        at += U1
        first = at
        word = load(text, at)
        while _is_eight_digits(word):
            w = w * _U(100000000) + _eight_digits(word)
            at += U8
            word = load(text, at)
        digit = _U(text[at]) - _U(48)
        while digit <= _U(9):
            w = w * _U(10) + digit
            at += U1
            digit = _U(text[at]) - _U(48)
        q = -np.int64(at - first)
        digits -= q
        if is_json and q == 0:
            return at, 0.0, MALFORMED
    if digits == 0:
        return at, 0.0, MALFORMED
    if text[at] | 32 == 101:
        at, power, is_there = _read_power(text, at + U1)
        if not is_there:
            return at, 0.0, MALFORMED
        q += power
    if digits > 19:
        while text[begin] == 48 or text[begin] == 46:  # zeros in front do not count
            digits -= text[begin] == 48
            begin += U1
        if digits > 19:
            return at, 0.0, HANDED
    if w == U0:
        value = 0.0
        negative = negative and not (is_json and at - begin == U1)  # -0 is an integer of JSON, and is 0
    elif w <= _LIMIT and q >= -22 and q <= 22:
        value = np.float64(np.int64(w))
        value = value / _TENS[_U(-q)] if q < 0 else value * _TENS[_U(q)]
    else:
        value, certain = _nearest(w, q)
        if not certain:
            return at, 0.0, HANDED
    return at, (-value if negative else value), READ


@compiled
def read_lines(text: Any, count: int, is_json: bool, values: Any, statuses: Any) -> None:
    """One number per line, for tests: MALFORMED where the line does not end with the number."""
    at = U0
    for i in range(count):
        at, values[i], statuses[i] = read_number(text, at, is_json)
        if statuses[i] == READ and text[at] != 10:
            statuses[i] = MALFORMED
        while text[at] != 10:
            at += U1
        at += U1
