"""`weft policy`: what a task gives to the others, and whether it receives from them."""

from typing import Any

import click

from weft.cli.options import example, find_task, json_option, quiet_option, show_name, task_named
from weft.cli.rewriting import rewrite
from weft.cli.tables import console, print_json


@click.command("policy", epilog=example(
    """printf '%s\\n' 'task,y,x' 'ann,1,1' 'bob,1,1' 'eve,-1,2' > three.csv""",
    "weft learn three.csv --model three.weft --quiet",
    "weft policy three.weft --task eve --no-gives",
))  # fmt: skip
@click.argument("model_path", metavar="MODEL")
@click.option("--task", required=True, metavar="NAME", help="The task; it need not be known yet.")
@click.option("--gives/--no-gives", default=None, help="Whether its events move what other tasks use.")
@click.option("--receives/--no-receives", default=None, help="Whether its predictions use what other tasks gave.")
@json_option
@quiet_option
def command(model_path: str, task: str, gives: bool | None, receives: bool | None, as_json: bool, quiet: bool) -> None:
    """Show or set what a task of MODEL gives to the others, and whether it receives from them.

    A task that does not give never changes a prediction of another task; one that does not receive is predicted from
    its own events alone. That counts from the next event on: what was given stays given. For auto, adaptive and
    mt-ogd. Without --gives and --receives nothing is changed.
    """
    from weft.reductions.per_class import load

    def change(model: Any) -> tuple[Any, bool, bool]:
        name = _name(model, task)
        old = model.policy(name)
        if gives is not None or receives is not None:
            model.set_policy(
                name, old.gives if gives is None else gives, old.receives if receives is None else receives
            )
        return name, *model.policy(name)

    asked = gives is None and receives is None
    name, given, received = change(load(model_path)) if asked else rewrite(model_path, change)
    if as_json:
        print_json({"task": name, "gives": given, "receives": received})
        return
    if quiet and not asked:
        return
    words = f"{'gives' if given else 'does not give'}, {'receives' if received else 'does not receive'}"
    console().print(f"{show_name(name)}: {words}", soft_wrap=True, markup=False)


def _name(model: Any, text: str) -> Any:
    """A task of the model that is meant, or a name that is new."""
    try:
        return find_task(model, text)
    except ValueError:
        return task_named(text)
