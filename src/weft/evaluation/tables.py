"""Tables of figures as plain text, for a terminal, for a notebook; the first column holds names."""

import math
from collections.abc import Iterator
from html import escape
from typing import Any

from weft.text.printable import printable

LONGEST_NAME = 18
"""So long a name is not folded for the sake of columns that can be spared."""

LEAST_NAME = 12
"""So much room a name has at least, if that is not more than it needs; more columns go then."""

Line = list[tuple[str, bool]]
"""Cells: what they say, and whether that is the best of the column."""


def figure(value: float, se: float = math.nan) -> str:
    """A number, with its standard error if there is one; "-" for NaN.

    >>> figure(0.12345), figure(0.12345, 0.01), figure(math.nan)
    ('0.1235', '0.1235 ±0.0100', '-')
    """
    if math.isnan(value):
        return "-"
    return f"{value:.4f}" if math.isnan(se) else f"{value:.4f} ±{se:.4f}"


def as_text(title: str, head: list[str], lines: list[Line], foot: list[str]) -> str:
    """Plain text, in columns, with sentences at the foot."""
    table = [head, *([text for text, _ in line] for line in lines)]
    wide = [max(map(len, column)) for column in zip(*table, strict=True)]
    text = [
        "  ".join([line[0].ljust(wide[0]), *(cell.rjust(w) for cell, w in zip(line[1:], wide[1:], strict=True))])
        for line in table
    ]
    return "\n".join([title, *text, *foot])


class Fitting:
    """A table for a terminal, the best figures in bold; a long name is folded, a figure never.

    Where it is too wide, the columns `spare` go, one after the other, and a sentence says so; then those of `at_last`,
    as long as folded names have not even a little room.
    """

    def __init__(
        self, title: str, head: list[str], lines: list[Line], foot: list[str], spare: list[str], at_last: list[str]
    ) -> None:
        self.title, self.head, self.lines, self.foot, self.spare, self.at_last = (
            title,
            head,
            lines,
            foot,
            spare,
            at_last,
        )

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.padding import Padding
        from rich.text import Text

        dropped: list[str] = []
        for names, room in ((self.spare, LONGEST_NAME), (self.at_last, LEAST_NAME)):
            for name in names:
                if self._width(dropped, room) <= options.max_width:
                    break
                dropped += [name] * (name in self.head)
        yield self._table(dropped)
        if dropped:
            yield Text(f"Columns that did not fit: {', '.join(dropped)}")
        for sentence in self.foot:  # an indented sentence stays so in every line
            indent = len(sentence) - len(sentence.lstrip())
            yield Padding(Text(printable(sentence.lstrip())), (0, 0, 0, indent), expand=False)

    def _width(self, dropped: list[str], room: int) -> int:
        """With two columns between figures and one at either edge; a very long name may be folded."""
        table = [self.head, *([text for text, _ in line] for line in self.lines)]
        wide = [max(map(len, column)) for column in zip(*table, strict=True) if column[0] not in dropped]
        return min(wide[0], room) + sum(wide[1:]) + 2 * len(wide)

    def _table(self, dropped: list[str]) -> Any:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        table = Table(title=self.title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        kept = [at for at, name in enumerate(self.head) if name not in dropped]
        for at in kept:
            if at == 0:
                table.add_column(
                    self.head[0],
                    overflow="fold",
                    min_width=min(LEAST_NAME, max(len(line[0][0]) for line in self.lines)),
                )
            else:
                table.add_column(self.head[at], justify="right", no_wrap=True)
        for line in self.lines:
            table.add_row(*(Text(line[at][0], style="bold" if line[at][1] else "") for at in kept))
        return table


def as_html(title: str, head: list[str], lines: list[Line], foot: list[str]) -> str:
    """An HTML table, the best figures in bold."""
    rows = ["".join(f"<th>{escape(name)}</th>" for name in head)]
    for line in lines:
        cells = (f"<b>{escape(text)}</b>" if is_best else escape(text) for text, is_best in line)
        rows.append("".join(f"<td>{cell}</td>" for cell in cells))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    below = "".join(f"<tr><td colspan={len(head)}>{escape(sentence)}</td></tr>" for sentence in foot)
    below = f"<tfoot>{below}</tfoot>" if foot else ""
    return f"<table><caption>{escape(title)}</caption>{body}{below}</table>"
