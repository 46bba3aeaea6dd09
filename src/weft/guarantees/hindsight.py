"""The best fixed vectors in hindsight: the comparators that a run's regret is measured against.

`best_in_hindsight` minimises sum over rows of the loss of <u_i, phi>, i the row's task, over all u_1, ..., u_N that a
bound allows (Cesa-Bianchi, Laforgue, Paudice and Pontil 2022, Multitask Online Mirror Descent, Definitions 1 and 2):

- domain "space": |u_i|_2 <= D and Var_2(u) <= sigma^2 D^2, each where it is given;
- domain "simplex": u_i in the simplex, and Var_Delta(u) <= sigma^2, that is u_i >= (1 - sigma) u_k for all i, k.

The square loss without constraints is solved by NumPy, the linear loss on the simplex by SciPy's linear programs.
Everything else needs cvxpy, `pip install "weft[solvers]"`. The solver's result is projected onto the set, to remove
rounding errors.

>>> best_in_hindsight([[1.0], [1.0], [2.0]], [1.0, 3.0, 4.0], [0, 0, 1], 2, "square")
array([[2.],
       [2.]])
"""

import math
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from weft.guarantees.measures import LOSSES, Floats, Integers, csr, loss_and_slope, norms, variance

DOMAINS = ("space", "simplex")


def best_in_hindsight(
    X: Any,
    y: ArrayLike,
    task: ArrayLike,
    N: int,
    loss: str,
    *,
    D: float | None = None,
    sigma: float | None = None,
    domain: str = "space",
    epsilon: float = 0.1,
) -> Floats:
    """U (N, d) with the least total loss; a row with y = NaN does not count, and a task without rows is free."""
    label, codes = np.asarray(y, dtype=np.float64), np.asarray(task, dtype=np.int64)
    rows = csr(X)
    _check(rows, label, codes, N, loss, D, sigma, domain)
    loss_and_slope(loss, np.zeros_like(label), label, epsilon)  # refuses labels that the loss does not take
    labelled = ~np.isnan(label)
    rows, label, codes = rows[labelled], label[labelled], codes[labelled]
    if sigma == 0 and N > 1:  # one model for all: the constraints have no interior, where solvers are inexact
        options: dict[str, Any] = {"D": D, "domain": domain, "epsilon": epsilon}
        return np.tile(best_in_hindsight(rows, label, np.zeros_like(codes), 1, loss, **options), (N, 1))
    if domain == "simplex" and loss == "linear":
        return best_linear(_stacked(rows, codes, N).sum(axis=0).reshape(N, -1), sigma)
    if domain == "space" and loss == "square" and D is None:
        tasks = [(rows[codes == i].toarray(), label[codes == i]) for i in range(N)]
        return np.array([np.linalg.lstsq(*rows_and_labels)[0] for rows_and_labels in tasks])
    return _solve(rows, label, codes, N, loss, D, sigma, domain, epsilon)


def best_linear(G: ArrayLike, sigma: float | None = None) -> Floats:
    """U (N, d) in the simplex with Var_Delta(u) <= sigma^2 and the least sum_i <g_i, u_i>, G with one row per task.

    A linear program: with the column's height m_j, (1 - sigma) m_j <= u_ij <= m_j.

    >>> best_linear([[1.0, 0.0], [0.0, 2.0]], sigma=0.0)
    array([[1., 0.],
           [1., 0.]])
    """
    from scipy import sparse
    from scipy.optimize import linprog

    g = np.atleast_2d(np.asarray(G, dtype=np.float64))
    N, d = g.shape
    if sigma is None or sigma >= 1:
        return np.asarray(np.eye(d)[np.argmin(g, axis=1)], dtype=np.float64)
    _at_least_zero(sigma)
    own, height = sparse.eye_array(N * d), sparse.kron(np.ones((N, 1)), sparse.eye_array(d))
    bounds = sparse.vstack([sparse.hstack([own, -height]), sparse.hstack([-own, (1 - sigma) * height])], format="csr")
    sums = sparse.hstack([sparse.kron(sparse.eye_array(N), np.ones((1, d))), sparse.csr_array((N, d))], format="csr")
    cost = np.append(g.ravel(), np.zeros(d))
    found = linprog(cost, A_ub=bounds, b_ub=np.zeros(2 * N * d), A_eq=sums, b_eq=np.ones(N), method="highs")
    if found.x is None:
        raise RuntimeError(f"The linear program was not solved: {found.message}")
    return _into_simplex(np.asarray(found.x[: N * d]).reshape(N, d), sigma)


def _solve(
    rows: Any,
    y: Floats,
    task: Integers,
    N: int,
    loss: str,
    D: float | None,
    sigma: float | None,
    domain: str,
    epsilon: float,
) -> Floats:
    cp = _cvxpy()
    U = cp.Variable((N, rows.shape[1]))
    limits = _simplex_limits(cp, U, sigma) if domain == "simplex" else _space_limits(cp, U, D, sigma)
    scores = _stacked(rows, task, N) @ cp.vec(U, order="C")
    problem = cp.Problem(cp.Minimize(_total(cp, loss, scores, y, epsilon)), limits)
    try:
        problem.solve(solver=cp.CLARABEL)
    except cp.error.SolverError as failed:
        raise ValueError(f"The solver found no best comparator for the {loss} loss: give D, or scale X.") from failed
    if U.value is None:
        raise ValueError(f"The {loss} loss has no best comparator here (it is {problem.status}): give D.")
    found = np.asarray(U.value, dtype=np.float64)
    return _into_simplex(found, sigma) if domain == "simplex" else _into_space(found, D, sigma)


def _space_limits(cp: Any, U: Any, D: float | None, sigma: float | None) -> list[Any]:
    """|u_i| <= D, and |u - mean| <= sqrt(N - 1) sigma D."""
    N = U.shape[0]
    if D is None:
        return []
    limits = [cp.norm(U, 2, axis=1) <= D]
    if sigma is not None and N > 1:
        limits.append(cp.norm(U - np.full((N, N), 1 / N) @ U, "fro") <= math.sqrt(N - 1) * sigma * D)
    return limits


def _simplex_limits(cp: Any, U: Any, sigma: float | None) -> list[Any]:
    """Rows in the simplex, and (1 - sigma) m_j <= u_ij <= m_j."""
    limits = [U >= 0, cp.sum(U, axis=1) == 1]
    if sigma is not None and sigma < 1:
        height = np.ones((U.shape[0], 1)) @ cp.Variable((1, U.shape[1]))
        limits += [height >= U, (1 - sigma) * height <= U]
    return limits


def _total(cp: Any, loss: str, scores: Any, y: Floats, epsilon: float) -> Any:
    if loss == "square":
        return cp.sum_squares(scores - y)
    if loss == "logistic":
        return cp.sum(cp.logistic(-cp.multiply(y, scores)))
    if loss == "hinge":
        return cp.sum(cp.pos(1 - cp.multiply(y, scores)))
    if loss == "linear":
        return cp.sum(scores)
    return cp.sum(cp.pos(cp.abs(scores - y) - (0.0 if loss == "absolute" else epsilon)))


def _stacked(rows: Any, task: Integers, N: int) -> Any:
    """One sparse row per example over all N d weights, so that one product gives all scores."""
    from scipy import sparse

    n, d = rows.shape
    at = np.repeat(np.arange(n), np.diff(rows.indptr))
    return sparse.csr_array((rows.data, task[at] * d + rows.indices, rows.indptr), shape=(n, N * d))


def _into_space(U: Floats, D: float | None, sigma: float | None) -> Floats:
    """Shorten rows longer than D, then the deviations from the mean, which keeps the rows in the ball."""
    if D is None:
        return U
    U = U * np.minimum(1.0, D / np.maximum(norms(U, 2.0), D))[:, None]
    if sigma is None or variance(U) <= (sigma * D) ** 2:
        return U
    mean = np.mean(U, axis=0)
    return np.asarray(mean + (U - mean) * (sigma * D / math.sqrt(variance(U))))


def _into_simplex(U: Floats, sigma: float | None) -> Floats:
    """Lift and normalise, then mix with the mean as little as u_i >= (1 - sigma) u_k requires."""
    U = np.maximum(U, 0.0)
    low = 0.0 if sigma is None else max(0.0, 1 - sigma)
    U = np.maximum(U, low * np.max(U, axis=0))
    U = U / np.sum(U, axis=1, keepdims=True)
    mean, least, most = np.mean(U, axis=0), np.min(U, axis=0), np.max(U, axis=0)
    short = low * most - least
    share = np.divide(short, (mean - least) + low * (most - mean), out=np.zeros_like(short), where=short > 0)
    mixed = float(np.clip(np.max(share, initial=0.0), 0.0, 1.0))
    return np.asarray((1 - mixed) * U + mixed * mean)


def _check(
    rows: Any,
    y: Floats,
    task: Integers,
    N: int,
    loss: str,
    D: float | None,
    sigma: float | None,
    domain: str,
) -> None:
    if loss not in LOSSES:
        raise ValueError(f"loss is one of {', '.join(LOSSES)}, not {loss!r}.")
    if domain not in DOMAINS:
        raise ValueError(f"domain is one of {', '.join(DOMAINS)}, not {domain!r}.")
    if not (rows.shape[0] == len(y) == len(task)):
        raise ValueError(f"X has {rows.shape[0]} rows, y {len(y)} and task {len(task)}: the numbers must be equal.")
    if len(task) and not (task.min() >= 0 and task.max() < N):
        raise ValueError(f"task has codes from {task.min()} to {task.max()}; N = {N} tasks have 0 to {N - 1}.")
    if not np.all(np.isfinite(rows.data)):
        raise ValueError("X has a value that is not finite.")
    if sigma is not None:
        _at_least_zero(sigma)
    if domain == "simplex" and D is not None:
        raise ValueError("D bounds comparators in the domain space; the simplex has no D.")
    if domain == "space" and sigma is not None and D is None:
        raise ValueError("sigma bounds the variance by sigma^2 D^2: give D as well.")
    if D is not None and not 0 < D < math.inf:
        raise ValueError(f"D must be finite and above 0, not {D:g}.")


def _at_least_zero(sigma: float) -> None:
    if not sigma >= 0:
        raise ValueError(f"sigma must be at least 0, not {sigma:g}.")


def _cvxpy() -> Any:
    try:
        return import_module("cvxpy")
    except ImportError as missing:
        raise ImportError('This comparator needs a convex solver: pip install "weft[solvers]".') from missing
