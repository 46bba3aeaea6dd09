"""Regions of hashed pairs between kernel calls: how they are made, listed and given longer arrays.

Kernels make room for new pairs by themselves (`regions`) until the keys, or the rows of the arrays over pairs, are used
up. Then both are made longer, at least twice as long: in place if they lie in reserved memory (`memory`), else by a
copy. Neither changes a slot.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Ints
from weft.storage.batch import Batch
from weft.storage.memory import longer, zeros
from weft.storage.pairs import (
    CLASSES,
    COLUMNS,
    COUNT,
    END,
    FREE,
    HASHED,
    ROOM,
    ROWS,
    TASK_STRIDE,
    USED,
    Pairs,
    unpack,
)
from weft.storage.regions import close_region, fits, has_room, insert, lay_out, read_all, shows

LEAST_ROOM = 64
"""Rows and keys to begin with."""
LONG_ROOM = 1 << 16
"""Pairs that a long batch has room for at once; for such a batch rows and keys are made longer together. A kernel that
returns for want of room looks through the whole batch when it is called again."""


class Closed(NamedTuple):
    """The pairs that a task had: their features, and the slots whose numbers are to be cleared."""

    features: Ints
    slots: Ints


def hashed(pairs: Ints, tasks: int, pooled: bool = False) -> Pairs:
    """Regions that hold these (task, feature) pairs of tasks 0 .. tasks-1, with slots 1, 2, ... in this order."""
    shown = read_only(pairs)
    table = zeros((tasks, COLUMNS), np.int64)
    end = lay_out(table, shown)
    layout = np.zeros(FREE + CLASSES, np.int64)
    layout[TASK_STRIDE], layout[HASHED], layout[END] = int(not pooled), 1, end
    layout[ROOM] = max(len(pairs) + 1 + len(pairs) // 4, LEAST_ROOM)
    found = Pairs(layout, zeros((max(end + end // 4, LEAST_ROOM),), np.uint64), table)
    insert(found, shown)
    return found


def read_only(pairs: Ints) -> Ints:
    """The same pairs as compiled functions take them, whether they come from a file or not: one type for all."""
    shown: Ints = np.require(pairs, np.int64, ["C", "A"]).view()
    shown.flags.writeable = False
    return shown


def for_tasks(pairs: Pairs, tasks: int) -> Pairs:
    """The same pairs, with a region for every task."""
    have = len(pairs.table)
    return pairs if have >= tasks else pairs._replace(table=longer(pairs.table, max(tasks, 2 * have)))


def make_room(pairs: Pairs, batch: Batch, done: int, features: int, extra: int = 0) -> Pairs:
    """Room for the pairs of the round after `done` rounds of a batch; the same pairs if there was enough.

    Every example may open `extra` pairs that are not in its row, and a task has at most `features` pairs. The arrays
    over pairs have to be as long as the ROOM of the new layout says.
    """
    lo, hi = int(batch.rounds[done]), int(batch.rounds[done + 1])
    if _fits(pairs, batch, lo, hi, features, extra):
        return pairs
    layout, keys, table = pairs
    rows = batch.row[lo:hi]
    need = batch.indptr[rows + 1] - batch.indptr[rows] + extra
    counts = table[batch.task[lo:hi] * layout[TASK_STRIDE], COUNT]
    largest = int(np.sum(counts + need)) if layout[TASK_STRIDE] else int(table[0, COUNT] + np.sum(need))
    # A region has at most 8/7 of the keys it needs, twice that to spare, and half of it to the next size.
    most = int(layout[END]) + 4 * largest + 24 * len(rows)
    room = int(layout[ROWS] + np.sum(need))
    ahead = min((len(batch.task) - lo) * int(np.max(need, initial=0)), LONG_ROOM)
    layout = layout.copy()  # the old one stays right for arrays that are not longer yet
    if room > layout[ROOM] or (ahead == LONG_ROOM and 2 * room > layout[ROOM]):
        layout[ROOM] = max(room, 2 * layout[ROOM], ahead)
    if most > len(keys) or (ahead == LONG_ROOM and 2 * most > len(keys)):
        keys = longer(keys, max(most, 2 * len(keys), 4 * ahead))
    found = Pairs(layout, keys, table)
    _fits(found, batch, lo, hi, features, extra)
    return found


def _fits(pairs: Pairs, batch: Batch, lo: int, hi: int, features: int, extra: int) -> bool:
    return has_room(pairs, batch, lo, hi, extra, features) if extra else fits(pairs, batch, lo, hi)


def all_slots(pairs: Pairs) -> tuple[Ints, Ints, Ints]:
    """Task, feature and slot of all pairs, in any order."""
    keys, slots = np.empty(pairs.layout[USED], np.int64), np.empty(pairs.layout[USED], np.int64)
    read_all(pairs, keys, slots)
    return *unpack(keys), slots


def close_task(pairs: Pairs, task: int) -> Closed:
    """Take all pairs from a task: its region can then be used by another."""
    count = int(pairs.table[task, COUNT])
    features, slots = np.empty(count, np.int64), np.empty(count, np.int64)
    close_region(pairs, task, features, slots)
    return Closed(features, slots)


def fills(batch: Batch, tasks: int, features: int) -> bool:
    """Does a batch show at least half of all pairs of tasks and features?"""
    rows, table = batch.row, tasks * features
    if 2 * int(np.sum(batch.indptr[rows + 1] - batch.indptr[rows])) < table:
        return False
    return shows(batch, features, (table + 1) // 2, np.zeros(table // 64 + 1, np.uint64))
