"""How the gain of MT-OGD depends on the task variance: a synthetic trial that any learner can be put through.

u_i = u_0 + c e_i with a random unit vector u_0 and centred Gaussian e_i, c such that Var(u)/max|u_i|^2 = sigma^2, all
scaled to max|u_i| = 1; instances uniform on the sphere, tasks uniform, y = <u_i, x> + 0.1 noise, square loss.
"""

import math

import numpy as np
from scipy.optimize import brentq

from oracles.mirror_descent import mt_ogd, variance

VARIANCES = (0.01, 0.04, 0.09, 0.16, 0.25, 0.36, 0.5)


def _task_vectors(rng, N, d, sigma2):
    """A draw in which no c up to 1000 gives the variance (three of ten at sigma^2 = 0.5) is drawn again."""
    while True:
        u0 = rng.normal(size=d)
        u0 /= np.linalg.norm(u0)
        e = rng.normal(size=(N, d))
        e -= e.mean(axis=0)

        def excess(c, u0=u0, e=e):
            U = u0 + c * e
            return variance(U) / np.max(np.sum(U**2, axis=1)) - sigma2

        if excess(1000.0) > 0:
            U = u0 + brentq(excess, 0.0, 1000.0, xtol=1e-12) * e
            return U / np.linalg.norm(U, axis=1).max()


def variance_problem(seed, sigma2, *, N=20, d=10, T=4000, noise=0.1):
    """(X, y, task, U)"""
    rng = np.random.default_rng(seed)
    U = _task_vectors(rng, N, d, sigma2)
    X = rng.normal(size=(T, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    task = rng.integers(N, size=T)
    return X, np.sum(U[task] * X, axis=1) + noise * rng.normal(size=T), task, U


def oracle_learn(X, y, task, **parameters):
    return mt_ogd(X, y, task, eta="theory", projection="none", **parameters).scores


def table_of_variances(
    learn=oracle_learn, *, variances=VARIANCES, rules=("best", "paper"), seeds=5, N=20, d=10, T=4000
):
    """{rule: {"MT/IT": ratios (seeds, variances), "MT/ST": ...}} of cumulative square losses.

    `learn(X, y, task, N=, loss=, D=, L=, sigma=, T=, rule= or b=)` returns the scores of MT-OGD with its theory rate
    and without projection; b = 0 are the independent tasks, b = inf with sigma = 0 the single one.
    """
    table = {rule: {name: np.zeros((seeds, len(variances))) for name in ("MT/IT", "MT/ST")} for rule in rules}
    for seed in range(seeds):
        for column, sigma2 in enumerate(variances):
            X, y, task, _ = variance_problem(seed, sigma2, N=N, d=d, T=T)
            known = {"N": N, "loss": "square", "D": 1.0, "L": 2 * (1 + np.abs(y).max()), "T": T}

            def total(X=X, y=y, task=task, known=known, **parameters):
                return np.sum((learn(X, y, task, **known, **parameters) - y) ** 2)

            sigma = math.sqrt(sigma2)
            independent, single = total(sigma=sigma, b=0.0), total(sigma=0.0, b=math.inf)
            for rule in rules:
                multitask = total(sigma=sigma, rule=rule)
                table[rule]["MT/IT"][seed, column] = multitask / independent
                table[rule]["MT/ST"][seed, column] = multitask / single
    return table
