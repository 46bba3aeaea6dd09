"""CSV with a header: columns for the task, the label and optionally the round; all others are features.

An empty cell is an absent feature. Columns are converted in bulk; only where that fails, every cell is checked.
"""

import csv
from typing import Any

import numpy as np

from weft.compiled.arrays import Floats
from weft.names import Name
from weft.streams.records import MISSING, Block, Fault, Refused, Rules, name_of, show

ROUND = "round"


class Table:
    """An array whose columns have names: what `weft.Stream` takes for a data frame."""

    def __init__(self, columns: list[Name], array: Floats) -> None:
        self.columns = columns
        self.array = array

    def to_numpy(self) -> Floats:
        """The values."""
        return self.array

    def __getitem__(self, rows: Any) -> "Table":
        return Table(self.columns, self.array[rows])

    def __len__(self) -> int:
        return len(self.array)


class Parser:
    """Lines to blocks; the first line that is not blank is the header."""

    def __init__(self, rules: Rules, task: str = "task", label: str = "y") -> None:
        self.rules = rules
        self.task, self.label = task, label
        self.header: list[str] | None = None

    @property
    def ready(self) -> bool:
        """Whether the header was read."""
        return self.header is not None

    def parse(self, first: int, lines: list[bytes]) -> Block:
        """The records of lines that begin at line number `first`."""
        numbers: list[int] = []
        rows: list[list[str]] = []
        faults: list[Fault] = []
        for number, line in enumerate(lines, first):
            if not line.strip():
                continue
            try:
                cells = self._cells(line)
                if self.header is None:
                    self._read_header(cells)
                    continue
            except Refused as refused:
                faults.append(Fault(number, refused.field, refused.reason))
                if self.header is None:
                    break  # without a header nothing can be read
                continue
            if not cells[self._task_at].strip():
                faults.append(Fault(number, self.task, "the task is missing; write its name"))
                continue
            numbers.append(number)
            rows.append(cells)
        return self._block(numbers, rows, faults)

    def _cells(self, line: bytes) -> list[str]:
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            raise Refused(None, "the line is not UTF-8; write the file in UTF-8") from None
        if text.count('"') % 2:
            raise Refused(None, "a quoted cell is not closed on its line; close it (names cannot contain line breaks)")
        cells = next(csv.reader([text]), [])
        if self.header is not None and len(cells) != len(self.header):
            raise Refused(None, f"{len(cells)} cells, the header has {len(self.header)}; fill or remove cells")
        return cells

    def _read_header(self, cells: list[str]) -> None:
        header = [cell.strip() for cell in cells]
        shown = ", ".join(header[:8]) + (", ..." if len(header) > 8 else "")
        for name in header:
            if header.count(name) > 1 or not name:
                what = f"the column {show(name)} appears twice" if name else "a column has no name"
                raise Refused(None, f"{what} in the header ({shown}); give every column a name of its own")
        if self.task not in header:
            raise Refused(
                self.task,
                f"no such column in the header ({shown}); name the task's column with --task-column",
            )
        if self.label not in header and self.rules.labels and self.rules.target != "point":
            raise Refused(
                self.label,
                f"no such column in the header ({shown}); name the label's column with --label-column",
            )
        self.header = header
        self._task_at = header.index(self.task)
        self._label_at = header.index(self.label) if self.label in header else None
        self._round_at = header.index(ROUND) if ROUND in header else None
        special = {self._task_at, self._label_at, self._round_at}
        self._feature_at = [at for at in range(len(header)) if at not in special]
        self._features = [name_of(header[at]) for at in self._feature_at]

    def _block(self, numbers: list[int], rows: list[list[str]], faults: list[Fault]) -> Block:
        if self.header is None or not rows:
            return Block([], [], np.zeros(0), None, [], faults)
        try:
            X = _numbers([[row[at] for at in self._feature_at] for row in rows], len(self._features))
            y = self._labels(rows)
        except ValueError:
            good, bad = self._find_bad(numbers, rows)
            if not bad:
                raise
            return self._block([numbers[i] for i in good], [rows[i] for i in good], faults + bad)
        tasks = [name_of(row[self._task_at]) for row in rows]
        rounds = None if self._round_at is None else [row[self._round_at] for row in rows]
        return Block(numbers, tasks, y, rounds, Table(self._features, X), faults)

    def _labels(self, rows: list[list[str]]) -> Floats:
        if self._label_at is None:
            return np.full(len(rows), MISSING)
        cells = [row[self._label_at] for row in rows]
        y: Floats = _numbers([cells], len(cells))[0]
        y[[not cell.strip() for cell in cells]] = MISSING
        return y

    def _find_bad(self, numbers: list[int], rows: list[list[str]]) -> tuple[list[int], list[Fault]]:
        good, bad, header = [], [], self.header or []
        for i, (number, row) in enumerate(zip(numbers, rows, strict=True)):
            try:
                for at in self._feature_at:
                    _check(row[at], header[at], "write a number, or leave the cell empty")
                if self._label_at is not None:
                    _check(row[self._label_at], self.label, self.rules.write)
                good.append(i)
            except Refused as refused:
                bad.append(Fault(number, refused.field, refused.reason))
        return good, bad


def _numbers(cells: list[list[str]], width: int) -> Floats:
    """Text as numbers, 0 for an empty cell; ValueError for other text."""
    try:
        table = np.array(cells, np.float64).reshape(len(cells), width)
    except ValueError:
        table = np.array([[cell.strip() or "0" for cell in row] for row in cells], np.float64).reshape(
            len(cells), width
        )
    if not np.all(np.isfinite(table)):
        raise ValueError("not finite")
    return table


def _check(cell: str, column: str, remedy: str) -> None:
    try:
        value = float(cell.strip() or "0")
    except ValueError:
        raise Refused(column, f"{show(cell)} is not a number; {remedy}") from None
    if not np.isfinite(value):
        raise Refused(column, f"{show(cell)} is not finite; {remedy}")
