"""Streams for budget learners, and good comparators for them."""

import math

import numpy as np
from scipy import sparse

import weft
from weft.evaluation import KernelComparator, largest_radius
from weft.guarantees.task_kernel import multitask_gram

N, D = 4, 5
KINDS = ("noise", "alternating", "noisy", "separable")


def make_rows(kind, seed, n):
    """Rows of length 1 or less with labels and tasks, and the weights (N, D) behind the labels, if there are any.

    noise: labels by a coin. alternating: few rows, which change their label each time they come. noisy: related tasks,
    a tenth of the labels wrong. separable: all tasks agree with a wide margin.
    """
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(n, D)), rng.integers(0, N, n)
    W = rng.normal(size=D) + 0.4 * rng.normal(size=(N, D))
    if kind == "alternating":
        X = rng.normal(size=(7, D))[rng.integers(0, 7, n)]
        task[:] = rng.integers(0, N)
    if kind == "separable":
        W = np.tile(np.eye(D)[0], (N, 1))
        X = 0.15 * X
        X[:, 0] = rng.choice([-1.0, 1.0], n)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(np.sum(W[task] * X, axis=1) > 0, 1.0, -1.0)
    if kind == "noise":
        return X, rng.choice([-1.0, 1.0], n), task, None
    if kind == "alternating":
        for row in np.unique(X, axis=0):
            again = np.flatnonzero((row == X).all(axis=1))
            y[again] = np.where(np.arange(len(again)) % 2, 1.0, -1.0)
        return X, y, task, None
    if kind == "noisy":
        y *= np.where(rng.random(n) < 0.1, -1, 1)
    return X, y, task, W


def against(model, X, task):
    """Labels that the model gets wrong each time, when it learns them one by one."""
    y = np.empty(len(X))
    for t, (x, i) in enumerate(zip(X, task.tolist(), strict=True)):
        y[t] = -1.0 if model.score(x[None], [i])[0] >= 0 else 1.0
        model.learn(weft.Stream(x[None], y[t : t + 1], [i]))
    return y


def comparators(run, truth=None):
    """The given weights, the sum of all labelled rows, and what subgradient steps find in the largest ball allowed."""
    labelled = np.flatnonzero(~np.isnan(run.y))
    X, y, task = sparse.csr_array(run.X)[labelled], run.y[labelled], run.task[labelled]
    shares, G = run.A.dense()[:, task], multitask_gram(run.kernel, run.A, X, task)
    most = largest_radius(run, None if run.learner.name == "mtforg" else 1.0)
    b = np.zeros(len(y))
    for step in range(1, 60):
        wrong = y * (y * (G @ b) < 1)
        b += most / math.sqrt(step) * wrong / max(1e-12, math.sqrt(wrong @ G @ wrong))
        b *= min(1.0, most / max(1e-12, math.sqrt(max(0.0, b @ G @ b))))
    given = [] if truth is None else [truth]
    return [*given, KernelComparator(shares * y, X), KernelComparator(shares * b, X)]
