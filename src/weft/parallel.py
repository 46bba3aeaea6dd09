"""Bulk scoring in several threads: compiled kernels release the interpreter lock, and a score changes nothing.

A batch is cut between rounds into contiguous parts of about equally many examples, and each part is scored by the same
kernel, in the thread that is free first. The score of an example depends on the state and on its own row alone, so the
number of threads changes no bit.

Threads are made for one call and have ended when it returns, whatever happens: none is kept that a fork could lose, and
the state is not read any more when its guard lets a writer in.
"""

import _thread
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import PLAIN
from weft.learner import Kernels
from weft.storage.batch import Batch

LEAST_NONZEROS = 1 << 17
"""Fewer non-zeros are not worth a thread: that many take 0.2 to 7 ms, and a thread that finds a free processor 0.1."""

MOST_THREADS = 4
"""Unless `WEFT_THREADS` says otherwise: scoring waits for memory, which more threads would not bring sooner."""

PARTS = 4
"""For every thread: one that finds its processor busy leaves its later parts to the others."""

VARIABLE = "WEFT_THREADS"


def thread_count() -> int:
    """The most threads for one call: `WEFT_THREADS`, or as many as there are processors for this process, up to 4."""
    given = os.environ.get(VARIABLE, "")
    if not given:
        return min(_processors(), MOST_THREADS)
    if not (given.isascii() and given.isdigit() and 1 <= int(given) <= 1024):
        raise ValueError(f"{VARIABLE} is {given!r}; give the number of threads, an integer from 1 to 1024")
    return int(given)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):  # Linux: a container or taskset may leave only some
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def predict(kernels: Kernels, hyper: Any, state: Any, batch: Batch, scores: Floats) -> None:
    """Fill `scores`, in several threads if the kernel is compiled and the batch is large enough."""
    kernel, enough = kernels.predict, _nonzeros(batch) // LEAST_NONZEROS
    threads = min(enough, thread_count()) if enough > 1 and kernels.compiled and not PLAIN else 1
    if threads == 1:
        kernel(hyper, state, batch, scores)
        return

    def scoring(lo: int, hi: int) -> Callable[[], None]:
        part, begin, end = _part(batch, lo, hi), batch.rounds[lo], batch.rounds[hi]
        return lambda: kernel(hyper, state, part, scores[begin:end])

    _run([scoring(lo, hi) for lo, hi in _cuts(batch, min(enough, PARTS * threads))], threads)


def _nonzeros(batch: Batch) -> int:
    """About how many non-zeros the examples have: several may share a row."""
    rows = len(batch.indptr) - 1
    return len(batch.indices) * len(batch.row) // rows if rows > 0 else 0


def _cuts(batch: Batch, parts: int) -> list[tuple[int, int]]:
    """The first and last rounds of parts with about equally many examples each; none is empty."""
    wanted = len(batch.task) * np.arange(1, parts) // parts
    edges = {0, *np.searchsorted(batch.rounds, wanted).tolist(), len(batch.rounds) - 1}
    return list(pairwise(sorted(edges)))


def _part(batch: Batch, lo: int, hi: int) -> Batch:
    """The rounds lo..hi of a batch, with the rows from their first to their last; nothing long is copied."""
    begin, end = batch.rounds[lo], batch.rounds[hi]
    row = batch.row[begin:end]
    first, last = row.min(), row.max()
    return batch._replace(
        task=batch.task[begin:end],
        label=batch.label[begin:end],
        row=row - first,
        indptr=batch.indptr[first : last + 2],
        rounds=batch.rounds[lo : hi + 1] - begin,
    )


# --- threads ---


class _Helper:
    """A thread that makes calls; `thread` is set when it has started."""

    def __init__(self, calls: Iterator[Callable[[], None]]) -> None:
        self._calls = calls
        self.thread: int | None = None
        self.error: BaseException | None = None
        self.running = _thread.allocate_lock()
        self.running.acquire()

    def run(self) -> None:
        """Make calls until there are none left; an error is kept for who waits."""
        try:
            for call in self._calls:
                call()
        except BaseException as error:
            self.error = error
        finally:
            self.running.release()


def _run(calls: Sequence[Callable[[], None]], threads: int) -> None:
    """Make all calls, in this thread and in helpers that take the next call whenever they are free.

    An error is raised when all threads have ended.
    """
    shared = iter(calls)  # a thread whose processor is busy elsewhere takes fewer
    helpers = [_Helper(shared) for _ in range(threads - 1)]
    unfinished, late = list(helpers), None
    try:
        for helper in helpers:
            # In one instruction, see `guard`: no signal handler runs between the start and the note of it.
            with suppress(RuntimeError):  # there may be no more threads for this user or container
                [helper.thread] = map(_thread.start_new_thread, (helper.run,), ((),))
        for call in shared:
            call()
    finally:
        while unfinished:
            try:
                if unfinished[-1].thread is not None:
                    with unfinished[-1].running:
                        pass
                unfinished.pop()
            except BaseException as error:  # a signal handler raised it: wait on
                late = error
    for failure in (late, *(helper.error for helper in helpers)):
        if failure is not None:
            raise failure
