"""Experiment: a published table or figure as cells of work, and what their results say.

A cell is a dict of settings that JSON can hold. It is run by itself, in any process and any order, and its figures are
kept on disk; the report is a pure function of the cells that are finished, be they all or some.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from weft.drawing.charts import Bars, Picture

Settings = dict[str, Any]
"""What one cell is to do: plain JSON values. Learners are named under "learner" (one) or "learners" (a list)."""
Figures = dict[str, Any]
"""What a cell found: plain JSON values, the same for the same settings, but for times."""
Results = list[tuple[Settings, Figures]]

Judgement = Literal["confirmed", "not confirmed", "not testable here"]


@dataclass(frozen=True)
class Figure:
    """A number of ours, its standard error, and the number that the paper prints."""

    value: float
    error: float | None = None
    published: float | None = None
    digits: int | None = None
    """Digits after the point; None: as many as the size of the number asks for."""


Cell = str | int | float | Figure | None
"""What stands in a table; None is a cell that has not been run."""


@dataclass(frozen=True)
class Table:
    """Rows under headings; the first column names the row."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.title!r}: a row of {len(row)} cells under {len(self.columns)} headings")


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, where it stands, and what these results say about it."""

    text: str
    where: str
    judgement: Judgement
    why: str


@dataclass(frozen=True)
class Choice:
    """What the paper leaves open, what was taken, and how much it matters."""

    open: str
    taken: str
    effect: str


@dataclass(frozen=True)
class Report:
    """What an experiment shows."""

    tables: Sequence[Table] = ()
    pictures: Sequence[Picture | Bars] = ()
    claims: Sequence[Claim] = ()
    choices: Sequence[Choice] = ()


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    name    as `weft reproduce` takes it; its module has the same name with underscores
    title   what it is about, in a few words
    paper   authors, year, table or figure
    data    names for `weft.streams.known`; none if the streams are made up
    cells   quick -> the settings of all cells; quick ones are few and small
    run     settings -> figures; 1 to 60 seconds each
    report  results -> tables, pictures and claims; also when cells are missing
    about   what the paper did, what it leaves open, what is done here: paragraphs of plain text
    takes_files  does it run on files that a user gives instead of its own streams?
    """

    name: str
    title: str
    paper: str
    cells: Callable[[bool], list[Settings]]
    run: Callable[[Settings], Figures]
    report: Callable[[Results], Report]
    data: tuple[str, ...] = field(default=())
    about: str = ""
    takes_files: bool = False
