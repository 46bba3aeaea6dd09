"""Vowpal Wabbit text: `label 'tag |namespace name:value name ...`.

The task is the one name in the namespace that is called so, or else the tag. Features of the namespace x and of one
without a name are known by their own names, others as namespace^name. Importance weights, namespaces with a value and
tags without an apostrophe are handed on.
"""

from typing import Any

import numpy as np

from weft.compiled.jit import compiled, helper_no_alloc, inlined_only
from weft.scan.columns import AT, ENTRIES, EVENTS, LINES, LONGEST_NAME, Columns, hand_on, is_line_end
from weft.scan.interning import ADDED, LINE, NAMES, Table, intern, is_plain, remove_added
from weft.scan.numbers import READ, read_number
from weft.scan.words import HIGHEST, ONES, U0, U1, U8, first_byte, load, skip_blanks, zero_bytes

_U = np.uint64
_BAR, _COLON = 124, 58
_NONE, _FULL = -1, -2
_UP_TO_BLANK = ONES * _U(33)


@inlined_only
def _name_end(text: Any, at: Any) -> Any:
    """Where a name ends: at a colon, a bar, a blank or the line's end."""
    while True:
        word = load(text, at)
        marks = zero_bytes(word ^ (ONES * _U(_COLON))) | zero_bytes(word ^ (ONES * _U(_BAR)))
        marks |= (word - _UP_TO_BLANK) & ~word & HIGHEST
        if marks != U0:
            return at + first_byte(marks)
        at += U8


@inlined_only
def _code(text: Any, begin: Any, end: Any, names: Table) -> Any:
    """The code of a name; -1: hand on, -2: no room."""
    cells, pool, offsets, added, _, counts = names
    before = counts[NAMES]
    if begin == end or end - begin > _U(LONGEST_NAME):
        return np.int64(_NONE)
    code = intern(text, begin, end - begin, cells, pool, offsets, added, counts)
    if code < 0:
        return np.int64(_FULL)
    return np.int64(_NONE) if counts[NAMES] != before and not is_plain(text, begin, end, _BAR) else code


@inlined_only
def _is_equal(text: Any, begin: Any, end: Any, name: Any) -> bool:
    if end - begin != _U(name.shape[0]):
        return False
    for i in range(name.shape[0]):
        if text[begin + _U(i)] != name[i]:
            return False
    return True


@inlined_only
def _prefixed(text: Any, begin: Any, end: Any, scratch: Any, prefix: Any) -> Any:
    """Write a feature's name behind the prefix in `scratch`; returns where it ends there."""
    for i in range(np.int64(end - begin)):
        scratch[prefix + _U(i)] = text[begin + _U(i)]
    return prefix + (end - begin)


@helper_no_alloc
def _features(
    text: Any, at: Any, columns: Columns, place: Any, features: Table, scratch: Any, prefix: Any, largest: float
) -> tuple[Any, Any]:
    """Read `name:value ...` up to a bar or the line's end: where that is, and where the row ends, or _NONE or _FULL."""
    indices, values, first = columns.indices, columns.values, columns.progress[ENTRIES]
    seen, counts = features.seen, features.counts
    while True:
        at = skip_blanks(text, at)
        if text[at] == _BAR or is_line_end(text, at):
            return at, place
        begin = at
        at = _name_end(text, at)
        if prefix != U0:
            if at - begin > _U(LONGEST_NAME):
                return at, np.int64(_NONE)
            code = _code(scratch, U0, _prefixed(text, begin, at, scratch, prefix), features) if at > begin else _NONE
        else:
            code = _code(text, begin, at, features)
        if code < 0:
            return at, np.int64(code)
        value = 1.0
        if text[at] == _COLON:
            at, value, status = read_number(text, at + U1, False)
            if status != READ or (text[at] > 32 and text[at] != _BAR):
                return at, np.int64(_NONE)
        if seen[_U(code)] == counts[LINE]:  # a name that appears twice: its values are added up
            e = place - 1
            while e > first and indices[e] != code:
                e -= 1
            values[e] += value
            value = values[e]
        else:
            indices[place], values[place] = code, value
            place += 1
        seen[_U(code)] = counts[LINE]
        if not abs(value) <= largest:
            return at, np.int64(_NONE)


@inlined_only
def _one_name(text: Any, at: Any, tasks: Table) -> tuple[Any, Any]:
    """The only name of the namespace of tasks: where the next bar or the line's end is, and its code."""
    begin = skip_blanks(text, at)
    at = _name_end(text, begin)
    code = _code(text, begin, at, tasks)
    at = skip_blanks(text, at)
    return at, code if code < 0 or text[at] == _BAR or is_line_end(text, at) else np.int64(_NONE)


@inlined_only
def _prefix(text: Any, begin: Any, end: Any, scratch: Any) -> Any:
    """Write the namespace and a ^ into `scratch`; returns the length, 0 for namespaces that are left out of names."""
    if end == begin or (end - begin == U1 and text[begin] == 120):
        return U0
    end = _prefixed(text, begin, end, scratch, U0)
    scratch[end] = 94
    return end + U1


@helper_no_alloc
def _event(
    text: Any, at: Any, columns: Columns, tasks: Table, features: Table, space: Any, scratch: Any, largest: float
) -> tuple[Any, Any]:
    """Read the event that begins at `at`: where it ends, and where its row ends, or _NONE or _FULL."""
    n, place = columns.progress[EVENTS], columns.progress[ENTRIES]
    columns.label[n] = np.nan
    tag, task = np.int64(_NONE), np.int64(_NONE)
    if text[at] != _BAR and text[at] != 39:
        at, columns.label[n], status = read_number(text, at, False)
        if status != READ or (text[at] != 32 and text[at] != 9):
            return at, np.int64(_NONE)
        at = skip_blanks(text, at)
    if text[at] == 39:
        begin = at + U1
        at = _name_end(text, begin)
        tag = _code(text, begin, at, tasks)
        at = skip_blanks(text, at)
        if tag < 0:
            return at, tag
    if text[at] != _BAR:
        return at, np.int64(_NONE)
    while text[at] == _BAR:
        begin = at + U1
        at = _name_end(text, begin)
        if text[at] == _COLON or text[at] == _BAR or at - begin > _U(LONGEST_NAME) or not is_plain(text, begin, at, 92):
            return at, np.int64(_NONE)
        if _is_equal(text, begin, at, space):
            if task >= 0:
                return at, np.int64(_NONE)
            at, task = _one_name(text, at, tasks)
            if task < 0:
                return at, task
        else:
            prefix = _prefix(text, begin, at, scratch)
            at, place = _features(text, at, columns, place, features, scratch, prefix, largest)
            if place < 0:
                return at, place
    columns.task[n] = task if task >= 0 else tag
    return at, place if task >= 0 or tag >= 0 else np.int64(_NONE)


@compiled
def scan(
    text: Any, end: int, columns: Columns, tasks: Table, features: Table, space: Any, scratch: Any, largest: float
) -> bool:
    """Read lines up to `end`; False if a table of names has no room, and the same call is to be repeated.

    space    the namespace of tasks, as bytes
    scratch  room for two names of LONGEST_NAME bytes, and for whole words behind them
    """
    listed, progress = columns.listed, columns.progress
    at, stop = _U(progress[AT]), _U(end)
    while at < stop:
        begin, n = at, progress[EVENTS]
        if is_line_end(text, at):
            at += _U(1) if text[at] == 10 else _U(2)
            progress[LINES] += 1
            continue
        tasks.counts[ADDED] = 0
        features.counts[ADDED] = 0
        features.counts[LINE] += 1
        at, place = _event(text, at, columns, tasks, features, space, scratch, largest)
        if place >= 0:
            columns.line[n], columns.indptr[n + 1] = progress[LINES], place
            progress[EVENTS], progress[ENTRIES] = n + 1, place
            at += _U(1) if text[at] == 10 else _U(2)
        else:
            remove_added(tasks.cells, tasks.pool, tasks.offsets, tasks.added, tasks.counts)
            remove_added(features.cells, features.pool, features.offsets, features.added, features.counts)
            if place == _FULL:
                progress[AT] = np.int64(begin)
                return False
            at = hand_on(listed, progress, text, begin)
        progress[LINES] += 1
    progress[AT] = np.int64(at)
    return True
