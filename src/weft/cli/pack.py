"""`weft pack`: files of events in the packed form, which is read many times faster than text."""

import os
from typing import TYPE_CHECKING, Any

import click

from weft.cli.options import Reading, example, file_options, quiet_option
from weft.cli.schema_options import Fields, told_of
from weft.cli.tables import console, count, plural, tell
from weft.store.files import Output, expect_place

if TYPE_CHECKING:
    from weft.streams.chunk import Chunk


@click.command("pack", epilog=example(
    """echo '{"task": "ann", "x": {"free": 1, "offer": 2}, "y": 1}' > events.jsonl""",
    "weft pack events.jsonl --out events.weftpack && weft learn events.weftpack --model spam.weft",
))  # fmt: skip
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--out", required=True, metavar="PATH", help="The packed file to write.")
@file_options
@quiet_option
def command(files: tuple[str, ...], out: str, reading: Reading, quiet: bool) -> None:
    """Write the events of one or several FILEs to one packed file.

    A packed file holds the same events in the same order, as columns of numbers; every command reads it like the
    files that it was made of, and learns the same model from it. Labels may be missing: they are checked when the
    events are learned. Records with fields are packed with their schema, which the options say, or which is guessed
    as weft learn does.
    """
    from weft.streams.packing import Origin, PackWriter

    expect_place(out)
    for file in files:
        if os.path.isfile(out) and os.path.realpath(out) == os.path.realpath(file):
            raise ValueError(f"--out {out} would replace the events; give the packed file another name")
    events = skipped = 0
    fields = told_of(files, reading, quiet)
    origin = None if fields.schema is None else Origin(fields.schema, fields.labels)
    with Output(out) as output:
        writer = PackWriter(output, origin)
        for chunk in _chunks(files, reading, fields):
            writer.add(chunk)
            events += len(chunk)
            skipped += len(chunk.skipped)
        size = writer.finish()
    if quiet:
        return
    if skipped:
        tell(f"weft: skipped {plural(skipped, 'malformed line')}")
    console().print(f"Packed {plural(events, 'event')} into {out}: {count(size)} bytes.", soft_wrap=True)


def _chunks(files: tuple[str, ...], reading: Reading, fields: Fields) -> Any:
    from weft.streams import read_chunks

    target: Any = "real" if fields.schema is None else "point"  # labels of records may be classes
    for file in files:
        chunk: Chunk
        for chunk in read_chunks(file, target=target, labels=False, schema=fields.schema, **reading.keywords):
            if len(chunk):
                yield chunk
