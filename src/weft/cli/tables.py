"""Tables and JSON of a model's tally, the same in every command."""

import json
import math
from typing import TYPE_CHECKING, Any

import click

from weft.cli.options import show_name
from weft.printable import json_text, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from weft.tally import Tally

MOST_TASKS = 20
"""So many tasks are shown one by one, unless all are asked for."""


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


def tally_table(tally: "Tally", all_tasks: bool = False, title: str | None = None) -> "Table":
    """Task, events, mistakes, error, F1, mean loss: the largest tasks, the rest in a line, and all."""
    binary = tally.target == "binary"
    names = ["task", "events"]
    names += ["mistakes", "error", "F1", "mean loss"] if binary else ["mean deviation", "RMSE", "mean loss"]
    table = new_table(*names, title=title)
    rows = sorted(tally.rows(), key=lambda row: -row["events"])
    shown = rows if all_tasks or len(rows) <= MOST_TASKS + 1 else rows[:MOST_TASKS]
    for row in shown:
        table.add_row(show_name(row["task"]), *_figures(row, binary))
    rest = rows[len(shown) :]
    if rest:
        table.add_row(f"{len(rest):,} smaller tasks", *_figures(_together(rest, binary), binary), style="dim")
    table.add_section()
    table.add_row(f"all {len(rows):,} tasks", *_figures(tally.total, binary), style="bold")
    return table


def _figures(row: dict[str, Any], binary: bool) -> list[str]:
    if binary:
        mistakes = count(row["mistakes"])
        return [
            count(row["events"]),
            mistakes,
            share(row["error"]),
            number(row["f1"], 3),
            number(row["loss"]),
        ]
    return [count(row["events"]), number(row["error"]), number(row["rmse"]), number(row["loss"])]


def _together(rows: list[dict[str, Any]], binary: bool) -> dict[str, Any]:
    """Several tasks as one; a ratio that cannot be had from the rows is undefined."""
    seen = [row for row in rows if row["events"]]
    events = sum(row["events"] for row in seen)
    whole = max(events, 1)
    mean = {key: sum(row[key] * row["events"] for row in seen) / whole for key in ("error", "loss")}
    if binary:
        return {**mean, "events": events, "mistakes": sum(row["mistakes"] for row in seen), "f1": math.nan}
    squares = sum(row["rmse"] ** 2 * row["events"] for row in seen)
    return {**mean, "events": events, "rmse": math.sqrt(squares / whole)}
