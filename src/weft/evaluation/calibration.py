"""Reliability: of the events that were said to be positive with probability 0.3, were three in ten?

>>> import numpy as np
>>> bins = reliability(np.array([-4.0, -4.0, 4.0, 4.0]), np.array([-1.0, -1.0, 1.0, -1.0]))
>>> [row.tolist() for row in bins.round(2) if row[0] > 0]
[[2.0, 0.04, 0.0], [2.0, 1.96, 1.0]]
>>> round(expected_error(bins), 3)
0.25
"""

import numpy as np

from weft.compiled.arrays import Floats

BINS = 10
"""Probabilities from 0 to 1 in so many bins of equal width."""


def reliability(scores: Floats, y: Floats) -> Floats:
    """(BINS, 3): per bin the events, the sum of their probabilities, how many were positive. Scores are log-odds."""
    said = 1.0 / (1.0 + np.exp(-np.clip(scores, -700.0, 700.0)))
    which = np.minimum((said * BINS).astype(np.int64), BINS - 1)
    weights = (np.ones(len(said)), said, (y > 0.0).astype(np.float64))
    return np.stack([np.bincount(which, each, minlength=BINS) for each in weights], axis=1)


def expected_error(bins: Floats) -> float:
    """The mean gap between what was said and what came, over all events (the expected calibration error)."""
    events, said, came = bins.T
    return float(np.abs(said - came).sum() / max(events.sum(), 1.0))
