"""`weft forget`: a model file without one of its tasks."""

from dataclasses import asdict

import click

from weft.cli.options import example, find_task, json_option, quiet_option
from weft.cli.rewriting import rewrite
from weft.cli.tables import console, print_json


@click.command("forget", epilog=example(
    """printf '%s\\n' 'task,y,x' 'ann,1,1' 'bob,1,1' 'eve,-1,2' > three.csv""",
    "weft learn three.csv --model three.weft --quiet",
    "weft forget three.weft --task eve",
))  # fmt: skip
@click.argument("model_path", metavar="MODEL")
@click.option("--task", required=True, metavar="NAME", help="The task to forget.")
@json_option
@quiet_option
def command(model_path: str, task: str, as_json: bool, quiet: bool) -> None:
    """Remove a task from MODEL: its own weights, its name, its counts and the rows that are kept of it.

    What it has taught to others stays with them, and is told. Names of features stay. Files that were learned count as
    learned: what they hold of this task is not learned again. Other copies of the model are left alone.
    """
    report = rewrite(model_path, lambda model: model.forget(find_task(model, task)))
    if as_json:
        print_json(asdict(report))
    elif not quiet:
        console().print(str(report), soft_wrap=True, markup=False)
