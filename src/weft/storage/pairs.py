"""Where the numbers of a (task, feature) pair are stored: the layout, and how a pair is looked up.

Every task has its own weight for every feature it has met. While tasks x features is small the weights fill a table
and the slot of a pair is `task * task_stride + feature * feature_stride`. Above `DENSE_LIMIT` only the pairs that
occurred are kept. Their numbers are stored in the order in which pairs were opened, and never move; a pair's slot is
the number of its row. Each task has a *region* of keys, a small hash table in cache lines of eight keys, which finds
the rows of its features. Memory then grows with the pairs seen, whatever the number of tasks. When half of all pairs
are present, or come with a batch, a table is no larger than the regions: it replaces them, until it would have to grow.

Kernels read and write through `weft.storage.own` and do not know which of the two layouts they have; `pair_rows` has
the loops over a row, `regions` makes room for new pairs within kernels, `arena` between their calls. Slots are not
saved with a model: rows are numbered again when it is loaded.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.instructions import prefetch
from weft.compiled.jit import PLAIN, compiled, inlined, inlined_only
from weft.compiled.lines import HITS, KEYS, lowest_bit, match_line
from weft.storage.batch import Batch, longest_row

DENSE_LIMIT = 1 << 23
"""Most entries (tasks x features, by counts) of a dense table: 64 MiB for learners with one number per pair."""

ONE_BY_ONE_LIMIT = 1 << 16
"""The same when names come with single events: a larger table would take milliseconds to grow."""

FULL_LIMIT = 1 << 16
"""Fewest entries of a table that replaces hashed pairs when they are at least half of it: it is no larger than their
regions, and nothing has to be looked up."""

FAR = 1 << 16
"""More weights than this do not stay in the cache: rows are prefetched."""
AHEAD = 4
"""How many examples ahead rows are prefetched; a task's region, which says where its slots are, twice as many."""

TASK_STRIDE, FEATURE_STRIDE, USED, HASHED, END, ROWS, ROOM, FREE = range(8)
"""Positions in `Pairs.layout`."""
CLASSES = 64
"""Sizes that a region can have: see `regions.size_of`."""
BASE, SIZE, COUNT, COLUMNS = 0, 1, 2, 4
"""Columns of `Pairs.table`; the last one makes two rows a cache line."""
_FEATURE_BITS = 32  # a key is task << 32 | feature


Keys = NDArray[np.uint64]


class Pairs(NamedTuple):
    """Where pairs lie.

    `layout` has the strides of a task and a feature, the number of pairs, and whether they are hashed. If they are, row
    `task * task stride` of `table` is the task's region (the stride is 0 if all tasks are pooled in the first): the
    first of its `keys`, their number, a multiple of 8, and the pairs it holds, at most seven eighths of that. A key is
    feature << 32 | slot, or 0. Slot 0 belongs to no pair, and its numbers are 0. The first eight keys are always 0:
    they are the region, of size 0, of a task without pairs.

    For hashed pairs the layout also has the END of the last region; how many ROWS of the arrays over pairs are in use,
    slot 0 included, and how many there is ROOM for; and from FREE on, for every size, the first region of that size
    which is not in use, or 0. The first key of such a region is the next one.
    """

    layout: Ints
    keys: Keys
    table: Ints


if PLAIN:  # NumPy warns where the products below wrap around; only the position of a key depends on its hash

    def _mix(feature: int) -> np.uint64:
        return np.uint64(hash((int(feature),)) & 0xFFFFFFFF)

else:

    @inlined_only
    def _mix(feature: int) -> np.uint64:
        """Spread a feature over 32 bits: two multiplicative hashes (Knuth 1973, section 6.4) with a fold between."""
        h = np.uint64(feature) * np.uint64(0x9E3779B97F4A7C15)
        return ((h ^ (h >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)) >> np.uint64(32)


@inlined
def first_place(feature: int, size: np.uint64) -> np.uint64:
    """Where in a region of `size` keys the search for a feature begins: the first key of a line."""
    return ((_mix(feature) * (size // np.uint64(KEYS))) >> np.uint64(32)) * np.uint64(KEYS)


@inlined_only
def place(keys: Keys, base: np.uint64, size: np.uint64, feature: int) -> np.uint64:
    """Where the key of a feature is in a region, or the 0 where it belongs; goes line by line, and round the end."""
    at, wanted = first_place(feature, size), np.uint64(feature)
    while True:
        found = match_line(keys, base + at, wanted)
        if found & np.uint64(HITS):
            return base + at + lowest_bit(found)  # type: ignore[no-any-return]
        if found:
            return base + at + lowest_bit(found >> np.uint64(KEYS))  # type: ignore[no-any-return]
        at += np.uint64(KEYS)
        if at == size:
            at = np.uint64(0)


@inlined_only
def key_of(feature: int, slot: int) -> np.uint64:
    """The key of a feature whose pair has that slot."""
    return (np.uint64(feature) << np.uint64(_FEATURE_BITS)) | np.uint64(slot)


@inlined_only
def slot_of(key: np.uint64) -> int:
    """The slot of a key's pair; 0 if there is none."""
    return np.int64(key & np.uint64((1 << _FEATURE_BITS) - 1))  # type: ignore[return-value]


@inlined
def rows_in_use(pairs: Pairs, numbers: Array) -> int:
    """How many rows of an array over pairs hold anything: what loops over all pairs go through."""
    return int(pairs.layout[ROWS]) if pairs.layout[HASHED] else len(numbers)


@compiled
def slot_space(pairs: Pairs, batch: Batch) -> Ints:
    """Scratch space for the slots of a row; only hashed pairs need any."""
    return np.empty(longest_row(batch) if pairs.layout[HASHED] else 0, np.int64)


@inlined
def find_row(
    keys: Keys, table: Ints, weights: Array, task: int, indices: Ints, begin: int, end: int, slots: Ints
) -> None:
    """The slots of a row's hashed pairs in `slots`, -1 where a pair was never opened; prefetches the weights."""
    base, size = np.uint64(table[task, BASE]), np.uint64(table[task, SIZE])
    width = weights.strides[0] // weights.itemsize
    for e in range(end - begin):
        slot = slot_of(keys[place(keys, base, size, indices[begin + e])])
        slots[e] = slot if slot > 0 else -1
        prefetch(weights, slot * width)


@inlined
def open_row(
    layout: Ints, keys: Keys, table: Ints, task: int, indices: Ints, begin: int, end: int, slots: Ints
) -> None:
    """Open the pairs that `find_row` did not find (slot -1); the caller has checked `regions.fits`."""
    base, size = np.uint64(table[task, BASE]), np.uint64(table[task, SIZE])
    for e in range(end - begin):
        if slots[e] >= 0:
            continue
        at = place(keys, base, size, indices[begin + e])
        if keys[at] == 0:
            keys[at] = key_of(indices[begin + e], layout[ROWS])
            layout[ROWS] += 1
            layout[USED] += 1
            table[task, COUNT] += 1
        slots[e] = slot_of(keys[at])


# --- between kernel calls ----------------------------------------------------------------------------------------


def dense(task_stride: int, feature_stride: int) -> Pairs:
    """A table layout."""
    layout = np.zeros(FREE + CLASSES, np.int64)
    layout[TASK_STRIDE], layout[FEATURE_STRIDE] = task_stride, feature_stride
    return Pairs(layout, np.zeros(0, np.uint64), np.zeros((1, COLUMNS), np.int64))


def pack(tasks: Ints, features: Ints) -> Ints:
    """Keys of pairs."""
    return (tasks << _FEATURE_BITS) | features


def unpack(keys: Ints) -> tuple[Ints, Ints]:
    """Tasks and features of keys."""
    return keys >> _FEATURE_BITS, keys & ((1 << _FEATURE_BITS) - 1)


# --- one row, for looking at -----------------------------------------------------------------------------------------


@compiled
def read_row(pairs: Pairs, weights: Floats, task: int, indices: Ints) -> Floats:
    """The weights of a task for these features; 0 where a pair was never opened."""
    layout, n = pairs.layout, len(indices)
    found = np.zeros(n)
    if layout[HASHED]:
        slots = np.empty(n, np.int64)
        find_row(pairs.keys, pairs.table, weights, task, indices, 0, n, slots)
        for e in range(n):
            if slots[e] >= 0:
                found[e] = weights[slots[e]]
    else:
        for e in range(n):
            found[e] = weights[task * layout[TASK_STRIDE] + indices[e] * layout[FEATURE_STRIDE]]
    return found
