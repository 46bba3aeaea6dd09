"""Where a message belongs: the shard of its task, or of the prediction that it labels."""

import re
import secrets
from typing import Any

import msgspec

from weft.cluster.placement import virtual_shard
from weft.encoding.careful import Encoder
from weft.encoding.refused import Refused
from weft.names import Name
from weft.route.placement import Map, Placement
from weft.schema import Schema
from weft.serve.decoding import any_body
from weft.serve.entries import as_task

_MARKED = re.compile(r".+~([0-9a-f]{2})", re.DOTALL)


def message_of(body: bytes) -> Any:
    """What a body holds; None if it is not JSON, which a shard says better."""
    try:
        return any_body(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


class Finder:
    """A map, asked for messages. A shard of None: what is asked for is on its way to another one."""

    def __init__(self, map_: Map) -> None:
        self.map, self.placement = map_, Placement(map_)
        self._encoder = None if map_.schema is None else Encoder(Schema.from_json(map_.schema))

    def number_of(self, message: Any) -> int | None:
        """The virtual shard of a message; None if it has no task that can be used, so that any shard may refuse it."""
        if not isinstance(message, dict):
            return None
        try:
            if isinstance(message.get("record"), dict) and self._encoder is not None:
                task: Name | None = self._encoder.event(message["record"]).task
            else:
                task = as_task(message.get("task"))
            if isinstance(task, str | int | tuple) and not isinstance(task, bool):
                return virtual_shard(task)
        except (Refused, ValueError, TypeError, RecursionError):
            pass
        return None

    def shard_of(self, message: Any) -> str | None:
        """The shard of a message."""
        return self.placement.shard_at(self.number_of(message) or 0)

    def names_of(self, id: Any) -> list[str | None]:
        """The shards that may know a remembered prediction: one, if its id says where it belongs."""
        marked = _MARKED.fullmatch(id) if isinstance(id, str) else None
        if marked:
            return [self.placement.shard_at(int(marked[1], 16))]
        names: list[str | None] = list(self.map.shards)
        return [*names, None] if self.map.moving is not None else names

    def with_id(self, message: Any) -> bytes | None:
        """A prediction to remember, with an id that says where it belongs; None if it has an id, or is none."""
        if not isinstance(message, dict) or message.get("remember") is not True or "id" in message:
            return None
        number = self.number_of(message)
        if number is None:
            return None
        return msgspec.json.encode({**message, "id": f"{secrets.token_urlsafe(16)}~{number:02x}"})
