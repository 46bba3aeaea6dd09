"""CSV with a schema: a cell per field, quoted or not.

Names with quotes or line breaks in them, and whatever the careful reader refuses, are handed on.
"""

from typing import Any

import numpy as np

from weft.compiled.jit import compiled, helper_no_alloc, inlined_only
from weft.scan.cells import BLANK, IS_FALSE, IS_TRUE, NUMBER, UNSURE, WORDS, cell, copied, is_integer, kind_of
from weft.scan.columns import AT, ENTRIES, EVENTS, LINES, LISTED, LONGEST_NAME, Columns, hand_on, is_line_end
from weft.scan.interning import ADDED, Table, is_plain
from weft.scan.records import (
    ANY,
    CAREFUL,
    CATEGORY,
    CODE,
    ID,
    IDS,
    LABEL,
    MARK,
    PART,
    ROUND,
    SKIP,
    TASK,
    TEXT,
    USE,
    WEIGHT,
    Form,
    Further,
    Meaning,
    Tables,
    add_category,
    add_text,
    begin_event,
    interned,
    keep_id,
    keep_part,
    may_be_date,
    put_mark,
    task_code,
    undo,
)
from weft.scan.table import record_end
from weft.scan.text import HANDED, new_rows
from weft.scan.words import U1, find_byte

_U = np.uint64
_QUOTE = 34
_LONGEST_CELL = _U(131072)
_LONGEST_INTEGER = 18


@helper_no_alloc
def _keep_name(further: Further, use: Any, end: Any) -> bool:
    """Use the cell scratch[2:end] as a task or an id; False if the careful reader must."""
    scratch = further.scratch
    is_number = end > _U(2) and is_integer(scratch, _U(2), end)
    if end - _U(2) > _U(_LONGEST_INTEGER if is_number else LONGEST_NAME):
        return False
    if use[USE] == TASK:
        scratch[1] = _QUOTE
        return end > _U(2) and keep_part(further, use[PART], scratch, _U(2) if is_number else U1, end)
    for i in range(2, np.int64(end)):
        if scratch[_U(i)] == _QUOTE or scratch[_U(i)] == 92:
            return False
    begin = _U(2)
    if not is_number:  # in quotes, as JSON writes it
        begin, scratch[1], scratch[end] = U1, _QUOTE, _QUOTE
        end += U1
    keep_id(scratch, begin, end, further)
    return True


@helper_no_alloc
def _keep_round(text: Any, begin: Any, end: Any, columns: Columns) -> Any:
    """Note where a round is written; False if the careful reader must look at it."""
    while begin < end and (text[begin] == 32 or text[begin] == 9):
        begin += U1
    while end > begin and (text[end - U1] == 32 or text[end - U1] == 9):
        end -= U1
    n = columns.progress[EVENTS]
    columns.round_at[n], columns.round_length[n] = np.int64(begin), np.int64(end - begin)
    return bool(begin < end and end - begin <= _U(LONGEST_NAME) and is_plain(text, begin, end, _QUOTE))


@helper_no_alloc
def _keep_label(further: Further, kind: int, value: float, end: Any, columns: Columns, labels: Table) -> Any:
    """Use the cell scratch[2:end] as a label: 0, or why not."""
    n, scratch = columns.progress[EVENTS], further.scratch
    if kind == NUMBER:
        columns.label[n] = value
    elif kind != BLANK:
        begin = U1
        if kind == WORDS:
            scratch[1] = _QUOTE
        else:
            begin = _U(2)
            _lower(scratch, end)
        further.classes[n] = interned(scratch, begin, end - begin, labels)
        if further.classes[n] < 0:
            return further.classes[n]
    return np.int64(0)


@inlined_only
def _lower(scratch: Any, end: Any) -> None:
    """Of true and false."""
    for i in range(2, np.int64(end)):
        scratch[_U(i)] |= 32


@helper_no_alloc
def _use(further: Further, use: Any, end: Any, place: Any, columns: Columns, context: Any, has_comma: bool) -> Any:
    """Use the cell scratch[2:end] as the value of a field that is not a name: where the row ends, or why not."""
    tables, _, form = context
    scratch, n = further.scratch, columns.progress[EVENTS]
    if use[USE] == SKIP:
        return place
    value, kind = kind_of(scratch, _U(2), end, has_comma)
    if use[USE] == CATEGORY:
        if end == _U(2):
            return place
        if kind in (IS_TRUE, IS_FALSE):
            _lower(scratch, end)
        put_mark(scratch, use[MARK])
        return add_category(further, end, place, columns, tables.features)
    if kind == UNSURE:
        return np.int64(HANDED)
    if use[USE] == LABEL:
        status = _keep_label(further, kind, value, end, columns, tables.labels)
        return place if status == 0 else status
    if kind == BLANK:
        return place
    if use[USE] == WEIGHT:
        further.weight[n] = value
        fine = kind == NUMBER and value >= 0.0 and value <= form.heaviest
        return place if fine else np.int64(HANDED)
    if kind == WORDS:
        if use[USE] != ANY or use[MARK] < 0 or may_be_date(scratch, _U(2), end):
            return np.int64(HANDED)
        put_mark(scratch, use[MARK])
        return add_category(further, end, place, columns, tables.features)
    if not abs(value) <= form.largest:
        return np.int64(HANDED)
    columns.indices[place], columns.values[place] = use[CODE], value
    return place + 1


@helper_no_alloc
def _field(
    text: Any, bounds: Any, use: Any, place: Any, columns: Columns, further: Further, context: Any, form: Any
) -> Any:
    """Use the cell with these bounds: where the row ends, or why not."""
    begin, end = bounds
    tables, meaning, common = context
    has_comma, has_quotes = form
    if use[USE] == TEXT:
        words = meaning.letters, tables.features, common.ngrams
        _, place = add_text(text, begin, end, use[MARK], place, columns, further, words)
        return place
    after, fine = copied(text, begin, end, further.scratch, _U(2))
    if not fine or (has_quotes and use[USE] != SKIP):
        return np.int64(HANDED)
    if use[USE] == CAREFUL:
        return place if after == _U(2) else np.int64(HANDED)
    if use[USE] == ROUND:
        return place if _keep_round(text, begin, end, columns) else np.int64(HANDED)
    if use[USE] == TASK or use[USE] == ID:
        return place if _keep_name(further, use, after) else np.int64(HANDED)
    return _use(further, use, after, place, columns, context, has_comma)


@helper_no_alloc
def _row(
    text: Any, at: Any, stop: Any, columns: Columns, further: Further, context: Any, cells: Any
) -> tuple[Any, Any]:
    """Read the cells of a row: where it ends, and where its entries end, or why not."""
    tables, meaning, form = context
    separator, has_comma, _ = cells
    n, place, uses = columns.progress[EVENTS], columns.progress[ENTRIES], meaning.uses
    begin_event(columns, further)
    columns.width[n] = 0
    last = uses.shape[0] - 1
    for column in range(last + 1):
        use = uses[column, USE], uses[column, CODE], uses[column, MARK], uses[column, PART]
        begin, end, at, has_quotes, fine = cell(text, at, separator)
        if not fine or end >= stop or end - begin > _LONGEST_CELL:
            return at, np.int64(HANDED)
        line = find_byte(text, begin, 10)
        while line < end:
            columns.width[n] += 1
            line = find_byte(text, line + U1, 10)
        if end > begin or use[USE] != TEXT:
            bounds, kind = (begin, end), (has_comma, has_quotes)
            place = _field(text, bounds, use, place, columns, further, context, kind)
            if place < 0:
                return at, place
        if column < last:
            if text[at] != separator:
                return at, np.int64(HANDED)
            at += U1
    if not is_line_end(text, at):
        return at, np.int64(HANDED)
    columns.task[n] = task_code(further, form.parts, tables.tasks)
    return at, place if columns.task[n] >= 0 else columns.task[n]


@compiled
def scan(
    text: Any, end: int, columns: Columns, further: Further, tables: Tables, meaning: Meaning, form: Form, cells: Any
) -> int:
    """Read rows up to `end`: 0, or what is missing for the next row, and then the call is to be repeated.

    cells  the separator; may a comma be a decimal point; and may a quoted cell that is not closed in this text be
           closed by what follows it
    `columns.width` is filled with the number of further lines of every row.
    """
    progress = columns.progress
    new_rows(tables.features, columns.indices)
    at, stop = _U(progress[AT]), _U(end)
    context = tables, meaning, form
    while at < stop:
        begin, n, ids = at, progress[EVENTS], further.counts[IDS]
        if is_line_end(text, at):
            at += _U(1) if text[at] == 10 else _U(2)
            progress[LINES] += 1
            continue
        for table in (tables.tasks, tables.features, tables.labels):
            table.counts[ADDED] = 0
        at, place = _row(text, at, stop, columns, further, context, cells)
        if place >= 0:
            columns.line[n], columns.indptr[n + 1] = progress[LINES], place
            progress[EVENTS], progress[ENTRIES] = n + 1, place
            at += _U(1) if text[at] == 10 else _U(2)
            progress[LINES] += 1 + columns.width[n]
            continue
        undo(tables, columns.indices)
        further.counts[IDS] = ids
        if place != HANDED:
            progress[AT] = np.int64(begin)
            return int(place)
        after = record_end(text, begin, stop, cells[0])
        if after == _U(0) and cells[2]:
            at = begin
            break
        at = hand_on(columns.listed, progress, text, begin)
        progress[LINES] += 1
        while at < after:
            at = find_byte(text, at, 10) + U1
            progress[LINES] += 1
        columns.listed[progress[LISTED] - 1, 2] = np.int64(at)
    progress[AT] = np.int64(at)
    new_rows(tables.features, columns.indices)
    return 0
