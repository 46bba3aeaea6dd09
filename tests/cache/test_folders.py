"""Folders of machine code: one per version of the sources, closed to other users, removed when no longer used."""

import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from weft.cache import folders, places
from weft.cache.folders import kernel_folder

DAY = 86400.0
ONE, TWO = "kernels-00000000000000a1", "kernels-00000000000000a2"
needs_users = pytest.mark.skipif(sys.platform == "win32", reason="users have no numbers here")
needs_root = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only the superuser can make files of another user"
)
NOBODY = 65534


@pytest.fixture
def base(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path))
    folders.private_base.cache_clear()
    yield tmp_path
    folders.private_base.cache_clear()


def folder_of(base, name, days):
    """A folder that was last used some days ago."""
    folder = base / name
    folder.mkdir(mode=0o700)
    (folder / "function").write_bytes(b"machine code")
    os.utime(folder, (time.time(), time.time() - days * DAY))
    return folder


def names(base):
    return {path.name for path in base.iterdir() if path.name.startswith("kernels-")}


def is_private(folder):
    """A temporary folder of this process, closed to others."""
    return folder.parent.name.startswith("weft-kernels-") and stat.S_IMODE(folder.parent.stat().st_mode) == 0o700


def test_a_new_folder_removes_those_that_were_not_used_for_long(base):
    old = folder_of(base, "kernels-0123456789abcdef", 61)
    recent = folder_of(base, "kernels-fedcba9876543210", 59)
    new = kernel_folder(ONE)
    assert not old.exists()
    assert (recent / "function").exists()
    assert names(base) == {recent.name, new.name}


def test_a_folder_that_is_used_again_stays(base):
    used = kernel_folder(ONE)
    os.utime(used, (0.0, 0.0))
    assert kernel_folder(ONE) == used
    assert time.time() - used.stat().st_mtime < DAY
    other = kernel_folder(TWO)
    assert names(base) == {used.name, other.name}


def test_nothing_is_removed_when_no_folder_is_created(base):
    kernel_folder(ONE)
    old = folder_of(base, "kernels-0123456789abcdef", 61)
    kernel_folder(ONE)
    assert old.exists()


def test_files_links_and_folders_with_other_names_stay(base):
    mine = folder_of(base, "kernels-of-mine", 100)
    data = folder_of(base, "data", 100)
    target = folder_of(base, "elsewhere", 100)
    link = base / "kernels-00000000000000aa"
    link.symlink_to(target)
    os.utime(link, (0.0, 0.0), follow_symlinks=False)
    file = base / "kernels-00000000000000bb"
    file.write_text("not a folder")
    os.utime(file, (0.0, 0.0))
    kernel_folder(ONE)
    assert (target / "function").exists()
    assert mine.exists()
    assert data.exists()
    assert link.is_symlink()
    assert file.exists()


@needs_users
def test_folders_of_other_users_stay(base, monkeypatch):
    old = folder_of(base, "kernels-0123456789abcdef", 61)
    monkeypatch.setattr(folders.os, "geteuid", lambda: old.stat().st_uid + 1)
    folders.remove_unused(base)
    assert old.exists()


def test_a_folder_that_cannot_be_removed_is_not_an_error(base, monkeypatch):
    folder_of(base, "kernels-0123456789abcdef", 61)

    def refuse(path, **settings):
        raise PermissionError(path)

    monkeypatch.setattr(folders.shutil, "rmtree", refuse)
    assert kernel_folder(ONE).is_dir()


@needs_users
def test_a_folder_and_all_parents_that_are_created_are_closed_to_others(base, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE", str(base / "a" / "b"))
    before = os.umask(0)
    try:
        folder = kernel_folder(ONE)
    finally:
        os.umask(before)
    assert folder == base / "a" / "b" / ONE
    for made in (base / "a", base / "a" / "b", folder):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700


@needs_users
@pytest.mark.parametrize("writable", [0o770, 0o707, 0o777, 0o1777])
@pytest.mark.parametrize("which", ["base", "folder"])
def test_a_folder_that_others_can_write_to_is_not_used(base, writable, which):
    folder = folder_of(base, ONE, 0)
    (base if which == "base" else folder).chmod(writable)
    with pytest.warns(UserWarning, match="other users can write to the folder .*; until then kernels are compiled"):
        found = kernel_folder(ONE)
    assert is_private(found)
    assert kernel_folder(ONE) == found  # said once
    assert (kernel_folder(TWO).parent == found.parent) == (which == "base")


@needs_users
def test_a_link_in_place_of_the_folder_is_not_used(base):
    (base / "elsewhere").mkdir(mode=0o700)
    (base / ONE).symlink_to(base / "elsewhere")
    with pytest.warns(UserWarning, match=f"{ONE} for compiled kernels is not a folder; remove it"):
        assert is_private(kernel_folder(ONE))


@needs_users
def test_the_usual_place_may_be_a_link_and_is_closed_to_the_group(base, monkeypatch):
    """Many keep ~/.cache on another disk; a umask of 002 has opened weft's own folder to the group."""
    real = base / "disk" / "weft"
    real.mkdir(parents=True)
    real.chmod(0o775)
    (base / "cache").symlink_to(base / "disk")
    monkeypatch.delenv("WEFT_CACHE")
    monkeypatch.setattr(folders, "user_cache", lambda: base / "cache" / "weft")
    assert kernel_folder(ONE) == real / ONE
    assert stat.S_IMODE(real.stat().st_mode) == 0o755


@needs_root
@pytest.mark.parametrize("which", ["base", "folder"])
def test_a_folder_of_another_user_is_not_used(base, which):
    folder = folder_of(base, ONE, 0)
    os.chown(base if which == "base" else folder, NOBODY, NOBODY)
    with pytest.warns(UserWarning, match="belongs to another user; set WEFT_CACHE to a folder of your own"):
        assert is_private(kernel_folder(ONE))


@needs_root
def test_another_user_is_not_given_our_folder(base, monkeypatch):
    """As the other user: folders of the superuser are refused, however open they are."""
    base.chmod(0o755)
    folder_of(base, ONE, 0).chmod(0o755)
    child = os.fork()
    if not child:
        code = 1
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            import warnings

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                code = 0 if is_private(kernel_folder(ONE)) else 2
            shutil.rmtree(folders.private_base())  # this process skips what is done at exit
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_cannot_be_a_folder_is_told_once(base, monkeypatch):
    (base / "file").write_text("")
    monkeypatch.setenv("WEFT_CACHE", str(base / "file"))
    with pytest.warns(UserWarning, match="file for compiled kernels is not a folder"):
        assert is_private(kernel_folder(ONE))
    kernel_folder(TWO)  # a second warning would be an error
    folders.private_base.cache_clear()
    monkeypatch.setenv("WEFT_CACHE", str(base / "file" / "within"))
    with pytest.warns(UserWarning, match="cannot be used .Not a directory.; set WEFT_CACHE to another"):
        assert is_private(kernel_folder(ONE))


def test_a_place_that_cannot_be_written_to(base, monkeypatch):
    def refuse(path, mode=0o777):
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(folders.os, "mkdir", refuse)
    monkeypatch.setattr(folders.tempfile, "mkdtemp", lambda prefix: refuse(prefix))
    with pytest.warns(UserWarning, match="Read-only file system"):
        assert kernel_folder(ONE) is None  # not even a temporary folder: nothing is kept


def test_no_home_and_no_such_user(base, monkeypatch):
    monkeypatch.delenv("WEFT_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as it is where nobody knows the user
    with pytest.warns(UserWarning, match="no home folder .*; set WEFT_CACHE to a folder of your own"):
        assert is_private(kernel_folder(ONE))
    with pytest.raises(places.NoHome, match="set WEFT_CACHE"):
        places.user_cache()


def test_a_relative_cache_folder_of_the_desktop_is_ignored(monkeypatch):
    monkeypatch.delenv("WEFT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert places.user_cache().is_absolute()


def test_the_private_folder_is_removed_at_exit_but_not_by_a_child(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "tmp").mkdir()
    code = (
        "import os, sys, warnings\nwarnings.simplefilter('ignore')\n"
        "from weft.cache.folders import kernel_folder\n"
        f"folder = kernel_folder({ONE!r})\n"
        "child = os.fork()\n"
        "if not child:\n    sys.exit()\n"
        "os.waitpid(child, 0)\nassert folder.is_dir()\nprint(folder)\n"
    )
    environment = {**os.environ, "WEFT_CACHE": str(tmp_path / "file"), "TMPDIR": str(tmp_path / "tmp")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).parents[1] == tmp_path / "tmp"
    assert list((tmp_path / "tmp").iterdir()) == []


def test_private_folders_of_killed_processes_are_removed_after_days(base, monkeypatch):
    monkeypatch.setattr(folders.tempfile, "tempdir", str(base))
    left = folder_of(base, "weft-kernels-abcd_123", 3)
    running = folder_of(base, "weft-kernels-abcd_124", 1)
    folders._remove_abandoned(base)
    assert not left.exists()
    assert running.exists()
