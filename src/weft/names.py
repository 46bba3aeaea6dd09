"""Names of tasks and features: strings, integers, or tuples of those; slots are assigned in order of appearance.

Other types are refused when they first appear: a name must survive a model file, and `True`, `1` and `1.0` must not be
the same name.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Ints

Name = str | int | tuple[Any, ...]

_SIMPLE = frozenset((str, int))

MOST_NAMES = 1 << 32
"""Largest number of features: a slot must fit its half of a (task, feature) key."""


MOST_NESTED = 32
"""Tuples within tuples in a name."""
MOST_BITS = 4096
"""Of an integer that is a name: beyond some 4300 digits Python writes none."""


def plain(name: Any, what: str, depth: int = 0) -> Name:
    """The name as a plain Python object, or a ValueError that begins with `what`; a file can hold what is returned."""
    if isinstance(name, str):
        return str(name)
    if isinstance(name, int | np.integer) and not isinstance(name, bool | np.bool_):
        if int(name).bit_length() > MOST_BITS:
            raise ValueError(f"{what} is an integer of more than {MOST_BITS} bits; use a string as a name")
        return int(name)
    if isinstance(name, tuple) and name:
        if depth == MOST_NESTED:
            raise ValueError(f"{what} has tuples nested more than {MOST_NESTED} deep; use a flat tuple or a string")
        return tuple(plain(part, what, depth + 1) for part in name)
    raise ValueError(
        f"{what} {name!r} is a {type(name).__name__}; use a string, an integer or a tuple of those as a name"
    )


def show_name(name: Name) -> str:
    """A name as people write it; tuples as JSON lists.

    >>> show_name("ann"), show_name(7), show_name(("team", 1))
    ('ann', '7', '["team", 1]')
    """
    return name if isinstance(name, str) else json.dumps(name, ensure_ascii=False)


def declared(names: Any, what: str) -> list[Name]:
    """Names that a user declares up front: a list of them, a number (0, 1, ...), or None for none."""
    if names is None:
        return []
    if isinstance(names, str | bool) or not isinstance(names, int | np.integer | Iterable):
        raise ValueError(f"{what}={names!r} must be a number or a list of names")
    if isinstance(names, int | np.integer):
        if names < 1:
            raise ValueError(f"{what}={names} must be at least 1")
        return list(range(int(names)))
    found = [plain(name, f"{what}: name") for name in names]
    if len(set(found)) != len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise ValueError(f"{what} names {twice!r} twice")
    return found


class Names:
    """Names <-> slots 0, 1, 2 ...

    The columns of matrices are names 0 .. d-1. As long as slot and number agree they are not stored one by one.

    >>> names = Names(["ann", 7]); names.extend(["bob"]); len(names), names[2], names.find("ann"), names.find("eve")
    (3, 'bob', 0, -1)
    """

    def __init__(self, names: Iterable[Name] = (), columns: int = 0) -> None:
        self.columns = columns  # slots 0 .. columns-1 are the integers 0 .. columns-1
        self.slots: dict[Name, int] = {}
        self.only_text = columns == 0  # all names are strings, which equal nothing else
        self._later: list[Name] = []
        # The last lookup in which all names were known; slots never change, and several threads may look up at once.
        self._last: tuple[list[Name], Ints] = ([], np.zeros(0, np.int64))
        self.extend(names)

    def __len__(self) -> int:
        return self.columns + len(self._later)

    def __getitem__(self, slot: int) -> Name:
        return slot if slot < self.columns else self._later[slot - self.columns]

    def __iter__(self) -> Any:
        yield from range(self.columns)
        yield from self._later

    @property
    def later(self) -> list[Name]:
        """The names after the columns; not to be changed."""
        return self._later

    @property
    def has_only_columns(self) -> bool:
        """Is every name its own slot?"""
        return not self._later

    @property
    def has_text(self) -> bool:
        """Is any name a string?"""
        return bool(self._later) and isinstance(self._later[0], str)

    def find(self, name: Any) -> int:
        """The slot of a name, or -1."""
        slot = self.slots.get(name)
        if slot is not None:
            return slot
        return name if type(name) is int and 0 <= name < self.columns else -1

    def find_plain(self, name: Any) -> int:
        """The slot of what may be a name, or -1: `("a", True)` equals `("a", 1)`, but is not a name."""
        if type(name) is tuple:
            name = plain(name, "task")
        elif type(name) not in _SIMPLE:
            return -1
        return self.slots.get(name, -1)

    def extend(self, names: Iterable[Name]) -> None:
        """Add names that are not there yet."""
        names = list(names)
        self.slots.update(zip(names, range(len(self), len(self) + len(names)), strict=True))
        self._later += names
        self.only_text = self.only_text and set(map(type, names)) <= {str}

    def widen(self, columns: int) -> None:
        """Make 0 .. columns-1 names, if there are no others."""
        self.columns = max(self.columns, columns)
        self.only_text = self.only_text and self.columns == 0

    def locate(self, names: Sequence[Name] | int) -> tuple[Ints | None, "Addition"]:
        """Slots for `names` (an int d means the columns 0 .. d-1), new ones after the last, and the names to add.

        The slots are None where every name is its own slot.
        """
        if isinstance(names, int):
            if not self._later:
                return None, Addition(columns=max(names, self.columns))
            names = range(names)
        if len(self) == 0:
            return None, Addition(names)
        slots = self._known(names)
        unknown = np.flatnonzero(slots < 0)
        slots[unknown] = len(self) + np.arange(len(unknown))
        return _or_none(slots), Addition([names[at] for at in unknown.tolist()], self.columns)

    def known(self, names: Sequence[Name] | int) -> Ints | None:
        """Slots for `names`, -1 where unknown; None where every name is its own slot."""
        if isinstance(names, int):
            if not self._later:
                columns = np.arange(names)
                return None if names <= self.columns else np.where(columns < self.columns, columns, -1)
            names = range(names)
        return _or_none(self._known(names))

    def _known(self, names: Sequence[Name]) -> Ints:
        last_names, last_slots = self._last
        if names == last_names:  # a repeated stream: comparing is ten times faster than looking up
            return last_slots
        slots = np.fromiter(map(self.slots.get, names, repeat(-1)), np.int64, len(names))
        if self.columns:
            for at in np.flatnonzero(slots < 0).tolist():
                slots[at] = self.find(names[at])
        if not np.any(slots < 0):
            self._last = list(names), slots
        return slots

    def add(self, addition: "Addition") -> None:
        """Add the names that `locate` proposed."""
        self.widen(addition.columns)
        self.extend(addition.names)

    @property
    def size(self) -> "Size":
        """What `undo` takes to undo the additions that follow."""
        return Size(self.columns, len(self._later), self.only_text)

    def undo(self, addition: "Addition", before: "Size") -> None:
        """Undo `add`, even one that failed halfway."""
        for name in addition.names:
            if self.slots.get(name, -1) >= before.columns + before.later:
                del self.slots[name]
        del self._later[before.later :]
        self.columns, self.only_text = before.columns, before.only_text

    def after(self, addition: "Addition") -> int:
        """The number of names after the addition."""
        return max(self.columns, addition.columns) + len(self._later) + len(addition.names)


def _or_none(slots: Ints) -> Ints | None:
    """None where every name is its own slot: the rows of a piece of a stream then need not be copied and sorted."""
    return None if np.array_equal(slots, np.arange(len(slots))) else slots


class Size(NamedTuple):
    """How many names there are, and whether all are strings."""

    columns: int
    later: int
    only_text: bool


class Addition:
    """Names to be added once their batch is accepted."""

    def __init__(self, names: Sequence[Name] = (), columns: int = 0) -> None:
        self.names = names
        self.columns = columns
