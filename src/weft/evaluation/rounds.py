"""Errors per round, and the area under the ROC curve, of scores issued before the labels were seen.

The 1-error and the inf-error are those of Dekel, Long and Singer (2007), Section 8.1: with e_j = 1 if task j
is active and y_j s_j <= 0, else 0, the 1-error of a round is sum_j e_j / k and its inf-error max_j e_j. A
score of zero is an error of either label, although it is read as +1: so e_j never exceeds the hinge loss.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def one_error(scores: ArrayLike, y: ArrayLike, rounds: ArrayLike, tasks: int | ArrayLike) -> Floats:
    """The fraction of the known tasks that erred, round by round.

    `rounds` are the bounds of the rounds (`stream.rounds`); `tasks` is the number of tasks, or the task of
    every row: then a round divides by the number of tasks seen until its end. Dormant tasks count as correct.

    >>> one_error([1.0, -2.0, 0.0], [1, 1, 1], [0, 2, 3], 2)
    array([0.5, 0.5])
    """
    wrong, bounds = _wrong(scores, y), _bounds(rounds)
    if isinstance(tasks, (int, np.integer)):
        known = np.full(len(bounds) - 1, float(tasks))
    else:
        codes = np.asarray(tasks)
        first = np.zeros(len(codes))
        first[np.unique(codes, return_index=True)[1]] = 1.0
        known = _running(first)[bounds[1:]]
    total = _running(wrong)
    errors: Floats = (total[bounds[1:]] - total[bounds[:-1]]) / known
    return errors


def inf_error(scores: ArrayLike, y: ArrayLike, rounds: ArrayLike) -> Floats:
    """1 for every round in which some active task erred, else 0.

    >>> inf_error([1.0, -2.0, 0.5], [1, 1, 1], [0, 2, 3])
    array([1., 0.])
    """
    total, bounds = _running(_wrong(scores, y)), _bounds(rounds)
    return (total[bounds[1:]] > total[bounds[:-1]]).astype(np.float64)


def cumulative(values: ArrayLike) -> Floats:
    """The mean of the values so far: an error curve over the stream.

    >>> cumulative([1.0, 0.0, 0.5])
    array([1. , 0.5, 0.5])
    """
    array = np.asarray(values, dtype=np.float64)
    return np.cumsum(array) / np.arange(1, len(array) + 1)


def auc(scores: ArrayLike, y: ArrayLike) -> float:
    """The probability that a positive row outscores a negative one, ties counting half; NaN without both.

    Rows labelled 0 or NaN are left out.

    >>> auc([0.1, 0.4, 0.4, 0.8], [-1, -1, 1, 1])
    0.875
    """
    array = np.asarray(scores, dtype=np.float64)
    return float(auc_per_task(array, y, np.zeros(len(array), dtype=np.int64), 1)[0])


def auc_per_task(scores: ArrayLike, y: ArrayLike, task_codes: ArrayLike, n_tasks: int) -> Floats:
    """`auc` within every task; NaN for a task without a positive or without a negative row.

    >>> auc_per_task([0.1, 0.9, 0.9, 0.1, 0.3], [-1, 1, -1, 1, 1], [0, 0, 1, 1, 2], 3)
    array([ 1.,  0., nan])
    """
    labels = np.asarray(y, dtype=np.float64)
    used = ~np.isnan(labels) & (labels != 0)
    s = np.asarray(scores, dtype=np.float64)[used]
    codes = np.asarray(task_codes, dtype=np.int64)[used]
    positive = labels[used] > 0
    p = np.bincount(codes[positive], minlength=n_tasks).astype(np.float64)
    n = np.bincount(codes[~positive], minlength=n_tasks).astype(np.float64)
    ranks = np.bincount(codes, weights=_ranks(s, codes) * positive, minlength=n_tasks)
    pairs = p * n
    areas = np.full(n_tasks, np.nan)
    np.divide(ranks - p * (p + 1) / 2, pairs, out=areas, where=pairs > 0)
    return areas


def _ranks(scores: Floats, codes: NDArray[np.int64]) -> Floats:
    """Ranks from 1 within every code; equal scores share the mean of theirs."""
    size = len(scores)
    if size == 0:
        return np.zeros(0)
    order = np.lexsort((scores, codes))
    s, c = scores[order], codes[order]
    new_code = np.r_[True, c[1:] != c[:-1]]
    new_tie = new_code | np.r_[True, s[1:] != s[:-1]]
    tie = np.cumsum(new_tie) - 1
    first = np.flatnonzero(new_tie)
    last = np.r_[first[1:], size] - 1
    start = np.flatnonzero(new_code)[np.cumsum(new_code) - 1]
    ranks = np.empty(size)
    ranks[order] = (first + last)[tie] / 2 - start + 1
    return ranks


def _wrong(scores: ArrayLike, y: ArrayLike) -> Floats:
    labels = np.nan_to_num(np.asarray(y, dtype=np.float64), nan=0.0)
    s = np.asarray(scores, dtype=np.float64)
    if s.shape != labels.shape:
        raise ValueError(f"There are {len(s)} scores for {len(labels)} labels; give one score per row.")
    wrong: Floats = ((labels != 0) & (labels * s <= 0)).astype(np.float64)
    return wrong


def _bounds(rounds: ArrayLike) -> NDArray[np.int64]:
    return np.asarray(rounds, dtype=np.int64)


def _running(values: Floats) -> Floats:
    """Sums of the first 0, 1, ..., n values."""
    return np.concatenate(([0.0], np.cumsum(values)))
