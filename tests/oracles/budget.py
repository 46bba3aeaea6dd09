"""Cavallanti and Cesa-Bianchi, Memory constraint online multitask classification, in dense NumPy.

Algorithms 1 (MTBPRJ), 2 (MTBPRJ-2) and 3 (MTRBP), the Forgetron of Sec. 4.3 (MTFORG), and the multitask Perceptron
without a budget. Every Gram matrix is computed anew and every projection is a least-squares problem; the kernel is in
`multitask_kernel`.

Where the printed algorithms cannot be meant, they are read so: the least damage is that of |b_j| (Alg. 1, line 12);
|S| < B leaves room (Alg. 2, line 8), and the new column is set in the full branch too; the projected column in Alg. 2,
line 14, has no factor A^-1, which beta holds already; Eq. 3 has 2 c^2 lambda and mu = y_r chi f'(x_r), where f' has the
new instance and the oldest, M counts this mistake, and the new weight is shrunk as well.

A zero score is a mistake. An instance with K(t,t) = 0 changes nothing, M included. In a round of several rows all tasks
are met and all rows scored first; then every row in turn looks at its margin again. A label that is NaN does not count
as one.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from oracles.multitask_kernel import Base, Relations

DEPENDENT = 1e-10  # of K(t,t): below it a squared distance to a span is rounding error
TIED = 1e-9  # relative: damages this near to the least are equal to it


@dataclass(frozen=True, eq=False)
class Item:
    """A multitask example; `arrival` numbers the rows of the stream from 0."""

    task: int
    row: np.ndarray
    label: float
    arrival: int


class Active(NamedTuple):
    task: int
    row: np.ndarray
    coefficient: float | np.ndarray
    arrival: int


class Eviction(NamedTuple):
    """At the row `time` the item of row `arrival` left. `damage`: what the learner calls so."""

    time: int
    arrival: int
    damage: float


def projected(G, j):
    """Coefficients of the projection of item j on the span of all others, 0 for j, and its distance to that span."""
    others = np.arange(len(G)) != j
    g = np.zeros(len(G))
    g[others] = np.linalg.lstsq(G[others][:, others], G[others, j], rcond=None)[0]
    rest = -g
    rest[j] = 1.0
    return g, math.sqrt(max(0.0, rest @ G @ rest))


def oldest_least(damages):
    return int(np.flatnonzero(damages <= damages.min() * (1 + TIED))[0])


def without(values, r):
    return [value for position, value in enumerate(values) if position != r]


class MtPerceptron:
    """On a mistake the instance enters with b = y, whatever the size of S."""

    def __init__(self, base=None, graph="complete", tasks=0):
        """`tasks`: how many are declared; a graph that is a word takes more as they come."""
        self.base, self.relations = base or Base(), Relations(graph, tasks)
        self.S, self.b = [], np.zeros(0)
        self.clock, self.M, self.evictions = 0, 0, []  # M: mistakes, in their turn, that count

    def base_gram(self, items, others):
        return self.base.gram(np.array([s.row for s in items]), np.array([s.row for s in others]))

    def gram(self, items, others, relations=None):
        """(A^-1)_ij K'(x_i, x_j)"""
        inverse = (relations or self.relations).inverse
        return inverse[np.ix_([s.task for s in items], [s.task for s in others])] * self.base_gram(items, others)

    def size(self, t):
        """K(t,t)"""
        return float(self.gram([t], [t])[0, 0])

    def score(self, x, i):
        """f_i(x); a task not yet met is scored as the newcomer that it would be."""
        if not self.S:
            return 0.0
        t = Item(i, np.asarray(x, float), 0.0, -1)
        return float(self.b @ self.gram(self.S, [t], self.relations.with_task(i))[:, 0])

    def meet(self, i):
        relations = self.relations.with_task(i)
        if relations is not self.relations:
            self.grow(relations)

    def grow(self, relations):
        """The coefficients stay as they are, in the new geometry."""
        self.relations = relations

    def learn_one(self, x, y, i):
        return self.learn_round([x], [y], [i])[0]

    def learn_round(self, X, y, tasks):
        for i in tasks:
            self.meet(i)
        scores = [self.score(x, i) for x, i in zip(X, tasks, strict=True)]
        for row, (x, label, i) in enumerate(zip(X, y, tasks, strict=True)):
            t = Item(i, np.array(x, float), float(label), self.clock)
            now = scores[0] if row == 0 else self.score(x, i)
            if not math.isnan(label) and label * now <= 0 and self.size(t) > 0:
                self.M += 1
                self.mistake(t)
            self.clock += 1
        return scores

    def learn(self, X, y, tasks, bounds=None):
        """Scores of a whole stream; round t has the rows bounds[t] to bounds[t + 1]."""
        bounds = range(len(y) + 1) if bounds is None else bounds
        scores = []
        for first, last in pairwise(bounds):
            scores += self.learn_round(X[first:last], y[first:last], tasks[first:last])
        return np.array(scores)

    def mistake(self, t):
        self.append(t)

    def append(self, t):
        self.S.append(t)
        self.b = np.append(self.b, t.label)

    def evict(self, r, t, damage):
        self.evictions.append(Eviction(t.arrival, self.S[r].arrival, damage))
        self.S, self.b = without(self.S, r), np.delete(self.b, r)

    @property
    def coefficients(self):
        """One per item of S."""
        return list(self.b)

    @property
    def active(self):
        """Oldest first."""
        found = [Active(s.task, s.row, b, s.arrival) for s, b in zip(self.S, self.coefficients, strict=True)]
        return sorted(found, key=lambda item: item.arrival)


class Mtbprj(MtPerceptron):
    """Algorithm 1. Damage: |b_r| D_r, the norm of the function's change; distances are in H_K."""

    def __init__(self, base=None, graph="complete", tasks=0, *, B, eta=0.01):
        super().__init__(base, graph, tasks)
        self.B, self.eta = B, eta

    def projection_gram(self, items):
        return self.gram(items, items)

    def mistake(self, t):
        if self.S:
            G, n = self.projection_gram([*self.S, t]), len(self.S)
            a, delta = projected(G, n)
            if delta <= self.eta or delta**2 <= DEPENDENT * G[n, n]:  # line 6
                self.absorb(t, a[:n])
                return
        self.append(t)  # lines 8 to 10
        while self.is_over():
            self.make_room(t)

    def is_over(self):
        return len(self.S) > self.B

    def absorb(self, t, a):
        self.b = self.b + t.label * a  # line 7

    def make_room(self, t):
        G, old = self.projection_gram(self.S), range(len(self.S) - 1)
        distances = np.array([projected(G, j)[1] for j in old])
        damages = self.sizes()[:-1] * distances
        r = oldest_least(damages)  # line 12
        self.hand_over(r, projected(G, r)[0])
        self.evict(r, t, float(damages[r]))

    def sizes(self):
        return np.abs(self.b)

    def hand_over(self, r, g):
        self.b = self.b + self.b[r] * g  # line 14


class Mtbprj2(Mtbprj):
    """Algorithm 2. Damage: |d_r| = |beta_:r|_2 D_r; distances are in H_K', tasks ignored. beta is N x |S|."""

    def __init__(self, base=None, graph="complete", tasks=0, *, B, eta=0.01):
        super().__init__(base, graph, tasks, B=B, eta=eta)
        self.beta = np.zeros((tasks, 0))

    def score(self, x, i):
        if not self.S:
            return 0.0
        t = Item(i, np.asarray(x, float), 0.0, -1)
        return float(self.beta_in(self.relations.with_task(i))[i] @ self.base_gram(self.S, [t])[:, 0])

    def beta_in(self, relations):
        """beta = A^-1 C. C, what each task has put in, stays as it is when a task comes; its own share is 0."""
        if relations is self.relations:
            return self.beta
        C = np.zeros((relations.N, len(self.S)))
        C[: self.relations.N] = self.relations.A @ self.beta
        return relations.inverse @ C

    def grow(self, relations):
        self.beta = self.beta_in(relations)
        self.relations = relations

    def size(self, t):
        return float(self.base_gram([t], [t])[0, 0])

    def projection_gram(self, items):
        return self.base_gram(items, items)

    def append(self, t):
        self.S.append(t)
        self.beta = np.column_stack([self.beta, t.label * self.relations.inverse[:, t.task]])  # line 10

    def absorb(self, t, a):
        self.beta = self.beta + np.outer(t.label * self.relations.inverse[:, t.task], a)  # line 6

    def sizes(self):
        return np.linalg.norm(self.beta, axis=0)

    def hand_over(self, r, g):
        self.beta = self.beta + np.outer(self.beta[:, r], g)  # line 14

    def evict(self, r, t, damage):
        self.evictions.append(Eviction(t.arrival, self.S[r].arrival, damage))
        self.S, self.beta = without(self.S, r), np.delete(self.beta, r, axis=1)

    @property
    def coefficients(self):
        return list(self.beta.T)


class Mtrbp(MtPerceptron):
    """Algorithm 3: S has B places, and the new item takes a random one. Damage: |b_r| sqrt(K(r,r))."""

    def __init__(self, base=None, graph="complete", tasks=0, *, B, seed=0):
        super().__init__(base, graph, tasks)
        self.B, self.rng = B, np.random.default_rng(seed)

    def mistake(self, t):
        if len(self.S) < self.B:
            self.append(t)
            return
        r = int(self.rng.integers(self.B))
        old = self.S[r]
        self.evictions.append(Eviction(t.arrival, old.arrival, abs(self.b[r]) * math.sqrt(self.size(old))))
        self.S[r], self.b[r] = t, t.label  # line 9


class Shrink(NamedTuple):
    """What phi was chosen from."""

    sigma: float
    m: float
    Q: float
    M: int
    phi: float


class Mtforg(MtPerceptron):
    """Sec. 4.3, self-tuned: the oldest leaves and all shrink. Damage: Psi.

    M, Q, Psi and m are those of the kernel K / c_G^2, whose instances are at most R long: what Eq. 3 has, divided by
    c_G^2, so that a new task changes none of them.
    """

    def __init__(self, base=None, graph="complete", tasks=0, *, B, R=1.0):
        super().__init__(base, graph, tasks)
        self.B, self.R2, self.Q, self.shrinks = B, R * R, 0.0, []

    def psi(self, l, mu):
        return self.R2 * l**2 + 2 * self.R2 * l - 2 * l * mu

    def mistake(self, t):
        self.append(t)
        if len(self.S) <= self.B:
            return
        r = self.S[0]
        sigma, m = r.label * self.b[0], r.label * self.score(r.row, r.task) / self.relations.c**2
        phi = self.largest(sigma, m)
        damage = self.psi(sigma * phi, phi * m)
        self.shrinks.append(Shrink(sigma, m, self.Q, self.M, phi))
        self.b, self.Q = phi * self.b, self.Q + damage
        self.evict(0, t, damage)

    def largest(self, sigma, m):
        """The largest chi in (0, 1] with Psi(sigma chi, chi m) + Q <= (15/32) R^2 M: a chi^2 + b chi <= e (Eq. 3)."""
        a, b = self.R2 * sigma**2 - 2 * sigma * m, 2 * self.R2 * sigma
        e = 15 / 32 * self.R2 * self.M - self.Q
        assert e > 0
        return 1.0 if a + b <= e else 2 * e / (b + math.sqrt(b**2 + 4 * a * e))
