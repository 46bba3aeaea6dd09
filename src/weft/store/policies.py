"""Policies of tasks in a model file: two flags, a private model as the bytes of its own file, and its counts."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats
from weft.names import Name, plain
from weft.storage.saving import Blocks
from weft.store.codec import in_one
from weft.tally.counts import COLUMNS
from weft.tally.recent import COLUMNS as RECENT_COLUMNS
from weft.vocabulary import names_from_json

MIXING = 9
"""Numbers of `mixing.Mixing`."""
_WORD = 8


class Saved(NamedTuple):
    """What a file holds of a task that has a policy."""

    task: Name
    gives: bool
    receives: bool
    model: bytes
    mixing: Floats
    tally: Floats
    recent: Floats


def as_json(policies: Sequence[Saved]) -> list[dict[str, Any]]:
    """For the header of a file."""
    return [
        {"task": found.task, "gives": found.gives, "receives": found.receives, "bytes": len(found.model)}
        for found in policies
    ]


def as_arrays(policies: Sequence[Saved]) -> dict[str, Blocks]:
    """For the arrays of a file: private models one after the other, each filled up to words of eight bytes."""
    parts = [found.model + bytes(-len(found.model) % _WORD) for found in policies]
    return {
        "policies.models": in_one(np.frombuffer(b"".join(parts), "<i8")),
        "policies.mixing": in_one(np.array([found.mixing for found in policies])),
        "policies.tally": in_one(np.array([found.tally for found in policies])),
        "policies.recent": in_one(np.array([found.recent for found in policies])),
    }


def from_file(listed: Any, arrays: dict[str, Array]) -> tuple[Saved, ...]:
    """What `as_json` and `as_arrays` made, taken out of the arrays; ValueError if it cannot be that."""
    found = {name: arrays.pop(name) for name in list(arrays) if name.startswith("policies.")}
    if listed is None and not found:
        return ()
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise ValueError("they are not a list of tasks and flags")
    names = names_from_json({"columns": 0, "names": [one.get("task") for one in listed]})
    shapes = {"mixing": MIXING, "tally": len(COLUMNS), "recent": len(RECENT_COLUMNS)}
    for name, width in shapes.items():
        array = found.get(f"policies.{name}")
        if array is None or array.dtype != np.float64 or array.shape != (len(names), width):
            raise ValueError(f"their {name} does not fit them")
    mixing = found["policies.mixing"]
    counts = mixing[:, 0]
    is_fine = np.all(found["policies.recent"] >= 0.0) and np.all(np.isfinite(mixing))
    if not is_fine or np.any(counts < 0.0) or np.any(counts != np.floor(counts)):
        raise ValueError("their mixtures or their sums over recent events are not such numbers")
    models = found.get("policies.models", np.zeros(0))
    if models.dtype != np.int64 or models.ndim != 1:
        raise ValueError("their models are not bytes")
    text, at, made = models.tobytes(), 0, []
    for row, one in enumerate(listed):
        size, flags = one.get("bytes"), (one.get("gives"), one.get("receives"))
        if type(size) is not int or not 0 < size <= len(text) - at or not all(type(flag) is bool for flag in flags):
            raise ValueError(f"the flags or the private model of {names[row]!r} are missing")
        tables = (found[f"policies.{name}"][row].copy() for name in shapes)
        made.append(Saved(plain(names[row], "task"), *flags, text[at : at + size], *tables))
        at += -(-size // _WORD) * _WORD
    if at != len(text):
        raise ValueError("their models are longer than they say")
    return tuple(made)
