"""`weft catalogue`: the learners and their parameters."""

import shlex
from typing import TYPE_CHECKING, Any

import click

from weft.cli.options import example, json_option
from weft.cli.tables import console, print_json

if TYPE_CHECKING:
    from weft.learners.catalogue import Entry


@click.command("catalogue", epilog=example("weft catalogue implicit"))
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the learners, or tell everything about the learner NAME.

    A learner is chosen with --learner NAME and its parameters are set with --set NAME=VALUE in weft learn.
    """
    from weft.learners.catalogue import SPECIAL_CASES, build, catalogue

    entries = {entry.name: entry for entry in catalogue()}
    if name is None:
        if as_json:
            print_json({"learners": [_as_json(entry) for entry in entries.values()], "special_cases": SPECIAL_CASES})
        else:
            _print_all(list(entries.values()), SPECIAL_CASES)
        return
    if name not in entries:
        build(name, {})  # raises, and says which names there are
    if as_json:
        print_json(_as_json(entries[name]))
    else:
        _print_one(entries[name])


def _as_json(entry: "Entry") -> dict[str, Any]:
    parameters = [
        {"name": p.name, "default": p.default, "allowed": p.allowed, "meaning": p.doc} for p in entry.parameters
    ]
    told = {"name": entry.name, "summary": entry.summary, "advice": entry.advice, "paper": entry.paper}
    return {**told, "parameters": parameters}


def _text_table(*columns: str) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for at, column in enumerate(columns):
        table.add_column(column, no_wrap=at == 0, overflow="fold")
    return table


def _print_all(entries: list["Entry"], special: dict[str, str]) -> None:
    screen = console()
    table = _text_table("learner", "what it does", "paper")
    for entry in entries:
        table.add_row(entry.name, entry.summary, entry.paper)
    screen.print(table)
    table = _text_table("also known as", "is")
    for names, text in special.items():
        table.add_row(names, text)
    screen.print(table)
    screen.print("Parameters of one learner: weft catalogue NAME")


def _print_one(entry: "Entry") -> None:
    screen = console()
    screen.print(f"{entry.name}: {entry.summary}")
    if entry.advice:
        screen.print(entry.advice, markup=False, soft_wrap=True)
    screen.print(entry.paper)
    table = _text_table("parameter", "default", "must be", "meaning")
    for p in entry.parameters:
        default = _default(p.default) if isinstance(p.default, tuple) else str(p.default)
        table.add_row(p.name, default, p.allowed, p.doc)
    if entry.parameters:
        screen.print(table)
    else:
        screen.print("\nIt has no parameters.\n")
    for line in entry.known_as:
        screen.print(line, soft_wrap=True)
    if any(p.name == "graph" for p in entry.parameters):
        screen.print("A graph from a file: --graph FILE, see weft learn --help", soft_wrap=True)
    settings = " ".join(
        f"--set {shlex.quote(f'{p.name}={_default(p.default)}')}" for p in entry.parameters if p.default is not None
    )
    screen.print(f"Use it: weft learn FILE --model MODEL --learner {entry.name} {settings}".rstrip(), soft_wrap=True)


def _default(value: Any) -> str:
    """As it would be typed after --set."""
    import json

    return value if isinstance(value, str) else json.dumps(value)
