"""Where weft keeps files that can be made or fetched again."""

import os
from pathlib import Path


class NoHome(OSError):
    """There is no folder for a user's files: neither `WEFT_CACHE` nor a home folder."""


def user_cache() -> Path:
    """The folder for compiled kernels, data sets and results: `WEFT_CACHE`, or the user's cache folder."""
    if chosen := os.environ.get("WEFT_CACHE"):
        return Path(chosen)
    from platformdirs import user_cache_path  # loaded here: most commands need no folder

    try:
        found = user_cache_path("weft", appauthor=False)
    except RuntimeError:
        found = Path()
    if not found.is_absolute():
        raise NoHome(
            "this user has no home folder (HOME is not set, and the system does not know the user); "
            "set WEFT_CACHE to a folder of your own"
        )
    return found
