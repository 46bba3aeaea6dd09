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
| `inlined_source` | no | as its caller | yes, before types are known |

A function that is not callable from Python compiles in a third less time, because no code is needed that unpacks every
array of every tuple it is given. Reference counts are atomic operations: counting ten arrays takes longer than the
arithmetic of a short row. A function without them may return numbers, but never an array. A call that is not inlined
copies seven words for every array that it passes (`weft.compiled.bundle` passes one pointer instead).
`inlined_source` is the only one that may take functions as arguments: it is never compiled itself, and its caller is
found in the cache like any other function.

**Plain mode.** With `WEFT_PLAIN=1` (or `NUMBA_DISABLE_JIT=1`) the decorators return the function as it is, so that it
can be stepped through in a debugger. Tests require the same bits in both modes.

**Cache.** Machine code is kept by `weft.cache`. A function may change because a helper that it calls has changed. The
cache folder is therefore named after a digest of all files that the function can depend on: the shared folders
(`SHARED`), and the folder of its own family of learners. A test looks for functions that use anything else.
"""

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from weft.cache.folders import kernel_folder

Function = TypeVar("Function", bound=Callable[..., Any])

PLAIN = os.environ.get("WEFT_PLAIN", "0") not in ("", "0") or os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
"""Whether functions run as plain Python."""

PACKAGE = Path(__file__).parents[1]
SHARED = ("compiled", "storage", "maths", "graphs")
"""Folders whose functions, constants and tuples compiled functions of other folders use."""
SCANNERS = ("compiled", "scan")
"""Folders that the compiled readers of files use: they depend on no learner, and no learner depends on them."""


@cache
def sources_of(module: str, package: Path = PACKAGE) -> tuple[Path, ...]:
    """All files that compiled functions of `module` may depend on: the shared folders, and its own family's folder."""
    names = module.split(".")
    if names[:2] == ["weft", "scan"]:
        return tuple(path for name in SCANNERS for path in sorted((package / name).glob("*.py")))
    folders = [package / name for name in SHARED]
    if names[:2] == ["weft", "learners"] and (package / "learners" / names[2]).is_dir():
        folders.append(package / "learners" / names[2])
    return tuple(path for folder in folders for path in sorted(folder.glob("*.py")))


def _digest(sources: Iterable[Path]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for path in sources:
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def _cache_folder(sources: tuple[Path, ...]) -> Path | None:
    """The folder for machine code that was compiled from these files; None if there is no place for it."""
    return kernel_folder(f"kernels-{_digest(sources)}")


if PLAIN:

    def _compile(function: Any, nogil: bool = True, **settings: Any) -> Any:
        return function

    class Handle:
        """Plain mode: an object with the same attribute as the compiled handle."""

        def __init__(self, parts: tuple[Any, ...]) -> None:
            self.parts = parts

else:
    import numba
    from numba import types
    from numba.experimental import structref

    from weft.cache.kernels import KernelCache

    def _compile(function: Any, nogil: bool = True, **settings: Any) -> Any:
        dispatcher = numba.njit(nogil=nogil, error_model="numpy", **settings)(function)
        # In place of Numba's own cache, whose files are unpickled unchecked, whoever wrote them.
        dispatcher._cache = KernelCache(function, _cache_folder(sources_of(function.__module__)))
        return dispatcher

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


def compiled_with_gil(function: Function) -> Function:
    """Like `compiled`, but holds the global interpreter lock: for code that reads Python objects."""
    return cast(Function, _compile(function, nogil=False, no_cfunc_wrapper=True))


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


def inlined_source(function: Function) -> Function:
    """Becomes a part of the text of every compiled function that calls it; may be given compiled functions to call."""
    return cast(Function, _compile(function, inline="always", no_cpython_wrapper=True, no_cfunc_wrapper=True))


def direct(function: Any, *arguments: Any) -> Any:
    """The machine code of a function for these types of arguments, called without a look at them (0.9 us, not 2.1)."""
    return function if PLAIN else function.compile(tuple(map(numba.typeof, arguments)))


@compiled
def make_handle(parts: tuple[Any, ...]) -> Handle:
    """A handle of a learner's parameters, state and buffers."""
    return Handle(parts)
