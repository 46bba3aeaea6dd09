"""Where weft keeps files that can be made or fetched again."""

import os
import sys
from pathlib import Path


class NoHome(OSError):
    """There is no folder for a user's files: neither `WEFT_CACHE` nor a home folder."""


def user_cache() -> Path:
    """The folder for compiled kernels, data sets and results: `WEFT_CACHE`, or the user's cache folder."""
    if chosen := os.environ.get("WEFT_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or _home())
    elif sys.platform == "darwin":
        base = _home() / "Library" / "Caches"
    else:
        named = os.environ.get("XDG_CACHE_HOME", "")
        base = Path(named) if os.path.isabs(named) else _home() / ".cache"
    return base / "weft"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise NoHome(
            "this user has no home folder (HOME is not set, and the system does not know the user); "
            "set WEFT_CACHE to a folder of your own"
        ) from None
