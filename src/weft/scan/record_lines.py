"""JSON lines with a schema: `{"user": "ann", "age": 31, "country": "us", "body": "free money", "label": "spam"}`.

Lists, objects, dates, numbers in names, and whatever the careful reader refuses, are handed on.
"""

from typing import Any

import numpy as np

from weft.compiled.jit import compiled, helper_no_alloc, inlined_only
from weft.scan.characters import copy_string
from weft.scan.columns import AT, ENTRIES, EVENTS, LINES, LONGEST_NAME, Columns, hand_on, is_line_end
from weft.scan.interning import ADDED, LINE, NAMES, is_plain
from weft.scan.jsonl import after_colon, name_end, next_item
from weft.scan.numbers import READ, read_number
from weft.scan.records import (
    ANY,
    CAREFUL,
    CATEGORY,
    CODE,
    ID,
    IDS,
    KEY_AT,
    KEY_LENGTH,
    LABEL,
    MARK,
    NEW_FIELD,
    NO_MARK,
    NUMERIC,
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
from weft.scan.text import HANDED, new_rows
from weft.scan.words import U1, find_byte, load, skip_blanks

_U = np.uint64
_QUOTE, _CLOSED, _OPEN, _MINUS = 34, 125, 123, 45
_FOUR, _FIVE = _U(0xFFFFFFFF), _U(0xFFFFFFFFFF)
_NULL, _TRUE, _FALSE = _U(0x6C6C756E), _U(0x65757274), _U(0x65736C6166)
_NO_LITERAL, _IS_NULL, _IS_TRUE, _IS_FALSE = 0, 1, 2, 3
_LONGEST_INTEGER = 18


@inlined_only
def _literal(text: Any, at: Any) -> tuple[Any, int]:
    """Which of null, true and false begins at `at`, and where it ends."""
    word = load(text, at)
    if word & _FOUR == _NULL:
        return at + _U(4), _IS_NULL
    if word & _FOUR == _TRUE:
        return at + _U(4), _IS_TRUE
    if word & _FIVE == _FALSE:
        return at + _U(5), _IS_FALSE
    return at, _NO_LITERAL


@helper_no_alloc
def _field(text: Any, at: Any, further: Further, tables: Tables, form: Form) -> tuple[Any, Any]:
    """The field whose key begins at `at`: where its value begins, and which one it is, or why not."""
    fields = tables.fields
    begin, before = at + U1, fields.counts[NAMES]
    if text[at] != _QUOTE:
        return at, np.int64(HANDED)
    at = find_byte(text, begin, _QUOTE)
    field = interned(text, begin, at - begin, fields)
    if field < 0:
        return at, field
    further.counts[KEY_AT], further.counts[KEY_LENGTH] = np.int64(begin), np.int64(at - begin)
    if fields.counts[NAMES] != before:
        for place in range(np.int64(begin), np.int64(at)):
            if text[_U(place)] < 32 or text[_U(place)] == 92:
                return at, np.int64(HANDED)
        return at, np.int64(NEW_FIELD if form.open else HANDED)
    if fields.seen[_U(field)] == fields.counts[LINE]:
        return at, np.int64(HANDED)
    fields.seen[_U(field)] = fields.counts[LINE]
    at, has_colon = after_colon(text, at + U1)
    return at, field if has_colon else np.int64(HANDED)


@helper_no_alloc
def _string(
    text: Any, at: Any, use: Any, place: Any, columns: Columns, further: Further, context: Any
) -> tuple[Any, Any]:
    """Use the string whose quote is at `at`: where it ends, and where the row ends, or why not."""
    tables, meaning, form = context
    n, begin, scratch = columns.progress[EVENTS], at, further.scratch
    if use[USE] == TEXT:
        words = meaning.letters, tables.features, form.ngrams
        at, place = add_text(text, at + U1, _U(0), use[MARK], place, columns, further, words)
        return at + U1, place
    scratch[1] = _QUOTE
    at, end, fine = copy_string(text, at + U1, scratch, _U(2))
    is_blank = end == _U(2)
    if not fine or use[USE] == WEIGHT or use[USE] == CAREFUL:
        return at, np.int64(HANDED)
    if use[USE] == CATEGORY or use[USE] == ANY:
        if is_blank:
            return at, place
        if use[MARK] == NO_MARK:
            return at, np.int64(NEW_FIELD)
        if use[MARK] < 0 or (use[USE] == ANY and may_be_date(scratch, _U(2), end)):
            return at, np.int64(HANDED)
        put_mark(scratch, use[MARK])
        return at, add_category(further, end, place, columns, tables.features)
    if use[USE] == ID:
        keep_id(text, begin, at, further)
    elif use[USE] == LABEL and not is_blank:
        further.classes[n] = interned(scratch, U1, end - U1, tables.labels)
        if further.classes[n] < 0:
            return at, further.classes[n]
    elif use[USE] == TASK:
        if is_blank or not keep_part(further, use[PART], scratch, U1, end):
            return at, np.int64(HANDED)
    elif use[USE] == ROUND:
        if is_blank or at - begin > _U(LONGEST_NAME) or not is_plain(text, begin, at, 92):
            return at, np.int64(HANDED)
        columns.round_at[n], columns.round_length[n] = np.int64(begin), np.int64(at - begin)
    elif use[USE] == NUMERIC and not is_blank:
        return at, np.int64(HANDED)
    return at, place


@inlined_only
def _category(
    text: Any, begin: Any, at: Any, use: Any, place: Any, columns: Columns, further: Further, features: Any
) -> Any:
    """Count what is written there as a category: where the row ends, or why not."""
    put_mark(further.scratch, use[MARK])
    end = _U(2)
    for i in range(np.int64(at - begin)):
        further.scratch[end] = text[begin + _U(i)]
        end += U1
    return add_category(further, end, place, columns, features)


@helper_no_alloc
def _name(
    text: Any, begin: Any, use: Any, place: Any, columns: Columns, further: Further, features: Any
) -> tuple[Any, Any]:
    """Use the integer that begins there as a name: where it ends, and where the row ends, or why not."""
    at, fine = name_end(text, begin)
    n = columns.progress[EVENTS]
    if not fine or at - begin > _U(_LONGEST_INTEGER):
        return at, np.int64(HANDED)
    if use[USE] == ROUND:
        columns.round_at[n], columns.round_length[n] = np.int64(begin), np.int64(at - begin)
    elif use[USE] == ID:
        keep_id(text, begin, at, further)
    elif use[USE] == TASK:
        keep_part(further, use[PART], text, begin, at)
    else:
        place = _category(text, begin, at, use, place, columns, further, features)
    return at, place


@inlined_only
def _is_name(use: Any) -> Any:
    return use in (ROUND, ID, TASK, CATEGORY)


@helper_no_alloc
def _number(
    text: Any, at: Any, use: Any, place: Any, columns: Columns, further: Further, context: Any
) -> tuple[Any, Any]:
    """Use the number that begins at `at`: where it ends, and where the row ends, or why not."""
    tables, _, form = context
    n = columns.progress[EVENTS]
    if _is_name(use[USE]):
        return _name(text, at, use, place, columns, further, tables.features)
    at, value, status = read_number(text, at, True)
    if status != READ or use[USE] == TEXT or use[USE] == CAREFUL:
        return at, np.int64(HANDED)
    if use[USE] == LABEL:
        columns.label[n] = value
    elif use[USE] == WEIGHT:
        further.weight[n] = value
        if not (value >= 0.0 and value <= form.heaviest):
            return at, np.int64(HANDED)
    elif use[USE] != SKIP:
        if not abs(value) <= form.largest:
            return at, np.int64(HANDED)
        columns.indices[place], columns.values[place] = use[CODE], value
        place += 1
    return at, place


@helper_no_alloc
def _logical(
    text: Any, at: Any, use: Any, place: Any, columns: Columns, further: Further, context: Any
) -> tuple[Any, Any]:
    """Use null, true or false at `at`: where it ends, and where the row ends, or why not."""
    tables, _, _ = context
    begin, n = at, columns.progress[EVENTS]
    at, found = _literal(text, at)
    if found == _NO_LITERAL or use[USE] == CAREFUL:
        return at, np.int64(HANDED)
    if use[USE] == ID:
        keep_id(text, begin, at, further)
    elif found == _IS_NULL:
        if use[USE] == TASK or use[USE] == ROUND:
            return at, np.int64(HANDED)
    elif use[USE] == LABEL:
        further.classes[n] = interned(text, begin, at - begin, tables.labels)
        if further.classes[n] < 0:
            return at, further.classes[n]
    elif use[USE] == NUMERIC or use[USE] == ANY:
        columns.indices[place], columns.values[place] = use[CODE], 1.0 if found == _IS_TRUE else 0.0
        place += 1
    elif use[USE] == CATEGORY:
        place = _category(text, begin, at, use, place, columns, further, tables.features)
    elif use[USE] != SKIP:
        return at, np.int64(HANDED)
    return at, place


@helper_no_alloc
def _record(
    text: Any, at: Any, columns: Columns, further: Further, tables: Tables, meaning: Meaning, form: Form
) -> tuple[Any, Any]:
    """Read the record whose first key begins at `at`: where it ends, and where its row ends, or why not."""
    n, place, more = columns.progress[EVENTS], columns.progress[ENTRIES], True
    ids = further.counts[IDS]
    context = tables, meaning, form
    begin_event(columns, further)
    columns.width[n] = 0
    if form.rounds:
        columns.round_length[n] = 0
    while more:
        at, field = _field(text, at, further, tables, form)
        if field < 0:
            return at, field
        uses, row = meaning.uses, _U(field)
        use = uses[row, USE], uses[row, CODE], uses[row, MARK], uses[row, PART]
        byte = text[at]
        if byte == _QUOTE:
            at, place = _string(text, at, use, place, columns, further, context)
        elif byte == _MINUS or _U(byte) - _U(48) <= _U(9):
            at, place = _number(text, at, use, place, columns, further, context)
        else:
            at, place = _logical(text, at, use, place, columns, further, context)
        if place < 0:
            return at, place
        at, more, fine = next_item(text, at, _CLOSED)
        if not fine:
            return at, np.int64(HANDED)
    columns.task[n] = task_code(further, form.parts, tables.tasks)
    if columns.task[n] < 0:
        return at, columns.task[n]
    if form.rounds and columns.round_length[n] == 0:
        return at, np.int64(HANDED)
    if form.ids and further.counts[IDS] == ids:
        place_id = further.counts[IDS]
        for byte in (110, 117, 108, 108, 44):  # null
            further.ids[place_id] = byte
            place_id += 1
        further.counts[IDS] = place_id
    return skip_blanks(text, at), place


@compiled
def scan(text: Any, end: int, columns: Columns, further: Further, tables: Tables, meaning: Meaning, form: Form) -> int:
    """Read lines up to `end`: 0, or what is missing for the next line, and then the call is to be repeated."""
    progress = columns.progress
    new_rows(tables.features, columns.indices)
    at, stop = _U(progress[AT]), _U(end)
    while at < stop:
        begin, n, place, ids = at, progress[EVENTS], np.int64(HANDED), further.counts[IDS]
        if is_line_end(text, at):
            at += _U(1) if text[at] == 10 else _U(2)
            progress[LINES] += 1
            continue
        for table in (tables.tasks, tables.features, tables.labels, tables.fields):
            table.counts[ADDED] = 0
        tables.fields.counts[LINE] += 1
        if text[at] == _OPEN:
            at, place = _record(text, skip_blanks(text, at + U1), columns, further, tables, meaning, form)
            if place >= 0 and not is_line_end(text, at):
                place = np.int64(HANDED)
        if place >= 0:
            columns.line[n], columns.indptr[n + 1] = progress[LINES], place
            progress[EVENTS], progress[ENTRIES] = n + 1, place
            at += _U(1) if text[at] == 10 else _U(2)
        else:
            undo(tables, columns.indices)
            further.counts[IDS] = ids
            if place != HANDED:
                progress[AT] = np.int64(begin)
                return int(place)
            at = hand_on(columns.listed, progress, text, begin)
        progress[LINES] += 1
    progress[AT] = np.int64(at)
    new_rows(tables.features, columns.indices)
    return 0
