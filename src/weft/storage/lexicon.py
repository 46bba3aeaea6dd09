"""What a reader of files hands to a model: codes instead of names, and the lexicon that says what they mean.

The names of a source are numbered as they are found in it, and a code means the same name to the end of the source. So
a model looks a name up once and keeps the slot of every code (`CodeSlots`): a chunk then costs a gather.
"""

import weakref
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import compiled
from weft.names import Addition, Name, Names


class Lexicon:
    """The names of a source, by their codes 0, 1, 2 ...; names are only ever added.

    A lexicon may hold names of events that were refused. A model learns the names of the events that it is given, in
    the order in which they appear there; codes have no other meaning than to be told apart.

    >>> words = Lexicon(); words.code("ann"), words.code(7), words.code("ann"), words.names
    (0, 1, 0, ['ann', 7])
    """

    def __init__(self) -> None:
        self.names: list[Name] = []
        self.fields: set[int] = set()
        """Codes of features that are the numbers of a field: a record without that field lacks a value."""
        self._codes: dict[Name, int] = {}

    def __len__(self) -> int:
        return len(self.names)

    def code(self, name: Name) -> int:
        """The code of a name, which is added if it is new."""
        code = self._codes.setdefault(name, len(self.names))
        if code == len(self.names):
            self.names.append(name)
        return code


class CodedRows(NamedTuple):
    """Rows of named features as the source has them: in any order, zeros included, none twice, all finite."""

    indptr: Ints
    indices: Ints
    values: Floats
    names: Lexicon

    @property
    def length(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1


class CodeSlots:
    """The slots of the codes of the lexicon that was used last, as far as its names are known.

    Only slots that a name already has are kept: they never change, so nothing has to be undone when a batch is refused.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._last: tuple[weakref.ref[Lexicon] | None, Ints] = (None, np.zeros(0, np.int64))

    def known(self, codes: Ints, lexicon: Lexicon) -> Ints:
        """The slot of every code, -1 where the name is unknown."""
        slots, _, found = self._find(codes, lexicon)
        _fill(slots, found)
        return slots

    def locate(self, codes: Ints, lexicon: Lexicon) -> tuple[Ints, Addition]:
        """The slot of every code, new ones after the last in the order of the codes, and the names to add."""
        slots, new, found = self._find(codes, lexicon)
        is_unknown = found < 0
        found[is_unknown] = len(self._names) + np.arange(np.count_nonzero(is_unknown))
        _fill(slots, found)
        return slots, Addition([lexicon.names[code] for code in new[is_unknown].tolist()], self._names.columns)

    def _find(self, codes: Ints, lexicon: Lexicon) -> tuple[Ints, Ints, Ints]:
        """The slot of every code, or -2 - i for a code whose slot is not kept yet: the i-th of these to appear.

        These codes, in the order in which they appear, and their slots, -1 where the name is unknown.
        """
        kept = self._kept(lexicon)
        slots, new = np.empty(len(codes), np.int64), np.empty(min(len(codes), len(kept)), np.int64)
        new = new[: _look_up(codes, kept, slots, new, np.zeros(len(kept), np.int64))]
        find, names = self._names.find, lexicon.names
        found = np.array([find(names[code]) for code in new.tolist()], np.int64)
        kept[new] = found
        return slots, new, found

    def _kept(self, lexicon: Lexicon) -> Ints:
        """The slots kept so far, with room for every code of the lexicon."""
        last, kept = self._last
        if last is None or last() is not lexicon:
            kept = np.zeros(0, np.int64)
        if len(kept) < len(lexicon):
            grown = np.full(max(len(lexicon), 2 * len(kept)), -1, np.int64)
            grown[: len(kept)] = kept
            kept = grown
            self._last = weakref.ref(lexicon), kept
        return kept


@compiled
def _look_up(codes: Ints, kept: Ints, slots: Ints, new: Ints, numbers: Ints) -> int:
    """Fill the slots of codes; codes without a slot are numbered and listed. `numbers` has a zero per code.

    `kept` is only read: threads may look up codes at the same time.
    """
    count = 0
    for i in range(codes.shape[0]):
        code = codes[i]
        slot = kept[code]
        if slot < 0:
            if numbers[code] == 0:
                new[count] = code
                count += 1
                numbers[code] = count
            slot = -1 - numbers[code]
        slots[i] = slot
    return count


@compiled
def _fill(slots: Ints, found: Ints) -> None:
    """Replace -2 - i by found[i]."""
    for i in range(slots.shape[0]):
        if slots[i] < -1:
            slots[i] = found[-2 - slots[i]]
