"""Rows of the log, beside the groups of entries themselves."""

import zlib
from typing import NamedTuple


class Head(NamedTuple):
    """How far the log goes: entries first .. last are kept, and unchanged from `exact` on."""

    last: int
    first: int
    exact: int
    expired: int
    at: float
    """The latest time that was recorded, in seconds since 1970."""


class Remembered(NamedTuple):
    """A prediction that waits for its label, or has it."""

    id: str
    seq: int
    at: float
    event: bytes
    label: bytes | None
    task: bytes

    @property
    def crc(self) -> int:
        """Of all fields."""
        text = repr((self.id, self.seq, self.at, self.label)).encode()
        return zlib.crc32(self.event, zlib.crc32(text))
