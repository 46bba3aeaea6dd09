"""`weft learn --shards`: files into a model, learned in shards in this process or by actors of Ray."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.tables import console, count, plural, print_json, tally_table, tell

if TYPE_CHECKING:
    from weft.cli.compiling import Watch
    from weft.cluster import Learned
    from weft.cluster.folder import Folder

OPTIONS = [
    click.option(
        "--shards",
        type=click.IntRange(1, 256),
        metavar="N",
        help="Learn in N shards: a hash of its name says where a task is, and what shards share is exchanged.  "
        "[default with --ray or --partitioned: one per FILE]",
    ),
    click.option(
        "--exchange",
        type=click.IntRange(min=1),
        metavar="N",
        help="Events, of all shards together, between two exchanges of what shards share.  [default: 10000]",
    ),
    click.option(
        "--staleness",
        type=click.IntRange(0, 100),
        metavar="K",
        help="How many exchanges behind a shard may be; 0 waits for each of them.  [default: 0]",
    ),
    click.option(
        "--partitioned", is_flag=True, help="FILEs are a file per shard, in order, as weft partition writes them."
    ),
    click.option("--ray", is_flag=True, help="Have actors of Ray learn the shards, on one or several machines."),
    click.option(
        "--actors",
        type=click.IntRange(1, 256),
        metavar="N",
        help="How many actors learn the shards; the result is the same.  [default: one per shard]",
    ),
    click.option("--ray-address", metavar="ADDRESS", help="The Ray cluster to use.  [default: one on this machine]"),
    click.option(
        "--shards-only",
        is_flag=True,
        help="Write no MODEL, only a model per shard, in the folder MODEL.shards beside it.",
    ),
]


@dataclass(frozen=True)
class Sharding:
    """What was asked for of shards; None stands for a default."""

    shards: int | None
    exchange: int | None
    staleness: int | None
    partitioned: bool
    ray: bool
    actors: int | None
    ray_address: str | None
    shards_only: bool

    def counted(self, files: tuple[str, ...]) -> "Sharding":
        """With a number of shards: for Ray or a partition as many as files, if there are several of them.

        Files with the names that `weft partition` gives are a partition.
        """
        if self.shards is None and (self.ray or self.partitioned) and 1 < len(files) <= 256:
            names = [f"shard-{number:03}.weftpack" for number in range(len(files))]
            is_partition = self.partitioned or [Path(file).name for file in files] == names
            return replace(self, shards=len(files), partitioned=is_partition)
        return self

    def expect_shards(self) -> None:
        """Refuse options that mean nothing without --shards."""
        if self.shards is not None:
            return
        given: dict[str, Any] = {
            "--partitioned": self.partitioned,
            "--ray": self.ray,
            "--shards-only": self.shards_only,
        }
        given |= {"--exchange": self.exchange, "--staleness": self.staleness}
        given |= {"--actors": self.actors, "--ray-address": self.ray_address}
        for name, value in given.items():
            if value not in (None, False):
                raise ValueError(f"{name} is for learning in shards; say how many with --shards N")


def shard_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options of learning in shards: the command gets `sharding`, a `Sharding`."""

    @functools.wraps(function)
    def gathered(**given: Any) -> Any:
        names = Sharding.__dataclass_fields__
        return function(sharding=Sharding(**{name: given.pop(name) for name in names}), **given)

    found: Callable[..., Any] = gathered
    for option in reversed(OPTIONS):
        found = option(found)
    return found


def shards_folder(model: Path) -> Path:
    """Where the run is kept: beside the model."""
    return model.with_name(model.name + ".shards")


def learn_shards(asked: Any, path: Path, parameters: dict[str, Any], watch: "Watch") -> None:
    """Learn FILEs in shards and write the model; an interrupted run goes on when the command is repeated."""
    from weft.cli.learning import open_or_create
    from weft.cli.signals import StopSignals, exit_code
    from weft.cluster import learn
    from weft.cluster.folder import Folder
    from weft.model import Model

    refuse_other_options(asked)
    folder, given = Folder(shards_folder(path)), asked.sharding
    expect_own_model(path, folder)
    model, _, fields = open_or_create(path, asked, parameters, None, "auto")
    if not isinstance(model, Model):
        raise ValueError(f"{path} is a model of several classes, which cannot be learned in shards")
    if not asked.quiet:
        for line in fields.lines:
            tell(f"weft: {line}")
    try:
        with StopSignals() as signals, signals.held():
            found = learn(
                asked.files,
                model,
                shards=given.shards,
                exchange=given.exchange or 10_000,
                staleness=given.staleness or 0,
                partitioned=given.partitioned,
                folder=folder.path,
                schema=fields.schema,
                options={name: value for name, value in asked.reading.keywords.items() if value is not None},
                workers=_workers(given),
                on_version=lambda version: signals.check(),
            )
            if not given.shards_only:
                write_joined(path, folder, found)
    except KeyboardInterrupt as stop:
        tell("weft: stopped; the same command goes on where it stopped")
        raise click.exceptions.Exit(exit_code(stop)) from None
    _report(asked, found, path, watch)


def expect_own_model(path: Path, folder: "Folder") -> None:
    """Refuse a model file that something else has changed since the shards beside it were learned."""
    from weft.store.reading import stored_digest

    config = folder.read_config()
    if config is not None and path.exists() and stored_digest(path) not in config.get("models", []):
        raise ValueError(
            f"{path} was not made by the shards in {folder.path}; remove that folder to spread the model over shards "
            "anew, or choose another --model"
        )


def write_joined(path: Path, folder: "Folder", found: "Learned") -> None:
    """Write the model of all shards; the folder knows its digest before it is in place."""
    from weft.store.files import Output
    from weft.store.reading import stored_digest

    with Output(path) as output:
        after = found.model().write_to(output.write)
        known = [digest for digest in (stored_digest(path), after) if digest is not None]
        folder.write_config({**(folder.read_config() or {}), "models": known})


def _workers(given: Sharding) -> Any:
    if not given.ray:
        return None
    from weft.cluster.on_ray import on_ray

    return on_ray(actors=given.actors, address=given.ray_address)


def refuse_other_options(asked: Any) -> None:
    """Options of `weft learn` that learning in shards does not have."""
    given = {
        "--multiclass": asked.multiclass,
        "--predictions": asked.predictions,
        "--every": asked.every,
        "--save-every": asked.save_every,
        "--tasks": asked.tasks,
        "--restart": asked.restart,
        "--keep-position": asked.keep_position,
        "--idle": asked.idle,
        "--dead-letters": asked.dead_letters,
    }
    for name, value in given.items():
        if value not in (None, False):
            raise ValueError(f"{name} cannot be combined with --shards; leave one of the two out")
    from weft.brokers.address import is_address

    for file in asked.files:
        if file == "-" or is_address(file):
            raise ValueError(f"{file} cannot be read again, which --shards needs; give files")


def _report(asked: Any, found: "Learned", path: Path, watch: "Watch") -> None:
    shards = [str(shard) for shard in found.shards]
    if asked.as_json:
        print_json(
            {
                "model": None if asked.sharding.shards_only else str(path),
                "shards": shards,
                "events": found.events,
                "exchanges": found.versions,
                "seconds": round(watch.seconds, 3),
                "compile_seconds": round(watch.compilation.seconds, 3),
            }
        )
        return
    if asked.quiet:
        return
    screen = console()
    if not found.is_new:
        screen.print(f"All {count(found.events)} events were learned already; nothing was done.", soft_wrap=True)
        return
    if not asked.sharding.shards_only:
        from weft.model import load

        model = load(path)
        screen.print(tally_table(model.tally, asked.all_tasks, title=f"{model.name}: predictions before learning"))
    what = f"the models of the shards are {shards[0]} and so on" if asked.sharding.shards_only else f"made {path}"
    screen.print(
        f"Learned {plural(found.events, 'event')} in {plural(len(shards), 'shard')}, with "
        f"{plural(found.versions, 'exchange')}, in {watch.seconds:.1f} s{watch.left_out}; {what}.",
        soft_wrap=True,
    )
