"""CSV with a header: columns for the task, the label and optionally the round; all others are features.

An empty cell is an absent feature. The careful reader: it reads the header and what `weft.scan.table` hands on.
"""

from weft.kinds.cells import DECIMAL_COMMA
from weft.names import Name
from weft.streams.csv_cells import Cells, shown
from weft.streams.records import MISSING, Block, Fault, Refused, Rules, check_row, name_of, number_of, task_of

ROUND = "round"


class Parser:
    """Lines to records; the first line that is not blank is the header."""

    def __init__(
        self, rules: Rules, task: str = "task", label: str = "y", separator: str = "", decimal: str | None = None
    ) -> None:
        self.rules = rules
        self.task, self.label = task, label
        self.cells = Cells(separator, task, decimal)
        self.task_at = self.label_at = self.round_at = -1
        self.names: list[Name] = []
        """The names of all columns."""

    @property
    def is_ready(self) -> bool:
        """Whether the header was read."""
        return bool(self.cells.header)

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
                cells = self.cells.split(line)
                if self.is_ready:
                    self._add(block, cells)
                    block.lines.append(number)
                else:
                    self._read_header(cells)
            except Refused as refused:
                block.faults.append(Fault(number, refused.field, refused.reason))
                block.is_useless = not self.is_ready
        return block

    def _number(self, column: str, cell: str, remedy: str) -> float:
        """The number in a cell; the decimal point may be a comma, see `Cells`."""
        if self.cells.decimal_comma and DECIMAL_COMMA.fullmatch(cell):
            cell = cell.replace(",", ".")
        return number_of(column, cell, remedy)

    def _add(self, block: Block, cells: list[str]) -> None:
        task = cells[self.task_at]
        if not task.strip():
            raise Refused(self.task, "the task is missing; write its name")
        special = {self.task_at, self.label_at, self.round_at}
        row = {
            self.names[at]: self._number(self.cells.header[at], cell.strip(), "write a number, or leave the cell empty")
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
        header = self.cells.read_header(cells)
        for name, option in ((self.task, "task"), (self.label, "label")):
            is_needed = option == "task" or (self.rules.labels and self.rules.target != "point")
            if name not in header and is_needed:
                remedy = f"name the {option}'s column with --{option}-column"
                raise Refused(name, f"no such column in the header ({shown(header)}); {remedy}")
        self.task_at, self.label_at, self.round_at = (
            header.index(name) if name in header else -1 for name in (self.task, self.label, ROUND)
        )
        self.names = [name_of(name) for name in header]
        self.cells.header = header
