"""`weft inspect --recent`: how well tasks did lately, the worst first."""

from typing import TYPE_CHECKING, Any

from weft.cli.options import show_name
from weft.cli.tables import BAR, MOST_TASKS, console, count, fitting_table, number, share

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
    lines = []
    for row in shown:
        figures = [figure(row[name]) for name in ("error", "earlier", "whole")]
        mark = MARK if row["worse"] else ""
        lines.append(([show_name(row["task"]), count(row["events"]), *figures, f"{row['z']:+.1f}", mark], ""))
    screen = console()
    columns = ["task", "events", "recent", "earlier", "all", "z", f"worse{BAR}"]
    screen.print(fitting_table(columns, lines, ("z", "all"), "Error over recent events"))
    if len(rows) > len(shown):
        screen.print(f"{len(rows) - len(shown):,} tasks with smaller recent errors; --all-tasks lists them")
