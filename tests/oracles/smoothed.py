"""Murugesan, Liu, Carbonell and Yang (2016), Adaptive smoothed online multi-task learning, in dense NumPy.

OSMTL is Algorithm 2 ("e") and its thresholding sibling ("t", Sec. 3.2); FOML (Cavallanti, Cesa-Bianchi and Gentile) and
OMTRL (Saha, Rai, Daume and Venkatasubramanian) are two of its baselines. Tasks are 0, 1, ..., N-1, and a task that was
not declared comes with the first row that has its number, in this order. A label that is NaN does not count as one:
its row is scored and nothing else.

Readings. The step of Eq. 9 belongs to |w - w_t|^2 / 2 in Eq. 7 and 8. P starts uniform. Tasks absent from a round are
not updated and keep their coordinates p_kj; the others share the mass that is left (Eq. 10 with these held). The text
updates on mistakes, Algorithm 2 on margins: the condition says which. A zero score is a mistake.
"""

import math
from itertools import pairwise

import numpy as np


class Walk:
    """W (N x d), the updates of each task, and the walk over a stream."""

    def __init__(self, d, tasks):
        self.W, self.updates = np.zeros((0, d)), np.zeros(0, int)
        for _ in range(tasks):
            self.grow()

    @property
    def N(self):
        return len(self.W)

    def grow(self):
        """One task more; it starts at 0."""
        self.W = np.vstack([self.W, np.zeros((1, self.W.shape[1]))])
        self.updates = np.append(self.updates, 0)

    def meet(self, tasks):
        for i in tasks:
            if i >= self.N:
                assert i == self.N, "newcomers are numbered in the order of their coming"
                self.grow()

    def score(self, x, i):
        return float(self.W[i] @ x)

    def learn_one(self, x, y, i):
        return self.learn_round([x], [y], [i])[0]

    def learn_round(self, X, y, tasks):
        """All tasks are met, all rows scored, and then comes the update."""
        X, y, tasks = np.asarray(X, float), np.asarray(y, float), np.asarray(tasks, int)
        X = X.reshape(len(tasks), self.W.shape[1])
        assert len(set(tasks.tolist())) == len(tasks), "a round has at most one row of a task"
        self.meet(tasks)
        scores = [self.score(x, i) for x, i in zip(X, tasks, strict=True)]
        known = ~np.isnan(y)
        if known.any():
            self.update(X[known], y[known], tasks[known])
        return scores

    def learn(self, X, y, tasks, bounds=None):
        """Scores of a whole stream; round t has the rows bounds[t] to bounds[t + 1]."""
        bounds = range(len(y) + 1) if bounds is None else bounds
        scores = []
        for first, last in pairwise(bounds):
            scores += self.learn_round(X[first:last], y[first:last], tasks[first:last])
        return np.array(scores)


def floored(q, mass, floor):
    """The p nearest to q, argmin KL(p || q), with p >= floor and sum(p) = mass: max(floor, c q)."""
    if mass <= floor * len(q) * (1 + 1e-12):
        return np.full(len(q), mass / len(q))
    held = np.zeros(len(q), bool)
    while True:
        c = (mass - floor * held.sum()) / q[~held].sum()
        below = ~held & (c * q < floor)
        if not below.any():
            return np.where(held, floor, c * q)
        held |= below


class Osmtl(Walk):
    """eta = alpha I + (1 - alpha) P; all tasks of a round learn from the same W and P.

    alpha and C that are not given are those of Corollary 2 for T rounds. If T is not given either, epoch m = 0, 1, ...
    has 2^m rounds and takes T = 2^m; with `restart` W and P start anew as soon as an epoch is over. Rounds without any
    label are not counted.

    lam: None is C (1 - alpha) for "e", so that kappa = C (1 - alpha) / lam = 1, and 1 for "t"; inf freezes P.
    p_min: the step of P is the argmin over p >= p_min, or over p = 1/N where this leaves no room.

    A newcomer gets 1/N in every row, the others' shares shrink to (N - 1)/N, and its own row is uniform: an attention
    that nothing has changed is always uniform.
    """

    def __init__(self, d, tasks=0, variant="e", condition="margin", *, alpha=None, C=None, lam=None, T=None, **options):
        self.restart, self.p_min = options.pop("restart", False), options.pop("p_min", 0.0)
        assert not options
        assert variant in ("e", "t")
        assert condition in ("margin", "mistake", "active")
        self.variant, self.condition, self.lam = variant, condition, lam
        self.given, self.T = (alpha, C), T
        self.P, self.rounds = np.zeros((0, 0)), 0
        super().__init__(d, tasks)

    def grow(self):
        super().grow()
        N = self.N
        P = np.full((N, N), 1 / N)
        P[:-1, :-1] = self.P * (N - 1) / N
        self.P = np.array([floored(p, 1.0, self.floor) for p in P])

    @property
    def floor(self):
        return min(self.p_min, 1 / self.N)

    @property
    def doubling(self):
        return self.T is None and None in self.given

    @property
    def parameters(self):
        """alpha and C of the next round."""
        T = self.T
        if self.doubling:
            T = 2 ** ((self.rounds + 1).bit_length() - 1)
        alpha, C = self.given
        alpha = math.sqrt(T) / (1 + math.sqrt(T)) if alpha is None else alpha
        return alpha, (1 + math.sqrt(T)) / T if C is None else C

    def is_due(self, margins, own):
        """`own`: the position of the task's own margin among those of all present rows."""
        if self.condition == "margin":
            return margins[own] < 1
        if self.condition == "mistake":
            return margins[own] <= 0
        return any(margins < 1)

    def update(self, X, y, tasks):
        alpha, C = self.parameters
        W, P = self.W.copy(), self.P.copy()
        for position, k in enumerate(tasks):
            margins = y * (X @ self.W[k])  # y_j <x_j, w_k> for all present j
            if not self.is_due(margins, position):
                continue
            for j, x, label, margin in zip(tasks, X, y, margins, strict=True):
                eta = alpha * (j == k) + (1 - alpha) * self.P[k, j]  # Eq. 3
                if margin < 1:
                    W[k] += C * eta * label * x  # Eq. 9
            P[k, tasks] = self.attention(self.P[k, tasks], np.maximum(0, 1 - margins))
            self.updates[k] += 1
        self.W, self.P = W, P
        self.rounds += 1
        ended = (self.rounds + 1) & self.rounds == 0
        if self.restart and self.doubling and ended:
            self.W, self.P = np.zeros_like(W), np.full_like(P, 1 / self.N)

    def attention(self, p, losses):
        """A row of P, present coordinates only."""
        mass = p.sum()
        if self.lam == math.inf or mass == 0:
            return p
        q = self.exponential(p, losses) if self.variant == "e" else self.threshold(losses)
        return floored(q, mass, self.floor) if q.sum() > 0 else p

    def exponential(self, p, losses):
        """Eq. 11, but for the factor."""
        alpha, C = self.parameters
        kappa = 1.0 if self.lam is None else C * (1 - alpha) / self.lam
        logs = np.full(len(p), -math.inf)
        logs[p > 0] = np.log(p[p > 0]) - kappa * losses[p > 0]
        return np.exp(logs - logs.max())

    def threshold(self, losses):
        return np.maximum(0, (1.0 if self.lam is None else self.lam) - losses)


class Rows(Walk):
    """A learner of single rows: after the scores of a round the rows come in turn, each with its margin of now.

    "mistake": it learns if y s <= 0; "margin": if y s < 1. C is the step in both. A row of zeros changes nothing.
    """

    def __init__(self, d, tasks, condition, C):
        assert condition in ("mistake", "margin")
        self.condition, self.C = condition, C
        super().__init__(d, tasks)

    def update(self, X, y, tasks):
        for x, label, i in zip(X, y, tasks, strict=True):
            margin = label * self.score(x, i)
            due = margin <= 0 if self.condition == "mistake" else margin < 1
            if due and x.any():
                self.updates[i] += 1
                self.step(x, label, i)
            self.after(due and x.any())

    def broadcast(self, inverse, x, label, i):
        for j in range(self.N):
            self.W[j] += self.C * label * inverse[j, i] * x

    def after(self, learned):
        """What happens at the end of an event."""


def clique_inverse(N, b):
    """(N I + b 11') / ((1 + b) N): the inverse of I + (b / N) L of the complete graph."""
    return (N * np.eye(N) + b) / ((1 + b) * N)


class Foml(Rows):
    """w_j += y (A^-1)_ji x for all j. A^-1 is given, or that of the clique of all tasks met so far, with b or b = N.

    When a task comes, what every task has put in stays (`own`: the sums of C y x of each task's own updates) and is
    spread by the new A^-1: W = A^-1 own, as in the multitask kernel Perceptron.
    """

    def __init__(self, d, tasks=0, b=None, inverse=None, condition="mistake", C=1.0):
        self.b, self.fixed, self.own = b, inverse, np.zeros((0, d))
        super().__init__(d, len(inverse) if inverse is not None else tasks, condition, C)

    @property
    def inverse(self):
        return clique_inverse(self.N, self.N if self.b is None else self.b) if self.fixed is None else self.fixed

    def grow(self):
        super().grow()
        self.own = np.vstack([self.own, np.zeros((1, self.own.shape[1]))])
        if self.fixed is None:
            self.W = self.inverse @ self.own
        else:
            assert len(self.fixed) >= self.N, "a task without a row of A^-1"

    def step(self, x, label, i):
        self.own[i] += self.C * label * x
        self.broadcast(self.inverse, x, label, i)


def logdet_step(inverse, W, rate):
    """A^-1 of argmin_A LogDet(A, A_t) + rate tr(A W W')."""
    return inverse + rate * W @ W.T


def vonneumann_step(logarithm, W, rate):
    """log A^-1 of argmin_A tr(A log A - A log A_t - A + A_t) + rate tr(A W W')."""
    return logarithm + rate * W @ W.T


def covariance(W):
    """Of the tasks, over the features; a single feature has none."""
    centred = W - W.mean(axis=1, keepdims=True)
    return centred @ centred.T / max(1, W.shape[1] - 1) + 1e-3 * np.eye(len(W))


def trace_scaled(inverse):
    return inverse * len(inverse) / np.trace(inverse)


def exponential_of(logarithm):
    """exp(log A^-1) of trace N, and its logarithm: a factor of A^-1 is a multiple of I in its logarithm."""
    values, vectors = np.linalg.eigh((logarithm + logarithm.T) / 2)
    N, top = len(values), values[-1]
    values = values - top - math.log(np.sum(np.exp(values - top)) / N)
    return (vectors * np.exp(values)) @ vectors.T, (vectors * values) @ vectors.T


class Omtrl(Rows):
    """FOML whose A is learned: after every update the relation step, and A^-1 is brought to the trace N.

    In the first `warmup` labelled rows A = I: independent Perceptrons. A newcomer is tied to nobody, A^-1 is bordered
    by those of I, which keeps the trace; the W of the others stays.
    """

    def __init__(self, d, tasks=0, kind="logdet", rate=0.1, warmup=0, condition="mistake", C=1.0):
        assert kind in ("logdet", "vonneumann", "cov")
        self.kind, self.rate, self.warmup, self.events = kind, rate, warmup, 0
        self.inverse, self.logarithm = np.zeros((0, 0)), np.zeros((0, 0))
        super().__init__(d, tasks, condition, C)

    def grow(self):
        super().grow()
        self.inverse, self.logarithm = np.pad(self.inverse, (0, 1)), np.pad(self.logarithm, (0, 1))
        self.inverse[-1, -1] = 1.0

    def step(self, x, label, i):
        self.broadcast(self.inverse, x, label, i)

    def after(self, learned):
        self.events += 1
        if not learned or self.events <= self.warmup:
            return
        if self.kind == "logdet":
            self.inverse = trace_scaled(logdet_step(self.inverse, self.W, self.rate))
        elif self.kind == "cov":
            self.inverse = trace_scaled(covariance(self.W))
        else:
            self.inverse, self.logarithm = exponential_of(vonneumann_step(self.logarithm, self.W, self.rate))
