"""Multitask mirror descent with other regularizers: p-norms, entropy and FTRL.

Cesa-Bianchi, Laforgue, Paudice and Pontil (2022): Prop. 5, 6 and 8, Eq. 17-18; dense NumPy, as in `mirror_descent`.
All learners here are standard ones on y = A^{1/2} x with the gradient A^{-1/2} G (Remark 1).
"""

import math

import numpy as np
from scipy.optimize import brentq, minimize

from oracles.mirror_descent import (
    INF,
    Adaptive,
    Constant,
    Rounds,
    clique,
    dual_norms,
    interaction,
    matrix,
    play,
    tight_radius,
)

# -------------------------------------------------------------------------------------------------- p-norms


def link(V, r):
    """Row by row the gradient of |v|_r^2/2: sign(v_j) (|v_j|/|v|_r)^(r-1) |v|_r; f_q inverts f_p."""
    size = dual_norms(V, r)[:, None]
    size[size == 0] = 1.0
    return np.sign(V) * (np.abs(V) / size) ** (r - 1) * size


def simplex_p(d):
    """Prop. 5."""
    assert d >= 3
    return 2 * math.log(d) / (2 * math.log(d) - 1)


class PNorm:
    """theta <- theta - eta A^{-1/2} G, y = f_q(theta), x = A^{-1/2} y; the ball sum |y_i|_p^2 <= r^2 by scaling."""

    def __init__(self, geometry, d, p, rate, radius=None):
        self.geometry, self.p, self.q, self.rate, self.radius = geometry, p, p / (p - 1), rate, radius
        self.theta = np.zeros((len(geometry.A), d))

    @property
    def eta(self):
        return self.rate.now

    def models(self):
        return self.geometry.inverse_root @ link(self.theta, self.q)

    def move(self, G):
        eta = self.rate.after(G)
        self.theta = self.theta - eta * self.geometry.inverse_root @ G
        if self.radius is not None:
            size = math.sqrt(np.sum(dual_norms(link(self.theta, self.q), self.p) ** 2))
            self.theta *= min(1.0, self.radius / size) if size > 0 else 1.0
        return eta


class PNormSimplex:
    """Form (b): y_i in the simplex. y_i = f_q([f_p(y_i) - eta (A^{-1/2} G)_i + nu]_+), nu such that sum y_i = 1."""

    def __init__(self, geometry, d, p, rate):
        self.geometry, self.p, self.q, self.rate = geometry, p, p / (p - 1), rate
        self.y = np.full((len(geometry.A), d), 1 / d)

    @property
    def eta(self):
        return self.rate.now

    def models(self):
        return self.geometry.inverse_root @ self.y

    def _onto_simplex(self, theta):
        def point(nu):
            return link(np.maximum(theta + nu, 0.0)[None, :], self.q)[0]

        # v = [theta + nu]_+ is 0 at the low end; at the high end |f_q(v)|_1 >= |f_q(v)|_p = |v|_q >= max v = 1
        low, high = -theta.max(), 1 - theta.max()
        nu = brentq(lambda nu: point(nu).sum() - 1, low, high, xtol=1e-16, rtol=1e-15)
        return point(nu) / point(nu).sum()

    def move(self, G):
        eta = self.rate.after(G)
        theta = link(self.y, self.p) - eta * self.geometry.inverse_root @ G
        self.y = np.array([self._onto_simplex(row) for row in theta])
        return eta


class PNormSimplexExact:
    """Form (a): Eq. 9 over x_i in the simplex, from x_1 = 1/d, by a generic solver; N d at most a few dozen."""

    def __init__(self, geometry, d, p, rate):
        assert geometry.b != INF
        self.geometry, self.p, self.q, self.rate = geometry, p, p / (p - 1), rate
        self.X = np.full((len(geometry.A), d), 1 / d)

    @property
    def eta(self):
        return self.rate.now

    def models(self):
        return self.X

    def move(self, G):
        eta = self.rate.after(G)
        root, shape = self.geometry.root, self.X.shape
        slope = eta * G - root @ link(root @ self.X, self.p)

        def objective(x):
            x = x.reshape(shape)
            y = root @ x
            value = np.sum(dual_norms(y, self.p) ** 2) / 2 + np.sum(slope * x)
            return value, (root @ link(y, self.p) + slope).ravel()

        rows = np.kron(np.eye(shape[0]), np.ones(shape[1]))
        found = minimize(
            objective,
            self.X.ravel(),
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * self.X.size,
            constraints={"type": "eq", "fun": lambda x: rows @ x - 1, "jac": lambda x: rows},
            options={"ftol": 1e-17, "maxiter": 1000},
        )
        self.X = np.maximum(found.x.reshape(shape), 0.0)
        self.X /= self.X.sum(axis=1, keepdims=True)
        return eta


def mt_pnorm(
    X,
    y,
    task,
    rounds=None,
    *,
    N,
    eta,
    p=None,
    loss="logistic",
    epsilon=0.1,
    A=None,
    b=None,
    D=None,
    L=None,
    sigma=None,
    T=None,
    domain="space",
    radius=None,
    keep=False,
):
    """domain: "space", "simplex" (form b) or "simplex-exact" (form a). radius: None (no ball), a number, "theory".

    In the space, "theory" is the constant rate of Prop. 5 and "adaptive" that of Prop. 6; on the simplex b comes from
    sigma (Prop. 8) and "theory" is the rate of Prop. 8 with C = max B_psi(., 1/d).
    """
    stream = Rounds(X, y, task, rounds, N, loss, epsilon)
    d = stream.X.shape[1]
    if domain == "space":
        geometry = interaction(N, A, b, sigma)
    else:
        geometry = simplex_interaction(N, A, b, sigma)
        p = simplex_p(d) if p is None else p
    q, curvature = p / (p - 1), p - 1
    size = radius if isinstance(radius, (int, float)) else None
    if size is None and None not in (geometry.b, D, sigma):  # for any norm twice the Euclidean square (Prop. 5)
        size = math.sqrt(2) * tight_radius(N, geometry.b, D, sigma)
    if eta == "adaptive":  # at b = N this is D sqrt(lambda N (N+1) (1 + (N-1) sigma^2))
        rate = Adaptive(size * math.sqrt(curvature / geometry.largest), geometry, q)
    elif eta != "theory":
        rate = Constant(float(eta))
    elif domain == "space":  # minimises size^2/(2 eta) + eta T L^2 max A^-1_ii/(2 lambda)
        rate = Constant(size * math.sqrt(curvature / (geometry.largest * T)) / L)
    else:
        rate = Constant(simplex_theory_rate(geometry, (1 - d ** (2 / p - 2)) / 2, curvature, L, T))
    if domain == "space":
        return play(PNorm(geometry, d, p, rate, None if radius is None else size), stream, keep)
    return play(
        {"simplex": PNormSimplex, "simplex-exact": PNormSimplexExact}[domain](geometry, d, p, rate), stream, keep
    )


# --------------------------------------------------------------------------------------------------- MT-EG


def simplex_interaction(N, A=None, b=None, sigma=None):
    """b = (1 - sigma^2)/sigma^2 (Prop. 8)."""
    if A is not None:
        return matrix(A)
    if b is None:
        b = 0.0 if sigma >= 1 else INF if sigma == 0 else (1 - sigma**2) / sigma**2
    return clique(N, b)


def simplex_theory_rate(geometry, C, curvature, L, T):
    """Prop. 8: N sqrt(2 lambda C/(f T))/L, where f = 1 + sigma^2 (N-1) = N A^-1_ii."""
    N = len(geometry.A)
    return N * math.sqrt(2 * curvature * C / (N * geometry.largest * T)) / L


def softmax(theta):
    y = np.exp(theta - theta.max(axis=1, keepdims=True))
    return y / y.sum(axis=1, keepdims=True)


class Eg:
    """Eq. 18: y_i = softmax(theta_i), x = A^{-1/2} y, theta <- theta - eta A^{-1/2} G."""

    q = INF

    def __init__(self, geometry, d, rate):
        self.geometry, self.rate = geometry, rate
        self.theta = np.zeros((len(geometry.A), d))

    @property
    def eta(self):
        return self.rate.now

    def models(self):
        return self.geometry.inverse_root @ softmax(self.theta)

    def move(self, G):
        eta = self.rate.after(G)
        self.theta = self.theta - eta * self.geometry.inverse_root @ G
        return eta


def mt_eg(
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
    sigma=None,
    L=None,
    T=None,
    keep=False,
):
    """eta: a number or "theory" (Prop. 8 with C = ln d, lambda = 1)."""
    stream = Rounds(X, y, task, rounds, N, loss, epsilon)
    d = stream.X.shape[1]
    geometry = simplex_interaction(N, A, b, sigma)
    rate = simplex_theory_rate(geometry, math.log(d), 1.0, L, T) if eta == "theory" else float(eta)
    return play(Eg(geometry, d, Constant(rate)), stream, keep)


# --------------------------------------------------------------------------------------------------- FTRL


class Ftrl:
    """x_t = argmin Psi(A^{1/2} x)/eta_t + <sum_{s<t} G_s, x> (Sec. 4, last paragraph); eta_t = eta or eta0/sqrt(t).

    t counts the rounds that had a gradient, and the one to come.
    """

    def __init__(self, geometry, d, regularizer, eta):
        self.geometry, self.regularizer, self.schedule = geometry, regularizer, eta
        self.q = 2 if regularizer == "euclidean" else INF
        self.t, self.theta = 1, np.zeros((len(geometry.A), d))

    @property
    def eta(self):
        return self.schedule[1] / math.sqrt(self.t) if isinstance(self.schedule, tuple) else float(self.schedule)

    def models(self):
        if self.regularizer == "euclidean":
            return -self.eta * self.geometry.inverse @ self.theta
        return self.geometry.inverse_root @ softmax(-self.eta * self.geometry.inverse_root @ self.theta)

    def move(self, G):
        eta = self.eta
        self.theta = self.theta + G
        self.t += 1
        return eta


def mt_ftrl(
    X,
    y,
    task,
    rounds=None,
    *,
    N,
    eta,
    regularizer="euclidean",
    loss="logistic",
    epsilon=0.1,
    A=None,
    b=None,
    keep=False,
):
    """eta: a number, or ("sqrt", eta0). regularizer: "euclidean" or "entropy"."""
    stream = Rounds(X, y, task, rounds, N, loss, epsilon)
    return play(Ftrl(interaction(N, A, b), stream.X.shape[1], regularizer, eta), stream, keep)
