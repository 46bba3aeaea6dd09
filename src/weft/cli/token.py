"""`weft token`: who may use a service."""

from pathlib import Path

import click

from weft.cli.options import example, json_option
from weft.cli.tables import console, new_table, print_json
from weft.text.printable import printable


@click.group("token", epilog=example("weft token add spam --scope learn", "weft token list spam"))
def command() -> None:
    """Make, list and remove the tokens of a service.

    A token of scope read may predict, one of scope learn may also teach, one of scope admin may do everything. A
    running service follows within a second.
    """


@command.command("add")
@click.argument("folder", metavar="DIR")
@click.option("--scope", type=click.Choice(["read", "learn", "admin"]), required=True, help="What it may do.")
def add(folder: str, scope: str) -> None:
    """Make a token and print it, once: the folder keeps its hash only.

    DIR is made if it is not there, so that a service has a token before it is served for the first time.
    """
    from weft.serve.folder import Folder
    from weft.serve.tokens import Tokens

    found = Folder(folder)
    if not found.is_there:
        found.begin()
        click.echo(printable(f"weft: note: {folder} is not served yet; weft serve {folder} begins"), err=True)
    token = Tokens(found.path).add(scope)  # type: ignore[arg-type]
    click.echo(f"a token of scope {scope}, shown only now: {token}")


@command.command("list")
@click.argument("folder", metavar="DIR")
@json_option
def listed(folder: str, as_json: bool) -> None:
    """List names and scopes of tokens."""
    from weft.serve.tokens import Tokens

    found = Tokens(_with_tokens(folder)).listed()
    if as_json:
        print_json([{"name": token.name, "scope": token.scope} for token in found])
        return
    table = new_table("token", "scope")
    for token in found:
        table.add_row(token.name, token.scope)
    console().print(table)


@command.command("remove")
@click.argument("folder", metavar="DIR")
@click.argument("name")
def remove(folder: str, name: str) -> None:
    """Remove the token NAME, the part between weft_ and the next _."""
    from weft.serve.tokens import Tokens

    Tokens(_with_tokens(folder)).remove(name)


def _with_tokens(folder: str) -> Path:
    """The folder of a service, or of one that was given tokens and is still to be served."""
    from weft.cli.serve import service_folder
    from weft.serve.tokens import FILE

    return Path(folder) if (Path(folder) / FILE).is_file() else service_folder(folder)
