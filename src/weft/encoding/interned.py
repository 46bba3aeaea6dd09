"""The names of a source as codes that compiled readers assign: a lexicon over their table of bytes."""

import os
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from weft.names import Name
from weft.scan.interning import BYTES, NAMES, SEED, Table, intern_one, refill
from weft.scan.padding import PADDING
from weft.storage.lexicon import Lexicon

_ROOM = 1 << 12


class InternedNames(Lexicon):
    """Names that compiled readers find as bytes, and the careful reader as names.

    decode  the name that some bytes mean
    encode  the bytes by which a compiled reader knows a name; None if it must not: a control character, or an escape
    """

    def __init__(self, decode: Callable[[bytes], Name], encode: Callable[[Name], bytes | None]) -> None:
        super().__init__()
        self._decode = decode
        self._encode = encode
        counts = np.zeros(5, np.int64)
        counts[SEED] = int.from_bytes(os.urandom(8), "little", signed=True)
        offsets, added, seen = (np.zeros(_ROOM, np.int64) for _ in range(3))
        cells, pool = np.zeros(4 * _ROOM, np.uint64), np.zeros(16 * _ROOM, np.uint8)
        self.table = Table(cells, pool, offsets, added, seen, counts)

    def update(self) -> None:
        """Decode the names that were added to the table; they hold no zero bytes, their padding does."""
        counts, offsets = self.table.counts, self.table.offsets
        first, last = len(self.names), int(counts[NAMES])
        if first < last:
            bounds = (offsets[first : last + 1] - offsets[first]).tolist()
            text = self.table.pool[offsets[first] : offsets[last]].tobytes()
            self.names += [self._decode(text[a:b].rstrip(b"\0")) for a, b in pairwise(bounds)]

    def code(self, name: Name) -> int:
        """The code of a name that the careful reader has found."""
        self.update()
        known = self._codes.get(name)
        if known is not None:
            return known
        text = self._encode(name)
        code = self._add_odd(name) if text is None else self._add(text)
        self._codes[name] = code
        return code

    def _add(self, text: bytes) -> int:
        padded = np.frombuffer(text + PADDING, np.uint8)
        while (code := intern_one(padded.copy(), len(text), self.table)) < 0:
            self.grow(len(text))
        self.update()
        return code

    def _add_odd(self, name: Name) -> int:
        """A code for a name that only the careful reader meets: it has no bytes."""
        counts = self.table.counts
        code = int(counts[NAMES])
        if code + 2 > len(self.table.offsets):
            self.grow(0)
        self.table.offsets[code + 1] = counts[BYTES]
        counts[NAMES] = code + 1
        self.names.append(name)
        return code

    def grow(self, length: int = 0) -> None:
        """Double the room for names, with room for one of so many bytes."""
        cells, pool, offsets, added, seen, counts = self.table
        larger = np.zeros(2 * len(cells), np.uint64)
        refill(cells, larger, counts)
        offsets, added, seen = (np.concatenate([x, np.zeros_like(x)]) for x in (offsets, added, seen))
        pool = np.concatenate([pool, np.zeros(len(pool) + 2 * length, np.uint8)])
        self.table = Table(larger, pool, offsets, added, seen, counts)
