"""Raw files of public data sets as weft's `NAME.npz`: what `weft data get` and `weft data convert` do.

Every conversion gives the arrays of the published set, to the last bit, or is refused: files are of the sizes that
`known_sets` states, and `digest` tells whether the content is the same. The bytes of the file itself may differ, for
they depend on the version of zlib.
"""

import hashlib
import io
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weft.streams.known_sets import KnownSet

Arrays = dict[str, Any]

DIGESTS = {
    "landmine": "6cd5c2ee3d7f6edf05254293616d24934a1a03f5e696208a46546b5dfd4fc014",
    "pkdd06a": "a6910758ada4ab5d3c24f9a146f956aee3e807b0765b6baa13b61e55b7e20ce3",
    "pkdd06b": "e2892bb1785c09f7905a5720190df00f86dbffc049dec0d15813dfc0747ad4ab",
    "school": "e0d7dc98ee65903870075d70baf07599fc1d32ff7057d6db797e8e284335c182",
}
"""SHA-256 of the content of the sets that can be made here."""

_LANDMINE = ("moment1", "moment2", "moment3", "moment4", "corr1", "corr2", "corr3", "energy_ratio", "spatial_variance")
_SCHOOL = (
    "year1985", "year1986", "year1987", "pct_free_meals", "pct_vr1_band", "male", "female", "vr_band3", "vr_band1",
    "vr_band2", "eth_eswi", "eth_african", "eth_arab", "eth_bangladeshi", "eth_caribbean", "eth_greek", "eth_indian",
    "eth_pakistani", "eth_se_asian", "eth_turkish", "eth_other", "school_mixed", "school_male", "school_female",
    "school_maintained", "school_cofe", "school_rc", "bias",
)  # fmt: skip


def digest(arrays: Arrays) -> str:
    """SHA-256 over names, types, shapes and bytes of arrays, whatever their order.

    >>> digest({"a": np.arange(3), "b": np.zeros(2)}) == digest({"b": np.zeros(2), "a": np.arange(3)})
    True
    """
    total = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def is_published(content: bytes, described: KnownSet) -> bool:
    """Is this the published file, or one of another zlib with the same arrays?"""
    if hashlib.sha256(content).hexdigest() == described.sha256:
        return True
    if described.name not in DIGESTS:
        return False
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return digest({name: file[name] for name in file.files}) == DIGESTS[described.name]
    except (ValueError, OSError, EOFError, KeyError, AttributeError, zipfile.BadZipFile, NotImplementedError):
        return False


def converted(described: KnownSet, files: Sequence[Path]) -> bytes:
    """The set as the bytes of an .npz file; ValueError if the raw files do not make it."""
    if described.name not in CONVERSIONS:
        raise ValueError(f"there is no conversion for {described.name}; there are {', '.join(sorted(CONVERSIONS))}")
    arrays = CONVERSIONS[described.name](described, files)
    if digest(arrays) != DIGESTS[described.name]:
        raise ValueError(
            f"{', '.join(str(file) for file in files)}: these files do not make the published set {described.name}, so "
            "that figures would not compare; they are of another version, or in another order"
        )
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


# --- a cell per task, of MATLAB ---


def _cells(path: Path, *names: str) -> list[list[Any]]:
    """Cell arrays of a MATLAB file, as lists of matrices."""
    from scipy.io import loadmat

    try:
        found = loadmat(path, variable_names=names)
        return [[np.asarray(cell, np.float64) for cell in found[name].ravel()] for name in names]
    except KeyError as error:
        raise ValueError(f"{path} has no variable {error}; is it the right file?") from None
    except Exception as error:  # of a damaged file a reader may raise anything
        raise ValueError(f"{path} cannot be read as a MATLAB file: {error}") from None


def _stacked(path: Path, rows: list[Any], labels: list[Any]) -> tuple[Any, Any, Any]:
    """Rows, labels and the task of every row, task by task."""
    if len(rows) != len(labels) or any(len(x) != y.size for x, y in zip(rows, labels, strict=True)):
        raise ValueError(f"{path} has not as many labels as rows; is it the right file?")
    task = np.repeat(np.arange(len(rows)), [len(x) for x in rows]).astype(np.int32)
    return np.concatenate(rows), np.concatenate([y.ravel() for y in labels]), task


def _school(described: KnownSet, files: Sequence[Path]) -> Arrays:
    [path] = _expect(files, 1, described)
    rows, labels = _cells(path, "X", "Y")
    X, y, task = _stacked(path, rows, labels)
    names = np.array([f"school{number + 1:03}" for number in range(len(rows))])
    return {
        "X": X.astype(np.float32), "y": y.astype(np.float32), "task": task, "task_names": names,
        "feature_names": np.array(_SCHOOL),
    }  # fmt: skip


def _landmine(described: KnownSet, files: Sequence[Path]) -> Arrays:
    """Fields 1 to 15 are foliated, the others bare; the 19 of the paper are ten of those and nine of these."""
    [path] = _expect(files, 1, described)
    rows, labels = _cells(path, "feature", "label")
    X, y, task = _stacked(path, rows, labels)
    fields = np.arange(len(rows))
    return {
        "X": X, "y": np.where(y > 0, 1, -1).astype(np.int8), "task": task,
        "task_names": np.array([f"field{field + 1:02}" for field in fields]),
        "task_group": (fields >= 15).astype(np.int8), "tasks19": np.r_[0:10, 15:24].astype(np.int32),
        "feature_names": np.array(_LANDMINE),
    }  # fmt: skip


# --- a file per user: label index:count ... ---


def _pkdd06(described: KnownSet, files: Sequence[Path]) -> Arrays:
    """Indices in the files begin at 1. Spam is +1."""
    data: list[int] = []
    indices: list[int] = []
    indptr, y, task = [0], list[int](), list[int]()
    for user, path in enumerate(_expect(files, described.tasks, described)):
        for number, line in enumerate(path.read_text(encoding="ascii", errors="replace").splitlines(), 1):
            if not line.strip():
                continue
            try:
                label, *pairs = line.split()
                counts = [(int(index) - 1, int(count)) for index, _, count in (pair.partition(":") for pair in pairs)]
                y.append({"1": 1, "+1": 1, "-1": -1}[label])
            except (ValueError, KeyError):
                raise ValueError(f"{path}, line {number}: not a line of label index:count ...") from None
            indices += [index for index, _ in counts]
            data += [count for _, count in counts]
            indptr.append(len(indices))
            task.append(user)
    if data and (min(data) < 1 or max(data) >= 1 << 15 or min(indices) < 0 or max(indices) >= described.features):
        raise ValueError(f"{files[0]}: counts and indices are out of range; is it the right file?")
    return {
        "data": np.array(data, np.int16), "indices": np.array(indices, np.int32), "indptr": np.array(indptr, np.int64),
        "shape": np.array([len(y), described.features], np.int64), "y": np.array(y, np.int8),
        "task": np.array(task, np.int32), "task_names": np.array([f"u{user:02}" for user in range(described.tasks)]),
    }  # fmt: skip


def _expect(files: Sequence[Path], count: int, described: KnownSet) -> Sequence[Path]:
    if len(files) != count:
        raise ValueError(f"{described.name} is made from {count} files, not {len(files)}; see weft data list --json")
    return files


CONVERSIONS: dict[str, Callable[[KnownSet, Sequence[Path]], Arrays]] = {
    "landmine": _landmine,
    "pkdd06a": _pkdd06,
    "pkdd06b": _pkdd06,
    "school": _school,
}
"""Every set that can be made from its raw files."""
