"""Regions of hashed pairs, in compiled loops: how large they should be, where they lie, what is in them.

`weft.storage.arena` decides when to call which; the layout is that of `weft.storage.pairs`.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Ints
from weft.compiled.instructions import prefetch
from weft.compiled.jit import compiled, inlined, inlined_only
from weft.storage.batch import Batch
from weft.storage.pairs import (
    BASE,
    COUNT,
    END,
    SIZE,
    TASK_STRIDE,
    USED,
    WANTED,
    Keys,
    Pairs,
    first_slot,
    new_key,
    number_of,
    place,
)


class Need(NamedTuple):
    """What regions are made large enough for, see `too_small`."""

    floor: int
    features: int  # the most pairs of a region
    extra: int  # pairs that an example may open besides those of its row


@inlined
def region_size(count: int) -> int:
    """Keys for so many pairs: twice as many, in whole cache lines; three quarters can be used."""
    return (2 * count + 7) // 8 * 8


@compiled
def horizon(batch: Batch, done: int, most: int) -> int:
    """The end of the rounds, from round `done` on, that hold so many non-zeros; of that round at least."""
    need = 0
    for t in range(done, len(batch.rounds) - 1):
        for i in range(batch.rounds[t], batch.rounds[t + 1]):
            need += batch.indptr[batch.row[i] + 1] - batch.indptr[batch.row[i]]
        if need > most:
            return int(batch.rounds[t + 1])
    return int(batch.rounds[len(batch.rounds) - 1])


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
def too_small(pairs: Pairs, batch: Batch, first: int, last: int, need: Need) -> tuple[Ints, Ints]:
    """The regions without room for the examples first..last, and the sizes they should have.

    Pairs that come are counted as new, but no more than there are features. Because they need not be, a region's pairs
    at most double at a time once there are more than `need.floor`.
    """
    floor, features, extra = need
    regions, sizes = np.empty(last - first, np.int64), np.empty(last - first, np.int64)
    layout, _, table = pairs
    touched, found = 0, 0
    for i in range(first, last):
        if i + 8 < last:
            prefetch(table, batch.task[i + 8] * layout[TASK_STRIDE] * table.shape[1])
        region = batch.task[i] * layout[TASK_STRIDE]
        nonzeros = batch.indptr[batch.row[i] + 1] - batch.indptr[batch.row[i]]
        if table[region, WANTED] == 0 and nonzeros + extra > 0:  # every region once
            regions[touched] = region
            table[region, WANTED] = extra
            touched += 1
        table[region, WANTED] += nonzeros
    for k in range(touched):
        region = regions[k]
        count, size = table[region, COUNT], table[region, SIZE]
        pairs_to_come = min(count + table[region, WANTED], features)
        table[region, WANTED] = 0
        if region_size(min(pairs_to_come, max(count + count // 2, floor))) > size:
            wanted = region_size(min(pairs_to_come, max(2 * count, floor)))
            regions[found] = region
            sizes[found] = max(wanted, min((size + size // 2 + 7) // 8 * 8, region_size(features)))
            found += 1
    return regions[:found], sizes[:found]


@compiled
def size_regions(table: Ints) -> None:
    """Sizes by counts; the counts begin again."""
    for region in range(table.shape[0]):
        table[region, SIZE] = region_size(table[region, COUNT])
        table[region, COUNT] = 0


@compiled
def lay_out(table: Ints, end: int) -> int:
    """Regions one behind the other; returns the end of the last."""
    for region in range(table.shape[0]):
        table[region, BASE] = end if table[region, SIZE] > 0 else 0
        end += table[region, SIZE]
    return end


@compiled
def insert(pairs: Pairs, task: Ints, feature: Ints, slots: Ints) -> None:
    """Add pairs to regions that have room for them, and note their slots."""
    layout, keys, table = pairs
    for i in range(task.shape[0]):
        region = task[i]
        table[region, COUNT] += 1
        layout[USED] += 1
        at = place(keys, np.uint64(table[region, BASE]), np.uint64(table[region, SIZE]), feature[i])
        keys[at] = new_key(feature[i], table[region, COUNT])
        slots[i] = first_slot(table[region, BASE]) + table[region, COUNT] - 1


@inlined_only
def _refill(old: Keys, begin: int, end: int, keys: Keys, base: int, size: int) -> None:
    """Put the keys of old[begin:end] into a region."""
    for at in range(begin, end):
        if old[at] != 0:
            feature = np.int64(old[at] >> np.uint64(32))
            keys[place(keys, np.uint64(base), np.uint64(size), feature)] = old[at]  # type: ignore[arg-type]


@compiled
def relocate(pairs: Pairs, regions: Ints, sizes: Ints) -> None:
    """Move regions to the end, with new sizes."""
    layout, keys, table = pairs
    for k in range(regions.shape[0]):
        region, size = regions[k], sizes[k]
        begin, base = table[region, BASE], layout[END]
        _refill(keys, begin, begin + table[region, SIZE], keys, base, size)
        table[region, BASE], table[region, SIZE] = base, size
        layout[END] = base + size


@compiled
def transfer(old: Pairs, new: Pairs) -> None:
    """Put the keys of all regions into new ones."""
    for region in range(old.table.shape[0]):
        begin, base = old.table[region, BASE], new.table[region, BASE]
        _refill(old.keys, begin, begin + old.table[region, SIZE], new.keys, base, new.table[region, SIZE])


@compiled
def copy_rows(source: Ints, target: Ints, sources: Ints, targets: Ints, counts: Ints) -> None:
    """Copy runs of rows from one array to another, or within one; `arena.Moves` says which."""
    for k in range(counts.shape[0]):
        for i in range(counts[k]):
            for c in range(source.shape[1]):
                target[targets[k] + i, c] = source[sources[k] + i, c]


@compiled
def read_all(pairs: Pairs, keys: Ints, slots: Ints) -> None:
    """The keys (task << 32 | feature) and slots of all pairs, in any order."""
    _, features, table = pairs
    found = 0
    for region in range(table.shape[0]):
        base = table[region, BASE]
        for at in range(base, base + table[region, SIZE]):
            if features[at] != 0:
                keys[found] = (region << 32) | np.int64(features[at] >> np.uint64(32))
                slots[found] = first_slot(base) + number_of(features[at]) - 1
                found += 1
