"""Models of all tasks, fitted together so that they share few directions: feature learning, and the trace norm.

W has a row per feature and a column per task. Both problems are convex; a start W only saves steps.

    feature_learning   min_W  sum_i |X_i w_i - y_i|^2 + gamma |[W, sqrt(eps) I]|_*^2
    trace_norm         min_W  sum_i (mean loss of w_i on X_i, y_i) + lam |W|_*

with |.|_* the sum of the singular values.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from weft.compiled.arrays import Floats, Ints
from weft.maths.losses import LOGISTIC
from weft.maths.proximal import nuclear_prox, thin_svd

CLOSE = 1e-12
"""The largest change of an entry at which a fit ends, relative to 1 + the largest entry."""
MOST_STEPS = 10_000
DEPTH = 10
"""Steps that are extrapolated from."""
FLATTER = 0.95
"""How much smaller a curvature is tried after every step."""
TOGETHER = 1 << 24
"""Rows of all tasks are one table if it has at most this many entries: 128 MiB."""
SAME = 1e-14
"""Squared singular values of the rows below this part of the largest are zeros."""
SMALL = 1024
"""Matrices up to this size have their norm by their eigenvalues, larger ones a bound on it."""


class Fitted(NamedTuple):
    """W and the steps that it took."""

    W: Floats
    steps: int


def _finite(W: Floats) -> Floats:
    """LinAlgError if W has left the range of numbers; of NaN, versions of SciPy raise different errors or none."""
    if not np.isfinite(W).all():
        raise np.linalg.LinAlgError("the models of a fit are not finite")
    return W


# --- feature learning -----------------------------------------------------------------------------------------------


class _Squares(NamedTuple):
    """|X w - y|^2 of some tasks up to a constant, as |rows w - z|^2 with rows that are at right angles to each other.

    `rows` is (tasks, rows, features), `square` the squared length of each row.
    """

    rows: Floats
    z: Floats
    square: Floats


def _squares(table: Floats, y: Floats, members: list[Ints]) -> _Squares:
    """Tasks of different sizes are filled up with rows of zeros; none keeps more rows than there are features."""
    d = table.shape[1]
    most = min(max(len(at) for at in members), d)
    rows, z = np.zeros((len(members), most, d)), np.zeros((len(members), most))
    for k, at in enumerate(members):
        if len(at) > d:
            basis, rows[k] = np.linalg.qr(table[at])
            z[k] = basis.T @ y[at]
        else:
            rows[k, : len(at)], z[k, : len(at)] = table[at], y[at]
    values, vectors = np.linalg.eigh(rows @ rows.swapaxes(1, 2))
    turn = vectors.swapaxes(1, 2)
    return _Squares(turn @ rows, (turn @ z[:, :, None])[:, :, 0], np.maximum(values, 0.0))


class _Spread(NamedTuple):
    """D = (WW' + eps I)^1/2 / trace = U diag(lift) U' + shift I, and the trace."""

    U: Floats
    lift: Floats
    shift: float
    trace: float


def _spread(W: Floats, d: int, eps: float) -> _Spread:
    """For W of d rows, those that are not given being zeros."""
    U, s, _ = thin_svd(_finite(W))
    roots = np.sqrt(s * s + eps)
    trace = float(roots.sum()) + (d - len(s)) * float(np.sqrt(eps))
    return _Spread(U, (roots - np.sqrt(eps)) / trace, float(np.sqrt(eps)) / trace, trace)


def _solved(tasks: _Squares, D: _Spread, gamma: float) -> Floats:
    """w = D X'(X D X' + gamma I)^-1 y: D is a multiple of the identity and something of low rank, XX' diagonal."""
    A = gamma + D.shift * tasks.square
    Z = tasks.rows @ D.U * np.sqrt(D.lift)
    scaled = Z / A[:, :, None]
    small = np.eye(Z.shape[2]) + scaled.swapaxes(1, 2) @ Z
    right = scaled.swapaxes(1, 2) @ tasks.z[:, :, None]
    u = tasks.z[:, :, None] / A[:, :, None] - scaled @ np.linalg.solve(small, right)
    v = (tasks.rows.swapaxes(1, 2) @ u)[:, :, 0]
    return np.asarray((v @ D.U * D.lift) @ D.U.T + D.shift * v).T


def feature_learning(X: Any, y: Floats, task: Ints, gamma: float, eps: float, W: Floats) -> Fitted:
    """Argyriou, Evgeniou and Pontil (2008), Alg. 1: w_i for a common D, D for these w_i, in turn until W stays.

    With more features than rows it works in the space that the rows span. A small eps makes the alternation crawl, so
    steps are extrapolated from those before (Anderson 1965) wherever that lowers the objective.

    >>> X, y, tasks = sparse.csr_array(np.eye(2)[[0, 1, 0, 1]]), np.array([1.0, 0.0, 2.0, 0.0]), np.array([0, 0, 1, 1])
    >>> feature_learning(X, y, tasks, 0.1, 1e-4, np.zeros((2, 2))).W.round(6).tolist()
    [[0.908684, 1.817369], [0.0, 0.0]]
    """
    n, d = X.shape
    if d <= n:
        return _alternated(X.toarray(), y, task, d, gamma, eps, W)
    values, vectors = np.linalg.eigh((X @ X.T).toarray())
    kept = values > SAME * max(float(values[-1]), 0.0)
    if not kept.any():
        return Fitted(np.zeros_like(W), 0)
    roots, vectors = np.sqrt(values[kept]), vectors[:, kept]
    start = (vectors / roots).T @ (X @ W)
    found = _alternated(vectors * roots, y, task, d, gamma, eps, start)
    return Fitted(X.T @ (vectors / roots @ found.W), found.steps)


def _alternated(table: Floats, y: Floats, task: Ints, d: int, gamma: float, eps: float, W: Floats) -> Fitted:
    members = [np.flatnonzero(task == k) for k in range(W.shape[1])]
    most = min(max(len(at) for at in members), table.shape[1])
    small = len(members) * most * table.shape[1] <= TOGETHER
    groups = [_squares(table, y, group) for group in ([members] if small else [[one] for one in members])]

    def value(W: Floats, D: _Spread) -> float:
        total, at = gamma * D.trace * D.trace, 0
        for group in groups:
            models = W.T[at : at + len(group.z), :, None]
            with np.errstate(over="ignore"):  # an extrapolation may lead anywhere, and is then not taken
                total += float(np.sum(np.square((group.rows @ models)[:, :, 0] - group.z)))
            at += len(group.z)
        return total

    D = _spread(W, d, eps)
    best = value(W, D)
    images: list[Floats] = []
    changes: list[Floats] = []
    for step in range(MOST_STEPS):
        image = np.hstack([_solved(group, D, gamma) for group in groups])
        change = image - W
        if np.abs(change).max() <= CLOSE * (1.0 + np.abs(image).max()):
            return Fitted(image, step + 1)
        images, changes = [*images[-DEPTH:], image], [*changes[-DEPTH:], change]
        W = _extrapolated(images, changes)
        D = _spread(W, d, eps)
        found = value(W, D)
        if not found < best:
            images, changes, W = images[-1:], changes[-1:], image
            D = _spread(W, d, eps)
            found = value(W, D)
        best = found
    return Fitted(W, MOST_STEPS)


def _extrapolated(images: list[Floats], changes: list[Floats]) -> Floats:
    """The combination of steps whose changes, combined alike, are the least."""
    if len(images) == 1:
        return images[0]
    last, shape = images[-1], images[-1].shape
    later = np.diff([change.ravel() for change in changes], axis=0).T
    weights = np.linalg.lstsq(later, changes[-1].ravel(), rcond=1e-10)[0]
    return np.asarray(last - (np.diff([image.ravel() for image in images], axis=0).T @ weights).reshape(shape))


# --- the trace norm -------------------------------------------------------------------------------------------------


def trace_norm(X: Any, y: Floats, task: Ints, N: Ints, lam: float, loss: int, W: Floats) -> Fitted:
    """Ji and Ye (2009) by FISTA (Beck and Teboulle 2009), restarted when the momentum points uphill.

    No step needs to be shorter than one over the largest curvature of a task's mean loss, |X_i|^2 / (4 n_i) for the
    logistic loss and 2 |X_i|^2 / n_i for the squared one. Where the gradient turns less, as it does on most of the way,
    steps are longer (restarts: O'Donoghue and Candes 2015).

    >>> X, y, tasks = sparse.csr_array(np.eye(2)), np.ones(2), np.arange(2)
    >>> trace_norm(X, y, tasks, np.ones(2), 0.5, 4, np.zeros((2, 2))).W.round(6).tolist()
    [[0.75, 0.0], [0.0, 0.75]]
    """
    d, K = W.shape
    shares = 1.0 / N[task]
    entries = X.tocoo()
    # One long row of weights, task by task: a product with it scores every row by its own task's model.
    rows = sparse.csr_array((entries.data, (entries.row, task[entries.row] * d + entries.col)), shape=(len(y), d * K))
    columns = rows.T.tocsr()
    bend = 0.25 if loss == LOGISTIC else 2.0
    most = bend * max(_squared_norm(X[np.flatnonzero(task == k)]) / float(N[k]) for k in range(K))
    if most == 0.0:
        return Fitted(np.zeros((d, K)), 0)

    def gradient(at: Floats) -> Floats:
        s = rows @ np.ascontiguousarray(at.T).ravel()
        slope = -y * np.exp(-np.logaddexp(0.0, y * s)) if loss == LOGISTIC else 2.0 * (s - y)
        return np.asarray((columns @ (shares * slope)).reshape(K, d).T)

    def step(at: Floats, L: float) -> tuple[Floats, float]:
        """To the minimum of the quadratic model with curvature L, made larger until it is no less than the true one."""
        slope = gradient(at)
        while True:
            new = nuclear_prox(_finite(at - slope / L), lam / L).matrix
            if most <= L:
                return new, most
            change = new - at
            square, bent = float(np.sum(change * change)), float(np.sum((gradient(new) - slope) * change))
            if bent <= L * square:
                return new, L
            L = min(most, 1.5 * max(L, bent / square))

    ahead, a, L = W, 1.0, most
    for count in range(MOST_STEPS):
        new, L = step(ahead, L)
        if np.abs(new - ahead).max() <= CLOSE * (1.0 + np.abs(new).max()):
            return Fitted(new, count + 1)
        if float(np.sum((ahead - new) * (new - W))) > 0.0:
            ahead, a = W, 1.0
            continue
        b = (1.0 + np.sqrt(1.0 + 4.0 * a * a)) / 2.0
        ahead, W, a, L = new + (a - 1.0) / b * (new - W), new, b, FLATTER * L
    return Fitted(W, MOST_STEPS)


def _squared_norm(X: Any) -> float:
    """|X|_2^2, or for large matrices a bound on it, the least of |X|_F^2 and |X|_1 |X|_inf."""
    if min(X.shape) <= SMALL:
        gram = X @ X.T if X.shape[0] <= X.shape[1] else X.T @ X
        return float(np.linalg.eigvalsh(gram.toarray())[-1])
    sizes = abs(X)
    return min(float(np.sum(X.data * X.data)), float(sizes.sum(axis=0).max()) * float(sizes.sum(axis=1).max()))
