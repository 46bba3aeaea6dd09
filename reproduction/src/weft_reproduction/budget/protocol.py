"""Table 1 of Cavallanti and Cesa-Bianchi (2012): its places, what its protocol leaves open, and what was taken.

Sec. 5 says: one pass; a budget of 25, 10 or 5 % of the rows that k separate Perceptrons keep; eta = 0.01; School with a
Gaussian kernel, positive above the 75th percentile, its other than binary columns in [0, 1]; the other sets with a
polynomial kernel. It does not say which polynomial or which width, how rows are scaled, or in what order they come.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from weft.streams.known import Known
from weft.streams.preparation import binarised, log_counts, presence, unit_interval, unit_rows

SETS = {"pkdd06a": "text", "school": "dense", "sentiment4": "text"}
"""The data sets, and the kind of each: what is open is settled per kind, for all its sets and cells at once."""
TITLES = {"pkdd06a": "Pkdd06 Spam A", "school": "School binary", "sentiment4": "Sentiment"}

BASELINE = "mt-perceptron"
LEARNERS = ("mtrbp", "mtforg", "mtbprj", "mtbprj-2")
PROJECTRONS = ("mtbprj", "mtbprj-2")
GRAPHS = ("complete", "none")
PERCENTS = (25, 10, 5)


class Place(NamedTuple):
    """A cell of the table: the learner, its graph, and its budget in percent of the rows that the baseline keeps."""

    learner: str
    graph: str
    percent: int

    def __str__(self) -> str:
        return f"{self.learner} {self.graph} {self.percent} %"


NO_BUDGET = Place(BASELINE, "none", 100)
COLUMNS = tuple((graph, percent) for percent in PERCENTS for graph in GRAPHS)
"""In the order of the paper's columns: C(25%) D(25%) C(10%) D(10%) C(5%) D(5%)."""
PLACES = tuple(Place(learner, graph, percent) for learner in LEARNERS for graph, percent in COLUMNS)

# --- what is open ---


class Reading(NamedTuple):
    """How rows are scaled, and their kernel; every kernel is divided by sqrt(K'(x,x) K'(z,z)), as Sec. 3 assumes."""

    scaling: str
    kernel: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        kernel = dict(self.kernel)
        if kernel["name"] == "gaussian":
            return f"gamma = {kernel['gamma']:g}"
        gamma = "" if kernel["gamma"] == 1.0 else f"{kernel['gamma']:g} "
        offset = f" + {kernel['coef0']:g}" if kernel["coef0"] else ""
        return f"{self.scaling}, ({gamma}<x,z>{offset})^{kernel['degree']}"


def polynomial(scaling: str, degree: int, gamma: float = 1.0, coef0: float = 1.0) -> Reading:
    return Reading(scaling, (("name", "poly"), ("degree", degree), ("gamma", gamma), ("coef0", coef0)))


def gaussian(gamma: float) -> Reading:
    return Reading("0 to 1", (("name", "gaussian"), ("gamma", gamma)))


SCALINGS: dict[str, Callable[[Known], Known]] = {
    "raw counts": lambda data: data,
    "unit rows of counts": unit_rows,
    "unit rows of log counts": lambda data: unit_rows(log_counts(data)),
    "unit rows of words present": lambda data: unit_rows(presence(data)),
    "0 to 1": lambda data: unit_interval(binarised(data, 75.0)),
}

TAKEN = {"text": polynomial("unit rows of counts", 3), "dense": gaussian(0.3)}
"""By the rule of `weft_reproduction.budget.published.nearest`, on shuffles that are not reported."""

OPEN = {
    "text": (
        *(polynomial("unit rows of counts", degree) for degree in (1, 2, 3, 4)),
        *(polynomial("unit rows of counts", 3, gamma) for gamma in (0.25, 4.0)),
        *(polynomial("unit rows of counts", degree, coef0=0.0) for degree in (1, 2, 3)),
        *(polynomial("raw counts", degree) for degree in (2, 3)),
        *(polynomial("unit rows of log counts", degree) for degree in (2, 3, 4)),
        polynomial("unit rows of log counts", 2, coef0=0.0),
        *(polynomial("unit rows of words present", degree) for degree in (2, 3, 4)),
        polynomial("unit rows of words present", 2, coef0=0.0),
    ),
    "dense": tuple(gaussian(gamma) for gamma in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)),
}
"""All readings that were tried, per kind of data; those of degree 1 after the others."""
