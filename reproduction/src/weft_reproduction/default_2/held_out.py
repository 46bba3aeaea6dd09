"""The default at its three efforts on streams that no constant was chosen on, in random order and in the order of time.

Tables that come within Python packages (`package_streams`): pupils of schools, wages, firms, countries, customers,
patients, ratings, shares, images, docstrings, and an arm with loads. Only the choice of experts for `effort` was made
with these figures in view; each expert with its constants came first. The claim is about every stream that can be had.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from weft.compiled.arrays import Floats
from weft.model import Model
from weft.stream import Stream
from weft_reproduction.default_2 import given, peers
from weft_reproduction.default_2.package_streams import MOST, held_out, names
from weft_reproduction.default_2.scoring import figures_of
from weft_reproduction.default_2.streams import Data
from weft_reproduction.experiment import Claim, Experiment, Figure, Figures, Report, Results, Settings, Table

EFFORTS = ("fast", "balanced", "best")
LIMITS = {"balanced": 5.0, "best": 8.0}
"""By how many per cent the mean loss is to be lower than that of fast."""
MOST_ABOVE = 0.15
"""By how many per cent the loss of one stream may be higher."""


FOREST = "river forest"
WIDEST = 200
"""Columns up to which trees of streams are run."""


def cells(quick: bool) -> list[Settings]:
    """Every effort on every stream, in one random order and, where there is one, in the order of time.

    If files are given (`given`), on these instead, in their own order, and river's forest as well if it is installed.
    """
    files = given.files()
    if files is not None:
        kinds = (*EFFORTS, *([FOREST] if peers.is_here(FOREST) else []))
        return [
            {"stream": str(file), "in_time": True, "kind": kind, "rows": 300 if quick else MOST, "learner": "auto"}
            | {"file": given.digest(file)}
            for file in files
            for kind in kinds
        ]
    found, rows = ([("arm", True)], 300) if quick else (names(), None)
    return [
        {"stream": name, "in_time": in_time, "kind": kind, "rows": rows, "learner": "auto"}
        for name, in_time in found
        for kind in EFFORTS
    ]


def run(settings: Settings) -> Figures:
    if "file" in settings:
        return _run_given(settings)
    data, rows = held_out(settings["stream"], settings["in_time"]), settings["rows"]
    data = Data(data.X[:rows], data.y[:rows], data.task[:rows], data.logistic)
    model = Model("auto", loss="logistic" if data.logistic else "square", effort=settings["kind"])
    answer: Floats = model.learn(_events(data))
    return figures_of(1.0 / (1.0 + np.exp(-answer)) if data.logistic else answer, data)


def _run_given(settings: Settings) -> Figures:
    """One learner on a file that was given; a forest that would have too many columns has no figures."""
    stream, data = given.events(settings["stream"], settings["rows"])
    if settings["kind"] == FOREST:
        wide = data.X.shape[1] + int(data.task.max()) + 1 > WIDEST
        return {} if wide else figures_of(peers.PEERS[FOREST](data), data)
    model = Model("auto", loss="logistic" if data.logistic else "square", effort=settings["kind"])
    answer: Floats = model.learn(stream)
    return figures_of(1.0 / (1.0 + np.exp(-answer)) if data.logistic else answer, data)


def _events(data: Data) -> Stream:
    """The stream; with missing values as a data frame, where alone they may stand."""
    X: Any = data.X
    is_sparse = sparse.issparse(data.X)
    if not np.isnan(X.data if is_sparse else X).any():
        return Stream(X, data.y, data.task)
    import pandas

    X = X.toarray() if is_sparse else X
    frame = pandas.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    return Stream.from_frame(frame.assign(task=data.task, label=data.y), task="task", label="label")


def report(results: Results) -> Report:
    found: dict[tuple[str, bool], dict[str, float]] = {}
    for settings, figures in results:
        losses = found.setdefault((settings["stream"], settings["in_time"]), {})
        if "loss" in figures:
            losses[settings["kind"]] = float(figures["loss"])
    rows: list[list[Any]] = []
    kinds = [*EFFORTS, *([FOREST] if any(FOREST in losses for losses in found.values()) else [])]
    for (name, in_time), losses in found.items():
        means = [losses.get(kind) for kind in kinds]
        changes = [_change(losses, kind) for kind in LIMITS]
        row: list[Any] = [_shown(name, in_time)]
        row += [None if x is None else Figure(x, digits=4) for x in means]
        rows.append(row + [None if x is None else Figure(x, digits=2) for x in changes])
    columns = ["stream", *kinds, *(f"{kind}, %" for kind in LIMITS)]
    tables = [Table("Mean loss, and its change against fast", columns, rows)] if rows else []
    return Report(tables=tables, claims=[_claim(found, kind) for kind in LIMITS])


def _shown(name: str, in_time: bool) -> str:
    return Path(name).name if os.path.isabs(name) else name + (" in time" if in_time else "")


def _change(losses: dict[str, float], kind: str) -> float | None:
    return 100.0 * (losses[kind] / losses["fast"] - 1.0) if {kind, "fast"} <= losses.keys() else None


def _claim(found: dict[tuple[str, bool], dict[str, float]], kind: str) -> Claim:
    text = f"{kind} is {LIMITS[kind]:g} % below fast on average, and nowhere more than {MOST_ABOVE:g} % above."
    changes = {key: change for key, losses in found.items() if (change := _change(losses, kind)) is not None}
    if not changes:
        return Claim(text, "all streams", "not testable here", "no stream was run")
    mean, worst = float(np.mean(list(changes.values()))), max(changes, key=lambda key: changes[key])
    good = mean <= -LIMITS[kind] and changes[worst] <= MOST
    why = f"{mean:+.2f} % on average, {changes[worst]:+.2f} % on {_shown(*worst)}"
    return Claim(text, f"{len(changes)} streams", "confirmed" if good else "not confirmed", why)


EXPERIMENT = Experiment(
    name="default-2-held-out",
    title="The default on streams that nothing was chosen on",
    paper="weft's own",
    cells=cells,
    run=run,
    report=report,
    about=__doc__,
    takes_files=True,
)
