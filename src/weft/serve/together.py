"""Entries that follow each other, applied to the model: what comes of each is what comes of it alone, bit for bit.

Events without anything special are learned in one call of the model, which takes less time than one call each, and much
less where tasks are new.
"""

import time
from collections.abc import Sequence

from weft.model import Model
from weft.serve.applying import Issued, apply, issued
from weft.serve.entries import Entry, Learn
from weft.stream import Stream

LEAST = 100
"""From so many events on, one call is faster."""
MOST = 512
LONGEST = 0.004
"""Seconds for which predictions wait while entries are applied, about."""


class Turns:
    """How many entries are applied while predictions wait: as many as their time allows.

    Their time is that of the processor: what else the machine does is no reason for less.
    """

    def __init__(self) -> None:
        self._alone, self._together = 32, 256

    def next(self, model: Model, entries: Sequence[Entry], start: int) -> Sequence[Entry]:
        """The entries of the next turn."""
        part = entries[start : start + self._together]
        return part if learns_together(model, part) else entries[start : start + self._alone]

    def apply(self, model: Model, part: Sequence[Entry]) -> list[Issued | str]:
        """What `apply` gives for one entry after the other."""
        began = time.thread_time()
        is_together = learns_together(model, part)
        found = _learn(model, part) if is_together else [apply(model, entry) for entry in part]
        took = time.thread_time() - began
        if is_together:
            self._together = _adapted(self._together, took)
        else:
            self._alone = _adapted(self._alone, took)
            self._together = min(MOST, self._together + 1)  # tried again after some turns
        return found


def _adapted(size: int, took: float) -> int:
    if took > LONGEST:
        return max(1, size // 2)
    return min(MOST, 2 * size) if took < LONGEST / 2 else size


def learns_together(model: Model, part: Sequence[Entry]) -> bool:
    """Whether these entries are events that one call can learn, and enough of them."""
    if len(part) < LEAST or model.schema is not None or model.target == "point":
        return False
    if model.target == "binary" and not model.label_classes.is_complete:
        return False
    return all(map(_is_plain, part))


def _is_plain(entry: Entry) -> bool:
    """An event with named features, a number as its label and no weight."""
    return (
        type(entry) is Learn
        and type(entry.x) is dict
        and type(entry.y) is float
        and entry.weight == 1.0
        and type(entry.task) is str
    )


def _learn(model: Model, part: Sequence[Entry]) -> list[Issued | str]:
    events = [entry for entry in part if isinstance(entry, Learn)]  # all of them
    try:
        stream = Stream([event.x for event in events], [event.y for event in events], [event.task for event in events])
        scores = model.learn(stream).tolist()
    except ValueError:  # one of them is refused, and the model is as it was
        return [apply(model, event) for event in events]
    return [issued(model, score) for score in scores]
