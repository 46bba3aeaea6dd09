"""Table 1 of Murugesan, Liu, Carbonell and Yang (2016) as printed, and ours taken from finished cells."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from weft_reproduction.experiment import Figures, Results
from weft_reproduction.judgement import mean_and_error, paired
from weft_reproduction.smoothed.protocol import ROWS_OF_TABLE, TAKEN

TITLES = {"landmine": "Landmine", "pkdd06b": "Spam", "mtl16": "Reviews (16 domains in the place of 24)"}
STAND_IN = "mtl16"


class Printed(NamedTuple):
    """A row of the paper's table for one set: AUC and nSV, each with what stands in brackets behind it."""

    auc: float
    auc_bracket: float
    nSV: float
    nSV_bracket: float


PUBLISHED = {
    "PA-ONE": ((0.5473, 0.12, 2902.9, 4.21), (0.8739, 0.01, 1455.0, 4.64), (0.7193, 0.03, 2350.7, 6.36)),
    "PA-ITL": ((0.5986, 0.04, 618.1, 27.31), (0.8350, 0.01, 1499.9, 0.37), (0.7364, 0.02, 2399.9, 0.25)),
    "OSGL": ((0.6482, 0.03, 740.8, 42.03), (0.9551, 0.007, 1402.6, 13.57), (0.8375, 0.02, 2369.3, 14.63)),
    "FOML": ((0.6322, 0.04, 426.5, 36.91), (0.9347, 0.009, 819.8, 18.57), (0.8472, 0.02, 1356.0, 78.49)),
    "OMTRL": ((0.6409, 0.05, 432.2, 123.81), (0.9343, 0.008, 840.4, 22.67), (0.7831, 0.02, 1346.2, 85.99)),
    "OSMTL-t": ((0.6776, 0.03, 333.6, 40.66), (0.9509, 0.007, 809.5, 19.35), (0.9354, 0.01, 1312.8, 79.15)),
    "OSMTL-e": ((0.6404, 0.04, 458.0, 36.79), (0.9596, 0.006, 804.2, 19.05), (0.9465, 0.01, 1322.2, 80.27)),
}
"""Murugesan et al. (2016), Table 1: landmine, spam, sentiment."""
DRAWS = 30

Measured = dict[str, list[float]]
"""Measure -> a figure per draw."""


class Point(NamedTuple):
    """Parameters of a grid, and their figures on the draws that decide."""

    parameters: dict[str, Any]
    figures: Measured

    def mean(self, measure: str) -> float:
        return float(np.mean(self.figures[measure]))


Runs = dict[str, dict[str, Measured]]
"""Set -> row -> figures of the reported draws."""
Grids = dict[tuple[str, str], dict[str, list[Point]]]
"""(set, scaling) -> row -> the points of its grid."""


def printed(name: str, row: str) -> Printed | None:
    """What the paper prints for a row, whatever its condition; nothing for rows that are ours alone."""
    known = PUBLISHED.get(family(row))
    return Printed(*known[list(TAKEN).index(name)]) if known and "C = 1" not in row else None


def family(row: str) -> str:
    """The paper's name for a row: without the condition, or the parameter, that is ours."""
    return row.split(",")[0]


def missed(known: Printed, figures: Measured) -> list[str]:
    """Which of AUC and nSV are worse than printed by more than three standard errors, of ours and theirs together.

    Brackets as large as 0.12 for an AUC over 30 draws are deviations, not errors of the mean.
    """
    found = []
    pairs = (("auc", known.auc, known.auc_bracket, 1.0), ("nSV", known.nSV, known.nSV_bracket, -1.0))
    for measure, figure, bracket, sign in pairs:
        ours, error = mean_and_error(figures[measure])
        if sign * (figure - ours) > 3.0 * math.hypot(error or 0.0, bracket / math.sqrt(DRAWS)):
            found.append(measure)
    return found


# --- from results to figures ---

_MEASURES = ("auc", "online", "nSV", "mistakes", "seconds")


def reported(results: Results) -> Runs:
    found: Runs = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for settings, figures in results:
        if settings["what"] == "reported":
            for one in figures["rows"]:
                for measure in _MEASURES:
                    found[settings["set"]][one["row"]][measure] += one[measure]
    return found


def grids_of(results: Results) -> Grids:
    found: Grids = defaultdict(lambda: defaultdict(list))
    for settings, figures in results:
        if settings["what"] == "grid":
            for one in figures["rows"]:
                merged(found[settings["set"], settings["scaling"]][one["row"]], one)
    return found


def merged(points: list[Point], one: Figures) -> None:
    """Add what a cell found for some parameters to what other cells, of other draws, found for the same."""
    figures = next((point.figures for point in points if point.parameters == one["parameters"]), None)
    if figures is None:
        points.append(Point(one["parameters"], {measure: list(one[measure]) for measure in _MEASURES}))
    else:
        for measure in _MEASURES:
            figures[measure] += one[measure]


def best(points: Sequence[Point]) -> Point:
    return max(points, key=lambda point: point.mean("auc"))


def as_good(points: Sequence[Point]) -> list[Point]:
    """Those whose AUC is below the best one's by no more than a standard error of the difference, draw by draw."""
    top = best(points)
    same = [point for point in points if len(point.figures["auc"]) == len(top.figures["auc"])]
    gaps = [paired(top.figures["auc"], point.figures["auc"]) for point in same]
    return [point for point, gap in zip(same, gaps, strict=True) if point is top or gap.difference <= gap.error]


def distance(point: Point, known: Printed) -> float:
    """How far AUC and nSV together are from the printed ones."""
    return abs(math.log(point.mean("nSV") / known.nSV)) + 10.0 * abs(point.mean("auc") - known.auc)


def conditions(who: str) -> list[str]:
    """The rows of a learner of the paper, with its own parameters: one, or one for every condition."""
    return [row for row in ROWS_OF_TABLE if family(row) == who and "C = 1" not in row]


def chosen_condition(name: str, who: str, grids: Grids) -> str:
    """The row of a learner whose condition was the better one on the draws that decided; before they ran, mistakes."""
    rows, known = conditions(who), grids.get((name, TAKEN[name]), {})
    if len(rows) == 1 or any(row not in known for row in rows):
        return rows[0]
    return max(rows, key=lambda row: best(known[row]).mean("auc"))
