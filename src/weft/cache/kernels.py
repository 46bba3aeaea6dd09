"""Compiled kernels as files: a file per kernel and signature, read only if it is whole and this user's own.

```text
bytes  what
   14  weft-kernel 1, and a line end
   32  BLAKE2b digest of the rest
    .  a pickle: the key of the kernel, then what Numba needs to load it
```

A file that is truncated, altered, or of another kernel counts as absent: the kernel is compiled again and the file is
written anew. There is no index, so processes that write at the same time do not disturb each other. A file that cannot
be written is not an error; the kernel is then compiled again in the next run.
"""

import hashlib
import os
import pickle
import re
import secrets
import stat
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import serialize
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.runtime.nrt import rtsys

from weft.cache.folders import OTHERS_MAY_WRITE, this_user
from weft.cache.open_flags import open_flags

MAGIC = b"weft-kernel 1\n"
DIGEST = 32
_dumps: Any = serialize.dumps
_FLAGS = open_flags("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY")


class _Results(CompileResultCacheImpl):
    """How Numba turns compiled functions into tuples and back; where they are kept is not its concern here."""

    def __init__(self) -> None:
        pass

    def check_cachable(self, result: Any) -> bool:
        """Whether the machine code means the same in another process."""
        return not any(not lifted.can_cache for lifted in result.lifted) and not result.library.has_dynamic_globals


class KernelCache(FunctionCache):
    """What Numba asks for machine code of one function, and gives it to."""

    def __init__(self, function: Any, folder: Path | None) -> None:
        self._name = repr(function)
        self._py_func = function
        self._impl = _Results()
        self._cache_path = None if folder is None else str(folder)
        self._file = None if folder is None else KernelFiles(folder, function)
        self._enabled = True

    def flush(self) -> None:
        """Nothing is kept in memory."""

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The machine code for a signature, or None.

        Numba first declares all that it can compile, which takes 0.2 s and which machine code does not need; compiling
        declares it by itself. What code does need is the runtime that counts references.
        """
        rtsys.initialize(target)
        return self._load_overload(signature, target)

    def _load_overload(self, signature: Any, target: Any) -> Any:
        if not self._enabled or self._file is None:
            return None
        try:
            data = self._file.load(self._key(signature, target.codegen()))
            return None if data is None else self._impl.rebuild(target, data)
        except Exception:  # what a file of machine code can raise is anything; compiling again is always right
            return None

    def _save_overload(self, signature: Any, result: Any) -> None:
        if self._enabled and self._file is not None and self._impl.check_cachable(result):
            with suppress(OSError):
                self._file.save(self._key(signature, result.codegen), self._impl.reduce(result))

    def _key(self, signature: Any, codegen: Any) -> Any:
        """Of Numba: the signature, the processor, the byte code."""
        key: Any = self._index_key
        return key(signature, codegen)


class KernelFiles:
    """The files of one function."""

    def __init__(self, folder: Path, function: Any) -> None:
        self.folder = folder
        code = function.__code__
        self._source = code.co_filename
        words = f"{function.__module__}.{function.__qualname__}-{code.co_firstlineno}"
        self._base = re.sub("[^A-Za-z0-9_.-]", "", words)[:120]

    def load(self, key: Any) -> Any:
        """What was saved under this key, or None."""
        key = self._whole(key)
        content = read_own(self.path(key))
        if content is None or content[: len(MAGIC)] != MAGIC:
            return None
        digest, data = content[len(MAGIC) : len(MAGIC) + DIGEST], content[len(MAGIC) + DIGEST :]
        if digest != hashlib.blake2b(data, digest_size=DIGEST).digest():
            return None
        found, result = pickle.loads(data)
        return result if found == key else None

    def save(self, key: Any, result: Any) -> None:
        """Write beside the file, then move into place."""
        key = self._whole(key)
        data = _dumps((key, result))
        content = MAGIC + hashlib.blake2b(data, digest_size=DIGEST).digest() + data
        path = self.path(key)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise

    def path(self, key: Any) -> Path:
        """The file of a key that `_whole` made: its text decides the name; the key within, whether it fits."""
        name = hashlib.blake2b(repr(key).encode(), digest_size=12).hexdigest()
        return self.folder / f"{self._base}-{name}"

    def _whole(self, key: Any) -> Any:
        """With all that machine code depends on besides signature, processor and byte code."""
        found = os.stat(self._source)
        return (*key, numba.__version__, sys.version, _text_digest(self._source, found.st_mtime_ns, found.st_size))


@cache
def _text_digest(source: str, changed: int, size: int) -> str:
    """Of the file that holds the function, as it was changed last."""
    return hashlib.blake2b(Path(source).read_bytes(), digest_size=16).hexdigest()


def read_own(path: Path) -> bytes | None:
    """The bytes of a regular file that belongs to this user and that nobody else can write to; else None."""
    try:
        descriptor = os.open(path, os.O_RDONLY | open_flags("O_NONBLOCK") | _FLAGS)
    except OSError:
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return None
        if this_user() is not None and (found.st_uid != this_user() or found.st_mode & OTHERS_MAY_WRITE):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)
