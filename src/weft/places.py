"""Where weft keeps files that can be made or fetched again."""

import os
import sys
from pathlib import Path


def user_cache() -> Path:
    """The folder for compiled kernels, data sets and results: `WEFT_CACHE`, or the user's cache folder."""
    if chosen := os.environ.get("WEFT_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", str(Path.home())))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "weft"
