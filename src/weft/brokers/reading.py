"""Messages as chunks of a stream: each message is a line of JSON for the readers of files."""

import json
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from weft.brokers.broker import Broker, Message, Positions
from weft.streams.blocks import Blocks
from weft.streams.chunk import Chunk
from weft.streams.formats import line_reader
from weft.streams.records import Rules
from weft.streams.source import Position

Told = Callable[[list[tuple[Message, str]]], None]
"""Is told of messages that could not be used, each with the reason."""


class Messages:
    """A broker as a source of lines. What was not used yet is kept, to know which message a line was."""

    is_file = is_stdin = False
    share = None

    def __init__(self, broker: Broker, name: str, on_wait: Callable[[], None], idle: float | None) -> None:
        """`on_wait` is called several times a second, and may raise; reading ends after `idle` seconds of silence."""
        self.name = name
        self._broker = broker
        self._on_wait = on_wait
        self._idle = idle
        self._rest = memoryview(b"")
        self._given: deque[Message] = deque()
        self._used = 0
        self._heard = time.monotonic()

    def readinto(self, room: memoryview) -> int:
        """Fill `room` with lines, as many as there are at once; 0 when the broker is silent."""
        while not self._rest:
            self._on_wait()
            messages = self._broker.read()
            now = time.monotonic()
            if messages or not self._broker.is_ready:
                self._heard = now
            if messages:
                self._given.extend(messages)
                self._rest = memoryview(b"".join(map(_line, messages)))
            elif self._idle is not None and now - self._heard >= self._idle:
                return 0
        count = min(len(room), len(self._rest))
        room[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def use(self, lines: int) -> list[Message]:
        """The messages up to line number `lines`, which are done with."""
        found = [self._given.popleft() for _ in range(lines - self._used)]
        self._used = lines
        return found


def _line(message: Message) -> bytes:
    """A message as a line. Line breaks of JSON stand between values only, where spaces say the same."""
    return message.value.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n"


def read_messages(
    source: Messages, rules: Rules, lines: int, positions: Positions, chunk: int, refused: Told | None
) -> Iterator[Chunk]:
    """Chunks whose positions say where the broker goes on, behind `lines` messages and these positions.

    `refused` is given messages that cannot be used, each with the reason; without it the first one is an error.
    """
    positions = dict(positions)
    reader: Any = line_reader("jsonl", Blocks(source), rules, chunk, refused is not None)  # type: ignore[arg-type]
    for part in reader.chunks():
        first = part.position.lines
        used = source.use(first)
        for message in used:
            positions[message.partition] = message.after
        if part.skipped and refused is not None:
            refused([(used[fault.line - first - 1 + len(used)], str(fault)) for fault in part.skipped])
        yield replace(part, position=Position(lines + first, as_text(positions)), last_round=None)


def as_text(positions: Positions) -> str:
    """Positions as they are kept beside the model, where files have a digest."""
    return json.dumps(positions, sort_keys=True)


def positions_of(position: Position) -> Positions:
    """The same, read; ValueError if they are not positions of a broker."""
    try:
        found = json.loads(position.digest)
        if isinstance(found, dict) and all(isinstance(value, str) for value in found.values()):
            return found
    except ValueError:
        pass
    raise ValueError("the progress file has no positions of a broker; --restart reads it from the beginning")
