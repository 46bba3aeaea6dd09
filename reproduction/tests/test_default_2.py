"""The prototypes of the experts beside the oracle of `auto`, event by event."""

import math

import numpy as np
import pytest

from oracles.effort import Effort
from weft_reproduction.default_2.scores import BASE, PAGE, columns, events_of, stack_of

EVENTS, TASKS, WIDTH = 220, 4, 12


def made_up(logistic):
    """Dense columns, some with gaps, and rare ones."""
    rng = np.random.default_rng(3)
    X = np.hstack([2 + rng.normal(size=(EVENTS, 3)), rng.exponential(size=(EVENTS, WIDTH - 3))])
    X[:, 3:] *= rng.random((EVENTS, WIDTH - 3)) < 0.25
    task = np.concatenate([np.arange(TASKS), rng.integers(0, TASKS, EVENTS - TASKS)])
    s = X @ rng.normal(size=WIDTH) + np.sum(X * rng.normal(size=(TASKS, WIDTH))[task], axis=1)
    y = np.where(s > np.median(s), 1.0, -1.0) if logistic else s
    X[rng.random(EVENTS) < 0.2, 1] = np.nan
    return X, y, task


IN_THE_LIBRARY = {"bayes": "resting bayes"}
"""Experts that the library has in a later form than the page."""


@pytest.mark.parametrize("logistic", [True, False])
def test_prototypes_are_the_oracle(logistic):
    X, y, task = made_up(logistic)
    events = events_of(X, y, task, logistic)
    found = {name: columns(events, IN_THE_LIBRARY.get(name, name)) for name in (*BASE, *PAGE)}
    scores = np.hstack([found[name] for name in (*BASE, *PAGE)])
    answers = stack_of(events, found, PAGE).answer
    rng = np.random.default_rng(0)  # as the prototype draws
    first = {"P": 0.05 * rng.standard_normal((TASKS, 16)), "Q": 0.05 * rng.standard_normal((WIDTH, 16))}
    oracle = Effort("logistic" if logistic else "square", PAGE, draw=lambda kind, name, f: float(first[kind][name, f]))
    for i in range(EVENTS):
        row = {j: float(x) for j, x in enumerate(X[i]) if x != 0.0}
        oracle.number(row)
        view = oracle.view(oracle.row(row), int(task[i]))
        np.testing.assert_allclose(scores[i], view.e, rtol=0, atol=1e-9)
        assert oracle.learn(row, y[i], int(task[i])) == pytest.approx(answers[i], abs=1e-8)
    assert np.all(np.abs(scores).max(axis=0) > 0.01)
    assert math.isfinite(answers.sum())
