"""The projections of multitask online gradient descent (Sec. 4 of `mirror_descent`'s paper), in the A-norm.

Slow and from the definitions: block coordinate descent for the product of balls, a scalar root for the variance.
`project_exactly` solves the same problems with cvxpy, to about six digits.
"""

import math

import numpy as np
from scipy.optimize import brentq


def clip(x, D):
    return x * min(1.0, D / max(np.linalg.norm(x), 1e-300))


def project_mahalanobis(Z, geometry, radius):
    """Eq. 16 in x: all blocks by one factor."""
    size = math.sqrt(max(0.0, float(np.sum(Z * (geometry.A @ Z)))))
    return Z * min(1.0, radius / size) if size > 0 else Z


def project_balls(Z, A, D):
    """argmin |X - Z|_A over |x_i| <= D, one block at a time: given the others, a block's level sets are spheres.

    Once the blocks have settled, Newton's method on the multipliers of those on their sphere gives the last digits;
    its answer counts only if it satisfies the optimality conditions.
    """
    if np.all(np.linalg.norm(Z, axis=1) <= D):
        return Z
    X = np.array([clip(z, D) for z in Z])
    scale, tolerance = max(D, np.abs(Z).max()), 1e-2
    for _ in range(100_000):
        moved = 0.0
        for i in range(len(Z)):
            new = clip(X[i] - A[i] @ (X - Z) / A[i, i], D)
            moved = max(moved, np.abs(new - X[i]).max())
            X[i] = new
        if moved <= tolerance * scale:
            refined = _refine(X, Z, A, D)
            if refined is not None:
                return refined
            if tolerance < 4e-15:
                return X
            tolerance /= 30
    raise ArithmeticError("block coordinate descent did not converge")


def _refine(X, Z, A, D):
    """(A + diag(mu)) X = A Z with mu >= 0 on the spheres and 0 inside, or None if Newton does not find such a mu.

    Newton's method on 1/|x_i| = 1/D, which is almost linear in mu; a block with mu < 0 leaves the spheres, one outside
    its ball joins them.
    """
    on = np.linalg.norm(X, axis=1) >= D * (1 - 1e-12)
    mu = np.where(on, np.maximum(0.0, np.sum(X * (A @ (Z - X)), axis=1)) / D**2, 0.0)
    for _ in range(60):
        B = np.linalg.inv(A + np.diag(mu))
        X = B @ A @ Z
        size = np.linalg.norm(X, axis=1)
        if np.all(np.abs(size[on] - D) <= 1e-15 * D) and size.max() <= D * (1 + 1e-15):
            return X
        settled = np.all(np.abs(size[on] - D) <= 1e-9 * D)
        on |= settled & (size > D)
        jacobian = (B * (X @ X.T) / size[:, None] ** 3)[np.ix_(on, on)]
        try:
            mu[on] += np.linalg.solve(jacobian, (1 / D - 1 / size)[on])
        except np.linalg.LinAlgError:
            return None
        on &= mu > 0
        mu = np.maximum(mu, 0.0)
    return X if np.all(np.abs(size[on] - D) <= 1e-13 * D) and size.max() <= D * (1 + 1e-13) else None


def project_variance(Z, D, sigma):
    """Clique: the mean stays, the deviations shrink to (N-1) sigma^2 D^2."""
    mean = Z.mean(axis=0)
    size = np.linalg.norm(Z - mean)
    return mean + (Z - mean) * min(1.0, math.sqrt(len(Z) - 1) * sigma * D / max(size, 1e-300))


def project_v_sigma(Z, A, D, sigma):
    """Eq. 13: balls and variance. The multiplier kappa of the variance adds kappa (I - J) to A."""
    N = len(Z)
    limit = (N - 1) * sigma**2 * D**2
    L = np.eye(N) - 1 / N
    if limit == 0:
        return np.tile(clip(np.ones(N) @ A @ Z / A.sum(), D), (N, 1))

    def at(kappa):
        B = A + kappa * L
        return project_balls(np.linalg.solve(B, A @ Z), B, D)

    def excess(kappa):
        X = at(kappa)
        return float(np.sum(X * (L @ X))) / limit - 1

    if excess(0.0) <= 0:
        return at(0.0)
    high = 1.0
    while excess(high) > 0:
        high *= 2
    return at(brentq(excess, 0.0, high, xtol=1e-15, rtol=1e-15))


def project_exactly(Z, geometry, projection, *, D=None, sigma=None, radius=None):
    """The same projections by a convex solver: to test the ones above."""
    import cvxpy as cp

    N, d = Z.shape
    X = cp.Variable((N, d))
    L = np.eye(N) - 1 / N
    constraints = []
    if projection == "mahalanobis":
        constraints.append(cp.norm(geometry.root @ X, "fro") <= radius)
    if projection in ("ball", "v-sigma"):
        constraints.append(cp.norm(X, 2, axis=1) <= D)
    if projection in ("variance", "v-sigma"):
        constraints.append(cp.norm(L @ X, "fro") <= math.sqrt(N - 1) * sigma * D)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(geometry.root @ (X - Z))), constraints)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return X.value


def project(Z, geometry, projection, *, D=None, sigma=None, radius=None):
    """In the A-norm. At b = inf the rows of Z are equal, and so are those of the projection."""
    if projection == "none":
        return Z
    if projection == "mahalanobis":
        return project_mahalanobis(Z, geometry, radius)
    if projection == "variance":
        return project_variance(Z, D, sigma)
    if geometry.b == math.inf:
        return np.tile(clip(Z.mean(axis=0), D), (len(Z), 1))
    if projection == "ball":
        return project_balls(Z, geometry.A, D)
    if projection == "v-sigma":
        return project_v_sigma(Z, geometry.A, D, sigma)
    raise ValueError(projection)
