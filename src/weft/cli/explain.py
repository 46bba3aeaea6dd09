"""`weft explain`: the score of one event in parts that add up."""

import json
from typing import Any

import click

from weft.cli.options import example, find_task, json_option
from weft.cli.tables import console, print_json
from weft.printable import printable


@click.command("explain", epilog=example(
    """printf '%s\\n' 'task,y,x,z' 'ann,1,1,0' 'bob,1,1,1' 'eve,-1,2,1' > three.csv""",
    "weft learn three.csv --model three.weft --learner mt-ogd --quiet",
    """weft explain three.weft --task ann --x '{"x": 1, "z": 2}'""",
))  # fmt: skip
@click.argument("model_path", metavar="MODEL")
@click.option("--task", metavar="NAME", help="The task of the event; a new one is explained as the newcomer it is.")
@click.option("--x", "row", required=True, metavar="JSON", help="The event: an object of features, or a record.")
@json_option
def command(model_path: str, task: str | None, row: str, as_json: bool) -> None:
    """Explain how MODEL scores an event: named parts that add up to the score, the largest first.

    What the parts are depends on the learner: what the task has taught itself, what all tasks share, what single
    neighbours teach it, and for auto what clipping and mixing change. Nothing is learned.
    """
    from weft.model import load

    model = load(model_path)
    x = _event(row)
    if task is None and model.schema is None:
        raise ValueError("the model has no schema that says which field names the task; give --task")
    found = model.explain(x, _task(model, task)) if task is not None else model.explain(x)
    facts = {"model": model_path, "task": found.task, "score": found.score, "parts": found.parts}
    if as_json:
        print_json(facts)
    else:
        screen = console()
        for line in str(found).splitlines():
            screen.print(printable(line), soft_wrap=True, markup=False, highlight=False)


def _event(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"--x is not JSON: {error}; write for example --x '{{\"free\": 1}}'") from None
    if not isinstance(value, dict):
        raise ValueError(f"--x is a {type(value).__name__}; give an object of features, such as '{{\"free\": 1}}'")
    return value


def _task(model: Any, text: str) -> Any:
    """The task that is meant, or a new one of that name."""
    try:
        return find_task(model, text)
    except ValueError:
        return text
