"""Cesa-Bianchi, Laforgue, Paudice and Pontil (2022), Multitask Online Mirror Descent, in dense NumPy.

Transcribed from the paper with full N x d and N x N matrices and no thought of speed. Here: the losses, the
interaction matrices, the learning rates, the loop over rounds and MT-OGD (Eq. 7, 15, 16). Beside it:
`mirror_descent_projections`, `mirror_descent_simplex` (the other regularizers), `mirror_descent_hedge` (Theorem 9)
and `mirror_descent_trial` (the dependence on the task variance).

A round is a compound gradient G (N x d), with one non-zero row in the paper's protocol. Its size in the geometry
is sum_k |(A^{-1/2} G)_k|_*^2, for one row A^-1_ii |g|_*^2: what Theorem 1 sums. A round with G = 0 changes nothing.
"""

import math
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from oracles.mirror_descent_projections import project

INF = math.inf


# -------------------------------------------------------------------------------------------------- losses


def loss_value(loss, a, y, epsilon=0.1):
    if loss == "square":
        return (a - y) ** 2
    if loss == "logistic":
        return float(np.logaddexp(0.0, -y * a))
    if loss == "hinge":
        return max(0.0, 1 - y * a)
    if loss == "absolute":
        return abs(a - y)
    if loss == "epsilon-insensitive":
        return max(0.0, abs(a - y) - epsilon)
    raise ValueError(loss)


def loss_derivative(loss, a, y, epsilon=0.1):
    """In the prediction a; at a kink the subgradient 0."""
    if loss == "square":
        return 2 * (a - y)
    if loss == "logistic":
        return -y * math.exp(-float(np.logaddexp(0.0, y * a)))
    if loss == "hinge":
        return -y if y * a < 1 else 0.0
    if loss == "absolute":
        return float(np.sign(a - y))
    if loss == "epsilon-insensitive":
        return float(np.sign(a - y)) if abs(a - y) > epsilon else 0.0
    raise ValueError(loss)


def is_dormant(loss, y):
    return math.isnan(y) or (y == 0 and loss in ("hinge", "logistic"))


# ------------------------------------------------------------------------------------ interaction matrices


@dataclass
class Interaction:
    """A with its powers; b is None unless A is the clique's. At b = inf all four are J, the limit on equal rows."""

    A: np.ndarray
    root: np.ndarray
    inverse: np.ndarray
    inverse_root: np.ndarray
    b: float | None = None

    @property
    def largest(self):
        """max_i A^-1_ii"""
        return self.inverse.diagonal().max()


def matrix(A, b=None):
    values, vectors = np.linalg.eigh(np.asarray(A, float))
    assert values.min() > 0, "A is not positive definite"
    powers = [(vectors * values**s) @ vectors.T for s in (1.0, 0.5, -1.0, -0.5)]
    return Interaction(*powers, b=b)


def clique(N, b):
    """A(b) = I + b (I - J), J = 11^T/N (Sec. 3.1)."""
    J = np.full((N, N), 1 / N)
    return Interaction(J, J, J, J, b=INF) if b == INF else matrix(np.eye(N) + b * (np.eye(N) - J), b=float(b))


def graph(W, strength=1.0):
    """A = I + strength L^W (Sec. 3.4)."""
    W = np.asarray(W, float)
    return matrix(np.eye(len(W)) + strength * (np.diag(W.sum(axis=1)) - W))


def clique_strength(N, sigma=None, rule="paper"):
    """b of the clique: N (Prop. 2) or the minimiser of its bound; sigma >= 1: independent tasks."""
    if sigma is None:
        return float(N)
    if sigma >= 1 or N == 1:
        return 0.0
    if rule == "paper":
        return float(N)
    s = sigma**2 * (N - 1) / N
    return INF if s == 0 else math.sqrt((N - 1) * (1 - s) / s) - 1


def interaction(N, A=None, b=None, sigma=None, rule="paper"):
    if A is not None:
        return matrix(A)
    return clique(N, clique_strength(N, sigma, rule) if b is None else b)


def tight_radius(N, b, D, sigma):
    """The smallest |.|_A-ball that holds all u with |u_i| <= D, Var(u) <= sigma^2 D^2; of the mean at b = inf."""
    return math.sqrt(N) * D if b == INF else D * math.sqrt(N + b * sigma**2 * (N - 1))


def variance(U, norm=2):
    """Definition 1."""
    N = len(U)
    return 0.0 if N == 1 else float(np.sum(np.linalg.norm(U - U.mean(axis=0), norm, axis=1) ** 2) / (N - 1))


# ------------------------------------------------------------------------------------------------- rates


def dual_norms(G, q):
    """|g_i|_q of every row, without overflow."""
    m = np.abs(G).max(axis=1, keepdims=True)
    m[m == 0] = 1.0
    return m[:, 0] * np.linalg.norm(G / m, q, axis=1)


def energy(geometry, G, q=2):
    """sum_k |(A^{-1/2} G)_k|_q^2; for one row A^-1_ii |g|_q^2, for q = 2 sum_ij A^-1_ij <g_i, g_j>."""
    return float(np.sum(dual_norms(geometry.inverse_root @ G, q) ** 2))


class Constant:
    def __init__(self, eta):
        self.now = eta

    def after(self, G):
        return self.now


class Adaptive:
    """eta_t = c / sqrt(sum of |g_s|_*^2, s <= t) (Prop. 6); `now` is inf as long as no gradient was seen."""

    def __init__(self, c, geometry, q=2):
        self.c, self.geometry, self.q, self.total = c, geometry, q, 0.0

    @property
    def now(self):
        return self.c / math.sqrt(self.total) if self.total > 0 else INF

    def after(self, G):
        if np.count_nonzero(G.any(axis=1)) == 1:
            self.total += float(dual_norms(G, self.q).max() ** 2)
        else:
            self.total += energy(self.geometry, G, self.q) / self.geometry.largest
        return self.now


def ogd_theory_rate(N, b, D, L, sigma, T):
    """Proof of Prop. 2; at b = inf for sigma = 0."""
    if b == INF:
        return N * D / (L * math.sqrt(T))
    s = sigma**2 * (N - 1) / N
    return N * D / L * math.sqrt((1 + s * b) * (1 + b) / ((b + N) * T))


# ------------------------------------------------------------------------------------------- the protocol


@dataclass
class Result:
    """One pass. Per row: scores, losses (0 if dormant). Per round: eta, energy and, if kept, iterates and gradients.

    eta is the rate of the round's step (of its prediction in FTRL); in a round without a gradient, the rate as it
    stands. `iterates` has one matrix more than rounds.
    """

    scores: np.ndarray
    losses: np.ndarray
    X_tasks: np.ndarray
    eta: np.ndarray
    energy: np.ndarray
    iterates: list = field(default_factory=list)
    gradients: list = field(default_factory=list)
    expert_losses: np.ndarray | None = None
    weights: np.ndarray | None = None


class Rounds:
    """The rows of a stream, round by round."""

    def __init__(self, X, y, task, rounds, N, loss, epsilon):
        self.X, self.y, self.task = np.asarray(X, float), np.asarray(y, float), np.asarray(task, int)
        self.N, self.loss, self.epsilon = N, loss, epsilon
        self.bounds = list(range(len(self.X) + 1)) if rounds is None else list(rounds)
        assert self.bounds[0] == 0
        assert self.bounds[-1] == len(self.X)
        assert self.task.min(initial=0) >= 0
        assert self.task.max(initial=0) < N
        for first, last in self:
            assert len(set(self.task[first:last])) == last - first, "a task twice in a round"

    def __iter__(self):
        return pairwise(self.bounds)

    def scores(self, models, first, last):
        return np.array([models[self.task[r]] @ self.X[r] for r in range(first, last)])

    def awake(self, first, last):
        return [r for r in range(first, last) if not is_dormant(self.loss, self.y[r])]

    def suffer(self, models, first, last):
        """(loss of every row, compound gradient)"""
        losses, G = np.zeros(last - first), np.zeros((self.N, self.X.shape[1]))
        for r in self.awake(first, last):
            a = models[self.task[r]] @ self.X[r]
            losses[r - first] = loss_value(self.loss, a, self.y[r], self.epsilon)
            G[self.task[r]] = loss_derivative(self.loss, a, self.y[r], self.epsilon) * self.X[r]
        return losses, G


def play(learner, stream, keep=False):
    """A learner has `models()`, `move(G)` (which returns the rate it used), `eta`, `geometry` and `q`."""
    n, T = len(stream.X), len(stream.bounds) - 1
    result = Result(np.zeros(n), np.zeros(n), learner.models(), np.zeros(T), np.zeros(T))
    for t, (first, last) in enumerate(stream):
        models = learner.models()
        result.scores[first:last] = stream.scores(models, first, last)
        result.losses[first:last], G = stream.suffer(models, first, last)
        result.eta[t] = learner.move(G) if G.any() else learner.eta
        result.energy[t] = energy(learner.geometry, G, learner.q)
        if keep:
            result.iterates.append(models.copy())
            result.gradients.append(G)
    result.X_tasks = learner.models().copy()
    if keep:
        result.iterates.append(result.X_tasks)
    return result


# ------------------------------------------------------------------------------------------------- MT-OGD


class Ogd:
    """Eq. 7: X <- Pi_A(X - eta A^-1 G)."""

    q = 2

    def __init__(self, geometry, d, rate, **projection):
        self.geometry, self.rate, self.projection = geometry, rate, projection
        self.X = np.zeros((len(geometry.A), d))

    @property
    def eta(self):
        return self.rate.now

    def models(self):
        return self.X

    def move(self, G):
        eta = self.rate.after(G)
        self.X = project(self.X - eta * self.geometry.inverse @ G, self.geometry, **self.projection)
        return eta


def build_ogd(N, d, *, A, b, eta, D, L, sigma, T, projection, radius, rule):
    """eta is a number, "theory" (Prop. 2) or "adaptive" (Prop. 6); for a matrix A the radius has no default."""
    geometry = interaction(N, A, b, sigma, rule)
    if radius is None and A is None and D is not None and sigma is not None:
        radius = tight_radius(N, geometry.b, D, sigma)
    if eta == "adaptive":  # at b = N this is D sqrt(N (N+1) (1 + (N-1) sigma^2))
        rate = Adaptive(radius * math.sqrt(2 / geometry.largest), geometry)
    elif eta == "theory":
        rate = Constant(ogd_theory_rate(N, geometry.b, D, L, sigma, T))
    else:
        rate = Constant(float(eta))
    return Ogd(geometry, d, rate, projection=projection, D=D, sigma=sigma, radius=radius)


def mt_ogd(
    X,
    y,
    task,
    rounds=None,
    *,
    N,
    eta,
    loss="logistic",
    epsilon=0.1,
    A=None,
    b=None,
    D=None,
    L=None,
    sigma=None,
    T=None,
    projection="none",
    radius=None,
    rule="paper",
    keep=False,
):
    stream = Rounds(X, y, task, rounds, N, loss, epsilon)
    settings = {"A": A, "b": b, "eta": eta, "D": D, "L": L, "sigma": sigma, "T": T}
    settings |= {"projection": projection, "radius": radius, "rule": rule}
    return play(build_ogd(N, stream.X.shape[1], **settings), stream, keep)
