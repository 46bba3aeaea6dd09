"""What a cell of plain text means, such as one of a CSV file: nothing, true or false, a number, or a text."""

import math
import re

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE | re.ASCII)
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
_GROUPED = re.compile(r"[+-]?[0-9]{1,3}([., '])[0-9]{3}(?:\1[0-9]{3})*(?:[.,][0-9]+)?")
_LOGICAL = {"true": True, "false": False}

Value = bool | float | str | None
"""None: the cell is empty or holds NaN, and its value is missing."""


def cell_value(text: str, decimal_comma: bool = False) -> Value:
    """The value in a cell; infinity and numbers beyond the range of floats are infinite.

    >>> cell_value(" 3.50"), cell_value("TRUE"), cell_value("n/a"), cell_value(""), cell_value("nan")
    (3.5, True, 'n/a', None, None)
    """
    text = text.strip()
    if not text:
        return None
    if decimal_comma and DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    if NUMBER.fullmatch(text):
        return float(text)
    if NOT_FINITE.fullmatch(text):
        value = float(text)
        return None if math.isnan(value) else value
    return _LOGICAL.get(text.lower(), text)


def is_number_elsewhere(text: str) -> bool:
    """Is it a number as other countries write it, with a decimal comma or marks between thousands?

    >>> [is_number_elsewhere(text) for text in ("1,5", "-1.234,50", "1,234,567.8", "1.5", "1,5,6", "a,5")]
    [True, True, True, False, False, False]
    """
    text = text.strip()
    return NUMBER.fullmatch(text) is None and any(form.fullmatch(text) for form in (DECIMAL_COMMA, _GROUPED))
