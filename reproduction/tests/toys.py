"""Experiments that take no time, and count how often they run."""

import os
import time
from pathlib import Path

from weft.drawing.charts import Bars, Picture
from weft_reproduction.experiment import Choice, Claim, Experiment, Figure, Figures, Report, Results, Settings, Table

UNUSED = 1


def cells(quick: bool) -> list[Settings]:
    return [{"learner": "pa", "number": number} for number in range(2 if quick else 4)]


def run(settings: Settings) -> Figures:
    """Leaves a mark in the folder LOG for every run."""
    if "LOG" in os.environ:
        (Path(os.environ["LOG"]) / f"{settings['number']}-{time.monotonic_ns()}").write_text("")
    time.sleep(settings.get("seconds", 0.0))
    if settings.get("fault") == "error":
        raise ValueError("no such luck")
    if settings.get("fault") == "death":
        os._exit(7)
    if settings.get("fault") == "no dict":
        return [1, 2]  # type: ignore[return-value]
    return {"square": settings["number"] ** 2, "undefined": float("nan")}


def report(results: Results) -> Report:
    rows = [[f"<{s['number']} & co>", Figure(f["square"], 0.5, 9.0), f["square"], None] for s, f in results]
    xs = [s["number"] for s, _ in results]
    ys = [f["square"] for _, f in results]
    return Report(
        [Table("Squares <b>", ["number", "square", "plain", "other"], rows, "a note & more")],
        [
            Picture("Curve", {"a & b": (xs, ys, [0.5] * len(xs)), "c": (xs, ys)}, "x", "y", note="n"),
            Picture("Logs", {"a": ([1.0, 10.0, 100.0], [1.0, float("nan"), 2.0])}, "x", "y", log_x=True),
            Bars(
                "Bars",
                ["one", "two long words here"],
                {"u": ([1.0, 2.0], [0.1, 0.2]), "v": ([-1.0, float("nan")],)},
                "h",
            ),
        ],
        [
            Claim("It is <so>", "Fig. 0", "confirmed", "because\x07 of"),
            Claim("Not", "Fig. 1", "not confirmed", "p = 1"),
        ],
        [Choice("what", "that", "none")],
    )


TOY = Experiment("toy", "squares & co", "Nobody (2001), Table 0", cells, run, report, about="First.\n\nSecond <p>.")
