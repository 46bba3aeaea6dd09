"""What moves nSV: PA-ITL and OSGL on landmine, under other readings of what Murugesan et al. (2016) leave open.

One thing at a time is read otherwise than in the table: the rows, their order, the kernel, the size of the step. Every
reading has its own C, over a grid, on draws that are not reported.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from weft.streams.preparation import rows_of
from weft_reproduction.experiment import Cell, Figure, Results, Settings, Table
from weft_reproduction.smoothed.protocol import ROWS, TAKEN, Split, split
from weft_reproduction.smoothed.published import Point, Printed, best, distance, merged, missed, printed

SET = "landmine"
LEARNERS = ("PA-ITL", "OSGL")
_C = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)

Rule = tuple[str, dict[str, Any]]
"""A learner and its parameters beside C."""
_PA: Rule = ("pa", {"pooled": False})
_OSGL: Rule = ("implicit", {"norm": "l2"})
_FIXED_PA: Rule = ("foml", {"b": 0.0, "condition": "margin"})
_FIXED_OSGL: Rule = ("finite-horizon", {"norm": "l2"})


def _kernel(norm: str) -> Rule:
    """OSGL with a kernel; for the sum of the losses (l1) it is PA-I."""
    return "implicit", {"norm": norm, "kernel": {"name": "gaussian", "gamma": 0.1}}


class Reading(NamedTuple):
    """What is read otherwise, and the two learners under it; None: this reading does not concern the learner."""

    name: str
    pa: Rule | None = _PA
    osgl: Rule | None = _OSGL
    scaling: str = TAKEN[SET]
    drawn: Mapping[str, Any] = MappingProxyType({})
    C: tuple[float, ...] = _C


READINGS = (
    Reading("as in the table"),
    Reading("rows as they are, a constant", scaling="a constant"),
    Reading("unit rows, no constant", scaling="unit rows"),
    Reading("rows as they are, no constant", scaling="as they are"),
    Reading("columns standardised, a constant", scaling="columns standardised, a constant"),
    Reading("columns in [0, 1], a constant", scaling="columns in [0, 1], a constant"),
    Reading("all 29 fields", drawn={"all_fields": True}),
    Reading("rows drawn whatever their labels", drawn={"stratified": False}),
    Reading("all fields' rows in one random order", pa=None, drawn={"mixed": True}),
    Reading("two passes", drawn={"passes": 2}),
    Reading("a Gaussian kernel", _kernel("l1"), _kernel("l2"), C=(0.1, 1.0, 10.0)),
    Reading("PA-II; OSGL with the infinite-horizon step", ("pa", {"variant": "pa-ii"}), ("infinite-horizon", _OSGL[1])),
    Reading("OSGL for the worst loss of a round", None, ("implicit", {"norm": "linf"})),
    Reading("steps of fixed size, on mistakes", ("foml", {"b": 0.0, "condition": "mistake"}), None, C=(1.0,)),
    Reading("steps of fixed size, on margins below 1", _FIXED_PA, _FIXED_OSGL),
    Reading("the same, rows as they are, a constant", _FIXED_PA, _FIXED_OSGL, "a constant"),
)
"""Steps of fixed size: C y x for a margin below 1, as a Perceptron's, where PA's end at the margin 1; for OSGL the
finite-horizon rule of Dekel, Long and Singer (2007), a step of length C for every round with a loss."""


def reading_cells(
    draws: Sequence[int], readings: Sequence[Reading] = READINGS, per_task: int = ROWS[SET]
) -> list[Settings]:
    """A cell per reading: both learners with every C."""
    return [_cell(reading, list(draws), per_task) for reading in readings]


def _cell(reading: Reading, draws: list[int], per_task: int) -> Settings:
    rules = [(who, rule) for who, rule in zip(LEARNERS, (reading.pa, reading.osgl), strict=True) if rule]
    return {
        "what": "reading",
        "reading": reading.name,
        "set": SET,
        "scaling": reading.scaling,
        "drawn": dict(reading.drawn),
        "draws": draws,
        "per_task": per_task,
        "rows": [[who, learner, parameters | {"C": C}] for who, (learner, parameters) in rules for C in reading.C],
        "learners": sorted({learner for _, (learner, _) in rules}),
    }


def drawn(settings: Settings, draw: int) -> Split:
    """The rows of one draw, as the settings read it."""
    how = dict(settings.get("drawn", {}))
    mixed, passes = how.pop("mixed", False), how.pop("passes", 1)
    parts = split(settings["set"], settings["scaling"], draw, settings["per_task"], **how)
    rows, rounds = np.arange(len(parts.train)), parts.rounds
    if mixed:
        rows, rounds = np.random.default_rng(draw).permutation(rows), rows
    if passes > 1:
        rows = np.tile(rows, passes)
        rounds = np.concatenate([rounds + again * (rounds[-1] + 1) for again in range(passes)])
    return Split(rows_of(parts.train, rows), rounds, parts.test) if mixed or passes > 1 else parts


# --- the tables ---


def reading_tables(results: Results) -> list[Table]:
    """A table per learner: of every reading the best C, the least nSV of all C, and what is nearest to the paper."""
    found: dict[tuple[str, str], list[Point]] = {}
    for settings, figures in results:
        if settings["what"] == "reading":
            for one in figures["rows"]:
                merged(found.setdefault((one["row"], settings["reading"]), []), one)
    return [_table(who, found) for who in LEARNERS]


def _table(who: str, found: dict[tuple[str, str], list[Point]]) -> Table:
    known = printed(SET, who)
    assert known is not None
    rows: list[list[Cell]] = []
    reached, least = [], []
    own = _PA if who == "PA-ITL" else _OSGL
    for reading in READINGS:
        rule = reading.pa if who == "PA-ITL" else reading.osgl
        points = found.get((who, reading.name))
        if rule is None:
            continue
        if not points:
            rows.append([reading.name, *[None] * 7])
            continue
        rows.append(_row(reading.name, points, known))
        if reading.name == READINGS[0].name:
            counted = [Point(point.parameters, point.figures | {"nSV": point.figures["mistakes"]}) for point in points]
            rows.append(_row("the same runs, nSV counts mistakes", counted, known))
        least += [point.mean("nSV") for point in points] if rule == own else []
        if any(not missed(known, point.figures) for point in points):
            reached.append(reading.name)
    head = ["reading", "C", "AUC", "nSV", "least nSV, any C", "C, nearest to the paper", "AUC there", "nSV there"]
    draws = max((len(point.figures["auc"]) for points in found.values() for point in points), default=0)
    note = f"C by the best mean AUC of {draws} draws that are not reported."
    if least:
        note += f" With the learner's own steps no rows and no C need fewer than {min(least):.0f} updates."
    note += f" Both of the paper's figures, or better, with some C: {'; '.join(reached) or 'none'}."
    return Table(f"Landmine: what moves the nSV of {who}", head, rows, note)


def _row(name: str, points: Sequence[Point], known: Printed) -> list[Cell]:
    top, near = best(points), min(points, key=lambda point: distance(point, known))
    return [
        name,
        f"{top.parameters['C']:g}",
        Figure(top.mean("auc"), None, None, 4),
        round(top.mean("nSV")),
        round(min(point.mean("nSV") for point in points)),
        f"{near.parameters['C']:g}",
        Figure(near.mean("auc"), None, known.auc, 4),
        Figure(near.mean("nSV"), None, known.nSV, 0),
    ]
