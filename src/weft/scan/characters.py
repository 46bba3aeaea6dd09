"""Single characters: UTF-8 and the escapes of JSON, and strings of JSON without them."""

from typing import Any

import numpy as np

from weft.compiled.jit import helper_no_alloc, inlined_only
from weft.scan.words import U1

_U = np.uint64
_QUOTE, _BACKSLASH, _SLASH = 34, 92, 47


@inlined_only
def _further(text: Any, at: Any, code: Any) -> Any:
    """A code point with six more bits from the byte at `at`; -1 if that is not a byte of the kind that follows."""
    byte = np.int64(text[at])
    return (code << 6) | (byte & 63) if byte & 192 == 128 and code >= 0 else np.int64(-1)


@helper_no_alloc
def decoded(text: Any, at: Any) -> tuple[Any, Any]:
    """The character of two bytes or more that begins at `at`: where it ends, and its code point, -1 if it is none."""
    byte = np.int64(text[at])
    if byte < 194 or byte > 244:  # a byte that follows, or one that nothing begins with
        return at, np.int64(-1)
    if byte < 224:
        return at + _U(2), _further(text, at + U1, byte & 31)
    if byte < 240:
        code = _further(text, at + _U(2), _further(text, at + U1, byte & 15))
        is_one = code >= 0x800 and (code < 0xD800 or code > 0xDFFF)
        return at + _U(3), code if is_one else np.int64(-1)
    code = _further(text, at + _U(3), _further(text, at + _U(2), _further(text, at + U1, byte & 7)))
    return at + _U(4), code if code >= 0x10000 and code < 0x110000 else np.int64(-1)


@inlined_only
def _hexadecimal(text: Any, at: Any) -> Any:
    """The number of four hexadecimal digits; -1 if they are not."""
    found = np.int64(0)
    for i in range(4):
        byte = np.int64(text[at + _U(i)])
        if byte >= 48 and byte <= 57:
            digit = byte - 48
        elif (byte | 32) >= 97 and (byte | 32) <= 102:
            digit = (byte | 32) - 87
        else:
            return np.int64(-1)
        found = found * 16 + digit
    return found


@helper_no_alloc
def escaped(text: Any, at: Any) -> tuple[Any, Any]:
    """The character whose escape begins at the backslash at `at`: where it ends, and its code point, -1 if none."""
    byte = text[at + U1]
    if byte in (_QUOTE, _BACKSLASH, _SLASH):
        return at + _U(2), np.int64(byte)
    if byte != 117:  # u
        code = np.int64(-1)
        if byte == 110:
            code = np.int64(10)
        elif byte == 116:
            code = np.int64(9)
        elif byte == 114:
            code = np.int64(13)
        elif byte == 98:
            code = np.int64(8)
        elif byte == 102:
            code = np.int64(12)
        return at + _U(2), code
    code = _hexadecimal(text, at + _U(2))
    if code < 0xD800 or code > 0xDFFF:
        return at + _U(6), code
    if code > 0xDBFF or text[at + _U(6)] != _BACKSLASH or text[at + _U(7)] != 117:
        return at, np.int64(-1)
    low = _hexadecimal(text, at + _U(8))
    if low < 0xDC00 or low > 0xDFFF:
        return at, np.int64(-1)
    return at + _U(12), 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)


@inlined_only
def put(target: Any, place: Any, code: Any) -> Any:
    """Write a character in UTF-8; returns where the next one goes."""
    if code < 0x80:
        target[place] = code
        return place + U1
    if code < 0x800:
        target[place], target[place + U1] = 192 | (code >> 6), 128 | (code & 63)
        return place + _U(2)
    if code < 0x10000:
        target[place], target[place + U1] = 224 | (code >> 12), 128 | ((code >> 6) & 63)
        target[place + _U(2)] = 128 | (code & 63)
        return place + _U(3)
    target[place], target[place + U1] = 240 | (code >> 18), 128 | ((code >> 12) & 63)
    target[place + _U(2)], target[place + _U(3)] = 128 | ((code >> 6) & 63), 128 | (code & 63)
    return place + _U(4)


@inlined_only
def may_be_space(code: Any) -> Any:
    """Whether Python may strip a character that is not ASCII; true for some that it does not."""
    return (
        code == 0x85
        or code == 0xA0
        or code == 0x1680
        or (code >= 0x2000 and code <= 0x200F)
        or (code >= 0x2028 and code <= 0x202F)
        or code == 0x205F
        or code == 0x3000
    )


@helper_no_alloc
def copy_string(text: Any, at: Any, scratch: Any, place: Any) -> tuple[Any, Any, bool]:
    """Copy the string of JSON whose content begins at `at`, stripped, without escapes, to scratch[place:].

    Returns where it ends, behind its quote; where the copy ends; and whether that is certain: control characters, and
    spaces that are not ASCII, are not.
    """
    while text[at] == 32:
        at += U1
    first = place
    while True:
        byte = text[at]
        if byte == _QUOTE:
            break
        if byte < 128 and byte != _BACKSLASH:
            if byte < 32:
                return at, place, False
            scratch[place] = byte
            at += U1
            place += U1
            continue
        at, code = escaped(text, at) if byte == _BACKSLASH else decoded(text, at)
        if code < 32 or may_be_space(code):
            return at, place, False
        if code != 32 or place > first:
            place = put(scratch, place, code)
    while place > first and scratch[place - U1] == 32:
        place -= U1
    return at + U1, place, True
