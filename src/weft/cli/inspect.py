"""`weft inspect`: what a model file holds."""

from typing import TYPE_CHECKING, Any

import click

from weft.cli.options import example, find_task, json_option, program, show_name
from weft.cli.tables import console, count, new_table, number, plural, print_json, tally_table

if TYPE_CHECKING:
    from weft.model import Model

LARGEST_MATRIX = 20_000_000
"""Matrices beyond so many entries are not made just to be looked at."""


@click.command(
    "inspect", epilog=example("weft demo --model demo.weft", "weft inspect demo.weft --task loner/01 --top 5")
)
@click.argument("model_path", metavar="MODEL")
@click.option("--task", metavar="NAME", help="Show this task alone, with its heaviest features.")
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, help="How many features to show.")
@click.option("--all-tasks", is_flag=True, help="List every task, not only the 20 largest.")
@json_option
def command(model_path: str, task: str | None, top: int, all_tasks: bool, as_json: bool) -> None:
    """Show what MODEL holds: its learner, its tasks, how well it did and how tasks are related.

    With --task, the features that weigh most for that task: a positive weight speaks for the label +1, a
    negative one for -1.
    """
    from weft.model import load

    model = load(model_path)
    name = find_task(model, task) if task is not None else None
    facts = _facts(model, model_path)
    if name is not None:
        facts["task"] = {"name": name, **model.tally[name], "weights": _heaviest(model, name, top)}
    if as_json:
        print_json({**facts, "tasks": model.tally.rows()} if name is None else facts)
    else:
        _print(model, facts, name, all_tasks)


def _facts(model: "Model", path: str) -> dict[str, Any]:
    from weft.learners.catalogue import to_json

    return {
        "model": path,
        "learner": to_json(model.learner),
        "paper": model.learner.paper,
        "counts": {
            "tasks": len(model.tasks),
            "features": len(model.features),
            "events": model.tally.total["events"],
            "support": _support_size(model),
        },
        "relations": _relations(model),
        "total": model.tally.total,
    }


def _support_size(model: "Model") -> int | None:
    try:
        return len(model.support())
    except ValueError:
        return None  # a learner with weights keeps no rows


def _relations(model: "Model") -> dict[str, Any]:
    """How a step on one task moves the others, in words, with the strongest pairs if there is a choice."""
    import numpy as np

    n = len(model.tasks)
    if n < 2:
        return {"summary": "one task, no relations"} if n else {"summary": "no tasks yet"}
    if n * n > LARGEST_MATRIX:
        return {"summary": f"{count(n)} tasks: too many for a matrix of relations"}
    try:
        matrix = np.array(model.relations(), np.float64)
    except ValueError as error:
        return {"summary": str(error)}
    others = matrix[~np.eye(n, dtype=bool)]
    if not np.any(others):
        return {"summary": "none: an event moves its own task's weights only"}
    if np.all(others == others[0]) and np.all(np.diag(matrix) == others[0]):
        return {"summary": "pooled: all tasks have the same weights"}
    if np.allclose(others, others[0]):
        return {"summary": f"every task moves every other by {others[0]:.4g} of its own step"}
    np.fill_diagonal(matrix, 0.0)
    strongest = np.argsort(-np.abs(np.triu(matrix, 1)), axis=None, kind="stable")[:5]
    pairs = [
        {"tasks": [model.tasks[i], model.tasks[j]], "relation": float(matrix[i, j])}
        for i, j in (divmod(int(at), n) for at in strongest)
    ]
    return {"summary": f"between {others.min():.4g} and {others.max():.4g}", "strongest": pairs}


def _heaviest(model: "Model", task: Any, top: int) -> list[dict[str, Any]] | None:
    """The features with the largest weights of a task; None if there are no weights."""
    import numpy as np

    slot, features = model.vocabulary.tasks.find(task), model.features
    if len(model.tasks) * len(features) > LARGEST_MATRIX:
        return None
    try:
        row = np.asarray(model.weights()[slot])
    except ValueError:
        return None  # a kernel learner
    order = np.argsort(-np.abs(row), kind="stable")[:top]
    return [{"feature": features[i], "weight": float(row[i])} for i in order.tolist() if row[i] != 0.0]


def _print(model: "Model", facts: dict[str, Any], task: Any, all_tasks: bool) -> None:
    screen = console()
    learner = facts["learner"]
    settings = ", ".join(f"{letter}={value}" for letter, value in learner["parameters"].items())
    counts = facts["counts"]
    table = new_table("", "")
    table.show_header = False
    table.columns[1].justify = "left"
    table.columns[1].no_wrap = False
    table.add_row("model", facts["model"])
    table.add_row("learner", f"{learner['name']} ({facts['paper']})")
    table.add_row("parameters", settings or "none")
    table.add_row("holds", f"{count(counts['tasks'])} tasks, {count(counts['features'])} features")
    table.add_row("learned", f"{count(counts['events'])} events")
    if counts["support"] is not None:
        table.add_row("keeps", f"{count(counts['support'])} rows (kernel form)")
    table.add_row("relations", facts["relations"]["summary"])
    for pair in facts["relations"].get("strongest", []):
        table.add_row("", f"{' and '.join(map(show_name, pair['tasks']))}: {pair['relation']:.4g}")
    screen.print(table)
    if task is None:
        screen.print(tally_table(model.tally, all_tasks, title="Predictions before learning"))
        if model.tasks:
            screen.print(
                f"One task: {program()} inspect {facts['model']} --task {show_name(_largest(model))}", soft_wrap=True
            )
    else:
        _print_task(screen, facts["task"], model.tally.target == "binary")


def _largest(model: "Model") -> Any:
    return max(model.tally.rows(), key=lambda row: row["events"])["task"]


def _print_task(screen: Any, facts: dict[str, Any], binary: bool) -> None:
    words = f"{plural(facts['mistakes'], 'mistake')}, " if binary else ""
    screen.print(
        f"Task {show_name(facts['name'])}: {plural(facts['events'], 'event')}, {words}"
        f"error {number(facts['error'])}, mean loss {number(facts['loss'])}",
        soft_wrap=True,
    )
    if facts["weights"] is None:
        screen.print("This model has no weights to show: a kernel learner keeps rows, or the matrix is too large.")
        return
    if not facts["weights"]:
        screen.print("All its weights are zero.")
        return
    table = new_table("feature", "weight", "", title="Heaviest features")
    table.columns[2].justify = "left"
    largest = abs(facts["weights"][0]["weight"])
    for item in facts["weights"]:
        bar = ("+" if item["weight"] > 0 else "-") * max(1, round(30 * abs(item["weight"]) / largest))
        table.add_row(show_name(item["feature"]), f"{item['weight']:+.4f}", bar)
    screen.print(table)
