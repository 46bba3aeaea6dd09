"""CSV with a header: columns for the task, the label and optionally the round; all others are features.

An empty cell is an absent feature. The careful reader: it reads the header and what `weft.streams.scan.table` hands on.
"""

import csv
import re

from weft.names import Name
from weft.streams.records import (
    MISSING,
    Block,
    Fault,
    Refused,
    Rules,
    check_row,
    name_of,
    number_of,
    show,
    task_of,
)

ROUND = "round"
SEPARATORS = (",", "\t", ";", "|")
"""Between cells, where it is not given: the one that fits the header."""
_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
LONGEST_CELL = 131_072
"""Characters of a cell."""


class Parser:
    """Lines to records; the first line that is not blank is the header."""

    def __init__(self, rules: Rules, task: str = "task", label: str = "y", separator: str = "") -> None:
        self.rules = rules
        self.task, self.label = task, label
        self.separator = separator  # found in the header if it is not given
        self.header: list[str] = []
        self.task_at = self.label_at = self.round_at = -1
        self.names: list[Name] = []
        """The names of all columns."""

    @property
    def is_ready(self) -> bool:
        """Whether the header was read."""
        return bool(self.header)

    @property
    def has_rounds(self) -> bool:
        """Is there a column of rounds?"""
        return self.round_at >= 0

    def parse(self, numbers: list[int], lines: list[bytes]) -> Block:
        """The records of lines, given with their numbers."""
        block = Block()
        for number, line in zip(numbers, lines, strict=True):
            if not line.strip():
                continue
            try:
                cells = self._cells(line)
                if self.header:
                    self._add(block, cells)
                    block.lines.append(number)
                else:
                    self._read_header(cells)
            except Refused as refused:
                block.faults.append(Fault(number, refused.field, refused.reason))
                block.is_useless = not self.header
        return block

    def _cells(self, line: bytes) -> list[str]:
        try:
            text = line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise Refused(None, "the line is not UTF-8; write the file in UTF-8") from None
        if text.count('"') % 2:
            raise Refused(None, "a quoted cell is not closed on its line; close it, and double quotes within cells")
        try:
            cells = next(csv.reader([text], delimiter=self.separator or self._find_separator(text)), [])
        except csv.Error as error:
            limit = f"a cell has at most {LONGEST_CELL:,} characters"
            raise Refused(None, f"the line cannot be split into cells ({error}); {limit}, none of them zero") from None
        if self.header and len(cells) != len(self.header):
            raise Refused(None, f"{len(cells)} cells, the header has {len(self.header)}; fill or remove cells")
        return cells

    def is_closed(self, text: bytes) -> bool:
        """Does a record end where this text ends, or does a quoted cell of it go on?"""
        if b'"' not in text:
            return True
        cell = rb'"(?:[^"]|"")*"[^%b\n]*|[^"%b\n][^%b\n]*|' % ((re.escape(self.separator.encode()),) * 3)
        return (
            re.fullmatch(rb"(?:%b)(?:%b(?:%b))*\n" % (cell, re.escape(self.separator.encode()), cell), text) is not None
        )

    def _find_separator(self, header: str) -> str:
        """The separator with which the header has the task's column, or else the most cells."""
        found = {separator: header.split(separator) for separator in SEPARATORS}  # quotes hardly matter for this
        best = max(SEPARATORS, key=lambda s: (self.task in [cell.strip(' "') for cell in found[s]], len(found[s])))
        self.separator = best
        return best

    def _number(self, column: str, cell: str, remedy: str) -> float:
        """The number in a cell; between semicolons the decimal point may be a comma."""
        if self.separator == ";" and _COMMA.fullmatch(cell):
            cell = cell.replace(",", ".")
        return number_of(column, cell, remedy)

    def _add(self, block: Block, cells: list[str]) -> None:
        task = cells[self.task_at]
        if not task.strip():
            raise Refused(self.task, "the task is missing; write its name")
        special = {self.task_at, self.label_at, self.round_at}
        row = {
            self.names[at]: self._number(self.header[at], cell.strip(), "write a number, or leave the cell empty")
            for at, cell in enumerate(cells)
            if at not in special and cell.strip()
        }
        check_row(row)
        y = cells[self.label_at].strip() if self.label_at >= 0 else ""
        label = self._number(self.label, y, self.rules.write) if y else MISSING
        name = task_of(task, self.task)
        block.tasks.append(name)
        block.rows.append(row)
        block.labels.append(label)
        if self.has_rounds:
            block.rounds.append(cells[self.round_at])

    def _read_header(self, cells: list[str]) -> None:
        header = [cell.strip() for cell in cells]
        shown = ", ".join(header[:8]) + (", ..." if len(header) > 8 else "")
        seen: set[str] = set()
        for name in header:
            if name in seen or not name:
                what = f"the column {show(name)} appears twice" if name else "a column has no name"
                raise Refused(None, f"{what} in the header ({shown}); give every column a name of its own")
            seen.add(name)
        for name, option in ((self.task, "task"), (self.label, "label")):
            is_needed = option == "task" or (self.rules.labels and self.rules.target != "point")
            if name not in seen and is_needed:
                remedy = f"name the {option}'s column with --{option}-column"
                raise Refused(name, f"no such column in the header ({shown}); {remedy}")
        self.task_at, self.label_at, self.round_at = (
            header.index(name) if name in seen else -1 for name in (self.task, self.label, ROUND)
        )
        self.names = [name_of(name) for name in header]
        self.header = header
