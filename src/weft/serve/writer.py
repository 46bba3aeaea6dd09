"""The writer: one thread that owns the log and changes the model.

It takes what has queued up, removes duplicates, appends the rest to the log in one commit, applies it to the model, and
answers. Nobody is answered before the commit has been flushed to disk. Whatever fails in here ends the process with
exit code 70, without an answer: what is on the disk then is found out at the next start.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from weft.serve.applying import NOTHING, Issued, split
from weft.serve.checkpointing import Checkpointing
from weft.serve.entries import Feedback, Forget, Gone, Learn, Policy
from weft.serve.figures import Figures
from weft.serve.folder import Config
from weft.serve.history import History, Seen
from weft.serve.log import Log
from weft.serve.preparing import Group, Pending
from weft.serve.problems import Problem, stopping
from weft.serve.recovery import Recovered
from weft.serve.requests import Done, Outcome, Request
from weft.serve.together import Turns

MOST_AT_ONCE = 2000
"""Requests in one group, about; a job is never divided."""
_RECENT = 1 << 16
"""So many scores are kept to answer requests that are sent again."""


Told = Callable[[list[Outcome]], None]


class Job(NamedTuple):
    """Requests of one caller, in order, and who is told what came of them. `work` runs between groups instead.

    `within` is called in the transaction of the group, with what is known of the requests before they are learned: what
    it writes to the log is committed with them.

    With a `loop`, `done` is called there, with those of all other jobs of a group at one time.
    """

    requests: list[Request]
    done: Told
    work: Callable[[], Any] | None = None
    loop: asyncio.AbstractEventLoop | None = None
    within: Callable[[Log, list[Pending | Outcome]], None] | None = None


class Clock:
    """Seconds since 1970 that never go back: steps of the machine's clock while the service runs are not seen."""

    def __init__(
        self,
        least: float,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._monotonic = monotonic
        self._wall = max(wall(), least)
        self._began = monotonic()

    def now(self) -> float:
        """The time."""
        return self._wall + (self._monotonic() - self._began)


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
        self.history = History()
        self._turn = threading.Condition()
        self._is_stopping = False
        self._recent: deque[Issued] = deque(maxlen=_RECENT)  # of the last entries, the latest at the end
        self._turns = Turns()
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
                raise stopping()
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
            while (jobs := self._take()) is not None:
                if jobs:
                    self._serve(jobs)
                else:
                    self._rest()
                self._look()
            self._checkpointing.finish(self.model, self.seq, self._log)
            self._log.close()
        except BaseException as error:
            self._fail(error)

    def _take(self) -> list[Job] | None:
        """The next jobs; an empty list when none came for a while, None when the writer has to end."""
        with self._turn:
            if not self._jobs and not self._is_stopping:
                self._turn.wait(0.02 if self._checkpointing.is_busy else 1.0)
            if not self._jobs:
                return None if self._is_stopping else []
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
        now = self._clock.now()
        if self._checkpointing.is_time_to_expire(now):
            self.figures.expired += self._log.expire(now - self._config.remember_for)

    def _look(self) -> None:
        """After a group, or when nothing is queued."""
        checkpointing = self._checkpointing
        with self.lock:
            self.history.look(self.model, self._clock.now())
        checkpointing.look(self.model, self.seq, self._log)
        if checkpointing.needs_entry(self.seq):
            self._log.begin()
            self._log.commit(self.seq + 1, [Gone()], self._config.recognise, self._clock.now())
            self._recent.append(NOTHING)
            with self.lock:
                self.seq += 1

    def compact(self) -> None:
        """In place of `start`: take forgotten tasks out of the log, and close it."""
        while self._checkpointing.is_busy:
            self._look()
            time.sleep(0.001)
        self._log.write("VACUUM")
        self._log.close()

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
        group.look_up(request for job in jobs for request in job.requests)
        placed = [[group.add(request) for request in job.requests] for job in jobs]
        watched = [(job.within, places) for job, places in zip(jobs, placed, strict=True) if job.within is not None]
        for within, places in watched:
            within(self._log, places)
        if group.entries:
            group.claim()
            self._log.commit(group.first, group.entries, self._config.recognise, now)
            self.figures.commits.observe(time.monotonic() - began)
        elif watched:
            self._log.end()
        else:
            self._log.abandon()
        for seq, entry in enumerate(group.entries, group.first):
            if type(entry) is Forget:
                self._checkpointing.forget(seq)
        self.figures.refused_labels_expired += group.expired
        outcomes = self._apply(group)
        told: dict[asyncio.AbstractEventLoop, list[tuple[Told, list[Outcome]]]] = {}
        for job, places in zip(jobs, placed, strict=True):
            answers = [self._answer(place, outcomes) for place in places]
            self.figures.count(answers)
            if job.loop is None:
                job.done(answers)
            else:
                told.setdefault(job.loop, []).append((job.done, answers))
        for loop, found in told.items():
            loop.call_soon_threadsafe(_tell, found)

    def _apply(self, group: Group) -> list[Outcome]:
        outcomes: list[Outcome] = []
        model, recent, entries = self.model, self._recent, group.entries
        start = 0
        while start < len(entries):
            part = self._turns.next(model, entries, start)
            with self.lock:
                applied = self._turns.apply(model, part)
                for seq, (entry, issued) in enumerate(zip(part, applied, strict=True), self.seq + 1):
                    if isinstance(entry, Learn | Feedback):
                        if isinstance(issued, Issued):
                            self.history.add(entry.task, Seen(seq, entry.y, issued.score))
                    elif isinstance(entry, Forget):
                        self.history.forget(entry.task)
                self.seq += len(part)
            for seq, (entry, issued) in enumerate(zip(part, applied, strict=True), group.first + start):
                if isinstance(issued, str):
                    recent.append(NOTHING)
                    if isinstance(entry, Learn) and entry.id is not None:
                        self._log.release(entry.id)
                    status = 409 if isinstance(entry, Policy) else 422
                    outcomes.append(Problem("refused", status, *split(issued)))
                else:
                    recent.append(issued)
                    outcomes.append(Done(seq, issued))
            start += len(part)
        return outcomes

    def _answer(self, place: Pending | Outcome, outcomes: list[Outcome]) -> Outcome:
        if isinstance(place, Pending):
            found = outcomes[place.at]
            if (place.duplicate or place.correction) and isinstance(found, Done):
                return found._replace(duplicate=place.duplicate, correction=place.correction)
            return found
        if isinstance(place, Done) and self.seq - len(self._recent) < place.seq <= self.seq:
            return place._replace(issued=self._recent[place.seq - self.seq - 1])
        return place


def _tell(found: list[tuple[Told, list[Outcome]]]) -> None:
    for done, outcomes in found:
        done(outcomes)
