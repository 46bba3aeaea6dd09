"""`weft data`: public data sets by name."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.options import example, json_option, program
from weft.cli.tables import console, count, new_table, print_json

if TYPE_CHECKING:
    from weft.streams.known_sets import KnownSet


@click.group("data", epilog=example("weft data list", "weft data get school --from https://example.org/sets"))
def command() -> None:
    """The public data sets that weft knows by name.

    They are what weft reproduce runs on; weft.streams.known("school") loads one in Python. weft brings no data
    along: a set is a file NAME.npz in the folder that WEFT_DATA names, or in the user's cache, where get
    puts it.
    """


@command.command("list", epilog=example("weft data list"))
@json_option
def list_(as_json: bool) -> None:
    """List the sets: how large they are, what their labels are, and which are here."""
    from weft.streams.known import folders
    from weft.streams.known_sets import SETS

    rows = [_row(known) for known in SETS.values()]
    if as_json:
        print_json(rows)
        return
    table = new_table("name", "events", "features", "tasks", "label", "where", title="Known data sets")
    table.columns[4].justify = table.columns[5].justify = "left"
    table.columns[5].no_wrap, table.columns[5].overflow = False, "fold"  # folders may be long
    for row in rows:
        sizes = [count(row[key]) for key in ("events", "features", "tasks")]
        table.add_row(row["name"], *sizes, row["label"], row["folder"] if row["state"] == "here" else row["state"])
    screen = console()
    screen.print(table)
    screen.print(f"Looked in {' and in '.join(str(folder) for folder in folders())}.", soft_wrap=True)
    missing = [row["name"] for row in rows if row["state"] != "here"]
    if missing:
        screen.print(f"Fetch one: {program()} data get {missing[0]} --from ADDRESS", soft_wrap=True)


def _row(known: "KnownSet") -> dict[str, Any]:
    from weft.streams.download import sum_of
    from weft.streams.known import find

    path = find(known.name)
    state = "missing" if path is None else "here" if sum_of(path) == known.sha256 else "another file"
    return {
        "name": known.name,
        "about": known.about,
        "events": known.rows,
        "features": known.features,
        "tasks": known.tasks,
        "label": known.label,
        "state": state,
        "folder": None if path is None else str(path.parent),
        "origin": known.origin,
        "terms": known.terms,
        "sha256": known.sha256,
    }


@command.command("get", epilog=example("weft data get school --from https://example.org/sets"))
@click.argument("name")
@click.option(
    "--from",
    "address",
    metavar="ADDRESS",
    help="A folder on a server (http, https) or on this machine (file) that holds NAME.npz, or that file.  "
    "[default: what WEFT_DATA_ADDRESS says]",
)
def get(name: str, address: str | None) -> None:
    """Fetch the set NAME into the user's cache.

    What has come before an interruption is kept, and the same command goes on from there. A file whose SHA-256
    sum is not the published one is thrown away.
    """
    from weft.streams.download import address_of, fetch, sum_of, target_of
    from weft.streams.known import describe, find

    described = describe(name)
    path = find(name)
    if path is not None and sum_of(path) == described.sha256:
        click.echo(f"{name} is here already: {path}")
        return
    target = target_of(described)
    if path is not None and path != target:
        raise ValueError(f"{path} is another file than the known set {name}, and is looked at first; remove it")
    source = address_of(described, address)
    with _bar(name, described.size) as advance:
        try:
            fetch(described, source, target, advance)
        except KeyboardInterrupt:
            click.echo(f"weft: stopped; {_kept(target)}the same command goes on from there", err=True)
            raise click.exceptions.Exit(130) from None
    _tell(described, target)


def _kept(target: Path) -> str:
    part = target.with_name(f"{target.name}.part")
    return f"{count(part.stat().st_size)} bytes are kept, " if part.exists() else ""


def _tell(described: "KnownSet", path: Path) -> None:
    screen = console()
    screen.print(f"{described.name}: {described.about}", soft_wrap=True)
    screen.print(f"  file    {path}", soft_wrap=True)
    screen.print(f"  origin  {described.origin}", soft_wrap=True)
    screen.print(f"  terms   {described.terms}", soft_wrap=True)


@contextmanager
def _bar(name: str, size: int) -> Iterator[Callable[[int], None]]:
    """Bytes and time left on standard error, if somebody is there to see it."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(err=True), transient=True) as progress:
        task = progress.add_task(f"fetching {name}", total=size)
        yield lambda done: progress.update(task, completed=done)
