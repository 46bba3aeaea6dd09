"""Bulk scoring and learning in several threads: compiled kernels release the interpreter lock.

**Scoring** changes nothing. A batch is cut between rounds into contiguous parts of about equally many examples, and
each part is scored by the same kernel, in the thread that is free first. The score of an example depends on the state
and on its own row alone, so the number of threads changes no bit.

**Learning**, where tasks do not interact (`Traits.independent`) and `WEFT_THREADS` asks for it: a batch is cut by tasks
into as many shards as there are threads (`storage.shards`), and each shard is learned by the learner's own kernel, in
the order of the stream. What a row reads and changes belongs to its own task, so the number of threads changes no bit
either.

Threads are made for one call and have ended when it returns, whatever happens: none is kept that a fork could lose, and
the state is not read any more when its guard lets a writer in.
"""

import _thread
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import PLAIN
from weft.learner import Kernels, Traits
from weft.storage.batch import Batch
from weft.storage.shards import Shard, Stock, by_task

LEAST_NONZEROS = 1 << 17
"""Fewer non-zeros are not worth a thread: that many take 0.2 to 7 ms, and a thread that finds a free processor 0.1."""

MOST_THREADS = 4
"""Unless `WEFT_THREADS` says otherwise: scoring waits for memory, which more threads would not bring sooner."""

PARTS = 4
"""For every thread that scores: one that finds its processor busy leaves its later parts to the others."""

WINDOW = 1 << 15
"""Rounds of a shard that a kernel is given at once: it looks at all of their rows before it begins, and may have to
begin again when there is no room."""

FEW = 64
"""Rounds that are learned in one thread after the state has grown, before the others go on."""

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
    if sys.platform == "linux":  # a container or taskset may leave only some
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def predict(kernels: Kernels, hyper: Any, state: Any, batch: Batch, scores: Floats) -> None:
    """Fill `scores`, in several threads if the kernel is compiled and the batch is large enough."""
    kernel, enough = kernels.predict, _nonzeros(batch) // LEAST_NONZEROS
    threads = _threads_for(kernels, enough)
    if threads == 1:
        kernel(hyper, state, batch, scores)
        return

    def scoring(lo: int, hi: int) -> Callable[[], None]:
        part, begin, end = _part(batch, lo, hi), batch.rounds[lo], batch.rounds[hi]
        return lambda: kernel(hyper, state, part, scores[begin:end])

    _run([scoring(lo, hi) for lo, hi in _cuts(batch, min(enough, PARTS * threads))], threads)


def _threads_for(kernels: Kernels, enough: int) -> int:
    """How many threads to use when there is `enough` to do for so many."""
    return min(enough, thread_count()) if enough > 1 and kernels.compiled and not PLAIN else 1


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
        weight=batch.weight[begin:end],  # empty if all are 1
    )


# --- learning ---


def shards_of(kernels: Kernels, traits: Traits, batch: Batch, trace: Floats) -> list[Shard]:
    """The parts of a batch that can be learned at the same time; none, or one, if it is to be learned as it is.

    Only if `WEFT_THREADS` asks for it: cutting a batch by tasks costs about as much as learning it with `pa`
    (`benchmarks/threads.py`), so that two threads are 0.4 to 1.7 times as fast as one, at twice the processor time.
    """
    if not traits.independent or not os.environ.get(VARIABLE):
        return []
    threads = _threads_for(kernels, _nonzeros(batch) // LEAST_NONZEROS)
    return by_task(batch, threads, trace) if threads > 1 else []


def learn(
    kernel: Callable[..., int], hyper: Any, state: Any, shards: Sequence[Shard], grow: Callable[[Batch, int], Any]
) -> None:
    """Learn all shards, a thread for each, and fill their scores and traces.

    `grow(batch, done)` makes room for the round after `done` rounds of a shard's batch, and returns the state. It is
    called when all threads have ended.
    """
    done = [0] * len(shards)
    while True:
        stock = Stock(state, len(shards))
        left = [n for n, shard in enumerate(shards) if done[n] < len(shard.examples)]
        _run([_learning(kernel, hyper, stock, shards[n], n, done) for n in left], len(left))
        stock.close()
        left = [n for n in left if done[n] < len(shards[n].examples)]
        if not left:
            return
        first = left[0]
        state = grow(shards[first].batch, done[first])
        done[first] += _learn_few(kernel, hyper, state, shards[first], done[first])


def _learning(
    kernel: Callable[..., int], hyper: Any, stock: Stock, shard: Shard, number: int, done: list[int]
) -> Callable[[], None]:
    """Learns a shard to its end, or until there is no room left for its next round."""

    def call() -> None:
        while done[number] < len(shard.examples):
            lo = done[number]
            hi = min(lo + WINDOW, len(shard.examples))
            part, scores, trace = _part(shard.batch, lo, hi), shard.scores[lo:hi], shard.trace[lo:hi]
            at = kernel(hyper, stock.state(number), part, 0, scores, trace)
            while at < hi - lo and stock.refill(number, part, at):
                at = kernel(hyper, stock.state(number), part, at, scores, trace)
            done[number] = lo + at
            if at < hi - lo:
                return

    return call


def _learn_few(kernel: Callable[..., int], hyper: Any, state: Any, shard: Shard, done: int) -> int:
    """Learn some rounds, at least the one that there was no room for; returns how many."""
    end = min(done + FEW, len(shard.examples))
    scores, trace = shard.scores[done:end], shard.trace[done:end]
    return kernel(hyper, state, _part(shard.batch, done, end), 0, scores, trace)


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
            deque(self._calls, 0)  # takes all that are left
        finally:
            self.running.release()


def _run(calls: Sequence[Callable[[], None]], threads: int) -> None:
    """Make all calls, in this thread and in helpers that take the next call whenever they are free.

    After an error no further call is begun; it is raised when all threads have ended.
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
                deque(shared, 0)
                if unfinished[-1].thread is not None:
                    with unfinished[-1].running:
                        pass
                unfinished.pop()
            except BaseException as error:  # a signal handler raised it: wait on
                late = error
    for failure in (late, *(helper.error for helper in helpers)):
        if failure is not None:
            raise failure
