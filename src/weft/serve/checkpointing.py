"""When checkpoints are written, and what of the log may go once they are verified: what is old, what is forgotten."""

import time
from collections.abc import Callable

from weft.model import Model
from weft.serve import checkpoints
from weft.serve.base import without_tasks
from weft.serve.compacting import Compaction
from weft.serve.figures import Figures
from weft.serve.folder import Config, Folder
from weft.serve.log import Broken, Log

HOUR = 3600.0


class Checkpointing:
    """Writes a checkpoint every so many entries, one at a time, and trims the log if the configuration says so.

    A checkpoint that cannot be written is an error of writing: the process ends (`Broken`).
    """

    def __init__(
        self, folder: Folder, config: Config, figures: Figures, every: int, last: int, tell: Callable[[str], None]
    ) -> None:
        self._folder, self._config, self._figures, self._every, self._tell = folder, config, figures, every, tell
        self._last = last
        self._writing: checkpoints.Writing | None = None
        self._next_expiry = 0.0
        self._kept = checkpoints.found_in(folder.path)
        self._forgotten = 0
        self._compaction: Compaction | None = None
        figures.checkpoint_seq = last

    def look(self, model: Model, seq: int, log: Log) -> None:
        """Between two groups: begin a checkpoint if it is time, finish the one that is being written, or compact."""
        if self._writing is not None:
            self._look_after(log, wait=False)
        elif self._compaction is not None:
            self._compact(self._compaction)
        elif len(self._without_forgotten()) == checkpoints.KEPT and self._forgotten:
            self._begin_to_compact(log)
        elif seq - self._last >= self._every or (self._forgotten and seq > self._last):
            self._begin(model, seq)

    # --- forgotten tasks ---

    def forget(self, seq: int) -> None:
        """Entry `seq` forgot a task, whose entries are to go."""
        self._forgotten = max(self._forgotten, seq)

    @property
    def is_busy(self) -> bool:
        """Whether it has something to do, and wants to be called soon."""
        return self._writing is not None or self._forgotten > 0

    def needs_entry(self, seq: int) -> bool:
        """Whether the second of the two checkpoints that a compaction needs waits for an entry to come."""
        if not self._forgotten or self._writing is not None or self._compaction is not None:
            return False
        return seq == self._last and len(self._without_forgotten()) < checkpoints.KEPT

    def _without_forgotten(self) -> list[checkpoints.Checkpoint]:
        return [checkpoint for checkpoint in self._kept if checkpoint.seq >= self._forgotten]

    def _begin_to_compact(self, log: Log) -> None:
        for checkpoint in self._kept:
            checkpoints.verify(checkpoint.path)
        self._compaction = Compaction(log)
        self._compaction.begin(min(checkpoint.seq for checkpoint in self._kept))

    def _compact(self, compaction: Compaction) -> None:
        if not compaction.step():
            return
        try:
            self._config = without_tasks(self._folder, self._config, compaction.tasks)
        except OSError as error:
            raise Broken(str(error)) from None
        self._compaction = None
        self._forgotten = compaction.pending()
        self._figures.compactions += 1
        self._tell("forgotten tasks were taken out of the log")

    def finish(self, model: Model, seq: int, log: Log) -> None:
        """At the end of the service: a checkpoint of the last entry."""
        self._look_after(log, wait=True)
        if seq > self._last:
            self._begin(model, seq)
            self._look_after(log, wait=True)

    def is_time_to_expire(self, now: float) -> bool:
        """Once an hour."""
        if now < self._next_expiry:
            return False
        self._next_expiry = now + min(HOUR, self._config.remember_for / 10.0)
        return True

    def _begin(self, model: Model, seq: int) -> None:
        self._last = seq
        try:
            self._writing = checkpoints.write_checkpoint(model, self._folder.path, seq)
        except OSError as error:
            raise Broken(str(error)) from None
        self._figures.checkpoint_pause = self._writing.pause

    def _look_after(self, log: Log, wait: bool) -> None:
        writing = self._writing
        if writing is None:
            return
        try:
            if not writing.is_done(wait):
                return
        except OSError as error:
            self._figures.checkpoint_failures += 1
            raise Broken(str(error)) from None
        self._writing = None
        figures = self._figures
        figures.checkpoints += 1
        figures.checkpoint_seconds = time.monotonic() - writing.began
        figures.checkpoint_seq = self._last
        self._kept = kept = checkpoints.remove_old(self._folder.path)
        self._tell(f"checkpoint {self._last} written in {figures.checkpoint_seconds:.2f} s")
        self._trim(kept, log)

    def _trim(self, kept: list[checkpoints.Checkpoint], log: Log) -> None:
        """Drop what is older than the older of two verified checkpoints, and than what is to be kept anyway."""
        keep = self._config.keep_log
        if keep is None or len(kept) < checkpoints.KEPT:
            return
        last = log.head.last
        below = min(kept[-1].seq, last - keep, last - self._config.recognise) + 1
        if below > log.head.first:
            checkpoints.verify(kept[-1].path)
            self._figures.log_first = log.trim(below)
