"""The write-ahead log before SQLite reads it: what it would drop without a word.

SQLite stops reading at the first frame whose salts or checksum are wrong. At the end of the file that is a write that
was cut short, and was never acknowledged. One commit at most is not flushed, and its frames may reach the disk in any
order: a broken frame belongs to it unless a commit comes before the last frame of this turn of the file. In that case
something that was acknowledged is damaged, and the log is refused.
"""

import struct
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from weft.store.digests import FileError

_HEADER, _FRAME = 32, 24


class Frame(NamedTuple):
    """The head of a page in the write-ahead log: whether it ends a commit, and its salts and checksum."""

    at: int
    is_commit: bool
    salts: tuple[int, int]
    sums: tuple[int, int]


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
    frames = _frames(data, page_size)
    is_ours = [frame.salts == (salt_1, salt_2) for frame in frames]
    sound = good = 0
    for at, frame in enumerate(frames):
        sums = _checksum(data[frame.at : frame.at + 8], sums, order)
        sums = _checksum(data[frame.at + _FRAME : frame.at + _FRAME + page_size], sums, order)
        if sums != frame.sums:
            break
        if not is_ours[at]:  # frames of an earlier turn have other sums: its salts are damaged
            is_ours[at] = True
            break
        sound += 1
        if frame.is_commit:
            good = sound
    last = max((at for at, ours in enumerate(is_ours) if ours), default=-1)
    if any(frames[at].is_commit and is_ours[at] for at in range(sound, last)):
        raise FileError(f"{path} is damaged at byte {frames[sound].at}; restore the folder from a backup")
    return (last + 1 - good) * (_FRAME + int(page_size))


def _frames(data: bytes, page_size: int) -> list[Frame]:
    """The heads of all frames that are there as a whole; those behind the last one of this turn are older."""
    found = []
    for at in range(_HEADER, len(data) - _FRAME - page_size + 1, _FRAME + page_size):
        _, commit, salt_1, salt_2, sum_1, sum_2 = struct.unpack(">6I", data[at : at + _FRAME])
        found.append(Frame(at, commit > 0, (salt_1, salt_2), (sum_1, sum_2)))
    return found


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
