"""What `weft inspect` shows of a file with a model per class."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weft.cli.inspect_recent import print_recent, recent_rows
from weft.cli.inspect_weights import heaviest, print_weights
from weft.cli.options import show_name, show_value
from weft.cli.tables import MOST_TASKS, console, count, number, plural, print_json, share, tally_table

if TYPE_CHECKING:
    from weft.reductions.per_class import Multiclass


@dataclass(frozen=True)
class Wanted:
    """What a user wants to see."""

    task: Any
    top: int
    with_recent: bool
    all_tasks: bool
    as_json: bool


def refuse_for_classes(options: dict[str, Any]) -> None:
    """Options that are about one model, for a file that has one per class."""
    given = [name for name, value in options.items() if value]
    if given:
        raise ValueError(
            f"{given[0]} is about one model, and this file has one per class; leave it out, or learn one class "
            "against the others in a model of its own"
        )


def inspect_classes(model: "Multiclass", path: str, wanted: Wanted) -> None:
    """Learner, classes, and how well every task did; or one task."""
    tally = model.tally
    facts: dict[str, Any] = {
        "model": path,
        "learner": {"name": model.name, "parameters": model.parameters},
        "classes": model.classes,
        "counts": {"tasks": len(model.tasks), "classes": len(model.classes), "events": tally.total["events"]},
        "schema": None if model.schema is None else model.schema.to_json(),
        "total": tally.total,
    }
    if wanted.task is not None:
        facts["task"] = {"name": wanted.task, **tally[wanted.task], "recent": tally.recent[wanted.task]}
        facts["task"]["weights"] = _weights(model, wanted)
    else:
        facts |= {"tasks": sorted(tally.rows(), key=lambda row: -row["events"]), "recent": recent_rows(tally)}
    if wanted.as_json:
        print_json(facts)
    elif wanted.task is not None:
        _print_task(facts["task"])
    elif wanted.with_recent:
        print_recent(tally, wanted.all_tasks)
    else:
        _print(model, path, wanted.all_tasks)


def _weights(model: "Multiclass", wanted: Wanted) -> list[dict[str, Any]]:
    """Per class, the features that weigh most for a task; None where there are no weights."""
    known = [wanted.task in one.tasks for one in model.models]
    return [
        {"class": label, "weights": heaviest(one, wanted.task, wanted.top) if is_known else []}
        for label, one, is_known in zip(model.classes, model.models, known, strict=True)
    ]


def _print(model: "Multiclass", path: str, all_tasks: bool) -> None:
    screen = console()
    words = ", ".join(map(str, model.classes[:MOST_TASKS])) + (", ..." if len(model.classes) > MOST_TASKS else "")
    screen.print(f"{path}: a model per class by {model.name}, {len(model.classes):,} classes: {words}", soft_wrap=True)
    settings = ", ".join(f"{name}={show_value(v)}" for name, v in model.parameters.items() if v is not None)
    screen.print(f"parameters: {settings or 'none'}", soft_wrap=True)
    if model.schema is not None:
        screen.print(f"schema: {show_name(str(model.schema))}", soft_wrap=True, markup=False)
    screen.print(tally_table(model.tally, all_tasks, title="Predictions before learning"))


def _print_task(facts: dict[str, Any]) -> None:
    screen = console()
    screen.print(
        f"Task {show_name(facts['name'])}: {plural(facts['events'], 'event')}, {count(facts['mistakes'])} mistakes, "
        f"error {share(facts['error'])} (recently {share(facts['recent']['error'])}), mean loss "
        f"{number(facts['loss'])}",
        soft_wrap=True,
    )
    for item in facts["weights"][:MOST_TASKS]:
        if item["weights"] is None:
            screen.print("These models have no weights to show: a kernel learner keeps rows.")
            return
        if item["weights"]:
            print_weights(screen, item["weights"], f"Class {show_name(str(item['class']))}")
