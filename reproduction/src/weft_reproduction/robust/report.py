"""What the runs of Tables 2 to 5 of Yang, Zhao and Gao (2017) say: figures beside the paper's, curves, claims."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.drawing.charts import Picture
from weft_reproduction.experiment import Cell, Figure, Report, Results, Table
from weft_reproduction.judgement import figure
from weft_reproduction.robust.choices import choices
from weft_reproduction.robust.claims import claims
from weft_reproduction.robust.confirming import figure_table, fresh_table, variant_table
from weft_reproduction.robust.protocol import POINTS, SETS, SHORT, STAND_INS, TITLES
from weft_reproduction.robust.published import (
    TABLE2,
    TABLE3,
    USERS,
    Run,
    Runs,
    printed_means,
    printed_of_user,
    reported,
    row_like,
)
from weft_reproduction.robust.readings import paper_again, readings, regularisers
from weft_reproduction.robust.rows import LIKE, NAMES, NEVER, ROWS


def report(results: Results) -> Report:
    """Tables, curves, claims and choices, from whatever cells are finished."""
    runs = reported(results)
    tables = [_mails(runs.get("pu_spam", {}))]
    tables += [_means(name, runs.get(name, {})) for name in STAND_INS]
    tables += [_seconds(runs), *(_parameters(name, runs.get(name, {})) for name in SETS)]
    tables += [*(readings(name, results) for name in SETS), paper_again(results), regularisers(results)]
    tables += [fresh_table(results), figure_table(results), variant_table(results)]
    return Report(tables=tables, pictures=_curves(runs), claims=claims(runs, results), choices=choices(runs, results))


# --- tables ---


def _mails(runs: Mapping[str, Run]) -> Table:
    rows: list[list[Cell]] = []
    for row in NAMES:
        if row not in runs:
            rows.append([row, *[None] * 9])
            continue
        run, cells = runs[row], []
        for user in range(len(USERS)):
            printed = printed_of_user(row, user)
            for measure, at in (("error", 0), ("minus", 1)):
                cells.append(figure(run.of_task(measure, user), printed[at][0] if printed else None, 2))
        rows.append([row, *cells, figure(run.mean("error"), None, 2)])
    head = ["row", *(f"{user} {words}" for user in USERS for words in ("error", "legit F")), "mean error"]
    note = (
        "In percent: cumulative error rate and F-measure of legitimate mails; means and standard errors over the "
        "shuffles. Batch learners are fitted when their rows have doubled, the paper's at every 100 rows. Rows without "
        "figures of the paper are ours: what is left of a learner without some part, or with a step of its own."
    )
    return Table(f"{TITLES['pu_spam']} (Table 2)", head, rows, note)


def _means(name: str, runs: Mapping[str, Run]) -> Table:
    rows: list[list[Cell]] = []
    for row in NAMES:
        if row not in runs:
            rows.append([row, None, None, None])
            continue
        printed = printed_means(name, row) or (None, None, None)
        measures = ("error", "plus", "minus")
        rows.append([row, *(figure(runs[row].mean(m), p, 2) for m, p in zip(measures, printed, strict=True))])
    head = ["row", "error", "F of +", "F of -"]
    table = {"mhc1": "Table 4", "movielens_cf": "Table 5"}[name]
    note = (
        "In percent, means over the tasks; means and standard errors over the shuffles. The paper's figures are those "
        "of its own data, which are not available: they are no measure of these."
    )
    return Table(f"{TITLES[name]} ({table})", head, rows, note)


def _seconds(runs: Runs) -> Table:
    """Seconds of a pass, and how many times those of ROMCO-NuCl they are, here and in the paper."""
    rows: list[list[Cell]] = []
    for row in (row for row in NAMES if row in LIKE):
        cells: list[Cell] = [row]
        for at, name in enumerate(SETS):
            here = runs.get(name, {})
            printed = TABLE3[LIKE[row]][at]
            if row not in here:
                cells += [None, None]
                continue
            median = float(np.median(here[row].seconds))
            cells.append(Figure(median, None, printed, 4))
            unit = float(np.median(here["ROMCO-NuCl"].seconds)) if "ROMCO-NuCl" in here else None
            cells.append(Figure(median / unit, None, printed / TABLE3["ROMCO-NuCl"][at], 2) if unit else None)
        rows.append(cells)
    head = ["row", *(words for name in SETS for words in (f"{SHORT[name]}, s", "times ROMCO-NuCl"))]
    note = (
        "Medians over the shuffles, beside the paper's seconds on a computer and with programs of its own. Here batch "
        "learners are fitted only when their rows have doubled: at every 100 rows they take longer (see the choices)."
    )
    return Table("Seconds of a pass (Table 3)", head, rows, note)


def _parameters(name: str, runs: Mapping[str, Run]) -> Table:
    rows: list[list[Cell]] = []
    for row in (row for row in NAMES if row in ROWS and ROWS[row].grid):
        run = runs.get(row)
        if run is None or run.chosen is None or run.worst is None:
            rows.append([row, "", None, None])
        else:
            errors = (Figure(100.0 * value, None, None, 2) for value in (run.chosen, run.worst))
            rows.append([row, _told(run.parameters), *errors])
    note = "Error rates in percent, means of the tasks, on the one shuffle that decided and is not reported."
    head = ["row", "parameters", "error there", "worst of the grid"]
    return Table(f"{SHORT[name]}: the parameters that were chosen", head, rows, note)


def _told(parameters: Mapping[str, Any]) -> str:
    named = {key: value for key, value in parameters.items() if key not in ("condition", "norm", "pooled")}
    return ", ".join(f"{key} = {'never' if value == NEVER else format(value, 'g')}" for key, value in named.items())


# --- curves ---


def _curves(runs: Runs) -> list[Picture]:
    """Figures 3 to 5: the cumulative error along the stream, of the paper's learners and of ROMCO without penalties."""
    found = []
    xs = [100.0 * at / POINTS for at in range(1, POINTS + 1)]
    for name in SETS:
        here = runs.get(name, {})
        wanted = [row_like(who, here) for who in TABLE2]
        shown = {row: np.asarray(here[row].curve) for row in wanted if row in here}
        if not shown:
            continue
        if name == "pu_spam":
            for at, user in enumerate(USERS):
                lines = {row: (xs, curve[at].tolist()) for row, curve in shown.items()}
                found.append(_curve(f"{SHORT[name]}, {user}", lines, "Figure 3"))
        else:
            lines = {row: (xs, curve.mean(axis=0).tolist()) for row, curve in shown.items()}
            found.append(_curve(f"{SHORT[name]}, mean of the tasks", lines, "Figure " + "45"[name != "mhc1"]))
    return found


def _curve(title: str, lines: Mapping[str, Any], figure: str) -> Picture:
    note = "Of two conditions the one that was better on the shuffle that decided."
    return Picture(
        f"{title}: cumulative error along the stream ({figure})", lines, "percent of a task's rows", "error, percent",
        note=note,
    )  # fmt: skip
