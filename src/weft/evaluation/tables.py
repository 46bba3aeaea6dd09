"""Tables of figures as plain text, for a terminal, for a notebook; the first column holds names."""

import math
from html import escape
from typing import Any

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


def as_rich(title: str, head: list[str], lines: list[Line], foot: list[str]) -> Any:
    """A rich table, the best figures in bold; a long name is folded, a figure never."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column(head[0], overflow="fold", min_width=min(12, max(len(line[0][0]) for line in lines)))
    for name in head[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(*(Text(text, style="bold" if is_best else "") for text, is_best in line))
    return Group(table, *map(Text, foot)) if foot else table


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
