"""Where lines come from: a file, plain or gzip, or standard input; counts and digests what was used."""

import gzip
import hashlib
import os
import sys
import zlib
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

from weft.streams.records import InputError

STANDARD_INPUT = "-"
_BOM = b"\xef\xbb\xbf"


class Position(NamedTuple):
    """How far a source was used: the number of lines, and a digest of their bytes."""

    lines: int
    digest: str


class Source:
    """Lines of bytes. Lines are read ahead with `read` and count as used after `use`."""

    def __init__(self, source: str | os.PathLike[str]) -> None:
        self.path = os.fspath(source)
        self.is_stdin = self.path == STANDARD_INPUT
        self.name = "standard input" if self.is_stdin else self.path
        self._raw, self._lines, self.size = self._open()
        self._hash = hashlib.blake2b(digest_size=16)
        self.used = 0

    def _open(self) -> tuple[IO[bytes], IO[bytes], int | None]:
        if self.is_stdin:
            stream = sys.stdin.buffer
            return stream, stream, None
        if Path(self.path).is_dir():
            raise InputError(f"{self.name} is a folder; give a file, or - for standard input")
        try:
            raw = open(self.path, "rb")  # noqa: SIM115 (closed by __exit__)
        except FileNotFoundError:
            raise FileNotFoundError(
                f"there is no file {self.path}; give a file of events, or - for standard input"
            ) from None
        size = os.fstat(raw.fileno()).st_size
        if self.path.endswith(".gz"):
            return raw, gzip.open(raw), size  # type: ignore[return-value]
        return raw, raw, size

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *_: object) -> None:
        if not self.is_stdin:
            self._lines.close()
            self._raw.close()

    def read(self, count: int) -> list[bytes]:
        """Up to `count` further lines."""
        try:
            lines = list(islice(self._lines, count))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{self.name}: the gzip file is damaged or truncated ({error}); write it again") from None
        return lines

    def use(self, lines: list[bytes]) -> None:
        """Count lines as used."""
        self._hash.update(b"".join(lines))
        self.used += len(lines)

    @property
    def position(self) -> Position:
        """How far the source was used."""
        return Position(self.used, self._hash.hexdigest())

    @property
    def share(self) -> float | None:
        """The fraction of the file that was read, between 0 and 1; None if the size is unknown."""
        if not self.size:
            return None
        return min(1.0, self._raw.tell() / self.size)


def without_mark(lines: list[bytes]) -> list[bytes]:
    """The first lines of a file without the byte order mark that some editors write."""
    return [lines[0].removeprefix(_BOM), *lines[1:]] if lines else lines
