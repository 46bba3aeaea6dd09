"""`weft inspect --recent`: how well tasks did lately, the worst first."""

from typing import TYPE_CHECKING, Any

from weft.cli.options import show_name
from weft.cli.tables import MOST_TASKS, console, count, new_table, number, share

if TYPE_CHECKING:
    from weft.reductions.class_tally import ClassTally
    from weft.tally.counts import Tally

MARK = "worse"


def recent_rows(tally: "Tally | ClassTally") -> list[dict[str, Any]]:
    """Tasks with their recent error and the whole one; those that became worse first, then by recent error."""
    whole = {row["task"]: row["error"] for row in tally.rows()}
    rows = [{**row, "whole": whole[row["task"]]} for row in tally.recent.rows() if row["task"] in whole]
    return sorted(rows, key=lambda row: (not row["worse"], -row["error"] if row["error"] == row["error"] else 1.0))


def print_recent(tally: "Tally | ClassTally", all_tasks: bool) -> None:
    """A table on standard output."""
    figure = share if tally.target in ("binary", "class") else number
    rows = recent_rows(tally)
    shown = rows if all_tasks or len(rows) <= MOST_TASKS + 1 else rows[:MOST_TASKS]
    table = new_table("task", "events", "recent", "earlier", "all", "z", "", title="Error over recent events")
    table.columns[6].justify = "left"
    for row in shown:
        figures = [figure(row[name]) for name in ("error", "earlier", "whole")]
        mark = MARK if row["worse"] else ""
        table.add_row(show_name(row["task"]), count(row["events"]), *figures, f"{row['z']:+.1f}", mark)
    screen = console()
    screen.print(table)
    if len(rows) > len(shown):
        screen.print(f"{len(rows) - len(shown):,} tasks with smaller recent errors; --all-tasks lists them")
