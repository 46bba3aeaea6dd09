"""Public data sets by name: found on disk, verified completely, never fetched automatically.

    school = weft.streams.known("school")
    stream = weft.Stream(school.X, school.y, school.task)

`weft data list` shows which sets there are and which are on this machine. Steps of preprocessing are in
`weft.streams.preparation`.
"""

import io
import os
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from weft.cache.places import NoHome, user_cache
from weft.streams.conversion import is_published
from weft.streams.known_sets import SETS, KnownSet

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class Known:
    """A data set as in its file: raw features, events in the file's order.

    X              rows: a dense float64 array or a SciPy CSR array of float64
    y              labels as float64; for a set with topics a CSR array (rows, topics) of ones
    task           task number of every row, 0 .. len(task_names) - 1; None for a set with topics, which are the tasks
    feature_names  None if the origin has none
    extra          further arrays; those named in `by_row` have an entry per row
    origin, terms  where the data come from, and on what terms
    """

    name: str
    X: Any
    y: Any
    task: Array | None
    task_names: list[str]
    feature_names: list[str] | None
    extra: Mapping[str, Array] = field(default_factory=dict)
    by_row: tuple[str, ...] = ()
    origin: str = ""
    terms: str = ""

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __repr__(self) -> str:
        rows, features = self.X.shape
        return f"Known({self.name!r}: {rows} rows, {features} features, {len(self.task_names)} tasks; {self.terms})"


def known(name: str) -> Known:
    """The data set of that name: from the folder `WEFT_DATA`, or from the user's cache, where `weft data get` saves it.

    A file that is not the published one is refused.
    """
    described = describe(name)
    path = find(name)
    if path is None:
        raise FileNotFoundError(missing(name))
    content = path.read_bytes()
    if not is_published(content, described):
        raise ValueError(
            f"{path} is not the known set {name}: its SHA-256 sum differs. "
            f"Remove the file, and fetch it again with: weft data get {name}"
        )
    return read(content, described, str(path))


def describe(name: str) -> KnownSet:
    """The description of a set, without its file; an unknown name is refused with the known ones."""
    if name not in SETS:
        close = get_close_matches(str(name), list(SETS), 1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise ValueError(f"unknown data set {name!r}{hint}; there are {', '.join(SETS)}")
    return SETS[name]


def folders() -> list[Path]:
    """The folders that are searched for sets, in this order."""
    chosen = os.environ.get("WEFT_DATA")
    if not chosen:
        return [user_cache() / "data"]
    with suppress(NoHome):
        return [Path(chosen), user_cache() / "data"]
    return [Path(chosen)]


def find(name: str) -> Path | None:
    """The file of a set, or None."""
    for folder in folders():
        path = folder / f"{describe(name).name}.npz"
        if path.is_file():
            return path
    return None


def missing(name: str) -> str:
    """The message for a missing set: where it was searched, and what to do."""
    looked = " and in ".join(str(folder) for folder in folders())
    unset = "" if os.environ.get("WEFT_DATA") else " (WEFT_DATA is not set)"
    return (
        f"the data set {name} was not found: there is no {name}.npz in {looked}{unset}. "
        f"Set WEFT_DATA to the folder that holds it, or fetch it with: weft data get {name}"
    )


# --- from bytes to arrays, with everything checked ---


def read(content: bytes, described: KnownSet, place: str) -> Known:
    """The set in the bytes of an .npz file, checked against its description; `place` names it in errors."""
    parts = _Arrays(_arrays(content, place), place)
    n, d = described.rows, described.features
    X = _csr(parts, "data", "indices", "indptr", (n, d)) if described.sparse else parts.floats("X", (n, d))
    if described.sparse:
        parts.equal("shape", [n, d])
    topics = described.label == "topics"
    y = _topics(parts, n, described.tasks) if topics else _labels(parts, described)
    names = parts.texts("label_names" if topics else "task_names", described.tasks)
    task = None if topics else parts.integers("task", n, described.tasks)
    extra = {name: parts.extra(name, n if name in described.by_row else None)
             for name in (*described.by_row, *described.more)}  # fmt: skip
    return Known(
        described.name, X, y, task, names, _feature_names(parts, d), extra, described.by_row,
        described.origin, described.terms,
    )  # fmt: skip


def _arrays(content: bytes, place: str) -> dict[str, Array]:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (ValueError, OSError, EOFError, KeyError, AttributeError, zipfile.BadZipFile, NotImplementedError) as error:
        raise ValueError(f"{place} is not a file of plain arrays (.npz): {error}") from None


def _labels(parts: "_Arrays", described: KnownSet) -> Array:
    y = parts.floats("y", (described.rows,))
    if described.label == "binary":
        parts.require(bool(np.all(np.abs(y) == 1.0)), "y must hold -1 and +1 only")
    elif described.label == "class":
        valid = (y == np.floor(y)) & (y >= 0) & (y < described.tasks)
        parts.require(bool(np.all(valid)), f"y must hold classes 0 to {described.tasks - 1}")
    return y


def _topics(parts: "_Arrays", n: int, labels: int) -> Any:
    parts.arrays["label_data"] = np.ones(len(parts.take("label_indices")), np.int8)
    return _csr(parts, "label_data", "label_indices", "label_indptr", (n, labels))


def _csr(parts: "_Arrays", data: str, indices: str, indptr: str, shape: tuple[int, int]) -> Any:
    from scipy import sparse  # imported only when a set is read

    begins = parts.take(indptr, "iu")
    parts.require(begins.shape == (shape[0] + 1,), f"{indptr} must have {shape[0] + 1} entries")
    size = len(parts.take(indices))
    increasing = begins[0] == 0 and begins[-1] == size and bool(np.all(np.diff(begins.astype(np.int64)) >= 0))
    parts.require(bool(increasing), f"{indptr} must increase from 0 to the number of {indices}")
    columns = parts.integers(indices, size, shape[1])
    matrix = sparse.csr_array((parts.floats(data, (size,)), columns, begins.astype(np.int64)), shape=shape)
    entries = matrix.nnz
    matrix.sum_duplicates()
    parts.require(matrix.nnz == entries, f"{indices} must not contain a column twice in one row")
    return matrix


def _feature_names(parts: "_Arrays", d: int) -> list[str] | None:
    if "feature_names_utf8" in parts.arrays:
        packed = parts.take("feature_names_utf8", "u")
        try:
            names = packed.astype(np.uint8).tobytes().decode().split("\n")
        except UnicodeDecodeError:
            names = []
        parts.require(len(names) == d, f"feature_names_utf8 must hold {d} lines of UTF-8 text")
        return names
    return parts.texts("feature_names", d) if "feature_names" in parts.arrays else None


class _Arrays:
    """The arrays of a file; every method that returns one checks it and names what is wrong."""

    def __init__(self, arrays: dict[str, Array], place: str) -> None:
        self.arrays, self.place = arrays, place

    def require(self, good: bool, sentence: str) -> None:
        if not good:
            raise ValueError(f"{self.place} is damaged: {sentence}")

    def take(self, name: str, kinds: str = "biufU") -> Array:
        self.require(name in self.arrays, f"the array {name} is missing")
        array = self.arrays[name]
        self.require(array.dtype.kind in kinds, f"{name} has the type {array.dtype}")
        self.require(array.ndim > 0, f"{name} is a single value")
        return array

    def floats(self, name: str, shape: tuple[int, ...]) -> Array:
        array = self.take(name, "iuf")
        self.require(array.shape == shape, f"{name} has the shape {array.shape}, expected {shape}")
        values = array.astype(np.float64)
        self.require(bool(np.all(np.isfinite(values))), f"{name} holds a value that is not finite")
        return values

    def integers(self, name: str, length: int, below: int) -> Array:
        array = self.take(name, "iu")
        self.require(array.shape == (length,), f"{name} has the shape {array.shape}, expected {(length,)}")
        inside = length == 0 or (int(array.min()) >= 0 and int(array.max()) < below)
        self.require(inside, f"{name} must lie between 0 and {below - 1}")
        return array.astype(np.int64)

    def texts(self, name: str, length: int) -> list[str]:
        array = self.take(name, "U")
        self.require(array.shape == (length,), f"{name} has the shape {array.shape}, expected {(length,)}")
        names: list[str] = array.tolist()
        self.require(len(set(names)) == length, f"{name} holds a name twice")
        return names

    def extra(self, name: str, length: int | None) -> Array:
        array = self.take(name)
        self.require(length in (None, array.shape[0]), f"{name} has {array.shape[0]} entries, expected {length}")
        if array.dtype.kind == "f":
            self.require(not np.any(np.isinf(array)), f"{name} holds an infinite value")
        return array

    def equal(self, name: str, expected: list[int]) -> None:
        found = self.take(name, "iu").tolist()
        self.require(found == expected, f"{name} is {found}, expected {expected}")
