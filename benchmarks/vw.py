"""Vowpal Wabbit over its text format, and over its own binary cache: its fastest input."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.figures import best

OWN_AND_SHARED = "-b 22 -q tx --hash all --loss_function logistic"
"""A weight for every feature, and one for every feature of every task, in 2^22 places.

`--hash all` is needed for the second: integers that stand as names are their own hash otherwise, the places of a task
are then those of the task before it moved by 403, and all tasks use nearly the same places. Of the 210,000 weights of
20 tasks with 10,000 features 35,000 are left, which fit the processor's cache; with the option 205,000 are.
"""


def own_and_shared_lines(X: sparse.csr_array, y: np.ndarray, task: np.ndarray) -> Iterator[str]:
    """Rows in Vowpal Wabbit's text format, the task in a namespace of its own."""
    bounds = X.indptr.tolist()
    for i, (label, name) in enumerate(zip(y.tolist(), task.tolist(), strict=True)):
        entries = slice(bounds[i], bounds[i + 1])
        pairs = zip(X.indices[entries].tolist(), X.data[entries].tolist(), strict=True)
        yield f"{int(label)} |t {name} |x " + " ".join(f"{column}:{value:.6f}" for column, value in pairs)


@contextmanager
def passes(lines: Iterable[str], options: str, cached: bool = True) -> Iterator[Callable[[], None]]:
    """One pass over the lines, read from a cache made beforehand or parsed from text, as often as it is called."""
    from vowpalwabbit import Workspace

    with tempfile.TemporaryDirectory() as folder:
        data, cache = Path(folder) / "events.txt", Path(folder) / "events.cache"
        with data.open("w") as file:
            file.writelines(f"{line}\n" for line in lines)
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
