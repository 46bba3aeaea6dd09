"""What `weft inspect` shows of `auto`: what every task relies on, its simple experts beside it, and the guarantee."""

from typing import TYPE_CHECKING, Any

from weft.cli.options import show_name
from weft.cli.tables import MOST_TASKS, count, fitting_table, number

if TYPE_CHECKING:
    from weft.model import Model

_COLUMNS = ["task", "stack", "own", "pooled", "loss", "own\nexpert", "pooled\nexpert", "below own\nexpert",
            "guaranteed\nmargin"]  # fmt: skip
_SPARE = ("pooled\nexpert", "own\nexpert", "guaranteed\nmargin", "pooled", "own", "stack")
"""Columns that a narrow screen can do without, in that order."""
_LOSSES = ("loss", "own_loss", "pooled_loss")


def borrowed(model: "Model") -> list[dict[str, Any]] | None:
    """Per task, the largest first: the weights of its mixture, the losses so far, and by how much the bound holds."""
    if "borrowing" not in model.views:
        return None
    rows = [{"task": task, **found._asdict()} for task, found in model.borrowing().items()]
    return sorted(rows, key=lambda row: -row["events"])


def weights_of_experts(model: "Model") -> dict[str, float] | None:
    """The experts inside, the heaviest first, and their weights in the stack."""
    if "borrowing" not in model.views:
        return None
    return dict(sorted(model.borrowing().experts.items(), key=lambda item: -abs(item[1])))


def print_borrowed(screen: Any, model: "Model", all_tasks: bool) -> None:
    """The same as a table, with mean losses, also of the simple experts inside."""
    rows = borrowed(model)
    if not rows:
        return
    shown = rows if all_tasks or len(rows) <= MOST_TASKS + 1 else rows[:MOST_TASKS]
    lines = [(_figures(row), "") for row in shown if row["events"]]
    rest = rows[len(shown) :]
    if rest:
        lines.append(([f"{len(rest):,} more", *[""] * 8], "dim"))
    lines.append((_total(rows), "bold"))
    title = "What tasks borrow: weights of their mixture, and mean losses"
    screen.print(fitting_table(_COLUMNS, lines, _SPARE, title))
    worth = weights_of_experts(model) or {}
    screen.print("Weights of the experts: " + ", ".join(f"{name} {weight:+.2f}" for name, weight in worth.items()))
    unit = "nats" if model.target == "binary" else "half squares of its labels' spread"
    screen.print(
        "loss: of auto, and of two simple models inside it, the task's own expert and the one pooled from all tasks. "
        "below own expert: how much less auto loses than that one, which is weaker than auto on this task alone; "
        f"weft compare and weft inspect --against FILE tell what sharing gains. guaranteed margin ({unit}): by how "
        "much the loss is below its bound, the total loss of the best part and a constant, which holds on any data.",
        style="dim",
    )


def _figures(row: dict[str, Any]) -> list[str]:
    weights = [f"{100.0 * row[part]:.0f}%" for part in ("stack", "own", "pooled")]
    losses = [number(row[part] / row["events"], 3) for part in _LOSSES]
    return [show_name(row["task"]), *weights, *losses, _gain(row), number(row["certificate"], 2)]


def _total(rows: list[dict[str, Any]]) -> list[str]:
    """The same of all tasks together; no figures if they have no events."""
    events, name = sum(row["events"] for row in rows), f"all {count(len(rows))}"
    if not events:
        return [name, *[""] * 8]
    totals = {part: sum(row[part] for row in rows) for part in _LOSSES}
    means = [number(value / events, 3) for value in totals.values()]
    return [name, "", "", "", *means, _gain(totals), number(min(row["certificate"] for row in rows), 2)]


def _gain(row: dict[str, Any]) -> str:
    return "-" if row["own_loss"] <= 0.0 else f"{100.0 * (1.0 - row['loss'] / row['own_loss']):+.1f}%"
