"""Yang, Zhao and Gao, Robust online multi-task learning with correlative and personalized structures, in dense NumPy.

Algorithms 1 (ROMCO-NuCl) and 2 (ROMCO-LogD), and the learners they are compared with that no other module has: COML,
CW-COL, and the two batch methods MTFL and TRML, which fit all rows seen so far. Matrices are features x tasks.

Where the paper is silent, it is read so. A round without rows does not count. `schedule` multiplies both step sizes by
1, 1/sqrt(t) or kappa^(t-1) in round t, counted from 1 with the rounds that change nothing; with `rho_only` it
multiplies the shrinkage rho of the singular values alone. `rho0`, if given, stands for eta1 lam1. All tasks are shrunk,
absent ones too.

COML: u minimises e1/2 |u - u_k|^2 + e2/2 |u - w|^2 + C max(0, 1 - y u.x). CW-COL: a step minimises
KL(N(m, S) || prior) + (max(0, 1 - y m.x)^2 + x'S x) / (2 r) over Gaussians with diagonal S (Crammer, Kulesza and Dredze
2009, Eq. 3). In both the personal model predicts; it meets the global one as it was before the example, and only if its
own margin is below 1; an instance of zeros changes nothing; in a round of several rows all are scored first, then every
row in turn looks at its margins again.
"""

import numpy as np


def soft_values(h, tau):
    """Eq. 15."""
    return np.maximum(h - tau, 0.0)


def log_values(h, rho):
    """Eq. 20: the lowest of the stationary points, which are the roots of Eq. 21 times rho."""
    return np.array([_log_value(float(one), rho) for one in h])


def _log_value(h, rho):
    if h == 0.0 or rho == 0.0:
        return h
    roots = np.roots([1.0, -h, 1.0 + 2.0 * rho, -h])
    s = roots.real[np.abs(roots.imag) <= 1e-6 * (1.0 + h)]
    for _ in range(3):  # the roots of a companion matrix lose half their digits where two of them meet
        slope = s - h + 2.0 * rho * s / (1.0 + s * s)
        bend = 1.0 + 2.0 * rho * (1.0 - s * s) / (1.0 + s * s) ** 2
        s = np.clip(s - slope / np.where(np.abs(bend) > 1e-8, bend, np.inf), 0.0, h)
    s = np.sort(s)
    return float(s[np.argmin(0.5 * (s - h) ** 2 + rho * np.log1p(s * s))])


def shrink_values(U, rule, strength):
    """Theorems 1 and 2: the singular vectors stay. A matrix without columns of zeros first: they stay so."""
    live = U.any(axis=0)
    P, h, Qt = np.linalg.svd(U[:, live], full_matrices=False)
    W = np.zeros_like(U)
    W[:, live] = (P * rule(h, strength)) @ Qt
    return W


def shrink_columns(V, tau):
    """Eq. 18."""
    W = np.zeros_like(V)
    for i, v in enumerate(V.T):
        n = np.linalg.norm(v)
        if n > tau:
            W[:, i] = (1.0 - tau / n) * v
    return W


class Romco:
    """Algorithms 1 ("nucl") and 2 ("logd")."""

    def __init__(
        self,
        kind,
        tasks,
        features,
        eta1=0.1,
        eta2=0.1,
        lam1=1e-3,
        lam2=1e-3,
        schedule="constant",
        kappa=0.99,
        always_prox=False,
        rho_only=False,
        rho0=None,
    ):
        self.rule = {"nucl": soft_values, "logd": log_values}[kind]
        self.eta1, self.eta2, self.lam1, self.lam2 = eta1, eta2, lam1, lam2
        self.schedule, self.kappa = schedule, kappa
        self.always_prox, self.rho_only, self.rho0 = always_prox, rho_only, rho0
        self.U, self.V = np.zeros((features, tasks)), np.zeros((features, tasks))
        self.t = 0

    def factor(self):
        return {"constant": 1.0, "sqrt": self.t**-0.5, "geometric": self.kappa ** (self.t - 1)}[self.schedule]

    def learn_round(self, X, y, tasks):
        if len(y) == 0:
            return np.zeros(0)
        self.t += 1
        scores = np.array([(self.U[:, i] + self.V[:, i]) @ x for x, i in zip(X, tasks, strict=True)])  # line 6, Eq. 5
        g = np.zeros_like(self.U)  # the gradient by U, and by V
        for x, label, i, s in zip(X, y, tasks, scores, strict=True):
            if label * s < 1.0:
                g[:, i] = -label * x
        if (y * scores < 1.0).any() or self.always_prox:  # line 9
            f = self.factor()
            step = 1.0 if self.rho_only else f
            rho = f * (self.eta1 * self.lam1 if self.rho0 is None else self.rho0)
            self.U = shrink_values(self.U - step * self.eta1 * g, self.rule, rho)  # Eq. 16 or 21
            self.V = shrink_columns(self.V - step * self.eta2 * g, step * self.eta2 * self.lam2)  # Eq. 18
        return scores


def hinge(w, x, y):
    return max(0.0, 1.0 - y * (w @ x))


class PaUnique:
    """PA-I for every task by itself (Crammer et al. 2006)."""

    def __init__(self, tasks, features, C=1.0):
        self.C, self.W = C, np.zeros((tasks, features))

    def learn_round(self, X, y, tasks):
        scores = np.array([self.W[i] @ x for x, i in zip(X, tasks, strict=True)])
        for x, label, i in zip(X, y, tasks, strict=True):
            if x.any():
                self.W[i] += min(self.C, hinge(self.W[i], x, label) / (x @ x)) * label * x
        return scores


class Coml:
    """Collaborative online learning: a personal model is drawn to a global PA-I model (Li et al. 2014)."""

    def __init__(self, tasks, features, C=1.0, e1=1.0, e2=1.0):
        self.C, self.e1, self.e2 = C, e1, e2
        self.u, self.w = np.zeros((tasks, features)), np.zeros(features)

    def learn_round(self, X, y, tasks):
        scores = np.array([self.u[i] @ x for x, i in zip(X, tasks, strict=True)])
        for x, label, i in zip(X, y, tasks, strict=True):
            if not x.any():
                continue
            if label * (self.u[i] @ x) < 1.0:
                mean = (self.e1 * self.u[i] + self.e2 * self.w) / (self.e1 + self.e2)
                tau = min(self.C / (self.e1 + self.e2), hinge(mean, x, label) / (x @ x))
                self.u[i] = mean + tau * label * x
            self.w += min(self.C, hinge(self.w, x, label) / (x @ x)) * label * x
        return scores


def arow(mean, variance, x, y, r):
    """One step of AROW with a diagonal covariance: the mean and the variances after it."""
    loss = hinge(mean, x, y)
    if loss == 0.0:
        return mean, variance
    mean = mean + y * loss / (x @ (variance * x) + r) * variance * x
    return mean, 1.0 / (1.0 / variance + x * x / r)


class CwCol:
    """Confidence-weighted collaboration: the prior of a personal step mixes personal and global by precision."""

    def __init__(self, tasks, features, r=1.0, mix=0.5):
        self.r, self.mix = r, mix
        self.u, self.personal = np.zeros((tasks, features)), np.ones((tasks, features))
        self.w, self.shared = np.zeros(features), np.ones(features)

    def learn_round(self, X, y, tasks):
        scores = np.array([self.u[i] @ x for x, i in zip(X, tasks, strict=True)])
        for x, label, i in zip(X, y, tasks, strict=True):
            if not x.any():
                continue
            if label * (self.u[i] @ x) < 1.0:
                own, other = self.mix / self.personal[i], (1.0 - self.mix) / self.shared
                mean = (own * self.u[i] + other * self.w) / (own + other)
                self.u[i], self.personal[i] = arow(mean, 1.0 / (own + other), x, label, self.r)
            self.w, self.shared = arow(self.w, self.shared, x, label, self.r)
        return scores


def mtfl_objective(W, X, y, gamma, eps):
    """sum_i |X_i w_i - y_i|^2 + gamma |[W, sqrt(eps) I]|_*^2: what is left when the best D is put in."""
    wide = np.hstack([W, np.sqrt(eps) * np.eye(len(W))])
    loss = sum(np.square(Xi @ w - yi).sum() for Xi, yi, w in zip(X, y, W.T, strict=True))
    return loss + gamma * np.linalg.svd(wide, compute_uv=False).sum() ** 2


def mtfl(X, y, gamma=1.0, eps=1e-4, most=100_000, close=1e-13):
    """Multi-task feature learning (Argyriou, Evgeniou and Pontil 2008, Alg. 1): w_i and D in turn, until both rest."""
    d = X[0].shape[1]
    D, W = np.eye(d) / d, np.zeros((d, len(X)))
    for _ in range(most):
        before = W
        W = np.column_stack(
            [
                D @ Xi.T @ np.linalg.solve(Xi @ D @ Xi.T + gamma * np.eye(len(yi)), yi)
                for Xi, yi in zip(X, y, strict=True)
            ]
        )
        values, vectors = np.linalg.eigh(W @ W.T + eps * np.eye(d))
        roots = np.sqrt(values)
        D = (vectors * (roots / roots.sum())) @ vectors.T
        if np.abs(W - before).max() <= close * (1.0 + np.abs(W).max()):
            return W
    raise RuntimeError("MTFL did not come to rest")


def trml_loss(W, X, y, loss):
    """sum_i of the mean loss of task i, and its gradient; a task without rows has none."""
    total, gradient = 0.0, np.zeros_like(W)
    for i, (Xi, yi) in enumerate(zip(X, y, strict=True)):
        if len(yi) == 0:
            continue
        s = Xi @ W[:, i]
        if loss == "logistic":
            total += np.logaddexp(0.0, -yi * s).mean()
            slope = -yi * np.exp(-np.logaddexp(0.0, yi * s))
        else:
            total += np.square(s - yi).mean()
            slope = 2.0 * (s - yi)
        gradient[:, i] = Xi.T @ slope / len(yi)
    return total, gradient


def trml(X, y, lam=0.01, loss="logistic", most=200_000, close=1e-12):
    """Trace-norm regularised learning (Ji and Ye 2009): FISTA, begun anew whenever it turns back."""
    bend = {"logistic": 0.25, "squared": 2.0}[loss]
    L = max(bend * np.linalg.norm(Xi, 2) ** 2 / len(yi) for Xi, yi in zip(X, y, strict=True) if len(yi))
    W = ahead = np.zeros((X[0].shape[1], len(X)))
    a = 1.0
    if L == 0.0:
        return W
    for _ in range(most):
        new = shrink_values(ahead - trml_loss(ahead, X, y, loss)[1] / L, soft_values, lam / L)
        if np.abs(new - ahead).max() <= close * (1.0 + np.abs(new).max()):
            return new
        if ((ahead - new) * (new - W)).sum() > 0.0:  # O'Donoghue and Candes 2015: the momentum points uphill
            a, ahead = 1.0, W
            new = shrink_values(W - trml_loss(W, X, y, loss)[1] / L, soft_values, lam / L)
        b = (1.0 + np.sqrt(1.0 + 4.0 * a * a)) / 2.0
        ahead = new + (a - 1.0) / b * (new - W)
        W, a = new, b
    raise RuntimeError("TRML did not come to rest")


class Refit:
    """A batch method in a stream: fitted to all rows seen whenever `every` more have come, 0 before (Sec. 6.1.1)."""

    def __init__(self, fit, tasks, features, every=100):
        self.fit, self.every, self.seen = fit, every, 0
        self.X, self.y = [np.zeros((0, features)) for _ in range(tasks)], [np.zeros(0) for _ in range(tasks)]
        self.W = np.zeros((features, tasks))

    def learn_round(self, X, y, tasks):
        scores = np.array([self.W[:, i] @ x for x, i in zip(X, tasks, strict=True)])
        for x, label, i in zip(X, y, tasks, strict=True):
            self.X[i], self.y[i] = np.vstack([self.X[i], x]), np.append(self.y[i], label)
        before, self.seen = self.seen, self.seen + len(y)
        if self.seen // self.every > before // self.every:
            self.W = self.fit(self.X, self.y)
        return scores
