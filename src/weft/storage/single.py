"""One event at a time: buffers that are filled again and again, with the learner's state behind one handle.

Calling a compiled function costs more than learning a short event, so everything that can be done once is done when
the state grows, not when an event comes.
"""

import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from weft.compiled.jit import direct, make_handle
from weft.compiled.python_dict import READABLE, UNREAD, DictReader
from weft.names import Names, plain
from weft.storage.batch import LARGEST, SMALLEST, single_batch

UNKNOWN = -1
"""What `fill` returns for an event that falls back to the batch path."""

_SIMPLE = frozenset((str, int))
_NUMBERS = frozenset((float, int))
_LEAST_ROOM = 32


def is_ordinary(x: dict[Any, Any]) -> bool:
    """Are all features of an event named by strings, with numbers that nothing is wrong with and that are not 0?"""
    values = x.values()
    return (
        {str}.issuperset(map(type, x))
        and _NUMBERS.issuperset(map(type, values))
        and all(SMALLEST <= abs(value) <= LARGEST for value in values)
    )


def _unread(words: int, x: int) -> int:
    """Where compiled code cannot read dicts."""
    return UNREAD


class Single:
    """The buffers of single events over a state; to be made again when the state or a row outgrows them.

    One thread at a time: who uses them holds the lock of the model's guard.
    """

    def __init__(self, learner: Any, state: Any, features: Names, trace_columns: int, room: int = 0) -> None:
        self.batch = single_batch(max(room, _LEAST_ROOM))
        self.room = len(self.batch.indices)
        scores, trace = np.zeros(1), np.zeros((0, trace_columns))
        self.score: Any = scores.data  # a Python number at [0]
        self.weight: Any = self.batch.weight.data  # that of the event, to be written before it is learned
        kernels, parts = learner.kernels, (learner.hyper, state, self.batch, scores, trace)
        self.handle: Any = make_handle(parts) if kernels.compiled else SimpleNamespace(parts=parts)
        self.predict, self.learn = kernels.predict_one, kernels.learn_one
        if kernels.compiled:
            self.predict = direct(kernels.predict_one, self.handle, 0, 0)
            self.learn = direct(kernels.learn_one, self.handle, 0, 0.0, 0)
        self._features = features
        self._slot_of = features.slots.__getitem__
        self._bytes = memoryview(cast(Any, self.batch.indices.base)).cast("B")
        self._packers: dict[int, Callable[..., None]] = {}
        reader = DictReader(features.slots, self.batch.indices, self.batch.values) if READABLE else None
        self._read: Callable[[int, int], int] = reader.read if reader else _unread
        self._words = reader.words if reader else 0
        self._reader = reader  # keeps the words alive

    def fill(self, x: dict[Any, Any]) -> int:
        """Put a dict's features into the buffers, unsorted; returns their number, or UNKNOWN.

        UNKNOWN are events with features that are not known yet, with more of them than there is room for, or with
        values that are not numbers.
        """
        count = self._read(self._words, id(x))
        if count != UNREAD:
            return count
        if not self._features.only_text and not _SIMPLE.issuperset(map(type, x)):  # 1.0 and True equal 1
            for name in x:
                plain(name, "feature name")
        try:
            count = len(x)
            pack = self._packers.get(count) or self._make_packer(count)
            pack(self._bytes, 0, *map(self._slot_of, x), *x.values())
        except (KeyError, TypeError, OverflowError, struct.error):
            return UNKNOWN
        return count

    def _make_packer(self, count: int) -> Callable[..., None]:
        """Writes `count` slots and as many values behind the room for slots."""
        between = 8 * (self.room - count)
        if between < 0:
            raise OverflowError
        self._packers[count] = pack = struct.Struct(f"{count}q{between}x{count}d").pack_into
        return pack
