"""Text from files and names in messages and tables: what could control a terminal is shown as an escape."""

import re
import unicodedata

_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Controls (C0, C1, DEL), invisible formats (bidirectional overrides and isolates, zero-width marks, tags), surrogates,
and separators of lines and paragraphs."""
_JOINERS = "\u200c\u200d"
"""Zero-width joiner and non-joiner: part of the spelling between two letters of some scripts, and of many emoji."""
_SUSPECT = re.compile("[^ -~]")


def printable(text: str) -> str:
    """The text with escapes in place of characters that move the cursor, change colours or reorder what is shown.

    >>> printable("ann"), printable("\\x1b[2Jann"), printable("abc\\u202etxt.exe"), printable("Zoë 日本 👩\\u200d🚀")
    ('ann', '\\\\x1b[2Jann', 'abc\\\\u202etxt.exe', 'Zoë 日本 👩\\u200d🚀')
    """
    if _SUSPECT.search(text) is None:
        return text
    return "".join(
        _escaped(mark) if unicodedata.category(mark) in _HIDDEN and not _joins(text, at) else mark
        for at, mark in enumerate(text)
    )


def printable_lines(text: str) -> str:
    """The same for a text of several lines, whose line ends are weft's own."""
    return "\n".join(map(printable, text.split("\n")))


def _joins(text: str, at: int) -> bool:
    return (
        text[at] in _JOINERS
        and 0 < at < len(text) - 1
        and all(ord(near) > 127 and unicodedata.category(near) not in _HIDDEN for near in (text[at - 1], text[at + 1]))
    )


def _escaped(mark: str) -> str:
    code = ord(mark)
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file name that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def json_text(text: str) -> str:
    """JSON with escapes for the same characters: a reader of JSON finds what was there, a terminal shows the escapes.

    >>> print(json_text('"a\x9b\u202e"'))
    "a\\u009b\\u202e"
    """
    if _SUSPECT.search(text) is None:
        return text
    return "".join(
        _json_escaped(mark) if mark != "\n" and unicodedata.category(mark) in _HIDDEN else mark for mark in text
    )


def _json_escaped(mark: str) -> str:
    code = ord(mark)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
