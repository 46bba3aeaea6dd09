"""The folders of the machine code cache: one per version of the sources, removed when they are no longer used."""

import os
import time
from pathlib import Path

import pytest

from weft.compiled import jit

DAY = 86400.0


@pytest.fixture
def base(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path))
    jit._cache_folder.cache_clear()
    yield tmp_path
    jit._cache_folder.cache_clear()


def folder_of(base, name, days):
    """A cache folder that was last used some days ago."""
    folder = base / name
    (folder / "inner_1").mkdir(parents=True)
    (folder / "inner_1" / "function.nbi").write_bytes(b"index")
    os.utime(folder, (time.time(), time.time() - days * DAY))
    return folder


def source(base, text):
    path = base / "source.py"
    path.write_text(text)
    return path


def names(base):
    return {path.name for path in base.iterdir() if path.name.startswith("kernels-")}


def test_a_new_folder_removes_those_that_were_not_used_for_long(base):
    old = folder_of(base, "kernels-0123456789abcdef", 61)
    recent = folder_of(base, "kernels-fedcba9876543210", 59)
    new = Path(jit._cache_folder((source(base, "a = 1"),)))
    assert not old.exists()
    assert (recent / "inner_1" / "function.nbi").exists()
    assert names(base) == {recent.name, new.name}


def test_a_folder_that_is_used_again_stays(base):
    used = Path(jit._cache_folder((source(base, "a = 1"),)))
    os.utime(used, (0.0, 0.0))
    jit._cache_folder.cache_clear()
    assert Path(jit._cache_folder((source(base, "a = 1"),))) == used
    assert time.time() - used.stat().st_mtime < DAY
    jit._cache_folder.cache_clear()
    other = Path(jit._cache_folder((source(base, "a = 2"),)))
    assert other != used
    assert names(base) == {used.name, other.name}


def test_nothing_is_removed_when_no_folder_is_created(base):
    files = (source(base, "a = 1"),)
    jit._cache_folder(files)
    jit._cache_folder.cache_clear()
    old = folder_of(base, "kernels-0123456789abcdef", 61)
    jit._cache_folder(files)
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
    jit._cache_folder((source(base, "a = 1"),))
    assert (target / "inner_1" / "function.nbi").exists()
    assert mine.exists()
    assert data.exists()
    assert link.is_symlink()
    assert file.exists()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="users have no numbers here")
def test_folders_of_other_users_stay(base, monkeypatch):
    old = folder_of(base, "kernels-0123456789abcdef", 61)
    monkeypatch.setattr(jit.os, "getuid", lambda: old.stat().st_uid + 1)
    jit._remove_unused(base)
    assert old.exists()


def test_a_folder_that_cannot_be_removed_is_not_an_error(base, monkeypatch):
    folder_of(base, "kernels-0123456789abcdef", 61)

    def refuse(path, **settings):
        raise PermissionError(path)

    monkeypatch.setattr(jit.shutil, "rmtree", refuse)
    assert Path(jit._cache_folder((source(base, "a = 1"),))).is_dir()
