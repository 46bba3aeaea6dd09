"""The results of `today` by row and stream: means over orders, ranks, and who is comparable with whom."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from weft_reproduction.experiment import Figures, Results
from weft_reproduction.today.rows import ROWS


class Board(NamedTuple):
    """What is finished: (row, stream) -> figures of its orders; rows and streams in the order of the tables."""

    found: dict[tuple[str, str], list[Figures]]
    streams: list[str]
    rows: list[str]

    def values(self, row: str, stream: str, measure: str, which: str = "tuned") -> list[float]:
        """Of every order; empty if there are none, or the row has no such measure, or the stream is too large."""
        figures = self.found.get((row, stream), [])
        found = [one[which][measure] for one in figures if which in one]
        return [float(value) for value in found if value is not None]

    def mean(self, row: str, stream: str, measure: str, which: str = "tuned") -> float | None:
        """The mean over orders."""
        found = self.values(row, stream, measure, which)
        return float(np.mean(found)) if found else None

    def too_large(self, row: str, stream: str) -> str:
        """Why the row did not run on the stream, or nothing."""
        reasons = [one["too_large"] for one in self.found.get((row, stream), []) if "too_large" in one]
        return str(reasons[0]) if reasons else ""

    def common(self, measure: str, one: str, other: str) -> list[str]:
        """Streams on which two rows have a measure."""
        return [s for s in self.streams if all(self.mean(row, s, measure) is not None for row in (one, other))]

    def ranks(self, measure: str) -> dict[str, dict[str, float]]:
        """row -> stream -> rank of a measure that should be low, 1 for the least, equals shared.

        A row for which a stream is too large shares the last place there.
        """
        ranks: dict[str, dict[str, float]] = {row: {} for row in self.rows}
        for stream in self.streams:
            known = {}
            for row in self.rows:
                value = self.mean(row, stream, measure)
                if value is not None or (self.too_large(row, stream) and self.ever(row, measure)):
                    known[row] = math.inf if value is None else value
            for row, rank in zip(known, rankdata(list(known.values())), strict=True):
                ranks[row][stream] = float(rank)
        return {row: found for row, found in ranks.items() if found}

    def mean_ranks(self, measure: str) -> dict[str, float]:
        """Over the streams that the row was ranked on, the lowest first."""
        found = {row: float(np.mean(list(ranks.values()))) for row, ranks in self.ranks(measure).items()}
        return dict(sorted(found.items(), key=lambda pair: pair[1]))

    def ever(self, row: str, measure: str) -> bool:
        """Whether the row has the measure on any stream."""
        return any(self.values(row, stream, measure) for stream in self.streams)

    def typical(self, row: str, measure: str) -> float | None:
        """The geometric mean over streams of a cost."""
        found = [self.mean(row, stream, measure) for stream in self.streams]
        known = [math.log(max(value, 1e-12)) for value in found if value is not None]
        return math.exp(float(np.mean(known))) if known else None

    def log_ratios(self, measure: str, one: str, other: str) -> dict[str, float]:
        """stream -> log of one's mean over the other's; errors below half a mistake count as half a one."""
        found = {}
        for stream in self.common(measure, one, other):
            least = 0.5 / self.found[one, stream][0]["events"]
            a, b = (max(least, self.mean(row, stream, measure) or 0.0) for row in (one, other))
            found[stream] = math.log(a / b)
        return found


def board(results: Results) -> Board:
    """From the cells that are finished."""
    found: dict[tuple[str, str], list[Figures]] = {}
    for settings, figures in sorted(results, key=lambda pair: int(pair[0]["order"])):
        found.setdefault((settings["row"], settings["stream"]), []).append(figures)
    streams = list(dict.fromkeys(settings["stream"] for settings, _ in results))
    return Board(found, streams, [row for row in ROWS if any(row == known for known, _ in found)])


def joined(names: Sequence[str], none: str = "none") -> str:
    """Names in a sentence."""
    return ", ".join(names) or none
