"""Vocabulary: the names of tasks and features that a model knows, and streams as batches of its slots.

Both kinds of names may be new at any time. Encoding proposes the new ones; they are added only when the whole batch
has been accepted, so that a refused batch changes nothing.
"""

from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.jit import compiled
from weft.encoding.missing_values import add_missing
from weft.labels import PLAIN, Classes
from weft.names import MOST_NAMES, MOST_NESTED, Addition, Name, Names, plain
from weft.schema import Schema
from weft.storage.batch import SMALLEST, Batch
from weft.storage.events import Coded
from weft.storage.lexicon import CodedRows, CodeSlots
from weft.storage.rows import Rows, sort_row, tidy
from weft.stream import Stream

_SHORT = 128
"""Entries of a row that is sorted by comparing all pairs."""


class Proposal(NamedTuple):
    """A batch, and the names that it would add."""

    batch: Batch
    tasks: Addition
    features: Addition
    classes: Classes = PLAIN
    """The model's classes when the batch is learned."""
    fields: Ints | None = None
    """The slots of the numeric fields that are known then; None if they are the same as before."""
    schema: Schema | None = None
    """The schema that a model without one takes over."""
    width: int | None = None
    """The width of a dense table."""


class Vocabulary:
    """Names of tasks and of features.

    `fields` are the slots of the numeric fields of records that are known, for learners that read missing values.
    """

    def __init__(self, tasks: Names | None = None, features: Names | None = None, fields: Ints | None = None) -> None:
        self.tasks = tasks or Names()
        self.features = features or Names()
        self.fields = np.zeros(0, np.int64) if fields is None else fields
        self.reads_missing = False
        self._task_codes, self._feature_codes = CodeSlots(self.tasks), CodeSlots(self.features)

    def propose(self, stream: Stream, labels: Floats) -> Proposal:
        """A batch in which new names have the slots after the known ones."""
        if stream.coded is not None:
            return self._propose_coded(stream, stream.coded, labels)
        events = stream._events
        task_slots, new_tasks = self.tasks.locate(events.names)
        feature_slots, new_features = self.features.locate(events.data.features)
        rows = events.data if feature_slots is None else _with_slots(events.data, feature_slots)
        task = events.codes if task_slots is None else task_slots[events.codes]
        return Proposal(_batch(stream, rows, labels, task), new_tasks, new_features)

    def _propose_coded(self, stream: Stream, coded: Coded, labels: Floats) -> Proposal:
        task, new_tasks = self._task_codes.locate(coded.tasks, coded.task_names)
        if isinstance(coded.rows, CodedRows):
            slots, new_features = self._feature_codes.locate(coded.rows.indices, coded.rows.names)
            rows, fields = self._with_missing(stream, coded.rows, slots, is_learned=True)
            return Proposal(_batch(stream, rows, labels, task), new_tasks, new_features, fields=fields)
        columns, new_features = self.features.locate(coded.rows.features)
        rows = coded.rows if columns is None else _with_slots(coded.rows, columns)
        return Proposal(_batch(stream, rows, labels, task), new_tasks, new_features)

    def _with_missing(self, stream: Stream, rows: CodedRows, slots: Ints, is_learned: bool) -> tuple[Rows, Ints | None]:
        """Rows over slots, with entries for missing values if the learner reads them; and the fields known then.

        Only what is learned makes fields known: rows that are scored do not depend on each other.
        """
        if not self.reads_missing or stream.schema is None:
            return _sorted_rows(rows.indptr, slots, rows.values), None
        is_field = np.zeros(max(1, len(rows.names)), bool)
        is_field[list(rows.names.fields)] = True
        is_number = is_field[rows.indices] & (slots >= 0 if is_learned else np.isin(slots, self.fields))
        indptr, slots, values, known = add_missing(rows.indptr, slots, rows.values, is_number, self.fields)
        return _sorted_rows(indptr, slots, values), known

    def locate_features(self, stream: Stream) -> tuple[Ints, Addition]:
        """The slot of every entry of a stream's rows, in any order, as `propose` would number new names; and these."""
        if stream.coded is not None and isinstance(stream.coded.rows, CodedRows):
            return self._feature_codes.locate(stream.coded.rows.indices, stream.coded.rows.names)
        rows = stream._events.data if stream.coded is None else stream.coded.rows
        assert isinstance(rows, Rows)  # of numbered features, or of a stream that was not read from a file
        slots, new = self.features.locate(rows.features)
        return (rows.indices if slots is None else slots[rows.indices]), new

    def accept(self, proposal: Proposal) -> None:
        """Add the names of a proposal: all of them, or none if memory ends."""
        tasks, features = self.tasks.size, self.features.size
        try:
            self.tasks.add(proposal.tasks)
            self.features.add(proposal.features)
        except BaseException:
            self.tasks.undo(proposal.tasks, tasks)
            self.features.undo(proposal.features, features)
            raise
        if proposal.fields is not None:
            self.fields = proposal.fields

    def read(self, stream: Stream, unknown: bool = False) -> Batch:
        """A batch for scoring: unknown tasks read the empty slot after the last.

        Unknown features are dropped; with `unknown` they have the slots that learning would give them.
        """
        if stream.coded is not None:
            task = self._task_codes.known(stream.coded.tasks, stream.coded.task_names)
        else:
            events = stream._events
            slots = self.tasks.known(events.names)
            task = events.codes if slots is None else slots[events.codes]
        task = np.where(task < 0, len(self.tasks), task)
        return _batch(stream, self._read_rows(stream, unknown), np.zeros(len(stream)), task)

    def strange_rows(self, stream: Stream) -> Array:
        """Which examples have features, but none that is known, as a mask; none if nothing is known yet."""
        if stream.coded is not None and isinstance(stream.coded.rows, CodedRows):
            indptr = stream.coded.rows.indptr
            known = self._feature_codes.known(stream.coded.rows.indices, stream.coded.rows.names) >= 0
        else:
            data = stream._events.data
            indptr, slots = data.indptr, self.features.known(data.features)
            known = np.ones(len(data.indices), bool) if slots is None else slots[data.indices] >= 0
        counts = np.concatenate([[0], np.cumsum(known)])
        is_strange = (np.diff(indptr) > 0) & (counts[indptr[1:]] == counts[indptr[:-1]])
        return np.asarray(is_strange[stream._row] & (len(self.features) > 0))

    def _read_rows(self, stream: Stream, unknown: bool) -> Rows:
        if stream.coded is not None and isinstance(stream.coded.rows, CodedRows):
            coded, codes = stream.coded.rows, self._feature_codes
            slots = codes.locate(coded.indices, coded.names)[0] if unknown else codes.known(coded.indices, coded.names)
            return self._with_missing(stream, coded, slots, is_learned=False)[0]
        data = stream._events.data
        if isinstance(data.features, int) and self.features.has_only_columns and not unknown:
            return _first_columns(data, self.features.columns)
        places = self.features.locate(data.features)[0] if unknown else self.features.known(data.features)
        return data if places is None else _with_slots(data, places)


def _batch(stream: Stream, rows: Rows, labels: Floats, task: Ints) -> Batch:
    weight = np.empty(0) if stream._weight is None else stream._weight
    arrays: list[Any] = [task, labels, stream._row, rows.indptr, rows.indices, rows.values, stream._bounds, weight]
    return Batch(*map(np.ascontiguousarray, arrays))


def _with_slots(rows: Rows, slots: Ints) -> Rows:
    """Rows over slots instead of columns, sorted again; slot -1 drops an entry."""
    indices = slots[rows.indices]
    keep = indices >= 0
    if np.all(keep):
        return tidy(Rows(rows.indptr.copy(), indices, rows.values.copy(), 0))
    kept = np.concatenate([[0], np.cumsum(keep)])
    return tidy(Rows(kept[rows.indptr].astype(np.int64), indices[keep], rows.values[keep], 0))


def _first_columns(rows: Rows, columns: int) -> Rows:
    """Rows without the entries of later columns, however many of those there may be."""
    keep = rows.indices < columns
    if np.all(keep):
        return rows
    kept = np.concatenate([[0], np.cumsum(keep)])
    return Rows(kept[rows.indptr].astype(np.int64), rows.indices[keep], rows.values[keep], columns)


def _sorted_rows(begins: Ints, slots: Ints, source: Floats) -> Rows:
    """Rows over slots (-1 drops an entry), sorted, without zeros; NaN, for a missing value, stays."""
    indptr, indices, values = np.empty_like(begins), np.empty_like(slots), np.empty_like(source)
    _place(begins, slots, source, indptr, indices, values)
    used = int(indptr[-1])
    return Rows(indptr, indices[:used], values[:used], 0)


@compiled
def _place(begins: Ints, slots: Ints, source: Floats, indptr: Ints, indices: Ints, values: Floats) -> None:
    """Keep the entries with a slot and a value, every row sorted.

    The place of an entry is the number of entries before it: comparing all pairs of a short row is a loop without
    branches, and several times faster than moving entries one by one.
    """
    kept = 0
    keys, numbers = np.empty(_SHORT, np.int64), np.empty(_SHORT)
    indptr[0] = 0
    for r in range(begins.shape[0] - 1):
        first, last, is_ordered = kept, -1, True
        for e in range(begins[r], begins[r + 1]):
            slot, value = slots[e], source[e]
            if slot >= 0 and not abs(value) < SMALLEST:
                indices[kept], values[kept] = slot, value
                kept += 1
                is_ordered = is_ordered and slot > last
                last = slot
        indptr[r + 1] = kept
        if is_ordered:
            continue
        count = kept - first
        if count > _SHORT:
            sort_row(indices[first:kept], values[first:kept])
            continue
        for i in range(count):
            keys[i], numbers[i] = indices[first + i], values[first + i]
        for i in range(count):
            rank = 0
            for j in range(count):
                rank += 1 if keys[j] < keys[i] else 0
            indices[first + rank], values[first + rank] = keys[i], numbers[i]


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
    if columns + len(data["names"]) > MOST_NAMES:
        raise ValueError(f"{columns} columns and {len(data['names'])} names are more than {MOST_NAMES}")
    names = Names([_name(value) for value in data["names"]], columns)
    if len(names.slots) != len(data["names"]) or any(type(n) is int and 0 <= n < columns for n in names.slots):
        raise ValueError("a name appears twice")
    return names


def _name(value: object) -> Name:
    return plain(_tuples(value), "the name")


def _tuples(value: object, depth: int = 0) -> object:
    """Lists as tuples; deeper than a name can be they stay lists, which are not names."""
    if isinstance(value, list) and depth <= MOST_NESTED:
        return tuple(_tuples(part, depth + 1) for part in value)
    return value
