"""Arrays whose first axis grows, where possible without moving what they hold.

A small array is copied when it grows. A large one lies at the beginning of a *reservation*: address space as large as
the machine's memory, of which only those pages take memory that are touched. A longer array is then another view of the
same reservation: no number moves, and nothing is cleared, because the system hands out pages of zeros. A reservation
lasts as long as an array that views it; it is private to the process, and copied on write by a fork.

Where nothing can be reserved (Windows, a limit on address space, strict accounting of memory, too many reservations)
all arrays are ordinary ones, and are copied when they grow.
"""

import math
import mmap
import os
import platform
import sys
import weakref
from contextlib import suppress
from typing import Any

import numpy as np

from weft.compiled.arrays import Array

LINE = 64
"""Bytes of a cache line."""

RESERVE_FROM = 1 << 20
"""Bytes of an array for which address space is reserved: copying less takes less than a tenth of a millisecond."""

MOST_RESERVED = 1 << 45
"""Bytes that a process reserves in all: a quarter of the address space. One reservation takes at most a SHARE of what
is left, so that the last of many models have smaller ones, and not none."""
SHARE = 64

_HUGE_PAGE = 1 << 21
_NO_ACCOUNT = 0x4000 if sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64") else 0  # MAP_NORESERVE

_reserved = [0]  # bytes, in all


class _Reservation(mmap.mmap):
    """Address space for one array."""


def zeros(shape: tuple[int, ...], kind: Any) -> Array:
    """Zeros that begin with a cache line, so that rows of 64 bytes are one each (NumPy begins anywhere)."""
    kind = np.dtype(kind)
    size = math.prod(shape) * kind.itemsize
    if size >= RESERVE_FROM:
        root = _reserve(size)
        if root is not None:
            return _view(root, shape, kind)
    room = np.zeros(size + LINE, np.uint8)
    first = -room.ctypes.data % LINE
    found: Array = room[first : first + size].view(kind).reshape(shape)
    return found


def longer(array: Array, length: int) -> Array:
    """The array with a longer first axis and zeros behind what it holds.

    Where it lies in a reservation the two share their memory, and the shorter one is not to be used any more.
    """
    shape = (length, *array.shape[1:])
    root = _reservation_of(array)
    if root is not None and math.prod(shape) * array.itemsize <= root.nbytes:
        return _view(root, shape, array.dtype)
    found = zeros(shape, array.dtype)
    found[: len(array)] = array
    return found


def is_reserved(array: Array) -> bool:
    """Can the array grow without being copied?"""
    return _reservation_of(array) is not None


def _view(root: Array, shape: tuple[int, ...], kind: Any) -> Array:
    found: Array = root[: math.prod(shape) * kind.itemsize].view(kind).reshape(shape)
    return found


def _reservation_of(array: Array) -> Array | None:
    """The whole reservation that begins with the array, as bytes."""
    root = array.base
    if not isinstance(root, np.ndarray) or not isinstance(root.base, memoryview):
        return None
    if not isinstance(root.base.obj, _Reservation) or array.ctypes.data != root.ctypes.data:
        return None
    return root


def _reserve(least: int) -> Array | None:
    """Address space for an array of at least so many bytes; None if there is none."""
    if sys.platform == "win32":
        return None
    size = min(_machine_memory(), (MOST_RESERVED - _reserved[0]) // SHARE) // mmap.PAGESIZE * mmap.PAGESIZE
    if size < 2 * least:
        return None
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_ACCOUNT
    try:
        room = _Reservation(-1, size, flags=flags)
    except (OSError, ValueError, OverflowError, MemoryError):
        return None
    _reserved[0] += size
    weakref.finalize(room, _give_back, size).atexit = False
    if sys.platform == "linux" and size > _HUGE_PAGE:
        with suppress(OSError):  # small pages at the beginning: many a model needs no more
            room.madvise(mmap.MADV_HUGEPAGE, _HUGE_PAGE, size - _HUGE_PAGE)
    return np.frombuffer(room, np.uint8)


def _give_back(size: int) -> None:
    _reserved[0] -= size


def _machine_memory() -> int:
    """Bytes of memory that the machine has; 0 if the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 0
