"""What a running service counts about itself, for /metrics and the page at /."""

import bisect
import threading
from collections import Counter
from collections.abc import Sequence

from weft.serve.problems import Problem
from weft.serve.requests import Outcome

BOUNDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Upper bounds of the bins of a histogram, in seconds."""


class Histogram:
    """How long something took."""

    def __init__(self) -> None:
        self.bins = [0] * (len(BOUNDS) + 1)
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        """Count one."""
        self.bins[bisect.bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds


class Figures:
    """Counts since the process began; the writer counts outcomes, the routes count requests."""

    def __init__(self) -> None:
        self.done = 0
        self.duplicates = 0
        self.refused = 0
        self.corrections = 0
        self.expired = 0
        self.refused_labels_expired = 0
        self.predictions = 0
        self.commits = Histogram()
        self.checkpoints = 0
        self.compactions = 0
        self.checkpoint_failures = 0
        self.checkpoint_seq = 0
        self.checkpoint_seconds = 0.0
        self.checkpoint_pause = 0.0
        self.log_first = 1
        self.answers: Counter[tuple[str, int]] = Counter()
        self.lock = threading.Lock()

    def count(self, outcomes: Sequence[Outcome]) -> None:
        """Count what came of requests."""
        for outcome in outcomes:
            if isinstance(outcome, Problem):
                self.refused += 1
            elif outcome.duplicate:
                self.duplicates += 1
            else:
                self.done += 1
                self.corrections += outcome.correction
