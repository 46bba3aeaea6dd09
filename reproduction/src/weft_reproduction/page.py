"""One page of HTML with everything that the experiments show: no scripts, no other files, no addresses.

It reads on a telephone (tables scroll in boxes of their own) and in the dark (the system's setting).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from weft import __version__
from weft.drawing.pages import filled
from weft.streams.known import describe
from weft_reproduction.experiment import Cell, Claim, Experiment, Figure, Report
from weft_reproduction.judgement import STATISTIC
from weft_reproduction.writing import about, number, ours, published

_KINDS = {"confirmed": "confirmed", "not confirmed": "refuted", "not testable here": "untestable"}


@dataclass(frozen=True)
class Section:
    """An experiment, what it shows, how many of its cells are finished, and whether they are the quick ones."""

    experiment: Experiment
    report: Report
    finished: int
    cells: int
    quick: bool = False


def render(sections: Sequence[Section]) -> str:
    """The page, as XML that browsers take for HTML."""
    counts = Counter(claim.judgement for section in sections for claim in section.report.claims)
    return filled(
        "weft_reproduction",
        "page.html",
        sections=sections,
        version=__version__,
        finished=sum(section.finished for section in sections),
        cells=sum(section.cells for section in sections),
        quick=any(section.quick for section in sections),
        judged=", ".join(f"{count} {judgement}" for judgement, count in sorted(counts.items())) or "none",
        statistic=STATISTIC,
        about=about,
        describe=describe,
        kind_of=_kind_of,
        is_text=lambda cell: isinstance(cell, str),
        cell_text=_cell_text,
        paper=_paper,
    )


def _kind_of(claim: Claim) -> str:
    """What the style calls a judgement."""
    return _KINDS[claim.judgement]


def _cell_text(value: Cell) -> str:
    """A cell as text; empty if it was not run."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return ours(value) if isinstance(value, Figure) else number(value)


def _paper(value: Cell) -> str:
    """What the paper prints, if it does."""
    return published(value) if isinstance(value, Figure) and value.published is not None else ""
