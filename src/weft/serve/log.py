"""The log of a folder: groups of entries in SQLite, each group durable before anybody is told of it.

Tables of `log.sqlite` (write-ahead log, synchronous=FULL):

    log         seq of the first entry, number of entries, checksum seeded by both, the entries as one blob
    ids         seq and id of entries that have one: an index of the last entries, to recognise duplicates
    remembered  predictions that wait for their label, with a checksum of their own
    head        one row: the last seq, the first seq that is kept, the seq from which the log is unchanged, expired

A group, its ids, its remembered predictions and the head are written in one transaction. An error of SQLite is never
tried again: `Broken` ends the process.
"""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from weft.serve.entries import Entry, Learn, checksum, decode, encode
from weft.store.digests import FileError
from weft.store.files import sync_folder

FORMAT = 1
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
                         crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX remembered_at ON remembered (at);
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), last INTEGER NOT NULL, first INTEGER NOT NULL,
                   exact INTEGER NOT NULL, expired INTEGER NOT NULL, at REAL NOT NULL);
INSERT INTO head VALUES (1, 0, 1, 1, 0, 0.0);
"""


class Broken(Exception):
    """Writing or flushing failed: nobody knows what is on the disk, and nothing may be acknowledged any more."""


class Head(NamedTuple):
    """How far the log goes: entries first .. last are kept, and unchanged from `exact` on."""

    last: int
    first: int
    exact: int
    expired: int
    at: float
    """The latest time that was recorded, in seconds since 1970."""


class Remembered(NamedTuple):
    """A prediction that waits for its label, or has it."""

    id: str
    seq: int
    at: float
    event: bytes
    label: bytes | None

    @property
    def crc(self) -> int:
        """Of all fields."""
        text = repr((self.id, self.seq, self.at, self.label)).encode()
        return zlib.crc32(self.event, zlib.crc32(text))


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
        self._db.execute(f"PRAGMA synchronous={synchronous}")
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
                "use the version of weft that wrote it"
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
        row = self._read("SELECT last, first, exact, expired, at FROM head")
        if len(row) != 1:
            raise FileError(f"{self.path} is damaged: it has no head; restore the folder from a backup")
        return Head(*row[0])

    def check_pages(self) -> None:
        """Refuse a log whose pages are damaged, unless it is too large to be read for that."""
        if self.path.stat().st_size <= CHECK_ALL_BELOW:
            [[found]] = self._read("PRAGMA integrity_check(1)")
            if found != "ok":
                raise FileError(f"{self.path} is damaged ({found}); restore the folder from a backup")

    def groups(self, after: int) -> Iterator[tuple[int, list[Entry]]]:
        """Groups with entries behind `after`, each with the seq of its first entry; damage and gaps are refused."""
        head = self.head
        if after + 1 < head.first:
            raise FileError(f"{self.path} begins with entry {head.first}; entry {after + 1} is not kept any more")
        first = self._read("SELECT max(seq) FROM log WHERE seq <= ?", (after + 1,))[0][0]
        expected = first if first is not None else after + 1
        rows = self._rows("SELECT seq, n, crc, blob FROM log WHERE seq >= ? ORDER BY seq", (expected,))
        for seq, n, crc, blob in rows:
            if seq != expected:
                raise FileError(
                    f"{self.path} is damaged: entry {expected} is missing, the next one is {seq}; "
                    "restore the folder from a backup"
                )
            if not isinstance(blob, bytes) or checksum(seq, n, blob) != crc:
                raise FileError(
                    f"{self.path} is damaged: the checksum of entry {seq} is wrong; restore the folder from a backup"
                )
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
        rows = dict(self._read("SELECT seq, id FROM ids"))
        if rows:
            least = min(rows)
            for seq, entry in self.entries(least - 1):
                found = rows.pop(seq, None)
                if found is not None and not (isinstance(entry, Learn) and entry.id == found):
                    raise FileError(f"{self.path} is damaged: entry {seq} has another id than the index of ids says")
        if rows:
            raise FileError(f"{self.path} is damaged: the index of ids names entries that are not in the log")
        for *fields, crc in self._rows("SELECT id, seq, at, event, label, crc FROM remembered", ()):
            self._checked(Remembered(*fields), crc)

    def _checked(self, found: Remembered, crc: int) -> Remembered:
        if not isinstance(found.event, bytes) or found.crc != crc:
            raise FileError(
                f"{self.path} is damaged: the checksum of the remembered prediction {found.id!r} is wrong; "
                "restore the folder from a backup"
            )
        return found

    def remembered(self, id: str) -> Remembered | None:
        """A remembered prediction, or None."""
        rows = self._read("SELECT id, seq, at, event, label, crc FROM remembered WHERE id = ?", (id,))
        return self._checked(Remembered(*rows[0][:-1]), rows[0][-1]) if rows else None

    def count_remembered(self) -> int:
        """Remembered predictions that are kept."""
        return int(self._read("SELECT count(*) FROM remembered")[0][0])

    def seq_of(self, id: str) -> tuple[int, int] | None:
        """Seq and mark of the entry with that id, if it is recognised."""
        rows = self._read("SELECT seq, mark FROM ids WHERE id = ?", (id,))
        return (int(rows[0][0]), int(rows[0][1])) if rows else None

    def _read(self, text: str, values: tuple[Any, ...] = ()) -> list[Any]:
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

    def _write(self, text: str, values: tuple[Any, ...] = ()) -> int:
        try:
            return self._db.execute(text, values).rowcount
        except sqlite3.Error as error:
            raise Broken(f"{self.path}: {error}") from None

    def begin(self) -> None:
        """Begin a group."""
        self._write("BEGIN IMMEDIATE")

    def abandon(self) -> None:
        """Nothing of the group was worth writing."""
        self._write("ROLLBACK")

    def claim(self, id: str, seq: int, mark: int) -> bool:
        """Give an id to an entry of the group; False if another entry has it."""
        return self._write("INSERT INTO ids VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING", (seq, id, mark)) > 0

    def release(self, id: str) -> None:
        """Take the id of an entry back that was refused after all."""
        self._write("DELETE FROM ids WHERE id = ?", (id,))

    def remember(self, found: Remembered) -> None:
        """Keep a prediction, or change it."""
        self._write("INSERT OR REPLACE INTO remembered VALUES (?, ?, ?, ?, ?, ?)", (*found, found.crc))

    def commit(self, seq: int, entries: list[Entry], window: int, at: float) -> None:
        """Write a group whose first entry is `seq`, and flush it to disk. Ids older than `window` entries go."""
        blob, last = encode(entries), seq + len(entries) - 1
        self._write("INSERT INTO log VALUES (?, ?, ?, ?)", (seq, len(entries), checksum(seq, len(entries), blob), blob))
        self._write("DELETE FROM ids WHERE seq <= ?", (last - window,))
        self._write("UPDATE head SET last = ?, at = max(at, ?)", (last, at))
        self._write("COMMIT")

    def expire(self, before: float) -> int:
        """Drop remembered predictions without a label that are older than that time; how many."""
        self.begin()
        count = self._write("DELETE FROM remembered WHERE at < ? AND label IS NULL", (before,))
        self._write("DELETE FROM remembered WHERE at < ?", (before,))
        self._write("UPDATE head SET expired = expired + ?", (count,))
        self._write("COMMIT")
        return count

    def trim(self, below: int) -> int:
        """Drop groups whose entries are all below that seq; the first seq that is kept."""
        self.begin()
        self._write("DELETE FROM log WHERE seq + n <= ?", (below,))
        first = self._read("SELECT min(seq) FROM log")[0][0]
        first = self.head.last + 1 if first is None else int(first)
        self._write("UPDATE head SET first = max(first, ?), exact = max(exact, ?)", (first, first))
        self._write("COMMIT")
        return first

    def copy_to(self, path: Path) -> None:
        """A copy of the log as it is at one moment, while others write to it."""
        try:
            self._db.execute("VACUUM INTO ?", (str(path),))
        except sqlite3.Error as error:
            raise OSError(f"cannot write {path}: {error}; free some space, or choose another place") from None


def _unreadable(path: Path, error: sqlite3.Error) -> Exception:
    """What to raise: damage is refused, an error of the disk ends the process."""
    if isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF in _OF_THE_DISK:
        return Broken(f"{path}: {error}")
    return FileError(f"{path} cannot be read ({error}); restore the folder from a backup")
