"""Flags of `os.open` that not every system has."""

import os


def open_flags(*names: str) -> int:
    """Flags by their names, those that this system has.

    >>> open_flags("O_CREAT", "O_UNHEARD_OF") == os.O_CREAT
    True
    """
    return sum(getattr(os, name, 0) for name in names)
