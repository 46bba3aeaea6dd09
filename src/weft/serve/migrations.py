"""Logs of earlier formats: one function per step, each in one transaction with the number of the new format."""

import sqlite3
from collections.abc import Callable

import msgspec


def task_key(task: object) -> bytes:
    """The name of a task as it is kept beside a remembered prediction."""
    return msgspec.msgpack.encode(task)


def _to_2(database: sqlite3.Connection) -> None:
    """Remembered predictions name their task, and forgotten tasks are kept until they are out of the log."""
    database.execute("ALTER TABLE remembered ADD COLUMN task BLOB NOT NULL DEFAULT x''")
    for id, event in database.execute("SELECT id, event FROM remembered").fetchall():
        key = task_key(msgspec.msgpack.decode(event)[0])
        database.execute("UPDATE remembered SET task = ? WHERE id = ?", (key, id))
    database.execute("CREATE INDEX remembered_task ON remembered (task)")
    database.execute("CREATE TABLE forgotten (seq INTEGER PRIMARY KEY, task BLOB NOT NULL)")


def _to_3(database: sqlite3.Connection) -> None:
    """Brokers are read, and the log keeps how far."""
    database.execute(
        'CREATE TABLE sources (source TEXT NOT NULL, "partition" TEXT NOT NULL, after TEXT NOT NULL, '
        'crc INTEGER NOT NULL, PRIMARY KEY (source, "partition")) WITHOUT ROWID'
    )


STEPS: dict[int, Callable[[sqlite3.Connection], None]] = {1: _to_2, 2: _to_3}
"""From each earlier format to the next."""


def migrate(database: sqlite3.Connection, found: int, wanted: int) -> None:
    """Bring a log of format `found` to format `wanted`; a process that is killed meanwhile leaves the earlier one."""
    while found in STEPS and found < wanted:
        database.execute("BEGIN IMMEDIATE")
        STEPS[found](database)
        found += 1
        database.execute(f"PRAGMA user_version={found}")
        database.execute("COMMIT")
