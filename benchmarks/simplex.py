"""`mt-eg`: cost per event against the number of features d, with 10 non-zeros and 20 tasks. It should not grow.

The picture goes to `bench-results/mt-eg-cost.svg`; the one in the documentation is a copy from such a run.
"""

import importlib.util
import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import weft
from benchmarks.figures import Figure, best

EVENTS, TASKS, NONZEROS = 4_000, 20, 10
WIDTHS = [1 << k for k in (8, 10, 12, 14, 16)]


def seconds(width: int) -> float:
    """Per event, for d = width."""
    rng = np.random.default_rng(0)
    part = width // NONZEROS
    columns = rng.integers(0, part, (EVENTS, NONZEROS)) + part * np.arange(NONZEROS)
    X = sparse.csr_array(
        (rng.normal(size=EVENTS * NONZEROS), columns.ravel(), np.arange(0, EVENTS * NONZEROS + 1, NONZEROS)),
        shape=(EVENTS, width),
    )
    events = weft.Stream(X, rng.choice([-1, 1], EVENTS), rng.integers(0, TASKS, EVENTS))
    model = weft.Model("mt-eg", eta=0.1, b=3.0, tasks=TASKS, features=width)
    model.learn(events)
    return best(lambda: model.learn(events)) / EVENTS


def _picture(times: dict[int, float]) -> str:
    """Microseconds per event over log2 d, and what they would be if they grew with d."""
    place = Path(__file__).parent.parent / "docs" / "pictures" / "make.py"
    spec: Any = importlib.util.spec_from_file_location("pictures", place)
    pictures: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    x, y = np.log2(list(times)), np.array(list(times.values())) * 1e6
    top = 10.0 * math.ceil(max(y) * 1.5 / 10.0)
    steep = np.linspace(x[0], x[0] + math.log2(top / y[0]), 20)
    lines = [
        pictures.Line("measured", pictures.BLUE, x, y),
        pictures.Line("proportional to d", pictures.GREY, steep, y[0] * 2.0 ** (steep - x[0]), True),
    ]
    title = "mt-eg: microseconds per event, 20 tasks, 10 non-zeros"
    picture = pictures.drawn(title, "log2 of the number of features d", lines, top, lambda v: f"{v:.0f}")
    return str(pictures.side_by_side([picture], width=600, labels=150))


def run() -> list[Figure]:
    times = {width: seconds(width) for width in WIDTHS}
    first, last = times[WIDTHS[0]], times[WIDTHS[-1]]
    folder = Path("bench-results")
    folder.mkdir(exist_ok=True)
    (folder / "mt-eg-cost.svg").write_text(_picture(times), encoding="utf-8")
    grown = last / first
    return [
        *(
            Figure(f"mt-eg, 20 tasks, 10 of {width} features", f"{t * 1e6:.2f} us", "", "", "", None)
            for width, t in times.items()
        ),
        Figure(
            "  256 times as many features cost",
            f"{last * 1e6:.2f} us",
            f"{first * 1e6:.2f} us",
            f"{grown:.2f} x",
            "<= 3 x",
            grown <= 3.0,
        ),
    ]
