"""Parquet and Arrow files of records with a schema: columns of numbers, strings, booleans, dictionaries, lists."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.encoding.collected import Encoded, expect_fields
from weft.encoding.frames import FrameNames, encode_frame
from weft.kinds.frames import as_frame, frame_records
from weft.labels import Labels
from weft.schema import Schema
from weft.storage.lexicon import CodedRows, Lexicon
from weft.streams.arrow import ArrowFile
from weft.streams.events import Events, encoded, label_columns
from weft.streams.record_lines import RecordBlock
from weft.streams.records import InputError, Refused
from weft.streams.tables import Piece, row_numbers


class ArrowRecords:
    """A Parquet or Arrow file of records."""

    def __init__(self, path: str, format: str, schema: Schema, needs_label: bool, only_task: bool = False) -> None:
        self._file = ArrowFile(path, format)
        self.name, self.rows, self.schema = path, self._file.rows, schema
        self._found = FrameNames()
        self.tasks, self.features, self.labels = self._found.tasks, self._found.features, Lexicon()
        try:
            expect_fields(schema, self._names(), "the file has no column", needs_label, only_task)
        except ValueError as error:
            raise InputError(f"{path}: {error}") from None

    def _names(self) -> list[str]:
        """The columns, those in structures with points."""
        found: list[str] = []
        waiting = [("", field) for field in self._file.schema]
        while waiting:
            prefix, field = waiting.pop()
            found.append(prefix + field.name)
            if self._file.arrow.types.is_struct(field.type):
                waiting += [(f"{prefix}{field.name}.", inner) for inner in field.type]
        return found

    def digest(self, rows: int) -> str:
        """Of the whole file."""
        return self._file.digest()

    def pieces(self) -> Iterator[Piece]:
        """Batches of rows."""
        done = 0
        for batch in self._file.batches():
            frame = as_frame(self._file.arrow.Table.from_batches([batch]))
            try:
                piece = self._piece(encode_frame(frame, self.schema, self._found), done)
            except ValueError:
                piece = self._careful_piece(frame, done)
            yield piece
            done += batch.num_rows

    def _piece(self, found: Encoded, done: int) -> Piece:
        n, rows = len(found.coded.tasks), found.coded.rows
        assert isinstance(rows, CodedRows)  # records have names
        label, classes = self._labels(found.labels, n)
        events = Events(
            row_numbers(done, n),
            label,
            found.coded.tasks,
            rows.indptr,
            rows.indices,
            rows.values,
            np.zeros(n, np.int64),
            found.rounds,
            classes,
            found.weight,
            found.ids,
        )
        return Piece(events, [], done + n)

    def _labels(self, labels: Labels | None, n: int) -> tuple[Floats, Ints | None]:
        """Labels as numbers, and the codes of those that are not; each different label is looked at once."""
        if labels is None:
            return np.full(n, np.nan), None
        if labels.names is None:
            return labels.values, None
        names = [name if isinstance(name, str | bool) else float(name) for name in labels.names]
        numbers, classes = label_columns(names, self.labels)
        assert classes is not None  # one of them is not a number
        is_there = ~np.isnan(labels.values)
        at = np.where(is_there, labels.values, 0.0).astype(np.int64)
        return np.where(is_there, numbers[at], np.nan), np.where(is_there, classes[at], -1)

    def _careful_piece(self, frame: Any, done: int) -> Piece:
        """Row by row, with the rows that cannot be used."""
        found = RecordBlock(self.schema)
        for row, record in enumerate(frame_records(frame)):
            try:
                found.add(done + row + 1, record)
            except Refused as refused:
                found.refuse(done + row + 1, refused)
        block = found.block
        events = encoded(block, self.tasks, self.features, self.schema.round is not None, self.labels)
        return Piece(events, block.faults, done + len(frame))
