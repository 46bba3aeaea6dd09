"""JSON lines: `{"task": name, "x": {"name": number, ...} or [number, ...], "y": number or null, "round": name}`.

Fields may be in any order. Strings with escapes, and names that are not ASCII when they first appear, are handed on.
"""

from typing import Any

import numpy as np

from weft.compiled.jit import compiled, helper_no_alloc, inlined_only
from weft.scan.columns import AT, ENTRIES, EVENTS, LINES, LONGEST_NAME, Columns, hand_on, is_line_end
from weft.scan.interning import ADDED, LINE, NAMES, Table, intern, is_plain, remove_added
from weft.scan.numbers import READ, read_number
from weft.scan.words import U1, find_byte, load, skip_blanks

FORM_NAMED, FORM_FULL = -1, -1
"""A form of rows that is not a list of so many numbers; a result that says that a table has no room."""

_U = np.uint64
_QUOTE, _COLON, _COMMA, _CLOSED, _OPEN, _LIST, _LIST_END = 34, 58, 44, 125, 123, 91, 93
_X, _Y, _NULL = _U(0x227822), _U(0x227922), _U(0x6C6C756E)  # "x", "y", null
_TASK, _ROUND = _U(0x226B73617422), _U(0x22646E756F7222)  # "task", "round"
_HAS_TASK, _HAS_X, _HAS_Y, _HAS_ROUND = 1, 2, 4, 8


@inlined_only
def after_colon(text: Any, at: Any) -> tuple[Any, bool]:
    """Where the value of a key begins, and whether there is a colon before it."""
    at = skip_blanks(text, at)
    return skip_blanks(text, at + U1), text[at] == _COLON


@inlined_only
def next_item(text: Any, at: Any, closing: Any) -> tuple[Any, bool, bool]:
    """After an item: where to go on, whether there is another one, and whether that is well-formed."""
    at = skip_blanks(text, at)
    more = text[at] == _COMMA
    fine = more or text[at] == closing
    return skip_blanks(text, at + U1) if more else at + U1, more, fine


@inlined_only
def name_end(text: Any, at: Any) -> tuple[Any, bool]:
    """Where a string or an integer ends that begins at `at`, and whether it may be one; its bytes are not looked at."""
    if text[at] == _QUOTE:
        return find_byte(text, at + U1, _QUOTE) + U1, True
    begin = at
    if text[at] == 45:
        at += U1
    first = at
    while _U(text[at]) - _U(48) <= _U(9):
        at += U1
    zero = text[first] == 48 and (at - first > U1 or first > begin)  # 007 is not JSON, and -0 is 0
    return at, at > first and not zero and text[at] != 46 and text[at] | 32 != 101


@inlined_only
def _named_row(
    text: Any, at: Any, indices: Any, values: Any, place: Any, features: Table, largest: float
) -> tuple[Any, Any, bool]:
    """Read `"name": number, ...}`: where it ends, where the row ends (FORM_FULL: no room), whether it can be used."""
    cells, pool, offsets, added, seen, counts = features
    if text[at] == _CLOSED:
        return at + U1, place, True
    more = True
    while more:
        begin, before = at + U1, counts[NAMES]
        if text[at] != _QUOTE:
            return at, place, False
        at = find_byte(text, begin, _QUOTE)
        if at - begin > _U(LONGEST_NAME):
            return at, place, False
        code = intern(text, begin, at - begin, cells, pool, offsets, added, counts)
        if code < 0:
            return at, np.int64(FORM_FULL), False
        if counts[NAMES] != before:
            if not is_plain(text, begin, at, 92):
                return at, place, False
        elif seen[_U(code)] == counts[LINE]:
            return at, place, False
        seen[_U(code)] = counts[LINE]
        at, has_colon = after_colon(text, at + U1)
        if not has_colon:
            return at, place, False
        at, value, status = read_number(text, at, True)
        if status != READ or not abs(value) <= largest:
            return at, place, False
        indices[place], values[place] = code, value
        place += 1
        at, more, is_fine = next_item(text, at, _CLOSED)
        if not is_fine:
            return at, place, False
    return at, place, True


@inlined_only
def _listed_row(
    text: Any, at: Any, indices: Any, values: Any, place: Any, bounds: tuple[float, float]
) -> tuple[Any, Any, Any, bool]:
    """Read `number, ...]`: where it ends, where the row ends without zeros, its width, whether it can be used."""
    width = np.int64(0)
    if text[at] == _LIST_END:
        return at + U1, place, width, True
    more = True
    while more:
        at, value, status = read_number(text, at, True)
        if status != READ or not abs(value) <= bounds[0]:
            return at, place, width, False
        indices[place], values[place] = width, value
        place += abs(value) >= bounds[1]
        width += 1
        at, more, is_fine = next_item(text, at, _LIST_END)
        if not is_fine:
            return at, place, width, False
    return at, place, width, True


@inlined_only
def _label(text: Any, at: Any) -> tuple[Any, float, bool]:
    """A number, or null for a label that is missing."""
    if load(text, at) & _U(0xFFFFFFFF) == _NULL:
        return at + _U(4), np.nan, True
    at, y, status = read_number(text, at, True)
    return at, y, status == READ


@inlined_only
def _key(text: Any, at: Any) -> tuple[Any, int]:
    """The field whose key begins at `at`: where its value begins, and which one it is; 0 for none."""
    word = load(text, at)
    if word & _U(0xFFFFFF) == _X:
        field, length = _HAS_X, _U(3)
    elif word & _U(0xFFFFFF) == _Y:
        field, length = _HAS_Y, _U(3)
    elif word & _U(0xFFFFFFFFFFFF) == _TASK:
        field, length = _HAS_TASK, _U(6)
    elif word & _U(0xFFFFFFFFFFFFFF) == _ROUND:
        field, length = _HAS_ROUND, _U(7)
    else:
        return at, 0
    at, has_colon = after_colon(text, at + length)
    return at, field if has_colon else 0


@inlined_only
def _task(text: Any, at: Any, tasks: Table) -> tuple[Any, Any]:
    """The task that begins at `at`: where it ends, and its code; -1: hand on, -2: no room."""
    cells, pool, offsets, added, _, counts = tasks
    begin, before = at, counts[NAMES]
    at, fine = name_end(text, at)
    if not fine or at - begin > _U(LONGEST_NAME):
        return at, np.int64(-1)
    code = intern(text, begin, at - begin, cells, pool, offsets, added, counts)
    if code < 0:
        return at, np.int64(-2)
    return at, np.int64(-1) if counts[NAMES] != before and not is_plain(text, begin, at, 92) else code


@inlined_only
def _row(
    text: Any, at: Any, columns: Columns, features: Table, length: int, bounds: tuple[float, float]
) -> tuple[Any, Any, bool]:
    """The row that begins at `at`: where it ends, where its entries end (-1: no room), whether it can be used."""
    place = columns.progress[ENTRIES]
    begin = skip_blanks(text, at + U1)
    if length < 0 and text[at] == _OPEN:
        return _named_row(text, begin, columns.indices, columns.values, place, features, bounds[0])
    if length >= 0 and text[at] == _LIST:
        at, place, width, fine = _listed_row(text, begin, columns.indices, columns.values, place, bounds)
        columns.width[columns.progress[EVENTS]] = width
        return at, place, fine and width == length
    return at, place, False


@helper_no_alloc
def _event(
    text: Any, at: Any, columns: Columns, tasks: Table, features: Table, form: tuple[int, bool], bounds: Any
) -> tuple[Any, Any]:
    """Read the event that begins at `at`: where it ends, and where its row ends; -1: hand it on, -2: no room."""
    n, place = columns.progress[EVENTS], columns.progress[ENTRIES]
    columns.label[n] = np.nan
    found, more = 0, True
    while more:
        at, field = _key(text, at)
        if field == 0 or found & field:
            return at, np.int64(-1)
        found |= field
        fine = True
        if field == _HAS_X:
            at, place, fine = _row(text, at, columns, features, form[0], bounds)
            if place < 0:
                return at, np.int64(-2)
        elif field == _HAS_Y:
            at, columns.label[n], fine = _label(text, at)
        elif field == _HAS_TASK:
            at, code = _task(text, at, tasks)
            if code < 0:
                return at, code
            columns.task[n] = code
        elif form[1]:
            begin = at
            at, fine = name_end(text, at)
            fine = fine and at - begin <= _U(LONGEST_NAME) and is_plain(text, begin, at, 92)
            columns.round_at[n], columns.round_length[n] = np.int64(begin), np.int64(at - begin)
        if fine:
            at, more, fine = next_item(text, at, _CLOSED)
        if not fine:
            return at, np.int64(-1)
    needed = _HAS_TASK | _HAS_X | (_HAS_ROUND if form[1] else 0)
    return skip_blanks(text, at), place if found | _HAS_Y == needed | _HAS_Y else np.int64(-1)


@compiled
def scan(
    text: Any, end: int, columns: Columns, tasks: Table, features: Table, form: tuple[int, bool], bounds: Any
) -> bool:
    """Read lines up to `end`; False if a table of names has no room, and the same call is to be repeated.

    form    the length of rows that are lists, -1 for named features; and whether there are rounds
    bounds  values beyond the first are handed on; in lists, those below the second are zeros
    """
    line, _, _, indptr, _, _, _, _, _, listed, progress = columns
    at, stop = _U(progress[AT]), _U(end)
    while at < stop:
        begin, n, place = at, progress[EVENTS], np.int64(-1)
        if is_line_end(text, at):
            at += _U(1) if text[at] == 10 else _U(2)
            progress[LINES] += 1
            continue
        tasks.counts[ADDED] = 0
        features.counts[ADDED] = 0
        features.counts[LINE] += 1
        if text[at] == _OPEN:
            at, place = _event(text, skip_blanks(text, at + U1), columns, tasks, features, form, bounds)
            if place >= 0 and not is_line_end(text, at):
                place = np.int64(-1)
        if place >= 0:
            line[n], indptr[n + 1] = progress[LINES], place
            progress[EVENTS], progress[ENTRIES] = n + 1, place
            at += _U(1) if text[at] == 10 else _U(2)
        else:
            remove_added(tasks.cells, tasks.pool, tasks.offsets, tasks.added, tasks.counts)
            remove_added(features.cells, features.pool, features.offsets, features.added, features.counts)
            if place == -2:
                progress[AT] = np.int64(begin)
                return False
            at = hand_on(listed, progress, text, begin)
        progress[LINES] += 1
    progress[AT] = np.int64(at)
    return True
