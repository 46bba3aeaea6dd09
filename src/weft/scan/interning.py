"""Names as codes 0, 1, 2 ... in the order in which they first appear, compared byte by byte.

A table of pairs of words: the code + 1 with the length of the name above it (0: empty), and the name itself if it has
at most eight bytes, else its hash. Longer names are compared with their bytes in `pool`, where every name is padded
with zeros to whole words. The names that a line adds are remembered until the line is accepted, and removed if it is
refused.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled.jit import compiled, inlined_only
from weft.scan.words import U0, U1, U3, U8, load, low_bytes

NAMES, BYTES, ADDED, LINE, SEED = range(5)
"""Entries of `counts`: names, bytes of the pool in use, names that the line has added, a number per line, the seed."""

_U = np.uint64
_CODE = _U(0xFFFFFFFF)


class Table(NamedTuple):
    """Interned names. `offsets[code]` is the place of a name in the pool, `added` the cells that the line filled.

    `seen[code]` is the number of the last line that had the name: a name that appears twice in a line is noticed.
    """

    cells: NDArray[np.uint64]
    pool: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    added: NDArray[np.int64]
    seen: NDArray[np.int64]
    counts: NDArray[np.int64]


@inlined_only
def _mixed(word: Any) -> Any:
    word = (word ^ (word >> _U(32))) * _U(0xD6E8FEB86659FD93)
    return word ^ (word >> _U(29))


@inlined_only
def _hash(text: Any, at: Any, length: Any, seed: Any) -> Any:
    """Of the bytes and their number; the seed is random, so that nobody can choose names that collide."""
    found = _U(seed) ^ (length * _U(0x9E3779B97F4A7C15))
    while length > U8:
        found = _mixed(found ^ load(text, at))
        at += U8
        length -= U8
    return _mixed(_mixed(found ^ low_bytes(load(text, at), length)))


@inlined_only
def _is_same(text: Any, at: Any, length: Any, pool: Any, place: Any) -> Any:
    while length > U8:
        if load(text, at) != load(pool, place):
            return False
        at += U8
        place += U8
        length -= U8
    return low_bytes(load(text, at), length) == load(pool, place)


@inlined_only
def intern(text: Any, at: Any, length: Any, cells: Any, pool: Any, offsets: Any, added: Any, counts: Any) -> Any:
    """The code of the name text[at : at + length]; a new one gets the next code. -1 if there is no room for it."""
    hashed = _hash(text, at, length, counts[SEED])
    mask = _U((cells.shape[0] >> 1) - 1)
    key = low_bytes(load(text, at), length) if length <= U8 else hashed
    cell = hashed & mask
    while True:
        entry = cells[cell << U1]
        if entry == U0:
            break
        if cells[(cell << U1) | U1] == key and entry >> _U(32) == length:
            code = (entry & _CODE) - U1
            if length <= U8 or _is_same(text, at, length, pool, _U(offsets[code])):
                return np.int64(code)
        cell = (cell + U1) & mask
    code, place = counts[NAMES], counts[BYTES]
    room = np.int64((length + U8) >> U3 << U3) + 8  # whole words, and one more that is read with the last
    if (
        4 * (code + 1) > cells.shape[0]
        or code + 2 > offsets.shape[0]
        or place + room > pool.shape[0]
        or counts[ADDED] >= added.shape[0]
    ):
        return np.int64(-1)
    cells[cell << U1] = _U(code + 1) | (length << _U(32))
    cells[(cell << U1) | U1] = key
    for i in range(np.int64(length)):
        pool[place + i] = text[at + _U(i)]
    offsets[code] = place
    counts[BYTES] = place + (np.int64(length) + 7) // 8 * 8
    offsets[code + 1] = counts[BYTES]
    counts[NAMES] = code + 1
    added[counts[ADDED]] = np.int64(cell)
    counts[ADDED] += 1
    return code


@inlined_only
def is_plain(text: Any, begin: Any, end: Any, also_not: Any) -> Any:
    """Is a name all printable ASCII, without the backslash and one more byte? Others are looked at once, in Python."""
    while begin < end:
        byte = text[begin]
        if byte < 32 or byte > 126 or byte == 92 or byte == also_not:
            return False
        begin += U1
    return True


@inlined_only
def remove_added(cells: Any, pool: Any, offsets: Any, added: Any, counts: Any) -> None:
    """Remove the names that the line has added, the last one first."""
    while counts[ADDED] > 0:
        counts[ADDED] -= 1
        cell = added[counts[ADDED]]
        cells[2 * cell] = U0
        cells[2 * cell + 1] = U0
        counts[NAMES] -= 1
        end, counts[BYTES] = counts[BYTES], offsets[counts[NAMES]]
        for i in range(counts[BYTES], end):
            pool[i] = 0


@compiled
def refill(old: Any, new: Any, counts: Any) -> None:
    """Put all cells of a table into a larger one."""
    mask = _U((new.shape[0] >> 1) - 1)
    for at in range(0, old.shape[0], 2):
        entry, key = old[at], old[at + 1]
        if entry == U0:
            continue
        length = entry >> _U(32)
        hashed = key
        if length <= U8:
            hashed = _mixed(_mixed(_U(counts[SEED]) ^ (length * _U(0x9E3779B97F4A7C15)) ^ key))
        cell = hashed & mask
        while new[cell << U1] != U0:
            cell = (cell + U1) & mask
        new[cell << U1] = entry
        new[(cell << U1) | U1] = key


@compiled
def intern_one(text: Any, length: int, table: Table) -> int:
    """The code of one name, for names that Python has read; -1 if there is no room."""
    cells, pool, offsets, added, _, counts = table
    counts[ADDED] = 0
    return int(intern(text, U0, _U(length), cells, pool, offsets, added, counts))


@compiled
def intern_all(text: Any, bounds: Any, at: int, codes: Any, table: Table) -> int:
    """The codes of names, given by where each begins and ends, from the name `at` on; returns how many were done."""
    cells, pool, offsets, added, _, counts = table
    begins, ends = bounds
    for i in range(at, begins.shape[0]):
        counts[ADDED] = 0
        code = intern(text, _U(begins[i]), _U(ends[i] - begins[i]), cells, pool, offsets, added, counts)
        if code < 0:
            return i
        codes[i] = code
    return int(begins.shape[0])
