"""Scores of every expert on a stream, by the prototypes, and the losses of stacks of them."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft_reproduction.default_2 import dense, linear, tried
from weft_reproduction.default_2.rows import Labels, Rows, framed, scaled
from weft_reproduction.default_2.stack import Stacked, stacked

BASE = ("gradient", "betting", "own", "pooled")
PAGE = ("forget", "bayes", "low_rank", "second", "grid", "level")
CHEAP = ("forget", "bayes", "low_rank", "level")


def _rate(L: Labels) -> float:
    return 0.4 if L.logistic else 0.2


def _bayes(R: Rows, L: Labels, rests: bool) -> Any:
    return linear.bayes(R, L, rests) if L.logistic else np.zeros((len(L.u), 0))


EXPERTS: dict[str, Callable[[Rows, Labels], Any]] = {
    "gradient": lambda R, L: linear.adagrad(R, L, True, True, _rate(L), 1.0),
    "betting": lambda R, L: linear.betting(R, L, 0.0, False)[0],
    "own": lambda R, L: linear.adagrad(R, L, True, False, _rate(L), 1.0),
    "pooled": lambda R, L: linear.adagrad(R, L, False, True, _rate(L), 1.0),
    "forget": lambda R, L: linear.adagrad(R, L, True, True, _rate(L), 0.95),
    "bayes": lambda R, L: _bayes(R, L, False),
    "low_rank": lambda R, L: linear.low_rank(R, L, 16),
    "low_rank 8": lambda R, L: linear.low_rank(R, L, 8),
    "second": lambda R, L: dense.second(R, L, 32, False),
    "grid": lambda R, L: dense.grid(R, L),
    "level": linear.level,
    "resting bayes": lambda R, L: _bayes(R, L, True),
    "second from pooled": lambda R, L: tried.second_from_pooled(R, L, 32),
    "fading filter": lambda R, L: tried.fading_filter(R, L, 32, 0.995),
    "own diagonal": lambda R, L: tried.diagonal(R, L, True, 10.0),
    "pooled diagonal": lambda R, L: tried.diagonal(R, L, False, 1.0),
    "own betting": lambda R, L: tried.half_betting(R, L, True),
    "pooled betting": lambda R, L: tried.half_betting(R, L, False),
    "ranks": tried.ranks,
}
FIRST = ("forget", "resting bayes", "low_rank", "second from pooled", "grid", "level", "fading filter")
"""The page's experts with three changes."""


class Events(NamedTuple):
    """A stream, ready for experts."""

    rows: Rows
    labels: Labels


def events_of(X: Any, y: Floats, task: Ints, logistic: bool) -> Events:
    return Events(scaled(X), framed(y, np.unique(task, return_inverse=True)[1], logistic))


def columns(events: Events, name: str) -> Floats:
    """The scores of one expert, a column each."""
    found = np.asarray(EXPERTS[name](*events))
    return found.reshape(len(events.labels.u), -1)


def stack_of(
    events: Events, found: dict[str, Floats], experts: Iterable[str], allowed: Floats | None = None
) -> Stacked:
    """The stack of the four and of further experts, which enter with weight 0; `allowed`: see `stacked`."""
    E = np.hstack([found[name] for name in (*BASE, *experts)])
    result = stacked(E, events.labels, np.array([0.5, 0.5, *[0.0] * (E.shape[1] - 2)]), allowed)
    if events.labels.logistic:
        return result
    y = events.labels.y
    low, high = np.minimum.accumulate(y)[:-1], np.maximum.accumulate(y)[:-1]
    return result._replace(answer=np.concatenate([[0.0], np.clip(result.answer[1:], low, high)]))


def losses(answer: Floats, L: Labels) -> Floats:
    """Log-loss with probabilities clipped at 1e-6, or squares over the variance of all labels."""
    if not L.logistic:
        return np.asarray((answer - L.y) ** 2 / np.var(L.y))
    p = np.clip(1.0 / (1.0 + np.exp(-answer)), 1e-6, 1.0 - 1e-6)
    return np.asarray(-np.log(np.where(L.u > 0.0, p, 1.0 - p)))
