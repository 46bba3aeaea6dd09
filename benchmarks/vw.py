"""Vowpal Wabbit over its own binary cache: the fastest way it can be fed."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from benchmarks.figures import best


def seconds(lines: Iterable[str], options: str, repeats: int = 3) -> float:
    """Seconds of one pass over the lines, read from a cache made beforehand."""
    from vowpalwabbit import Workspace

    with tempfile.TemporaryDirectory() as folder:
        data, cache = Path(folder) / "events.txt", Path(folder) / "events.cache"
        data.write_text("\n".join(lines) + "\n")
        common = f"--quiet {options} --cache_file {cache}"
        Workspace(f"{common} -d {data}").finish()
        data.write_text("")
        return best(lambda: Workspace(f"{common} -d {data}").finish(), repeats)
