"""Rows put together: from columns, and from entries of which several are of one feature."""

from typing import Any

from weft.compiled.jit import compiled


@compiled
def merge_rows(rows: Any, merged: Any, seen: Any) -> int:
    """Fill `merged` with indptr, indices and values; `seen` has a zero per feature. Returns the number of entries."""
    indptr, indices, values = rows
    new_indptr, new_indices, new_values = merged
    place = 0
    new_indptr[0] = 0
    for r in range(indptr.shape[0] - 1):
        first = place
        for e in range(indptr[r], indptr[r + 1]):
            where = seen[indices[e]] - 1
            if where >= first:
                new_values[where] += values[e]
            else:
                new_indices[place], new_values[place] = indices[e], 0.0 + values[e]  # as a sum, which is never -0
                place += 1
                seen[indices[e]] = place
        new_indptr[r + 1] = place
    return place


NUMBER, NAME, TEXT = 0, 1, 2
"""What a column of a table adds to a row: a number, or none; a feature with the value 1, or none; several features."""


@compiled
def merge_columns(kinds: Any, numbers: Any, names: Any, texts: Any, merged: Any) -> int:
    """Fill `merged` with the indptr, indices and values of all rows, column by column; returns the number of entries.

    kinds    per column: its kind, which one of this kind it is, and the code of the feature of a column of numbers
    numbers  a row per column, NaN where there is none
    names    a row of codes per column, -1 where there is none
    texts    a row per column that says where the entries of every row begin, and of the last one end; all these entries
    """
    bounds, text_indices, text_values = texts
    indptr, indices, values = merged
    place = 0
    indptr[0] = 0
    for r in range(indptr.shape[0] - 1):
        for c in range(kinds.shape[0]):
            at = kinds[c, 1]
            if kinds[c, 0] == NUMBER:
                value = numbers[at, r]
                indices[place], values[place] = kinds[c, 2], value
                place += 0 if value != value else 1
            elif kinds[c, 0] == NAME:
                code = names[at, r]
                indices[place], values[place] = code, 1.0
                place += 1 if code >= 0 else 0
            else:
                for e in range(bounds[at, r], bounds[at, r + 1]):
                    indices[place], values[place] = text_indices[e], text_values[e]
                    place += 1
        indptr[r + 1] = place
    return place
