"""The packed form of events, byte by byte: what `weft pack` writes and `weft.streams.packed` reads.

    file       the beginning, then blocks
    beginning  "weftpack", version (u32), flags (u32): 1 if features are numbers, 2 if there are rounds, 4 if the events
               were records with a schema; then the length of a JSON object (u32) and the object, with the schema and
               with some labels, and a digest (16 bytes)
    block      the head, then the payload
    head       events (u32), entries of rows (u32), kinds (four u8: of labels, lengths, widths, values), the lengths of
               three texts (u32), the length of the payload (u64), a digest (16 bytes)
    payload    task (u32 per event), length of the row, label, width, index (u32 per entry), value; then three JSON
               lists: tasks that are new in this block, features that are new, rounds as [name, number of events]
               of records also: the class of every event (i32: a code of labels that are not numbers, or -1), its
               weight (f64, if the schema names one), the length of a JSON object (u32) and the object: labels that are
               new, codes of features that are newly known as numbers of a field, and ids

Numbers are little-endian. The digest is BLAKE2b of the head before it and of the payload. A column has the smallest
type that holds its numbers exactly. Features that are numbers have widths: one more than the largest number that an
event names, which may be one with the value 0; kind 0 says that it is the last one of the row.
"""

import hashlib
import json
import struct
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from weft.labels import SIZE, Label, too_large
from weft.names import Name
from weft.schema import Schema
from weft.storage.lexicon import Lexicon
from weft.streams.chunk import Chunk
from weft.streams.events import Events, joined

MAGIC = b"weftpack"
VERSION = 1
NUMBERED, ROUNDS, RECORDS = 1, 2, 4
BEGINNING = struct.Struct("<8sII")
HEAD = struct.Struct("<II4BIIIQ16s")
LENGTH = struct.Struct("<I")
DIGEST_SIZE = 16
_BLOCK = 1 << 20
"""Events and entries of a block, about."""

ONE, CODES, SMALL, FULL = 0, 1, 2, 3
"""Kinds of columns: one number for all, bytes that are codes of up to 256 numbers, a short type, the full type."""


class Head(NamedTuple):
    """The head of a block."""

    events: int
    entries: int
    label_kind: int
    length_kind: int
    width_kind: int
    value_kind: int
    tasks: int
    features: int
    rounds: int
    payload: int
    digest: bytes


@dataclass(frozen=True)
class Origin:
    """Records that were packed: their schema, and labels of the first of them, by which classes are known."""

    schema: Schema
    labels: tuple[Label, ...] = ()


def beginning(is_numbered: bool, has_rounds: bool, origin: Origin | None = None) -> bytes:
    """How a file begins."""
    flags = NUMBERED * is_numbered + ROUNDS * has_rounds + RECORDS * (origin is not None)
    head = BEGINNING.pack(MAGIC, VERSION, flags)
    if origin is None:
        return head
    text = json.dumps({"schema": origin.schema.to_json(), "labels": list(origin.labels)}).encode()
    head += LENGTH.pack(len(text)) + text
    return head + hashlib.blake2b(head, digest_size=DIGEST_SIZE).digest()


def digest_of(head: bytes, payload: Any) -> bytes:
    """Of a block: its head without the digest, and its payload."""
    found = hashlib.blake2b(head[:-DIGEST_SIZE], digest_size=DIGEST_SIZE)
    found.update(payload)
    return found.digest()


def pack_block(
    events: Events, tasks: list[Name], features: list[Name], is_numbered: bool, further: bytes = b""
) -> bytes:
    """A block of events, with the names that are new in it; `further` is what only records have."""
    lengths = np.diff(events.indptr)
    label_kind, label = _packed(events.label, "<i1")
    length_kind, length = _packed_lengths(lengths)
    width_kind, width = _packed_widths(events, lengths) if is_numbered else (ONE, b"")
    value_kind, value = _packed(events.values, "<f4")
    texts = [_names(tasks), _names(features), b"" if events.rounds is None else _rounds(events.rounds)]
    columns = [events.task.astype("<u4").tobytes(), length, label, width, events.indices.astype("<u4").tobytes(), value]
    payload = b"".join([*columns, *texts, further])
    kinds = (label_kind, length_kind, width_kind, value_kind)
    sizes = (len(events), len(events.indices))
    head = HEAD.pack(*sizes, *kinds, *map(len, texts), len(payload), b"")
    return head[:-DIGEST_SIZE] + digest_of(head, payload) + payload


def _names(names: list[Name]) -> bytes:
    return json.dumps(names, ensure_ascii=False, separators=(",", ":")).encode() if names else b""


def _rounds(rounds: list[Any]) -> bytes:
    runs: list[list[Any]] = []
    for number in rounds:
        if runs and runs[-1][0] == number:
            runs[-1][1] += 1
        else:
            runs.append([number, 1])
    return json.dumps(runs, ensure_ascii=False, separators=(",", ":")).encode()


def _packed(numbers: Any, small: str) -> tuple[int, bytes]:
    """The smallest form of a column of numbers: the same bits when it is unpacked, NaN included."""
    bits = numbers.view(np.int64)
    if len(bits) and np.all(bits == bits[0]):
        return ONE, numbers[:1].astype("<f8").tobytes()
    distinct = np.unique(bits[:4096])
    if len(distinct) <= 256 and len(distinct := np.unique(bits)) <= 256:
        table = np.zeros(256, np.int64)
        table[: len(distinct)] = distinct
        return CODES, table.astype("<i8").tobytes() + np.searchsorted(distinct, bits).astype("u1").tobytes()
    with np.errstate(invalid="ignore", over="ignore"):
        short = numbers.astype(small)
        if np.array_equal(short.astype(np.float64).view(np.int64), bits):
            return SMALL, short.tobytes()
    return FULL, numbers.astype("<f8").tobytes()


def _packed_lengths(lengths: Any) -> tuple[int, bytes]:
    if len(lengths) and np.all(lengths == lengths[0]):
        return ONE, lengths[:1].astype("<u4").tobytes()
    if not len(lengths) or lengths.max() < 1 << 16:
        return SMALL, lengths.astype("<u2").tobytes()
    return FULL, lengths.astype("<u4").tobytes()


def _packed_widths(events: Events, lengths: Any) -> tuple[int, bytes]:
    last = np.zeros(len(events), np.int64)
    filled = lengths > 0
    last[filled] = events.indices[events.indptr[1:][filled] - 1] + 1
    if np.array_equal(last, events.width):
        return ONE, b""
    return FULL, events.width.astype("<u4").tobytes()


class PackWriter:
    """Writes chunks, of one or of several files, as one packed file."""

    def __init__(self, file: Any, origin: Origin | None = None) -> None:
        """`origin`: the events were records."""
        self._file, self._origin = file, origin
        self._tasks, self._features, self._labels = _Recoded(), _Recoded(), _Recoded()
        self._fields, self._new_fields = set[int](), list[int]()
        self._form: tuple[bool, bool] | None = None
        self._waiting: list[Events] = []
        self._size = 0

    def add(self, chunk: Chunk) -> None:
        """Write the events of a chunk."""
        events = chunk.events
        if self._origin is None and events.weight is not None:
            at = int(np.argmax(events.weight != 1.0))
            raise ValueError(
                f"line {events.line[at]}: weight {events.weight[at]:g}; events without a schema are packed without "
                "weights, learn the file as it is, or write records with the weight in a field"
            )
        form = chunk.feature_names is None, events.rounds is not None
        if self._form is None:
            self._form = form
            self._size += self._file.write(beginning(*form, self._origin))
        if form != self._form:
            raise ValueError(
                "some files have numbered features or rounds and others have not; pack each kind into a file of its own"
            )
        task = self._tasks.codes(events.task, chunk.task_names)
        indices = events.indices
        if chunk.feature_names is not None:
            indices = self._features.codes(indices, chunk.feature_names)
        events = replace(events, task=task, indices=indices)
        self._waiting.append(events if self._origin is None else self._with_classes(events, chunk))
        if sum(len(part.indices) + len(part) for part in self._waiting) >= _BLOCK:
            self._write()

    def finish(self) -> int:
        """Write what is left; returns the number of bytes."""
        self._write()
        return self._size

    def _write(self) -> None:
        if self._waiting and self._form:
            whole = joined(self._waiting)
            self._waiting = []
            further = b"" if self._origin is None else self._further(whole, self._origin)
            block = pack_block(whole, self._tasks.new(), self._features.new(), self._form[0], further)
            self._size += self._file.write(block)

    def _with_classes(self, events: Events, chunk: Chunk) -> Events:
        """The events of records with codes of this file instead of their own."""
        large = np.flatnonzero(too_large(events.label))
        if len(large):
            line, label = int(events.line[large[0]]), events.label[large[0]]
            raise ValueError(f"line {line}: label {label:g} is too large; {SIZE}")
        classes = np.full(len(events), -1, np.int64) if events.classes is None else events.classes.copy()
        is_class = classes >= 0
        classes[is_class] = self._labels.codes(classes[is_class], chunk.meaning.labels)
        if chunk.feature_names is not None:
            fields = self._features.used(chunk.feature_names.fields) - self._fields
            self._fields |= fields
            self._new_fields += sorted(fields)
        return replace(events, classes=classes)

    def _further(self, events: Events, origin: Origin) -> bytes:
        """What only records have."""
        fields, self._new_fields = self._new_fields, []
        found: dict[str, Any] = {"labels": self._labels.new(), "fields": fields, "ids": events.ids}
        try:
            text = json.dumps(found).encode()
        except TypeError as error:
            raise ValueError(f"an id cannot be packed ({error}); make ids numbers or strings") from None
        classes = b"" if events.classes is None else events.classes.astype("<i4").tobytes()
        weight = b""
        if origin.schema.weight is not None and events.weight is not None:
            weight = events.weight.astype("<f8").tobytes()
        return classes + weight + LENGTH.pack(len(text)) + text


class _Recoded:
    """Codes of several lexicons as codes of one, in the order in which names are used."""

    def __init__(self) -> None:
        self._lexicon = Lexicon()
        self._written = 0
        self._source: Lexicon | None = None
        self._map: Any = np.zeros(0, np.int64)

    def codes(self, codes: Any, source: Lexicon) -> Any:
        """The same names as codes of this lexicon."""
        if source is not self._source:
            self._source, self._map = source, np.zeros(0, np.int64)
        if len(self._map) < len(source):
            grown = np.full(max(len(source), 2 * len(self._map)), -1, np.int64)
            grown[: len(self._map)] = self._map
            self._map = grown
        missing = codes[self._map[codes] < 0]
        if len(missing):
            found, first = np.unique(missing, return_index=True)
            for code in found[np.argsort(first)].tolist():
                self._map[code] = self._lexicon.code(source.names[code])
        return self._map[codes]

    def used(self, codes: set[int]) -> set[int]:
        """Those of some codes of the source that was used last that are in use here, as codes of this lexicon."""
        found = self._map[np.fromiter(codes, np.int64, len(codes))]
        return set(found[found >= 0].tolist())

    def new(self) -> list[Name]:
        """The names since the last call."""
        begin, self._written = self._written, len(self._lexicon)
        return self._lexicon.names[begin:]
