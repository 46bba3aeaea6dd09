"""The quick run of an experiment, once per process: some tests look at its machinery, others at its figures."""

import tempfile
from functools import cache
from pathlib import Path

from weft_reproduction import shelf
from weft_reproduction.cells import cells_of
from weft_reproduction.running import run

GROUPS = {
    "budget-table1": "budget",
    "robust-tables": "robust",
    "robust-fig6": "robust",
    "smoothed-table1": "smoothed",
    "smoothed-fig1": "smoothed-batch",
}
"""Experiments whose figures have tests of their own, and the process in which these run."""


@cache
def quick_results(name):
    """(settings, figures) of every cell, through the cache on disk."""
    cells = cells_of(shelf.experiment(name), True)
    with tempfile.TemporaryDirectory() as folder:
        outcome = run(cells, Path(folder), 1)
    assert outcome.failures == []
    return outcome.results(cells)
