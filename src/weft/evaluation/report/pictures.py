"""What the page draws."""

import math

import numpy as np

from weft.drawing.axes import percent
from weft.drawing.charts import Bars, Dots, Picture, Row
from weft.drawing.looks import dashed
from weft.evaluation.report.answers import events_per_second
from weft.evaluation.report.figures import Figures

MOST_POINTS = 800
"""So many tasks are drawn as points; of more, evenly by what they gain."""
GREY = 5
HELPED, HURT = "lower or equal error together", "higher error together"
SAID = "said = came true"


def errors(figures: Figures) -> Dots:
    """The error of every learner, with its range over the orders."""
    rows = []
    for row in figures.rows:
        runs = figures.runs(row["learner"])
        rows.append(Row(row["learner"], [row["error"]], float(runs.min()), float(runs.max())))
    note = "A line reaches from the best order to the worst." if figures.found.shuffles > 1 else ""
    return Dots(f"The {figures.measure} of every learner", [""], rows, figures.measure, note=note,
                write_x=figures.write_axis)  # fmt: skip


def curves(figures: Figures) -> Picture:
    """The error over all events so far; its beginning, where few events decide, is left out."""
    xs = figures.found.curve_events
    begin = int(np.searchsorted(xs, max(10, xs[-1] // 50)))
    begin = begin if begin < len(xs) - 1 else 0
    found = figures.found.curves()
    lines = {label: (xs[begin:].tolist(), found[label][begin:].tolist()) for label in figures.drawn}
    return Picture("Learning curves", lines, "events learned", f"{figures.measure} so far", write_y=figures.write_axis)


def tasks(figures: Figures) -> Dots:
    """Per task: alone and together."""
    shown, middle = figures.shown
    alone, together = figures.errors_of(figures.alone), figures.errors_of(figures.together)
    rows = [Row(figures.name(task), [float(together[task]), float(alone[task])]) for task in shown]
    return Dots("Tasks that gain most, and least", ["together", "every task alone"], rows, figures.measure,
                breaks=[middle] if middle else [], write_x=figures.write_axis)  # fmt: skip


def gains(figures: Figures) -> Picture:
    """What tasks gain by how many events they have."""
    order = figures.by_gain
    if len(order) > MOST_POINTS:
        order = order[np.linspace(0, len(order) - 1, MOST_POINTS).round().astype(np.int64)]
    events, gain = figures.found.events[order].astype(float), figures.gains[order]
    lines = {
        name: (events[mask].tolist(), gain[mask].tolist()) for name, mask in ((HELPED, gain >= 0.0), (HURT, gain < 0.0))
    }
    spans = float(events.max() / max(1.0, events.min())) > 10.0
    note = f"{len(order):,} of {len(figures.by_gain):,} tasks are drawn." if len(order) < len(figures.by_gain) else ""
    return Picture("What a task gains, by its events", {name: line for name, line in lines.items() if line[0]},
                   "events of the task", "gain", log_x=spans, note=note, looks={HELPED: 0, HURT: 1},
                   write_y=figures.write_axis, loose=True)  # fmt: skip


def reliability(figures: Figures) -> Picture:
    """What came true by what was said, with the standard error of every bin."""
    orders = max(figures.found.shuffles, 1)
    lines: dict[str, tuple[list[float], list[float], list[float]]] = {SAID: ([0.0, 1.0], [0.0, 1.0], [0.0, 0.0])}
    for label in figures.drawn:
        bins = figures.found.reliability.get(label)
        if bins is not None:
            used = bins[bins[:, 0] > 0.0]
            said, came = used[:, 1] / used[:, 0], used[:, 2] / used[:, 0]
            se = np.sqrt(came * (1.0 - came) / (used[:, 0] / orders))
            lines[label] = (said.tolist(), came.tolist(), se.tolist())
    looks = {SAID: dashed(GREY)} | {label: at for at, label in enumerate(name for name in lines if name != SAID)}
    return Picture("Reliability", lines, "probability that was said", "share that was positive",
                   looks=looks, top=1.05, write_y=percent)  # fmt: skip


def said(figures: Figures) -> Bars:
    """How many events every bin of probabilities has, for the first learner that has probabilities."""
    orders = max(figures.found.shuffles, 1)
    names = [label for label in figures.drawn if label in figures.found.reliability]
    counts = figures.found.reliability[names[0]][:, 0] / orders
    groups = [f"{100 * at // len(counts)}%" for at in range(len(counts))]
    return Bars(f"Events by probability: {names[0]}", groups, {"events": (counts.tolist(),)}, "events")


def costs(figures: Figures) -> Dots:
    """Events a second."""
    rows = [Row(row["learner"], [events_per_second(row)]) for row in figures.rows]
    rows = sorted((row for row in rows if math.isfinite(row.values[0])), key=lambda row: -row.values[0])
    return Dots("Events a second", [""], rows, "events a second of processor time", log_x=True)
