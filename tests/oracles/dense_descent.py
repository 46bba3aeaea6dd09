"""Multitask mirror descent in dense NumPy, one short text for all regularisers, and adversaries for it."""

import numpy as np

from weft.evaluation import Descent, loss_and_slope

KINDS = ("random", "alternating", "flooded", "against", "compound")


def clique(N, b):
    """A^-1 and A^{1/2} of A = I + b (I - J)."""
    J = np.full((N, N), 1 / N)
    if b == np.inf:
        return J, None
    return (np.eye(N) - J) / (1 + b) + J, (np.eye(N) - J) * np.sqrt(1 + b) + J


def half_inverse(inverse):
    w, V = np.linalg.eigh(inverse)
    return V @ np.diag(np.sqrt(np.maximum(w, 0))) @ V.T


def norm(V, p):
    return np.linalg.norm(np.atleast_2d(V), ord=p, axis=1)


def link(V, r):
    """The gradient of |v|_r^2 / 2, row by row."""
    size = norm(V, r)[:, None]
    return np.sign(V) * np.abs(np.divide(V, size, out=np.zeros_like(V), where=size > 0)) ** (r - 1) * size


def point(regularizer, theta):
    """y = argmin Psi(y) - <theta, y>."""
    name, p = regularizer if isinstance(regularizer, tuple) else (regularizer, 2.0)
    if name == "euclidean":
        return theta
    if name == "entropy":
        e = np.exp(theta - theta.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)
    q = p / (p - 1)
    if name == "p-norm":
        return link(theta, q)
    Y = np.zeros_like(theta)
    for i, row in enumerate(theta):  # y = f_q([theta + nu]_+), summing to 1
        low, high = -row.max(), 1 - row.min() + 1
        for _ in range(100):
            nu = (low + high) / 2
            Y[i] = link(np.maximum(row + nu, 0)[None], q)[0]
            low, high = (nu, high) if Y[i].sum() < 1 else (low, nu)
    return Y / Y.sum(axis=1, keepdims=True)


def adversary(kind, seed, N, d, loss="linear", simplex=False):
    """A function of (t, x) that gives tasks, rows of length at most 1, and labels."""
    rng = np.random.default_rng(seed)
    fixed, truth = rng.normal(size=d), rng.normal(size=(N, d))
    fixed /= max(np.linalg.norm(fixed), 1e-9)

    def draw(t, x):
        tasks = np.array([rng.integers(N)])
        if kind == "compound":
            tasks = np.flatnonzero(rng.random(N) < 0.7)
        elif kind == "flooded" and rng.random() < 0.9:
            tasks = np.array([0])
        rows = rng.normal(size=(len(tasks), d))
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        if kind == "alternating":
            rows[:] = fixed * (-1) ** t
        if kind == "against":  # the gradient points where the learner stands
            for r, i in enumerate(tasks):
                if simplex:
                    rows[r] = np.eye(d)[np.argmax(x[i])]
                elif np.any(x[i]):
                    rows[r] = x[i] / np.linalg.norm(x[i])
        y = np.sum(truth[tasks] * rows, axis=1)
        if loss in ("logistic", "hinge"):
            y = np.where(y + rng.normal(size=len(y)) > 0, 1.0, -1.0)
        y[rng.random(len(y)) < 0.1] = np.nan
        return tasks, rows, y

    return draw


def descend(
    draw, T, N, d, regularizer="euclidean", b=1.0, eta=0.1, loss="linear", update="mirror", radius=np.inf, lie=1
):
    """Play T rounds, and record them. eta is a number, or a function: of t for the leader, else of sum_t |g|_*^2.

    A learner with lie != 1 moves by lie times eta.
    """
    inverse, root = clique(N, b)
    half = half_inverse(inverse)
    p = {"euclidean": 2.0, "entropy": 1.0}.get(regularizer) or regularizer[1]
    q = np.inf if p == 1 else p / (p - 1)
    simplex = regularizer == "entropy" or regularizer[0] == "p-norm simplex"
    theta, total, kept = np.zeros((N, d)), 0.0, []
    for t in range(T):
        rate = eta(t) if update == "leader" and callable(eta) else eta
        Y = point(regularizer, rate * theta if update == "leader" else theta)
        size = np.sqrt(np.sum(norm(Y, p) ** 2))
        scale = min(1.0, radius / size) if size else 1.0
        Y = scale * Y
        x = half @ Y
        tasks, rows, y = draw(t, x)
        scores = np.sum(rows * x[tasks], axis=1)
        G = loss_and_slope(loss, scores, y)[1][:, None] * rows
        total += np.sum(norm(half[:, tasks] @ G, q) ** 2) / inverse[0, 0]  # |g|_*^2 for one task
        if update == "mirror" and callable(eta):
            rate = eta(total) if total else np.inf
        if update == "mirror":
            theta = link(Y, p) if regularizer[0] == "p-norm simplex" else scale * theta
        if np.any(G):
            theta = theta - (lie if update == "leader" else lie * rate) * half[:, tasks] @ G
        kept.append((tasks, rows, y, scores, rate, x))
    tasks, rows, y, scores, rates, points = zip(*kept, strict=True)
    return Descent(
        X=np.concatenate(rows), y=np.concatenate(y), task=np.concatenate(tasks), scores=np.concatenate(scores),
        rounds=np.cumsum([0, *map(len, tasks)]), eta=np.array(rates), inverse=inverse, root=root, loss=loss,
        update=update, regularizer=regularizer, lam=1.0 if regularizer in ("euclidean", "entropy") else p - 1,
        start=np.full(d, 1 / d) if simplex else np.zeros(d), radius=radius, iterates=np.array(points),
    )  # fmt: skip


def similar(rng, N, d, D, sigma, p=2.0):
    """A random comparator with |u_i|_p <= D and Var_p(u) <= sigma^2 D^2, on the boundary of one of them."""
    U = rng.normal(size=(1, d)) * rng.integers(0, 2) + rng.normal(size=(N, d)) * rng.random()
    U *= D / max(norm(U, p).max(), 1e-9)
    mean = U.mean(axis=0)
    spread = np.sum(norm(U - mean, p) ** 2)
    return mean + (U - mean) * min(1.0, sigma * D * np.sqrt((N - 1) / spread)) if N > 1 and spread else U


def similar_on_simplex(rng, N, d, sigma):
    """A random comparator in the simplex with u_i >= (1 - sigma) u_k."""
    centre, own = rng.dirichlet(np.full(d, 0.5)), rng.dirichlet(np.full(d, 0.5), size=N)
    low, high = 0.0, 1.0
    for _ in range(50):
        part = (low + high) / 2
        U = (1 - part) * centre + part * own
        low, high = (part, high) if np.all(U.min(axis=0) >= (1 - sigma) * U.max(axis=0)) else (low, part)
    return (1 - low) * centre + low * own
