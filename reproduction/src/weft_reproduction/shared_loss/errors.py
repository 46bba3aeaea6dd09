"""What the reports of Figures 4 and 6 of Dekel, Long and Singer (2007) have in common: two errors of two corpora."""

from collections.abc import Mapping, Sequence

from weft.drawing.charts import Picture
from weft_reproduction.experiment import Choice, Figures
from weft_reproduction.judgement import paired
from weft_reproduction.shared_loss.newswire import at_share

DATA = ("reuters21578", "rcv1_2316")
C = 1e-3
"""The paper's (Sec. 8.1)."""
GRID = (1e-4, 1e-3, 1e-2, 1e-1)
MEASURES = {"inf": "inf-error", "one": "1-error"}
NORMS = {"linf": "L_inf", "l1": "L_1"}
SHARES = (0.1, 0.5, 1.0)

Pair = tuple[str, Sequence[float], Sequence[float]]

NO_RECORD = (
    "Corpora, orders and the other values of C came into this program together with remarks on their results: there is "
    "no record that they were fixed before any had been seen."
)


def points(figures: Figures, measure: str, share: float = 1.0) -> list[float]:
    """The error so far in per cent after that share of the stream, for every order."""
    return [100.0 * value for value in at_share(figures, measure, share)]


def pairs(measure: str, shares: Sequence[float], ours: Figures | None, others: Figures | None) -> list[Pair]:
    """Comparisons after these shares of the stream; none, if a cell is missing."""
    if ours is None or others is None:
        return []
    return [(f"after {share:.0%}, points", points(ours, measure, share), points(others, measure, share))
            for share in shares]  # fmt: skip


def gaps(ours: Figures, others: Figures) -> str:
    """Mean differences at the end of the stream."""
    inf, one = (paired(points(ours, measure), points(others, measure)).difference for measure in MEASURES)
    return f"{inf:+.2f} and {one:+.3f}"


def picture(title: str, measure: str, found: Mapping[str, Figures | None]) -> Picture:
    """Curves in the file's own order, as the paper has it."""
    lines = {
        words: (figures["events"], [100.0 * value for value in figures[measure][0]])
        for words, figures in found.items()
        if figures
    }
    return Picture(title, lines, "documents", f"{MEASURES[measure]} so far, %")


def orders(difference: str, told: Sequence[str]) -> Choice:
    """The paper has one order, of time; what it shows here beside the random ones."""
    return Choice(
        "Whether another order of the documents would show the same: the paper has one, that of time.",
        "Claims are judged over ten random orders; pictures have the file's own (of time, for reuters21578).",
        f"{difference} at the end of the file's own order, points of inf-error and of 1-error: "
        f"{'; '.join(told) or 'not run'}.",
    )
