"""The prototypes of the experts beside the oracle of `auto`, event by event."""

import math

import numpy as np
import pytest

from oracles.effort import Effort
from weft_reproduction.default_2 import hostile
from weft_reproduction.default_2.scores import BASE, EXPERTS, PAGE, columns, events_of, stack_of

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


def test_limits_on_what_a_task_may_move():
    """By hand; without a limit the prototypes are those of the experts; a task that may move nothing moves no other."""
    task = np.array([0, 0, 1, 0, 2])
    assert hostile.allowances(task, 1.0) == pytest.approx([1.0, 1.0, 1.0, 4 / 6, 1.0])
    X, y, task = made_up(True)
    R, L = events_of(X, y, task, True)
    ones, zeros = np.ones(EVENTS), np.where(task == 0, 0.0, 1.0)
    for own, name in ((True, "gradient"), (False, "pooled")):
        np.testing.assert_array_equal(hostile.limited_adagrad(R, L, own, ones), EXPERTS[name](R, L))
    np.testing.assert_array_equal(hostile.limited_betting(R, L, ones), EXPERTS["betting"](R, L))
    others = events_of(X, np.where(task == 0, -y, y), task, True).labels
    for found in (
        lambda labels, allowed: hostile.limited_adagrad(R, labels, True, allowed),
        lambda labels, allowed: hostile.limited_betting(R, labels, allowed),
    ):
        assert np.array_equal(found(L, zeros)[task != 0], found(others, zeros)[task != 0])
        assert not np.array_equal(found(L, ones)[task != 0], found(others, ones)[task != 0])
