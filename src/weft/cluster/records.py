"""What shards send and get: reports of a shard about a block, and versions of what all shards share.

A version is stored as named arrays with a JSON header and a digest, as model files are.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.compiled.arrays import Array, Ints
from weft.labels import Classes, Label
from weft.names import Names
from weft.store.codec import decode, encode
from weft.store.digests import FileError
from weft.vocabulary import names_as_json, names_from_json

FORMAT = 1


@dataclass
class Outlook:
    """What a shard has found in a block that it has read but not learned: for the version with which it is learned.

    `features` are new names in their order; `labels` those that the block has, as long as classes are not known;
    `first` is the first label if it is a number; `tasks` the number of tasks that the shard will then have.
    """

    events: int = 0
    features: Names = field(default_factory=Names)
    labels: list[Label] = field(default_factory=list)
    first: float | None = None
    tasks: int = 0


@dataclass
class Report:
    """A shard's share of a version: the shared numbers that it has after a block, where the block changed them.

    `arrays` has the rows of the touched features or all of an array; with `before.` in front, as they were before the
    block, which is sent only if the shard did not begin the block with the latest version.
    """

    shard: int
    block: int
    events: int = 0
    touched: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    listed: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    fields: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    arrays: dict[str, Array] = field(default_factory=dict)
    outlook: Outlook = field(default_factory=Outlook)


@dataclass
class Version:
    """What all shards share before they learn the block of this number.

    `arrays` has the rows of the touched features, or all of an array. `events` are those of all shards so far; `end` is
    the number of blocks that there are, as soon as that is known, and `begin` the version with which the run has begun
    or gone on.
    """

    number: int
    events: int = 0
    end: int | None = None
    begin: int = 0
    features: Names = field(default_factory=Names)
    classes: Classes = field(default_factory=Classes)
    first: float | None = None
    tasks: int = 0
    touched: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    listed: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    fields: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    arrays: dict[str, Array] = field(default_factory=dict)
    _bytes: bytes = field(default=b"", init=False, repr=False, compare=False)

    def to_bytes(self) -> bytes:
        """To be sent and stored; a version does not change when it has been."""
        self._bytes = self._bytes or self._encoded()
        return self._bytes

    def _encoded(self) -> bytes:
        header = {
            "version": FORMAT,
            "number": self.number,
            "events": self.events,
            "end": self.end,
            "begin": self.begin,
            "features": names_as_json(self.features),
            "classes": [self.classes.negative, self.classes.positive],
            "first": self.first,
            "tasks": self.tasks,
        }
        lists = {"touched": self.touched, "listed": self.listed, "fields": self.fields}
        return encode(header, lists | {f"array.{name}": array for name, array in self.arrays.items()})

    @classmethod
    def from_bytes(cls, data: bytes) -> "Version":
        """What `to_bytes` wrote."""
        header, arrays = decode(data)
        if header.get("version") != FORMAT:
            raise FileError("this is not a version of what shards share")
        lists: dict[str, Any] = {name: arrays[name] for name in ("touched", "listed", "fields")}
        return cls(
            header["number"],
            header["events"],
            header["end"],
            header["begin"],
            names_from_json(header["features"]),
            Classes(*header["classes"]),
            header["first"],
            header["tasks"],
            **lists,
            arrays=_prefixed(arrays),
        )


def _prefixed(arrays: dict[str, Array]) -> dict[str, Array]:
    return {name.removeprefix("array."): array for name, array in arrays.items() if name.startswith("array.")}
