"""The rows of the tables of Yang, Zhao and Gao (2017), what is tuned in each, and how parameters are looked for.

The paper fixes C = 1, tunes "other parameters" of CW-COL, OMTLVON, OMTLLOG and OSMTL-e on grids that it does not name,
and eta1, eta2, lam1, lam2 of ROMCO over 1e-6, 1e-5 .. 1, all on one shuffle that is not reported. Rows beside them tell
a gain of the structure from one of the steps.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

Parameters = dict[str, Any]


class Row(NamedTuple):
    """A row: its learner, the parameters that are fixed, the grid of those that are tuned.

    like    the paper's name for it; "" for rows that are ours alone
    beside  further rows with what was chosen here, but for some parameters: {name: parameters}
    batch   is fitted to all rows seen, now and then
    """

    name: str
    learner: str
    fixed: Parameters
    grid: dict[str, tuple[Any, ...]]
    like: str = ""
    beside: Mapping[str, Parameters] = {}
    batch: bool = False


POWERS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""The paper's grid of all four parameters of ROMCO."""
STEPS = POWERS[3:]
"""The part of it for the steps: rows have length 1, and smaller steps would leave most margins below 1 to the end."""
_C = (0.001, 0.01, 0.1, 1.0, 10.0)
_ROMCO = {"eta1": STEPS, "eta2": STEPS, "lam1": POWERS, "lam2": POWERS}
NEVER = 1e100
"""A penalty under which a part stays 0."""
CONDITIONS = ("mistake", "margin")
ROMCO = ("ROMCO-NuCl", "ROMCO-LogD")
ZERO, NO_U = "lambdas 0, own steps", "personal part alone"
SAME_STEPS = {who: f"{who}, its steps, lambdas 0" for who in ROMCO}
NO_V = {who: f"{who}, low rank alone" for who in ROMCO}


def _rows() -> tuple[Row, ...]:
    rows = [
        Row("MTFL", "mtfl", {"gamma": 1.0, "eps": 0.01}, {}, "MTFL", batch=True),
        Row("TRML", "trml", {"lam": 0.01}, {}, "TRML", batch=True),
        Row("PA-Global", "pa", {"pooled": True, "C": 1.0}, {}, "PA-Global"),
        Row("PA-Global, own C", "pa", {"pooled": True}, {"C": _C}),
        Row("PA-Unique", "pa", {"pooled": False, "C": 1.0}, {}, "PA-Unique"),
        Row("PA-Unique, own C", "pa", {"pooled": False}, {"C": _C}),
        Row("CW-COL", "cw-col", {}, {"r": (0.01, 0.1, 1.0, 10.0, 100.0), "mix": (0.1, 0.3, 0.5, 0.7, 0.9)}, "CW-COL"),
        Row("OMTL", "implicit", {"norm": "l2", "C": 1.0}, {}, "OMTL"),
        Row("OMTL, own C", "implicit", {"norm": "l2"}, {"C": _C}),
    ]
    for condition in CONDITIONS:
        fixed = {"condition": condition, "C": 1.0}
        grid = {"alpha": (0.1, 0.3, 0.5, 0.7, 0.9), "lam": (0.1, 1.0, 10.0)}
        rows.append(Row(f"OSMTL-e, {condition}", "osmtl-e", fixed, grid, "OSMTL-e"))
    for who, learner in (("OMTLVON", "omtrl-vonneumann"), ("OMTLLOG", "omtrl-logdet")):
        for condition in CONDITIONS:
            fixed = {"condition": condition, "C": 1.0}
            grid = {"rate": (0.001, 0.01, 0.1, 1.0), "warmup": (0.1, 0.5)}
            rows.append(Row(f"{who}, {condition}", learner, fixed, grid, who))
    for who, learner in zip(ROMCO, ("romco-nucl", "romco-logd"), strict=True):
        rows.append(Row(who, learner, {}, _ROMCO, who, {SAME_STEPS[who]: {"lam1": 0.0, "lam2": 0.0}}))
        without = {"eta2": 1.0, "lam2": NEVER}
        rows.append(Row(NO_V[who], learner, without, {"eta1": STEPS, "lam1": POWERS}))
    rows.append(Row(NO_U, "romco-nucl", {"eta1": 1.0, "lam1": NEVER}, {"eta2": STEPS, "lam2": POWERS}))
    rows.append(Row(ZERO, "romco-nucl", {"lam1": 0.0, "lam2": 0.0}, {"eta1": STEPS, "eta2": STEPS}))
    return tuple(rows)


ROWS = {row.name: row for row in _rows()}
NAMES = tuple(name for row in ROWS.values() for name in (row.name, *row.beside))
"""All rows of the tables, in their order."""
BATCH = tuple(row.name for row in ROWS.values() if row.batch)
LIKE = {row.name: row.like for row in ROWS.values() if row.like}
"""What the paper calls a row."""
OTHERS = {"MTFL": {"gamma": (0.01, 0.1)}, "TRML": {"lam": (0.03, 0.1)}}
"""Regularisers of the batch learners beside the default ones, tried on the shuffle that decides."""
MOVED = {"pu_spam": ("CW-COL", "OMTL", "OSMTL-e, margin", "OMTLVON, margin", "OMTLLOG, margin")}
"""Rows that are run under every reading beside PA and ROMCO, where the data are the paper's."""


# --- looking for parameters ---


class Found(NamedTuple):
    """The best parameters, their error, the worst error on the way, and how many parameters were tried."""

    parameters: Parameters
    error: float
    worst: float
    tried: int


TURNS = (("eta1", "eta2"), ("lam1", "lam2")) * 2
"""Where a whole grid takes too long: steps for the lambdas so far, lambdas for these steps, and both once more."""
START = 1e-4


def search(
    fixed: Parameters, grid: Mapping[str, Sequence[Any]], in_turns: bool, error: Callable[[Parameters], float]
) -> Found:
    """The parameters with the least error; of equals, those that were tried first.

    `in_turns`, for grids of ROMCO: first both steps, with lambdas of START, then both lambdas, and again.
    """
    known: dict[tuple[Any, ...], float] = {}
    best = fixed | {
        parameter: START if in_turns and START in values else values[0] for parameter, values in grid.items()
    }
    for turn in TURNS if in_turns else (tuple(grid),):
        tried = []
        for values in product(*(grid[parameter] for parameter in turn)):
            parameters = best | dict(zip(turn, values, strict=True))
            key = tuple(parameters.values())
            if key not in known:
                known[key] = error(parameters)
            tried.append((known[key], parameters))
        best = min(tried, key=lambda pair: pair[0])[1]
    return Found(best, known[tuple(best.values())], max(known.values()), len(known))
