"""When checkpoints are written, and what of the log may go once they are verified."""

import time
from collections.abc import Callable

from weft.model import Model
from weft.serve import checkpoints
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
        self._next_expiry = time.time()
        figures.checkpoint_seq = last

    def look(self, model: Model, seq: int, log: Log) -> None:
        """Between two groups: begin a checkpoint if it is time, or finish the one that is being written."""
        if self._writing is not None:
            self._look_after(log, wait=False)
        elif seq - self._last >= self._every:
            self._begin(model, seq)

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
        kept = checkpoints.remove_old(self._folder.path)
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
            log.trim(below)
