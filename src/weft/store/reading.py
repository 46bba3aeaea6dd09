"""Model files as bytes: the whole of one, read once, or the digest at its end."""

import os
import stat
from typing import IO, Any

import numpy as np

from weft.storage.memory import LINE
from weft.store.codec import START, first_array
from weft.store.digests import DIGEST
from weft.store.problems import explaining


def read_file(path: str | os.PathLike[str]) -> memoryview:
    """The bytes of a model file, in memory so that its arrays begin with a cache line: nothing has to copy them."""
    try:
        with explaining(path, "read"), open(path, "rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            start = _read_up_to(file, START)
            shift = -first_array(start) % LINE
            room = _room(shift, (found.st_size if stat.S_ISREG(found.st_mode) else 0) + LINE)
            at = len(start)
            room[:at] = start
            while count := file.readinto(room[at:]):
                at += count
                if at == len(room):  # a pipe, or a file that grows
                    room, before = _room(shift, 2 * at), room
                    room[:at] = before
            return room[:at].toreadonly()
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no model file {os.fspath(path)}") from None


def stored_digest(path: str | os.PathLike[str]) -> str | None:
    """The digest that stands at the end of a model file, None if there is no file.

    It tells complete model files apart without reading them. It does not tell whether the bytes before it are those
    that it is the digest of: whoever loads a file finds that out.
    """
    try:
        with explaining(path, "read"), open(path, "rb", buffering=0) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - DIGEST))
            return _read_up_to(file, DIGEST).hex()
    except FileNotFoundError:
        return None


def _room(shift: int, size: int) -> memoryview:
    """Bytes that begin so far behind the beginning of a cache line."""
    room: Any = np.empty(size + 2 * LINE, np.uint8)
    first = -room.ctypes.data % LINE + shift
    return memoryview(room)[first : first + size]


def _read_up_to(file: IO[bytes], size: int) -> bytes:
    found = b""
    while len(found) < size and (more := file.read(size - len(found))):
        found += more
    return found
