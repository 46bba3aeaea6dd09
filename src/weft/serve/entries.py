"""Entries of the log: everything that changes a model, in the order in which it was changed.

An entry holds all that is needed to do it again, so that the log alone rebuilds the model. Entries are numbered from 1
on; a group of entries that were committed together is one blob.
"""

import zlib
from typing import Any

import msgspec

Row = dict[str, float] | list[float]
Task = str | int | tuple[Any, ...]
Label = float | str | bool


class Learn(msgspec.Struct, array_like=True, tag="learn", frozen=True, gc=False):
    """An event to learn. `x` is a row, or a record of the model's schema, of which task and label are parts."""

    task: Task | None
    x: Row | None
    y: Label | None = None
    weight: float = 1.0
    id: str | None = None
    record: dict[str, Any] | None = None


class Remember(msgspec.Struct, array_like=True, tag="remember", frozen=True, gc=False):
    """A prediction whose label will come later; it changes no model. `at`: seconds since 1970."""

    id: str
    at: float
    task: Task | None
    x: Row | None
    record: dict[str, Any] | None = None


class Feedback(msgspec.Struct, array_like=True, tag="feedback", frozen=True, gc=False):
    """The label of a remembered prediction, which is learned now, with the event that it belongs to."""

    id: str
    task: Task | None
    x: Row | None
    y: Label
    record: dict[str, Any] | None = None


class Correct(msgspec.Struct, array_like=True, tag="correct", frozen=True, gc=False):
    """Another label for an event that was learned: recorded, and learned by `weft replay --corrected` only."""

    id: str
    y: Label


class Forget(msgspec.Struct, array_like=True, tag="forget", frozen=True, gc=False):
    """A task to remove from the model."""

    task: Task


class Policy(msgspec.Struct, array_like=True, tag="policy", frozen=True, gc=False):
    """What a task gives to others and receives from them, from here on."""

    task: Task
    gives: bool
    receives: bool


class Gone(msgspec.Struct, array_like=True, tag="gone", frozen=True, gc=False):
    """What an entry of a forgotten task leaves in its place; also the entry of a compaction, which changes nothing."""


Entry = Learn | Remember | Feedback | Correct | Forget | Policy | Gone

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Entry])


def encode(entries: list[Entry]) -> bytes:
    """A group of entries as one blob."""
    return _encoder.encode(entries)


def decode(blob: bytes) -> list[Entry]:
    """The entries of a blob; ValueError if it is not one. Names that are lists in the blob are tuples again."""
    try:
        return [_with_tuples(entry) for entry in _decoder.decode(blob)]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"a group of entries cannot be read: {error}") from None


def checksum(seq: int, count: int, blob: bytes) -> int:
    """CRC-32 of a group, seeded by its place: a group at another place has another one."""
    return zlib.crc32(blob, zlib.crc32(seq.to_bytes(8, "little") + count.to_bytes(8, "little")))


def as_task(name: Any) -> Task:
    """A task from JSON or from a blob: lists within it are tuples.

    >>> as_task(["team", ["a", 1]])
    ('team', ('a', 1))
    """
    return tuple(as_task(part) for part in name) if isinstance(name, list | tuple) else name


def _with_tuples(entry: Entry) -> Entry:
    if not isinstance(entry, Correct | Gone) and isinstance(entry.task, tuple):
        return msgspec.structs.replace(entry, task=as_task(entry.task))
    return entry
