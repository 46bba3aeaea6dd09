"""The multitask kernel: rows of related tasks are more similar than rows of unrelated tasks.

Cavallanti and Cesa-Bianchi (2012), Memory constraint online multitask classification, Sec. 3: a graph between the tasks
has the interaction matrix A = I + L, L its Laplacian, and two rows x and z of the tasks i and j the kernel

    K([x, i], [z, j]) = (A^-1)_ij K'(x, z)

with a kernel function K' between rows. `interaction` has A: `clique(N, float(N))` for the complete graph on N tasks
(weights of 1, so b = N), `cliques(labels)` for disjoint ones, `laplacian(W)` for any other graph, `clique(N, 0.0)` for
no edges at all.

`gram`, `multitask_gram`          matrices of K' and of K between rows
`squared_norm`                    |f|^2 = b'Gb of f = sum_j b_j K([x_j, i_j], .)
`part_products`, `spread_norm`    the same from the tasks' own functions f_i: sum_i |f_i|^2 + sum_edges |f_i - f_j|^2
`c_G`                             a bound on the length of rows: |K| <= c_G^2 R^2 where K'(x, x) <= R^2
`resistances`                     between the tasks and a dummy node that is connected to all of them
`inverse_centred`, `inverse_grounded`
                                  A^-1 from these resistances

Interpretation. c_G is max_i sqrt((A^-1)_ii), the root of the largest entry of A^-1: a kernel may be negative, and only
this gives c_G = sqrt(2/(N + 1)) for the complete graph. Proposition 3.1 is about (A^-1)_ij, and the coefficient of the
sum of all resistances is 1/(2 n^2), n = N + 1, half of what is printed.

>>> from weft.graphs.interaction import clique
>>> A = clique(3, 3.0)
>>> round(c_G(A) ** 2, 12), resistances(A).round(12)[0].tolist()
(0.5, [0.0, 0.5, 0.5, 0.5])
>>> multitask_gram(Kernel(), A, np.array([[1.0, 0.0], [1.0, 1.0]]), [0, 2]).tolist()
[[0.5, 0.25], [0.25, 1.0]]
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from weft.compiled.arrays import Floats, Ints
from weft.graphs.interaction import Interaction
from weft.maths.kernels import GAUSSIAN, LINEAR, Kernel, KernelCode

EQUAL = 1e-14  # as in `maths.kernels`: a smaller relative distance of two rows is rounding


def c_G(A: Interaction) -> float:
    """max_i sqrt((A^-1)_ii): 1 if a task is isolated, sqrt(2/(N + 1)) for the complete graph on N tasks."""
    return float(np.sqrt(A.largest_diagonal))


# --- rows ---


def gram(kernel: Kernel, X: Any, Z: Any = None) -> Floats:
    """K'(x, z) for all rows x of X and z of Z (of X itself, if Z is None), dense or scipy.sparse."""
    rows = _rows(X, "X")
    others = rows if Z is None else _rows(Z, "Z")
    if rows.shape[1] != others.shape[1]:
        raise ValueError(f"X has {rows.shape[1]} features and Z has {others.shape[1]}; give them the same columns")
    code = kernel.code
    xx, zz = _squares(rows), _squares(others)
    # Sparse products add in the order of the features for every pair, so that equal rows have equal sums.
    dot = (rows @ others.T).toarray()
    with np.errstate(over="ignore", invalid="ignore"):
        return _values(code, dot, xx[:, None], zz[None, :], _scales(code, xx)[:, None] * _scales(code, zz)[None, :])


def self_products(kernel: Kernel, X: Any) -> Floats:
    """K'(x, x) for every row."""
    code, xx = kernel.code, _squares(_rows(X, "X"))
    if code.normalize and code.kind != GAUSSIAN:
        return (_scales(code, xx) > 0.0).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        return _values(code, xx, xx, xx, np.ones_like(xx))


def multitask_gram(
    kernel: Kernel, A: Interaction, X: Any, task: ArrayLike, Z: Any = None, task_z: ArrayLike | None = None
) -> Floats:
    """(A^-1)_ij K'(x, z) for all rows x of X, of the tasks i, and z of Z, of the tasks j."""
    if (Z is None) != (task_z is None):
        raise ValueError("Z and task_z belong together: give both, or neither")
    K = gram(kernel, X, Z)
    i = _tasks(task, A.N, K.shape[0], "task")
    j = i if task_z is None else _tasks(task_z, A.N, K.shape[1], "task_z")
    # By the columns of the tasks that occur: N may be far above the number of rows.
    distinct, at = np.unique(j, return_inverse=True)
    factors = np.array([A.column(int(slot))[i] for slot in distinct]).reshape(len(distinct), len(i)).T
    return np.asarray(factors[:, at] * K)


def squared_norm(b: ArrayLike, G: Floats) -> float:
    """|f|^2 = b'Gb of f = sum_j b_j K([x_j, i_j], .), with the rows' matrix G of `multitask_gram`."""
    weights = np.asarray(b, dtype=np.float64)
    return float(weights @ G @ weights)


def part_products(kernel: Kernel, A: Interaction, b: ArrayLike, X: Any, task: ArrayLike) -> Floats:
    """<f_i, f_j> in the space of K', for the functions f_i = sum_j b_j (A^-1)_{i_j, i} K'(x_j, .) of the tasks."""
    K = gram(kernel, X)
    slots = _tasks(task, A.N, len(K), "task")
    shares = np.zeros((A.N, len(K)))
    shares[slots, np.arange(len(K))] = np.asarray(b, dtype=np.float64)
    weights = A.solve(shares)
    return np.asarray(weights @ K @ weights.T)


def spread_norm(A: Interaction, products: Floats) -> float:
    """sum_i |f_i|^2 + sum over edges w_ij |f_i - f_j|^2, from <f_i, f_j>: the trace of `products` A, and |f|^2."""
    own = np.diagonal(products)
    apart = own[:, None] + own[None, :] - 2 * products
    weights = -A.dense(1.0)
    np.fill_diagonal(weights, 0.0)
    rest = A.dense(1.0).sum(axis=1)  # 1 for I + L
    return float(np.sum(rest * own) + np.sum(np.triu(weights) * apart))


# --- resistances ---


def resistances(A: Interaction) -> Floats:
    """(N + 1, N + 1): R_ij of the graph with a further node 0 connected to every task; task i is node i + 1.

    R_ij = P_ii + P_jj - 2 P_ij with the pseudoinverse P of the Laplacian [[N, -1'], [-1, A]].
    """
    inner = A.dense(1.0)
    if np.abs(inner.sum(axis=1) - 1.0).max() > 1e-9 * max(1.0, float(np.abs(inner).max())):
        raise ValueError("a row of A does not sum to 1: resistances are those of a graph, where A = I + Laplacian")
    whole = np.full((A.N + 1, A.N + 1), -1.0)
    whole[0, 0] = A.N
    whole[1:, 1:] = inner
    P = np.linalg.pinv(whole, hermitian=True)
    R = np.diagonal(P)[:, None] + np.diagonal(P)[None, :] - 2 * P
    np.fill_diagonal(R, 0.0)
    return np.asarray(R)


def inverse_centred(R: Floats) -> Floats:
    """A^-1 from averages of resistances (Proposition 3.1, corrected), N = n - 1 tasks:

    (A^-1)_ij = -R_ij / 2 + (R_i. + R_j.) / (2 n) - R_.. / (2 n^2) + (N + 2) / n^2, where a dot means a sum.
    """
    n = len(R)
    sums = R.sum(axis=1)[1:]
    means = (sums[:, None] + sums[None, :]) / (2 * n)
    return np.asarray(-R[1:, 1:] / 2 + means - R.sum() / (2 * n * n) + (n + 1) / (n * n))


def inverse_grounded(R: Floats) -> Floats:
    """(A^-1)_ij = (R_i0 + R_j0 - R_ij) / 2, in particular (A^-1)_ii = R_i0: the dummy node is the ground."""
    ground = R[1:, 0]
    return np.asarray((ground[:, None] + ground[None, :] - R[1:, 1:]) / 2)


# --- checked input ---


def _rows(X: Any, name: str) -> Any:
    given: Any = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    if given.ndim != 2:
        raise ValueError(f"{name} has {given.ndim} dimensions; give rows and columns")
    rows = sparse.csr_array(given).astype(np.float64)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    if not np.isfinite(rows.data).all():
        raise ValueError(f"{name} holds a value that is not finite")
    return rows


def _squares(rows: Any) -> Floats:
    """|x|^2 of every row, added in the order of the features like every product of rows."""
    at = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return np.bincount(at, weights=rows.data * rows.data, minlength=rows.shape[0]).astype(np.float64)


def _scales(code: KernelCode, xx: Floats) -> Floats:
    """`kernels.row_scale` for arrays."""
    if not code.normalize or code.kind == GAUSSIAN:
        return np.ones_like(xx)
    base = xx if code.kind == LINEAR else code.gamma * xx + code.coef0
    return np.divide(1.0, np.sqrt(base), out=np.zeros_like(xx), where=base > 0.0)


def _values(code: KernelCode, dot: Floats, xx: Floats, zz: Floats, scale: Floats) -> Floats:
    """`kernels.scaled_value` for arrays."""
    if code.kind == LINEAR:
        return np.asarray(dot * scale)
    if code.kind != GAUSSIAN:
        base = (code.gamma * dot + code.coef0) * scale
        power = base.copy()
        for _ in range(code.degree - 1):
            power *= base
        return np.asarray(power)
    both = xx + zz
    distance = both - 2.0 * dot
    return np.where(distance <= EQUAL * both, 1.0, np.exp(-code.gamma * np.maximum(distance, 0.0)))


def _tasks(task: ArrayLike, N: int, n: int, name: str) -> Ints:
    slots = np.asarray(task)
    if slots.shape != (n,) or (n and slots.dtype.kind not in "iu"):
        raise ValueError(f"{name} has shape {slots.shape}; give one task slot per row, {n} integers")
    if n and not (slots.min() >= 0 and slots.max() < N):
        raise ValueError(
            f"{name} holds the slot {slots.min() if slots.min() < 0 else slots.max()}; there are {N} tasks"
        )
    return slots.astype(np.int64)
