"""Vowpal Wabbit over its text format, and over its own binary cache: the fastest way it can be fed."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from benchmarks.figures import best


def seconds(lines: Iterable[str], options: str, cached: bool = True) -> float:
    """Seconds of one pass over the lines, read from a cache made beforehand or parsed from text."""
    from vowpalwabbit import Workspace

    with tempfile.TemporaryDirectory() as folder:
        data, cache = Path(folder) / "events.txt", Path(folder) / "events.cache"
        data.write_text("\n".join(lines) + "\n")
        common = f"--quiet {options} -d {data}"
        if cached:
            common += f" --cache_file {cache}"
            Workspace(common).finish()
            data.write_text("")
        return best(lambda: Workspace(common).finish())
