"""Tables and JSON of a model's tally, the same in every command."""

import json
import math
from typing import TYPE_CHECKING, Any

import click

from weft.cli.options import show_name
from weft.text.printable import json_text, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from weft.reductions.class_tally import ClassTally
    from weft.tally.counts import Tally

MOST_TASKS = 20
"""So many tasks are shown one by one, unless all are asked for."""
_LONGEST_NAME = 20
"""Characters of a name that is not folded for the sake of columns that can be spared."""
BAR = " bar"
"""A column whose name ends so holds bars: it has no heading, and nobody is told where it is left out."""


def console(err: bool = False) -> "Console":
    """Standard output or standard error, whatever they are at the moment."""
    from weft.cli.screen import Screen

    return Screen(err)


def tell(line: str) -> None:
    """A line on standard error."""
    click.echo(printable(line), err=True)


def new_table(*columns: str, title: str | None = None) -> "Table":
    """A table whose first column is text and whose others are numbers."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for at, column in enumerate(columns):
        if at == 0:
            table.add_column(column, overflow="fold")
        else:
            table.add_column(column, justify="right", no_wrap=True)
    return table


def fitting_table(
    columns: list[str], lines: list[tuple[list[str], str]], spare: tuple[str, ...], title: str | None = None
) -> "Table":
    """A table of lines, each with its style, of which the bold one is a section of its own.

    Where it is wider than the screen, the columns `spare` go, one after the other, and a sentence below says so.
    """
    absent = _left_out(columns, [cells for cells, _ in lines], spare)
    kept = [at for at, name in enumerate(columns) if name not in absent]
    table = new_table(*("" if columns[at].endswith(BAR) else columns[at] for at in kept), title=title)
    for column, at in zip(table.columns, kept, strict=True):
        column.justify = "left" if columns[at].endswith(BAR) else column.justify
    for cells, style in lines:
        if style == "bold":
            table.add_section()
        table.add_row(*(cells[at] for at in kept), style=style)
    told = [name.replace("\n", " ") for name in absent if not name.endswith(BAR)]
    if told:
        table.caption = "Columns that did not fit: " + ", ".join(told)
        table.caption_justify, table.caption_style = "left", "none"
    return table


def _left_out(columns: list[str], rows: list[list[str]], spare: tuple[str, ...]) -> list[str]:
    heads = ["" if name.endswith(BAR) else name for name in columns]
    lines = [[line for cell in column for line in cell.split("\n")] for column in zip(heads, *rows, strict=True)]
    wide = {name: max(map(len, column)) + 3 for name, column in zip(columns, lines, strict=True)}
    wide[columns[0]] = min(wide[columns[0]], _LONGEST_NAME + 3)
    dropped, most = list[str](), console().width
    for name in spare:
        if sum(wide.values()) - sum(wide.get(one, 0) for one in dropped) - 1 <= most:
            break
        dropped += [name] * (name in columns)
    return dropped


def print_json(data: Any) -> None:
    """JSON on standard output; a number that is undefined is null."""
    click.echo(json_text(json.dumps(finite(data), ensure_ascii=False, indent=2)))


def finite(data: Any) -> Any:
    """The same with None for NaN, which JSON does not have, and plain Python for NumPy's numbers."""
    import numpy as np  # here, so that `weft --help` answers at once

    if isinstance(data, dict):
        return {str(key): finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    if isinstance(data, np.generic):
        return finite(data.item())
    return None if isinstance(data, float) and not math.isfinite(data) else data


def number(value: float | None, digits: int = 4) -> str:
    """A figure in a table; undefined ones are a dash."""
    return "-" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def count(value: float) -> str:
    """An integer with separators."""
    return f"{int(value):,}"


def plural(value: int, noun: str) -> str:
    """`1 line`, `2 lines`."""
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"


def share(value: float | None) -> str:
    """A share of 1 in per cent."""
    return "-" if value is None or not math.isfinite(value) else f"{100 * value:.1f}%"


_NAMES = {
    "binary": ("mistakes", "error", "F1", "mean loss"),
    "class": ("mistakes", "error", "mean loss"),
}
_OF_NUMBERS = ("mean deviation", "RMSE", "mean loss")
_SPARE = ("mean loss", "RMSE", "F1")
"""Columns that a narrow screen can do without, in that order."""


def tally_table(tally: "Tally | ClassTally", all_tasks: bool = False, title: str | None = None) -> "Table":
    """Task, events, mistakes, error, F1, mean loss: the largest tasks, the rest in a line, and all."""
    rows = sorted(tally.rows(), key=lambda row: -row["events"])
    shown = rows if all_tasks or len(rows) <= MOST_TASKS + 1 else rows[:MOST_TASKS]
    lines = [([show_name(row["task"]), *_figures(row, tally.target)], "") for row in shown]
    rest = rows[len(shown) :]
    if rest:
        lines.append(([f"{len(rest):,} smaller tasks", *_figures(_together(rest), tally.target)], "dim"))
    lines.append(([f"all {len(rows):,} tasks", *_figures(tally.total, tally.target)], "bold"))
    return fitting_table(["task", "events", *_NAMES.get(tally.target, _OF_NUMBERS)], lines, _SPARE, title)


def _figures(row: dict[str, Any], target: str) -> list[str]:
    if target not in _NAMES:
        return [count(row["events"]), number(row["error"]), number(row["rmse"]), number(row["loss"])]
    f1 = [number(row["f1"], 3)] if target == "binary" else []
    return [count(row["events"]), count(row["mistakes"]), share(row["error"]), *f1, number(row["loss"])]


def _together(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Several tasks as one; a ratio that cannot be had from the rows is undefined."""
    seen = [row for row in rows if row["events"]]
    events = sum(row["events"] for row in seen)
    whole = max(events, 1)
    mean = {key: sum(row[key] * row["events"] for row in seen) / whole for key in ("error", "loss")}
    if "mistakes" in rows[0]:
        return {**mean, "events": events, "mistakes": sum(row["mistakes"] for row in seen), "f1": math.nan}
    squares = sum(row["rmse"] ** 2 * row["events"] for row in seen)
    return {**mean, "events": events, "rmse": math.sqrt(squares / whole)}
