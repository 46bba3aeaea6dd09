"""Error-correcting codes and r-max norms: which r for a multiclass problem of five labels.

Section 8.2 of the paper reduces the five high-level categories of RCV1 to 15 binary tasks by the exhaustive code,
whose rows differ in 8 places, and runs the implicit update with the r-max norm for r = 1 .. 15; a document is wrong if
its decoded label is. Figure 5 shows the error after 10,000, 100,000 and 600,000 documents. The best r is slightly
below half the distance of the code, both ends are worse, and one-vs-rest is worse than the code (8 instead of 5 per
cent).

Here the five commonest topics of the reuters21578 documents with a single topic are the labels (15 columns, distance
8), and the four high-level categories of the RCV1 sample for documents with a single one (7 columns, distance 4). C is
0.001 as in the section before; other values stand beside it. Claims are judged over random orders.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.compiled.arrays import Ints
from weft.drawing.charts import Picture
from weft.reductions import Multiclass, Multilabel, code_distance, decode_hamming, exhaustive_code
from weft.streams import known
from weft.streams.preparation import log_counts
from weft_reproduction.experiment import Cell, Choice, Claim, Experiment, Figures, Report, Results, Settings, Table
from weft_reproduction.judgement import figure, line, lower
from weft_reproduction.shared_loss.newswire import OWN_ORDER, STAND_IN, order

DATA = ("reuters21578", "rcv1_2316")
LABELS = {"reuters21578": 5, "rcv1_2316": 4}
C = 1e-3
GRID = (1e-4, 1e-3, 1e-2)
SHARES = (0.1, 0.5, 1.0)
PUBLISHED = {"ecoc": 5.0, "one-vs-rest": 8.0}
"""Per cent after 600,000 documents of RCV1."""


def cells(quick: bool) -> list[Settings]:
    """One per corpus, C and order; all r in each."""
    documents, seeds, grid = (400, range(4), (C,)) if quick else (None, range(11), GRID)
    small = {"documents": documents} if documents else {}
    return [
        {"learner": "implicit", "data": data, "C": value, "seed": seed, **small}
        for data in DATA
        for value in grid
        for seed in seeds
    ]


def run(settings: Settings) -> Figures:
    """For every r the multiclass error after each share of the stream and the inf-error at its end; one-vs-rest too."""
    X, y = _documents(settings["data"], settings.get("documents"))
    rows = order(len(y), settings["seed"])
    X, y = X[rows], y[rows]
    code = exhaustive_code(LABELS[settings["data"]])
    ends = [max(1, round(share * len(y))) for share in SHARES]
    errors, inf = [], []
    for r in range(1, code.shape[1] + 1):
        tasks = Multilabel(settings["learner"], norm=f"{r}-max", C=settings["C"], labels=range(code.shape[1]))
        signs = 2 * np.asarray(tasks.learn(X, (code[y] + 1) // 2)) - 1
        wrong = decode_hamming(code, signs) != y
        errors.append([float(np.mean(wrong[:end])) for end in ends])
        inf.append(tasks.inf_error)
    rest = Multiclass(settings["learner"], coding="one-vs-rest", labels=range(len(code)), C=settings["C"])
    wrong = np.array(rest.learn(X, y.tolist())) != y
    return {
        "documents": len(y),
        "errors": errors,
        "inf": inf,
        "one-vs-rest": [float(np.mean(wrong[:end])) for end in ends],
    }


def _documents(data: str, most: int | None) -> tuple[Any, Ints]:
    """Documents with exactly one of the labels, and its number."""
    found = log_counts(known(data), base=2.0)
    if data == "rcv1_2316":
        topics = found.y[:, [found.task_names.index(name) for name in ("CCAT", "ECAT", "GCAT", "MCAT")]]
        rows = np.flatnonzero(np.diff(topics.indptr) == 1)
    else:
        single = np.flatnonzero(np.diff(found.y.indptr) == 1)
        common = np.argsort(-np.bincount(found.y[single].indices, minlength=found.y.shape[1]), kind="stable")[:5]
        topics = found.y[:, common]
        rows = single[np.diff(topics[single].indptr) == 1]
    rows = rows[:most]
    return found.X[rows], topics[rows].indices.astype(np.int64)


# --- what it shows ---

Found = Mapping[tuple[str, float], list[tuple[int, Figures]]]


def report(results: Results) -> Report:
    """Errors by r, for the paper's C and others; the figure; the paper's sentences."""
    found: dict[tuple[str, float], list[tuple[int, Figures]]] = {}
    for settings, figures in results:
        found.setdefault((settings["data"], settings["C"]), []).append((settings["seed"], figures))
    pictures = [picture for data in DATA for picture in _pictures(found, data)]
    claims = [claim for data in DATA for claim in _claims(found, data)]
    return Report([_table(found, data) for data in DATA], pictures, claims, _choices(found))


def _random(found: Found, data: str, value: float) -> list[Figures]:
    return [figures for seed, figures in found.get((data, value), []) if seed != OWN_ORDER]


def _at(runs: list[Figures], r: int, share: int = -1) -> list[float]:
    return [100.0 * figures["errors"][r - 1][share] for figures in runs]


def _table(found: Found, data: str) -> Table:
    columns = 2 ** (LABELS[data] - 1) - 1
    values = sorted({key[1] for key in found if key[0] == data})
    rows: list[list[Cell]] = []
    for r in range(1, columns + 1):
        row: list[Cell] = [f"{r}-max"]
        for value in values:
            runs = _random(found, data, value)
            row.append(figure(_at(runs, r)) if runs else None)
        rows.append(row)
    rest: list[Cell] = ["one-vs-rest, L_inf"]
    for value in values:
        runs = _random(found, data, value)
        errors = [100.0 * figures["one-vs-rest"][-1] for figures in runs]
        rest.append(figure(errors) if runs else None)
    half = code_distance(exhaustive_code(LABELS[data])) // 2
    return Table(
        f"{data}: multiclass error in per cent at the end of the stream, random orders",
        ["norm", *(f"C = {value:g}" for value in values)],
        [*rows, rest],
        f"Half the distance of the code is {half}. After 600,000 documents of RCV1 the paper has about "
        f"{PUBLISHED['ecoc']:g} per cent with the code and {PUBLISHED['one-vs-rest']:g} with one-vs-rest.",
    )


def _pictures(found: Found, data: str) -> list[Picture]:
    runs = _random(found, data, C)
    if not runs:
        return []
    rs = list(range(1, len(runs[0]["errors"]) + 1))
    lines: dict[str, Any] = {}
    for at, share in enumerate(SHARES):
        name = f"after {round(share * runs[0]['documents']):,} documents"
        lines[name] = line(rs, [_at(runs, r, at) for r in rs])
    return [Picture(f"{data}: error by r, C = {C:g}", lines, "r of the r-max norm", "multiclass error, %")]


def _claims(found: Found, data: str) -> list[Claim]:
    runs = _random(found, data, C)
    code = exhaustive_code(LABELS[data])
    half, last = code_distance(code) // 2, code.shape[1]
    if not runs:
        return [lower(f"Both L_inf and L_1 are suboptimal ({data}).", "Fig. 5", [])]
    below = max(2, half - 1)  # slightly smaller than half the distance
    chosen = min(half + 1, last)  # 5 of a distance of 8, the paper's choice by theory
    ends = (("L_inf (r = 1)", 1), (f"L_1 (r = {last})", last))
    between = _chosen(found, data)
    return [
        lower(
            f"Both L_inf and L_1 are suboptimal: an r between them ({between or 'none was chosen'}, the best in the "
            f"file's own order, which is not judged) has a lower multiclass error ({data}).",
            "Fig. 5",
            [(f"against {name}, points", _at(runs, between), _at(runs, r)) for name, r in ends] if between else [],
        ),
        lower(
            f"The r-max norm with r slightly smaller than half the code distance (r = {below}) has a lower multiclass "
            f"error than L_inf and L_1 ({data}).",
            "Fig. 5",
            [(f"against {name}, points", _at(runs, below), _at(runs, r)) for name, r in ends],
        ),
        lower(
            f"The theoretically motivated r = {chosen} still has a lower error than both extreme choices ({data}).",
            "Fig. 5",
            [(f"against {name}, points", _at(runs, chosen), _at(runs, r)) for name, r in ends],
        ),
        lower(
            f"The code has a lower error than one-vs-rest ({data}; r = {below}).",
            "Sec. 8.2",
            [("points", _at(runs, below), [100.0 * figures["one-vs-rest"][-1] for figures in runs])],
        ),
        lower(
            f"r = 1 has the lowest inf-error of the ensemble ({data}).",
            "Sec. 8.2",
            [(f"against r = {r}, points", _inf(runs, 1), _inf(runs, r)) for r in sorted({2, half, last})],
        ),
    ]


def _chosen(found: Found, data: str) -> int | None:
    """The best r but for the ends, in the order of the file."""
    own = [figures for seed, figures in found.get((data, C), []) if seed == OWN_ORDER]
    return 2 + int(np.argmin([errors[-1] for errors in own[0]["errors"][1:-1]])) if own else None


def _inf(runs: list[Figures], r: int) -> list[float]:
    return [100.0 * figures["inf"][r - 1] for figures in runs]


def _choices(found: Found) -> list[Choice]:
    told = []
    for data, value in sorted(found):
        runs = _random(found, data, value)
        if runs:
            means = [float(np.mean(_at(runs, r))) for r in range(1, len(runs[0]["errors"]) + 1)]
            best = int(np.argmin(means))
            told.append(f"{data}, C = {value:g}: r = {best + 1} ({means[best]:.2f}, r = 1 {means[0]:.2f}, "
                        f"L_1 {means[-1]:.2f})")  # fmt: skip
    return [
        Choice("The corpus and its labels.", STAND_IN, "Labels are fewer, and less evenly spread, than in RCV1."),
        Choice(
            "What “suboptimal” is measured against.",
            "An r that is chosen in the file's own order and judged in random ones.",
            "The paper names r = 3 or 4, and these are judged as well. This weaker claim was added after the errors by "
            "r had been seen; it says that some r between the ends is better, not which.",
        ),
        Choice(
            "C, which the section does not name.",
            "0.001, that of Sec. 8.1; others beside it.",
            f"The best r, and its error in per cent: {'; '.join(told) or 'not run'}.",
        ),
    ]


EXPERIMENT = Experiment(
    name="shared-loss-fig5",
    title="error-correcting codes and r-max norms for several labels",
    paper="Dekel, Long and Singer (2007), Online Learning of Multiple Tasks with a Shared Loss, Figure 5",
    data=DATA,
    cells=cells,
    run=run,
    report=report,
)
