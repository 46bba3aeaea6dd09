"""What compiled readers of records with a schema fill and look at, and the values that all formats share."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled.jit import helper_no_alloc, inlined_only
from weft.scan.columns import ENTRIES, EVENTS, LONGEST_NAME, Columns
from weft.scan.interning import LINE, Table, intern, remove_added
from weft.scan.text import HANDED, NO_ROOM, add_words, count_name, new_rows, split_words
from weft.scan.words import U1

SKIP, TASK, LABEL, WEIGHT, ROUND, ID, TEXT, CATEGORY, NUMERIC, ANY, CAREFUL = range(11)
"""Uses of a field: not at all; as its role says; as its value says (ANY); by the careful reader only."""
USE, CODE, MARK, PART = range(4)
"""Columns of `Meaning.uses`: the use, the code of the feature if it is a number, the mark of the names of its words or
categories, and which part of the task it is."""
NO_MARK = 0
"""In place of a mark, of which there are not many, for a field that had no category yet; -1 if there are no more."""
NEW_FIELD = -4
"""What came of a line: it has a field that is not known yet, or that needs a mark."""
IDS, KEY_AT, KEY_LENGTH = range(3)
"""Entries of `Further.counts`: bytes of the ids; where the field is written that was looked at last."""

_U = np.uint64
_QUOTE = 34
_PART_ROOM = LONGEST_NAME + 24


class Further(NamedTuple):
    """Columns of events that only records have, and room to work in.

    weight   per event; classes: the code of a label that is not a number, else -1
    ids      what identifies the events, as a list in JSON without its brackets
    parts    the parts of the task's name, and their lengths
    scratch, starts  names that are being put together, and words of a text
    """

    weight: NDArray[np.float64]
    classes: NDArray[np.int64]
    ids: NDArray[np.uint8]
    parts: NDArray[np.uint8]
    lengths: NDArray[np.int64]
    scratch: NDArray[np.uint8]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]


def new_further(size: int, parts: int) -> Further:
    """Room for what a text of so many bytes holds; a word takes at least two of them, and its mark two more."""
    ints: Any = np.int64
    return Further(
        np.empty(size // 2 + 2),
        np.empty(size // 2 + 2, ints),
        np.empty(size + 64, np.uint8),
        np.zeros(max(1, parts) * _PART_ROOM, np.uint8),
        np.zeros(max(1, parts), ints),
        np.empty(2 * size + 64, np.uint8),
        np.empty(size // 2 + 66, ints),
        np.zeros(3, ints),
    )


class Tables(NamedTuple):
    """The names of tasks, features, labels that are not numbers, and fields."""

    tasks: Table
    features: Table
    labels: Table
    fields: Table


class Meaning(NamedTuple):
    """What every field is used for, a row per field; and the table of letters, empty as long as none was needed."""

    uses: NDArray[np.int64]
    letters: NDArray[np.uint32]


class Form(NamedTuple):
    """What all records have in common.

    parts   of a task's name
    ngrams  the longest runs of words that count
    rounds, ids  do records name them?
    open    may fields still be added?
    largest, heaviest  the largest value and weight
    """

    parts: int
    ngrams: int
    rounds: bool
    ids: bool
    open: bool
    largest: float
    heaviest: float


@inlined_only
def interned(text: Any, at: Any, length: Any, table: Table) -> Any:
    """The code of a name; HANDED if it is too long, NO_ROOM if there is none for it."""
    if length > _U(LONGEST_NAME):
        return np.int64(HANDED)
    cells, pool, offsets, added, _, counts = table
    code = intern(text, at, length, cells, pool, offsets, added, counts)
    return code if code >= 0 else np.int64(NO_ROOM)


@inlined_only
def put_mark(scratch: Any, mark: Any) -> None:
    """The mark of a field at the beginning of a name."""
    scratch[0], scratch[1] = mark & 255, mark >> 8


@inlined_only
def digits_from(scratch: Any, at: Any, end: Any) -> Any:
    """How many digits there are from a place on, at most 5."""
    count = _U(0)
    while count < _U(5) and at + count < end and _U(scratch[at + count]) - _U(48) <= _U(9):
        count += U1
    return count


@inlined_only
def may_be_date(scratch: Any, begin: Any, end: Any) -> Any:
    """Three numbers with the same mark between, a hyphen, a point or a bar, of which the first or last has 4 digits."""
    first = digits_from(scratch, begin, end)
    if first == _U(0) or end - begin < _U(8):
        return False
    mark, at = scratch[begin + first], begin + first + U1
    middle = digits_from(scratch, at, end)
    if (
        mark < 45
        or mark > 47
        or middle == _U(0)
        or middle > _U(2)
        or at + middle >= end
        or scratch[at + middle] != mark
    ):
        return False
    last = digits_from(scratch, at + middle + U1, end)
    return (first == _U(4) and last > _U(0)) or (first <= _U(2) and last == _U(4))


@helper_no_alloc
def add_category(further: Further, end: Any, place: Any, columns: Columns, features: Table) -> Any:
    """Count the name scratch[:end] in the row of the event: its new end, HANDED or NO_ROOM."""
    code = interned(further.scratch, _U(0), end, features)
    if code < 0:
        return code
    first, offset = columns.progress[ENTRIES], features.counts[LINE]
    return count_name(code, place, first, columns.indices, columns.values, features.seen, offset)


@helper_no_alloc
def add_text(
    text: Any, at: Any, end: Any, mark: Any, place: Any, columns: Columns, further: Further, context: Any
) -> tuple[Any, Any]:
    """Count the words of a text in the row of the event: where the text ends, and the row's new end, or why not.

    context  the table of letters, the table of features, and the longest runs of words that count
    """
    letters, features, ngrams = context
    at, count, status = split_words(text, at, end, mark, further.scratch, further.starts, letters)
    if status < 0:
        return at, np.int64(status)
    row = columns.progress[ENTRIES], place
    return at, add_words(further.scratch, further.starts, count, ngrams, columns.indices, columns.values, row, features)


@helper_no_alloc
def keep_part(further: Further, part: Any, source: Any, begin: Any, end: Any) -> bool:
    """Keep a part of the task's name until the line has ended; False if it is too long."""
    if end - begin > _U(LONGEST_NAME):
        return False
    base = _U(part * _PART_ROOM)
    for i in range(np.int64(end - begin)):
        further.parts[base + _U(i)] = source[begin + _U(i)]
    further.lengths[part] = np.int64(end - begin)
    return True


@helper_no_alloc
def task_code(further: Further, parts: int, tasks: Table) -> Any:
    """The code of the task whose parts are kept; HANDED if one is missing, NO_ROOM."""
    place = _U(0)
    for part in range(parts):
        if further.lengths[part] == 0:
            return np.int64(HANDED)
        if part > 0:
            further.scratch[place] = 1
            place += U1
        base = _U(part * _PART_ROOM)
        for i in range(further.lengths[part]):
            further.scratch[place] = further.parts[base + _U(i)]
            place += U1
    return interned(further.scratch, _U(0), place, tasks)


@inlined_only
def keep_id(text: Any, begin: Any, end: Any, further: Further) -> None:
    """One more id, and a comma."""
    place = further.counts[IDS]
    for i in range(np.int64(end - begin)):
        further.ids[place + i] = text[begin + _U(i)]
    place += np.int64(end - begin)
    further.ids[place] = 44
    further.counts[IDS] = place + 1


@inlined_only
def begin_event(columns: Columns, further: Further) -> None:
    """Nothing is known of the next event."""
    n = columns.progress[EVENTS]
    columns.label[n], further.weight[n], further.classes[n] = np.nan, 1.0, np.int64(-1)
    further.lengths[:] = 0


@helper_no_alloc
def undo(tables: Tables, indices: Any) -> None:
    """Remove the names that a line has added, and forget which ones it had."""
    tasks, features, labels, fields = tables
    remove_added(tasks.cells, tasks.pool, tasks.offsets, tasks.added, tasks.counts)
    remove_added(features.cells, features.pool, features.offsets, features.added, features.counts)
    remove_added(labels.cells, labels.pool, labels.offsets, labels.added, labels.counts)
    remove_added(fields.cells, fields.pool, fields.offsets, fields.added, fields.counts)
    new_rows(features, indices)
