"""How figures move with what Yang, Zhao and Gao (2017) leave open: readings of rows, regularisers of batch learners.

All on shuffles that are not reported. A figure that is missed in the tables is explained here, or nowhere.
"""

from typing import NamedTuple

import numpy as np

from weft.experiments.experiment import Cell, Figure, Figures, Results, Settings, Table
from weft.experiments.judgement import Paired, figure, paired, worse
from weft.experiments.robust_protocol import SHORT, TAKEN
from weft.experiments.robust_published import SHUFFLES, USERS, printed_of_user
from weft.experiments.robust_rows import LIKE, ROMCO, ZERO

_ROWS = ("PA-Global", "PA-Unique", "PA-Unique, own C", *ROMCO, ZERO)
_MARK = " (taken)"
MAILS = "pu_spam"


def words(settings: Settings) -> str:
    """A reading, and the order if it is not that of the tables."""
    return str(settings["reading"]) + ("" if settings["order"] == "rounds" else "; one row a round")


def _named(settings: Settings) -> str:
    same = settings["reading"] == TAKEN[settings["set"]] and settings["order"] == "rounds"
    return f"{words(settings)}{_MARK}" if same else words(settings)


def taken(reading: str) -> bool:
    """Whether a reading, by its name in the tables, is that of the reported shuffles."""
    return reading.endswith(_MARK)


def readings(name: str, results: Results) -> Table:
    """Error rates of some rows under every way to prepare the rows and to put them into rounds."""
    rows: list[list[Cell]] = []
    for settings, figures in results:
        if settings["what"] == "reading" and settings["set"] == name:
            found = {one["row"]: one for one in figures["rows"]}
            means = [100.0 * np.mean(found[row]["error"], axis=1) for row in _ROWS]
            rows.append([_named(settings), *(figure(values.tolist(), None, 2) for values in means)])
    note = (
        "Mean error of the tasks in percent, over shuffles that are not reported. Letters are chosen anew for every "
        "line, ROMCO's on a smaller grid than in the tables."
    )
    return Table(f"{SHORT[name]}: what hangs on the preparation of rows", ["reading", *_ROWS], rows, note)


# --- the paper's figures of mails under other readings ---


class Again(NamedTuple):
    """How many of a row's figures are within three standard errors or better, of how many, and their mean distance."""

    good: int
    of: int
    distance: float

    def __str__(self) -> str:
        return f"{self.good} of {self.of}, {self.distance:.1f}"


def had_again(results: Results) -> dict[str, dict[str, Again]]:
    """Reading -> the paper's name of a row -> how many of its figures of Table 2 are had again."""
    found: dict[str, dict[str, Again]] = {}
    for settings, figures in results:
        if settings["what"] == "reading" and settings["set"] == MAILS:
            told = {LIKE[one["row"]]: _again(one) for one in figures["rows"] if one["row"] in LIKE}
            found[_named(settings)] = told
    return found


def _again(one: Figures) -> Again:
    good, distances = 0, []
    for user in range(len(USERS)):
        printed = printed_of_user(one["row"], user)
        assert printed is not None
        for measure, (value, deviation) in zip(("error", "minus"), printed, strict=True):
            ours = [100.0 * tasks[user] for tasks in one[measure]]
            good += not worse(ours, value, deviation, SHUFFLES, high_is_good=measure == "minus")
            distances.append(abs(float(np.mean(ours)) - value))
    return Again(good, len(distances), float(np.mean(distances)))


def nearest_reading(who: str, results: Results) -> tuple[str, Again] | None:
    """The reading under which most of a row's figures are had again.

    Of several it is the one that was taken, or else the one with the least distance.
    """
    known = [(reading, rows[who]) for reading, rows in had_again(results).items() if who in rows]
    return max(known, key=lambda pair: (pair[1].good, taken(pair[0]), -pair[1].distance), default=None)


def against_zero(who: str, reading: str, results: Results) -> Paired | None:
    """Points of error of a ROMCO minus those with lambdas 0 and steps of their own, under a reading of the mails."""
    for settings, figures in results:
        if settings["what"] == "reading" and settings["set"] == MAILS and _named(settings) == reading:
            error = {one["row"]: (100.0 * np.mean(one["error"], axis=1)).tolist() for one in figures["rows"]}
            return paired(error[who], error[ZERO])
    return None


def paper_again(results: Results) -> Table:
    """Which reading brings which row of Table 2 back."""
    found = had_again(results)
    names = [who for who in dict.fromkeys(LIKE.values()) if any(who in rows for rows in found.values())]
    rows: list[list[Cell]] = [
        [reading, *(str(told[who]) if who in told else None for who in names)] for reading, told in found.items()
    ]
    note = (
        "Of the eight figures of a row of Table 2, how many are within three standard errors of the paper's or better; "
        "and the mean distance in points, to either side. OSMTL-e, OMTLVON and OMTLLOG learn on margins here. The rows "
        "but for PA and ROMCO were added after the tables' first figures, on other shuffles, had been seen, to find "
        "out what moves those that are missed."
    )
    title = f"{SHORT[MAILS]}: the paper's figures under other readings"
    return Table(title, ["reading", *(names or ["any row"])], rows, note)


# --- batch learners ---


def nearest_regulariser(who: str, results: Results) -> tuple[str, Again] | None:
    """The regulariser of a batch learner with which most of its figures of mails are had again, on one shuffle."""
    known = [
        (_regularised(settings, one, value), _again({"row": who, "error": [error], "minus": [minus]}))
        for settings, figures in results
        if settings["what"] == "regularisers" and settings["set"] == MAILS
        for one in figures["rows"]
        if one["row"] == who
        for value, error, minus in zip(one["values"], one["error"], one["minus"], strict=True)
    ]
    return max(known, key=lambda pair: (pair[1].good, -pair[1].distance), default=None)


def _regularised(settings: Settings, one: Figures, value: float) -> str:
    """A regulariser, and the reading if it is not that of the tables."""
    told = f"{one['letter']} = {value:g}"
    return told if settings["reading"] == TAKEN[MAILS] else f"{told}; {settings['reading']}"


def regularisers(results: Results) -> Table:
    """Batch learners on the mails with other regularisers than the default ones."""
    rows: list[list[Cell]] = []
    for settings, figures in results:
        if settings["what"] == "regularisers" and settings["set"] == MAILS:
            for one in figures["rows"]:
                for at, value in enumerate(one["values"]):
                    default = _MARK if at == 0 and settings["reading"] == TAKEN[MAILS] else ""
                    row: list[Cell] = [f"{one['row']}, {_regularised(settings, one, value)}{default}"]
                    for user in range(len(USERS)):
                        printed = printed_of_user(one["row"], user)
                        assert printed is not None
                        for measure, (shown, _) in zip(("error", "minus"), printed, strict=True):
                            row.append(Figure(100.0 * one[measure][at][user], None, shown, 2))
                    rows.append(row)
    head = ["row", *(f"{user} {measure}" for user in USERS for measure in ("error", "legit F"))]
    note = (
        "In percent, on the one shuffle that decides and is not reported. The paper's 'default values' are not named; "
        "smaller ones, and MTFL on rows that are read otherwise, were tried after errors with ours had been seen."
    )
    return Table(f"{SHORT[MAILS]}: batch learners by their regulariser", head, rows, note)
