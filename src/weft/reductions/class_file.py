"""The file of one model per class: the bytes of every model's own file, side by side as arrays."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats
from weft.labels import Label, expect_label
from weft.reductions.class_scores import all_differ
from weft.store.codec import MAGIC, Write, header_of, in_one, parse, write_arrays
from weft.store.digests import FileError

KIND = "classes"
FORMAT = 1


class ClassParts(NamedTuple):
    """What a file holds: the classes, the bytes of a model that has learned nothing and of one per class, and the
    tally."""

    classes: list[Label]
    models: list[bytes]
    tasks: Any
    tally: Floats
    recent: Floats
    """Decayed sums over recent events."""


def is_of_classes(data: Any) -> bool:
    """Do the bytes of a file say that it holds a model per class?"""
    return bytes(data[: len(MAGIC)]) == MAGIC and _is_of_classes(header_of(data))


def _is_of_classes(header: Mapping[str, Any]) -> bool:
    facts = header.get("reduction")
    return isinstance(facts, dict) and facts.get("kind") == KIND


def write_classes(parts: ClassParts, write: Write, facts: Mapping[str, Any]) -> str:
    """Hand the bytes of a file on, block by block; `facts` are added to its header. Returns its digest."""
    header = {
        "format": FORMAT,
        "reduction": {
            "kind": KIND,
            "classes": parts.classes,
            "sizes": [len(data) for data in parts.models],
            "tasks": parts.tasks,
        },
    }
    arrays = {f"model.{at}": in_one(_padded(data)) for at, data in enumerate(parts.models)}
    arrays["tally"] = in_one(parts.tally)
    arrays["recent"] = in_one(parts.recent)
    return write_arrays({**header, **facts}, arrays, write).hex()


def read_classes(data: Any) -> ClassParts:
    """What `write_classes` wrote; FileError, KeyError or the like if it cannot be read."""
    header, arrays = parse(data)
    facts = header.get("reduction")
    if header.get("format") != FORMAT or not _is_of_classes(header) or not isinstance(facts, dict):
        raise FileError("the file does not hold a model per class")
    sizes, given = facts.get("sizes"), facts.get("classes")
    if not isinstance(sizes, list) or not isinstance(given, list) or len(sizes) != len(given) + 1:
        raise FileError("the file's classes do not fit its models")
    classes = [expect_label(label) for label in given]
    if not all_differ(classes):
        raise FileError("the file has a class twice")
    if set(arrays) != {"tally", "recent", *(f"model.{at}" for at in range(len(sizes)))}:
        raise FileError("the file does not hold a model for every class, a tally, recent sums, and nothing else")
    models = [_unpadded(arrays[f"model.{at}"], size) for at, size in enumerate(sizes)]
    return ClassParts(classes, models, facts.get("tasks"), arrays["tally"], arrays["recent"])


def _padded(data: bytes) -> Array:
    """Bytes as an array that a file takes."""
    return np.frombuffer(data + bytes(-len(data) % 8), "<i8")


def _unpadded(array: Array, size: int) -> bytes:
    data = array.tobytes()
    if type(size) is not int or not 0 <= len(data) - size < 8:
        raise FileError("a model in the file has another size than it says")
    return data[:size]
