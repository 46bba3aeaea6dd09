"""The words of a text: runs of letters and digits in lower case, as `weft.kinds.words` has them.

Words are written one after the other, each behind the two bytes of a mark that says which field the text is of. So a
word with its mark, and a run of words with a mark before each, are names without a copy.
"""

from typing import Any

import numpy as np

from weft.compiled.jit import compiled, helper_no_alloc, inlined_only
from weft.scan.characters import decoded, escaped, put
from weft.scan.columns import LONGEST_NAME
from weft.scan.interning import ADDED, LINE, Table, intern
from weft.scan.letters import SEPARATOR, UNSURE
from weft.scan.words import U1

FINE, HANDED, NEEDS_LETTERS, NO_ROOM = 0, -1, -2, -3
"""What came of a text, or of a line: it was read; the careful reader must look at it; the table of letters must be
there; a table of names must grow."""

_U = np.uint64
_QUOTE, _BACKSLASH = 34, 92
_BREAK, _WIDE, _SPECIAL, _CONTROL = 0, 1, 2, 3


def _classes() -> Any:
    """By byte: its lower case if it is a letter or a digit; else what to do with it."""
    found = np.full(256, _WIDE, np.uint8)
    for byte in range(128):
        letter = chr(byte)
        found[byte] = ord(letter.lower()) if letter.isalnum() else _CONTROL if byte < 32 else _BREAK
    found[_QUOTE] = found[_BACKSLASH] = _SPECIAL
    return found


_CLASSES = _classes()


@helper_no_alloc
def split_words(
    text: Any, at: Any, end: Any, mark: Any, scratch: Any, starts: Any, letters: Any
) -> tuple[Any, int, int]:
    """The words of the text that begins at `at`: where it ends, how many there are, and FINE or why not.

    end   where the text ends; 0 for a string of JSON, which ends at its quote
    mark  two bytes, as a number
    Word i is scratch[starts[i] : starts[i + 1]], with its mark.
    """
    is_json = end == _U(0)
    place, count, in_word = _U(0), 0, False
    starts[0] = 0
    while is_json or at < end:
        found = _U(_CLASSES[text[at]])
        if found > _U(_CONTROL):
            at += U1
        elif found == _U(_WIDE) or (is_json and text[at] == _BACKSLASH):
            at, code = decoded(text, at) if found == _U(_WIDE) else escaped(text, at)
            if code < 0 or (not is_json and at > end):
                return at, count, HANDED
            if letters.shape[0] == 0:
                return at, count, NEEDS_LETTERS
            found = _U(letters[_U(code)])
            if found == _U(UNSURE):
                return at, count, HANDED
        elif is_json and text[at] == _QUOTE:
            break
        elif is_json and found == _U(_CONTROL):
            return at, count, HANDED
        else:
            at += U1
            found = _U(SEPARATOR)
        if found == _U(SEPARATOR):
            if in_word:
                count += 1
                starts[count] = np.int64(place)
            in_word = False
            continue
        if not in_word:
            scratch[place], scratch[place + U1] = mark & 255, mark >> 8
            place += _U(2)
            in_word = True
        if found < _U(128):
            scratch[place] = found
            place += U1
        else:
            place = put(scratch, place, np.int64(found))
    if in_word:
        count += 1
        starts[count] = np.int64(place)
    return at, count, FINE


@inlined_only
def new_rows(features: Table, indices: Any) -> None:
    """Before and after rows are counted into `indices`: no name is in a row yet."""
    features.counts[LINE] += indices.shape[0] + 1


@inlined_only
def count_name(code: Any, place: Any, first: Any, indices: Any, values: Any, seen: Any, offset: Any) -> Any:
    """Add 1 to the entry of a name in the row that begins at `first` and has come to `place`; returns its new end."""
    where = seen[_U(code)] - offset
    if where >= first:
        values[where] += 1.0
        return place
    indices[place], values[place] = code, 1.0
    seen[_U(code)] = offset + place
    return place + 1


@helper_no_alloc
def add_words(
    scratch: Any, starts: Any, count: int, ngrams: int, indices: Any, values: Any, row: Any, features: Table
) -> Any:
    """Count words, and runs of up to `ngrams` words, in a row; `row` has its beginning and its end.

    Returns its new end, HANDED for a name that is too long, NO_ROOM if the table has none.
    """
    cells, pool, offsets, added, seen, counts = features
    first, place = row
    for size in range(1, ngrams + 1):
        for word in range(count - size + 1):
            begin, length = starts[word], starts[word + size] - starts[word]
            if length > LONGEST_NAME:
                return np.int64(HANDED)
            code = intern(scratch, _U(begin), _U(length), cells, pool, offsets, added, counts)
            if code < 0:
                return np.int64(NO_ROOM)
            place = count_name(code, place, first, indices, values, seen, counts[LINE])
    return place


@compiled
def scan_texts(
    text: Any, bounds: Any, at: int, form: Any, spaces: Any, rows: Any, letters: Any, features: Table
) -> tuple[int, int]:
    """The words of texts from the text `at` on: how many were done, and FINE or why not.

    bounds  where every text begins and ends
    form    the mark of the field, and the longest runs of words that count
    spaces  scratch and starts, with room for the words of the longest text
    rows    indptr, indices and values of the words, with room for those of all texts
    """
    begins, ends = bounds
    scratch, starts = spaces
    indptr, indices, values = rows
    new_rows(features, indices)
    i, status = at, FINE
    while i < ends.shape[0] and status == FINE:
        features.counts[ADDED] = 0
        place = indptr[i]
        if ends[i] > begins[i]:
            _, count, status = split_words(text, _U(begins[i]), _U(ends[i]), form[0], scratch, starts, letters)
            if status == FINE:
                row = place, place
                place = add_words(scratch, starts, count, form[1], indices, values, row, features)
                status = FINE if place >= 0 else int(place)
        if status == FINE:
            indptr[i + 1] = place
            i += 1
    new_rows(features, indices)
    return i, status
