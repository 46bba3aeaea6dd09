"""One `weft learn` at a time on a model: a lock on a file beside it, for as long as the run takes.

The system releases the lock when the process ends, even by kill -9. The file `spam.weft.lock` may stay behind then; it
means nothing without the lock, and the next run takes it over.
"""

import os
import re
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from weft.cache.open_flags import open_flags
from weft.store.locks import try_lock
from weft.store.problems import explaining

_FLAGS = open_flags("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK")


def lock_path(model: Path) -> Path:
    """Beside the real file, so that every name of a model leads to the same lock."""
    real = Path(os.path.realpath(model))
    return real.with_name(real.name + ".lock")


@contextmanager
def locked(model: Path) -> Iterator[None]:
    """Hold the lock of a model; a ValueError that names the holder if another process has it."""
    path = lock_path(model)
    descriptor = _take(model, path)
    try:
        with suppress(OSError):  # a file that another user made: the lock counts, not its content
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()} {socket.gethostname()}\n".encode(), 0)
        yield
    finally:
        with suppress(OSError):
            os.unlink(path)  # while it is locked: nobody else can have taken it
        with suppress(OSError):
            os.close(descriptor)


def _take(model: Path, path: Path) -> int:
    while True:
        descriptor = _open(path)
        try:
            with explaining(path, "lock"):
                taken = try_lock(descriptor)
            if taken is False:
                raise ValueError(
                    f"{model} is being learned by {_holder(descriptor)}; wait until that has ended, or stop it, "
                    "then run this again"
                )
            if taken is None:
                warnings.warn(
                    f"the file system of {path} has no locks; make sure that nothing else learns {model}", stacklevel=2
                )
            with explaining(path, "lock"):
                if taken is None or _is_still_there(path, descriptor):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its holder ended meanwhile, and removed it


def _open(path: Path) -> int:
    with explaining(path, "write"):
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o666)
        except PermissionError:
            if not path.exists():
                raise
            return os.open(path, os.O_RDONLY | _FLAGS)


def _is_still_there(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _holder(descriptor: int) -> str:
    """Who wrote the file."""
    try:
        found = re.fullmatch(rb"([0-9]{1,10}) ([A-Za-z0-9._-]{1,255})\n", os.pread(descriptor, 300, 0))
    except OSError:
        found = None
    if found is None:
        return "another process"
    number, host = found[1].decode(), found[2].decode()
    return f"process {number}" + ("" if host == socket.gethostname() else f" on {host}")
