"""Streams for the smoothed learners and their baselines, as the oracles and as models take them."""

import math

import numpy as np
from scipy import sparse

import weft

FEATURES = 6


def events(seed, tasks=5, rounds=60, single=False, dormant=0.2, late=True):
    """Rows of unit length, rounds of some tasks each, every task with a direction of its own; tasks come in turn."""
    rng = np.random.default_rng(seed)
    centre, own = rng.normal(size=FEATURES), rng.normal(size=(tasks, FEATURES))
    X, y, task, bounds = [], [], [], [0]
    for t in range(rounds):
        known = min(tasks, 1 + t // 4) if late else tasks
        here = rng.permutation(known)[: 1 if single else rng.integers(1, known + 1)]
        if late and known > len(set(task)):
            here = np.unique(np.append(here, known - 1))
            here = here[-1:] if single else here
        for k in here:
            x = rng.normal(size=FEATURES) * (rng.random(FEATURES) < (0.7 if t else 1.0))
            x /= max(np.linalg.norm(x), 1e-12)
            label = 1.0 if x @ (centre + (0.3 if k % 2 else 3.0) * own[k]) + 0.1 * rng.normal() > 0 else -1.0
            X.append(x), task.append(int(k))
            y.append(math.nan if t and not single and rng.random() < dormant else label)
        bounds.append(len(y))
    return np.array(X), np.array(y), np.array(task), bounds


def stream_of(X, y, task, bounds):
    numbers = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    return weft.Stream(sparse.csr_array(X), y, task, rounds=numbers)


def named(order, table):
    """Rows of a model's table in the order of the oracle's tasks."""
    where = [order.index(k) for k in range(len(order))]
    return np.asarray(table)[where]
