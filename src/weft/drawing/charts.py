"""What can be drawn: curves, bars in groups, rows of dots. Data alone; `weft.drawing.svg` draws it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from weft.drawing.axes import short

Line = tuple[Sequence[float], Sequence[float]] | tuple[Sequence[float], Sequence[float], Sequence[float]]
"""xs, ys and, where there are some, the standard errors of the ys."""


@dataclass(frozen=True)
class Picture:
    """Curves over one axis: a name each, points, perhaps with error bars.

    looks      colour and dashes of lines by name, as `look` numbers them; by default in their order
    top        the upper end of the y axis, which then begins at 0
    loose      points without a line between them
    marks      a mark at every point of a line with few of them
    """

    title: str
    lines: Mapping[str, Line]
    x: str
    y: str
    log_x: bool = False
    note: str = ""
    looks: Mapping[str, int] = field(default_factory=dict)
    top: float | None = None
    write_y: Callable[[float], str] = short
    loose: bool = False
    marks: bool = True

    def __post_init__(self) -> None:
        for name, line in self.lines.items():
            if len({len(part) for part in line}) != 1 or len(line) not in (2, 3):
                raise ValueError(f"picture {self.title!r}: line {name!r} needs xs and ys (and errors) of one length")

    @property
    def names(self) -> list[str]:
        """What a legend names."""
        return list(self.lines)

    def look(self, name: str) -> int:
        """The number of a line's colour and dashes."""
        return self.looks.get(name, list(self.lines).index(name))


@dataclass(frozen=True)
class Bars:
    """Bars in groups: for every name a height per group, perhaps with error bars; NaN leaves a bar out."""

    title: str
    groups: Sequence[str]
    bars: Mapping[str, tuple[Sequence[float], ...]]
    y: str
    note: str = ""

    def __post_init__(self) -> None:
        for name, bar in self.bars.items():
            if len(bar) not in (1, 2) or any(len(part) != len(self.groups) for part in bar):
                raise ValueError(f"picture {self.title!r}: {name!r} needs a height (and an error) for every group")

    @property
    def names(self) -> list[str]:
        """What a legend names."""
        return list(self.bars)

    def look(self, name: str) -> int:
        """The number of a name's colour."""
        return list(self.bars).index(name)


class Row(NamedTuple):
    """A line of dots: its name, a value for each name of the legend (NaN leaves it out), and perhaps a range."""

    name: str
    values: Sequence[float]
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Dots:
    """Rows of dots on one axis, a dot per name of the legend, with a line from the least to the greatest of a row.

    breaks     after so many rows there is a gap, as between the first and the last of many
    """

    title: str
    names: Sequence[str]
    rows: Sequence[Row]
    x: str
    log_x: bool = False
    note: str = ""
    breaks: Sequence[int] = ()
    write_x: Callable[[float], str] = short

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.values) != len(self.names):
                raise ValueError(f"picture {self.title!r}: row {row.name!r} needs a value for each of {self.names}")

    def look(self, name: str) -> int:
        """The number of a name's colour."""
        return list(self.names).index(name)


Chart = Picture | Bars | Dots
