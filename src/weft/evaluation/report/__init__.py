"""A comparison as a page: does sharing help on these data, which learner, for which tasks, at what cost?

One file of HTML without a script and without an address. The template has the words and their order, `answers` the
sentences with figures, `pictures` what is drawn.
"""

from typing import TYPE_CHECKING, Any

from weft.drawing.axes import Frame
from weft.drawing.pages import filled
from weft.evaluation.report import answers, pictures
from weft.evaluation.report.figures import Figures
from weft.store.files import write_atomic

if TYPE_CHECKING:
    from weft.evaluation.results import Comparison

FRAME = Frame(width=400, height=270, left=68)
"""So narrow that text stays readable on a telephone."""
MOST_LINES = 40
"""Tasks or clusters of a map of relations: what is readable in a page."""


def render(comparison: "Comparison", title: str = "") -> str:
    """The page."""
    figures = Figures(comparison)
    values: dict[str, Any] = {
        "title": title,
        "frame": FRAME,
        "most_lines": MOST_LINES,
        "size": answers.size(figures),
        "sharing": answers.sharing(figures),
        "which": answers.which(figures),
        "learners": answers.learners(figures),
        "left_out": comparison.left_out,
        "tasks": answers.tasks(figures),
        "calibration": answers.calibration(figures),
        "relations": answers.relations(figures),
        "costs": answers.costs(figures),
        "figures": figures,
        "draw": pictures,
    }
    return filled("weft.evaluation.report", "report.html", **values)


def write(comparison: "Comparison", path: str, title: str = "") -> None:
    """The page as a file, complete or not at all."""
    write_atomic(path, render(comparison, title).encode())
