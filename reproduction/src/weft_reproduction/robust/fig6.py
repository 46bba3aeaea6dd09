"""Yang, Zhao and Gao (2017), Robust online multi-task learning with correlative and personalized structures, Figure 6.

How the error rate of ROMCO moves with one of its two penalties while the other stays: mails with the other one at
0.0001, peptides with lam2 = 0.0001 or lam1 = 1. The steps, which the paper does not name here, are chosen where the two
curves of a set meet, on a shuffle that is not reported.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from weft.drawing.charts import Picture
from weft_reproduction.experiment import Cell, Choice, Claim, Experiment, Figures, Report, Results, Settings, Table
from weft_reproduction.judgement import figure, line, lower, on_other_data
from weft_reproduction.robust.protocol import SHORT, STAND_INS, TAKEN, passed, shuffle
from weft_reproduction.robust.rows import ROMCO, STEPS, search

REPORTED = range(10)
CHOOSING = 1000
"""The shuffle on which the steps are chosen; it is not reported."""
LEARNERS = dict(zip(ROMCO, ("romco-nucl", "romco-logd"), strict=True))


class Panel(NamedTuple):
    """A part of the figure: which parameter moves over which powers of ten, and where both parameters of a set
    stand.
    """

    name: str
    parameter: str
    powers: tuple[int, ...]
    stands: dict[str, float]

    def values(self) -> list[float]:
        return [float(f"1e{power}") for power in self.powers]


_MAILS, _PEPTIDES = {"lam1": 1e-4, "lam2": 1e-4}, {"lam1": 1.0, "lam2": 1e-4}
PANELS = (
    Panel("pu_spam", "lam1", tuple(range(-6, 1)), _MAILS),
    Panel("pu_spam", "lam2", tuple(range(-7, 2)), _MAILS),
    Panel("mhc1", "lam1", tuple(range(-5, 1)), _PEPTIDES),
    Panel("mhc1", "lam2", tuple(range(-6, 1)), _PEPTIDES),
)
ABOUT = """The error rate of both ROMCO over one penalty, the other one standing still: for the mails lam1 or lam2 over
powers of ten with the other at 0.0001; for the peptides lam1 with lam2 = 0.0001, and lam2 with lam1 = 1. Means of the
tasks, over ten shuffles.

The paper does not say with which steps. Here eta1 and eta2 are the best of 0.001 to 1, by the error on one shuffle that
is not reported, with the penalties at which the two curves of a set meet. A second pair of curves has both steps at
0.1, since large steps of the personal part leave little to the rank. The peptides stand in for the paper's."""
PLAIN = "both steps 0.1"
TUNED = "steps chosen"


def cells(quick: bool) -> list[Settings]:
    """A cell per panel, learner and way to have the steps."""
    if quick:
        few = [_cell(panel, who, PLAIN, [0, 1], most=40) for panel in PANELS[::3] for who in ROMCO]
        return [*few, _cell(PANELS[0], ROMCO[0], TUNED, [0, 1], most=20)]
    ways = (TUNED, PLAIN)
    return [_cell(panel, who, way, list(REPORTED)) for panel in PANELS for who in ROMCO for way in ways]


def _cell(panel: Panel, who: str, way: str, shuffles: list[int], most: int | None = None) -> Settings:
    return {
        "set": panel.name,
        "reading": TAKEN[panel.name],
        "parameter": panel.parameter,
        "values": panel.values(),
        "stands": panel.stands,
        "row": who,
        "learner": LEARNERS[who],
        "steps": way,
        "grid": list(STEPS) if way == TUNED else [0.1],
        "choosing": CHOOSING,
        "shuffles": shuffles,
        "most": most,
    }


def run(settings: Settings) -> Figures:
    """The mean error of the tasks, per value of the parameter and shuffle; and the steps."""

    def stream(seed: int) -> Any:
        return shuffle(settings["set"], settings["reading"], "rounds", seed, settings["most"])

    def error(parameters: dict[str, Any], of: Any) -> float:
        return float(np.mean(passed(of, settings["learner"], parameters)["error"]))

    held_out = stream(settings["choosing"])
    grid = {"eta1": settings["grid"], "eta2": settings["grid"]}
    best = search(settings["stands"], grid, False, lambda parameters: error(parameters, held_out)).parameters
    streams = [stream(seed) for seed in settings["shuffles"]]
    errors = [[error(best | {settings["parameter"]: value}, of) for of in streams] for value in settings["values"]]
    return {"errors": errors, "eta1": best["eta1"], "eta2": best["eta2"]}


# --- what it says ---

Curves = dict[tuple[str, str], dict[tuple[str, str], tuple[list[float], list[list[float]]]]]
"""(set, parameter) -> (learner, steps) -> values of the parameter, and per value a percentage for every shuffle."""


def report(results: Results) -> Report:
    curves: Curves = defaultdict(dict)
    for settings, figures in results:
        errors = [[100.0 * value for value in of_value] for of_value in figures["errors"]]
        curves[settings["set"], settings["parameter"]][settings["row"], settings["steps"]] = (
            settings["values"],
            errors,
        )
    pictures = [_picture(panel, curves) for panel in PANELS if curves.get((panel.name, panel.parameter))]
    return Report(
        tables=[_table(panel, curves) for panel in PANELS],
        pictures=pictures,
        claims=_claims(curves),
        choices=_choices(results),
    )


_WAYS = tuple((who, way) for way in (TUNED, PLAIN) for who in ROMCO)


def _title(panel: Panel) -> str:
    other = "lam2" if panel.parameter == "lam1" else "lam1"
    return f"{SHORT[panel.name]}: error over {panel.parameter}, with {other} = {panel.stands[other]:g}"


def _picture(panel: Panel, curves: Curves) -> Picture:
    lines = {}
    for (who, way), (values, errors) in sorted(
        curves[panel.name, panel.parameter].items(), key=lambda p: p[0][1] == PLAIN
    ):
        lines[f"{who}, {way}"] = line(values, errors)
    note = "Percent, means of the tasks; bars are standard errors over the shuffles."
    return Picture(_title(panel), lines, panel.parameter, "error, percent", log_x=True, note=note)


def _table(panel: Panel, curves: Curves) -> Table:
    here = curves.get((panel.name, panel.parameter), {})
    rows: list[list[Cell]] = []
    for at, value in enumerate(panel.values()):
        cells: list[Cell] = [f"{value:g}"]
        for way in _WAYS:
            known = here.get(way)
            cells.append(figure(known[1][at], None, 2) if known else None)
        rows.append(cells)
    return Table(_title(panel), [panel.parameter, *(f"{who}, {way}" for who, way in _WAYS)], rows)


def _ends(panel: Panel, curves: Curves, way: str, low_first: bool) -> list[tuple[str, list[float], list[float]]]:
    """(learner, the end that should be better, the other one); empty if one is missing."""
    found = []
    for who in ROMCO:
        known = curves.get((panel.name, panel.parameter), {}).get((who, way))
        if known is None:
            return []
        values, errors = known
        good, bad = (0, -1) if low_first else (-1, 0)
        words = f"{who}, {panel.parameter} = {values[good]:g} against {values[bad]:g}"
        found.append((words, errors[good], errors[bad]))
    return found


_SAID: Sequence[tuple[int, str, bool]] = (
    (0, "the larger lam1, the worse; weakly related tasks", True),
    (1, "the larger lam2, the worse; many personal tasks", True),
    (2, "a small lam1 is poor; most tasks are closely related", False),
    (3, "a large lam2 is poor; few tasks are personal", True),
)


def _claims(curves: Curves) -> list[Claim]:
    """Ends of every curve against each other, with the steps that were chosen; the other steps are told beside."""
    found = []
    for at, words, low_first in _SAID:
        panel = PANELS[at]
        text = f"{SHORT[panel.name]}: {words} (error rate at both ends of the curve)."
        claim = lower(text, "Sec. 6.5, Figure 6", _ends(panel, curves, TUNED, low_first))
        beside = lower(text, "", _ends(panel, curves, PLAIN, low_first))
        claim = on_other_data(claim) if panel.name in STAND_INS else claim
        found.append(replace(claim, why=f"{claim.why} With both steps 0.1 it is {beside.judgement}: {beside.why}"))
    return found


def _choices(results: Results) -> list[Choice]:
    said = [
        f"{SHORT[settings['set']]}, {settings['parameter']}, {settings['row']}: {figures['eta1']:g}, "
        f"{figures['eta2']:g}"
        for settings, figures in results
        if settings["steps"] == TUNED
    ]
    return [
        Choice(
            "With which steps the penalties were moved.",
            "The best on a shuffle that is not reported, where the two curves of a set meet; and both 0.1 beside them.",
            f"eta1 and eta2: {'; '.join(said)}." if said else "Not run yet.",
        ),
        Choice(
            "How rows are prepared, and how tasks meet in rounds.",
            "As in the tables of the same paper.",
            "See there: the tables of readings.",
        ),
    ]


EXPERIMENT = Experiment(
    name="robust-fig6",
    title="How low rank and personal parts depend on their penalties: error rates on two data sets",
    paper="Yang, Zhao and Gao (2017), Figure 6",
    data=("pu_spam", "mhc1"),
    cells=cells,
    run=run,
    report=report,
    about=ABOUT,
)
