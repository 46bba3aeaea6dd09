"""`weft inspect --against FILE`: what sharing gains, against the same learner on every task alone and on all as one."""

from typing import TYPE_CHECKING, Any

from weft.cli.options import Reading, show_name
from weft.cli.schema_options import find_fields
from weft.cli.tables import MOST_TASKS, console, count, fitting_table, number, share

if TYPE_CHECKING:
    from weft.model import Model

SCOPES = ("together", "alone", "pooled")


def sharing(model: "Model", file: str, reading: Reading) -> dict[str, Any]:
    """Errors of the model's learner on a file, in its order: per task and in all, with what sharing gains."""
    from weft.evaluation.comparison import compare
    from weft.streams import read_whole

    fields = find_fields((file,), reading, model)
    stream = read_whole(file, target=model.target, schema=fields.schema, **reading.keywords).stream
    entries = {scope: (model.name, {**model.parameters, "scope": scope}) for scope in SCOPES}
    found = compare(stream, entries, shuffles=0, progress=False)
    rows = [{name: row[name] for name in ("task", "events", *SCOPES)} for row in found.per_task()]
    total = {row["learner"]: row["error"] for row in found.rows()}
    events = sum(row["events"] for row in rows)
    everything = {"task": None, "events": events, **total}
    for row in (*rows, everything):
        row["gain"] = 1.0 - row["together"] / row["alone"] if row["alone"] > 0.0 else None
    return {"file": file, "learner": model.name, "tasks": rows, "total": everything}


def print_sharing(model: "Model", facts: dict[str, Any], all_tasks: bool) -> None:
    """A table on standard output, tasks that gain least first."""
    figure = share if model.target == "binary" else number
    rows = sorted(facts["tasks"], key=lambda row: row["gain"] if row["gain"] is not None else 0.0)
    shown = rows if all_tasks or len(rows) <= MOST_TASKS + 1 else rows[:MOST_TASKS]
    title = f"Does sharing help {facts['learner']}? Errors on {facts['file']}, in its order"

    def line(name: str, row: dict[str, Any], style: str = "") -> tuple[list[str], str]:
        gain = "-" if row["gain"] is None else f"{100.0 * row['gain']:+.1f}%"
        return [name, count(row["events"]), *(figure(row[scope]) for scope in SCOPES), gain], style

    lines = [line(show_name(row["task"]), row) for row in shown]
    lines.append(line(f"all {len(rows):,} tasks", facts["total"], "bold"))
    screen = console()
    screen.print(fitting_table(["task", "events", *SCOPES, "gain"], lines, ("events", "pooled"), title))
    screen.print(
        "together: the learner as it is. alone: the same learner on every task by itself. pooled: on all tasks as "
        "one. gain: how much smaller the error is together than alone.",
        style="dim",
    )
