"""Compile functions with Numba, or run the same text as plain Python.

All decorators below are Numba's `njit` with the settings that weft uses everywhere: no GIL, division by zero as in
NumPy, and a cache of machine code on disk. They differ in three ways:

| decorator | callable from Python | counts references, so may allocate arrays | inlined into its callers |
|---|---|---|---|
| `compiled` | yes | yes | no |
| `helper` | no | yes | no |
| `helper_no_alloc` | no | no | no |
| `inlined` | yes | no | yes |
| `inlined_only` | no | no | yes |

A function that is not callable from Python compiles in a third less time, because no code is needed that unpacks every
array of every tuple it is given. Reference counts are atomic operations: counting ten arrays takes longer than the
arithmetic of a short row. A function without them may return numbers, but never an array. A call that is not inlined
copies seven words for every array that it passes (`weft.compiled.bundle` passes one pointer instead).

**Plain mode.** With `WEFT_PLAIN=1` (or `NUMBA_DISABLE_JIT=1`) the decorators return the function as it is, so that it
can be stepped through in a debugger. Tests require the same bits in both modes.

**Cache.** Numba notices a change in the file of a cached function, but not in the helpers that it calls. The cache
folder is therefore named after a digest of all files that the function can depend on: the shared folders (`SHARED`),
and the folder of its own family of learners. A test looks for functions that use anything else. Folders of earlier
versions are removed when they have not been used for `UNUSED_DAYS` and a new folder is created.
"""

import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from weft.places import user_cache

Function = TypeVar("Function", bound=Callable[..., Any])

PLAIN = os.environ.get("WEFT_PLAIN", "0") not in ("", "0") or os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
"""Whether functions run as plain Python."""

PACKAGE = Path(__file__).parents[1]
SHARED = ("compiled", "storage", "maths", "graphs")
"""Folders whose functions, constants and tuples compiled functions of other folders use."""
UNUSED_DAYS = 60
"""A cache folder that no process has used for so many days is removed when a new one is created."""


def sources_of(module: str, package: Path = PACKAGE) -> list[Path]:
    """All files that compiled functions of `module` may depend on: the shared folders, and its own family's folder."""
    folders = [package / name for name in SHARED]
    names = module.split(".")
    if names[:2] == ["weft", "learners"] and (package / "learners" / names[2]).is_dir():
        folders.append(package / "learners" / names[2])
    return [path for folder in folders for path in sorted(folder.glob("*.py"))]


def _digest(sources: Iterable[Path]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for path in sources:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _user() -> int | None:
    """The number of the user who runs this; None on Windows, which has no such numbers."""
    return None if sys.platform == "win32" else os.getuid()


@cache
def _cache_folder(sources: tuple[Path, ...]) -> str:
    """The folder for machine code that was compiled from these files; created, or marked as used now."""
    name = f"kernels-{_digest(sources)}"
    for base in (
        user_cache(),
        Path(tempfile.gettempdir()) / f"weft-{_user() or 0}",
    ):
        folder = base / name
        is_new = not folder.exists()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            _mark_used(folder)
            if is_new:
                _remove_unused(base)
            return str(folder)
    return tempfile.mkdtemp(prefix="weft-kernels-")


def _mark_used(folder: Path) -> None:
    """Set the folder's time of modification to now: Numba changes only folders within it."""
    with suppress(OSError):
        os.utime(folder)


def _remove_unused(base: Path) -> None:
    """Remove folders of machine code in `base` that no process has used for UNUSED_DAYS.

    Only folders that `_cache_folder` can have made: with such a name, owned by the user, and not symbolic links.
    """
    oldest = time.time() - UNUSED_DAYS * 86400.0
    user = _user()
    with suppress(OSError):
        for folder in list(base.iterdir()):
            if not re.fullmatch("kernels-[0-9a-f]{16}", folder.name):
                continue
            with suppress(OSError):
                found = folder.lstat()
                if stat.S_ISDIR(found.st_mode) and user in (None, found.st_uid) and found.st_mtime < oldest:
                    shutil.rmtree(folder, ignore_errors=True)


if PLAIN:

    def _compile(function: Any, **settings: Any) -> Any:
        return function

    class Handle:
        """Plain mode: an object with the same attribute as the compiled handle."""

        def __init__(self, parts: tuple[Any, ...]) -> None:
            self.parts = parts

else:
    import numba
    from numba import types
    from numba.experimental import structref

    _CONFIG: Any = numba.config

    def _compile(function: Any, **settings: Any) -> Any:
        # Numba reads CACHE_DIR when it creates the cache; other users of Numba in this process keep their own setting.
        folder = _cache_folder(tuple(sources_of(function.__module__)))
        before, _CONFIG.CACHE_DIR = _CONFIG.CACHE_DIR, folder
        try:
            return numba.njit(nogil=True, cache=True, error_model="numpy", **settings)(function)
        finally:
            _CONFIG.CACHE_DIR = before

    @structref.register
    class _HandleType(types.StructRef):
        def preprocess_fields(self, fields: Any) -> Any:
            unliteral: Any = types.unliteral
            return tuple((name, unliteral(kind)) for name, kind in fields)

    class Handle(structref.StructRefProxy):  # type: ignore[no-redef]
        """A tuple of arrays behind one pointer: a call from Python unpacks one argument, not twenty (1 us, not 4)."""

        def __new__(cls, parts: tuple[Any, ...]) -> Any:
            new: Any = structref.StructRefProxy.__new__
            return new(cls, parts)

    _define: Any = structref.define_proxy
    _define(Handle, _HandleType, ["parts"])


def compiled(function: Function) -> Function:
    """Callable from Python: compiled on its first call, or loaded from the cache."""
    return cast(Function, _compile(function, no_cfunc_wrapper=True))


def helper(function: Function) -> Function:
    """Called by compiled functions only."""
    return cast(Function, _compile(function, no_cpython_wrapper=True, no_cfunc_wrapper=True))


def helper_no_alloc(function: Function) -> Function:
    """Called by compiled functions only; allocates nothing, returns no array and counts no references."""
    return cast(Function, _compile(function, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True))


def inlined(function: Function) -> Function:
    """Inlined into compiled functions, and callable from Python as well; counts no references."""
    return cast(Function, _compile(function, _nrt=False, forceinline=True, no_cfunc_wrapper=True))


def inlined_only(function: Function) -> Function:
    """Inlined into compiled functions only; may take and return `weft.compiled.lanes.Four`."""
    return cast(
        Function, _compile(function, _nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
    )


def direct(function: Any, *arguments: Any) -> Any:
    """The machine code of a function for these types of arguments, called without a look at them (0.9 us, not 2.1)."""
    return function if PLAIN else function.compile(tuple(map(numba.typeof, arguments)))


@compiled
def make_handle(parts: tuple[Any, ...]) -> Handle:
    """A handle of a learner's parameters, state and buffers."""
    return Handle(parts)
