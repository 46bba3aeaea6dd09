"""What the compiled readers fill: a column per part of an event, and the lines that they hand to the careful reader."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled.jit import inlined_only
from weft.scan.words import U1, find_byte

AT, LINES, EVENTS, ENTRIES, LISTED = range(5)
"""Entries of `progress`: the next byte to read; the numbers of lines, events, entries of rows, and listed lines."""

LONGEST_NAME = 1000
"""Bytes of a name; a line with a longer one is handed on."""


class Columns(NamedTuple):
    """Events of a block of lines.

    Event i is on the line `line[i]` of the block, counted from 0. Its row has the entries indptr[i] .. indptr[i + 1];
    `width` is one more than its largest index, where features are numbers. `round_at` and `round_length` say where the
    round is written. `listed` has a row per line that is handed on: its number, its first byte, and the byte behind its
    end.
    """

    line: NDArray[np.int64]
    label: NDArray[np.float64]
    task: NDArray[np.int64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    values: NDArray[np.float64]
    width: NDArray[np.int64]
    round_at: NDArray[np.int64]
    round_length: NDArray[np.int64]
    listed: NDArray[np.int64]
    progress: NDArray[np.int64]


def new_columns(size: int, has_rounds: bool = False, ngrams: int = 1) -> Columns:
    """Room for all events of a text of so many bytes: an event and an entry of a row take at least 2 of them.

    A text has as many entries as words for every length of runs of words up to `ngrams`.
    """
    events, entries = size // 2 + 2, ngrams * (size // 2 + 2)
    rounds = events if has_rounds else 0
    ints: Any = np.int64
    indptr = np.empty(events + 1, ints)
    indptr[0] = 0
    return Columns(
        np.empty(events, ints),
        np.empty(events),
        np.empty(events, ints),
        indptr,
        np.empty(entries, ints),
        np.empty(entries),
        np.empty(events, ints),
        np.empty(rounds, ints),
        np.empty(rounds, ints),
        np.empty((size // 2 + 2, 3), ints),
        np.zeros(5, ints),
    )


@inlined_only
def is_line_end(text: Any, at: Any) -> Any:
    """Is this the end of a line: a line feed, or a carriage return before one?"""
    return text[at] == 10 or (text[at] == 13 and text[at + U1] == 10)


@inlined_only
def hand_on(listed: Any, progress: Any, text: Any, begin: Any) -> Any:
    """List the line that begins there for the careful reader; returns where the next line begins."""
    end = find_byte(text, begin, 10) + U1
    row = progress[LISTED]
    listed[row, 0], listed[row, 1], listed[row, 2] = progress[LINES], np.int64(begin), np.int64(end)
    progress[LISTED] = row + 1
    return end


@inlined_only
def finish_numbered(indices: Any, values: Any, first: Any, last: Any, is_ordered: bool, smallest: float) -> Any:
    """Sort a row of numbered features and drop its zeros: where it ends, -1 if the careful reader must look at it."""
    if not is_ordered:
        if last - first > 256:
            return np.int64(-1)
        for e in range(first + 1, last):
            index, value, at = indices[e], values[e], e
            while at > first and indices[at - 1] > index:
                indices[at], values[at] = indices[at - 1], values[at - 1]
                at -= 1
            indices[at], values[at] = index, value
        for e in range(first + 1, last):
            if indices[e] == indices[e - 1]:
                return np.int64(-1)
    kept = first
    for e in range(first, last):
        indices[kept], values[kept] = indices[e], values[e]
        kept += abs(values[e]) >= smallest
    return kept
