"""Names and numbers in a picture: what a file of XML may hold, and what there is room for."""

import math
import unicodedata
from collections.abc import Sequence
from html import escape

LONGEST = 24
"""So many columns of a name are drawn; the whole of it is shown when pointed at."""

CONTEXT = 3
"""So many characters stay of what names have in common."""


def written(text: str) -> str:
    """Any text as XML takes it: escaped, on one line, without characters that are not allowed."""
    return escape(clean(text))


def clean(name: str) -> str:
    """Characters that an XML file may hold, on one line."""
    return "".join(
        character if _is_writable(character) else "\N{REPLACEMENT CHARACTER}" for character in " ".join(name.split())
    )


def _is_writable(character: str) -> bool:
    code = ord(character)
    return code >= 0x20 and not 0x7F <= code < 0xA0 and not 0xD800 <= code < 0xE000 and code & 0xFFFE != 0xFFFE


def columns(name: str) -> int:
    """How wide a name is, in characters of the Latin alphabet."""
    return sum(_wide(character) for character in name)


def _wide(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(name: str, longest: int = LONGEST) -> str:
    """The name, or the beginning of it; how many others a cluster holds is never cut off.

    >>> cut("a" * 30, 8), cut("abcdefghijkl +12", 10)
    ('aaaaaaa…', 'abcde… +12')
    """
    name = clean(name)
    if columns(name) <= longest:
        return name
    begin, plus, others = name.rpartition(" +")
    tail = f"…{plus}{others}" if plus and others.replace(",", "").isdigit() else "…"
    kept, room = "", longest - len(tail)
    for character in begin if len(tail) > 1 else name:
        room -= _wide(character)
        if room < 0:
            break
        kept += character
    return kept + tail


def shortened(names: Sequence[str], longest: int = LONGEST) -> list[str]:
    """All names, cut; where some would look alike, what all have in common is left out at both ends.

    >>> shortened(["user-number-0153@example.com", "user-number-0201@example.com"], 12)
    ['…r-0153@ex…', '…r-0201@ex…']
    >>> shortened(["ann", "customer-of-the-first-hour"], 12)
    ['ann', 'customer-of…']
    """
    found = [cut(name, longest) for name in names]
    if len({*found}) == len({*names}):
        return found
    begin = max(0, _in_common(names) - CONTEXT)
    rest = [name[begin:] for name in names]
    end = max(0, _in_common([name[::-1] for name in rest]) - CONTEXT)
    return [cut(f"{'…' * (begin > 0)}{name[: len(name) - end]}{'…' * (end > 0)}", longest) for name in rest]


def _in_common(names: Sequence[str]) -> int:
    """With how many characters all names begin: the first and the last in order differ soonest."""
    first, last = min(names), max(names)
    return next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))


def figure(value: float) -> str:
    """A number in few digits.

    >>> figure(1 / 6), figure(-0.0), figure(float("nan"))
    ('0.1667', '0', 'undefined')
    """
    return f"{value + 0.0:.4g}" if math.isfinite(value) else "undefined"
