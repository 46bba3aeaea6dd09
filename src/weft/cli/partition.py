"""`weft partition`: files of events as one packed file per shard."""

from typing import TYPE_CHECKING

import click

from weft.cli.options import Reading, example, file_options, quiet_option
from weft.cli.schema_options import told_of
from weft.cli.tables import console, plural, tell

if TYPE_CHECKING:
    from weft.streams.chunk import Chunk


@click.command("partition", epilog=example(
    """echo '{"task": "ann", "x": {"free": 1, "offer": 2}, "y": 1}' > events.jsonl""",
    "weft partition events.jsonl --shards 2 --out parts",
    "weft learn parts/shard-*.weftpack --partitioned --shards 2 --model spam.weft",
))  # fmt: skip
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--shards", type=click.IntRange(1, 256), required=True, metavar="N", help="The number of shards.")
@click.option("--out", required=True, metavar="FOLDER", help="Where the files are written: shard-000.weftpack ...")
@file_options
@quiet_option
def command(files: tuple[str, ...], shards: int, out: str, reading: Reading, quiet: bool) -> None:
    """Write the events of FILEs to one packed file per shard.

    weft learn --shards N --partitioned then has every shard read its own file alone, where it otherwise reads all
    FILEs and leaves out the events of other shards. A task's shard follows from its name and N.
    """
    from weft.cluster.partition import partition

    fields = told_of(files, reading, quiet)
    events = skipped = 0

    def count(chunk: "Chunk") -> None:
        nonlocal events, skipped
        events, skipped = events + len(chunk), skipped + len(chunk.skipped)

    labels = tuple(fields.labels) if fields.schema is not None else ()
    paths = partition(
        files,
        out,
        shards=shards,
        schema=fields.schema,
        labels=labels,
        options=reading.keywords,
        on_chunk=count,
    )
    if quiet:
        return
    if skipped:
        tell(f"weft: skipped {plural(skipped, 'malformed line')}")
    console().print(f"Wrote {plural(events, 'event')} to {plural(len(paths), 'file')} in {out}.", soft_wrap=True)
