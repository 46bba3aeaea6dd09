"""Dates: dates and timestamps in text, and the types that hold them."""

import datetime
import re

_DATE = re.compile(
    r"(?:[12][0-9]{3}([-/.])([0-9]{1,2})\1([0-9]{1,2})|([0-9]{1,2})([-/.])([0-9]{1,2})\5[12][0-9]{3})"
    r"(?:(?:T|,? +)[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?(?: ?[AaPp][Mm])?"
    r"(?: ?(?:Z|UTC|GMT|[+-][0-9]{2}:?(?:[0-9]{2})?))?(?:\[[A-Za-z0-9_/+-]+\])?)?"
)
"""Year, month and day, or day, month and year in any order of the first two; then perhaps a time and its zone."""

DATE_TYPES = (datetime.date, datetime.time, datetime.timedelta)
"""Types of Python's own dates; `datetime` is a `date`."""


def is_date(text: str) -> bool:
    """Is it a date in digits, of ISO 8601 or as people write it, perhaps with a time?

    >>> is_date("2026-03-01T10:00:00Z"), is_date("2026-03-01"), is_date("01.03.2026"), is_date("3/25/2026 10:00 PM")
    (True, True, True, True)
    >>> is_date("2026"), is_date("3-1"), is_date("10.0.0.127"), is_date("25/31/2026"), is_date("1.2.3")
    (False, False, False, False, False)
    """
    found = _DATE.fullmatch(text) if len(text) >= 8 and text[0].isdigit() else None
    if found is None:
        return False
    month, day = sorted(int(found[at]) for at in ((2, 3) if found[1] else (4, 6)))
    return 1 <= month <= 12 and day <= 31
