"""One event at a time: buffers that are filled again and again, with the learner's state behind one handle.

Calling a compiled function costs more than learning a short event, so everything that can be done once is done when
the state grows, not when an event comes.
"""

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.batch import single_batch
from weft.jit import make_handle
from weft.learner import Learner, trace_columns
from weft.names import Names, plain

UNKNOWN = -1
"""What `fill` returns for an event that must go the long way."""

_SIMPLE = frozenset((str, int))
_LEAST_ROOM = 32


class Single:
    """The buffers of single events over a state; to be made again when the state or a row outgrows them."""

    def __init__(self, learner: Learner, state: Any, features: Names, room: int = 0) -> None:
        self.batch = single_batch(max(room, _LEAST_ROOM))
        self.room = len(self.batch.indices)
        self.scores = np.zeros(1)
        self.handle = make_handle(
            (learner.hyper, state, self.batch, self.scores, np.zeros((0, len(trace_columns(learner)))))
        )
        self.predict, self.learn = learner.kernels.predict_one, learner.kernels.learn_one
        self._features = features
        self._slot_of = features.slots.__getitem__
        self._indices, self._values = self.batch.indices.data.cast("B"), self.batch.values.data.cast("B")
        self._packers: dict[int, tuple[Callable[..., None], Callable[..., None]]] = {}

    def fill(self, x: dict[Any, Any]) -> int:
        """Put a dict's features into the buffers, unsorted; returns their number, or UNKNOWN.

        Unknown are events with features that are not known yet, with more of them than there is room for, or with
        values that are no numbers.
        """
        if not self._features.only_text and not _SIMPLE.issuperset(map(type, x)):  # 1.0 and True equal 1
            for name in x:
                plain(name, "feature name")
        try:
            slots = [*map(self._slot_of, x)]
            pack_slots, pack_values = self._packers.get(len(slots)) or self._pack(len(slots))
            pack_slots(self._indices, 0, *slots)
            pack_values(self._values, 0, *x.values())
        except (KeyError, TypeError, OverflowError, struct.error):
            return UNKNOWN
        return len(slots)

    def _pack(self, count: int) -> tuple[Callable[..., None], Callable[..., None]]:
        found = struct.Struct(f"{count}q").pack_into, struct.Struct(f"{count}d").pack_into
        self._packers[count] = found
        return found
