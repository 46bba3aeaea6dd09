"""The record of a run of multitask online mirror descent, and the quantities in its regret bounds.

Cesa-Bianchi, Laforgue, Paudice and Pontil (2022), Multitask Online Mirror Descent. In round t the active tasks i
play x_{t,i}, suffer convex losses of the scores <x_{t,i}, phi>, and get the gradients g_i = l' phi. With the
interaction matrix A, y = A^{1/2} x and Psi(y) = sum_i psi(y_i) for a psi that is lambda-strongly convex in |.|,
with dual |.|_*, the next point minimises <eta_t g_t, x> + B_Psi(A^{1/2} x, A^{1/2} x_t) over the allowed x.

| `regularizer`         | psi             | |.| | |.|_* | lambda | y               |
|-----------------------|-----------------|-----|-------|--------|-----------------|
| "euclidean"           | |y|_2^2 / 2     | 2   | 2     | 1      | anywhere        |
| ("p-norm", p)         | |y|_p^2 / 2     | p   | q     | p - 1  | anywhere        |
| "entropy"             | sum_j y_j ln y_j| 1   | inf   | 1      | in the simplex  |
| ("p-norm simplex", p) | |y|_p^2 / 2     | p   | q     | p - 1  | in the simplex  |

A `Descent` is the record of a run. The regret against fixed vectors u_1, ..., u_N, one row each of U, is
R(u) = sum_t l_t(x_t) - l_t(u); `descent_bounds` and `descent_rates` bound it.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from weft.guarantees.measures import Floats, Integers, csr, loss_and_slope, norms, products, row_norms, variance

Regularizer = str | tuple[str, float]
UPDATES = ("mirror", "leader", "hedge")
TOLERANCE = 1e-9


class Descent(NamedTuple):
    """The record of a run: `X`, `y`, `task` and `scores` row by row, `eta` round by round.

    `X` is dense or SciPy sparse, `y` is NaN where a task is dormant, `task` counts from 0, and round t has the rows
    `rounds[t]` to `rounds[t + 1]`. `inverse` is A^-1; `root` is A^{1/2}, or None where all tasks share one model
    (b = inf). `update` is "mirror", "leader" (FTRL) or "hedge". `start` is x_1, for all tasks or one row each; None
    is 0, and 1/d on the simplex. The decision set is sum_i |y_i|^2 <= radius^2, |x_i| <= ball and
    sum_i |x_i - mean|^2 <= spread. `iterates` gives x_t (N, d) for t = 0, ..., T - 1, as a function or an array.
    For Hedge, `expert_losses` and `expert_weights` are (T, K), `eta_h` has the rate of every round, and
    `expert_variances` the sigma^2 of every expert.
    """

    X: Any
    y: Floats
    task: Integers
    rounds: Integers
    scores: Floats
    eta: Floats
    inverse: Floats
    root: Floats | None
    loss: str = "logistic"
    epsilon: float = 0.1
    update: str = "mirror"
    regularizer: Regularizer = "euclidean"
    lam: float = 1.0
    start: Floats | None = None
    radius: float = math.inf
    ball: float = math.inf
    spread: float = math.inf
    iterates: Floats | Callable[[int], Floats] | None = None
    expert_losses: Floats | None = None
    expert_weights: Floats | None = None
    eta_h: Floats | None = None
    expert_variances: Floats | None = None


class Geometry(NamedTuple):
    """The regulariser of a run: strongly convex in the p-norm, with the dual exponent q."""

    p: float
    q: float
    simplex: bool
    entropy: bool


def regret(run: Descent, U: ArrayLike) -> float:
    """R(u) = sum_t l_t(x_t) - l_t(u): the loss of the run minus that of the fixed rows of U."""
    W = _shaped(run, U)
    return float(np.sum(losses(run)) - np.sum(comparator_losses(run, W)))


def losses(run: Descent) -> Floats:
    """The loss of every row, 0 where dormant."""
    return loss_and_slope(run.loss, run.scores, run.y, run.epsilon)[0]


def comparator_losses(run: Descent, U: Floats) -> Floats:
    """The loss that the rows of U would have had on every row of the run."""
    return loss_and_slope(run.loss, products(run.X, U, run.task), run.y, run.epsilon)[0]


def per_round(run: Descent, values: Floats) -> Floats:
    """Sums of the rows of every round."""
    at = np.repeat(np.arange(len(run.rounds) - 1), np.diff(run.rounds))
    return np.bincount(at, weights=values, minlength=len(run.rounds) - 1).astype(np.float64)


def energy(run: Descent) -> Floats:
    """sum_k |sum_i A^{-1/2}_{ki} g_i|_*^2, one number per round: A^-1_ii |g|_*^2 where one task i is active.

    With the Euclidean norm this is sum_ij A^-1_ij <g_i, g_j>.
    """
    X, q = csr(run.X), geometry(run).q
    slope = loss_and_slope(run.loss, run.scores, run.y, run.epsilon)[1]
    own = np.diagonal(run.inverse)[run.task] * (slope * row_norms(X, q)) ** 2
    total, active = per_round(run, own), per_round(run, (own > 0).astype(np.float64))
    compound = np.flatnonzero(active > 1)
    half = _half_inverse(run.inverse) if len(compound) and q != 2 else None
    for t in compound:
        rows = np.arange(run.rounds[t], run.rounds[t + 1])
        rows = rows[own[rows] > 0]
        G, tasks = X[rows].multiply(slope[rows, None]).tocsr(), run.task[rows]
        if half is None:
            total[t] = max(0.0, float(np.sum(run.inverse[np.ix_(tasks, tasks)] * (G @ G.T).toarray())))
        else:
            support = np.unique(G.indices)
            total[t] = float(np.sum(norms(half[:, tasks] @ G[:, support].toarray(), q) ** 2))
    return total


def geometry(run: Descent) -> Geometry:
    """The regulariser's exponents, and whether its points are in the simplex; refuses a wrong lambda."""
    name, p = run.regularizer if isinstance(run.regularizer, tuple) else (run.regularizer, 2.0)
    if name in ("p-norm", "p-norm simplex") and isinstance(run.regularizer, tuple):
        if not 1 < p <= 2:
            raise ValueError(f"The p-norm regulariser is strongly convex for 1 < p <= 2; p is {p:g}.")
        shape, lam = Geometry(p, p / (p - 1), name == "p-norm simplex", False), p - 1
    elif name == "euclidean":
        shape, lam = Geometry(2.0, 2.0, False, False), 1.0
    elif name == "entropy":
        shape, lam = Geometry(1.0, math.inf, True, True), 1.0
    else:
        raise ValueError(
            f'regularizer is "euclidean", "entropy", ("p-norm", p) or ("p-norm simplex", p), not {run.regularizer!r}.'
        )
    if not 0 < run.lam <= lam * (1 + TOLERANCE):
        raise ValueError(f"{name} is {lam:g}-strongly convex, and the run says lam = {run.lam:g}.")
    return shape


# --- points and divergences ---


def mirror(run: Descent, U: Floats) -> Floats:
    """A^{1/2} u, row by row; refused where the regulariser is infinite."""
    if run.root is None:
        if not np.allclose(U, U[0], rtol=TOLERANCE, atol=1e-12):
            raise ValueError("Where b = inf all tasks share one model, and here the rows of the tasks differ.")
        Y = U
    else:
        Y = run.root @ U
    if not geometry(run).simplex:
        return Y
    # The errors of A^{1/2} u are those of u times the size of A^{1/2}.
    size = 1.0 if run.root is None else float(np.max(np.sum(np.abs(run.root), axis=1)))
    if np.min(Y) < -TOLERANCE * size or np.max(np.abs(np.sum(Y, axis=1) - 1)) > TOLERANCE * size:
        raise ValueError("The regulariser is infinite at this point: A^{1/2} x is outside the simplex.")
    return np.maximum(Y, 0.0)


def divergence(run: Descent, Y: Floats, Z: Floats) -> float:
    """B_Psi(Y, Z) = Psi(Y) - Psi(Z) - <grad Psi(Z), Y - Z>, for points Y = A^{1/2} u and Z = A^{1/2} x."""
    shape = geometry(run)
    if shape.entropy:
        if np.any((Z <= 0) & (Y > 0)):
            raise ValueError("The entropy's divergence is infinite: a weight is 0 where the comparator's is not.")
        held = Y > 0
        return float(np.sum(Y[held] * np.log(Y[held] / Z[held])) - np.sum(Y) + np.sum(Z))
    if shape.p == 2:
        return float(np.sum((Y - Z) ** 2)) / 2
    size = norms(Z, shape.p)[:, None]
    unit = np.divide(Z, size, out=np.zeros_like(Z), where=size > 0)
    gradient = np.sign(unit) * np.abs(unit) ** (shape.p - 1) * size
    return float(np.sum(norms(Y, shape.p) ** 2) / 2 + np.sum(size**2) / 2 - np.sum(gradient * Y))


def value(run: Descent, Y: Floats) -> float:
    """Psi(Y)."""
    shape = geometry(run)
    if shape.entropy:
        held = Y[Y > 0]
        return float(np.sum(held * np.log(held)))
    return float(np.sum(norms(Y, shape.p) ** 2)) / 2


def starting_point(run: Descent) -> Floats:
    """x_1 for every task: (N, d)."""
    shape = (len(run.inverse), run.X.shape[1])
    default = 1.0 / shape[1] if geometry(run).simplex else 0.0
    return np.broadcast_to(default if run.start is None else np.asarray(run.start, dtype=np.float64), shape)


def iterate(run: Descent, t: int) -> Floats:
    """x_t for every task, t = 0, ..., T - 1."""
    if run.iterates is None:
        raise ValueError("This bound is about the points x_t: the record needs `iterates`.")
    return np.asarray(run.iterates(t) if callable(run.iterates) else run.iterates[t], dtype=np.float64)


def comparator(run: Descent, U: ArrayLike) -> Floats:
    """U as an array, where it is a comparator of this run: of the right shape, and in its decision set."""
    W, shape = _shaped(run, U), geometry(run)
    N = len(run.inverse)
    if run.root is not None and not np.allclose(run.root @ run.root @ run.inverse, np.eye(N), rtol=0, atol=1e-6):
        raise ValueError("`root` is not A^{1/2}: its square is not the inverse of `inverse`.")
    if shape.simplex and (np.min(W) < -TOLERANCE or np.max(np.abs(np.sum(W, axis=1) - 1)) > TOLERANCE):
        raise ValueError("The run is on the simplex: the comparator's rows must be non-negative and sum to 1.")
    allowed = 1 + TOLERANCE
    if run.ball < math.inf and np.max(norms(W, shape.p)) > run.ball * allowed:
        raise ValueError(f"The comparator has a row longer than the run's ball, {run.ball:g}.")
    if run.spread < math.inf and (N - 1) * variance(W, shape.p) > run.spread * allowed + TOLERANCE**2:
        raise ValueError(f"The comparator's rows are farther apart than the run's spread, {run.spread:g}, allows.")
    if run.radius < math.inf and math.sqrt(np.sum(norms(mirror(run, W), shape.p) ** 2)) > run.radius * allowed:
        raise ValueError(f"The comparator is outside the run's ball of radius {run.radius:g}.")
    return W


def _half_inverse(inverse: Floats) -> Floats:
    """A^{-1/2}, also where A^-1 is singular."""
    values, vectors = np.linalg.eigh(inverse)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def _shaped(run: Descent, U: ArrayLike) -> Floats:
    W, shape = np.asarray(U, dtype=np.float64), (len(run.inverse), run.X.shape[1])
    if W.shape != shape or not np.all(np.isfinite(W)):
        raise ValueError(f"The comparator has shape {W.shape}; it needs {shape}, one finite row per task.")
    return W
