"""`weft route`: several services as one, each with its own tasks."""

from pathlib import Path
from typing import Any

import click

from weft.cli.options import example

PORT = 8764


@click.group("route", epilog=example(
    "weft route make map.json --shard a=http://127.0.0.1:8765 --shard b=http://127.0.0.1:8766",
    "weft route serve map.json",
    "weft route add map.json c=http://127.0.0.1:8767",
    "weft route move map.json --virtual 64-127 --to c --log spam-a --router http://127.0.0.1:8764",
))  # fmt: skip
def command() -> None:
    """Answer for several services of `weft serve`, shards, each of which has some of the tasks.

    A task belongs to one of 256 virtual shards by a hash of its name, and a map, a JSON file, says which shard serves
    which of them. A running router follows changes of the file.
    """


@command.command("make")
@click.argument("path", metavar="MAP", type=click.Path(path_type=Path))
@click.option("--shard", "shards", multiple=True, required=True, metavar="NAME=URL", help="A service; repeated.")
@click.option("--schema-of", metavar="DIR", help="Route records too, by the schema of this folder.")
def make(path: Path, shards: tuple[str, ...], schema_of: str | None) -> None:
    """Write a new map, with as many virtual shards for each service."""
    from weft.route.placement import Map, Shard, evenly, write_map
    from weft.serve.folder import Folder

    if path.exists():
        raise ValueError(f"{path} exists already; weft route add and weft route move change it")
    found: dict[str, Shard] = {}
    given = [_named(text) for text in shards]
    for (name, url), virtual in zip(given, evenly(len(given)), strict=True):
        if name in found:
            raise ValueError(f"the shard {name!r} is given twice; give each a name of its own")
        found[name] = Shard(url, virtual)
    write_map(path, Map(shards=found, schema=Folder(schema_of).config().schema if schema_of else None))
    click.echo(f"{path}: {len(found)} shards")


@command.command("serve")
@click.argument("path", metavar="MAP", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address; others than this need tokens.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 takes a free one.")
@click.option("--most-bytes", type=click.IntRange(min=1), default=1 << 20, show_default=True, help="Of a JSON body.")
@click.option(
    "--most-connections", type=click.IntRange(min=1), default=2_000, show_default=True, help="Open at one time."
)
@click.option(
    "--most-seconds",
    type=click.FloatRange(min=0.1),
    default=30.0,
    show_default=True,
    help="For a request and its answer.",
)
def serve(path: Path, host: str, port: int, most_bytes: int, most_connections: int, most_seconds: float) -> None:
    """Route requests by MAP, with the routes and the tokens of the shards."""
    _expect_extra()
    from weft.route.run import Asked, route
    from weft.serve.limits import Limits

    limits = Limits(body=most_bytes, line=most_bytes, connections=most_connections, seconds=most_seconds)
    raise click.exceptions.Exit(route(path, Asked(host, port, limits)))


@command.command("add")
@click.argument("path", metavar="MAP", type=click.Path(path_type=Path))
@click.argument("shard", metavar="NAME=URL")
def add(path: Path, shard: str) -> None:
    """Add a shard that has no tasks yet, or give one another address."""
    import msgspec

    from weft.route.placement import Shard, read_map, write_map

    map_, (name, url) = read_map(path), _named(shard)
    virtual = map_.shards[name].virtual if name in map_.shards else ""
    shards = map_.shards | {name: Shard(url, virtual)}
    write_map(path, msgspec.structs.replace(map_, version=map_.version + 1, shards=shards))
    click.echo(f"{path}: {len(shards)} shards")


@command.command("move")
@click.argument("path", metavar="MAP", type=click.Path(path_type=Path))
@click.option("--virtual", required=True, metavar="NUMBERS", help="Virtual shards of one shard: 64-95,100.")
@click.option("--to", "target", required=True, metavar="NAME", help="The shard that gets them.")
@click.option(
    "--log",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder of the shard that has them.",
)
@click.option("--router", "routers", multiple=True, required=True, metavar="URL", help="Every router of MAP; repeated.")
@click.option("--token", envvar="WEFT_TOKEN", help="Of scope admin at both shards, or in WEFT_TOKEN.")
def move(path: Path, virtual: str, target: str, log: Path, routers: tuple[str, ...], token: str | None) -> None:
    """Move virtual shards to another shard, which learns their tasks from the log of the one that has them.

    Requests for these tasks are answered with 503 meanwhile. A move that was interrupted is finished by the same
    command.
    """
    _expect_extra()
    from weft.route.moving import Move

    found = Move(path, log, list(routers), token, click.echo).run(virtual, target)
    further = f"; {found.other_ids} of them have another id there" if found.other_ids else ""
    click.echo(f"{found.tasks} tasks with {found.events} events are at {target} now{further}")


def _named(text: str) -> tuple[str, str]:
    name, equals, url = text.partition("=")
    if not equals or not name or not url:
        raise ValueError(f"{text!r} is not a shard; write NAME=URL, such as a=http://127.0.0.1:8765")
    return name, url


def _expect_extra() -> None:
    from importlib.util import find_spec

    from weft.cli.serve import expect_extra

    expect_extra()
    missing: list[Any] = [name for name in ("httpx",) if find_spec(name) is None]
    if missing:
        raise ValueError("weft route needs httpx; install it with pip install 'weft[serve,async]'")
