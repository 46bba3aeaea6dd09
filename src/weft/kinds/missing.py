"""Missing values: None, NaN, and what data frames have in their place."""

import math
from typing import Any

_MARKS = frozenset(("NAType", "NaTType"))
"""Types of the marks of pandas for missing values, which are known by name: pandas need not be installed."""


def is_missing(value: Any) -> bool:
    """Is there no value? An empty or blank text counts as none.

    >>> is_missing(None), is_missing(float("nan")), is_missing(" "), is_missing(0), is_missing(False)
    (True, True, True, False, False)
    """
    if value is None:
        return True
    if isinstance(value, str):
        return not value or value.isspace()
    if isinstance(value, float):
        return math.isnan(value)
    return type(value).__name__ in _MARKS
