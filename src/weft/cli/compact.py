"""`weft compact`: forgotten tasks out of the log of a service that is stopped."""

import click

from weft.cli.options import example, json_option
from weft.cli.tables import console, plural, print_json


@click.command("compact", epilog=example("weft compact spam"))
@click.argument("folder", metavar="DIR")
@json_option
def command(folder: str, as_json: bool) -> None:
    """Take the entries of forgotten tasks out of the log of DIR, and give back the space.

    A running service takes them out by itself after DELETE /v1/tasks/TASK; this command is for a folder that is not
    served, and makes its files smaller. The model does not change. Copies that were made before, such as those of
    weft backup, still hold the tasks.
    """
    from weft.cli.serve import service_folder
    from weft.serve.folder import Folder
    from weft.serve.service import compact

    found = compact(Folder(service_folder(folder)))
    if as_json:
        print_json({"folder": folder, **found._asdict()})
        return
    tasks = plural(found.tasks, "forgotten task")
    console().print(
        f"Took {tasks} out of the log of {folder}: {found.before:,} bytes before, {found.after:,} now.", soft_wrap=True
    )
