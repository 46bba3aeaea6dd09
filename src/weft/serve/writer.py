"""The writer: one thread that owns the log and changes the model.

It takes what has queued up, removes duplicates, appends the rest to the log in one commit, applies it to the model, and
answers. Nobody is answered before the commit has been flushed to disk. Whatever fails in here ends the process with
exit code 70, without an answer: what is on the disk then is found out at the next start.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from weft.serve.applying import apply
from weft.serve.checkpointing import Checkpointing
from weft.serve.entries import Learn
from weft.serve.figures import Figures
from weft.serve.folder import Config
from weft.serve.preparing import Group, Pending
from weft.serve.problems import Problem
from weft.serve.recovery import Recovered
from weft.serve.requests import Done, Outcome, Request

MOST_AT_ONCE = 2000
"""Requests in one group, about; a job is never divided."""
_RECENT = 1 << 16
"""So many scores are kept to answer requests that are sent again."""


class Job(NamedTuple):
    """Requests of one caller, in order, and who is told what came of them. `work` runs between groups instead."""

    requests: list[Request]
    done: Callable[[list[Outcome]], None]
    work: Callable[[], Any] | None = None


class Clock:
    """Seconds since 1970 that never go back: steps of the machine's clock while the service runs are not seen."""

    def __init__(self, least: float) -> None:
        self._wall = max(time.time(), least)
        self._began = time.monotonic()

    def now(self) -> float:
        """The time."""
        return self._wall + (time.monotonic() - self._began)


class Writer:
    """The thread, its queue, and the last entry that was applied."""

    def __init__(
        self, recovered: Recovered, config: Config, checkpointing: Checkpointing, figures: Figures,
        fail: Callable[[BaseException], None],
    ) -> None:  # fmt: skip
        self.model = recovered.model
        self.seq = recovered.seq
        self.figures = figures
        self._log, self._config, self._checkpointing, self._fail = recovered.log, config, checkpointing, fail
        self._clock = Clock(recovered.log.head.at)
        self._jobs: deque[Job] = deque()
        self._waiting = 0
        self.lock = threading.Lock()
        """Held while an entry is applied and `seq` is raised: who holds it sees the model after entry `seq`."""
        self._turn = threading.Condition()
        self._is_stopping = False
        self._recent: dict[int, Any] = {}
        self._thread = threading.Thread(target=self._run, name="weft-writer", daemon=True)

    def start(self) -> None:
        """Begin to take jobs."""
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Requests that are queued."""
        return self._waiting

    def put(self, job: Job, most: int) -> None:
        """Queue a job; Problem if more than `most` requests wait already, or if the service is stopping."""
        with self._turn:
            if self._is_stopping:
                raise Problem("stopping", 503, "the service is stopping", "try again in a moment", retry_after=2)
            if self._waiting + len(job.requests) > most and self._waiting:
                raise Problem("busy", 503, "too many requests are waiting", "try again in a moment", retry_after=1)
            self._jobs.append(job)
            self._waiting += len(job.requests)
            self._turn.notify()

    def stop(self) -> None:
        """Finish what is queued, write a checkpoint, close the log; returns when that is done."""
        with self._turn:
            self._is_stopping = True
            self._turn.notify()
        self._thread.join()

    # --- in the thread ---

    def _run(self) -> None:
        try:
            while jobs := self._take():
                self._serve(jobs)
                self._checkpointing.look(self.model, self.seq, self._log)
            self._checkpointing.finish(self.model, self.seq, self._log)
            self._log.close()
        except BaseException as error:
            self._fail(error)

    def _take(self) -> list[Job]:
        """The next jobs; none when the writer has to end."""
        with self._turn:
            while not self._jobs and not self._is_stopping:
                if not self._turn.wait(1.0):
                    self._rest()
            taken: list[Job] = []
            count = 0
            while self._jobs and (count < MOST_AT_ONCE or not taken):
                job = self._jobs.popleft()
                taken.append(job)
                count += len(job.requests)
                if job.work is not None:
                    break
            self._waiting -= count
            return taken

    def _rest(self) -> None:
        """When nothing is queued."""
        self._checkpointing.look(self.model, self.seq, self._log)
        now = self._clock.now()
        if self._checkpointing.is_time_to_expire(now):
            self.figures.expired += self._log.expire(now - self._config.remember_for)

    def _serve(self, jobs: list[Job]) -> None:
        if jobs[-1].work is not None:
            last = jobs.pop()
            if jobs:
                self._serve(jobs)
            last.work()  # type: ignore[misc]
            last.done([])
            return
        began = time.monotonic()
        now = self._clock.now()
        self._log.begin()
        group = Group(self._log, self.model, self.seq + 1, now, now - self._config.remember_for)
        placed = [[group.add(request) for request in job.requests] for job in jobs]
        if group.entries:
            self._log.commit(group.first, group.entries, self._config.recognise, now)
            self.figures.commits.observe(time.monotonic() - began)
        else:
            self._log.abandon()
        self.figures.refused_labels_expired += group.expired
        outcomes = self._apply(group)
        for job, places in zip(jobs, placed, strict=True):
            answers = [self._answer(place, outcomes, group.first) for place in places]
            self.figures.count(answers)
            job.done(answers)

    def _apply(self, group: Group) -> list[Outcome]:
        outcomes: list[Outcome] = []
        model, recent = self.model, self._recent
        for seq, entry in enumerate(group.entries, group.first):
            with self.lock:
                applied = apply(model, entry)
                self.seq = seq
            if applied.refused is not None:
                if isinstance(entry, Learn) and entry.id is not None:
                    self._log.release(entry.id)
                outcomes.append(Problem("refused", 422, applied.refused, "see the message"))
            else:
                recent[seq] = applied.issued
                outcomes.append(Done(seq, applied.issued))
        while len(recent) > _RECENT:
            del recent[next(iter(recent))]
        return outcomes

    def _answer(self, place: Pending | Outcome, outcomes: list[Outcome], first: int) -> Outcome:
        if isinstance(place, Pending):
            found = outcomes[place.at]
            if isinstance(found, Done):
                return found._replace(duplicate=place.duplicate, correction=place.correction)
            return found
        if isinstance(place, Done) and place.seq in self._recent:
            return place._replace(issued=self._recent[place.seq])
        return place
