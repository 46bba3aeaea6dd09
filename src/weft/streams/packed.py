"""Read events in their packed form (`weft.streams.packing`); everything in the file is checked before it is used."""

import hashlib
import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import compiled
from weft.encoding.careful import LARGEST_WEIGHT
from weft.labels import expect_label
from weft.names import Name
from weft.schema import Schema
from weft.storage.batch import LARGEST, SMALLEST
from weft.storage.lexicon import Lexicon
from weft.streams.events import Events
from weft.streams.packing import (
    BEGINNING,
    CODES,
    DIGEST_SIZE,
    FULL,
    HEAD,
    LENGTH,
    MAGIC,
    NUMBERED,
    ONE,
    RECORDS,
    ROUNDS,
    SMALL,
    VERSION,
    Head,
    Origin,
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
        if version != VERSION or flags & ~(NUMBERED | ROUNDS | RECORDS):
            raise InputError(f"{path}: packed by another version of weft (form {version}); pack the events again")
        self._first = BEGINNING.size
        self.origin: Origin | None = self._read_origin(head) if flags & RECORDS else None
        self.features: Lexicon | None = None if flags & NUMBERED else Lexicon()
        self._has_rounds = bool(flags & ROUNDS)
        self._heads = self._read_heads()
        self.rows = sum(head.events for _, head in self._heads)
        self._ends = np.cumsum([head.events for _, head in self._heads])
        self._seen = np.zeros(1024, np.int64)

    def __del__(self) -> None:
        if "_file" in self.__dict__:
            self._file.close()

    def _read_origin(self, head: bytes) -> Origin:
        """The schema of records, which stands behind the beginning of the file."""
        data = self._file.read(LENGTH.size)
        size = LENGTH.unpack(data)[0] if len(data) == LENGTH.size else 0
        text = self._file.read(min(size, self._size))
        digest = self._file.read(DIGEST_SIZE)
        self._first = self._file.tell()
        if hashlib.blake2b(head + data + text, digest_size=DIGEST_SIZE).digest() != digest:
            raise InputError(f"{self.name}: the schema of the packed file is damaged; pack the records again")
        try:
            found = _json(text, dict[str, Any])
            return Origin(Schema.from_json(found["schema"]), tuple(map(expect_label, found["labels"])))
        except (_Damaged, KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{self.name}: the schema of the packed file cannot be used ({error}); pack the records again"
            ) from None

    def _read_heads(self) -> list[tuple[int, Head]]:
        """Where every block begins, and its head; the lengths must add up to the length of the file."""
        found: list[tuple[int, Head]] = []
        at = self._first
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
        further = _Further() if self.origin is None else self._read_further(columns, n, self.origin.schema)
        if columns.at != len(payload):
            raise _Damaged("it is longer than its columns")
        indptr = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        if indptr[-1] != entries or task.max() >= len(self.tasks) or np.any(np.isinf(label)):
            raise _Damaged("its columns contradict each other")
        if further.classes is not None and not np.all(np.isnan(label[further.classes >= 0])):
            raise _Damaged("an event has two labels")
        width = self._widths(indptr, indices, values, widths)
        return Events(row_numbers(done, n), label, task, indptr, indices, values, width, rounds, *further)

    def _read_further(self, columns: "_Columns", n: int, schema: Schema) -> "_Further":
        """What only records have."""
        classes = columns.take("<i4", n).astype(np.int64)
        weight = None if schema.weight is None else np.array(columns.take("<f8", n), np.float64)
        found = _further_names(columns.text(int(columns.take("<u4", 1)[0])))
        for label in found.labels:
            self.labels.code(label)
        if self.features is None or not all(0 <= code < len(self.features) for code in found.fields):
            raise _Damaged("a field is not a feature")
        self.features.fields.update(found.fields)
        if np.any(classes < -1) or np.any(classes >= len(self.labels)):
            raise _Damaged("a label is not one of its labels")
        if weight is not None and not np.all((weight >= 0.0) & (weight <= LARGEST_WEIGHT)):
            raise _Damaged("a weight is out of range")
        if (found.ids is None) != (schema.id is None) or (found.ids is not None and len(found.ids) != n):
            raise _Damaged("its ids are not as many as its events")
        return _Further(classes if np.any(classes >= 0) else None, weight, found.ids)

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


class _Further(NamedTuple):
    """Columns that only records have."""

    classes: Ints | None = None
    weight: Floats | None = None
    ids: list[Any] | None = None


class _FurtherNames(msgspec.Struct, forbid_unknown_fields=True):
    """Names and ids of a block of records."""

    labels: list[str | bool]
    fields: list[int]
    ids: list[Any] | None


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


def _further_names(text: bytes) -> _FurtherNames:
    """Ids may be anything that the reader of JSON lines takes, such as integers of many digits."""
    try:
        return msgspec.convert(json.loads(text), _FurtherNames)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        raise _Damaged("its labels and ids cannot be read") from None


def origin_of(path: str) -> Origin | None:
    """The schema of the records of a packed file; None if it holds events without one."""
    return Packed(path).origin


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
