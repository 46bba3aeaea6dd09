"""The digest at the end of a model file: BLAKE2b of all that stands before it."""

import hashlib
from collections import deque
from typing import Any

DIGEST = 32
"""Bytes of a digest."""

THREAD_FROM = 1 << 22
"""Bytes from which on the digest is computed in a thread of its own, beside who reads or writes them."""

_WAITING = 4  # blocks that may wait for the thread: what they take is bounded


class FileError(ValueError):
    """A file that is not a model file, is damaged, or comes from another version of weft."""


class Digest:
    """The digest of bytes that come block by block, about `size` of them. Leave it as a context to end its thread."""

    def __init__(self, size: int) -> None:
        self._hash = hashlib.blake2b(digest_size=DIGEST)
        self._pool: Any = None
        self._waiting: deque[Any] = deque()
        if size >= THREAD_FROM:
            from concurrent.futures import ThreadPoolExecutor  # takes longer to import than a small file to write

            self._pool = ThreadPoolExecutor(1, "weft-digest")

    def __enter__(self) -> "Digest":
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def update(self, block: Any) -> None:
        """The next bytes, which are not to be changed until the value is known."""
        if self._pool is not None:
            try:
                self._waiting.append(self._pool.submit(self._hash.update, block))
            except RuntimeError:  # no thread can be started here
                self._finish()
                self._pool = None
        if self._pool is None:
            self._hash.update(block)
        elif len(self._waiting) > _WAITING:
            self._waiting.popleft().result()

    def value(self) -> bytes:
        """The digest of all bytes so far."""
        self._finish()
        return self._hash.digest()

    def expect(self, stored: Any) -> None:
        """Raise FileError unless the digest is the one that the file holds."""
        if self.value() != bytes(stored):
            raise FileError("the checksum does not match: the file is truncated or was altered")

    def _finish(self) -> None:
        while self._waiting:
            self._waiting.popleft().result()
