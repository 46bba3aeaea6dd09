"""Parquet and Arrow files through pyarrow: columns for the task, the label and the round; all others are features.

A column of features holds numbers; a null or NaN in it is an absent feature. Tasks are strings or integers: their
dictionary is looked up once per batch, and its codes become the codes of the file by one gather.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.names import Name
from weft.storage.batch import LARGEST
from weft.storage.lexicon import Lexicon
from weft.streams.csv import ROUND
from weft.streams.events import Events
from weft.streams.records import MISSING, Fault, InputError, name_of, show
from weft.streams.tables import Piece, row_numbers

_CELLS = 1 << 22
"""Cells that are read at once."""


def import_pyarrow() -> Any:
    """The package pyarrow, or a sentence that says how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise InputError(
            "Parquet and Arrow files need the package pyarrow; install it with pip install 'weft[arrow]'"
        ) from None
    return pyarrow


class ArrowFile:
    """A Parquet or Arrow file as batches of rows."""

    def __init__(self, path: str, format: str) -> None:
        self.arrow = import_pyarrow()
        self.path, self._format = path, format
        try:
            self._file = self._open()
            self.schema: Any = self._file.schema_arrow if format == "parquet" else self._file.schema
            self.names: list[str] = self.schema.names
            self.rows = self._count()
        except (self.arrow.ArrowInvalid, self.arrow.ArrowNotImplementedError, OSError) as error:
            raise InputError(
                f"{path}: the {format} file cannot be read ({_first_line(error)}); write it again"
            ) from None
        self._digest = ""
        if len(set(self.names)) != len(self.names):
            shown = f"two columns have one name ({self.shown})"
            raise InputError(f"{path}: {shown}; give every column a name of its own")

    @property
    def shown(self) -> str:
        """The first columns, for a message."""
        return ", ".join(self.names[:8]) + (", ..." if len(self.names) > 8 else "")

    def _open(self) -> Any:
        if self._format == "parquet":
            from pyarrow import parquet

            return parquet.ParquetFile(self.path)
        from pyarrow import ipc

        content = self.arrow.memory_map(self.path)
        if content.read(6) == b"ARROW1":
            return ipc.open_file(content)
        content.seek(0)
        return ipc.open_stream(content)

    def _count(self) -> int:
        if self._format == "parquet":
            return int(self._file.metadata.num_rows)
        return sum(batch.num_rows for batch in self._stored())

    def _stored(self) -> Iterator[Any]:
        """The batches of an Arrow file or stream as they are in it; a stream can only be read from its beginning."""
        from pyarrow import ipc

        file = self._open()
        if isinstance(file, ipc.RecordBatchFileReader):
            yield from map(file.get_batch, range(file.num_record_batches))
        else:
            yield from file

    def digest(self) -> str:
        """Of the whole file, which is written at once."""
        if not self._digest:
            with open(self.path, "rb") as file:
                self._digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
        return self._digest

    def batches(self) -> Iterator[Any]:
        """Some rows at a time."""
        size = max(1, min(65536, _CELLS // max(1, len(self.names))))
        try:
            if self._format == "parquet":
                yield from self._file.iter_batches(batch_size=size)
                return
            for batch in self._stored():
                batch.validate(full=True)
                for begin in range(0, batch.num_rows, size):
                    yield batch.slice(begin, size)
        except (self.arrow.ArrowException, OSError) as error:
            raise InputError(
                f"{self.path}: the {self._format} file cannot be read ({_first_line(error)}); write it again"
            ) from None


class ArrowColumns:
    """A Parquet or Arrow file of tasks, labels and numbers."""

    def __init__(self, path: str, format: str, task: str, label: str, needs_label: bool) -> None:
        self._file = ArrowFile(path, format)
        self._arrow, self._names = self._file.arrow, self._file.names
        self.name, self.rows = path, self._file.rows
        self._task, self._label = task, label
        self.tasks, self.labels = Lexicon(), Lexicon()
        self.features = Lexicon()
        self._check_columns(needs_label)

    def _check_columns(self, needs_label: bool) -> None:
        names, types, shown = self._names, self._arrow.types, self._file.shown
        for name, option in ((self._task, "task"), (self._label, "label")):
            if name not in names and (option == "task" or needs_label):
                remedy = f"name the {option}'s column with --{option}-column"
                raise InputError(f"{self.name}: there is no column {show(name)} ({shown}); {remedy}")
        for field in self._file.schema:
            kind = field.type
            is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
            if field.name not in (self._task, ROUND) and not is_number:
                what = f"{self.name}: the column {show(field.name)} holds {kind}, not numbers"
                raise InputError(f"{what}; convert it, or leave it out")
        special = (self._task, self._label, ROUND)
        self._features = [name for name in names if name not in special]
        self._codes = np.array([self.features.code(name_of(name)) for name in self._features], np.int64)

    def digest(self, rows: int) -> str:
        """Of the whole file."""
        return self._file.digest()

    def pieces(self) -> Iterator[Piece]:
        """Batches of rows."""
        done = 0
        for batch in self._file.batches():
            yield self._piece(batch, done)
            done += batch.num_rows

    def _piece(self, batch: Any, done: int) -> Piece:
        n = batch.num_rows
        codes, is_named = self._coded_tasks(batch.column(self._names.index(self._task)))
        table = np.empty((n, len(self._features)))
        for at, name in enumerate(self._features):
            table[:, at] = self._numbers(batch, name)
        is_there = ~np.isnan(table)
        with np.errstate(invalid="ignore"):
            too_large = (np.abs(table) > LARGEST).any(axis=1)
        labels = self._numbers(batch, self._label) if self._label in self._names else np.full(n, MISSING)
        missing = np.flatnonzero(~is_named).tolist()
        faults = [Fault(done + i + 1, self._task, "the task is missing; write its name") for i in missing]
        for i in np.flatnonzero(is_named & too_large).tolist():
            largest = np.nanmax(np.abs(table[i]))
            reason = f"{largest:g} is too large; scale values to {LARGEST:g} at most"
            faults.append(Fault(done + i + 1, "x", reason))
        indptr = np.concatenate([[0], np.cumsum(is_there.sum(axis=1))]).astype(np.int64)
        column = np.nonzero(is_there)[1]
        rounds = batch.column(self._names.index(ROUND)).to_pylist() if ROUND in self._names else None
        events = Events(
            row_numbers(done, n),
            labels,
            codes,
            indptr,
            self._codes[column],
            table[is_there],
            np.zeros(n, np.int64),
            rounds,
        )
        return Piece(events.without({fault.line for fault in faults}), faults, done + n)

    def _numbers(self, batch: Any, name: str) -> Floats:
        """A column as numbers, NaN where it is null."""
        column = batch.column(self._names.index(name)).cast(self._arrow.float64(), safe=False)
        return np.array(column.fill_null(MISSING).to_numpy(zero_copy_only=False), np.float64)

    def _coded_tasks(self, column: Any) -> tuple[Ints, Any]:
        """The code of every row's task, and whether there is one."""
        types, kind = self._arrow.types, column.type
        if types.is_dictionary(kind):
            column = column.cast(kind.value_type)
            kind = kind.value_type
        if not (types.is_integer(kind) or types.is_string(kind) or types.is_large_string(kind)):
            raise InputError(f"{self.name}: the column {show(self._task)} holds {kind}; tasks are strings or integers")
        coded = column.dictionary_encode()
        names: list[Name] = coded.dictionary.to_pylist()
        slots = np.array([self.tasks.code(name) for name in names] or [0], np.int64)
        found = np.array(coded.indices.fill_null(0).to_numpy(zero_copy_only=False), np.int64)
        is_there = ~np.array(column.is_null().to_numpy(zero_copy_only=False), bool)
        is_there &= np.array([name != "" for name in names] or [True], bool)[found]
        return slots[found], is_there


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0][:200]
