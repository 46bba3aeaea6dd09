"""The pairs of a state that hold anything but zeros, in ascending order, block by block: what a model file lists.

Which pairs hold anything is found out first, then pairs are handed out, task by task, and then their numbers. A block
has at most `BLOCK` pairs (of a table: those of some tasks), so that no more is copied at a time; what is kept of every
pair is where its numbers are, in four bytes.
"""

import sys
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from weft.compiled.arrays import Array, Ints
from weft.compiled.instructions import prefetch
from weft.compiled.jit import compiled, helper_no_alloc
from weft.storage.pairs import BASE, COUNT, ROWS, SIZE, Keys, Pairs, slot_of

BLOCK = 1 << 15
"""Pairs of a block."""

AHEAD = 16
"""How many pairs ahead numbers are prefetched."""

_FEW = 24  # keys that are sorted faster by insertion
_DIGITS = 256
CURSOR = 3 + _DIGITS + 1
"""Length of the array with which `list_some` goes on: see there."""

Words = NDArray[np.uint32]
Marks = NDArray[np.uint8]


class Listing(Protocol):
    """The pairs that hold anything: how many, and their blocks. `pairs` is to be gone through before `numbers`."""

    count: int

    def pairs(self) -> Iterator[Ints]:
        """(task, feature) slots."""
        ...

    def numbers(self, name: str) -> Iterator[Array]:
        """The rows of an array over pairs, in the same order."""
        ...


class TableListing:
    """Of a table; `tables` are the arrays over pairs as (task, feature, ...)."""

    def __init__(self, tables: dict[str, Array]) -> None:
        self._tables = tables
        tasks, features = next(iter(tables.values())).shape[:2]
        step = max(1, BLOCK // max(features, 1))
        self._features = features
        self._held = [(lo, self._held_by(lo, min(lo + step, tasks))) for lo in range(0, tasks, step)]
        self.count = sum(len(held) for _, held in self._held)

    def _held_by(self, lo: int, hi: int) -> Array:
        """Which pairs of some tasks hold anything: their positions in this part of the table."""
        held = np.zeros((hi - lo, self._features), bool)
        for table in self._tables.values():
            part = table[lo:hi] != 0
            held |= np.any(part, axis=tuple(range(2, part.ndim))) if part.ndim > 2 else part
        return np.flatnonzero(held).astype(np.uint32 if held.size < 1 << 32 else np.int64)

    def pairs(self) -> Iterator[Ints]:
        """(task, feature) slots."""
        for lo, held in self._held:
            task, feature = np.divmod(held.astype(np.int64), self._features)
            yield np.stack((lo + task, feature), axis=1)

    def numbers(self, name: str) -> Iterator[Array]:
        """The rows of an array over pairs, in the same order."""
        table = self._tables[name]
        for lo, held in self._held:
            task, feature = np.divmod(held.astype(np.int64), self._features)
            yield np.ascontiguousarray(table[lo + task, feature])


class RegionListing:
    """Of regions; `arrays` are the arrays over pairs."""

    def __init__(self, pairs: Pairs, arrays: dict[str, Array]) -> None:
        self._pairs, self._arrays = pairs, arrays
        self._held = np.zeros(int(pairs.layout[ROWS]), np.uint8)
        for array in arrays.values():
            mark(_words(array), _masks(array), self._held)
        self.count = int(count_marked(pairs, self._held))
        self._slots = np.zeros(self.count, np.uint32)

    def pairs(self) -> Iterator[Ints]:
        """(task, feature) slots."""
        largest = int(self._pairs.table[:, COUNT].max(initial=0))
        keys, spare, cursor = np.empty(largest, np.uint64), np.empty(largest, np.uint64), np.zeros(CURSOR, np.int64)
        for lo in range(0, self.count, BLOCK):
            slots = self._slots[lo : lo + BLOCK]
            block = np.empty((len(slots), 2), np.int64)
            list_some(self._pairs, self._held, cursor, keys, spare, block, slots)
            yield block

    def numbers(self, name: str) -> Iterator[Array]:
        """The rows of an array over pairs, in the same order."""
        array = self._arrays[name]
        words = _words(array)
        for lo in range(0, self.count, BLOCK):
            slots = self._slots[lo : lo + BLOCK]
            block = np.empty((len(slots), *array.shape[1:]), array.dtype)
            gather(words, slots, _words(block))
            yield block


def _words(array: Array) -> Words:
    """The rows of an array as words of 32 bits: one compiled text is then enough for all types."""
    return array.reshape(len(array), -1).view(np.uint32)


def _masks(array: Array) -> Words:
    """What of every word of a row says that the number is not 0: all but the sign, as -0.0 == 0.0."""
    numbers = int(np.prod(array.shape[1:]))
    if array.dtype == np.int64:
        return np.full(2 * numbers, 0xFFFFFFFF, np.uint32)
    if array.dtype == np.float32:
        return np.full(numbers, 0x7FFFFFFF, np.uint32)
    halves = [0xFFFFFFFF, 0x7FFFFFFF] if sys.byteorder == "little" else [0x7FFFFFFF, 0xFFFFFFFF]
    return np.array(halves * numbers, np.uint32)


# --- compiled ----------------------------------------------------------------------------------------------------


@compiled
def mark(words: Words, masks: Words, held: Marks) -> None:
    """Mark the rows that hold anything but zeros."""
    for slot in range(held.shape[0]):
        found = np.uint32(0)
        for q in range(words.shape[1]):
            found |= words[slot, q] & masks[q]
        if found != 0:
            held[slot] = 1


@compiled
def count_marked(pairs: Pairs, held: Marks) -> int:
    """How many pairs have a marked row."""
    _, keys, table = pairs
    found = 0
    for region in range(table.shape[0]):
        base = table[region, BASE]
        for at in range(base, base + table[region, SIZE]):
            found += 1 if keys[at] != np.uint64(0) and held[slot_of(keys[at])] else 0
    return found


@compiled
def list_some(pairs: Pairs, held: Marks, cursor: Ints, keys: Keys, spare: Keys, block: Ints, slots: Words) -> None:
    """Fill a block with the next pairs whose rows are marked, ascending, and their slots.

    The cursor has the next region, how many keys of the one before it are in `keys`, sorted, and how many of those are
    done: a task may go on in the next block. The rest of it is working space for sorting. The caller has counted: there
    are as many pairs left as the block takes.
    """
    _, all_keys, table = pairs
    region, count, done, n = cursor[0], cursor[1], cursor[2], 0
    while n < slots.shape[0]:
        if done == count:
            base, count, done = table[region, BASE], 0, 0
            for at in range(base, base + table[region, SIZE]):
                if all_keys[at] != np.uint64(0):
                    keys[count] = all_keys[at]
                    count += 1
            _sort(keys, count, spare, cursor[3:])
            region += 1
        while done < count and n < slots.shape[0]:
            slot = slot_of(keys[done])
            if held[slot]:
                block[n, 0], block[n, 1] = region - 1, np.int64(keys[done] >> np.uint64(32))
                slots[n] = np.uint32(slot)
                n += 1
            done += 1
    cursor[0], cursor[1], cursor[2] = region, count, done


@helper_no_alloc
def _sort(keys: Keys, count: int, spare: Keys, ends: Ints) -> None:
    """Sort keys by feature: few by insertion, many digit by digit, as far as the largest feature goes."""
    if count <= _FEW:
        for i in range(1, count):
            key, j = keys[i], i
            while j > 0 and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = key
        return
    bits, shift = np.uint64(0), np.uint64(32)
    for i in range(count):
        bits |= keys[i] >> shift
    while bits != np.uint64(0):
        ends[:] = 0
        for i in range(count):
            ends[((keys[i] >> shift) & np.uint64(_DIGITS - 1)) + np.uint64(1)] += 1
        for digit in range(_DIGITS):
            ends[digit + 1] += ends[digit]
        for i in range(count):
            digit_of = (keys[i] >> shift) & np.uint64(_DIGITS - 1)
            spare[ends[digit_of]] = keys[i]
            ends[digit_of] += 1
        for i in range(count):
            keys[i] = spare[i]
        bits >>= np.uint64(8)
        shift += np.uint64(8)


@compiled
def gather(words: Words, slots: Words, block: Words) -> None:
    """Copy rows, one after the other."""
    width, last = block.shape[1], slots.shape[0] - 1
    for i in range(slots.shape[0]):
        prefetch(words, np.int64(slots[min(i + AHEAD, last)]) * width)
        slot = slots[i]
        for q in range(width):
            block[i, q] = words[slot, q]
