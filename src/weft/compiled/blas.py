"""BLAS on one thread: a product that several threads compute together can have other bits than that of one."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from threadpoolctl import ThreadpoolController

_BUNDLED = {"numpy", "numpy.libs", "scipy", "scipy.libs"}
"""Folders of the libraries that come with NumPy and SciPy."""


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    """The BLAS libraries in this process, looked for once: that takes longer than a small product."""
    import scipy.linalg  # noqa: F401  loads SciPy's own BLAS, so that it is found

    return ThreadpoolController()


class _Inside:
    """How many threads of this process are in the context, and the limit that ends with the last of them."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """In a child process, which has no other threads; it keeps the limit that it finds."""
        self.lock = threading.Lock()
        self.count = 0
        self.limit: Any = None


_inside = _Inside()
if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_inside.forget)


@contextmanager
def one_thread() -> Iterator[None]:
    """A context in which BLAS and LAPACK use the calling thread only.

    For most libraries the limit is that of the whole process: the last thread to go restores what the first one found.
    """
    entered = False
    try:
        with _inside.lock:
            limit = _controller().limit(limits=1, user_api="blas")  # every thread: some libraries have limits for each
            if _inside.count == 0:
                _inside.limit = limit
            _inside.count += 1
            entered = True
        yield
    finally:
        with _inside.lock:
            if entered:
                _inside.count -= 1
                if _inside.count == 0:
                    _inside.limit.restore_original_limits()


def libraries() -> str:
    """NumPy's and SciPy's BLAS libraries: name, version and the kind of processor whose code they chose.

    Other packages bring libraries of their own; which of them a process has loaded has no effect on weft's numbers.
    """
    blas = [library for library in _controller().info() if library["user_api"] == "blas"]
    used = [library for library in blas if _BUNDLED & set(Path(library["filepath"]).parts)]
    found = {
        " ".join(str(library[part]) for part in ("internal_api", "version", "architecture") if library.get(part))
        for library in used or blas  # NumPy and SciPy bring their own, or use one that belongs to the system
    }
    return ", ".join(sorted(found)) or "unknown"
