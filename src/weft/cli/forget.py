"""`weft forget`: a model file without one of its tasks."""

from dataclasses import asdict
from pathlib import Path

import click

from weft.cli.options import example, find_task, json_option
from weft.cli.tables import console, print_json


@click.command("forget", epilog=example(
    """printf '%s\\n' 'task,y,x' 'ann,1,1' 'bob,1,1' 'eve,-1,2' > three.csv""",
    "weft learn three.csv --model three.weft --quiet",
    "weft forget three.weft --task eve",
))  # fmt: skip
@click.argument("model_path", metavar="MODEL")
@click.option("--task", required=True, metavar="NAME", help="The task to forget.")
@json_option
def command(model_path: str, task: str, as_json: bool) -> None:
    """Remove a task from MODEL: its own weights, its name, its counts and the rows that are kept of it.

    What it has taught to others stays with them, and is told. Names of features stay. Files that were learned count as
    learned: what they hold of this task is not learned again. Other copies of the model are left alone.
    """
    from weft.cli.learning import ModelFile, progress_of
    from weft.cli.model_lock import locked
    from weft.cli.progress_file import progress_path
    from weft.model import load
    from weft.store.files import Output

    path = Path(model_path)
    load(path)  # a file that is not a model is refused before there is a lock beside it
    with locked(path):
        model = load(path)
        report = model.forget(find_task(model, task))
        if progress_path(path).exists():
            state = progress_of(path, new=False, restart=False, keep_position=False)
            ModelFile(path, model, state).save(state.sources)
        else:
            with Output(path) as output:
                model.write_to(output.write)
    if as_json:
        print_json(asdict(report))
    else:
        console().print(str(report), soft_wrap=True, markup=False)
