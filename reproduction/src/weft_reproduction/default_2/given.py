"""Files of somebody's own as streams: `weft reproduce default-2 --data PATH`, a file of events or a folder of them.

What the fields of records are is inferred as by `weft learn`; the order is that of the file. Labels are two classes or
numbers.
"""

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np

from weft.schema import Schema
from weft.stream import Stream
from weft.streams.csv_cells import Cells
from weft.streams.formats import format_of, read_whole
from weft.streams.records import InputError
from weft.streams.sampling import sample
from weft_reproduction.default_2.streams import Data

PLACE = "WEFT_REPRODUCE_DATA"
"""The variable that names the file or folder, for all processes at work."""


def files() -> list[Path] | None:
    """The files that were given, of a folder those whose format is known; None if nothing was."""
    if PLACE not in os.environ:
        return None
    place = Path(os.environ[PLACE])
    if not place.is_dir():
        format_of(place)  # says what is wrong with it
        return [place.absolute()]
    found = [path.absolute() for path in sorted(place.iterdir()) if path.is_file() and _has_format(path)]
    if not found:
        raise ValueError(f"the folder {place} has no file of events; give a file, or a folder with some")
    return found


def _has_format(path: Path) -> bool:
    try:
        return not path.name.startswith(".") and bool(format_of(path))
    except InputError:
        return False


def digest(path: Path) -> str:
    """Of the content: a cell is run again when the file has changed."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def events(path: str, rows: int | None) -> tuple[Stream, Data]:
    """The first events of a file, for weft and as arrays for others, in which missing values are zeros."""
    chunk = read_whole(path, target="class", schema=_schema(path))
    y, names = chunk.label_values
    if np.isnan(y).any():
        raise ValueError(f"{path}: there are events without a label; give every event one")
    different = np.unique(y)
    is_binary = names is not None or len(different) == 2
    if is_binary and len(different) != 2:
        raise ValueError(f"{path} has {len(different)} classes; the comparison takes two, or numbers")
    if is_binary:
        values = [float(value) if names is None else names[int(value)] for value in different.tolist()]
        y = np.where(y == different[values.index(max(values))], 1.0, -1.0)
    stream = chunk.labelled
    known: dict[Any, int] = {}
    task = np.array([known.setdefault(name, len(known)) for name in chunk.tasks], np.int64)
    data = Data(stream.X[:rows], y[:rows], task[:rows], is_binary)
    return stream.only(np.arange(len(data.y))), data


def _schema(path: str) -> Schema | None:
    """What the fields of its records are; None if it holds events that need no schema."""
    found = sample(path, None, "task", "y", Cells("", "task"))
    return None if found is None or found.is_plain or not found.records else Schema.infer(found.records)
