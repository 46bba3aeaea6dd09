"""The multitask kernel of Cavallanti and Cesa-Bianchi (Sec. 3), in dense NumPy: K([x,i],[z,j]) = (A^-1)_ij K'(x,z).

Tasks are 0, 1, ..., N-1. A graph is "complete", "none", a list of edges (tuples), a list of cliques (lists), or the
interaction matrix A = I + L itself. The two words do not name their tasks, so that N may grow.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Base:
    """K'. Cosine normalisation is on by default for linear and poly, as the theory has K'(x,x) = 1."""

    name: str = "linear"
    gamma: float = 1.0
    degree: int = 2
    coef0: float = 1.0
    normalize: bool | None = None

    def plain(self, inner, x2, z2):
        """From <x,z>, |x|^2 and |z|^2."""
        if self.name == "linear":
            return inner
        if self.name == "poly":
            return (self.gamma * inner + self.coef0) ** self.degree
        if self.name == "gaussian":
            square = x2 + z2 - 2 * inner
            # The expanded distance of a repeated row is rounding error, and exp of it is not 1.
            return np.exp(-self.gamma * np.where(square < 1e-14 * (x2 + z2), 0.0, square))
        raise ValueError(self.name)

    def gram(self, X, Z):
        """K'(x,z) of all pairs of rows."""
        x2, z2 = np.sum(X * X, axis=1)[:, None], np.sum(Z * Z, axis=1)[None, :]
        values = self.plain(X @ Z.T, x2, z2)
        normalize = self.name != "gaussian" if self.normalize is None else self.normalize
        if not normalize:
            return values
        size = np.sqrt(self.plain(x2, x2, x2) * self.plain(z2, z2, z2))
        # An instance of norm zero has kernel 0 with everything.
        return np.divide(values, size, out=np.zeros_like(values), where=size > 0)


def with_edges(N, edges):
    """I + L, where (i, j) or (i, j, weight) is an edge."""
    A = np.eye(N)
    for i, j, *weight in edges:
        w = weight[0] if weight else 1.0
        A[i, i] += w
        A[j, j] += w
        A[i, j] -= w
        A[j, i] -= w
    return A


def edges_of(graph, N):
    if isinstance(graph, str):
        return {"complete": list(itertools.combinations(range(N), 2)), "none": []}[graph]
    if all(isinstance(part, tuple) for part in graph):
        return graph
    return [edge for clique in graph for edge in itertools.combinations(clique, 2)]


def interaction(graph, N):
    """A, N x N."""
    return graph if isinstance(graph, np.ndarray) else with_edges(N, edges_of(graph, N))


class Relations:
    """A and A^-1 of the tasks known so far: those declared, and in the words' graphs those seen."""

    def __init__(self, graph, N):
        self.graph = graph
        self.know(N)

    def know(self, N):
        self.N = N
        self.A = interaction(self.graph, N)
        self.inverse = np.linalg.inv(self.A) if N else np.zeros((0, 0))

    def with_task(self, i):
        """These, or those with the newcomer i."""
        if i < self.N:
            return self
        assert isinstance(self.graph, str), f"the graph does not name task {i}"
        assert i == self.N, "newcomers are numbered in the order of their coming"
        return Relations(self.graph, self.N + 1)

    @property
    def c(self):
        """c_G = max_i sqrt((A^-1)_ii), the largest norm of an instance with K'(x,x) = 1."""
        return math.sqrt(self.inverse.diagonal().max())


def resistances(A):
    """The resistance matrix of the graph with a dummy node, the last one, joined to every task (Prop. 3.1)."""
    N = len(A)
    L = np.block([[A, -np.ones((N, 1))], [-np.ones((1, N)), np.full((1, 1), float(N))]])
    P = np.linalg.pinv(L)
    return P.diagonal()[:, None] + P.diagonal()[None, :] - 2 * P
