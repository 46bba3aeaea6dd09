"""Names and numbers in a picture: what a file of XML may hold, and what there is room for."""

import math
import unicodedata
from html import escape

LONGEST = 24
"""So many columns of a name are drawn; the whole of it is shown when pointed at."""


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


def figure(value: float) -> str:
    """A number in few digits.

    >>> figure(1 / 6), figure(-0.0), figure(float("nan"))
    ('0.1667', '0', 'undefined')
    """
    return f"{value + 0.0:.4g}" if math.isfinite(value) else "undefined"
