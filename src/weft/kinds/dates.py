"""Dates: ISO dates and timestamps in text, and the types that hold them."""

import datetime
import re

_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?(?: ?(?:Z|[+-][0-9]{2}:?(?:[0-9]{2})?))?)?"
)

DATE_TYPES = (datetime.date, datetime.time, datetime.timedelta)
"""Types of Python's own dates; `datetime` is a `date`."""


def is_date(text: str) -> bool:
    """Is it an ISO date or timestamp?

    >>> is_date("2026-03-01T10:00:00Z"), is_date("2026-03-01"), is_date("2026"), is_date("3-1")
    (True, True, False, False)
    """
    return len(text) >= 10 and text[4:5] == "-" and _DATE.fullmatch(text) is not None
