"""Which characters words are made of, and their lower case: a table over all of Unicode, as Python has it."""

import numpy as np
from numpy.typing import NDArray

CHARACTERS = 0x110000
SEPARATOR, UNSURE = 0, 0xFFFFFFFF
"""Entries for what is not part of a word, and for what depends on its neighbours or becomes several characters."""

NONE: NDArray[np.uint32] = np.zeros(0, np.uint32)
"""In place of the table as long as no text has needed it."""

_ODD = "İΣ"
"""The one becomes two characters, the other depends on whether a word ends; a test looks for more of them."""


def letters() -> NDArray[np.uint32]:
    """The lower case of every letter and digit by its code point; SEPARATOR, or UNSURE, for all other characters.

    >>> table = letters()
    >>> chr(table[ord("Ä")]), chr(table[ord("7")]), int(table[ord("_")]), bool(table[ord("İ")] == UNSURE)
    ('ä', '7', 0, True)
    """
    codes = np.arange(CHARACTERS, dtype=np.uint32)
    codes[0xD800:0xE000] = 32  # not characters by themselves
    codes[[ord(odd) for odd in _ODD]] = 32
    lower = codes.tobytes().decode("utf-32-le").lower()
    table = np.frombuffer(lower.encode("utf-32-le"), np.uint32).copy()
    table[~np.char.isalnum(np.frombuffer(table.tobytes(), "<U1"))] = SEPARATOR
    table[[ord(odd) for odd in _ODD]] = UNSURE
    return table
