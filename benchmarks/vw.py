"""Vowpal Wabbit over its text format, and over its own binary cache: its fastest input."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.figures import best


@contextmanager
def passes(lines: Iterable[str], options: str, cached: bool = True) -> Iterator[Callable[[], None]]:
    """One pass over the lines, read from a cache made beforehand or parsed from text, as often as it is called."""
    from vowpalwabbit import Workspace

    with tempfile.TemporaryDirectory() as folder:
        data, cache = Path(folder) / "events.txt", Path(folder) / "events.cache"
        data.write_text("\n".join(lines) + "\n")
        common = f"--quiet {options} -d {data}"
        if cached:
            common += f" --cache_file {cache}"
            Workspace(common).finish()
            data.write_text("")
        yield lambda: Workspace(common).finish()


def seconds(lines: Iterable[str], options: str, cached: bool = True) -> float:
    """Seconds of the fastest of several passes."""
    with passes(lines, options, cached) as run:
        return best(run)
