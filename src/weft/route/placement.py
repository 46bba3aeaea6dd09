"""The map of a router: which shard serves which virtual shards, and which of them are on their way to another one.

{"format": 1, "version": 3, "shards": {"a": {"url": "http://10.0.0.1:8765", "virtual": "0-127"}, ...},
 "moving": {"virtual": "64-95", "source": "a", "target": "b"}, "schema": null}
"""

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from weft.cluster.placement import VIRTUAL_SHARDS, expect_shards, virtual_shard
from weft.names import Name
from weft.schema import Schema
from weft.store.digests import FileError
from weft.store.files import write_atomic
from weft.store.problems import explaining

FORMAT = 1


class Shard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A service, and the virtual shards that it serves."""

    url: str
    virtual: str = ""


class Moving(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Virtual shards that are on their way: nobody serves them."""

    virtual: str
    source: str
    target: str


class Map(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which shard serves what. `version` grows with every change."""

    format: int = FORMAT
    version: int = 1
    shards: dict[str, Shard]
    moving: Moving | None = None
    schema: dict[str, Any] | None = None
    """The schema of records, as in the configuration of the shards."""

    def owners(self) -> list[str]:
        """The shard of each virtual shard; ValueError unless each has one."""
        found: dict[int, str] = {}
        for name, shard in self.shards.items():
            for number in numbers_of(shard.virtual):
                if number in found:
                    raise ValueError(f"virtual shard {number} is served by {found[number]} and by {name}; take one out")
                found[number] = name
        missing = next((number for number in range(VIRTUAL_SHARDS) if number not in found), None)
        if missing is not None:
            raise ValueError(f"virtual shard {missing} is served by no shard; every one from 0 to 255 needs one")
        return [found[number] for number in range(VIRTUAL_SHARDS)]

    def check(self) -> "Map":
        """Itself; ValueError if it cannot be used."""
        self.owners()
        for name, shard in self.shards.items():
            parts = urlsplit(shard.url)
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
                raise ValueError(f"the address of the shard {name} is {shard.url!r}; write http://HOST:PORT")
        if self.moving is not None:
            moved = numbers_of(self.moving.virtual)
            for name in (self.moving.source, self.moving.target):
                if name not in self.shards:
                    raise ValueError(f"there is no shard {name!r}; there are {', '.join(self.shards)}")
            if not moved <= numbers_of(self.shards[self.moving.source].virtual):
                raise ValueError(f"not all of the virtual shards {self.moving.virtual} are at {self.moving.source}")
        if self.schema is not None:
            Schema.from_json(self.schema)
        return self


class Placement:
    """A map, ready to be asked."""

    def __init__(self, map_: Map) -> None:
        self.map = map_
        self.version = map_.version
        self._owners = map_.owners()
        self._moving = frozenset(numbers_of(map_.moving.virtual)) if map_.moving else frozenset()

    def shard_at(self, number: int) -> str | None:
        """The shard of a virtual shard; None while that is on its way."""
        return None if number in self._moving else self._owners[number]

    def shard_of(self, task: Name) -> str | None:
        """The shard of a task; None while the task is on its way."""
        return self.shard_at(virtual_shard(task))


def numbers_of(text: str) -> set[int]:
    """Virtual shards as they are written.

    >>> sorted(numbers_of("0-3,7"))
    [0, 1, 2, 3, 7]
    """
    found: set[int] = set()
    for part in text.split(",") if text else []:
        first, dash, last = part.strip().partition("-")
        last = last if dash else first
        if not (first.isascii() and first.isdigit() and last.isascii() and last.isdigit()):
            raise ValueError(f"{text!r} does not name virtual shards; write them like 0-127,200")
        if not int(first) <= int(last) < VIRTUAL_SHARDS:
            raise ValueError(f"{part!r} does not lie within 0 to {VIRTUAL_SHARDS - 1}, in this order")
        found.update(range(int(first), int(last) + 1))
    return found


def text_of(numbers: set[int]) -> str:
    """The same, written.

    >>> text_of({0, 1, 2, 3, 7})
    '0-3,7'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def evenly(shards: int) -> list[str]:
    """As many virtual shards for each of some shards: those of `weft.cluster.shard_of`.

    >>> evenly(3)
    ['0-85', '86-170', '171-255']
    """
    expect_shards(shards)
    whole = range(VIRTUAL_SHARDS)
    return [text_of({number for number in whole if number * shards // len(whole) == at}) for at in range(shards)]


def read_map(path: str | os.PathLike[str]) -> Map:
    """The map in a file; FileError if it cannot be used."""
    with explaining(path, "read"):
        data = Path(path).read_bytes()
    try:
        found = msgspec.json.decode(data, type=Map)
        if found.format != FORMAT:
            raise ValueError(f"it has format {found.format}, this weft reads format {FORMAT}; use a newer weft")
        return found.check()
    except (ValueError, UnicodeDecodeError) as error:  # msgspec's errors are ValueErrors
        raise FileError(f"{path} is not the map of a router: {error}") from None


def write_map(path: str | os.PathLike[str], map_: Map) -> None:
    """Replace the map at once."""
    text = json.dumps(msgspec.to_builtins(map_.check()), indent=2, ensure_ascii=False)
    write_atomic(Path(path), (text + "\n").encode())
