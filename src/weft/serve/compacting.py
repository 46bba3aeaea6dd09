"""Compaction: the entries of forgotten tasks are taken out of the log, once two checkpoints do without them.

    forgotten   seq of the entry that forgot a task, and the task: there until its entries are gone

An entry that is taken out leaves `Gone` in its place, so that entries keep their numbers. The model learned from it all
the same: a log that was compacted up to entry C gives the model only from a checkpoint of C or later on, and `exact` in
the head of the log says so before the first entry is changed. Both checkpoints that are kept are of C or later by then,
so that one damaged file loses nothing. A process that is killed meanwhile goes on after the next start.
"""

from typing import Any

import msgspec

from weft.serve.entries import Correct, Entry, Feedback, Gone, Remember, Task, as_task, checksum, decode, encode
from weft.serve.log import Log
from weft.serve.migrations import task_key

AT_ONCE = 4000
"""Entries that are rewritten in one transaction, about, while learning waits."""


class Compaction:
    """Takes the entries of forgotten tasks out of groups, some at a time, in the order of the log."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._next = 0
        self._ids: set[str] = set()  # of predictions of these tasks, whose corrections go too
        self._tasks: dict[Any, int] = {}

    @property
    def tasks(self) -> list[Any]:
        """The tasks that are taken out."""
        return list(self._tasks)

    def pending(self) -> int:
        """The last entry that forgot a task which is still in the log; 0 if there is none."""
        return int(self._log.read("SELECT coalesce(max(seq), 0) FROM forgotten")[0][0])

    def begin(self, checkpoint: int) -> None:
        """Before the first group is changed: from here on only checkpoints from this one on give the model."""
        rows = self._log.read("SELECT seq, task FROM forgotten WHERE seq <= ? ORDER BY seq", (checkpoint,))
        self._tasks = {as_task(msgspec.msgpack.decode(task)): seq for seq, task in rows}
        self._next, self._ids = 0, set()
        self._log.begin()
        self._log.write("UPDATE head SET exact = max(exact, ?)", (checkpoint + 1,))
        self._log.write("COMMIT")

    def step(self) -> bool:
        """Rewrite the next groups; True when there are none left, and the tasks are out of the log and its files."""
        last = max(self._tasks.values())
        text = "SELECT seq, n, crc, blob FROM log WHERE seq >= ? AND seq <= ? ORDER BY seq LIMIT 1"
        count = 0
        self._log.begin()
        while count < AT_ONCE and (group := self._log.read(text, (self._next, last))):
            [(seq, n, crc, blob)] = group
            self._log.expect_sum(seq, n, crc, blob)
            self._rewrite(seq, decode(blob))
            self._next, count = seq + n, count + n
        if not count:
            self._log.write("DELETE FROM forgotten WHERE seq <= ?", (last,))
        self._log.write("COMMIT")
        if not count:
            self._log.flush()  # what was taken out is in the write-ahead log no more
        return not count

    def _rewrite(self, first: int, entries: list[Entry]) -> None:
        changed = [self._left(seq, entry) for seq, entry in enumerate(entries, first)]
        gone = [seq for seq, entry in enumerate(changed, first) if isinstance(entry, Gone)]
        if changed == entries:
            return
        blob = encode(changed)
        self._log.write(
            "UPDATE log SET blob = ?, crc = ? WHERE seq = ?", (blob, checksum(first, len(entries), blob), first)
        )
        for seq in gone:
            self._log.write("DELETE FROM ids WHERE seq = ?", (seq,))

    def _left(self, seq: int, entry: Entry) -> Entry:
        """What stays of an entry."""
        if isinstance(entry, Gone):
            return entry
        if isinstance(entry, Correct):
            return Gone() if entry.id in self._ids else entry
        if seq > self._tasks.get(entry.task, 0):
            return entry
        if isinstance(entry, Remember | Feedback):
            self._ids.add(entry.id)
        return Gone()


def forget_remembered(log: Log, seq: int, task: Task) -> None:
    """In the transaction of entry `seq`: the remembered predictions of a task go, and its entries are to go."""
    key = task_key(task)
    log.write("DELETE FROM remembered WHERE task = ?", (key,))
    log.write("INSERT INTO forgotten VALUES (?, ?)", (seq, key))
