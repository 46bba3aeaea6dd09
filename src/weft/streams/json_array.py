"""JSON whose records are not one per line, as lines: an array of records, and records over several lines.

`[ {...}, {...} ]` becomes a line per record. A record goes on the line where it begins, and blank lines follow for the
others that it had, so that the number of a line is that of the file, unless several records share a line.
"""

import io
import re
from typing import Any

from weft.streams.records import InputError

_BEGINNING = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\[\s*(?:\{|\]|\Z)|\{[ \t\r]*\n)")
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*("|\\?\Z)|[\[\]{},\r]|\n[ \t]*', re.DOTALL)
_LINE_FEED = 10
_PIECE = 1 << 16


def needs_lines(head: bytes) -> bool:
    """Does content that begins so hold an array of records, or a record over several lines?

    >>> [needs_lines(head) for head in (b"[", b'[{"a": 1}', b'{', b'{ \\n "a": 1', b'{"a": 1}', b"[1, 2]", b"[x] y")]
    [True, True, False, True, False, False, False]
    """
    return _BEGINNING.match(head) is not None


class JsonLines(io.RawIOBase):
    """The records of such content, a line each."""

    def __init__(self, content: Any, name: str) -> None:
        self._content, self._name = content, name
        self._rest = b""  # what was read and is the beginning of a string
        self._lines = b""  # what is made and not taken yet
        self._is_open = self._has_ended = False  # the array; the content
        self._depth = self._joined = 0  # of objects and lists; lines that the record has taken up beside its first
        self._before = b""  # what came last between records: a comma, or the end of a line

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        """Close what is read from as well."""
        self._content.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        while not self._lines and not self._has_ended:
            piece = self._content.read1(_PIECE)
            self._has_ended = not piece
            self._lines = self._made(self._rest + piece)
        if not self._lines and self._is_open:
            raise InputError(f"{self._name}: the array of records is not closed; write the complete file, with its ]")
        count = min(len(buffer), len(self._lines))
        buffer[:count], self._lines = self._lines[:count], self._lines[count:]
        return count

    def _made(self, text: bytes) -> bytes:
        """Lines of the next bytes; a string that is not closed waits for the rest of it."""
        parts, at, end = list[bytes](), 0, len(text)
        for found in _TOKEN.finditer(text):
            if found[1] is not None:
                if found[1] != b'"' and not self._has_ended:
                    end = found.start()
                    break
                continue
            mark = found[0]
            instead = b"" if mark == b"\r" else self._outside(mark) if self._depth == 0 else self._inside(mark)
            if instead != mark:
                parts += (text[at : found.start()], instead)
                at = found.end()
        self._rest = text[end:]
        return b"".join([*parts, text[at:end]])

    def _inside(self, mark: bytes) -> bytes:
        """What stands for a mark inside a record."""
        if mark[0] == _LINE_FEED:
            self._joined += 1
            return b""
        self._depth += (mark in b"[{") - (mark in b"]}")
        if self._depth == 0:
            mark, self._joined = mark + b"\n" * self._joined, 0
        return mark

    def _outside(self, mark: bytes) -> bytes:
        """What stands for a mark between records."""
        if mark[0] == _LINE_FEED:
            is_made, self._before = self._before == b",", b"\n"
            return b"" if is_made else b"\n"
        if mark == b",":
            is_made, self._before = self._before == b"\n", b","
            return b"" if is_made else b"\n"
        if mark in b"[]" and self._is_open == (mark == b"]"):
            self._is_open = mark == b"["
            return b""
        self._before = b""
        self._depth = int(mark in b"[{")
        return mark
