"""Where bytes come from: a file or standard input, plain or compressed, read in pieces of bounded size."""

import bz2
import gzip
import io
import lzma
import os
import select
import stat
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple

from weft.streams.json_array import JsonLines, needs_lines
from weft.streams.records import InputError

STANDARD_INPUT = "-"
_PATIENCE = 0.1
"""Seconds between two calls of `on_wait`."""
_PIECE = 512
"""Bytes of a zstd file that are unpacked at once: at most some 20 MB come out of them."""


class Position(NamedTuple):
    """How far a source was used: the number of lines, and a digest of their bytes."""

    lines: int
    digest: str


class Compression(NamedTuple):
    """A form of compression: its name, how files begin and end that have it, and how they are opened."""

    name: str
    magic: bytes
    endings: tuple[str, ...]
    open: Callable[[IO[bytes]], Any]


def _zstandard(raw: IO[bytes]) -> Any:
    try:
        import zstandard
    except ImportError:
        raise InputError("a zstd file needs the package zstandard; install it with pip install 'weft[zstd]'") from None
    return io.BufferedReader(_Zstandard(raw, zstandard))


COMPRESSIONS = (
    Compression("gzip", b"\x1f\x8b", (".gz",), lambda raw: gzip.GzipFile(fileobj=raw)),
    Compression("zstd", b"\x28\xb5\x2f\xfd", (".zst", ".zstd"), _zstandard),
    Compression("bz2", b"BZh", (".bz2",), bz2.BZ2File),
    Compression("xz", b"\xfd7zXZ\x00", (".xz",), lzma.LZMAFile),
)


class _Zstandard(io.RawIOBase):
    """The content of a zstd file, one frame after the other; a frame that is cut short is an error."""

    def __init__(self, raw: IO[bytes], package: Any) -> None:
        self._raw = raw
        self._package = package
        self._frame: Any = None
        self._rest = b""
        self._input = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            self._input = self._input or self._raw.read(_PIECE)
            if not self._input:
                if self._frame is not None:
                    raise EOFError("it ends in the middle of a frame")
                return 0
            self._frame = self._frame or self._package.ZstdDecompressor().decompressobj()
            try:
                self._rest = self._frame.decompress(self._input)
            except self._package.ZstdError as error:
                raise EOFError(error) from None
            self._input = b""
            if self._frame.eof:
                self._input, self._frame = self._frame.unused_data, None
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


class _Prefixed(io.RawIOBase):
    """A stream whose first bytes were read already, to see what it is."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._head[: len(buffer)] or self._rest.read1(len(buffer))
        self._head = self._head[len(buffer) :]
        buffer[: len(found)] = found
        return len(found)


class _Waiting(io.RawIOBase):
    """A pipe, a terminal or the like; `on_wait` is called several times a second while there is nothing to read."""

    def __init__(self, raw: Any, on_wait: Callable[[], None], is_own: bool) -> None:
        self._raw = raw
        self.on_wait = on_wait
        self._is_own = is_own

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.on_wait()
        while not select.select([self._raw], [], [], _PATIENCE)[0]:
            self.on_wait()
        count: int = self._raw.readinto(buffer)
        return count

    def read1(self, size: int) -> bytes:
        """What there is, at most `size` bytes."""
        return self.read(size) or b""

    def close(self) -> None:
        """Close what is read from, unless it is standard input."""
        if self._is_own:
            self._raw.close()
        super().close()


def _standard_input(on_wait: Callable[[], None]) -> Any:
    """Standard input without a buffer, so that one can see whether there is anything to read."""
    if sys.stdin is None:
        raise ValueError("standard input is closed; give the name of a file, or redirect something to it")
    buffered: Any = sys.stdin.buffer
    if not isinstance(buffered, io.BufferedReader) or sys.platform == "win32":
        return buffered
    return _Waiting(buffered.raw, on_wait, is_own=False)


_kept: "tuple[Any, Source] | None" = None
"""Standard input whose first bytes were looked at, for the next one who reads it; and what it was then."""


def _taken() -> "Source | None":
    """Standard input as somebody has left it who looked at its first bytes."""
    global _kept
    found, _kept = _kept, None
    return found[1] if found is not None and found[0] is sys.stdin else None


class Source:
    """The bytes of a file or of standard input, unpacked if they are compressed."""

    def __init__(self, source: str | os.PathLike[str], on_wait: Callable[[], None] = lambda: None) -> None:
        """`on_wait` is called several times a second while a pipe or a terminal has nothing to read; it may raise."""
        self.path = os.fspath(source)
        self.is_stdin = self.path == STANDARD_INPUT
        self.name = "standard input" if self.is_stdin else self.path
        self._ahead = b""
        if self.is_stdin and (before := _taken()) is not None:
            self.__dict__ |= before.__dict__
            if isinstance(self._raw, _Waiting):
                self._raw.on_wait = on_wait
            return
        self._raw: Any = _standard_input(on_wait) if self.is_stdin else self._opened()
        self.size: int | None = None
        self.is_file = False
        if not self.is_stdin:
            found = os.fstat(self._raw.fileno())
            self.is_file = stat.S_ISREG(found.st_mode)
            self.size = found.st_size if self.is_file else None
            if not self.is_file and sys.platform != "win32":
                self._raw = _Waiting(self._raw.detach(), on_wait, is_own=True)
        self._compression: Compression | None = None
        try:
            self._content: Any = self._unpacked()
            if needs_lines(self.peek()):
                self._content = io.BufferedReader(JsonLines(self._content, self.name), 1 << 16)
        except BaseException:
            if not self.is_stdin:
                self._raw.close()
            raise

    def _opened(self) -> Any:
        if Path(self.path).is_dir():
            raise InputError(f"{self.name} is a folder; give a file, or - for standard input")
        try:
            return open(self.path, "rb")
        except FileNotFoundError:
            raise FileNotFoundError(
                f"there is no file {self.path}; give a file of events, or - for standard input"
            ) from None

    def _unpacked(self) -> Any:
        """The content: what the first bytes say, else what the name says."""
        head, most = b"", max(len(known.magic) for known in COMPRESSIONS)
        while len(head) < most and (piece := self._raw.read(most - len(head))):
            head += piece
        if self.is_file:
            self._raw.seek(0)
            whole: Any = self._raw
        else:
            whole = io.BufferedReader(_Prefixed(head, self._raw), 1 << 16)
        for known in COMPRESSIONS:
            if head.startswith(known.magic) or (head and self.path.lower().endswith(known.endings)):
                self._compression = known
                return known.open(whole)
        return whole

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *_: object) -> None:
        if not self.is_stdin:
            self._content.close()
            self._raw.close()

    def readinto(self, room: memoryview) -> int:
        """Fill `room` with the next bytes, as many as there are at once; 0 at the end."""
        if self._ahead:
            here, self._ahead = self._ahead[: len(room)], self._ahead[len(room) :]
            room[: len(here)] = here
            return len(here)
        try:
            count: int = self._content.readinto1(room) if not self.is_file else self._content.readinto(room)
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            if self._compression is None and isinstance(error, OSError):
                raise OSError(error.errno, error.strerror, self.name) from None
            if self._compression is None:
                raise
            what = f"the {self._compression.name} file is damaged or truncated"
            raise InputError(f"{self.name}: {what} ({error}); write it again") from None
        return count

    def peek(self) -> bytes:
        """The first bytes of the content, if there are any, which are still to be read."""
        if self._ahead:
            return self._ahead[:4096]
        try:
            return bytes(self._content.peek(4096)[:4096])
        except (EOFError, OSError, zlib.error, lzma.LZMAError):
            return b""  # reading says what is wrong

    def look_ahead(self, is_enough: Callable[[bytes], bool], most: int) -> bytes:
        """The next bytes of standard input, until they are enough or as many as `most`; they are still to be read, here
        or by the next source of standard input. Also those that were read before a signal."""
        global _kept
        ahead, room = b"", memoryview(bytearray(1 << 16))
        try:
            while len(ahead) < most and not is_enough(ahead) and (count := self.readinto(room)):
                ahead += room[:count]
        finally:
            self._ahead = ahead + self._ahead
            _kept = sys.stdin, self
        return ahead

    @property
    def share(self) -> float | None:
        """The fraction of the file that was read, between 0 and 1; None if the size is unknown."""
        return min(1.0, self._raw.tell() / self.size) if self.size else None
