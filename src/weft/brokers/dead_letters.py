"""Messages that could not be used, in a file: one JSON object per line, each message once."""

import base64
import json
import os
import threading
from pathlib import Path

from weft.brokers.broker import Message
from weft.store.problems import explaining

KNOWN = 200_000
"""Messages that are recognised when they come again, as they do after a kill: the last ones in the file."""


class DeadLetters:
    """The file. A line is on disk before the position behind its message is saved, and is not written a second time."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        with explaining(Path(path), "write"):
            self._file = open(path, "a+b")  # noqa: SIM115  # closed by `close`
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str, str], None] = {}
        self._read()

    def _read(self) -> None:
        """What is there already. A line that a killed process did not finish is taken back."""
        self._file.seek(0)
        end = 0
        for line in self._file:
            if not line.endswith(b"\n"):
                self._file.truncate(end)
                break
            end += len(line)
            try:
                found = json.loads(line)
                self._remember((found["source"], found["partition"], found["after"]))
            except (ValueError, KeyError, TypeError):
                continue  # somebody else's line
        self._file.seek(0, os.SEEK_END)

    def _remember(self, key: tuple[str, str, str]) -> None:
        self._known[key] = None
        if len(self._known) > KNOWN:
            del self._known[next(iter(self._known))]

    def write(self, source: str, refused: list[tuple[Message, str]]) -> None:
        """Messages of a source, each with the reason; they are on disk afterwards. OSError if that is not possible."""
        with self._lock:
            lines = []
            for message, reason in refused:
                key = (source, message.partition, message.after)
                if key not in self._known:
                    self._remember(key)
                    lines.append(_line(source, message, reason))
            if lines:
                self._file.write(b"".join(lines))
                self._file.flush()
                os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _line(source: str, message: Message, reason: str) -> bytes:
    try:
        content = {"value": message.value.decode()}
    except UnicodeDecodeError:
        content = {"base64": base64.b64encode(message.value).decode()}
    told = {"source": source, "partition": message.partition, "after": message.after, "error": reason}
    return json.dumps(told | content).encode() + b"\n"
