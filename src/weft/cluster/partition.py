"""Files of events as one file per shard, in the packed form, so that every shard reads its own events alone."""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from weft.cluster.placement import expect_shards, shard_of
from weft.compiled.arrays import Ints
from weft.labels import Label
from weft.learner import Target
from weft.schema import Schema
from weft.store.files import Output
from weft.store.problems import explaining
from weft.streams.chunk import Chunk
from weft.streams.formats import read_chunks
from weft.streams.packing import Origin, PackWriter


def partition(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    shards: int,
    schema: Schema | None = None,
    labels: tuple[Label, ...] = (),
    options: Mapping[str, Any] | None = None,
    on_chunk: Callable[[Chunk], None] = lambda chunk: None,
) -> list[Path]:
    """Write the events of files to `shard-000.weftpack` and so on in a folder, each in the order of the files.

    A shard without events gets an empty file. `labels` are the two classes of records, if they are known; `options`
    are those of `weft.read_chunks`. The files are in place when all of them are complete.
    """
    expect_shards(shards)
    files = [source] if isinstance(source, str | os.PathLike) else list(source)
    place, target = Path(folder), _target(schema)
    with explaining(place, "make"):
        place.mkdir(parents=True, exist_ok=True)
    paths = [place / f"shard-{number:03}.weftpack" for number in range(shards)]
    with ExitStack() as stack:
        outputs = [stack.enter_context(Output(path)) for path in paths]
        origin = None if schema is None else Origin(schema, labels)
        writers = [PackWriter(output, origin) for output in outputs]
        for file in files:
            known = np.zeros(0, np.int64)
            for chunk in read_chunks(file, target=target, labels=False, schema=schema, **(options or {})):
                known = _with_shards(known, chunk, shards)
                where = known[chunk.events.task]
                for number in np.unique(where).tolist():
                    events = chunk.events.take(np.flatnonzero(where == number))
                    writers[number].add(replace(chunk, events=events))
                on_chunk(chunk)
        for writer in writers:
            writer.finish()
    return paths


def _target(schema: Schema | None) -> Target:
    """Labels are looked at when the events are learned; those of records may be classes."""
    return "real" if schema is None else "point"


def _with_shards(known: Ints, chunk: Chunk, shards: int) -> Ints:
    """The shard of every code of a source's tasks."""
    more = [shard_of(name, shards) for name in chunk.task_names.names[len(known) :]]
    return np.concatenate((known, np.array(more, np.int64)))
