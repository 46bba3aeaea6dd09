"""Labels of any hashable kind, numbered in order of appearance."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from weft.compiled.arrays import ArrayLike
from weft.storage.rows import is_sparse


def as_list(y: Any, what: str) -> list[Any]:
    """One entry per event, as plain Python."""
    if isinstance(y, str | bytes | set | frozenset) or ((isinstance(y, ArrayLike) or is_sparse(y)) and np.ndim(y) != 1):
        raise ValueError(f"{what} is {type(y).__name__}; give a list or a one-dimensional array, one entry per event")
    try:
        values = y.tolist() if isinstance(y, np.ndarray) else list(y)
    except TypeError:
        raise ValueError(f"{what} is {y!r}; give one entry per event") from None
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def check_label(label: Any, where: str) -> Hashable:
    """Refuse what cannot be a label: unhashable things, None (it means "no prediction") and NaN."""
    try:
        hash(label)
    except TypeError:
        raise ValueError(f"{where}: label {label!r} is not hashable; use a string, a number, a tuple ...") from None
    if label is None or label != label:
        raise ValueError(f"{where}: the label is missing ({label!r}); give a label, or leave the event out")
    found: Hashable = label
    return found


def declared(labels: Iterable[Any] | None) -> dict[Hashable, int]:
    """Declared labels and their numbers."""
    if labels is None:
        return {}
    found: dict[Hashable, int] = {}
    for label in as_list(labels, "labels"):
        check_label(label, "labels")
        if label in found:
            raise ValueError(f"labels names {label!r} twice")
        found[label] = len(found)
    if not found:
        raise ValueError("labels is empty; name at least one, or leave it out")
    return found


def refuse_unknown(label: Any, row: int, known: dict[Hashable, int]) -> None:
    """The error for a label that was not declared."""
    some = ", ".join(map(repr, list(known)[:8])) + (", ..." if len(known) > 8 else "")
    raise ValueError(f"row {row}: label {label!r} was not declared; the labels are {some}")


def same_count(found: int, expected: int, what: str) -> None:
    """As many entries as rows."""
    if found != expected:
        raise ValueError(f"{what} has {found} entries, X has {expected} rows; give one per row")
