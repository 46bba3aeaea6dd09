"""A time limit for a learner over all its runs: it is stopped between two pieces of the stream, never within one.

Chunking is invisible, so learning in pieces changes no figure. What is counted is the processor time of the thread that
learns: learners that run side by side do not use up each other's time, and cutting pieces costs a learner nothing.
"""

import threading
import time

import numpy as np

from weft.compiled.arrays import Floats
from weft.evaluation.scopes import Learns
from weft.stream import Stream

FIRST_ROUNDS = 16
"""Rounds of the first piece; the next ones are as long as the time that was taken allows."""
PIECE = (0.002, 0.5)
"""Least and most seconds that a piece should take; between them a hundredth of the limit."""

now = time.thread_time


class Clock:
    """What a learner has used and learned so far, in all its runs; several threads may count at once."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.seconds = 0.0
        self.events = 0
        self.is_stopped = False
        self._lock = threading.Lock()

    def count(self, seconds: float, events: int) -> None:
        """Add a piece."""
        with self._lock:
            self.seconds += seconds
            self.events += events

    def stop(self) -> None:
        """No further piece is begun."""
        self.is_stopped = True

    @property
    def may_go_on(self) -> bool:
        """Whether there is time left; once there is not, never again."""
        if self.limit is not None and self.seconds >= self.limit:
            self.stop()
        return not self.is_stopped


def learn_within(model: Learns, stream: Stream, clock: Clock) -> tuple[Floats, float] | None:
    """The scores and the seconds; None if the clock stopped it before the end of the stream."""
    rounds, total = stream.n_rounds, 0.0
    at, size = 0, FIRST_ROUNDS if clock.limit is not None else rounds
    scores = np.empty(len(stream))
    while at < rounds:
        if not clock.may_go_on:
            return None
        end = min(at + size, rounds)
        piece = stream.cut(at, end)
        begin = now()
        found = model.learn(piece)
        seconds = now() - begin
        scores[stream.rounds[at] : stream.rounds[end]] = found
        clock.count(seconds, len(piece))
        total += seconds
        at, size = end, _next_size(size, seconds, clock.limit)
    return scores, total


def _next_size(size: int, seconds: float, limit: float | None) -> int:
    """At most twice as many rounds, and not more than the piece's share of the limit allows at this speed."""
    wanted = float(np.clip((limit or 0.0) / 100, *PIECE))
    return 2 * size if seconds <= 0.5 * wanted else max(1, int(size * wanted / seconds))
