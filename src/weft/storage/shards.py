"""A batch cut by tasks, for learners whose tasks do not interact, and room for new pairs of every part.

Threads that learn such parts at the same time write to the same arrays, each to the numbers of its own tasks. What they
would share are the counters in the layout of hashed pairs: the next row, the end of the keys, the free regions. Every
part therefore has a layout of its own, an *arena*, with a piece of the rows and of the keys that nobody uses yet. It
takes another piece from the `Stock` when its kernel returns for want of room, and `Stock.close` adds the arenas to the
layout of the state. Where a pair's row lies then depends on who was faster, which shows in no result: slots are not
saved, and a file lists pairs in ascending order.

Pieces grow with what a part has opened, so that what is left of them is a small part of it. Rows that are left stay
empty; keys that are left become free regions.
"""

import threading
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import compiled
from weft.storage.batch import Batch
from weft.storage.pairs import CLASSES, COUNT, END, FREE, HASHED, ROOM, ROWS, USED, Keys, Pairs
from weft.storage.regions import release, size_of

LEAST_ROWS, LEAST_KEYS = 1 << 10, 1 << 12
"""Rows and keys of the first pieces."""
SHARE = 8
"""A later piece of rows is at least this fraction of the pairs opened so far."""


class Shard(NamedTuple):
    """The examples of some tasks, by their positions in a batch, as rounds of one row; with scores and trace."""

    examples: Ints
    batch: Batch
    scores: Floats
    trace: Floats

    def report(self, scores: Floats, trace: Floats) -> None:
        """Put scores and trace where they belong in those of the whole batch."""
        scores[self.examples] = self.scores
        if len(trace):
            trace[self.examples] = self.trace


def by_task(batch: Batch, count: int, trace: Floats) -> list[Shard]:
    """At most `count` shards of neighbouring tasks with about equally many non-zeros; none is empty.

    A shard has the trace that a batch with this one would have: a row per example, or none.
    """
    lengths = np.diff(batch.indptr)[batch.row] + 1  # rows of zeros count as well
    ends = np.cumsum(np.bincount(batch.task, weights=lengths))
    number = np.searchsorted(ends[-1] * np.arange(1, count) / count, ends - np.diff(ends, prepend=0.0) / 2)
    found = number.astype(np.uint8 if count <= 256 else np.int64)[batch.task]
    parts = (np.flatnonzero(found == n) for n in np.unique(number))
    return [_shard(batch, examples, trace) for examples in parts if len(examples)]


def _shard(batch: Batch, examples: Ints, trace: Floats) -> Shard:
    count = len(examples)
    part = batch._replace(
        task=batch.task[examples],
        label=batch.label[examples],
        row=batch.row[examples],
        rounds=np.arange(count + 1),
        weight=batch.weight[examples] if len(batch.weight) else batch.weight,
    )
    return Shard(examples, part, np.empty(count), np.zeros((count if len(trace) else 0, trace.shape[1])))


class Arena:
    """A layout of its own over the keys, the table and the arrays of a state; `state` is the state with it."""

    def __init__(self, state: Any, layout: Ints, at: int) -> None:
        self.layout, self._whole = layout, state
        self.first_row = self.first_key = at  # where the present pieces begin
        self.high_row = self.high_key = at  # the end of what is in use, in earlier pieces
        self.state = state
        self.see(0)

    def see(self, keys: int) -> None:
        """Kernels may use the keys up to this one."""
        pairs = self._whole.pairs
        self.state = self._whole._replace(pairs=Pairs(self.layout, pairs.keys[:keys], pairs.table))

    @property
    def last_key(self) -> int:
        """The end of the present piece of keys."""
        return len(self.state.pairs.keys)

    def mark(self) -> None:
        """Note what is in use before another piece is taken."""
        if self.layout[ROWS] > self.first_row:
            self.high_row = int(self.layout[ROWS])
        if self.layout[END] > self.first_key:
            self.high_key = int(self.layout[END])


class Stock:
    """The rows and keys of a state that nobody uses, handed out in pieces to threads that open pairs at once."""

    def __init__(self, state: Any, arenas: int) -> None:
        pairs = state.pairs
        self.hashed = bool(pairs.layout[HASHED])
        self._pairs, self._lock = pairs, threading.Lock()
        self._row, self._key = int(pairs.layout[ROWS]), int(pairs.layout[END])
        self.arenas = [self._blank(state, n) for n in range(arenas)] if self.hashed else []
        self._state = state

    def _blank(self, state: Any, number: int) -> Arena:
        """An arena without room; the first one has the free regions."""
        layout = self._pairs.layout.copy()
        layout[USED] = layout[ROWS] = layout[ROOM] = layout[END] = 0
        if number > 0:
            layout[FREE : FREE + CLASSES] = 0
        return Arena(state, layout, 0)

    def state(self, number: int) -> Any:
        """The state as a shard's kernel takes it now."""
        return self.arenas[number].state if self.hashed else self._state

    def refill(self, number: int, batch: Batch, done: int) -> bool:
        """Room for the round after `done` rounds of a shard; False if there is not enough left for it."""
        if not self.hashed:
            return False
        arena, row = self.arenas[number], batch.row[done]
        need = int(batch.indptr[row + 1] - batch.indptr[row])
        # A region has at most 8/7 of the keys it needs, twice that to spare, and half of it to the next size.
        keys = 4 * (int(self._pairs.table[batch.task[done], COUNT]) + need) + 24
        with self._lock:
            arena.mark()
            return self._more_rows(arena, need) and self._more_keys(arena, keys)

    def _more_rows(self, arena: Arena, need: int) -> bool:
        layout, room = arena.layout, int(self._pairs.layout[ROOM])
        if layout[ROOM] - layout[ROWS] >= need:
            return True
        if layout[ROOM] != self._row:  # what is left of the last piece stays empty
            if room - self._row < need:
                return False
            arena.first_row = layout[ROWS] = self._row
        wanted = max(SHARE * need, int(layout[USED]) // SHARE, LEAST_ROWS)
        self._row = layout[ROOM] = min(self._row + wanted, room)
        return bool(layout[ROOM] - layout[ROWS] >= need)

    def _more_keys(self, arena: Arena, need: int) -> bool:
        layout, room, last = arena.layout, len(self._pairs.keys), arena.last_key
        if last - layout[END] >= need:
            return True
        if last != self._key:
            if room - self._key < need:
                return False
            scrap(layout, self._pairs.keys, int(layout[END]), last)
            arena.high_key = last  # free regions are in use
            arena.first_key = layout[END] = self._key
        wanted = max(need, int(layout[USED]) // 2, LEAST_KEYS)
        self._key = min(self._key + wanted, room)
        arena.see(self._key)
        return bool(self._key - layout[END] >= need)

    def close(self) -> None:
        """Add the arenas to the layout of the state; nobody uses them any more."""
        layout, keys, _ = self._pairs
        for arena in self.arenas:
            arena.mark()
            layout[USED] += arena.layout[USED]
            layout[ROWS] = max(layout[ROWS], arena.high_row)
            layout[END] = max(layout[END], arena.high_key)
        if self.arenas:
            layout[FREE : FREE + CLASSES] = 0
        for arena in self.arenas:
            join_free(layout, keys, arena.layout)
            scrap(layout, keys, int(arena.layout[END]), min(arena.last_key, int(layout[END])))


@compiled
def scrap(layout: Ints, keys: Keys, begin: int, end: int) -> None:
    """Make free regions of keys that were never used."""
    while end - begin >= size_of(0):
        number = 0
        while number + 1 < CLASSES and size_of(number + 1) <= end - begin:
            number += 1
        release(layout, keys, begin, size_of(number))
        begin += size_of(number)


@compiled
def join_free(layout: Ints, keys: Keys, other: Ints) -> None:
    """Put the free regions of another layout before those of the first."""
    for number in range(FREE, FREE + CLASSES):
        if other[number] > 0:
            last = other[number]
            while keys[last] != 0:
                last = np.int64(keys[last])
            keys[last] = np.uint64(layout[number])
            layout[number] = other[number]
