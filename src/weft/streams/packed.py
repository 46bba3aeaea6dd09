"""Read events in their packed form (`weft.streams.packing`); everything in the file is checked before it is used."""

import hashlib
import os
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import compiled
from weft.names import Name
from weft.storage.batch import LARGEST, SMALLEST
from weft.storage.lexicon import Lexicon
from weft.streams.events import Events
from weft.streams.packing import (
    BEGINNING,
    CODES,
    FULL,
    HEAD,
    MAGIC,
    NUMBERED,
    ONE,
    ROUNDS,
    SMALL,
    VERSION,
    Head,
    digest_of,
)
from weft.streams.records import MOST_DIGITS, InputError
from weft.streams.tables import Piece, row_numbers

LARGEST_BLOCK = 1 << 28
"""Bytes of a block."""
_MOST_INDICES = 1 << 31


class _Damaged(Exception):
    """Something in a block is not what it must be."""


class Packed:
    """A packed file of events."""

    def __init__(self, path: str) -> None:
        self.name = path
        self.tasks, self.labels = Lexicon(), Lexicon()
        self._file = open(path, "rb")  # noqa: SIM115 (closed with the object)
        self._size = os.fstat(self._file.fileno()).st_size
        head = self._file.read(BEGINNING.size)
        if len(head) < BEGINNING.size or not head.startswith(MAGIC):
            raise InputError(f"{path}: the packed file is truncated; pack the events again")
        _, version, flags = BEGINNING.unpack(head)
        if version != VERSION or flags & ~(NUMBERED | ROUNDS):
            raise InputError(f"{path}: packed by another version of weft (form {version}); pack the events again")
        self.features: Lexicon | None = None if flags & NUMBERED else Lexicon()
        self._has_rounds = bool(flags & ROUNDS)
        self._heads = self._read_heads()
        self.rows = sum(head.events for _, head in self._heads)
        self._ends = np.cumsum([head.events for _, head in self._heads])
        self._seen = np.zeros(1024, np.int64)

    def __del__(self) -> None:
        if "_file" in self.__dict__:
            self._file.close()

    def _read_heads(self) -> list[tuple[int, Head]]:
        """Where every block begins, and its head; the lengths must add up to the length of the file."""
        found: list[tuple[int, Head]] = []
        at = BEGINNING.size
        while at < self._size:
            self._file.seek(at)
            data = self._file.read(HEAD.size)
            if len(data) < HEAD.size:
                raise self._damaged(len(found), "its head is cut short")
            head = Head(*HEAD.unpack(data))
            if head.payload > min(LARGEST_BLOCK, self._size - at - HEAD.size) or head.events == 0:
                raise self._damaged(len(found), "its length is wrong")
            found.append((at, head))
            at += HEAD.size + head.payload
        return found

    def _damaged(self, block: int, reason: str) -> InputError:
        return InputError(
            f"{self.name}, block {block + 1}: the packed file is damaged ({reason}); pack the events again"
        )

    def digest(self, rows: int) -> str:
        """Of the blocks that hold the first rows."""
        count = int(np.searchsorted(self._ends, rows)) + 1 if rows else 0
        found = hashlib.blake2b(digest_size=16)
        for _, head in self._heads[:count]:
            found.update(head.digest)
        return found.hexdigest()

    def pieces(self) -> Iterator[Piece]:
        """The blocks."""
        done = 0
        for number, (at, head) in enumerate(self._heads):
            try:
                events = self._events(at, done)
            except _Damaged as error:
                raise self._damaged(number, str(error)) from None
            done += head.events
            yield Piece(events, [], done)

    def _events(self, at: int, done: int) -> Events:
        self._file.seek(at)
        data = self._file.read(HEAD.size)
        head = Head(*HEAD.unpack(data))
        payload = self._file.read(head.payload)
        if len(payload) < head.payload or digest_of(data, payload) != head.digest:
            raise _Damaged("its digest is wrong")
        n, entries, columns = head.events, head.entries, _Columns(payload)
        task = columns.take("<u4", n).astype(np.int64)
        length = columns.integers(head.length_kind, n)
        label = columns.floats(head.label_kind, n, "<i1")
        widths = columns.take("<u4", n).astype(np.int64) if head.width_kind == FULL else None
        indices = columns.take("<u4", entries).astype(np.int64)
        values = columns.floats(head.value_kind, entries, "<f4")
        _add_names(self.tasks, columns.text(head.tasks))
        if self.features is not None:
            _add_names(self.features, columns.text(head.features))
        elif head.features:
            raise _Damaged("numbered features have names")
        rounds = _rounds(columns.text(head.rounds), n) if self._has_rounds else None
        if columns.at != len(payload):
            raise _Damaged("it is longer than its columns")
        indptr = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        if indptr[-1] != entries or task.max() >= len(self.tasks) or np.any(np.isinf(label)):
            raise _Damaged("its columns contradict each other")
        width = self._widths(indptr, indices, values, widths)
        return Events(row_numbers(done, n), label, task, indptr, indices, values, width, rounds)

    def _widths(self, indptr: Ints, indices: Ints, values: Floats, widths: Ints | None) -> Ints:
        """Check all rows; the widths of numbered ones."""
        is_numbered = self.features is None
        limit = _MOST_INDICES if self.features is None else len(self.features)
        if not is_numbered and limit > len(self._seen):
            self._seen = np.concatenate([self._seen, np.zeros(limit, np.int64)])
        if _wrong_row(indptr, indices, values, limit, is_numbered, self._seen) >= 0:
            raise _Damaged("a row is not a row")
        least = np.zeros(len(indptr) - 1, np.int64)
        if not is_numbered:
            return least
        filled = np.diff(indptr) > 0
        least[filled] = indices[indptr[1:][filled] - 1] + 1
        if widths is not None and (np.any(widths < least) or widths.max() > _MOST_INDICES):
            raise _Damaged("a width is too small or too large")
        return least if widths is None else widths


class _Columns:
    """The columns of a payload, one after the other."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self.at = 0

    def take(self, kind: str, count: int) -> Any:
        """The next `count` numbers."""
        size = np.dtype(kind).itemsize * count
        if self.at + size > len(self._payload):
            raise _Damaged("it is shorter than its columns")
        found = np.frombuffer(self._payload, kind, count, self.at)
        self.at += size
        return found

    def text(self, count: int) -> bytes:
        """The next `count` bytes."""
        return bytes(self.take("u1", count))

    def integers(self, kind: int, count: int) -> Ints:
        """A column of lengths."""
        if kind == ONE:
            return np.full(count, self.take("<u4", 1)[0], np.int64)
        if kind not in (SMALL, FULL):
            raise _Damaged("a column is of an unknown kind")
        return np.array(self.take("<u2" if kind == SMALL else "<u4", count), np.int64)

    def floats(self, kind: int, count: int, small: str) -> Floats:
        """A column of labels or values."""
        if kind == ONE:
            return np.full(count, self.take("<f8", 1)[0], np.float64)
        if kind == CODES:
            table = self.take("<f8", 256).astype(np.float64)
            return np.asarray(table[self.take("u1", count)])
        if kind not in (SMALL, FULL):
            raise _Damaged("a column is of an unknown kind")
        return np.array(self.take(small if kind == SMALL else "<f8", count), np.float64)


def _add_names(lexicon: Lexicon, text: bytes) -> None:
    before = len(lexicon)
    names = [_name(name) for name in _json(text, list[Any])] if text else []
    for name in names:
        lexicon.code(name)
    if len(lexicon) != before + len(names):
        raise _Damaged("a name appears twice")


def _name(value: Any, depth: int = 0) -> Name:
    if isinstance(value, list) and value and depth < 16:
        return tuple(_name(part, depth + 1) for part in value)
    if isinstance(value, str) or (
        isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**MOST_DIGITS
    ):
        return value
    raise _Damaged("a name is not a name")


def _rounds(text: bytes, n: int) -> list[Any]:
    runs = _json(text, list[tuple[int | str, int]])
    if any(count < 1 for _, count in runs) or sum(count for _, count in runs) != n:
        raise _Damaged("its rounds do not add up to its events")
    return [number for number, count in runs for _ in range(count)]


def _json(text: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        raise _Damaged("its names cannot be read") from None


@compiled
def _wrong_row(indptr: Ints, indices: Ints, values: Floats, limit: int, is_numbered: bool, seen: Ints) -> int:
    """The first row with an index out of range, a feature twice, or a value out of range; -1 if there is none."""
    for r in range(indptr.shape[0] - 1):
        for e in range(indptr[r], indptr[r + 1]):
            index, size = indices[e], abs(values[e])
            if index < 0 or index >= limit or not size <= LARGEST:
                return r
            if is_numbered:
                if size < SMALLEST or (e > indptr[r] and index <= indices[e - 1]):
                    return r
            elif seen[index] == r + 1:
                return r
            else:
                seen[index] = r + 1
    if not is_numbered:
        for e in range(indices.shape[0]):
            seen[indices[e]] = 0
    return -1
