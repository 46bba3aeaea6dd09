"""Interaction matrices: how much of a step of one task reaches the others.

A learner with interaction matrix A, symmetric and positive definite, moves task j by A^-1_ij times what task i learned
(Cesa-Bianchi, Laforgue, Paudice and Pontil 2022, Multitask Online Mirror Descent, Sec. 3; Cavallanti and Cesa-Bianchi
2012, Memory constraint online multitask classification, Sec. 3). Here are

* `clique(N, b)`: A = I + b (I - J), J = 11'/N, so that A^s = (1+b)^s (I - J) + J for every real s. b = 0: independent
  tasks. b = inf: one shared model; only the negative powers exist, and all of them are J;
* `cliques(labels, strength)`: disjoint unit-weight cliques; one of n tasks is a block with b = strength n;
* `laplacian(W, strength)`: A = I + strength L, L = diag(W1) - W, for symmetric weights W >= 0;
* `spd(A)`: any symmetric positive definite matrix;
* `interaction(graph, names)`: the one for a `Graph` and its tasks in a given order.

The first two take O(1) per entry and O(N) memory. The others work by connected component; across components all powers
vanish.

>>> clique(3, 3.0).column(0).tolist()
[0.5, 0.25, 0.25]
>>> laplacian(np.ones((3, 3)) - np.eye(3)).column(0).round(12).tolist()
[0.5, 0.25, 0.25]
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from weft.graphs.components import in_order, symmetric, weighted
from weft.graphs.matrices import CliqueBlocks, General, Interaction
from weft.graphs.reading import Graph
from weft.names import Name

__all__ = ["CliqueBlocks", "General", "Interaction", "clique", "cliques", "interaction", "laplacian", "spd"]


def clique(N: int, b: float) -> CliqueBlocks:
    """A = I + b (I - J) on N >= 1 tasks, 0 <= b <= inf."""
    if isinstance(N, bool) or not isinstance(N, int | np.integer) or N < 1:
        raise ValueError(f"N={N!r} must be an integer >= 1, the number of tasks")
    return CliqueBlocks(np.zeros(N, np.int64), np.array([_number(b, "b", infinite=True)]))


def cliques(labels: ArrayLike, strength: float = 1.0) -> CliqueBlocks:
    """Disjoint unit-weight cliques, one label per task: A = I + strength L."""
    given = np.asarray(labels)
    if given.ndim != 1 or not len(given) or given.dtype.kind not in "iu":
        raise ValueError("labels must be a sequence of integers, the clique of every task")
    ordered = in_order(given)
    return CliqueBlocks(ordered, _number(strength, "strength") * np.bincount(ordered).astype(np.float64))


def laplacian(W: Any, strength: float = 1.0) -> General:
    """A = I + strength L, L = diag(W1) - W; W (an array or scipy.sparse) is symmetric, >= 0, with a zero diagonal."""
    weights = weighted(W)
    A = scipy.sparse.diags_array(np.asarray(weights.sum(axis=1)).ravel()) - weights
    A = scipy.sparse.csr_array(scipy.sparse.eye_array(weights.shape[0]) + _number(strength, "strength") * A)
    A.eliminate_zeros()
    return General(A, least=1.0, stochastic=True)


def spd(A: Any) -> General:
    """Any symmetric positive definite matrix (an array or scipy.sparse)."""
    return General(symmetric(A, "the interaction matrix A"))


def interaction(
    graph: Graph, names: Sequence[Name] | int, b: float | None = None, strength: float = 1.0
) -> CliqueBlocks | General:
    """The interaction matrix of a graph over the tasks in the given order; a growing graph also takes their number.

    `b` belongs to "complete" alone, and is required there; `strength` multiplies the Laplacian of the others.
    """
    count = names if isinstance(names, int) else len(names)
    if b is not None and graph.kind != "complete":
        raise ValueError(f'b={b!r} belongs to the graph "complete"; elsewhere `strength` multiplies the Laplacian')
    if graph.kind == "none":
        return clique(count, 0.0)
    if graph.kind == "complete":
        if b is None:
            raise ValueError('the graph "complete" needs b, from 0 (independent tasks) to inf (one shared model)')
        return clique(count, b)
    order = graph.order(names)
    if graph.kind == "cliques":
        return cliques(graph.labels[order], strength)
    matrix = graph.matrix[order][:, order]
    if graph.kind == "edges":
        return laplacian(matrix, strength)
    if strength != 1.0:
        raise ValueError(f"strength={strength!r} multiplies a Laplacian; the matrix A is taken as it is, strength 1")
    return spd(matrix)


def _number(value: Any, name: str, infinite: bool = False) -> float:
    number = float(value) if isinstance(value, int | float | np.integer | np.floating) else math.nan
    if isinstance(value, bool) or not number >= 0.0 or (math.isinf(number) and not infinite):
        raise ValueError(f"{name}={value!r} must be a number >= 0{', or inf' if infinite else ', and finite'}")
    return number
