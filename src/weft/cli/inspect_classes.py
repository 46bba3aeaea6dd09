"""What `weft inspect` shows of a file with a model per class."""

from typing import TYPE_CHECKING, Any

from weft.cli.options import show_name
from weft.cli.tables import MOST_TASKS, console, count, new_table, number, print_json, share

if TYPE_CHECKING:
    from weft.reductions.per_class import Multiclass


def inspect_classes(model: "Multiclass", path: str, all_tasks: bool, as_json: bool) -> None:
    """Learner, classes, and how well every task did."""
    rows: list[dict[str, Any]] = sorted(model.tally.rows(), key=lambda row: -row["events"])
    total = model.tally.total
    learner = {"name": model.name, "parameters": model.parameters}
    if as_json:
        print_json({"model": path, "learner": learner, "classes": model.classes, "total": total, "tasks": rows})
        return
    screen = console()
    words = ", ".join(map(str, model.classes[:MOST_TASKS])) + (", ..." if len(model.classes) > MOST_TASKS else "")
    screen.print(f"{path}: a model per class by {model.name}, {len(model.classes):,} classes: {words}", soft_wrap=True)
    shown = rows if all_tasks or len(rows) <= MOST_TASKS + 1 else rows[:MOST_TASKS]
    table = new_table("task", "events", "mistakes", "error", "mean loss", title="Predictions before learning")
    for row in shown:
        table.add_row(show_name(row["task"]), *_figures(row))
    table.add_section()
    table.add_row(f"all {len(rows):,} tasks", *_figures(total), style="bold")
    screen.print(table)


def _figures(row: dict[str, Any]) -> list[str]:
    return [count(row["events"]), count(row["mistakes"]), share(row["error"]), number(row["loss"])]
