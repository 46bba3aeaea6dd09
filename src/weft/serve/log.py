"""The log of a folder: groups of entries in SQLite, each group durable before anybody is told of it.

Tables of `log.sqlite` (write-ahead log, synchronous=FULL):

    log         seq of the first entry, number of entries, checksum seeded by both, the entries as one blob
    ids         seq and id of entries that have one: an index of the last entries, to recognise duplicates
    remembered  predictions that wait for their label, with a checksum of their own
    sources     how far brokers were read (`weft.serve.positions`)
    forgotten   tasks whose entries are still to be taken out (`weft.serve.compacting`)
    head        one row: the last seq, the first seq that is kept, the seq from which the log is unchanged, expired

A group, its ids, its remembered predictions and the head are written in one transaction. An error of SQLite is never
tried again: `Broken` ends the process.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from weft.serve.entries import Entry, Forget, Gone, Learn, checksum, decode, encode
from weft.serve.log_rows import Head, Remembered
from weft.serve.migrations import migrate, task_key
from weft.store.digests import FileError
from weft.store.files import sync_folder

FORMAT = 3
"""Layout of the tables, kept as SQLite's user_version."""
NAME = "log.sqlite"
CHECK_ALL_BELOW = 256 << 20
"""Bytes of a log up to which its pages are all checked when it is opened."""
_OF_THE_DISK = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
_APPLICATION = 0x77656674  # "weft"
_TABLES = """
CREATE TABLE log (seq INTEGER PRIMARY KEY, n INTEGER NOT NULL, crc INTEGER NOT NULL, blob BLOB NOT NULL);
CREATE TABLE ids (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, mark INTEGER NOT NULL);
CREATE TABLE remembered (id TEXT PRIMARY KEY, seq INTEGER NOT NULL, at REAL NOT NULL, event BLOB NOT NULL, label BLOB,
                         crc INTEGER NOT NULL, task BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX remembered_at ON remembered (at);
CREATE INDEX remembered_task ON remembered (task);
CREATE TABLE forgotten (seq INTEGER PRIMARY KEY, task BLOB NOT NULL);
CREATE TABLE sources (source TEXT NOT NULL, "partition" TEXT NOT NULL, after TEXT NOT NULL, crc INTEGER NOT NULL,
                      PRIMARY KEY (source, "partition")) WITHOUT ROWID;
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), last INTEGER NOT NULL, first INTEGER NOT NULL,
                   exact INTEGER NOT NULL, expired INTEGER NOT NULL, at REAL NOT NULL);
INSERT INTO head VALUES (1, 0, 1, 1, 0, 0.0);
"""


class Broken(Exception):
    """Writing or flushing failed: nobody knows what is on the disk, and nothing may be acknowledged any more."""


class Log:
    """An open log. One thread uses it at a time; a writer calls `begin`, adds, and `commit`."""

    def __init__(self, path: Path, *, read_only: bool = False, synchronous: str = "FULL") -> None:
        self.path = path
        self._read_only = read_only
        mode = "ro" if read_only else "rwc"
        try:
            self._db = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False,
                timeout=10.0,
            )  # fmt: skip
            for line in ("trusted_schema=OFF", "cell_size_check=ON", "temp_store=MEMORY"):
                self._db.execute(f"PRAGMA {line}")
            if not read_only:
                self._prepare(synchronous)
            self._expect_format()
        except sqlite3.Error as error:
            raise _unreadable(path, error) from None

    def _prepare(self, synchronous: str) -> None:
        [mode] = self._db.execute("PRAGMA journal_mode=WAL").fetchone()  # an error of the disk is told by this alone
        if mode != "wal":
            raise Broken(f"{self.path}: the log cannot be made a write-ahead log")
        [tables] = self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        # The write-ahead log is there now. SQLite flushes its folder too, but does not say when that fails.
        try:
            sync_folder(str(self.path.parent.absolute()))
        except OSError as error:
            raise Broken(f"{self.path.parent}: {error.strerror}") from None
        if not tables:
            self._db.executescript(
                f"BEGIN; PRAGMA application_id={_APPLICATION}; PRAGMA user_version={FORMAT}; {_TABLES} COMMIT;"
            )
        [found] = self._db.execute("PRAGMA user_version").fetchone()
        migrate(self._db, found, FORMAT)
        self._db.execute(f"PRAGMA synchronous={synchronous}")
        self._db.execute("PRAGMA secure_delete=ON")  # what is taken out is overwritten
        self._db.execute("PRAGMA wal_autocheckpoint=4000")
        # What a killed process wrote and did not flush may be read here, and would be lost by a power cut after it was
        # called a duplicate: everything is flushed before anything is acknowledged.
        busy, *_ = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise FileError(f"{self.path} is read by another process; wait until that has ended, then start again")

    def _expect_format(self) -> None:
        [found] = self._db.execute("PRAGMA user_version").fetchone()
        [kind] = self._db.execute("PRAGMA application_id").fetchone()
        if kind != _APPLICATION or found != FORMAT:
            raise FileError(
                f"{self.path} is not a log of format {FORMAT}, but of format {found}; "
                "weft serve brings an earlier one up to date, a newer one needs a newer weft"
            )

    def close(self) -> None:
        """Flush what is in the write-ahead log, and close: SQLite would flush it too, and not say when that fails."""
        try:
            if not self._read_only and not self._db.in_transaction:
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self._db.close()
        except sqlite3.Error as error:
            raise Broken(f"{self.path}: {error}") from None

    def drop(self) -> None:
        """Close a log that is not going to be used, because something else went wrong."""
        with suppress(sqlite3.Error):
            self._db.close()

    # --- reading ---

    @property
    def head(self) -> Head:
        """How far the log goes."""
        row = self.read("SELECT last, first, exact, expired, at FROM head")
        if len(row) != 1 or any(type(value) is not int for value in row[0][:4]) or type(row[0][4]) is not float:
            raise FileError(f"{self.path} is damaged: it has no head; restore the folder from a backup")
        return Head(*row[0])

    def check_pages(self) -> None:
        """Refuse a log whose pages are damaged, unless it is too large to be read for that."""
        if self.path.stat().st_size <= CHECK_ALL_BELOW:
            [[found]] = self.read("PRAGMA integrity_check(1)")
            if found != "ok":
                raise FileError(f"{self.path} is damaged ({found}); restore the folder from a backup")

    def groups(self, after: int) -> Iterator[tuple[int, list[Entry]]]:
        """Groups with entries behind `after`, each with the seq of its first entry; damage and gaps are refused."""
        head = self.head
        if after + 1 < head.first:
            raise FileError(f"{self.path} begins with entry {head.first}; entry {after + 1} is not kept any more")
        first = self.read("SELECT max(seq) FROM log WHERE seq <= ?", (after + 1,))[0][0]
        expected = first if first is not None else after + 1
        rows = self._rows("SELECT seq, n, crc, blob FROM log WHERE seq >= ? ORDER BY seq", (expected,))
        for seq, n, crc, blob in rows:
            if seq != expected:
                raise FileError(
                    f"{self.path} is damaged: entry {expected} is missing, the next one is {seq}; "
                    "restore the folder from a backup"
                )
            self.expect_sum(seq, n, crc, blob)
            entries = decode(blob)
            if len(entries) != n:
                raise FileError(f"{self.path} is damaged: the group at entry {seq} has not {n} entries")
            expected = seq + n
            if expected > after + 1:
                yield seq, entries
        if expected != head.last + 1 and after <= head.last:
            raise FileError(
                f"{self.path} is damaged: it ends with entry {expected - 1}, and {head.last} were written; "
                "restore the folder from a backup"
            )

    def expect_sum(self, seq: int, n: int, crc: int, blob: Any) -> None:
        """Refuse a group whose checksum is wrong."""
        if not isinstance(blob, bytes) or type(n) is not int or n < 1 or checksum(seq, n, blob) != crc:
            raise FileError(
                f"{self.path} is damaged: the checksum of entry {seq} is wrong; restore the folder from a backup"
            )

    def entries(self, after: int, until: int | None = None) -> Iterator[tuple[int, Entry]]:
        """Entries behind `after`, with their numbers."""
        for first, group in self.groups(after):
            for seq, entry in enumerate(group, first):
                if until is not None and seq > until:
                    return
                if seq > after:
                    yield seq, entry

    def check_ids(self) -> None:
        """Every id in the index is that of its entry; every remembered prediction has its checksum."""
        rows = dict(self.read("SELECT seq, id FROM ids"))
        if any(type(seq) is not int for seq in rows):
            raise FileError(f"{self.path} is damaged: an id has no entry; restore the folder from a backup")
        if rows:
            least = min(rows)
            for seq, entry in self.entries(least - 1):
                found = rows.pop(seq, None)
                if found is not None and not (isinstance(entry, Learn) and entry.id == found):
                    raise FileError(f"{self.path} is damaged: entry {seq} has another id than the index of ids says")
        if rows:
            raise FileError(f"{self.path} is damaged: the index of ids names entries that are not in the log")
        for seq, task in self.read("SELECT seq, task FROM forgotten"):
            found = next((entry for _, entry in self.entries(seq - 1, seq)), None) if type(seq) is int else None
            if not isinstance(found, Forget | Gone) or (isinstance(found, Forget) and task_key(found.task) != task):
                raise FileError(f"{self.path} is damaged: entry {seq} did not forget the task that is to be taken out")
        for *fields, crc in self._rows("SELECT id, seq, at, event, label, task, crc FROM remembered", ()):
            self._checked(Remembered(*fields), crc)

    def _checked(self, found: Remembered, crc: int) -> Remembered:
        is_right = isinstance(found.event, bytes) and found.crc == crc
        if not is_right or task_key(msgspec.msgpack.decode(found.event)[0]) != found.task:
            raise FileError(
                f"{self.path} is damaged: the checksum of the remembered prediction {found.id!r} is wrong; "
                "restore the folder from a backup"
            )
        return found

    def remembered(self, id: str) -> Remembered | None:
        """A remembered prediction, or None."""
        rows = self.read("SELECT id, seq, at, event, label, task, crc FROM remembered WHERE id = ?", (id,))
        return self._checked(Remembered(*rows[0][:-1]), rows[0][-1]) if rows else None

    def count_remembered(self) -> int:
        """Remembered predictions that are kept."""
        return int(self.read("SELECT count(*) FROM remembered")[0][0])

    def recognised(self, ids: list[str]) -> dict[str, tuple[int, int]]:
        """Seq and mark of the entries with these ids, as far as they are recognised.

        One statement for all of them: Python's lock is let go and waited for once per statement.
        """
        values = (msgspec.json.encode(ids).decode(),)
        rows = self.read("SELECT id, seq, mark FROM ids WHERE id IN (SELECT value FROM json_each(?))", values)
        return {id: (int(seq), int(mark)) for id, seq, mark in rows}

    def read(self, text: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Rows; damage is refused."""
        try:
            return self._db.execute(text, values).fetchall()
        except sqlite3.Error as error:
            raise _unreadable(self.path, error) from None

    def _rows(self, text: str, values: tuple[Any, ...]) -> Iterator[Any]:
        try:
            for row in self._db.execute(text, values):  # noqa: UP028 (`yield from` would close a cursor of a closed log)
                yield row
        except sqlite3.Error as error:
            raise _unreadable(self.path, error) from None

    # --- writing ---

    def write(self, text: str, values: tuple[Any, ...] = ()) -> int:
        """Change rows; how many. Any error ends the process."""
        try:
            return self._db.execute(text, values).rowcount
        except sqlite3.Error as error:
            raise Broken(f"{self.path}: {error}") from None

    def begin(self) -> None:
        """Begin a group."""
        self.write("BEGIN IMMEDIATE")

    def end(self) -> None:
        """End a group that has no entries, but something else that was written."""
        self.write("COMMIT")

    def abandon(self) -> None:
        """Nothing of the group was worth writing."""
        self.write("ROLLBACK")

    def claim(self, ids: list[tuple[int, str, int]]) -> None:
        """Give ids to entries of the group: seq, id and mark of each."""
        values = (msgspec.json.encode(ids).decode(),)
        parts = ", ".join(f"json_extract(value, '$[{at}]')" for at in range(3))
        self.write(f"INSERT INTO ids SELECT {parts} FROM json_each(?)", values)

    def release(self, id: str) -> None:
        """Take the id of an entry back that was refused after all."""
        self.write("DELETE FROM ids WHERE id = ?", (id,))

    def remember(self, found: Remembered) -> None:
        """Keep a prediction, or change it."""
        values = (*found[:-1], found.crc, found.task)
        self.write("INSERT OR REPLACE INTO remembered VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def commit(self, seq: int, entries: list[Entry], window: int, at: float) -> None:
        """Write a group whose first entry is `seq`, and flush it to disk. Ids older than `window` entries go."""
        blob, last = encode(entries), seq + len(entries) - 1
        self.write("INSERT INTO log VALUES (?, ?, ?, ?)", (seq, len(entries), checksum(seq, len(entries), blob), blob))
        self.write("DELETE FROM ids WHERE seq <= ?", (last - window,))
        self.write("UPDATE head SET last = ?, at = max(at, ?)", (last, at))
        self.write("COMMIT")

    def expire(self, before: float) -> int:
        """Drop remembered predictions without a label that are older than that time; how many."""
        self.begin()
        count = self.write("DELETE FROM remembered WHERE at < ? AND label IS NULL", (before,))
        self.write("DELETE FROM remembered WHERE at < ?", (before,))
        self.write("UPDATE head SET expired = expired + ?", (count,))
        self.write("COMMIT")
        return count

    def trim(self, below: int) -> int:
        """Drop groups whose entries are all below that seq; the first seq that is kept."""
        self.begin()
        self.write("DELETE FROM log WHERE seq + n <= ?", (below,))
        first = self.read("SELECT min(seq) FROM log")[0][0]
        first = self.head.last + 1 if first is None else int(first)
        self.write("UPDATE head SET first = max(first, ?), exact = max(exact, ?)", (first, first))
        self.write("COMMIT")
        return first

    def flush(self) -> bool:
        """Empty the write-ahead log into the log itself; False if somebody else reads it, and it cannot be emptied."""
        try:
            return not self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.Error as error:
            raise Broken(f"{self.path}: {error}") from None

    def copy_to(self, path: Path) -> None:
        """A copy of the log as it is at one moment, while others write to it."""
        try:
            self._db.execute("VACUUM INTO ?", (str(path),))
        except sqlite3.Error as error:
            raise OSError(f"cannot write {path}: {error}; free some space, or choose another place") from None


def _unreadable(path: Path, error: sqlite3.Error) -> Exception:
    """What to raise: damage is refused, an error of the disk ends the process."""
    try:
        code = error.sqlite_errorcode & 0xFF
    except AttributeError:  # raised by Python's module itself, such as for text that is not UTF-8
        code = sqlite3.SQLITE_CORRUPT
    if isinstance(error, sqlite3.OperationalError) and code in _OF_THE_DISK:
        return Broken(f"{path}: {error}")
    return FileError(f"{path} cannot be read ({error}); restore the folder from a backup")
