"""Reductions as files: the file of the underlying model, with what the reduction adds in its header.

`weft.load` reads such a file too, as the plain model of numbered tasks. Labels are stored as names are:
strings, integers, tuples of those.
"""

import os
from collections.abc import Mapping
from typing import Any

from weft.model import Model
from weft.names import Name, plain
from weft.store.codec import header_of
from weft.store.digests import FileError
from weft.store.files import Output
from weft.store.reading import read_file
from weft.vocabulary import names_from_json


def save(path: str | os.PathLike[str], model: Model, kind: str, facts: Mapping[str, Any]) -> None:
    """Write the model and the facts; a crash leaves the old file or the new one."""
    with Output(path) as output:
        model.write_to(output.write, {"reduction": {"kind": kind, **facts}})


def load(path: str | os.PathLike[str], kind: str) -> tuple[Model, dict[str, Any]]:
    """The model and the facts that `save` wrote; FileError if they are not there."""
    data = read_file(path)
    try:
        model, facts = Model.from_bytes(data), header_of(data).get("reduction")
        if not isinstance(facts, dict) or facts.get("kind") != kind:
            raise FileError(f"the file holds no {kind}")
        return model, facts
    except FileError as error:
        raise FileError(f"{os.fspath(path)}: {error}") from None


def storable(labels: list[Any]) -> list[Name]:
    """Labels as a file takes them."""
    return [plain(label, "cannot save the label") for label in labels]


def stored_labels(facts: Mapping[str, Any]) -> dict[Any, int]:
    """The labels of a file and their numbers."""
    try:
        return dict(names_from_json({"columns": 0, "names": facts.get("labels")}).slots)
    except ValueError as error:
        raise FileError(f"the file's labels cannot be used: {error}") from None


def stored_number(facts: Mapping[str, Any], what: str, kind: type[int] | type[float]) -> Any:
    """A fact of the expected type, not below 0."""
    value = facts.get(what)
    if not isinstance(value, kind) or isinstance(value, bool) or not value >= 0:
        raise FileError(f"the file's {what} is {value!r}, which cannot be")
    return value
