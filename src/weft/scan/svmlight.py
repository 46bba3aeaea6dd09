"""SVMlight: `label qid:TASK index:value ...`, with blanks between, no comment, and the line's end directly after."""

from typing import Any

import numpy as np

from weft.compiled.jit import compiled, inlined_only
from weft.scan.columns import (
    AT,
    ENTRIES,
    EVENTS,
    LINES,
    LONGEST_NAME,
    Columns,
    finish_numbered,
    hand_on,
    is_line_end,
)
from weft.scan.interning import ADDED, NAMES, Table, intern, is_plain, remove_added
from weft.scan.numbers import READ, read_number
from weft.scan.words import U1, load, skip_blanks

_U = np.uint64
_QID = _U(0x3A646971)  # "qid:"
_LARGEST_INDEX = _U(1 << 31)


@inlined_only
def _task(text: Any, at: Any, cells: Any, pool: Any, offsets: Any, added: Any, counts: Any) -> tuple[Any, int, bool]:
    """The task that begins at `at`: where it ends, its code (-1: no room), and whether it can be used."""
    begin, before = at, counts[NAMES]
    while text[at] > 32:
        at += U1
    if at == begin or at - begin > _U(LONGEST_NAME):
        return at, 0, False
    code = intern(text, begin, at - begin, cells, pool, offsets, added, counts)
    return at, code, counts[NAMES] == before or is_plain(text, begin, at, 35)


@inlined_only
def _row(text: Any, at: Any, indices: Any, values: Any, place: Any, bounds: tuple[float, float]) -> Any:
    """Read ` index:value ...` up to the line's end: where that is, where the row ends (-1: hand on), its width."""
    first, before, is_ordered, has_zero = place, np.int64(-1), True, False
    width = np.int64(0)
    while True:
        begin = at
        at = skip_blanks(text, at)
        if is_line_end(text, at):
            break
        digit = _U(text[at]) - _U(48)
        if at == begin or digit > _U(9):
            return at, np.int64(-1), width
        begin, index = at, _U(0)
        while digit <= _U(9):
            index = index * _U(10) + digit
            at += U1
            digit = _U(text[at]) - _U(48)
        if text[at] != 58 or at - begin > _U(10) or index >= _LARGEST_INDEX:
            return at, np.int64(-1), width
        at, value, status = read_number(text, at + U1, False)
        if status != READ or not abs(value) <= bounds[0]:
            return at, np.int64(-1), width
        number = np.int64(index)
        is_ordered = is_ordered & bool(number > before)
        has_zero = has_zero | bool(abs(value) < bounds[1])
        before = number
        width = max(width, number + 1)
        indices[place], values[place] = number, value
        place += 1
    if has_zero or not is_ordered:
        place = finish_numbered(indices, values, first, place, is_ordered, bounds[1])
    return at, place, width


@compiled
def scan(text: Any, end: int, columns: Columns, tasks: Table, bounds: tuple[float, float]) -> bool:
    """Read lines up to `end`; False if the table of tasks has no room, and the same call is to be repeated.

    bounds  values beyond the first are handed on, those below the second are zeros
    """
    line, label, task, indptr, indices, values, widths, _, _, listed, progress = columns
    cells, pool, offsets, added, _, counts = tasks
    at, stop = _U(progress[AT]), _U(end)
    while at < stop:
        begin, n, place, kept = at, progress[EVENTS], progress[ENTRIES], np.int64(-1)
        if is_line_end(text, at):
            at += _U(1) if text[at] == 10 else _U(2)
            progress[LINES] += 1
            continue
        counts[ADDED] = 0
        at, y, status = read_number(text, at, False)
        after = skip_blanks(text, at)
        if status == READ and after > at and load(text, after) & _U(0xFFFFFFFF) == _QID:
            at, code, is_task = _task(text, after + _U(4), cells, pool, offsets, added, counts)
            if code < 0:
                progress[AT] = np.int64(begin)
                return False
            if is_task:
                at, kept, width = _row(text, at, indices, values, place, bounds)
        if kept >= 0:
            line[n], label[n], task[n], widths[n] = progress[LINES], y, code, width
            indptr[n + 1] = kept
            progress[EVENTS], progress[ENTRIES] = n + 1, kept
            at += _U(1) if text[at] == 10 else _U(2)
        else:
            remove_added(cells, pool, offsets, added, counts)
            at = hand_on(listed, progress, text, begin)
        progress[LINES] += 1
    progress[AT] = np.int64(at)
    return True
