"""`weft.read`: files of records, or of events, as streams."""

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from weft.schema import Schema, as_schema
from weft.stream import Stream
from weft.streams.chunk import Chunk
from weft.streams.formats import CHUNK, read_chunks
from weft.streams.records import InputError

Path = str | os.PathLike[str]


def read(
    path: Path | Iterable[Path],
    schema: Schema | None = None,
    *,
    chunk: int = CHUNK,
    format: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    **fields: Any,
) -> Iterator[Stream]:
    """Read files, one after the other, as streams of at most `chunk` events, unless a round is longer.

    The fields of records are said by a schema, or by the keywords of one; without any, a file holds events such as
    `{"task": "ann", "x": {"free": 1}, "y": 1}`. A file without labels gives streams without labels. `separator` and
    `decimal` are those of CSV, found in its header if they are not given.
    """
    told = None if schema is None and not fields else as_schema(schema, fields)
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    if not paths:
        raise ValueError("there is no file to read; give the path of one")
    return _streams(
        paths, {"schema": told, "chunk": chunk, "format": format, "separator": separator, "decimal": decimal}
    )


def _streams(paths: list[Path], options: dict[str, Any]) -> Iterator[Stream]:
    for path in paths:
        for chunk in read_chunks(path, target="point", labels=False, **options):
            yield _stream(chunk, os.fspath(path))


def _stream(chunk: Chunk, name: str) -> Stream:
    labels = chunk.label_values
    missing = np.isnan(labels.values)
    if missing.all():
        return chunk.unlabelled
    if missing.any() and chunk.rounds is None:
        line = chunk.lines[int(np.argmax(missing))]
        raise InputError(f"{name}, line {line}: the label is missing; give every event one, or none of them")
    return chunk.labelled
