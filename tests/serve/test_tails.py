"""The write-ahead log of a killed service: what is dropped, and what is refused."""

import sqlite3

import pytest

from weft.serve.tails import dropped_tail
from weft.store.digests import FileError

HEADER, FRAME = 32, 24 + 4096
SALT = 8


@pytest.fixture
def log(tmp_path):
    """A write-ahead log with five commits, and how many frames each has; SQLite keeps it open."""
    path = tmp_path / "a.sqlite"
    database = sqlite3.connect(path, isolation_level=None)
    database.executescript("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE t (a)")
    ends = []
    for count in (1, 9000, 1, 9000):
        database.execute("INSERT INTO t VALUES (?)", ("x" * count,))
        ends.append(((tmp_path / "a.sqlite-wal").stat().st_size - HEADER) // FRAME)
    yield tmp_path / "a.sqlite-wal", ends
    database.close()


def changed(path, frame, at):
    """The bytes with one of them changed, in a copy."""
    data = bytearray(path.read_bytes())
    data[HEADER + FRAME * frame + at] ^= 1
    copy = path.with_name("copy")
    copy.write_bytes(data)
    return copy


def test_a_whole_log_loses_nothing(log):
    assert dropped_tail(log[0]) == 0


@pytest.mark.parametrize("at", [0, 4, SALT, SALT + 4, 16, 20, 24, 4000])
def test_damage_before_a_later_commit_is_refused(log, at):
    path, ends = log
    for frame in range(ends[2]):
        with pytest.raises(FileError, match="damaged at byte"):
            dropped_tail(changed(path, frame, at))


@pytest.mark.parametrize("at", [0, SALT, 16, 4000])
def test_the_last_commit_may_have_been_cut_short_anywhere(log, at):
    path, ends = log
    assert ends[3] - ends[2] == 4
    for frame in range(ends[2], ends[3]):
        assert dropped_tail(changed(path, frame, at)) == 4 * FRAME
    for size in range(HEADER + FRAME * ends[2] + 1, path.stat().st_size, 500):
        copy = path.with_name("cut")
        copy.write_bytes(path.read_bytes()[:size])
        assert dropped_tail(copy) == (size - HEADER) // FRAME * FRAME - FRAME * ends[2]


def test_frames_of_an_earlier_turn_are_not_damage(log):
    path, ends = log
    database = sqlite3.connect(path.with_name("a.sqlite"), isolation_level=None)
    size = path.stat().st_size
    database.execute("PRAGMA wal_checkpoint(RESTART)")
    database.execute("INSERT INTO t VALUES (?)", ("y" * 9000,))
    assert path.stat().st_size == size
    assert dropped_tail(path) == 0
    count = 4
    for frame in range(count):
        assert dropped_tail(changed(path, frame, 4000)) == count * FRAME
    older = path.read_bytes()[HEADER + FRAME * ends[2] : HEADER + FRAME * (ends[2] + 1)]
    data = bytearray(path.read_bytes())
    data[HEADER : HEADER + FRAME] = older  # the first page of the last commit did not reach the disk, the others did
    path.with_name("torn").write_bytes(data)
    assert dropped_tail(path.with_name("torn")) == count * FRAME
    database.close()
