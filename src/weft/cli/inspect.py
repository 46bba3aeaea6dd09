"""`weft inspect`: what a model file holds."""

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from weft.cli.inspect_borrowing import borrowed, print_borrowed, weights_of_experts
from weft.cli.inspect_classes import Wanted, inspect_classes, refuse_for_classes
from weft.cli.inspect_recent import print_recent, recent_rows
from weft.cli.inspect_relations import expect_svg, matrix_of, plot_relations, print_matrix, summary_of
from weft.cli.inspect_sharing import print_sharing, sharing
from weft.cli.inspect_support import budget_facts, budget_lines, kept_rows, print_kept_rows, print_shares, shares
from weft.cli.inspect_weights import heaviest, print_weights
from weft.cli.options import (
    Reading,
    example,
    file_options_beside_task,
    find_task,
    json_option,
    program,
    quiet_option,
    show_name,
    show_value,
)
from weft.cli.tables import BAR, console, count, fitting_table, new_table, number, plural, print_json, tally_table

if TYPE_CHECKING:
    from weft.model import Model

MOST_LONERS = 10
"""So many tasks are shown with their distances, unless all are asked for."""
MOST_POLICIES = 8
"""So many tasks are shown with their policies."""


@click.command("inspect", epilog=example(
    "weft demo --model demo.weft",
    "weft inspect demo.weft --task loner/01 --top 5",
    """printf '%s\\n' 'task,y,x' 'ann,1,1' 'bob,1,1' 'eve,-1,2' > three.csv""",
    "weft learn three.csv --model three.weft --learner mt-ogd --quiet",
    "weft inspect three.weft --relations --plot three.svg",
))  # fmt: skip
@click.argument("model_path", metavar="MODEL")
@click.option("--task", metavar="NAME", help="Show this task alone, with its heaviest features or rows.")
@click.option(
    "--top", type=click.IntRange(min=1), default=10, show_default=True, help="How many features or rows to show."
)
@click.option(
    "--recent", "with_recent", is_flag=True, help="Show errors over recent events beside the whole, the worst first."
)
@click.option(
    "--against",
    metavar="FILE",
    help="Learn FILE anew with the model's learner: on all tasks, on every task alone, on all as one.",
)
@file_options_beside_task
@click.option("--all-tasks", is_flag=True, help="List every task, not only the 20 largest.")
@click.option(
    "--relations",
    "with_relations",
    is_flag=True,
    help="Print how tasks are related, in blocks of colour, or in digits where there are no colours; with --json the "
    "whole matrix.",
)
@click.option(
    "--plot",
    metavar="PATH.svg",
    help="Draw how tasks are related, related tasks side by side, and who stands apart; up to 200 tasks one by one.",
)
@json_option
@quiet_option
def command(**given: Any) -> None:
    """Show what MODEL holds: its learner, its tasks, how well it did and how tasks are related.

    Of a learner whose models have an own and a shared part it also shows how far every task is from the
    others, the loners first; of one that keeps rows on a budget, how tasks share it and what it has cost; of
    auto, how much every task borrows, how that compares with the simple models inside it, and its guarantee.
    With --task, the features that weigh most for that task, or its rows: a positive weight speaks for the
    label +1, a negative one for -1.

    --recent shows how well tasks did lately: an event counts half as much 100 events of its task later. A task is
    marked as worse where its recent error is above its earlier one by more than chance would have it.

    --against FILE answers whether sharing helps: the learner of MODEL learns FILE three times, in its order, on all
    tasks together, on every task alone and on all tasks as one; MODEL itself stays as it is. FILE is read by the
    schema of MODEL; the options for fields and formats say what a model without a schema needs to know.

    --relations and --plot show the whole matrix of relations. Dark blue cells are closely related tasks, orange
    ones opposed, grey is a task with itself; bars tell how far each goes its own way.
    """
    _inspect(Asked(**given))


@dataclass(frozen=True)
class Asked:
    """What `weft inspect` was asked for: its argument and options."""

    model_path: str
    task: str | None
    top: int
    with_recent: bool
    against: str | None
    reading: Reading
    all_tasks: bool
    with_relations: bool
    plot: str | None
    as_json: bool
    quiet: bool


def _inspect(asked: Asked) -> None:
    from weft.reductions.per_class import Multiclass, load

    if asked.plot is not None:
        expect_svg(asked.plot, asked.model_path)
    if asked.against is None and (asked.reading != Reading()):
        raise ValueError("options about fields and formats say how --against FILE is read; give it, or leave them out")
    model = load(asked.model_path)
    name = find_task(model, asked.task) if asked.task is not None else None
    if isinstance(model, Multiclass):
        refuse_for_classes({"--against": asked.against, "--relations": asked.with_relations, "--plot": asked.plot})
        wanted = Wanted(name, asked.top, asked.with_recent, asked.all_tasks, asked.as_json)
        inspect_classes(model, asked.model_path, wanted)
        return
    facts = _facts(model, asked.model_path)
    if asked.plot is not None:
        plot_relations(model, asked.plot, asked.quiet)
    if asked.with_relations and asked.as_json:
        facts["relations"] |= matrix_of(model)
    if name is not None:
        facts["task"] = {"name": name, **model.tally[name], "recent": model.tally.recent[name]}
        facts["task"] |= {"weights": heaviest(model, name, asked.top)}
        facts["task"] |= {"rows": kept_rows(model, name, asked.top)}
    if asked.against is not None:
        facts["sharing"] = sharing(model, asked.against, asked.reading)
    if asked.as_json:
        if name is None:
            facts |= {"tasks": model.tally.rows(), "distances": _distances(model), "kept": shares(model)}
            facts |= {"borrowing": borrowed(model), "experts": weights_of_experts(model)}
            facts |= {"recent": recent_rows(model.tally)}
        print_json(facts)
    elif asked.against is not None:
        print_sharing(model, facts["sharing"], asked.all_tasks)
    elif asked.with_recent and name is None:
        print_recent(model.tally, asked.all_tasks)
    else:
        _print(model, facts, name, asked.all_tasks)
        if asked.with_relations:
            print_matrix(model)


def _facts(model: "Model", path: str) -> dict[str, Any]:
    return {
        "model": path,
        "learner": {"name": model.name, "parameters": model.parameters},
        "paper": model.paper,
        "counts": {
            "tasks": len(model.tasks),
            "features": len(model.features),
            "events": model.tally.total["events"],
            "support": _support_size(model),
        },
        "budget": budget_facts(model),
        "relations": summary_of(model),
        "classes": model.classes,
        "schema": None if model.schema is None else model.schema.to_json(),
        "policies": [{"task": name, **policy._asdict()} for name, policy in model.policies().items()],
        "total": model.tally.total,
    }


def _support_size(model: "Model") -> int | None:
    if "usage" in model.views:
        return model.usage().rows
    try:
        return len(model.support())
    except ValueError:
        return None  # a learner with weights keeps no rows


def _distances(model: "Model") -> list[dict[str, Any]] | None:
    """How far every task is from the tasks that it is tied to, the farthest first; None where nothing is shared."""
    import numpy as np

    if "distances" not in model.views or not model.tasks:
        return None
    found = model.distances()
    order = np.argsort(-np.nan_to_num(found.apart, nan=-1.0), kind="stable").tolist()
    return [
        {"task": model.tasks[i], "own": float(found.own[i]), "shared": float(found.shared[i]),
         "distance": float(found.apart[i])}
        for i in order
    ]  # fmt: skip


def _print(model: "Model", facts: dict[str, Any], task: Any, all_tasks: bool) -> None:
    screen = console()
    learner = facts["learner"]
    given = {name: value for name, value in learner["parameters"].items() if value is not None}
    settings = ", ".join(f"{name}={show_value(value)}" for name, value in given.items())
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
    if facts["classes"] not in (None, (-1, 1)):  # -1 and +1 go without saying
        table.add_row("classes", ", ".join(show_name(str(label)) for label in facts["classes"]))
    if model.schema is not None:
        table.add_row("schema", show_name(str(model.schema)))
    if facts["budget"] is not None:
        for name, words in budget_lines(facts["budget"]):
            table.add_row(name, words)
    elif counts["support"] is not None:
        table.add_row("keeps", f"{count(counts['support'])} rows (kernel form)")
    table.add_row("relations", facts["relations"]["summary"])
    for pair in facts["relations"].get("strongest", []):
        table.add_row("", f"{' and '.join(map(show_name, pair['tasks']))}: {pair['relation']:.4g}")
    for at, (task_name, policy) in enumerate(list(model.policies().items())[:MOST_POLICIES]):
        table.add_row("" if at else "policies", f"{show_name(task_name)} {policy}")
    if len(model.policies()) > MOST_POLICIES:
        table.add_row("", f"and {count(len(model.policies()) - MOST_POLICIES)} more tasks")
    screen.print(table)
    if task is None:
        screen.print(tally_table(model.tally, all_tasks, title="Predictions before learning"))
        _print_distances(screen, _distances(model), all_tasks)
        print_shares(screen, shares(model), all_tasks)
        print_borrowed(screen, model, all_tasks)
        if model.tasks:
            words = shlex.join(["inspect", facts["model"], "--task", show_name(_largest(model))])
            screen.print(f"One task: {program()} {words}", soft_wrap=True)
    else:
        _print_task(screen, facts["task"], model.tally.target == "binary")


def _largest(model: "Model") -> Any:
    return max(model.tally.rows(), key=lambda row: row["events"])["task"]


def _print_task(screen: Any, facts: dict[str, Any], binary: bool) -> None:
    words = f"{plural(facts['mistakes'], 'mistake')}, " if binary else ""
    screen.print(
        f"Task {show_name(facts['name'])}: {plural(facts['events'], 'event')}, {words}"
        f"error {number(facts['error'])} (recently {number(facts['recent']['error'])}), "
        f"mean loss {number(facts['loss'])}",
        soft_wrap=True,
    )
    if facts["rows"] is not None:
        print_kept_rows(screen, facts["rows"])
        return
    if facts["weights"] is None:
        screen.print("This model has no weights to show: a kernel learner keeps rows, or the matrix is too large.")
        return
    print_weights(screen, facts["weights"])


def _print_distances(screen: Any, rows: list[dict[str, Any]] | None, all_tasks: bool) -> None:
    """The loners first, the rest in a line."""
    if not rows or len(rows) < 2:
        return
    shown = rows if all_tasks or len(rows) <= MOST_LONERS + 1 else rows[:MOST_LONERS]
    lines = []
    largest = max((row["distance"] for row in rows if row["distance"] == row["distance"]), default=0.0)
    for row in shown:
        known = row["distance"] == row["distance"] and largest > 0.0
        bar = "*" * round(20 * row["distance"] / largest) if known else ""
        figures = [number(row[name]) for name in ("own", "shared", "distance")]
        lines.append(([show_name(row["task"]), *figures, bar], ""))
    rest = rows[len(shown) :]
    if rest:
        words = f"{len(rest):,} closer tasks"
        lines.append(([words, "", "", f"<= {number(rest[0]['distance'])}", "--all-tasks lists them"], "dim"))
    columns = ["task", "|own|", "|shared|", "distance", f"distance{BAR}"]
    title = "How far tasks are from their neighbours"
    screen.print(fitting_table(columns, lines, (columns[4], "|shared|", "|own|"), title))
