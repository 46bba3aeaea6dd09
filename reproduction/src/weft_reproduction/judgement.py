"""Is a difference more than chance? Paired over shuffles or tasks, as every judgement of a claim is.

The two numbers of a pair come from the same shuffle (or task, or made-up stream), so that what makes a shuffle hard
for everybody cancels. With 6 to 16 pairs every choice of signs is tried (a permutation test, exact if each difference
is symmetric around zero); with fewer, where that test could never find anything, and with more it is Student's t.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from weft.drawing.charts import Line
from weft_reproduction.experiment import Claim, Figure, Report

LEVEL = 0.05
"""A claim of one difference is confirmed if chance alone would show it in fewer cases than that."""
_FEWEST, _MOST = 6, 16
UNJUDGED = "A quick run judges nothing; run it without --quick."
NOT_RUN = "The cells that it needs have not been run."

STATISTIC = (
    "Judgements compare pairs: two learners on the same shuffle, task or made-up stream. p is the one-sided "
    "probability that chance alone gives as large a mean difference: over all choices of signs for "
    f"{_FEWEST} to {_MOST} pairs, by Student's t for other numbers. A claim is confirmed if p < {LEVEL:g} (divided by "
    "the number of comparisons, where it makes several). Shuffles of one data set share its events: p speaks about "
    "other orders of these data, not about other data."
)


class Paired(NamedTuple):
    """Mean of ours minus others, its standard error, one-sided p that ours is lower, number of pairs."""

    difference: float
    error: float
    p: float
    pairs: int

    def __str__(self) -> str:
        error = "" if math.isnan(self.error) else f" ± {self.error:.2g}"
        p = "" if math.isnan(self.p) else f", p = {self.p:.2g}"
        return f"{self.difference:+.3g}{error} over {self.pairs} pairs{p}"


def paired(ours: Sequence[float], others: Sequence[float]) -> Paired:
    """Compare pair by pair; p is the probability, if nothing but chance is at work, that ours is lower by so much.

    One pair has neither a standard error nor a p: both are NaN.

    >>> paired([1.0, 2.0, 3.0, 2.0, 1.0, 2.0], [2.0, 3.0, 4.5, 3.0, 2.5, 3.0]).p
    0.015625
    """
    if len(ours) != len(others):
        raise ValueError(f"ours has {len(ours)} figures, others {len(others)}; give pairs")
    gaps = np.asarray(ours, np.float64) - np.asarray(others, np.float64)
    if len(gaps) == 0 or not np.all(np.isfinite(gaps)):
        raise ValueError("ours and others must hold at least one pair of finite figures")
    mean, n = float(gaps.mean()), len(gaps)
    if n == 1:
        return Paired(mean, math.nan, math.nan, 1)
    error = float(gaps.std(ddof=1) / math.sqrt(n))
    p = _sign_flips(gaps) if _FEWEST <= n <= _MOST else _student(mean, error, n)
    return Paired(mean, error, p, n)


def _sign_flips(gaps: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> float:
    n = len(gaps)
    signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    sums = signs @ gaps
    slack = 1e-12 * np.abs(gaps).sum()  # sums of the same numbers in another order
    return float(np.mean(sums <= gaps.sum() + slack))


def _student(mean: float, error: float, n: int) -> float:
    from scipy import stats

    if error == 0.0:
        return 0.5 if mean == 0.0 else float(mean > 0.0)
    return float(stats.t.cdf(mean / error, n - 1))


def lower(text: str, where: str, comparisons: Sequence[tuple[str, Sequence[float], Sequence[float]]]) -> Claim:
    """The claim that ours is lower in each of these comparisons (name, ours, others).

    It is confirmed if every difference is below chance, at the level divided by their number.
    """
    if not comparisons:
        return Claim(text, where, "not testable here", NOT_RUN)
    found = [(name, paired(ours, others)) for name, ours, others in comparisons]
    level = LEVEL / len(found)
    good = [name for name, gap in found if gap.p < level]
    why = "; ".join(f"{name}: {gap}" for name, gap in found)
    if len(found) > 1:
        why = f"{len(good)} of {len(found)} comparisons at p < {level:.2g}. {why}"
    if any(gap.pairs == 1 for _, gap in found):
        return Claim(text, where, "not testable here", f"One pair shows no more than a direction. {why}")
    return Claim(text, where, "confirmed" if len(good) == len(found) else "not confirmed", why)


def on_other_data(claim: Claim) -> Claim:
    """What data that stand in for the paper's say about a claim: something, but no judgement of it."""
    if claim.judgement == "not testable here":
        return claim
    why = f"The paper's data are not available. On those that stand in for them it is {claim.judgement}: {claim.why}"
    return replace(claim, judgement="not testable here", why=why)


# --- means of several shuffles ---


def mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean and its standard error; None for a single figure."""
    array = np.asarray(values, np.float64)
    error = float(array.std(ddof=1) / math.sqrt(len(array))) if len(array) > 1 else None
    return float(array.mean()), error


def figure(values: Sequence[float], published: float | None = None, digits: int | None = None) -> Figure:
    """The mean and its standard error as a figure of a table, perhaps beside the paper's."""
    return Figure(*mean_and_error(values), published, digits)


def line(xs: Sequence[float], samples: Sequence[Sequence[float]]) -> Line:
    """The mean at every x, with its standard error (0 for a single figure), as a line of a picture."""
    points = [mean_and_error(values) for values in samples]
    return xs, [mean for mean, _ in points], [error or 0.0 for _, error in points]


def worse(values: Sequence[float], published: float, deviation: float, runs: int, high_is_good: bool = False) -> bool:
    """Whether the mean is worse than the published one by more than three standard errors of their difference.

    The published figure is the mean of so many runs with that standard deviation.

    >>> worse([5.0, 5.2, 5.1], 4.0, 0.5, 10), worse([5.0, 5.2, 5.1], 4.0, 0.5, 10, high_is_good=True)
    (True, False)
    """
    ours, error = mean_and_error(values)
    short = published - ours if high_is_good else ours - published
    return short > 3.0 * math.hypot(error or 0.0, deviation / math.sqrt(runs))


def unjudged(report: Report) -> Report:
    """What a quick run shows: the same, and no claim is judged by it."""
    return replace(
        report,
        claims=[replace(claim, judgement="not testable here", why=UNJUDGED) for claim in report.claims],
    )
