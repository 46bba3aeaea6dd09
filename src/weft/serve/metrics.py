"""Figures of a service as Prometheus text. No task or feature is named: their number is not bounded."""

import math
import os
import sys
from collections.abc import Iterator
from typing import NamedTuple

from weft.serve.figures import BOUNDS, Histogram


class Figure(NamedTuple):
    """One figure: its name, its kind (counter or gauge), what it means, its value."""

    name: str
    kind: str
    meaning: str
    value: float


def text_of(figures: list[Figure], commits: Histogram, answers: dict[tuple[str, int], int]) -> str:
    """The text of /metrics."""
    lines = []
    for figure in figures:
        lines += _head(figure.name, figure.kind, figure.meaning)
        lines.append(f"{figure.name} {_number(figure.value)}")
    lines += _head("weft_commit_seconds", "histogram", "Time from taking a group of requests to its commit.")
    lines += _histogram("weft_commit_seconds", commits)
    lines += _head("weft_http_answers_total", "counter", "Answers by route and status.")
    for (route, status), count in sorted(answers.items()):
        lines.append(f'weft_http_answers_total{{route="{route}",status="{status}"}} {count}')
    return "\n".join(lines) + "\n"


def _head(name: str, kind: str, meaning: str) -> list[str]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]


def _histogram(name: str, histogram: Histogram) -> Iterator[str]:
    total = 0
    for bound, count in zip([*map(str, BOUNDS), "+Inf"], histogram.bins, strict=True):
        total += count
        yield f'{name}_bucket{{le="{bound}"}} {total}'
    yield f"{name}_sum {_number(histogram.total)}"
    yield f"{name}_count {total}"


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'+' if value > 0 else '-'}Inf"
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def resident_bytes() -> int:
    """Memory that the process holds, 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        if sys.platform == "win32":
            return 0
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
