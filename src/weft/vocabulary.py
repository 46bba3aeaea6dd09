"""Vocabulary: the names of tasks and features that a model knows, and streams as batches of its slots.

Both kinds of names may be new at any time. Encoding proposes the new ones; they are added only when the whole batch
has been accepted, so that a refused batch changes nothing.
"""

from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.names import MOST_NAMES, Addition, Name, Names
from weft.storage.batch import Batch
from weft.storage.rows import Rows, tidy
from weft.stream import Stream


class Proposal(NamedTuple):
    """A batch, and the names that it would add."""

    batch: Batch
    tasks: Addition
    features: Addition


class Vocabulary:
    """Names of tasks and of features."""

    def __init__(self, tasks: Names | None = None, features: Names | None = None) -> None:
        self.tasks = tasks or Names()
        self.features = features or Names()

    def propose(self, stream: Stream, labels: Floats) -> Proposal:
        """A batch in which new names have the slots after the known ones."""
        task_slots, new_tasks = self.tasks.locate(stream.task_names)
        feature_slots, new_features = self.features.locate(stream.data.features)
        rows = stream.data if feature_slots is None else _with_slots(stream.data, feature_slots)
        return Proposal(_batch(stream, rows, labels, task_slots), new_tasks, new_features)

    def accept(self, proposal: Proposal) -> None:
        """Add the names of a proposal."""
        self.tasks.add(proposal.tasks)
        self.features.add(proposal.features)

    def read(self, stream: Stream, unknown: bool = False) -> Batch:
        """A batch for scoring: unknown tasks read the empty slot after the last.

        Unknown features are dropped; with `unknown` they have the slots that learning would give them.
        """
        task_slots = self.tasks.known(stream.task_names)
        if task_slots is not None:
            task_slots = np.where(task_slots < 0, len(self.tasks), task_slots)
        names = stream.data.features
        feature_slots = self.features.locate(names)[0] if unknown else self.features.known(names)
        rows = stream.data if feature_slots is None else _with_slots(stream.data, feature_slots)
        return _batch(stream, rows, np.zeros(len(stream)), task_slots)


def _batch(stream: Stream, rows: Rows, labels: Floats, task_slots: Ints | None) -> Batch:
    task = stream.task_codes if task_slots is None else task_slots[stream.task_codes]
    arrays: list[Any] = [task, labels, stream.row, rows.indptr, rows.indices, rows.values, stream.rounds]
    return Batch(*map(np.ascontiguousarray, arrays))


def _with_slots(rows: Rows, slots: Ints) -> Rows:
    """Rows over slots instead of columns, sorted again; slot -1 drops an entry."""
    indices = slots[rows.indices]
    keep = indices >= 0
    if np.all(keep):
        return tidy(Rows(rows.indptr.copy(), indices, rows.values.copy(), 0))
    kept = np.concatenate([[0], np.cumsum(keep)])
    return tidy(Rows(kept[rows.indptr].astype(np.int64), indices[keep], rows.values[keep], 0))


def names_as_json(names: Names) -> dict[str, object]:
    """For a file: strings, integers, and lists for tuples."""
    return {"columns": names.columns, "names": [names[slot] for slot in range(names.columns, len(names))]}


def names_from_json(data: object) -> Names:
    """The names in a file; ValueError if they are not names."""
    if not isinstance(data, dict) or not isinstance(data.get("names"), list):
        raise ValueError("a list of names is missing")
    columns = data.get("columns")
    if not isinstance(columns, int) or isinstance(columns, bool) or not 0 <= columns <= MOST_NAMES:
        raise ValueError(f"the number of columns is not an integer from 0 to {MOST_NAMES}")
    names = Names([_name(value) for value in data["names"]], columns)
    if len(names.slots) != len(data["names"]) or any(type(n) is int and 0 <= n < columns for n in names.slots):
        raise ValueError("a name appears twice")
    return names


def _name(value: object) -> Name:
    if isinstance(value, list) and value:
        return tuple(_name(part) for part in value)
    if isinstance(value, str | int) and not isinstance(value, bool):
        return value
    raise ValueError(f"{value!r} is not a name")
