"""Finished cells on disk: a JSON file each, written whole or not at all, and never trusted when read.

A file holds the settings, the figures, the seconds that they took, and a sum over all of that. One that is cut off,
altered, or not what its name says counts as absent, and is made again.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.cache.places import user_cache
from weft.store.files import write_atomic
from weft_reproduction.digest import key
from weft_reproduction.experiment import Experiment, Figures, Settings


@dataclass(frozen=True)
class Cell:
    """A unit of work: an experiment, its settings, and the key of both with the code and the data."""

    experiment: Experiment
    settings: Settings
    key: str


@dataclass(frozen=True)
class Done:
    """A finished cell: what it found, and how long it took."""

    figures: Figures
    seconds: float


def default_folder() -> Path:
    """Where results are kept unless somebody says otherwise."""
    return user_cache() / "results"


def cells_of(experiment: Experiment, quick: bool) -> list[Cell]:
    """All cells of an experiment, none twice."""
    cells = {}
    for settings in experiment.cells(quick):
        cell = Cell(experiment, settings, key(experiment, settings))
        cells[cell.key] = cell
    return list(cells.values())


def load(folder: Path, cell: Cell) -> Done | None:
    """The finished cell, or None if there is none that can be trusted."""
    try:
        kept = json.loads(_path(folder, cell).read_text(encoding="utf-8"))
        told = kept["cell"]
        seconds, figures = told["seconds"], told["figures"]
        good = (
            kept["sum"] == _sum(told)
            and told["key"] == cell.key
            and told["settings"] == json.loads(json.dumps(cell.settings))
            and isinstance(figures, dict)
            and isinstance(seconds, float)
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return Done(figures, seconds) if good else None


def store(folder: Path, cell: Cell, figures: Figures, seconds: float) -> None:
    """Keep the figures of a cell; a crash leaves the file as it was, or absent."""
    path = _path(folder, cell)
    told = {
        "experiment": cell.experiment.name,
        "key": cell.key,
        "settings": cell.settings,
        "figures": figures,
        "seconds": float(seconds),
    }
    text = json.dumps({"cell": told, "sum": _sum(told)}, ensure_ascii=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, text.encode())


def _path(folder: Path, cell: Cell) -> Path:
    return folder / cell.experiment.name / f"{cell.key}.json"


def _sum(told: Any) -> str:
    text = json.dumps(told, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
