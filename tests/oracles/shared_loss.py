"""Dekel, Long and Singer (2007) in dense NumPy, transcribed from the paper, with no thought of speed.

Fig. 1 is `run`, Eq. 9-12 `maximizer` and `tau_finite`, Eq. 16 `tau_infinite`, Eq. 23-34 `tau_implicit`.
The multipliers of the implicit update are found by bisection and Brent's method, and where two q-norm balls
are active at once (the K-norms of Appendix A) by a primal-dual interior-point method (Boyd and Vandenberghe,
Algorithm 11.2). The single-task learners are those of Crammer et al. (2006).
"""

import math
import re
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq

INF = math.inf


# ---------------------------------------------------------------------------------------------------- norms


def parse(norm):
    """("l", p), ("max", r) or ("k", p1, p2, alpha) from the names of the catalogue."""
    if isinstance(norm, tuple):
        return norm
    if norm.startswith("l"):
        return ("l", float(norm[1:]))
    if norm.endswith("-max"):
        return ("max", float(norm[:-4]))
    p1, p2, alpha = re.fullmatch(r"k\((.+),(.+),(.+)\)", norm).groups()
    return ("k", float(p1), float(p2), float(alpha))


def conjugate(p):
    return INF if p == 1 else 1.0 if p == INF else p / (p - 1)


def p_norm(v, p):
    v = np.abs(np.asarray(v, float))
    m = v.max(initial=0.0)
    if m == 0 or p == INF:
        return m
    return m * np.sum((v / m) ** p) ** (1 / p)


def norm_value(norm, v):
    kind, *args = parse(norm)
    v = np.abs(np.asarray(v, float))
    if kind == "l":
        return p_norm(v, args[0])
    if kind == "max":  # Eq. 1, and for a real r a fraction of the next one
        r = min(args[0], len(v))
        v = np.sort(v)[::-1]
        whole = int(r)
        rest = (r - whole) * v[whole] if whole < len(v) else 0.0
        return v[:whole].sum() + rest
    return float(maximizer(norm, v) @ v)  # a norm is the dual of its dual


def norm_dual(norm, u):
    kind, *args = parse(norm)
    if kind == "l":
        return p_norm(u, conjugate(args[0]))
    if kind == "max":  # Eq. 3
        return max(p_norm(u, INF), p_norm(u, 1) / args[0])
    p1, p2, alpha = args
    return max(p_norm(u, conjugate(p1)), p_norm(u, conjugate(p2)) / alpha)


def remoteness(norm, k):
    """Of the dual norm on k tasks: Lemmas 2 and 3; an upper bound for the K-norms."""
    kind, *args = parse(norm)

    def of_q(q):
        return 1.0 if q <= 2 else k ** (0.5 - 1 / q)

    if kind == "l":
        return of_q(conjugate(args[0]))
    if kind == "max":
        return math.sqrt(min(args[0], k))
    p1, p2, alpha = args
    q1, q2 = conjugate(p1), conjugate(p2)
    bounds = [of_q(q1), alpha * of_q(q2)]
    if q1 != q2:  # |u|_2 <= |u|_q1^(1-h) |u|_q2^h
        h = (0.5 - 1 / q1) / (1 / q2 - 1 / q1)
        if 0 <= h <= 1:
            bounds.append(alpha**h)
    return min(bounds)


def maximizer(norm, l):
    """A tau >= 0 of unit dual norm with tau . l = ||l||, zero where l is (Eq. 10-12); ties: lowest index."""
    kind, *args = parse(norm)
    l = np.asarray(l, float)
    tau = np.zeros(len(l))
    if not np.any(l > 0):
        return tau
    if kind == "l":
        p = args[0]
        if p == 1:
            tau[l > 0] = 1.0
        elif p == INF:
            tau[np.argmax(l)] = 1.0
        else:
            u = l / l.max()
            tau[l > 0] = u[l > 0] ** (p - 1) / p_norm(u, p) ** (p - 1)
        return tau
    if kind == "max":
        order = np.argsort(-l, kind="stable")
        r = min(args[0], len(l))
        whole = int(r)
        tau[order[:whole]] = 1.0
        if whole < len(l):
            tau[order[whole]] = r - whole
        tau[l <= 0] = 0.0
        return tau
    p1, p2, alpha = args
    if (p1, p2) == (INF, 1):  # K(p1, p2, alpha) = alpha K(p2, p1, 1/alpha)
        return alpha * maximizer(("k", p2, p1, 1 / alpha), l)
    if (p1, p2) == (1, INF):  # Appendix A
        return maximizer(("max", alpha), l) if alpha >= 1 else alpha * maximizer(("l", INF), l)
    for p, scale in ((p1, 1.0), (p2, alpha)):
        tau = scale * maximizer(("l", p), l)
        if norm_dual(norm, tau) <= 1 + 1e-15:
            return tau
    tau = np.zeros(len(l))
    on = l > 0
    tau[on] = _two_balls(l[on], np.zeros(on.sum()), conjugate(p1), 1.0, conjugate(p2), alpha)
    return tau


# --------------------------------------------------------------------------------------------- update weights


def tau_finite(norm, l, C):
    """Eq. 9."""
    return C * maximizer(norm, l)


def tau_infinite(norm, l, C, R, rho):
    """Eq. 16."""
    if R == 0:
        return np.zeros(len(l))
    return min(C, norm_value(norm, l) / (R**2 * rho**2)) * maximizer(norm, l)


def tau_implicit(norm, l, n2, C):
    """Lemma 8: argmax sum 2 tau l - tau^2 n^2 over tau >= 0, ||tau||* <= C."""
    kind, *args = parse(norm)
    l, n2 = np.asarray(l, float), np.asarray(n2, float)
    tau = np.zeros(len(l))
    on = l > 0
    if not on.any():
        return tau
    l, n2 = l[on], np.where(C * n2[on] <= 1e-16 * l[on], 0.0, n2[on])
    if np.all(n2 > 0) and norm_dual(norm, l / n2) <= C:
        tau[on] = l / n2
        return tau
    if kind == "l":
        p = args[0]
        tau[on] = _r_max(l, n2, C, 1.0) if p == INF else _ball(l, n2, conjugate(p), C)
    elif kind == "max":
        tau[on] = _r_max(l, n2, C, args[0])
    else:
        p1, p2, alpha = args
        if (p1, p2) == (INF, 1):
            tau[on] = tau_implicit(("k", p2, p1, 1 / alpha), l, n2, alpha * C)
        elif (p1, p2) == (1, INF):
            tau[on] = _r_max(l, n2, C, alpha) if alpha >= 1 else _r_max(l, n2, C * alpha, 1.0)
        else:
            tau[on] = _pair(l, n2, conjugate(p1), C, conjugate(p2), alpha * C)
    return tau


def _over(l, n2):
    return np.divide(l, n2, out=np.full(len(l), INF), where=n2 > 0)


def _ball(l, n2, q, c):
    """argmax over |tau|_q <= c, 1 < q <= inf: n^2 tau + theta (tau/c)^(q-1) = l (Eq. 26-27 for q = 2)."""
    free = np.minimum(c, _over(l, n2))
    if q == INF or p_norm(free, q) <= c:
        return free

    def s_of(theta):  # the root s in [0, 1] of n^2 c s + theta s^(q-1) = l, coordinate by coordinate
        if q == 2:
            return np.minimum(1.0, _over(l, n2 * c + theta))
        low, high = np.zeros(len(l)), np.ones(len(l))
        for _ in range(64):
            s = (low + high) / 2
            above = n2 * c * s + theta * s ** (q - 1) > l
            low, high = np.where(above, low, s), np.where(above, s, high)
        return (low + high) / 2

    top = p_norm(l, conjugate(q))
    theta = brentq(lambda t: p_norm(s_of(t), q) - 1, 0.0, top * (1 + 1e-12), xtol=1e-16 * top, rtol=1e-15)
    return c * s_of(theta)


def _r_max(l, n2, C, r):
    """Eq. 33 with theta by bisection on sum tau = r C; a jump (zero instances) is bridged by a blend."""

    def tau_of(theta):
        some = np.divide(l - theta, n2, out=np.where(l > theta, INF, 0.0), where=n2 > 0)
        return np.clip(some, 0.0, C)

    if tau_of(0.0).sum() <= r * C:
        return tau_of(0.0)
    low, high = 0.0, l.max()
    for _ in range(200):
        theta = (low + high) / 2
        if tau_of(theta).sum() > r * C:
            low = theta
        else:
            high = theta
    left, right = tau_of(low), tau_of(high)
    drop = left.sum() - right.sum()
    share = (r * C - right.sum()) / drop if drop > 0 else 0.0
    return share * left + (1 - share) * right


def _pair(l, n2, q1, c1, q2, c2):
    """argmax over the intersection of two balls: one of them alone if its solution lies in the other."""
    for q, c, other, d in ((q1, c1, q2, c2), (q2, c2, q1, c1)):
        tau = _r_max(l, n2, c, 1.0) if q == 1 else _ball(l, n2, q, c)
        if p_norm(tau, other) <= d:
            return tau
    return _two_balls(l, n2, q1, c1, q2, c2)


def _two_balls(l, n2, q1, c1, q2, c2):
    """argmin sum n^2 tau^2/2 - l tau, |tau|_q1 <= c1, |tau|_q2 <= c2, tau >= 0, by interior points."""
    k, c, m = len(l), min(c1, c2), l.max()
    a, b = n2 * c / m, l / m  # in s = tau/c

    constraints = [(-np.eye(k), None, np.zeros(k))]  # (linear rows, q, bound): rows s - bound, or sum s^q - bound
    for q, radius in ((q1, c1 / c), (q2, c2 / c)):
        if q == INF:
            constraints.append((np.eye(k), None, np.full(k, radius)))
        elif q == 1:
            constraints.append((np.ones((1, k)), None, np.array([radius])))
        else:
            constraints.append((None, q, np.array([radius**q])))

    def f(s):
        return np.concatenate([(A @ s if A is not None else [np.sum(s**q)]) - d for A, q, d in constraints])

    def jacobian(s):
        return np.vstack([A if A is not None else q * s[None, :] ** (q - 1) for A, q, d in constraints])

    def curvature(s, multipliers):
        h, at = a.copy(), 0
        for A, q, d in constraints:
            if A is None:
                h += multipliers[at] * q * (q - 1) * s ** (q - 2)
            at += len(d)
        return h

    def residual(s, u, t):
        return np.concatenate([a * s - b + jacobian(s).T @ u, -u * f(s) - 1 / t])

    s = np.full(k, 0.5 / k)
    u = 1 / -f(s)
    for _ in range(200):
        gap = -f(s) @ u
        t = 10 * len(u) / gap
        r = residual(s, u, t)
        if gap < 1e-15 and np.abs(r[:k]).max() < 1e-13:
            break
        g, J = f(s), jacobian(s)
        matrix = np.block([[np.diag(curvature(s, u)), J.T], [-u[:, None] * J, -np.diag(g)]])
        try:
            step = np.linalg.solve(matrix, -r)
        except np.linalg.LinAlgError:
            break
        ds, du = step[:k], step[k:]
        size = 0.99 * min(1.0, *(-u[du < 0] / du[du < 0]), 1.0)
        while size > 1e-14 and (np.any(s + size * ds <= 0) or np.any(f(s + size * ds) >= 0)):
            size /= 2
        while size > 1e-14 and np.linalg.norm(residual(s + size * ds, u + size * du, t)) > (
            1 - 0.01 * size
        ) * np.linalg.norm(r):
            size /= 2
        if size <= 1e-14:
            break
        s, u = s + size * ds, u + size * du
    return c * s


# ------------------------------------------------------------------------------------------------ kernels


def kernel_value(kernel, x, z):
    """K(x, z) for a name or a dict of name, degree, gamma, coef0, normalize."""
    spec = {"name": kernel} if isinstance(kernel, str) else dict(kernel)
    if spec.pop("normalize", False):
        xx, zz = kernel_value(spec, x, x), kernel_value(spec, z, z)
        return kernel_value(spec, x, z) / math.sqrt(xx * zz) if xx > 0 and zz > 0 else 0.0
    if spec["name"] == "linear":
        return float(x @ z)
    if spec["name"] == "poly":
        return (spec["gamma"] * float(x @ z) + spec["coef0"]) ** spec["degree"]
    return math.exp(-spec["gamma"] * float((x - z) @ (x - z)))


# -------------------------------------------------------------------------------------------- the skeleton


def bounds_of_rounds(n, rounds):
    """First row of every round, and n."""
    if rounds is None:
        return np.arange(n + 1)
    rounds = np.asarray(rounds)
    starts = [i for i in range(n) if i == 0 or rounds[i] != rounds[i - 1]]
    return np.array([*starts, n])


def run(
    algorithm,
    X,
    y,
    task,
    rounds=None,
    *,
    norm="l2",
    C=None,
    T=None,
    R=None,
    loss="hinge",
    epsilon=0.1,
    kernel=None,
    variant="pa-i",
    pooled=False,
):
    """(scores, W, trace) of one pass; columns of trace: loss, tau, |v|^2, C; rows of W by first appearance.

    In the kernel form W is the list of (task slot, coefficient, row) with a positive tau.
    """
    X = np.asarray(X, float)
    n, d = X.shape
    names = list(dict.fromkeys(["pooled"] if pooled and n else task))
    slot = np.array([0 if pooled else names.index(name) for name in task], int)
    y = np.full(n, 1.0) if loss == "uniclass" else np.asarray(y, float)
    dormant = np.isnan(y) | ((y == 0) & (loss == "hinge"))
    W = np.zeros((len(names), d))
    support = []
    scores, trace = np.zeros(n), np.zeros((n, 4))

    def score(i):
        if kernel is not None:
            return sum(c * kernel_value(kernel, X[row], X[i]) for j, c, row in support if j == slot[i])
        if loss == "uniclass":
            return np.linalg.norm(X[i] - W[slot[i]])
        return W[slot[i]] @ X[i]

    def suffer(i, s):
        """Loss, direction (or its sign, in the kernel form) and squared norm of the direction."""
        if loss == "uniclass":
            return max(0.0, s - epsilon), (X[i] - W[slot[i]]) / s if s > 0 else np.zeros(d), 1.0
        n2 = X[i] @ X[i] if kernel is None else kernel_value(kernel, X[i], X[i])
        if loss == "hinge":
            l, sign = max(0.0, 1 - y[i] * s), y[i]
        else:
            l, sign = max(0.0, abs(y[i] - s) - epsilon), np.sign(y[i] - s)
        return l, (sign * X[i] if kernel is None else sign), n2

    def move(i, tau, v):
        if kernel is None:
            W[slot[i]] += tau * v
        elif tau > 0:
            support.append((slot[i], tau * v, i))

    edges = bounds_of_rounds(n, rounds)
    for first, last in pairwise(edges):
        for i in range(first, last):
            scores[i] = score(i)
        active = [i for i in range(first, last) if not dormant[i]]
        if algorithm in ("perceptron", "pa"):
            for i in active:
                l, v, n2 = suffer(i, score(i))
                if algorithm == "perceptron":
                    tau = 1.0 if y[i] * score(i) <= 0 else 0.0
                else:
                    tau = _passive_aggressive(variant, l, n2, 1.0 if C is None else C)
                move(i, tau, v)
                trace[i] = l, tau, n2, 1.0 if C is None else C
            continue
        active.sort(key=lambda i: slot[i])
        if not active:
            continue
        l, v, n2 = zip(*(suffer(i, scores[i]) for i in active), strict=True)
        l, n2 = np.array(l), np.array(n2)
        k, biggest = len(active), math.sqrt(n2.max())
        rho = remoteness(norm, k)
        if C is None:
            if T is not None and R is not None and algorithm != "infinite-horizon":
                C = 1 / (math.sqrt(T) * R**2)
            elif algorithm == "finite-horizon":
                C = 1.0
            elif biggest > 0:
                C = 1 / ((biggest if R is None else R) ** 2 * rho**2)
        if C is None:
            tau = np.zeros(k)
        elif algorithm == "finite-horizon":
            tau = tau_finite(norm, l, C)
        elif algorithm == "infinite-horizon":
            tau = tau_infinite(norm, l, C, biggest if R is None else R, rho)
        else:
            tau = tau_implicit(norm, l, n2, C)
        for at, i in enumerate(active):
            move(i, tau[at], v[at])
            trace[i] = l[at], tau[at], n2[at], 0.0 if C is None else C
    return scores, (W if kernel is None else support), trace


def _passive_aggressive(variant, l, n2, C):
    """Crammer et al. (2006): PA, PA-I, PA-II."""
    if variant == "pa-ii":
        return l / (n2 + 1 / (2 * C))
    if n2 == 0:
        return 0.0
    return l / n2 if variant == "pa" else min(C, l / n2)


# ------------------------------------------------------------------------------------------------ problems

NORMS = (
    "l1",
    "l2",
    "l1.5",
    "l3",
    "linf",
    "1-max",
    "2-max",
    "2.5-max",
    "k(1,inf,2.5)",
    "k(1.5,3,1.3)",
    "k(1,2,1.2)",
)


def problem(seed, *, tasks=4, features=3, rounds=20, loss="hinge", absent=0.25, marked=0.15, zero=0.1):
    """(X, y, task, round of each row, generating vectors): noisy rounds, some tasks absent, marked or zero.

    The first round has every task awake, in order, so that a task's slot is its number; one round has nobody.
    """
    rng = np.random.default_rng(seed)
    U = rng.normal(size=(tasks, features))
    X, y, task, at = [], [], [], []
    for t in range(rounds):
        awake = [j for j in range(tasks) if t == 0 or rng.random() >= absent] or [int(rng.integers(tasks))]
        for j in awake:
            x = rng.normal(size=features) * 10 ** rng.uniform(-0.5, 0.5)
            if loss == "uniclass":
                x = U[j] + 0.5 * x
            if rng.random() < zero:
                x[:] = 0.0
            x[np.abs(x) < 0.2] = 0.0
            noise = rng.normal() * 0.5
            label = U[j] @ x + noise if loss == "epsilon-insensitive" else 1.0 if U[j] @ x + noise >= 0 else -1.0
            if t == rounds // 2 or (t > 0 and rng.random() < marked):
                label = math.nan if loss == "epsilon-insensitive" else 0.0
            X.append(x)
            y.append(label)
            task.append(f"task {j}")
            at.append(t)
    return np.array(X), (None if loss == "uniclass" else np.array(y)), task, np.array(at), U
