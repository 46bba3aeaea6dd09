"""The rounds of a file that have ended, in little memory."""

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any


class EndedRounds:
    """A set of rounds. Integers are kept as ranges, so rounds that count 1, 2, 3 ... take no memory however many.

    Integers as text (the cells of a CSV file) are kept likewise, apart from numbers. Any other text is kept as it is.

    >>> ended = EndedRounds(); ended.update([1, 2, 3, 3, 7, "8", "monday"])
    >>> 2 in ended, 7 in ended, 8 in ended, "8" in ended, "08" in ended, "monday" in ended, len(ended)
    (True, True, False, True, False, True, 4)
    """

    def __init__(self) -> None:
        self._numbers = _Ranges()
        self._digits = _Ranges()
        self._texts: set[Any] = set()

    def __len__(self) -> int:
        """Of ranges and texts: what memory grows with."""
        return len(self._numbers.starts) + len(self._digits.starts) + len(self._texts)

    def __contains__(self, number: Any) -> bool:
        ranges, value = self._place(number)
        return value in self._texts if ranges is None else ranges.has(value)

    def update(self, numbers: Iterable[Any]) -> None:
        """Add rounds."""
        last: Any = None
        for number in numbers:
            if number == last and type(number) is type(last):
                continue
            last = number
            ranges, value = self._place(number)
            if ranges is None:
                self._texts.add(value)
            else:
                ranges.add(value)

    def _place(self, number: Any) -> tuple["_Ranges | None", Any]:
        if type(number) is int:
            return self._numbers, number
        if type(number) is str and number.isascii() and number.isdigit() and (number[0] != "0" or number == "0"):
            return (self._digits, int(number)) if len(number) <= 18 else (None, number)
        return None, number


class _Ranges:
    """Integers as sorted ranges start <= i < stop that do not touch."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.stops: list[int] = []

    def has(self, value: int) -> bool:
        at = bisect_right(self.starts, value) - 1
        return at >= 0 and value < self.stops[at]

    def add(self, value: int) -> None:
        at = bisect_right(self.starts, value) - 1
        if at >= 0 and value < self.stops[at]:
            return
        joins_left = at >= 0 and self.stops[at] == value
        joins_right = at + 1 < len(self.starts) and self.starts[at + 1] == value + 1
        if joins_left and joins_right:
            self.stops[at] = self.stops[at + 1]
            del self.starts[at + 1], self.stops[at + 1]
        elif joins_left:
            self.stops[at] += 1
        elif joins_right:
            self.starts[at + 1] = value
        else:
            self.starts.insert(at + 1, value)
            self.stops.insert(at + 1, value + 1)
