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


@click.group("data", epilog=example("weft data list", "weft data get school"))
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
    fetched = [row["name"] for row in rows if row["state"] != "here" and row["addresses"]]
    if fetched:
        screen.print(f"Fetch one: {program()} data get {fetched[0]}", soft_wrap=True)
    others = [name for name in missing if name not in fetched]
    if others:
        screen.print(f"By hand ({program()} data get NAME says how): {', '.join(others)}", soft_wrap=True)


def _row(known: "KnownSet") -> dict[str, Any]:
    from weft.streams.conversion import is_published
    from weft.streams.known import find
    from weft.streams.sources import BY_HAND, SOURCES

    path, source = find(known.name), SOURCES.get(known.name)
    state = "missing" if path is None else "here" if is_published(path.read_bytes(), known) else "another file"
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
        "addresses": [] if source is None else list(source.addresses),
        "licence": None if source is None else source.licence,
        "by_hand": BY_HAND.get(known.name),
    }


@command.command("get", epilog=example("weft data get school", "weft data get lenk --from https://example.org/sets"))
@click.argument("name")
@click.option(
    "--from",
    "address",
    metavar="ADDRESS",
    help="A folder on a server (http, https) or on this machine (file) that holds NAME.npz, or that file.  "
    "[default: what WEFT_DATA_ADDRESS says, else the set's public addresses]",
)
def get(name: str, address: str | None) -> None:
    """Fetch the set NAME into the user's cache.

    From ADDRESS comes NAME.npz: what has come before an interruption is kept, and the same command goes on from
    there. A file whose SHA-256 sum is not the published one is thrown away.

    Without ADDRESS the raw files are fetched from the public addresses of the set, and converted. Nobody publishes
    sums of the raw files, so theirs are noted at the first fetch and compared at the next; the set made from them
    must be the published one. For a set that cannot be fetched so, the command says where it is to be found.
    """
    from weft.streams.conversion import is_published
    from weft.streams.download import address_of, fetch, target_of
    from weft.streams.fetched import fetch_and_convert
    from weft.streams.known import describe, find

    described = describe(name)
    path = find(name)
    if path is not None and is_published(path.read_bytes(), described):
        click.echo(f"{name} is here already: {path}")
        return
    target = target_of(described)
    if path is not None and path != target:
        raise ValueError(f"{path} is another file than the known set {name}, and is looked at first; remove it")
    source = address_of(described, address)
    with _bar(name, described.size if source else None) as advance:
        try:
            if source is None:
                fetch_and_convert(described, target, advance)
            else:
                fetch(described, source, target, advance)
        except KeyboardInterrupt:
            click.echo(f"weft: stopped; {_kept(target)}the same command goes on from there", err=True)
            raise click.exceptions.Exit(130) from None
    _tell(described, target)


@command.command("convert", epilog=example("weft data convert school school.mat"))
@click.argument("name")
@click.argument("files", nargs=-1, required=True)
def convert(name: str, files: tuple[str, ...]) -> None:
    """Make the set NAME from its raw FILES, and put it into the user's cache.

    For raw files that you have already, in the order of their addresses (weft data list --json). What is made must be
    the published set.
    """
    from weft.store.files import write_atomic
    from weft.streams.conversion import converted
    from weft.streams.download import target_of
    from weft.streams.known import describe

    described = describe(name)
    content = converted(described, [Path(file) for file in files])
    target = target_of(described)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(target, content)
    _tell(described, target)


def _kept(target: Path) -> str:
    part = target.with_name(f"{target.name}.part")
    return f"{count(part.stat().st_size)} bytes are kept, " if part.exists() else ""


def _tell(described: "KnownSet", path: Path) -> None:
    from weft.streams.sources import SOURCES

    screen = console()
    screen.print(f"{described.name}: {described.about}", soft_wrap=True)
    screen.print(f"  file    {path}", soft_wrap=True)
    screen.print(f"  origin  {described.origin}", soft_wrap=True)
    screen.print(f"  terms   {described.terms}", soft_wrap=True)
    if described.name in SOURCES:
        screen.print(f"  licence {SOURCES[described.name].licence}", soft_wrap=True)


@contextmanager
def _bar(name: str, size: int | None) -> Iterator[Callable[[int], None]]:
    """Bytes and time left on standard error, if somebody is there to see it."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(err=True), transient=True) as progress:
        task = progress.add_task(f"fetching {name}", total=size)
        yield lambda done: progress.update(task, completed=done)
