"""`mt-eg`: cost per event against the number of features d, with 10 non-zeros and 20 tasks. It should not grow."""

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


def run() -> list[Figure]:
    times = {width: seconds(width) for width in WIDTHS}
    first, last = times[WIDTHS[0]], times[WIDTHS[-1]]
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
