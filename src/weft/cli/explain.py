"""`weft explain`: the score of one event in parts that add up."""

import json
from typing import Any

import click

from weft.cli.options import example, find_task, json_option, quiet_option, task_named
from weft.cli.tables import console, print_json, tell
from weft.text.printable import printable


@click.command("explain", epilog=example(
    """printf '%s\\n' 'task,y,x,z' 'ann,1,1,0' 'bob,1,1,1' 'eve,-1,2,1' > three.csv""",
    "weft learn three.csv --model three.weft --learner mt-ogd --quiet",
    """weft explain three.weft --task ann --x '{"x": 1, "z": 2}'""",
))  # fmt: skip
@click.argument("model_path", metavar="MODEL")
@click.option("--task", metavar="NAME", help="The task of the event; a new one is explained as the newcomer it is.")
@click.option("--x", "row", required=True, metavar="JSON", help="The event: an object of features, or a record.")
@click.option("--class", "label", metavar="CLASS", help="Of several classes: explain this one, not the predicted one.")
@json_option
@quiet_option
def command(model_path: str, task: str | None, row: str, label: str | None, as_json: bool, quiet: bool) -> None:
    """Explain how MODEL scores an event: named parts that add up to the score, the largest first.

    What the parts are depends on the learner: what the task has taught itself, what all tasks share, what single
    neighbours teach it, and for auto what clipping and mixing change. Of a model of several classes, the score of
    the predicted class is explained, or that of --class. Nothing is learned.
    """
    from weft.reductions.per_class import Multiclass, load

    model = load(model_path)
    x = _event(row)
    if task is None and model.schema is None:
        raise ValueError("the model has no schema that says which field names the task; give --task")
    name = None if task is None else _task(model, task, quiet)
    facts: dict[str, Any] = {"model": model_path}
    if isinstance(model, Multiclass):
        wanted = model.predict_one(x, name) if label is None else _class(model.classes, label)
        found = model.explain(x, name, label=wanted)
        facts |= {"class": wanted, "probabilities": _by_text(model.predict_proba_one(x, name))}
    elif label is not None:
        raise ValueError("--class is for a model of several classes, and this is a model of two; leave it out")
    else:
        found = model.explain(x, name)
    facts |= {"task": found.task, "score": found.score, "parts": found.parts}
    if as_json:
        print_json(facts)
    else:
        screen = console()
        if "class" in facts:
            label = str(facts["class"])
            words = f"class {label} (probability {facts['probabilities'][label]:.4f})"
            screen.print(printable(words), soft_wrap=True, markup=False, highlight=False)
        lines = str(found).splitlines()
        for line in [line for line in lines if line == lines[0] or line.startswith("  ")] if quiet else lines:
            screen.print(printable(line), soft_wrap=True, markup=False, highlight=False)


def _event(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"--x is not JSON: {error}; write for example --x '{{\"free\": 1}}'") from None
    if not isinstance(value, dict):
        raise ValueError(f"--x is a {type(value).__name__}; give an object of features, such as '{{\"free\": 1}}'")
    return value


def _class(classes: list[Any], text: str) -> Any:
    """The class that is meant."""
    for label in classes:
        if str(label) == text:
            return label
    from weft.schema import nearest

    raise ValueError(f"the model has no class {text!r}; {nearest(text, map(str, classes), 'classes')}")


def _by_text(probabilities: dict[Any, float]) -> dict[str, float]:
    return {str(label): value for label, value in probabilities.items()}


def _task(model: Any, text: str, quiet: bool) -> Any:
    """The task that is meant, or a new one of that name, which is told."""
    try:
        return find_task(model, text)
    except ValueError as error:
        if not quiet:
            tell(f"weft: note: explained as a new task: {error}")
        return task_named(text)
