"""What a benchmark reports, and how time is measured."""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Figure(NamedTuple):
    """One line of the table; `met` is None where there is no target."""

    what: str
    ours: str
    peer: str
    text: str
    target: str
    met: bool | None


def best(run: Callable[[], object], repeats: int = 5) -> float:
    """Seconds of the fastest of several runs."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times)


def alternately(*runs: Callable[[], object], repeats: int = 7) -> list[float]:
    """Seconds of the fastest time of each, measured in turns: a slow minute of the machine then affects all of them."""
    times = [math.inf] * len(runs)
    for _ in range(repeats):
        for at, run in enumerate(runs):
            times[at] = min(times[at], best(run, 1))
    return times


def ratio(what: str, ours: float, peer_name: str, peer: float, target: float | None = None) -> Figure:
    """How many times faster weft is; `ours` and `peer` are seconds per event."""
    times = peer / ours
    return Figure(
        what,
        f"{ours * 1e6:.3f} us",
        f"{peer_name} {peer * 1e6:.2f} us",
        f"{times:.1f} x",
        "" if target is None else f">= {target:g} x",
        None if target is None else bool(times >= target),
    )


def limit(what: str, ours: float, unit: str, most: float | None, peer: str = "") -> Figure:
    """A figure that must not exceed a limit, if there is one."""
    text = f"{ours:.2f} {unit}"
    if most is None:
        return Figure(what, text, peer, text, "", None)
    return Figure(what, text, peer, text, f"<= {most:g} {unit}", bool(ours <= most))


def spread(values: Sequence[float], unit: str = "", digits: int = 2) -> str:
    """Median and range of some runs."""
    middle, least, most = (f"{value:.{digits}f}" for value in (statistics.median(values), min(values), max(values)))
    return f"{middle}{unit} ({least} to {most})"


def median_limit(what: str, values: Sequence[float], unit: str, most: float, peer: str = "") -> Figure:
    """Some runs whose median must not exceed a limit."""
    middle = statistics.median(values)
    return Figure(what, spread(values, f" {unit}"), peer, f"{middle:.2f} {unit}", f"<= {most:g} {unit}", middle <= most)
