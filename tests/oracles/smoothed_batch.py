"""Batch learners of Murugesan, Liu, Carbonell and Yang (2016), Sec. 2.3 and 3.2, in dense NumPy: SMTL, STL, ITL, SHAMO.

Every fit is a weighted support vector machine without intercept, argmin_w sum_i c_i (1 - y_i <x_i, w>)_+ + reg/2 |w|^2,
solved by an interior point method on its dual and then exactly, on the face of the box that has been found. L_j is the
mean hinge loss of task j. The regulariser, which makes w unique, is not in the paper.
"""

import math
from typing import NamedTuple

import numpy as np

REG = 1e-2
GAP = 1e-12  # primal minus dual, relative to the loss of w = 0
TIED = 1e-9


def hinge(X, y, w):
    return np.maximum(0, 1 - y * (X @ w))


def primal(X, y, c, reg, w):
    return float(c @ hinge(X, y, w) + reg / 2 * w @ w)


def dual(X, y, c, reg, a):
    """Of sum(a) - |sum_i a_i y_i x_i|^2 / (2 reg), 0 <= a <= c."""
    v = (a * y) @ X
    return float(a.sum() - v @ v / (2 * reg))


def on_face(X, y, c, reg, a, slack):
    """With a at its bounds where it is there up to `slack`, and y <x, w> = 1 at all others: these equations, solved."""
    Z = y[:, None] * X
    upper, free = a >= (1 - slack) * c, (a > slack * c) & (a < (1 - slack) * c)
    exact = np.where(upper, c, 0.0)
    margins = Z[free] @ (exact @ Z) / reg
    exact[free] = np.linalg.lstsq(Z[free] @ Z[free].T / reg, 1 - margins, rcond=None)[0]
    return exact @ Z / reg, np.clip(exact, 0, c)


def interior(Q, c, steps=100):
    """argmin of t'Qt/2 - c't over 0 <= t <= 1 by Newton's method along the central path t z = (1 - t) u = mu -> 0."""
    t, z, u = (np.full(len(c), value) for value in (0.5, c.max(), c.max()))
    for _ in range(steps):
        mu = (t @ z + (1 - t) @ u) / (2 * len(c)) / 20
        residual = Q @ t - c - mu / t + mu / (1 - t)
        dt = -np.linalg.solve(Q + np.diag(z / t + u / (1 - t)), residual)
        dz, du = (mu - z * dt) / t - z, (mu + u * dt) / (1 - t) - u
        values, changes = np.concatenate([t, 1 - t, z, u]), np.concatenate([dt, -dt, dz, du])
        # not further than nearly to the next bound
        step = min(1.0, 0.99 / max(1e-300, np.max(-changes / values)))
        t, z, u = t + step * dt, z + step * dz, u + step * du
        if mu * len(c) < 1e-15 * c.sum():
            break
    return t


def svm(X, y, c, reg=REG):
    """w, and the dual variables a, 0 <= a <= c; the gap between the two objectives proves them."""
    assert reg > 0
    used = (c > 0) & X.any(axis=1)  # a row of zeros has the loss 1, whatever w
    w, a = np.zeros(X.shape[1]), np.array(c, float)
    if used.any():
        Z, x, label, box = (y[:, None] * X * c[:, None])[used], X[used], y[used], c[used]
        inside = box * interior(Z @ Z.T / reg, box)
        found = [on_face(x, label, box, reg, inside, slack) for slack in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)]
        found.append(((inside * label) @ x / reg, inside))
        w = min((w for w, _ in found), key=lambda w: primal(x, label, box, reg, w))
        a[used] = max((a for _, a in found), key=lambda a: dual(x, label, box, reg, a))
    assert primal(X, y, c, reg, w) - dual(X, y, c, reg, a) <= GAP * c.sum()
    return w, a


class Data:
    """Rows of all tasks 0, ..., K-1, each of which has some."""

    def __init__(self, X, y, task):
        self.X, self.y, self.task = np.asarray(X, float), np.asarray(y, float), np.asarray(task, int)
        self.K, self.n = int(self.task.max()) + 1, len(self.y)
        self.N = np.bincount(self.task, minlength=self.K)
        assert self.N.min() > 0

    def losses(self, w):
        """L_j(w) of all tasks."""
        return np.bincount(self.task, hinge(self.X, self.y, w), self.K) / self.N

    def rows(self, chosen):
        return self.X[chosen], self.y[chosen]


def stl(X, y, task=None, reg=REG):
    """One w: the mean hinge loss of all rows."""
    return svm(np.asarray(X, float), np.asarray(y, float), np.full(len(y), 1 / len(y)), reg)[0]


def itl(X, y, task, reg=REG):
    """W, K x d: every task by itself."""
    data = Data(X, y, task)
    return np.array([stl(*data.rows(data.task == k), reg=reg) for k in range(data.K)])


class Smoothed(NamedTuple):
    """`objectives`, a row per sweep: after the W of that sweep, and after its P. W is the one that P was made from."""

    W: np.ndarray
    P: np.ndarray
    objectives: np.ndarray


def entropy(p):
    return -float(np.sum(p[p > 0] * np.log(p[p > 0])))


def attention(kind, L, alpha, lam):
    """A row of P from the losses L_j(w_k)."""
    if kind == "e":  # Eq. 6
        q = np.exp(-(1 - alpha) * (L - L.min()) / lam)
    elif lam == math.inf:
        q = np.ones(len(L))
    else:
        q = np.maximum(0, lam - L)
        if not q.any():
            q = (L.min() >= L).astype(float)
    return q / q.sum()


def smtl(X, y, task, kind="e", alpha=0.5, lam=1.0, reg=REG, sweeps=50, tolerance=1e-4):
    """Algorithm 1, from P = 1/K. The entropy is in the objective of kind "e" only, and not if lam = inf."""
    data = Data(X, y, task)
    K = data.K
    W, P, objectives = np.zeros((K, data.X.shape[1])), np.full((K, K), 1 / K), []
    weight = lam if kind == "e" and lam != math.inf else 0.0

    def objective():
        eta = alpha * np.eye(K) + (1 - alpha) * P
        fits = [eta[k] @ data.losses(W[k]) + reg / 2 * W[k] @ W[k] - weight * entropy(P[k]) for k in range(K)]
        return float(np.sum(fits))

    for _ in range(sweeps):
        for k in range(K):
            eta = alpha * (np.arange(K) == k) + (1 - alpha) * P[k]
            W[k] = svm(data.X, data.y, (eta / data.N)[data.task], reg)[0]
        middle, before = objective(), P
        P = np.array([attention(kind, data.losses(w), alpha, lam) for w in W])
        objectives.append((middle, objective()))
        if np.abs(P - before).max() < tolerance:
            break
    return Smoothed(W, P, np.array(objectives))


class Shared(NamedTuple):
    """m hypotheses, the one of each task, and the total after every refit and every reassignment of the best run."""

    hypotheses: np.ndarray
    assignment: np.ndarray
    totals: np.ndarray

    @property
    def W(self):
        return self.hypotheses[self.assignment]


def shamo(X, y, task, m, seed=0, reg=REG, restarts=5):
    """Crammer and Mansour: K-means of tasks. The best of some random starts, by the total

        (1/n) sum_i (1 - y_i <x_i, h_a(i)>)_+ + reg/2 sum_c |h_c|^2,

    n the rows of all tasks: the refits minimise it over h, and the reassignments over a. (Were every cluster's loss
    divided by its own number of rows, a reassignment or a refit could raise the sum of all.)
    A hypothesis that no task has chosen stays, at first at 0.
    """
    data, rng = Data(X, y, task), np.random.default_rng(seed)
    runs = [shamo_run(data, rng.integers(m, size=data.K), m, reg) for _ in range(restarts)]
    return min(runs, key=lambda run: run.totals[-1])  # the first of equals


def shamo_run(data, assignment, m, reg):
    H, totals = np.zeros((m, data.X.shape[1])), []

    def total():
        losses = np.array([data.losses(h) for h in H])  # m x K
        return float(data.N @ losses[assignment, np.arange(data.K)] / data.n + reg / 2 * np.sum(H * H))

    while True:
        for c in range(m):
            chosen = assignment[data.task] == c
            if chosen.any():
                X, y = data.rows(chosen)
                H[c] = svm(X, y, np.full(len(y), 1 / data.n), reg)[0]
        totals.append(total())
        losses = np.array([data.losses(h) for h in H])
        nearest = np.array([np.flatnonzero(L.min() + TIED >= L)[0] for L in losses.T])
        if np.array_equal(nearest, assignment):
            return Shared(H, assignment, np.array(totals))
        assignment = nearest
        totals.append(total())
        assert len(totals) < 1000
