"""`weft backup`: a copy of a service's folder."""

from pathlib import Path

import click

from weft.cli.options import example, json_option
from weft.cli.tables import console, print_json


@click.command("backup", epilog=example("weft backup spam /backups/spam-monday"))
@click.argument("folder", metavar="DIR")
@click.argument("out", metavar="OUT")
@json_option
def command(folder: str, out: str, as_json: bool) -> None:
    """Copy the folder of a service to OUT as it is at one moment, also while it is served.

    Tokens are not copied. To restore, serve the copy: weft serve OUT.
    """
    from weft.cli.serve import service_folder
    from weft.serve.backup import backup

    seq = backup(service_folder(folder), Path(out))
    if as_json:
        print_json({"folder": out, "seq": seq})
    else:
        console().print(f"Copied {folder} up to entry {seq} to {out}; weft serve {out} restores it.", soft_wrap=True)
