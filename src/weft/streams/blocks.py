"""Bytes as blocks of whole lines, in one buffer that is used again and again.

Lines end in a line feed, in a carriage return, or in both. Carriage returns that stand alone are replaced by line
feeds, so that whoever reads a block looks for line feeds only.
"""

import hashlib
from typing import Any

import numpy as np

from weft.compiled.arrays import Ints
from weft.scan.padding import PADDING
from weft.streams.source import Position, Source

BLOCK = 1 << 20
"""Bytes that are read at once."""
LONGEST_LINE = 1 << 24
"""Bytes of a line; a longer one is refused, in bounded memory."""

_MARK = b"\xef\xbb\xbf"


class Blocks:
    """Lines read ahead from a source: `fill` reads more, `use` says how many are done with.

    The whole lines in the buffer are text[begin:end]; after `fill`, `begin` is 0. `is_last`: everything was read.
    `is_too_long`: a line longer than LONGEST_LINE follows, and `skip_long_line` passes over it. `used` counts the lines
    that are done with.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.used = self.begin = self.end = 0
        self.is_last = self.is_too_long = False
        self._hash = hashlib.blake2b(digest_size=16)
        self._set_buffer(bytearray(2 * BLOCK + len(PADDING)))
        self._have = 0  # bytes in the buffer
        self._added = 0  # 1 if the last line had no end and was given one
        self._cleared = 0  # bytes of a mark at the beginning, replaced by spaces
        self._checked = 0  # bytes whose carriage returns were looked at

    def _set_buffer(self, buffer: bytearray) -> None:
        self._buffer = buffer
        self._view = memoryview(buffer)
        self.text: Any = np.frombuffer(buffer, np.uint8)

    def fill(self) -> None:
        """Read on until there is at least one whole line more than before, or nothing more to read.

        From a file a whole block is read; from a pipe what there is at once.
        """
        self._compact()
        before = self.end
        while not (self.is_last or self.is_too_long):
            if self.end > before and not (self.source.is_file and self._have < BLOCK):
                break
            if len(self._buffer) - len(PADDING) - self._have <= BLOCK:
                self._set_buffer(self._buffer + bytearray(len(self._buffer)))
            checked = self._checked
            self._read()
            self.end = max(self.end, self._buffer.rfind(b"\n", checked, self._checked) + 1)
            first = self._buffer.find(b"\n", checked, self._checked) if self.end > before else self._have
            if first - before > LONGEST_LINE:
                self.end, self.is_too_long = before, True
        self._buffer[self._have : self._have + len(PADDING)] = PADDING

    def _compact(self) -> None:
        """Move what is not used yet to the front of the buffer."""
        begin, self.begin = self.begin, 0
        if begin:
            self._buffer[: self._have - begin] = self._buffer[begin : self._have]
            self._have, self.end, self._checked = self._have - begin, self.end - begin, self._checked - begin

    def _read(self) -> None:
        """Read one piece more."""
        count = self.source.readinto(self._view[self._have : self._have + BLOCK])
        self._have += count
        if count == 0:
            self._finish()
        self._replace_returns()

    def _finish(self) -> None:
        """The source has ended: its last line ends here."""
        self.is_last = True
        if self._have and self._buffer[self._have - 1] not in b"\n\r":
            self._buffer[self._have] = 10
            self._have, self._added = self._have + 1, 1

    def _replace_returns(self) -> None:
        """Make carriage returns without a line feed line feeds; one at the very end waits for what follows."""
        begin, self._checked = self._checked, self._have
        if begin == 0 and self.used == 0 and self._buffer.startswith(_MARK):
            self._buffer[: len(_MARK)], self._cleared = b" " * len(_MARK), len(_MARK)
        if self._buffer.find(b"\r", begin, self._have) < 0:
            return
        returns = np.flatnonzero(self.text[begin : self._have] == 13) + begin
        if returns[-1] == self._have - 1:
            if self.is_last:
                self.text[self._have - 1] = 10
            else:
                self._checked = self._have - 1
            returns = returns[:-1]
        self.text[returns[self.text[returns + 1] != 10]] = 10

    def use(self, end: int, lines: int) -> None:
        """The bytes before `end`, with so many lines, are done with."""
        self._digest(end)
        self.begin, self.used = end, self.used + lines

    def _digest(self, end: int) -> None:
        if self._cleared and end:
            self._hash.update(_MARK)
            self.begin, self._cleared = min(self._cleared, end), 0
        self._hash.update(self._view[self.begin : end - (self._added if end == self._have else 0)])

    def skip_long_line(self) -> None:
        """Pass over the line that is too long, which is the first one in the buffer."""
        while (at := self._buffer.find(b"\n", self.begin, self._checked)) < 0 and not self.is_last:
            self._digest(self._checked)
            self.begin = self.end = self._checked
            self._compact()
            self._read()
        self.is_too_long = False
        self.end = self._buffer.rfind(b"\n", 0, self._checked) + 1
        self.use(at + 1, 1)

    def skip_to(self, start: Position) -> bool:
        """Pass over the lines used before, as they are; are they still the same?"""
        while self.used < start.lines:
            self.fill()
            if self.is_too_long and self.end == 0:
                self.skip_long_line()
                continue
            ends = self.line_ends()[: start.lines - self.used]
            if not len(ends):
                break
            self.use(int(ends[-1]), len(ends))
        return self.position == start

    def line_ends(self) -> Ints:
        """Where the lines of the buffer that are not used yet end: the byte behind each."""
        return np.flatnonzero(self.text[self.begin : self.end] == 10) + 1 + self.begin

    def end_of_line(self, at: int) -> int:
        """Where the line that begins at `at` ends: the byte behind it."""
        return self._buffer.index(b"\n", at, self.end) + 1

    def content(self, begin: int, end: int) -> bytes:
        """Some bytes of the buffer."""
        return bytes(self._view[begin:end])

    @property
    def position(self) -> Position:
        """How far the source was used."""
        return Position(self.used, self._hash.hexdigest())
