"""Writing a file: links are followed, devices and pipes are written to, and what cannot be written is left alone."""

import os
import re
import socket
import stat
import sys
import threading
import time

import pytest

import weft
from weft.store import files
from weft.store.files import Output, expect_place, is_special, write_atomic

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links, modes and pipes are those of Unix")
OLD, NEW = b"old", b"new" * 1000


@pytest.fixture(autouse=True)
def unswept():
    files._swept.clear()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_permissions_are_kept(tmp_path, mode):
    target = tmp_path / "m"
    target.write_bytes(OLD)
    target.chmod(mode)
    write_atomic(target, NEW)
    assert target.read_bytes() == NEW
    assert stat.S_IMODE(target.stat().st_mode) == mode
    assert names(tmp_path) == ["m"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_follows_the_umask(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        write_atomic(tmp_path / "m", NEW)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == mode


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only the superuser can give files away")
def test_the_owner_is_kept(tmp_path):
    (tmp_path / "m").write_bytes(OLD)
    os.chown(tmp_path / "m", 65534, 65533)
    write_atomic(tmp_path / "m", NEW)
    found = (tmp_path / "m").stat()
    assert (found.st_uid, found.st_gid) == (65534, 65533)


@pytest.mark.parametrize("is_relative", [True, False])
def test_a_link_is_followed_and_the_real_file_replaced(tmp_path, is_relative):
    (tmp_path / "real").mkdir()
    real = tmp_path / "real" / "m"
    real.write_bytes(OLD)
    real.chmod(0o640)
    (tmp_path / "second").symlink_to(real)
    link = tmp_path / "link"
    link.symlink_to("second" if is_relative else tmp_path / "second")
    write_atomic(link, NEW)
    assert link.is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert real.read_bytes() == NEW
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert names(tmp_path / "real") == ["m"]


def test_a_link_that_leads_nowhere_creates_its_target(tmp_path):
    (tmp_path / "link").symlink_to("m")
    write_atomic(tmp_path / "link", NEW)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "m").read_bytes() == NEW
    (tmp_path / "far").symlink_to("nowhere/m")
    with pytest.raises(FileNotFoundError, match=r"cannot write .*far: the folder .*nowhere does not exist"):
        write_atomic(tmp_path / "far", NEW)


def test_links_in_a_circle(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match=r"symbolic links.*; its symbolic links point in a circle"):
        write_atomic(tmp_path / "a", NEW)


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    write_atomic(pipe, NEW)
    reader.join()
    assert received == [NEW]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert names(tmp_path) == ["pipe"]


def test_a_socket_is_refused_and_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the names of sockets are short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        with pytest.raises(OSError, match=r"cannot write s: .*; nothing can be written to it; choose a file"):
            write_atomic("s", NEW)
    assert stat.S_ISSOCK(os.stat("s").st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs the devices of Linux")
def test_devices_are_written_to_and_stay():
    weft.Model("pa").save("/dev/null")
    with pytest.raises(OSError, match="cannot write /dev/full: No space left on device; free some space"):
        weft.Model("pa").save("/dev/full")
    for device in ("/dev/null", "/dev/full"):
        assert stat.S_ISCHR(os.stat(device).st_mode)


@pytest.mark.parametrize("folder", ["/dev/fd", "/proc/self/fd"])
def test_open_descriptors_are_written_to_where_they_are(tmp_path, folder):
    if not os.path.isdir(folder):
        pytest.skip(f"there is no {folder}")
    with (tmp_path / "m").open("wb") as file:
        file.write(b"first ")
        file.flush()
        name = f"{folder}/{file.fileno()}"
        assert is_special(name)
        expect_place(name)
        write_atomic(name, NEW)
        (tmp_path / "link").symlink_to(name)
        write_atomic(tmp_path / "link", b" last")
    assert (tmp_path / "m").read_bytes() == b"first " + NEW + b" last"
    with pytest.raises(OSError, match="it is not open; redirect it, or choose a file"):
        write_atomic(f"{folder}/987", NEW)


@pytest.mark.parametrize("place", [".", "folder", "folder/", "new/", ""])
def test_folders_are_refused(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for refuse in (expect_place, lambda path: write_atomic(path, NEW)):
        with pytest.raises(IsADirectoryError, match="it is a folder; give the name of a file"):
            refuse(place)
    assert names(tmp_path) == ["folder"]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("nowhere/m", "cannot write nowhere/m: the folder nowhere does not exist"),
        ("file/m", "cannot write file/m: Not a directory; a folder in its path is a file"),
        ("x" * 300, "File name too long; choose a shorter name"),
    ],
)
def test_places_that_do_not_exist(tmp_path, monkeypatch, place, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(OLD)
    for refuse in (expect_place, lambda path: write_atomic(path, NEW)):
        with pytest.raises(OSError, match=re.escape(words)):
            refuse(place)


def test_the_longest_names_can_be_written(tmp_path):
    for name in ("x" * 255, "é" * 127):
        write_atomic(tmp_path / name, NEW)
        write_atomic(tmp_path / name, OLD)
        assert (tmp_path / name).read_bytes() == OLD
        (tmp_path / name).unlink()
    assert names(tmp_path) == []


def test_a_protected_file_is_not_replaced(tmp_path, monkeypatch):
    (tmp_path / "m").write_bytes(OLD)
    monkeypatch.setattr(files.os, "access", lambda *_: False)  # as for a user who is not the superuser
    with pytest.raises(PermissionError, match="it is write-protected; check the permissions"):
        write_atomic(tmp_path / "m", NEW)
    assert (tmp_path / "m").read_bytes() == OLD


def test_an_error_in_the_block_leaves_the_old_file(tmp_path):
    target = tmp_path / "m"
    target.write_bytes(OLD)

    def write():
        with Output(target) as output:
            output.write(NEW)
            raise RuntimeError("a bad line")

    with pytest.raises(RuntimeError):
        write()
    assert target.read_bytes() == OLD
    assert names(tmp_path) == ["m"]


# --- temporary files ----------------------------------------------------------------------------------------


def left_behind(folder, name="m", token="0123456789abcdef"):
    path = folder / f".{name}.weft-{token}.tmp"
    path.write_bytes(b"half")
    return path


def test_temporary_names_cannot_be_guessed(tmp_path, monkeypatch):
    made, replace = [], os.replace
    monkeypatch.setattr(files.os, "replace", lambda a, b: (made.append(os.path.basename(a)), replace(a, b)))
    for _ in range(3):
        write_atomic(tmp_path / "m", NEW)
    assert len(set(made)) == 3
    assert all(re.fullmatch(r"\.m\.weft-[0-9a-f]{16}\.tmp", name) for name in made)


def test_what_a_killed_process_left_is_swept(tmp_path):
    left = left_behind(tmp_path)
    kept = [
        left_behind(tmp_path, name="n"),  # of another target
        left_behind(tmp_path, token="0123456789abcdeg"),
        left_behind(tmp_path, name="m.m"),
    ]
    link = tmp_path / ".m.weft-00000000000000aa.tmp"
    link.symlink_to(kept[0])
    folder = tmp_path / ".m.weft-00000000000000bb.tmp"
    folder.mkdir()
    write_atomic(tmp_path / "m", NEW)
    assert not left.exists()
    assert all(path.exists() for path in kept)
    assert link.is_symlink()
    assert folder.is_dir()


def test_what_is_being_written_is_not_swept(tmp_path):
    with Output(tmp_path / "m") as first:
        first.write(b"first")
        files._swept.clear()  # as another process would
        write_atomic(tmp_path / "m", b"second")
        assert len(names(tmp_path)) == 2
    assert (tmp_path / "m").read_bytes() == b"first"
    assert names(tmp_path) == ["m"]


def test_without_locks_only_what_is_older_than_a_day_is_swept(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "try_lock", lambda _: None)
    recent, old = left_behind(tmp_path), left_behind(tmp_path, token="f" * 16)
    os.utime(old, (0.0, time.time() - 2 * files.DAY))
    write_atomic(tmp_path / "m", NEW)
    assert recent.exists()
    assert not old.exists()


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only the superuser can give files away")
def test_files_of_other_users_are_not_swept(tmp_path):
    left = left_behind(tmp_path)
    os.chown(left, 65534, 65534)
    write_atomic(tmp_path / "m", NEW)
    assert left.exists()


def test_one_that_is_swept_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    lock, calls = files.try_lock, []

    def slow(descriptor):
        if not calls:
            (left,) = tmp_path.iterdir()
            left.unlink()  # another process sweeps between the creation and the lock
        calls.append(descriptor)
        return lock(descriptor)

    monkeypatch.setattr(files, "try_lock", slow)
    write_atomic(tmp_path / "m", NEW)
    assert len(calls) == 2
    assert (tmp_path / "m").read_bytes() == NEW


def test_threads_that_save_one_file_leave_one_of_the_versions(tmp_path):
    versions = [bytes([i]) * 100_000 for i in range(8)]
    threads = [threading.Thread(target=write_atomic, args=(tmp_path / "m", data)) for data in versions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "m").read_bytes() in versions
    assert names(tmp_path) == ["m"]


def test_file_and_folder_are_flushed_to_disk_in_order(tmp_path, monkeypatch):
    done = []

    def recording(name, shown):
        original = getattr(os, name)
        monkeypatch.setattr(files.os, name, lambda *a, **k: (done.append(shown(*a)), original(*a, **k))[1])

    recording("fsync", lambda d: "folder" if stat.S_ISDIR(os.fstat(d).st_mode) else "file")
    recording("replace", lambda *_: "move")
    write_atomic(tmp_path / "m", NEW)
    assert done == ["file", "move", "folder"]


def test_reading_names_the_file_and_a_remedy(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no model file"):
        weft.load(tmp_path / "m")
    with pytest.raises(IsADirectoryError, match=r"cannot read .*: Is a directory; give the name of a file"):
        weft.load(tmp_path)
