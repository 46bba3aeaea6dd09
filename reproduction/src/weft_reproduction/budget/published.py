"""The 75 figures of Table 1 of Cavallanti and Cesa-Bianchi (2012), and ours taken from finished cells."""

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from weft_reproduction.budget.protocol import NO_BUDGET, OPEN, PLACES, SETS, Place, Reading
from weft_reproduction.experiment import Results

_TABLE = {
    "pkdd06a": (92.0, (
        (84.8, 81.4, 78.0, 73.1, 72.8, 66.7),
        (85.1, 81.7, 77.9, 73.0, 72.3, 66.7),
        (91.6, 89.4, 87.8, 84.0, 83.4, 76.0),
        (91.6, 90.3, 89.3, 87.3, 85.4, 82.3),
    )),
    "school": (39.1, (
        (40.4, 35.0, 38.6, 30.9, 37.3, 26.0),
        (39.7, 35.1, 38.0, 31.5, 36.9, 25.9),
        (40.6, 37.4, 40.2, 32.6, 39.4, 23.8),
        (41.2, 39.1, 40.9, 39.0, 39.6, 37.9),
    )),
    "sentiment4": (71.5, (
        (66.8, 63.3, 62.0, 58.3, 59.4, 56.1),
        (66.7, 63.4, 62.3, 58.8, 58.8, 56.5),
        (71.4, 67.7, 66.6, 63.6, 64.0, 60.6),
        (71.7, 68.5, 67.9, 64.9, 64.5, 61.7),
    )),
}  # fmt: skip
"""Cavallanti and Cesa-Bianchi (2012), Table 1, in percent: the baseline, and a line per learner."""


def _published() -> dict[str, dict[Place, float]]:
    found = {}
    for name, (baseline, lines) in _TABLE.items():
        printed = [figure for line in lines for figure in line]
        found[name] = {NO_BUDGET: baseline, **dict(zip(PLACES, printed, strict=True))}
    return found


PUBLISHED = _published()


def nearest(kind: str, baselines: dict[tuple[str, Reading], float]) -> Reading | None:
    """The reading whose baseline is nearest to the published one, on the set of its kind where it is farthest away.

    The baseline is the one figure per set in which no learner of the paper has a part: what is settled by it leaves the
    24 others to be tested. None, if a reading's baseline is missing.
    """
    names = [name for name in SETS if SETS[name] == kind]
    if any((name, reading) not in baselines for name in names for reading in OPEN[kind]):
        return None

    def distance(reading: Reading) -> float:
        return max(abs(baselines[name, reading] - PUBLISHED[name][NO_BUDGET]) for name in names)

    return min(OPEN[kind], key=distance)


# --- from results to figures ---

Runs = dict[Place, dict[int, float]]
"""F in percent, by place and shuffle; the order of the file is number -1."""
Means = dict[Place, float]

NOT_REPORTED = 1000
"""Shuffles with this number or a higher one served to settle what is open."""


def reported(shuffle: int | None) -> bool:
    return shuffle is not None and shuffle < NOT_REPORTED


def choosing(shuffle: int | None) -> bool:
    return shuffle is not None and shuffle >= NOT_REPORTED


def file_order(shuffle: int | None) -> bool:
    return shuffle is None


def runs_of(
    results: Results, name: str, reading: Reading, wanted: Callable[[int | None], bool], measure: str = "error"
) -> Runs:
    """F of the finished cells of a set under a reading, of the orders that are wanted."""
    found: Runs = defaultdict(dict)
    told = (name, reading.scaling, dict(reading.kernel))
    for settings, figures in results:
        if (settings["set"], settings["scaling"], settings["kernel"]) == told and wanted(settings["shuffle"]):
            shuffle = -1 if settings["shuffle"] is None else settings["shuffle"]
            for part in figures["places"]:
                found[Place(*part["place"])][shuffle] = part["F"][measure]
    return dict(found)


def means(runs: Runs) -> Means:
    """The mean over the shuffles."""
    return {place: float(np.mean(list(by_shuffle.values()))) for place, by_shuffle in runs.items()}
