"""Files that are replaced in one piece; a reader finds the old file or the new one, never an incomplete one.

A new file is written beside the real file under a name that nobody can guess, flushed to disk, and moved into place;
then the folder is flushed. Links are followed. What exists and is not a regular file (a device, a pipe, an open
descriptor such as /dev/stdout) is written to and never replaced.
"""

import errno
import io
import os
import re
import secrets
import stat
import sys
import time
from contextlib import suppress
from typing import IO, Any

from weft.cache.open_flags import open_flags
from weft.store.locks import try_lock
from weft.store.problems import explaining

DAY = 86400.0
_LONGEST_NAME = 200  # bytes of the target's name that a temporary name repeats: 255 in all are allowed
_DESCRIPTOR = re.compile(r"/dev/fd/(\d+)|/proc/(self|thread-self|\d+)(?:/task/\d+)?/fd/(\d+)")
_FLAGS = open_flags("O_CLOEXEC", "O_NOCTTY", "O_BINARY")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | open_flags("O_NOFOLLOW") | _FLAGS
_swept: set[str] = set()


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Write all of it, or leave what is there as it is."""
    with Output(path) as output:
        output.write(data)


def expect_place(path: str | os.PathLike[str]) -> None:
    """Refuse what cannot be written to before any work is done: a folder, a file in a folder that is not there."""
    with explaining(path, "write"):
        if descriptor_of(os.fspath(path)) is None:
            real, found = _real_file(path)
            if found is None:
                _expect_folder(path, real)


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether the path is a device, a pipe or an open descriptor: written to as it is, whatever its name."""
    try:
        found = os.stat(path).st_mode
    except OSError:
        return False
    return descriptor_of(os.fspath(path)) is not None or not (stat.S_ISREG(found) or stat.S_ISDIR(found))


class Output:
    """A file that is being written: complete when the block ends, as before if it ends with an error.

    >>> from pathlib import Path; from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with Output(Path(folder) / "a.txt") as output: output.write(b"one")
    ...     Path(folder, "a.txt").read_bytes()
    3
    b'one'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._real = ""
        self._temporary: str | None = None
        self._before: os.stat_result | None = None
        self._file: IO[bytes] = io.BytesIO()  # until it is open

    def __enter__(self) -> "Output":
        try:
            with explaining(self.path, "write"):
                self._open()
        except BaseException:
            self._abandon()
            raise
        return self

    def write(self, data: Any) -> int:
        """Append bytes, or what holds them in one piece; their number."""
        with explaining(self.path, "write"):
            return self._file.write(data)

    def flush(self) -> None:
        """Hand on what was written, to whoever reads a pipe or a terminal."""
        with explaining(self.path, "write"):
            self._file.flush()

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._abandon()
            return
        try:
            with explaining(self.path, "write"):
                self._finish()
        except BaseException:
            self._abandon()
            raise

    def _open(self) -> None:
        if (descriptor := descriptor_of(self.path)) is not None:
            self._file = os.fdopen(os.dup(descriptor), "wb")
            return
        self._real, self._before = _real_file(self.path)
        if self._before is not None and not stat.S_ISREG(self._before.st_mode):
            self._file = os.fdopen(os.open(self._real, os.O_WRONLY | _FLAGS), "wb")
            return
        if self._before is None:
            _expect_folder(self.path, self._real)
        elif not os.access(self._real, os.W_OK):
            raise PermissionError(errno.EACCES, "it is write-protected")
        _sweep(self._real)
        self._temporary, descriptor = _make_temporary(self._real, 0o666 if self._before is None else 0o600)
        self._file = os.fdopen(descriptor, "wb")

    def _finish(self) -> None:
        self._file.flush()
        if self._temporary is None:
            self._file.close()
            return
        descriptor = self._file.fileno()
        if self._before is not None:
            _keep_owner_and_mode(descriptor, self._temporary, self._before)
        os.fsync(descriptor)
        if sys.platform == "win32":
            self._file.close()  # an open file cannot be moved there
        os.replace(self._temporary, self._real)  # before it is closed: its lock keeps others from sweeping it
        self._temporary = None
        self._file.close()
        sync_folder(os.path.dirname(self._real))

    def _abandon(self) -> None:
        """Remove what was written; the error that led here is the one to report."""
        with suppress(OSError):
            if self._temporary is not None:
                os.unlink(self._temporary)
        with suppress(OSError):
            self._file.close()


def descriptor_of(path: str) -> int | None:
    """The descriptor of this process that a path such as /dev/stdout or /dev/fd/3 stands for, if it does."""
    current = os.path.abspath(path)
    for _ in range(40):
        current = os.path.join(os.path.realpath(os.path.dirname(current)), os.path.basename(current))
        found = _DESCRIPTOR.fullmatch(current)
        if found and found[2] in (None, "self", "thread-self", str(os.getpid())):
            return int(found[1] or found[3])
        if not os.path.islink(current):
            return None
        current = os.path.join(os.path.dirname(current), os.readlink(current))
    return None


def _real_file(path: str | os.PathLike[str]) -> tuple[str, os.stat_result | None]:
    """The path without links, and what is there; a folder is refused."""
    name = os.fspath(path)
    real = os.path.realpath(name)
    try:
        found = os.stat(name)
    except FileNotFoundError:
        found = None
    if not name or name.endswith(os.sep) or (found is not None and stat.S_ISDIR(found.st_mode)):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if found is not None and not stat.S_ISREG(found.st_mode):
        real = name  # the name of a pipe of another process in /proc leads nowhere
    return real, found


def _expect_folder(path: str | os.PathLike[str], real: str) -> None:
    folder = os.path.dirname(real)
    if not os.path.isdir(folder):
        shown = os.path.dirname(os.fspath(path)) if not os.path.islink(path) else folder
        raise FileNotFoundError(f"cannot write {os.fspath(path)}: the folder {shown} does not exist")


def _make_temporary(real: str, mode: int) -> tuple[str, int]:
    """A new file beside the real one, locked for as long as it is open: one that is not locked can be swept."""
    for _ in range(100):
        temporary = os.path.join(os.path.dirname(real), f"{_prefix(real)}{secrets.token_hex(8)}.tmp")
        descriptor = os.open(temporary, _NEW, mode)
        try:
            if try_lock(descriptor) is not False and os.fstat(descriptor).st_nlink > 0:
                return temporary, descriptor
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            os.close(descriptor)
            raise
        with suppress(OSError):
            os.unlink(temporary)
        os.close(descriptor)  # it was swept before it was locked: once more
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def _prefix(real: str) -> str:
    name = os.fsencode(os.path.basename(real))[:_LONGEST_NAME]
    return f".{os.fsdecode(name)}.weft-"


def _sweep(real: str) -> None:
    """Once per process and file: remove temporary files of this target that a process left behind when it was killed.

    Only regular files with such a name that belong to this user, and that no process holds locked; where there are no
    locks, those that are older than a day.
    """
    if real in _swept:
        return
    _swept.add(real)
    _remove_like(os.path.dirname(real), re.escape(_prefix(real)))


def sweep_numbered(stem: str) -> None:
    """The same for all targets whose names are `stem` and hexadecimal digits: no name comes twice."""
    name = os.fsdecode(os.fsencode(os.path.basename(stem))[:_LONGEST_NAME])
    _remove_like(os.path.dirname(stem), re.escape(f".{name}") + "[0-9a-f]*[.]weft-")


def _remove_like(folder: str, prefix: str) -> None:
    pattern = re.compile(prefix + "[0-9a-f]{16}[.]tmp")
    with suppress(OSError):
        for name in os.listdir(folder):
            if pattern.fullmatch(name):
                with suppress(OSError):
                    _remove_abandoned(os.path.join(folder, name))


def _remove_abandoned(path: str) -> None:
    descriptor = os.open(path, os.O_RDWR | open_flags("O_NOFOLLOW", "O_NONBLOCK") | _FLAGS)
    try:
        found = os.fstat(descriptor)
        is_own = sys.platform == "win32" or found.st_uid == os.geteuid()
        if stat.S_ISREG(found.st_mode) and is_own:
            locked = try_lock(descriptor)
            if locked or (locked is None and time.time() - found.st_mtime > DAY):
                os.unlink(path)
    finally:
        os.close(descriptor)


def _keep_owner_and_mode(descriptor: int, path: str, before: os.stat_result) -> None:
    if sys.platform == "win32":
        os.chmod(path, stat.S_IMODE(before.st_mode))
        return
    found = os.fstat(descriptor)
    if (found.st_uid, found.st_gid) != (before.st_uid, before.st_gid):
        with suppress(PermissionError):  # only the superuser can give files away
            os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode) & 0o777)


def sync_folder(folder: str) -> None:
    """Flush the new entry of the folder to disk, where the system can do that."""
    if sys.platform == "win32":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | _FLAGS)
    except PermissionError:
        return  # a folder that can be written to but not listed
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):  # a file system that cannot sync folders
            raise
    finally:
        os.close(descriptor)
