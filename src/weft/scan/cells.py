"""Cells of CSV: where they end, and what they hold, as `weft.kinds.cells` has it."""

from typing import Any

import numpy as np

from weft.compiled.jit import helper_no_alloc, inlined_only
from weft.scan.characters import decoded, may_be_space
from weft.scan.numbers import HANDED, READ, read_number
from weft.scan.words import U1, find_byte, find_either, load, low_bytes

BLANK, NUMBER, IS_TRUE, IS_FALSE, WORDS, UNSURE = range(6)
"""What a cell holds: nothing, a number, true, false, a text; the careful reader must look at it."""

_U = np.uint64
_QUOTE, _COMMA = 34, 44
_LOWER = _U(0x2020202020202020)
_TRUE, _FALSE, _NAN, _INF = _U(0x65757274), _U(0x65736C6166), _U(0x6E616E), _U(0x666E69)
_INFINITY = _U(0x7974696E69666E69)
_LONGEST_NUMBER = 60


@helper_no_alloc
def cell(text: Any, at: Any, separator: int) -> tuple[Any, Any, Any, bool, bool]:
    """The cell that begins at `at`: where its content begins and ends, where it ends, has it quotes, is it a cell."""
    if text[at] != _QUOTE:
        end = find_either(text, at, separator, 10, _QUOTE)
        after = end
        if text[end] == 10 and text[end - U1] == 13 and end > at:
            after = end = end - U1
        return at, end, after, False, text[end] != _QUOTE
    begin, has_quotes = at + U1, False
    end = find_byte(text, begin, _QUOTE)
    while text[end + U1] == _QUOTE:
        has_quotes = True
        end = find_byte(text, end + _U(2), _QUOTE)
    return begin, end, end + U1, has_quotes, True


@helper_no_alloc
def copied(text: Any, begin: Any, end: Any, scratch: Any, place: Any) -> tuple[Any, bool]:
    """Copy a cell, stripped, to scratch[place:]: where the copy ends, and whether that is certain."""
    while begin < end and (text[begin] == 32 or text[begin] == 9):
        begin += U1
    while end > begin and (text[end - U1] == 32 or text[end - U1] == 9):
        end -= U1
    at = begin
    while at < end:
        byte = text[at]
        if byte < 128:
            if byte < 32:
                return place, False
            scratch[place] = byte
            at += U1
            place += U1
            continue
        after, code = decoded(text, at)
        if code < 0 or after > end or may_be_space(code):
            return place, False
        while at < after:
            scratch[place] = text[at]
            at += U1
            place += U1
    return place, True


@inlined_only
def _number(scratch: Any, begin: Any, end: Any, has_comma: bool) -> tuple[float, int]:
    """What scratch[begin:end], which is not empty, is: a number and its value, or not; a comma may be its point."""
    if has_comma and end - begin <= _U(_LONGEST_NUMBER):
        for i in range(np.int64(end - begin) - 1):
            at = begin + _U(i)
            if scratch[at] == _COMMA and _U(scratch[at + U1]) - _U(48) <= _U(9):
                value, status, is_whole = _read(scratch, begin, end, at)
                if is_whole or status == HANDED:
                    return value, NUMBER if status == READ else UNSURE
                return 0.0, WORDS
    value, status, is_whole = _read(scratch, begin, end, end)
    if status == HANDED:
        return 0.0, UNSURE
    return value, NUMBER if status == READ and is_whole else WORDS


@inlined_only
def _read(scratch: Any, begin: Any, end: Any, comma: Any) -> tuple[float, int, bool]:
    """The number at `begin`, with a point in place of the byte at `comma`: is it all up to `end`?"""
    behind, before = scratch[end], scratch[comma]
    if comma < end:
        scratch[comma] = 46
    scratch[end] = 10
    at, value, status = read_number(scratch, begin, False)
    scratch[end] = behind
    scratch[comma] = before
    return value, status, at == end


@helper_no_alloc
def kind_of(scratch: Any, begin: Any, end: Any, has_comma: bool) -> tuple[float, int]:
    """What a cell without spaces around it is: blank, a number, true, false, or a text."""
    length = end - begin
    if length == _U(0):
        return 0.0, BLANK
    first = _U(scratch[begin])
    if first - _U(48) <= _U(9) or (first >= _U(43) and first <= _U(46)):  # a digit, or + , - .
        value, kind = _number(scratch, begin, end, has_comma)
        if kind != WORDS:
            return value, kind
    if length > _U(9):
        return 0.0, WORDS
    at, count = begin, length
    if scratch[at] == 43 or scratch[at] == 45:
        at += U1
        count -= U1
    word = low_bytes(load(scratch, at), count) | low_bytes(_LOWER, count)
    if count == _U(3) and word == _NAN:
        return 0.0, BLANK
    if (count == _U(3) and word == _INF) or (count == _U(8) and word == _INFINITY):
        return 0.0, UNSURE
    if count == length and length == _U(4) and word == _TRUE:
        return 1.0, IS_TRUE
    if count == length and length == _U(5) and word == _FALSE:
        return 0.0, IS_FALSE
    return 0.0, WORDS


@inlined_only
def is_integer(scratch: Any, begin: Any, end: Any) -> Any:
    """Is it written as an integer: -17, not +17, 017 or -0?"""
    at = begin + U1 if scratch[begin] == 45 else begin
    if at == end or (scratch[at] == 48 and (end - at > U1 or at > begin)):
        return False
    while at < end:
        if _U(scratch[at]) - _U(48) > _U(9):
            return False
        at += U1
    return True
