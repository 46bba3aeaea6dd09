"""CSV: a cell per column, quoted or not; a row of the file may go on in the next line within quotes.

Cells that are not what their column takes, cells with quotes in them and rows over several lines are handed on.
"""

from typing import Any

import numpy as np

from weft.compiled.jit import compiled, helper_no_alloc, inlined_only
from weft.scan.columns import (
    AT,
    ENTRIES,
    EVENTS,
    LINES,
    LISTED,
    LONGEST_NAME,
    Columns,
    hand_on,
    is_line_end,
)
from weft.scan.interning import ADDED, NAMES, Table, intern, is_plain, remove_added
from weft.scan.numbers import READ, read_number
from weft.scan.words import U1, find_byte, find_either, skip_blanks

TASK, LABEL, ROUND = -1, -2, -3
"""What a column holds if not a feature; features are given by their codes."""

_U = np.uint64
_QUOTE = 34


@inlined_only
def _number(text: Any, at: Any, separator: int, is_quoted: bool) -> tuple[Any, float, bool, bool]:
    """The number in a cell: where it ends, its value, whether the cell is blank, whether it can be used."""
    while text[at] == 32:
        at += U1
    end = text[at] == _QUOTE if is_quoted else text[at] == separator or is_line_end(text, at)
    if end:
        return at, np.nan, True, True
    at, value, status = read_number(text, at, False)
    while text[at] == 32:
        at += U1
    return at, value, False, status == READ


@inlined_only
def _cell_end(text: Any, at: Any, separator: int, is_quoted: bool) -> Any:
    """Where the cell ends whose content begins at `at`: at its quote, or at the next separator or line's end."""
    if is_quoted:
        return find_byte(text, at, _QUOTE)
    at = find_either(text, at, separator, 10, _QUOTE)
    return at - U1 if text[at] == 10 and text[at - U1] == 13 else at


@inlined_only
def _task(text: Any, begin: Any, end: Any, tasks: Table) -> Any:
    """The code of the task in a cell; -1: hand on, -2: no room."""
    cells, pool, offsets, added, _, counts = tasks
    before = counts[NAMES]
    if end - begin > _U(LONGEST_NAME) or skip_blanks(text, begin) >= end:
        return np.int64(-1)
    code = intern(text, begin, end - begin, cells, pool, offsets, added, counts)
    if code < 0:
        return np.int64(-2)
    return np.int64(-1) if counts[NAMES] != before and not is_plain(text, begin, end, _QUOTE) else code


@helper_no_alloc
def _row(text: Any, at: Any, columns: Columns, tasks: Table, kinds: Any, separator: int, largest: float) -> Any:
    """Read the cells of a line: where it ends, and where its row ends; -1: hand it on, -2: no room."""
    n, place = columns.progress[EVENTS], columns.progress[ENTRIES]
    columns.label[n] = np.nan
    last = kinds.shape[0] - 1
    for column in range(last + 1):
        kind, is_quoted = kinds[column], text[at] == _QUOTE
        at += _U(1) if is_quoted else _U(0)
        if kind >= 0 or kind == LABEL:
            at, value, is_blank, fine = _number(text, at, separator, is_quoted)
            if not fine or (kind >= 0 and not is_blank and not abs(value) <= largest):
                return at, np.int64(-1)
            if kind == LABEL:
                columns.label[n] = value
            elif not is_blank:
                columns.indices[place], columns.values[place] = kind, value
                place += 1
        else:
            begin, at = at, _cell_end(text, at, separator, is_quoted)
            if kind == TASK:
                code = _task(text, begin, at, tasks)
                if code < 0:
                    return at, code
                columns.task[n] = code
            elif at - begin > _U(LONGEST_NAME) or not is_plain(text, begin, at, _QUOTE):
                return at, np.int64(-1)
            else:
                columns.round_at[n], columns.round_length[n] = np.int64(begin), np.int64(at - begin)
        if is_quoted:
            if text[at] != _QUOTE:
                return at, np.int64(-1)
            at += U1
        if column == last:
            return at, place if is_line_end(text, at) else np.int64(-1)
        if text[at] != separator:
            return at, np.int64(-1)
        at += U1
    return at, np.int64(-1)


@helper_no_alloc
def record_end(text: Any, at: Any, stop: Any, separator: int) -> Any:
    """Where the record ends that begins at `at`: the byte behind its last line; 0 if a quote is not closed."""
    while True:
        if text[at] == _QUOTE:
            at = find_byte(text, at + U1, _QUOTE)
            while at < stop and text[at + U1] == _QUOTE:
                at = find_byte(text, at + _U(2), _QUOTE)
            if at >= stop:
                return _U(0)
            at += U1
        while text[at] != separator and text[at] != 10:
            at += U1
        at += U1
        if text[at - U1] == 10:
            return at


@compiled
def scan(
    text: Any, end: int, columns: Columns, tasks: Table, kinds: Any, form: tuple[int, bool], largest: float
) -> bool:
    """Read rows up to `end`; False if the table of tasks has no room, and the same call is to be repeated.

    kinds  what every column holds: TASK, LABEL, ROUND, or the code of its feature
    form   the separator; and whether a quoted cell that is not closed in this text may be closed by what follows it
    """
    listed, progress, separator = columns.listed, columns.progress, form[0]
    at, stop = _U(progress[AT]), _U(end)
    while at < stop:
        begin, n = at, progress[EVENTS]
        if is_line_end(text, at):
            at += _U(1) if text[at] == 10 else _U(2)
            progress[LINES] += 1
            continue
        tasks.counts[ADDED] = 0
        at, place = _row(text, at, columns, tasks, kinds, separator, largest)
        if place >= 0:
            columns.line[n], columns.indptr[n + 1] = progress[LINES], place
            progress[EVENTS], progress[ENTRIES] = n + 1, place
            at += _U(1) if text[at] == 10 else _U(2)
            progress[LINES] += 1
            continue
        remove_added(tasks.cells, tasks.pool, tasks.offsets, tasks.added, tasks.counts)
        if place == -2:
            progress[AT] = np.int64(begin)
            return False
        after = record_end(text, begin, stop, separator)
        if after == _U(0) and form[1]:
            at = begin
            break
        at = hand_on(listed, progress, text, begin)
        progress[LINES] += 1
        while at < after:
            at = find_byte(text, at, 10) + U1
            progress[LINES] += 1
        listed[progress[LISTED] - 1, 2] = np.int64(at)
    progress[AT] = np.int64(at)
    return True
