"""Small tables in HTML, for notebooks: every text is escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from weft.names import show_name
from weft.text.printable import printable

MOST_ROWS = 20
"""So many rows are shown; the rest is counted."""


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table with a title above it; numbers have four digits.

    >>> table("a < b", ["task", "error"], [["<ann>", 0.25]])
    '<p>a &lt; b</p><table><tr><th>task</th><th>error</th></tr><tr><td>&lt;ann&gt;</td><td>0.25</td></tr></table>'
    """
    every = list(rows)
    lines = [_row("th", columns), *(_row("td", row) for row in every[:MOST_ROWS])]
    if len(every) > MOST_ROWS:
        lines.append(f'<tr><td colspan="{len(columns)}">and {len(every) - MOST_ROWS:,} more</td></tr>')
    return f"<p>{_text(title)}</p><table>{''.join(lines)}</table>"


def tally_table(title: str, rows: list[dict[str, Any]], recent: list[dict[str, Any]]) -> str:
    """A table of a tally, the largest tasks first, with recent errors beside those over all events."""
    lately = {row["task"]: row for row in recent}
    shown = sorted((row for row in rows if row["task"] in lately), key=lambda row: -row["events"])
    cells = [
        (row["task"], row["events"], row["error"], lately[row["task"]]["error"], lately[row["task"]]["worse"])
        for row in shown
    ]
    return table(title, ["task", "events", "error", "recent error", "worse"], cells)


def _row(kind: str, cells: Sequence[Any]) -> str:
    return "<tr>" + "".join(f"<{kind}>{_text(cell)}</{kind}>" for cell in cells) + "</tr>"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return "-" if value != value else f"{value:.4g}"
    return escape(printable(show_name(value) if isinstance(value, tuple) else str(value)))
