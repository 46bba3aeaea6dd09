"""Compile a kernel, or run the same text as plain Python.

`@compiled` is Numba's `njit` with the settings every kernel of weft shares: no GIL, NumPy's rules for division by
zero, and a disk cache. With `WEFT_PLAIN=1` (or `NUMBA_DISABLE_JIT=1`) the decorator hands the function back as it is,
so that every kernel can be stepped through in a debugger; tests hold both to the same bits.

Numba notices a change in the file of a cached kernel, but not in the helpers that the kernel calls. The cache folder of
a kernel is therefore named after a digest of the folders that it can depend on: the shared ones (`SHARED`), and that of
its own family of learners. A test looks for kernels that use anything else.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from weft.places import user_cache

Function = TypeVar("Function", bound=Callable[..., Any])

PLAIN = os.environ.get("WEFT_PLAIN", "0") not in ("", "0") or os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


PACKAGE = Path(__file__).parents[1]
SHARED = ("compiled", "storage", "maths", "graphs")
"""Folders whose functions, constants and tuples kernels of other folders use."""


def sources_of(module: str, package: Path = PACKAGE) -> list[Path]:
    """All files that a cached kernel of `module` may depend on: the shared folders, and its own family's folder."""
    folders = [package / name for name in SHARED]
    parts = module.split(".")
    if parts[:2] == ["weft", "learners"] and (package / "learners" / parts[2]).is_dir():
        folders.append(package / "learners" / parts[2])
    return [path for folder in folders for path in sorted(folder.glob("*.py"))]


def _digest(sources: Iterable[Path]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for path in sources:
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def _cache_folder(sources: tuple[Path, ...]) -> str:
    name = f"kernels-{_digest(sources)}"
    for base in (
        user_cache(),
        Path(tempfile.gettempdir()) / f"weft-{os.getuid() if hasattr(os, 'getuid') else 0}",
    ):
        folder = base / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return str(folder)
    return tempfile.mkdtemp(prefix="weft-kernels-")


if PLAIN:

    def _compile(function: Any, **settings: Any) -> Any:
        return function

    class Handle:
        """Plain mode: what the compiled handle is, a thing with `parts`."""

        def __init__(self, parts: tuple[Any, ...]) -> None:
            self.parts = parts

else:
    import numba
    from numba import types
    from numba.experimental import structref

    _CONFIG: Any = numba.config

    def _compile(function: Any, **settings: Any) -> Any:
        # The cache reads CACHE_DIR when it is made; other users of Numba in this process keep their own setting.
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
        """A tuple of arrays behind one pointer: a call then unpacks one argument, not twenty (1 us instead of 4)."""

        def __new__(cls, parts: tuple[Any, ...]) -> Any:
            new: Any = structref.StructRefProxy.__new__
            return new(cls, parts)

    _define: Any = structref.define_proxy
    _define(Handle, _HandleType, ["parts"])


def compiled(function: Function) -> Function:
    """Compile `function` on its first call and keep the machine code on disk."""
    return cast(Function, _compile(function, no_cfunc_wrapper=True))


def helper(function: Function) -> Function:
    """For helpers that only compiled functions call; compiling takes a third less time.

    A function that is callable from Python needs code that takes apart every array of every tuple that it is given.
    """
    return cast(Function, _compile(function, no_cpython_wrapper=True, no_cfunc_wrapper=True))


def helper_no_alloc(function: Function) -> Function:
    """For helpers that allocate nothing: they do not count references.

    Counting the references of ten arrays, atomically, takes longer than a short row. Such a function may return
    numbers, but never an array, which would have to be counted.
    """
    return cast(Function, _compile(function, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True))


def inlined(function: Function) -> Function:
    """For the innermost helpers: inlined into their callers, and callable from Python as well.

    A call that hands over ten arrays copies some seventy words.
    """
    return cast(Function, _compile(function, _nrt=False, forceinline=True, no_cfunc_wrapper=True))


def inlined_only(function: Function) -> Function:
    """For inlined helpers that Python never calls; they may take or return `weft.compiled.lanes.Four`."""
    return cast(
        Function, _compile(function, _nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
    )


def direct(function: Any, *arguments: Any) -> Any:
    """The machine code of a kernel for arguments of these types, which are not looked at again (0.9 us, not 2.1)."""
    return function if PLAIN else function.compile(tuple(map(numba.typeof, arguments)))


@compiled
def make_handle(parts: tuple[Any, ...]) -> Handle:
    """Put a learner's parameters, state and buffers behind one handle."""
    return Handle(parts)
