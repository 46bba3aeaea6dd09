"""The folder for machine code: one that nobody else can write to, or a private one for this process alone.

A file of machine code is a pickle, and reading it can run code. So a folder is used only if it is a real directory that
belongs to this user and that others cannot write to. Otherwise the process compiles into a temporary folder of its own,
which is removed when it ends, and says why once.
"""

import atexit
import os
import re
import shutil
import stat
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

from weft.cache.places import NoHome, user_cache

UNUSED_DAYS = 60
"""A folder that no process has used for so many days is removed when a new one is created."""
ABANDONED_DAYS = 2
"""A private folder that a killed process left behind is removed after so many days."""
PRIVATE = "weft-kernels-"
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def this_user() -> int | None:
    """The number of the user who owns what this process creates; None on Windows, which has no such numbers."""
    return None if sys.platform == "win32" else os.geteuid()


def kernel_folder(name: str) -> Path | None:
    """A folder of that name for machine code, created or marked as used now; None if there is no place for one."""
    try:
        return _in_base(user_cache(), name)
    except (Unusable, NoHome) as refusal:
        return _in_private(name, f"{refusal}; until then kernels are compiled again in every run")


class Unusable(Exception):
    """Why a folder cannot be used, with a remedy."""


def _in_base(base: Path, name: str) -> Path:
    """The folder within `base`, which is followed if it is a link; Unusable if one of the two is not safe."""
    base = Path(os.path.realpath(base))
    try:
        _make(base)
        if not os.environ.get("WEFT_CACHE"):
            _take_from_others(base)
        _expect_own(base)
        folder = base / name
        is_new = not os.path.lexists(folder)
        _make(folder)
        _expect_own(folder)
    except OSError as error:
        where = error.filename or base
        raise Unusable(
            f"the folder {where} for compiled kernels cannot be used ({error.strerror}); set WEFT_CACHE to another"
        ) from None
    _mark_used(folder)
    if is_new:
        remove_unused(base)
    return folder


def _make(folder: Path) -> None:
    """Create the folder and the parents that are missing, all of them closed to others."""
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        with suppress(FileExistsError):  # another process was faster
            os.mkdir(each, 0o700)


def _take_from_others(base: Path) -> None:
    """A umask of 002 makes folders that the group can write to; in weft's own folder nobody needs that."""
    found = os.lstat(base)
    if stat.S_ISDIR(found.st_mode) and found.st_uid == this_user() and found.st_mode & OTHERS_MAY_WRITE:
        os.chmod(base, stat.S_IMODE(found.st_mode) & ~OTHERS_MAY_WRITE)


def _expect_own(folder: Path) -> None:
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode):
        raise Unusable(f"{folder} for compiled kernels is not a folder; remove it, or set WEFT_CACHE to another")
    if this_user() is None:
        return  # Windows: the user's folders are closed to others by its access lists
    if found.st_uid != this_user():
        raise Unusable(
            f"the folder {folder} for compiled kernels belongs to another user; set WEFT_CACHE to a folder of your own"
        )
    if found.st_mode & OTHERS_MAY_WRITE:
        raise Unusable(
            f"other users can write to the folder {folder} for compiled kernels; remove it or run chmod -R go-w on it "
            "if you trust what is in it"
        )


def _in_private(name: str, why: str) -> Path | None:
    if not private_base.cache_info().currsize:
        warnings.warn(why, stacklevel=2)
    base = private_base()
    if base is None:
        return None
    folder = base / name
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder
    return None


@cache
def private_base() -> Path | None:
    """A folder of this process alone, removed when it ends; None if there is no place even for that."""
    try:
        base = Path(tempfile.mkdtemp(prefix=PRIVATE))
    except OSError:
        return None
    _remove_abandoned(base.parent)
    atexit.register(_remove_private, base, os.getpid())
    return base


def _remove_private(base: Path, process: int) -> None:
    if os.getpid() == process:  # not a child that was forked
        shutil.rmtree(base, ignore_errors=True)


def _mark_used(folder: Path) -> None:
    """Set the folder's time of modification to now."""
    with suppress(OSError):
        os.utime(folder)


def remove_unused(base: Path) -> None:
    """Remove folders of machine code in `base` that no process has used for UNUSED_DAYS."""
    _remove_old(base, "kernels-[0-9a-f]{16}", UNUSED_DAYS)


def _remove_abandoned(place: Path) -> None:
    _remove_old(place, re.escape(PRIVATE) + "[0-9a-z_]{8}", ABANDONED_DAYS)


def _remove_old(place: Path, pattern: str, days: int) -> None:
    """Only folders that this module can have made: with such a name, owned by the user, and not symbolic links."""
    oldest = time.time() - days * 86400.0
    user = this_user()
    with suppress(OSError):
        for folder in list(place.iterdir()):
            if not re.fullmatch(pattern, folder.name):
                continue
            with suppress(OSError):
                found = folder.lstat()
                if stat.S_ISDIR(found.st_mode) and user in (None, found.st_uid) and found.st_mtime < oldest:
                    shutil.rmtree(folder, ignore_errors=True)
