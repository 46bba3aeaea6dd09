"""The write-ahead log before SQLite reads it: what it would drop without a word.

SQLite stops reading at the first frame whose checksum is wrong. At the end of the file that is a write that was cut
short, and was never acknowledged. A frame that is damaged before a later commit was acknowledged, and is refused.
"""

import struct
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from weft.store.digests import FileError

_HEADER, _FRAME = 32, 24


def dropped_tail(path: Path) -> int:
    """Bytes at the end of a write-ahead log that belong to no complete commit; FileError if damage lies before one."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return 0
    if len(data) < _HEADER:
        return len(data)
    magic, _, page_size, _, salt_1, salt_2, sum_1, sum_2 = struct.unpack(">8I", data[:_HEADER])
    order = ">" if magic & 1 else "<"
    sums = _checksum(data[: _HEADER - 8], (0, 0), order)
    if magic | 1 != 0x377F0683 or sums != (sum_1, sum_2) or not 512 <= page_size <= 65536:
        if len(data) > _HEADER:
            raise FileError(f"{path} is damaged at its beginning; restore the folder from a backup")
        return len(data)
    at, good, is_whole = _HEADER, _HEADER, True
    while at + _FRAME + page_size <= len(data):
        _, commit, *salts, sum_1, sum_2 = struct.unpack(">6I", data[at : at + _FRAME])
        if salts != [salt_1, salt_2]:
            break  # left from an earlier turn of the file
        if is_whole:
            sums = _checksum(data[at : at + 8], sums, order)
            sums = _checksum(data[at + _FRAME : at + _FRAME + page_size], sums, order)
            is_whole = sums == (sum_1, sum_2)
            broken_at = at
        at += _FRAME + page_size
        if commit and is_whole:
            good = at
        elif commit and at < len(data) - page_size and _follows(data, at, (salt_1, salt_2)):
            raise FileError(f"{path} is damaged at byte {broken_at}; restore the folder from a backup")
    return at - good


def _follows(data: bytes, at: int, salts: tuple[int, int]) -> bool:
    """Whether a frame of the same turn begins there."""
    return len(data) >= at + 16 and struct.unpack(">2I", data[at + 8 : at + 16]) == salts


def _checksum(data: bytes, before: tuple[int, int], order: str) -> tuple[int, int]:
    """SQLite's checksum of pairs of words: s += a + t, t += b + s, modulo 2^32, for every pair (a, b).

    A pair maps (s, t) to M (s, t) + (a, a + b) with M = [[1, 1], [1, 2]]; the sum over all pairs is one product with
    the powers of M.
    """
    words = np.frombuffer(data, f"{order}u4").astype(np.uint64).reshape(-1, 2)
    powers = _powers(len(words))
    added = np.stack([words[:, 0], words[:, 0] + words[:, 1]], axis=1)
    total = np.einsum("kij,kj->i", powers[:-1][::-1], added) + powers[-1] @ np.array(before, np.uint64)
    return int(total[0]) & 0xFFFFFFFF, int(total[1]) & 0xFFFFFFFF


@lru_cache
def _powers(count: int) -> Any:
    """M^0 .. M^count modulo 2^32; products of these with words and their sums are right modulo 2^32."""
    found = [(1, 0, 0, 1)]
    for _ in range(count):
        p, q, r, s = found[-1]
        found.append(((p + q) & 0xFFFFFFFF, (p + 2 * q) & 0xFFFFFFFF, (r + s) & 0xFFFFFFFF, (r + 2 * s) & 0xFFFFFFFF))
    return np.array(found, np.uint64).reshape(-1, 2, 2)
