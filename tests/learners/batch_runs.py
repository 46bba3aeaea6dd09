"""Streams for the batch learners, and the oracles as what `oracles.robust.Refit` takes."""

import numpy as np

import weft
from oracles import robust, smoothed_batch
from oracles.robust import Refit

K, D = 5, 4


def rows(seed, n=110, groups=2, late=30):
    """Tasks in groups that have a teacher each, with a tenth of the labels turned; the last task comes late."""
    rng = np.random.default_rng(seed)
    teachers = rng.normal(size=(groups, D))
    task = rng.integers(K - 1, size=n)
    task[late:] = rng.integers(K, size=n - late)
    X = rng.normal(size=(n, D))
    s = np.sum(teachers[task % groups] * X, axis=1)
    return X, np.where((s >= 0) ^ (rng.random(n) < 0.1), 1.0, -1.0), task


def as_rounds(task):
    """As many rows in a round as have different tasks."""
    rounds, present = [], set()
    for k in task.tolist():
        rounds.append((rounds[-1] if rounds else 0) + (k in present))
        present = {k} if len(rounds) > 1 and rounds[-1] > rounds[-2] else present | {k}
    return np.array(rounds)


def stream(X, y, task, rounds=None):
    return weft.Stream(X, y, task, rounds)


def together(X, y):
    """Rows of the tasks that have some, as the oracles take them, and those tasks."""
    some = [k for k, labels in enumerate(y) if len(labels)]
    task = np.repeat(np.arange(len(some)), [len(y[k]) for k in some])
    return np.vstack([X[k] for k in some]), np.concatenate([y[k] for k in some]), task, some


def fit_stl(X, y, reg=1e-2):
    pooled = together(X, y)
    return np.tile(smoothed_batch.stl(*pooled[:2], reg=reg), (len(X), 1)).T


def fit_itl(X, y, reg=1e-2):
    *pooled, some = together(X, y)
    W = np.zeros((len(X), X[0].shape[1]))
    W[some] = smoothed_batch.itl(*pooled, reg=reg)
    return W.T


def fit_smtl(X, y, kind, alpha, lam, reg=1e-2):
    *pooled, some = together(X, y)
    N = np.bincount(pooled[2])
    newcomer = smoothed_batch.svm(pooled[0], pooled[1], ((1 - alpha) / len(some) / N)[pooled[2]], reg)[0]
    W = np.tile(newcomer, (len(X), 1))
    W[some] = smoothed_batch.smtl(*pooled, kind, alpha, lam, reg).W
    return W.T


def fit_shamo(order, X, y, m, seed=0, reg=1e-2):
    """`order` has the tasks as they came: assignments are drawn in that order."""
    places = [k for k in order if len(y[k])]
    *pooled, _ = together([X[k] for k in places], [y[k] for k in places])
    found = smoothed_batch.shamo(*pooled, min(m, len(places)), seed, reg)
    largest = np.argmax(np.bincount(found.assignment))
    W = np.tile(found.hypotheses[largest], (len(X), 1))
    W[places] = found.W
    return W.T


def fit_mtfl(X, y, gamma, eps):
    some = [k for k, labels in enumerate(y) if len(labels)]
    W = np.zeros((X[0].shape[1], len(X)))
    W[:, some] = robust.mtfl([X[k] for k in some], [y[k] for k in some], gamma, eps)
    return W


def fit_trml(X, y, lam, loss):
    return robust.trml(X, y, lam, {"square": "squared"}.get(loss, loss))


def run(fit, X, y, task, rounds, every):
    """The oracle's scores, and its weights at the end."""
    oracle = Refit(fit, K, D, every)
    scores = [oracle.learn_round(X[at], y[at], task[at]) for at in (rounds == t for t in range(rounds[-1] + 1))]
    return np.concatenate(scores), oracle.W.T
