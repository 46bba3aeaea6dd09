"""Regions of hashed pairs, in compiled loops: their sizes, how kernels make room in them, what is in them.

A region that becomes too small is replaced by a larger one, taken from those of its size that are free, or from the end
of the keys; only the keys of that one task are put in again, and no row of an array over pairs moves. Nothing is
allocated: a kernel returns when the end of the keys or of the rows is reached, and `weft.storage.arena` makes room.
The layout is that of `weft.storage.pairs`.
"""

import numpy as np

from weft.compiled.arrays import Ints
from weft.compiled.jit import compiled, helper_no_alloc, inlined
from weft.storage.batch import Batch
from weft.storage.pairs import (
    BASE,
    COUNT,
    END,
    FREE,
    ROOM,
    ROWS,
    SIZE,
    TASK_STRIDE,
    USED,
    Keys,
    Pairs,
    key_of,
    place,
    slot_of,
)

NOWHERE = 8
"""The first keys, which stay 0."""

ASCENDING, ANY_ORDER, OUTSIDE = range(3)
"""What `order_of` says of pairs."""


@inlined
def limit_of(size: int) -> int:
    """The most pairs of a region of so many keys: a search needs an empty place to end at."""
    return size // 8 * 7


@inlined
def size_of(number: int) -> int:
    """The sizes that regions have: 8, 16, 24, 32, 48, 64, 96, 128, ... keys."""
    if number < 3:
        return 8 * (number + 1)
    return (32 if number % 2 == 1 else 48) << ((number - 3) // 2)


@inlined
def class_of(count: int) -> int:
    """The number of the smallest size that takes so many pairs."""
    number = 0
    while limit_of(size_of(number)) < count:
        number += 1
    return number


# --- within kernels ----------------------------------------------------------------------------------------------


@helper_no_alloc
def grow_region(layout: Ints, keys: Keys, table: Ints, region: int, need: int) -> bool:
    """Replace a region by one for `need` pairs, and as many to come; False if the end of the keys is reached.

    The first region of a task has nothing to spare: many a task has no second event.
    """
    base, size = table[region, BASE], table[region, SIZE]
    number = class_of(2 * need if size > 0 else need)
    larger, to = size_of(number), layout[FREE + number]
    if to > 0:
        layout[FREE + number] = np.int64(keys[to])
        for at in range(to, to + larger):
            keys[at] = np.uint64(0)
    else:
        to = layout[END]
        if to + larger > len(keys):
            return False
        layout[END] = to + larger
    for at in range(base, base + size):
        key = keys[at]
        if key != np.uint64(0):
            feature = np.int64(key >> np.uint64(32))
            keys[place(keys, np.uint64(to), np.uint64(larger), feature)] = key  # type: ignore[arg-type]
    if size > 0:
        release(layout, keys, base, size)
    table[region, BASE], table[region, SIZE] = to, larger
    return True


@inlined
def release(layout: Ints, keys: Keys, base: int, size: int) -> None:
    """Keep a region that is not needed any more for the next one of its size."""
    number = class_of(limit_of(size))
    keys[base] = np.uint64(layout[FREE + number])
    layout[FREE + number] = base


@inlined
def fits(pairs: Pairs, batch: Batch, lo: int, hi: int) -> bool:
    """Make room for every pair that the examples lo..hi, one round, could open; False if the arrays are too short."""
    layout, keys, table = pairs
    need, rows = 0, 0
    for i in range(lo, hi):
        begin, end = batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
        region = batch.task[i] * layout[TASK_STRIDE]
        base, size, count = np.uint64(table[region, BASE]), np.uint64(table[region, SIZE]), table[region, COUNT]
        free = limit_of(table[region, SIZE]) - count
        if layout[TASK_STRIDE] != 0:
            need = 0  # tasks of a round are different, and so are their regions
        rows += end - begin
        if need + end - begin <= free:
            need += end - begin
            continue
        for e in range(begin, end):  # some may be there already
            if keys[place(keys, base, size, batch.indices[e])] == 0:
                need += 1
        if need > free and not grow_region(layout, keys, table, region, count + need):
            return False
    return bool(layout[ROWS] + rows <= layout[ROOM])


@inlined
def has_room(pairs: Pairs, batch: Batch, lo: int, hi: int, extra: int, features: int) -> bool:
    """The same if every example may open `extra` pairs that are not in its row; a task has at most `features` pairs."""
    layout, keys, table = pairs
    rows = 0
    for i in range(lo, hi):
        region = batch.task[i] * layout[TASK_STRIDE]
        count = table[region, COUNT]
        need = min(batch.indptr[batch.row[i] + 1] - batch.indptr[batch.row[i]] + extra, features - count)
        rows += need
        if count + need > limit_of(table[region, SIZE]) and not grow_region(layout, keys, table, region, count + need):
            return False
    return bool(layout[ROWS] + rows <= layout[ROOM])


@helper_no_alloc
def room_for(pairs: Pairs, region: int, missing: int) -> bool:
    """Make room for so many pairs of one region that are known to be missing; False if the arrays are too short."""
    layout, keys, table = pairs
    if layout[ROWS] + missing > layout[ROOM]:
        return False
    need = table[region, COUNT] + missing
    return bool(need <= limit_of(table[region, SIZE]) or grow_region(layout, keys, table, region, need))


# --- between kernel calls ----------------------------------------------------------------------------------------


@compiled
def shows(batch: Batch, features: int, enough: int, seen: Keys) -> bool:
    """Whether a batch shows so many pairs; `seen` has a bit for each that there can be."""
    for i in range(len(batch.task)):
        first, new = np.uint64(batch.task[i] * features), np.uint64(0)
        for e in range(np.uint64(batch.indptr[batch.row[i]]), np.uint64(batch.indptr[batch.row[i] + 1])):
            at = first + np.uint64(batch.indices[e])
            word, bit = at >> np.uint64(6), at & np.uint64(63)
            had = seen[word]
            seen[word] = had | np.uint64(1) << bit
            new += ~(had >> bit) & np.uint64(1)  # a branch would be guessed wrong too often
        enough -= int(new)
        if enough <= 0:
            return True
    return False


@compiled
def order_of(pairs: Ints, tasks: int, features: int) -> int:
    """Of (task, feature) pairs of a file: ASCENDING, which means that none appears twice, ANY_ORDER, or OUTSIDE."""
    found, before, last = ASCENDING, -1, -1
    for i in range(pairs.shape[0]):
        task, feature = pairs[i, 0], pairs[i, 1]
        if task < 0 or task >= tasks or feature < 0 or feature >= features:
            return OUTSIDE
        if task < before or (task == before and feature <= last):
            found = ANY_ORDER
        before, last = task, feature
    return found


@compiled
def lay_out(table: Ints, pairs: Ints) -> int:
    """Count the pairs of every task, and lay regions for them one behind the other; returns the end of the last."""
    for i in range(pairs.shape[0]):
        table[pairs[i, 0], COUNT] += 1
    end = NOWHERE
    for region in range(table.shape[0]):
        count = table[region, COUNT]
        if count > 0:
            table[region, BASE], table[region, SIZE] = end, size_of(class_of(count))
            end += table[region, SIZE]
    return end


@compiled
def insert(pairs: Pairs, inserted: Ints) -> None:
    """Put (task, feature) pairs into regions that were laid out for them; their slots are 1, 2, ..., in this order."""
    layout, keys, table = pairs
    for i in range(inserted.shape[0]):
        task, feature = inserted[i, 0], inserted[i, 1]
        base, size = np.uint64(table[task, BASE]), np.uint64(table[task, SIZE])
        keys[place(keys, base, size, feature)] = key_of(feature, i + 1)
    layout[ROWS], layout[USED] = inserted.shape[0] + 1, inserted.shape[0]


@compiled
def read_all(pairs: Pairs, keys: Ints, slots: Ints) -> None:
    """The keys (task << 32 | feature) and slots of all pairs: tasks in ascending order, features in any."""
    _, features, table = pairs
    found = 0
    for region in range(table.shape[0]):
        base = table[region, BASE]
        for at in range(base, base + table[region, SIZE]):
            if features[at] != 0:
                keys[found] = (region << 32) | np.int64(features[at] >> np.uint64(32))
                slots[found] = slot_of(features[at])
                found += 1


@compiled
def close_region(pairs: Pairs, region: int, features: Ints, slots: Ints) -> int:
    """Take all pairs from a region; returns how many, their features and slots, whose numbers the caller clears."""
    layout, keys, table = pairs
    base, size, found = table[region, BASE], table[region, SIZE], 0
    for at in range(base, base + size):
        if keys[at] != 0:
            features[found], slots[found] = np.int64(keys[at] >> np.uint64(32)), slot_of(keys[at])
            found += 1
    if size > 0:
        release(layout, keys, base, size)
    layout[USED] -= found
    table[region, BASE], table[region, SIZE], table[region, COUNT] = 0, 0, 0
    return int(found)
