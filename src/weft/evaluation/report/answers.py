"""Sentences with figures: what the page says in words."""

import math
from typing import Any

import numpy as np

from weft.evaluation.calibration import expected_error
from weft.evaluation.report.figures import FEW_TASKS, Figures
from weft.inspection.relations import Relations

SURE = 2.0
"""So many standard errors a difference must have to be told from chance."""
SMALL = 0.01
"""A difference of less than this share of the error is called none."""
MOST_MAPS = 3
"""So many learners have a map of their relations in a page."""


def size(figures: Figures) -> str:
    """How much was compared."""
    found = figures.found
    orders = f"{found.shuffles} random orders" if found.shuffles else "the order of the file, once"
    orders = orders if found.shuffles != 1 else "one random order"
    tasks = f"{len(found.tasks):,} tasks" if len(found.tasks) > 1 else "one task"
    return f"{int(found.events.sum()):,} labelled events of {tasks}, in {orders}."


def sharing(figures: Figures) -> dict[str, str]:
    """Does sharing help? A sentence with the figure, and what it was measured with."""
    if len(figures.found.tasks) == 1:
        told = "There is one task only, and nobody to share with. Name the field that tells users, devices or the like"
        return {"headline": f"{told}.", "how": "On the command line that is --task; the learners are compared below."}
    if figures.together is None or figures.alone is None:
        name = figures.found.best
        told = (
            f"The lowest {figures.measure} has {name}: {figures.write(float(figures.runs(name).mean()))}. What sharing "
            "gains is not known, because no learner was compared with itself on every task alone."
        )
        return {"headline": told, "how": "Compare a learner with scope=alone as well, or name no learner at all."}
    together, alone = figures.runs(figures.together), figures.runs(figures.alone)
    gap = alone - together
    first, second = float(together.mean()), float(alone.mean())
    verdict = _verdict(gap, second)
    share = abs(first / second - 1.0) if second > 0.0 else 0.0
    figure = f": {100 * share:.0f}% {'less' if first <= second else 'more'}" if verdict != "none" else ""
    begin = {
        "helps": "Sharing helps on these data",
        "hurts": "Sharing does harm on these data",
        "none": "Sharing makes next to no difference on these data",
        "unsure": "Whether sharing helps on these data cannot be told",
    }[verdict]
    how = (
        f"The {figures.measure} of {figures.together} is {figures.write(first)} when the tasks learn together and "
        f"{figures.write(second)} when every task learns alone{figure}."
    )
    return {"headline": f"{begin}. {how}", "how": f"{_spread(figures, gap)}{_pooled(figures, first)}"}


def _verdict(gap: Any, error: float) -> str:
    mean, n = float(gap.mean()), len(gap)
    if abs(mean) < SMALL * error:
        return "none"
    if n > 1 and abs(mean) < SURE * float(gap.std(ddof=1)) / math.sqrt(n):
        return "unsure"
    return "helps" if mean > 0.0 else "hurts"


def _spread(figures: Figures, gap: Any) -> str:
    if len(gap) < 2:
        return "This is one order of the events; more of them (--shuffles) show how much of it is chance. "
    se = float(gap.std(ddof=1)) / math.sqrt(len(gap))
    better = int(np.sum(gap > 0.0))
    return (
        f"The difference is {figures.write_gap(float(gap.mean()))} (standard error {figures.write(se)}), and "
        f"learning together is better in {better} of {len(gap)} orders. "
    )


def _pooled(figures: Figures, first: float) -> str:
    if figures.pooled is None:
        return ""
    pooled = float(figures.runs(figures.pooled).mean())
    words = "so tasks differ, and models of their own pay" if pooled > first else "so one model for all would do"
    return f"One model for all tasks ({figures.pooled}) has {figures.write(pooled)}, {words}."


def which(figures: Figures) -> str:
    """Which learner to take."""
    best = figures.rows[0]
    words = f"The lowest {figures.measure} has {best['learner']}: {figures.write(best['error'])}"
    if len(figures.rows) == 1:
        return f"{words}."
    second = figures.rows[1]
    gap = figures.runs(second["learner"]) - figures.runs(best["learner"])
    se = float(gap.std(ddof=1)) / math.sqrt(len(gap)) if len(gap) > 1 else math.nan
    close = "" if math.isnan(se) or gap.mean() > SURE * se else ", too close to tell apart by these orders"
    return f"{words}; next is {second['learner']} with {figures.write(second['error'])}{close}."


def learners(figures: Figures) -> list[dict[str, str]]:
    """The table of learners, the lowest error first."""
    rows = []
    for row in figures.rows:
        runs = figures.runs(row["learner"])
        rows.append(
            {
                "learner": row["learner"],
                "error": figures.write(row["error"]),
                "range": f"{figures.write(float(runs.min()))} to {figures.write(float(runs.max()))}",
                "loss": f"{row['loss']:.4g}" if math.isfinite(row["loss"]) else "-",
                "wins": f"{row['wins']:,}",
                "speed": f"{events_per_second(row):,.0f}",
            }
        )
    return rows


def events_per_second(row: dict[str, Any]) -> float:
    """Events that are predicted and learned in a second of processor time."""
    return 1.0 / row["seconds_per_event"] if row["seconds_per_event"] > 0.0 else math.nan


def tasks(figures: Figures) -> str:
    """For how many tasks sharing helps."""
    if not figures.has_gains:
        return ""
    gains = figures.gains[figures.by_gain]
    better, worse = int(np.sum(gains > 0.0)), int(np.sum(gains < 0.0))
    equal = len(gains) - better - worse
    words = f"{figures.together} is better together than alone on {better:,} of {len(gains):,} tasks, "
    words += f"worse on {worse:,}" + (f", equal on {equal:,}" if equal else "")
    more = f" The {FEW_TASKS // 2} that gain most and that gain least are shown." if len(gains) > FEW_TASKS else ""
    return f"{words}.{more} On a task with few events a difference is often chance."


def calibration(figures: Figures) -> list[dict[str, Any]]:
    """Of learners with probabilities: their mean gap, and the bins with counts."""
    orders = max(figures.found.shuffles, 1)
    found = []
    for label in figures.drawn:
        if label in figures.found.reliability:
            bins = figures.found.reliability[label]
            rows = [
                {
                    "bin": f"{100 * at // len(bins)} to {100 * (at + 1) // len(bins)}%",
                    "events": f"{events / orders:,.0f}",
                    "said": f"{100 * said / events:.1f}%" if events else "-",
                    "came": f"{100 * came / events:.1f}%" if events else "-",
                }
                for at, (events, said, came) in enumerate(bins.tolist())
            ]
            found.append({"learner": label, "gap": f"{100 * expected_error(bins):.1f}", "rows": rows})
    return found


def relations(figures: Figures) -> list[dict[str, Any]]:
    """Learners that relate tasks: a map, or a sentence where all pairs are related alike."""
    found = []
    for label, each in figures.found.relations.items():
        alike = _all_alike(each)
        found.append({"learner": label, "map": None if alike else each, "alike": alike})
    maps = [each for each in found if each["map"] is not None][:MOST_MAPS]
    return maps + [each for each in found if each["map"] is None]


def _all_alike(relations: Relations) -> str:
    between = relations.between if relations.has_matrix else np.zeros(0)
    return f"{between[0]:.4g}" if len(between) and np.allclose(between, between[0]) else ""


def costs(figures: Figures) -> str:
    """What an event costs."""
    rows = [row for row in figures.rows if math.isfinite(events_per_second(row))]
    if not rows:
        return ""
    fast, slow = max(rows, key=events_per_second), min(rows, key=events_per_second)
    return (
        f"{fast['learner']} learns {events_per_second(fast):,.0f} events in a second of processor time, "
        f"{slow['learner']} {events_per_second(slow):,.0f}. Compiling and reading the file do not count."
    )
