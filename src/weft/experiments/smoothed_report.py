"""What the runs of Table 1 of Murugesan, Liu, Carbonell and Yang (2016) say: figures beside the paper's, choices."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.experiments.experiment import Cell, Choice, Figure, Report, Results, Table
from weft.experiments.judgement import mean_and_error
from weft.experiments.smoothed_claims import claims
from weft.experiments.smoothed_protocol import OTHER, ROWS_OF_TABLE, TAKEN
from weft.experiments.smoothed_published import (
    PUBLISHED,
    STAND_IN,
    TITLES,
    Grids,
    Measured,
    best,
    family,
    grids_of,
    printed,
    reported,
)
from weft.experiments.smoothed_tuned import TUNED


def report(results: Results) -> Report:
    """Tables, claims and choices, from whatever cells are finished."""
    runs, grids = reported(results), grids_of(results)
    tables = [_beside_the_paper(name, runs.get(name, {})) for name in TAKEN]
    tables += [_scalings(name, grids) for name in TAKEN]
    tables += [_nearest(name, grids) for name in TAKEN if name != STAND_IN]
    return Report(tables=tables, claims=claims(runs, grids), choices=_choices(grids))


def _told(letters: Mapping[str, Any]) -> str:
    return ", ".join(f"{letter} = {value}" for letter, value in letters.items() if letter not in ("condition", "norm"))


# --- tables ---


def _beside_the_paper(name: str, runs: Mapping[str, Measured]) -> Table:
    rows: list[list[Cell]] = []
    for row in ROWS_OF_TABLE:
        if row not in runs:
            rows.append([row, None, None, None, None, ""])
            continue
        known = printed(name, row)
        auc, auc_error = mean_and_error(runs[row]["auc"])
        size, size_error = mean_and_error(runs[row]["nSV"])
        online, _ = mean_and_error(runs[row]["online"])
        rows.append(
            [
                row,
                Figure(auc, auc_error, known.auc if known else None, 4),
                Figure(size, size_error, known.nSV if known and name != STAND_IN else None, 1),
                Figure(online, None, None, 4),
                Figure(1e6 * float(np.median(runs[row]["seconds"])), None, None, 1),
                _told(TUNED[name].get(row, ROWS_OF_TABLE[row].fixed)),
            ]
        )
    note = "AUC on the rows that were not learned from, mean over the tasks; means and standard errors over the draws."
    if name == STAND_IN:
        note += " The paper's figures are those of its own 24 domains of reviews."
    head = ["row", "AUC", "nSV", "AUC on the way", "µs per row", "letters"]
    return Table(TITLES[name], head, rows, note)


def _scalings(name: str, grids: Grids) -> Table:
    here, other = grids.get((name, TAKEN[name]), {}), grids.get((name, OTHER[name]), {})
    rows: list[list[Cell]] = []
    for row in (row for row, told in ROWS_OF_TABLE.items() if told.grid):
        cells: list[Cell] = [row]
        for part in (here, other):
            points = part.get(row)
            cells += (
                [Figure(best(points)[1]["auc"], None, None, 4), round(best(points)[1]["nSV"])] if points else [None] * 2
            )
        worst = min(point[1]["auc"] for point in here[row]) if row in here else None
        cells.append(None if worst is None else Figure(worst, None, None, 4))
        rows.append(cells)
    head = ["row", f"AUC, {TAKEN[name]}", "nSV", f"AUC, {OTHER[name]}", "nSV", "AUC, worst of the grid"]
    note = "The best letters of every row's grid, on three draws that are not reported, under two scalings of the rows."
    return Table(f"{TITLES[name]}: what hangs on the scaling and on the letters", head, rows, note)


def _nearest(name: str, grids: Grids) -> Table:
    """For every published row the letters whose AUC and nSV together come nearest to it."""
    rows: list[list[Cell]] = []
    for who in PUBLISHED:
        known = printed(name, who)
        points = [
            (f"{row}; {scaling}", letters, means)
            for (of, scaling), by_row in grids.items()
            if of == name
            for row, found in by_row.items()
            if family(row) == who
            for letters, means in found
        ]
        if known is None or not points:
            rows.append([who, None, None, "", ""])
            continue
        row, letters, means = min(
            points, key=lambda p: abs(math.log(p[2]["nSV"] / known.nSV)) + 10.0 * abs(p[2]["auc"] - known.auc)
        )
        rows.append(
            [
                who,
                Figure(means["auc"], None, known.auc, 4),
                Figure(means["nSV"], None, known.nSV, 0),
                row,
                _told(letters),
            ]
        )
    note = (
        "Of all letters of the grids, both conditions and both scalings, those that come nearest to the paper's pair "
        "(|log of the ratio of nSV| + 10 |difference of AUC|): what it may have run, not what is best."
    )
    return Table(f"{TITLES[name]}: nearest to what is printed", ["row", "AUC", "nSV", "as", "letters"], rows, note)


# --- choices ---


def _choices(grids: Grids) -> list[Choice]:
    return [
        Choice(
            "Whether a task learns on mistakes (the text) or on margins below 1 (Algorithm 2).",
            "Both are rows; where one figure is needed, the condition with the better AUC on draws not reported.",
            _condition_effect(grids),
        ),
        Choice(
            "How rows are scaled.",
            "Rows of length 1: counts of words, or radar features with a constant.",
            "See the tables of scalings.",
        ),
        Choice(
            "On what the AUC is measured.",
            "On all rows that were not drawn, with the weights at the end, per task; the mean of the tasks.",
            "AUC on the way, of the scores before learning, is a column of the tables; it is lower everywhere.",
        ),
        Choice(
            "The grids of the cross-validation.",
            "Letters per row and set by the mean AUC of three draws that are not reported, on the grids of "
            "smoothed_protocol.py.",
            _tuning_effect(grids),
        ),
        Choice("How rows are drawn.", "Per task with its share of positive rows, at random.", "Not measured."),
    ]


def _condition_effect(grids: Grids) -> str:
    said = []
    for name in TAKEN:
        known = grids.get((name, TAKEN[name]), {})
        if all(f"OSMTL-t, {condition}" in known for condition in ("mistake", "margin")):
            a, b = (best(known[f"OSMTL-t, {condition}"])[1] for condition in ("mistake", "margin"))
            said.append(
                f"{TITLES[name]}, OSMTL-t: AUC {a['auc']:.3f} / {b['auc']:.3f}, nSV {a['nSV']:.0f} / {b['nSV']:.0f}."
            )
    return " ".join(said) or "Not run yet."


def _tuning_effect(grids: Grids) -> str:
    """Whether the grids still choose what the table ran with."""
    other = [
        f"{TITLES[name]} {row}"
        for name in TAKEN
        for row, points in grids.get((name, TAKEN[name]), {}).items()
        if len(points) == len(ROWS_OF_TABLE[row].points()) and best(points)[0] != TUNED[name].get(row)
    ]
    return (
        f"Run again, the grids would choose others for {', '.join(other)}."
        if other
        else ("The worst letters of each grid are a column of the tables of scalings.")
    )
