"""Projections in the norm of the interaction matrix: convex programmes, optimality conditions, limits."""

import math
import subprocess
import sys
import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.graphs.interaction import clique, laplacian
from weft.learners.descent import projections
from weft.learners.descent.links import link, project_simplex_pnorm
from weft.learners.descent.projections import (
    project_balls_clique,
    project_balls_general,
    project_v_sigma,
    project_variance,
)

STRENGTHS = [0.0, 0.5, 6.0, 1e3, 1e6, math.inf]


def cases():
    """Rows before the projection, and D: random ones and nasty ones."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(6, 4))
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    far = Z * np.array([[1e3], [50.0], [0.1], [0.2], [0.3], [0.0]])
    return {
        "random": (2.0 * rng.normal(size=(6, 4)), 1.0),
        "far": (far, 1.0),
        "one outside": (Z * np.array([[1.5]] + [[0.5]] * 5), 1.0),
        "barely outside": (Z * np.array([[1.0 + 1e-6]] + [[0.5]] * 5), 1.0),
        "opposite": (np.array([[3.0, 0.0], [-3.0, 0.0]]), 1.0),
        "inside": (0.5 * Z, 1.0),
        "equal": (np.tile(3.0 * Z[0], (5, 1)), 2.0),
        "zero rows": (np.vstack([np.zeros((3, 4)), 4.0 * Z[:2]]), 1.5),
        "one task": (3.0 * Z[:1], 1.0),
        "one feature": (3.0 * rng.normal(size=(7, 1)), 1.0),
        "one number": (np.array([[-4.0]]), 0.5),
        "all zero": (np.zeros((3, 2)), 1.0),
        "small D": (rng.normal(size=(4, 3)), 1e-3),
    }


CASES = cases()


def distance(X, Z, b):
    """|X - Z|_A^2 / 2, with extra digits for large b."""
    gap = np.asarray(X, np.longdouble) - Z
    mean = gap.mean(axis=0)
    around = ((gap - mean) ** 2).sum() * (1 + np.longdouble(b)) if math.isfinite(b) else 0
    return 0.5 * (len(Z) * (mean**2).sum() + around)


def solve(problem):
    """As exactly as the solver can; it warns where that is less than it was asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11, max_iter=200)


def programme(Z, b, D, limit=None, A=None):
    """The projection by a convex solver; coordinates are scaled by D."""
    n = len(Z)
    X = cp.Variable(Z.shape)
    if A is None and math.isinf(b):
        cost, extra = n * cp.sum_squares(X[0] - Z.mean(axis=0) / D), [X[i] == X[0] for i in range(1, n)]
    else:
        half = clique(n, b).dense(0.5) if A is None else np.linalg.cholesky(A).T
        cost, extra = cp.sum_squares(half @ (X - Z / D)), []
    constraints = [cp.norm(X[i]) <= 1 for i in range(n)] + extra
    if limit is not None:
        centred = np.eye(n) - np.full((n, n), 1 / n)
        constraints.append(cp.sum_squares(centred @ X) <= limit / D**2)
    solve(cp.Problem(cp.Minimize(cost / max(1.0, np.abs(Z / D).max() ** 2)), constraints))
    return D * X.value


def certified(X, Z, A, D, limit=math.inf):
    """The exact projection near X: a solution of the optimality conditions, which are sufficient.

    A (x - z) + lambda_i x_i + kappa (x_i - xbar) = 0 with lambda, kappa >= 0, and 0 for constraints that are slack.
    """
    n, d = Z.shape
    active = np.flatnonzero(np.linalg.norm(X, axis=1) >= D * (1 - 1e-9))
    narrow = math.sqrt(spread(X)) >= math.sqrt(limit) * (1 - 1e-9)
    centre = np.eye(n) - np.full((n, n), 1 / n)
    scale = np.linalg.norm(A, 2)
    R = A @ (X - Z)
    columns = [np.kron(np.eye(n)[i], X[i]) for i in active] + [(centre @ X).ravel()] * narrow
    multipliers = np.linalg.lstsq(np.array(columns).reshape(-1, n * d).T, -R.ravel(), rcond=None)[0]
    for _ in range(20):
        columns = np.array([np.kron(np.eye(n)[i], X[i]) for i in active] + [(centre @ X).ravel()] * narrow)
        columns = columns.reshape(-1, n * d)
        curvature = A + np.diag(np.bincount(active, multipliers[: len(active)], n))
        curvature = curvature + (multipliers[-1] * centre if narrow else 0.0)
        rest = np.concatenate([(X[active] ** 2).sum(axis=1) - D**2, [spread(X) - limit] * narrow]) / 2
        residual = (curvature @ X - A @ Z).ravel()
        zero = np.zeros((len(columns), len(columns)))
        system = np.block([[np.kron(curvature, np.eye(d)) / scale, columns.T], [columns, zero]])
        step = np.linalg.lstsq(system, -np.concatenate([residual / scale, rest]), rcond=1e-14)[0]
        X = X + step[: n * d].reshape(n, d)
        multipliers = multipliers + scale * step[n * d :]
    assert np.abs(residual).max() <= 1e-11 * scale * max(D, np.abs(Z).max())
    assert multipliers.min(initial=0.0) >= -1e-11 * scale * max(D, np.abs(Z).max()) / D
    assert np.linalg.norm(X, axis=1).max() <= D * (1 + 1e-9)
    assert spread(X) <= limit * (1 + 1e-9)
    return X


def spread(X):
    return ((X - X.mean(axis=0)) ** 2).sum()


def shift_oracle(Z, b, D):
    """The projection with extra digits: Newton's method, step by step damped, on the equation of the common shift."""
    Z = np.asarray(Z, np.longdouble)
    n, d = Z.shape
    v = np.zeros(d, np.longdouble)

    def gradient(v):
        Y = Z + v
        r = np.sqrt((Y**2).sum(axis=1))
        out = r > D
        return v / b + (Y[out] * (1 - D / r[out])[:, None]).sum(axis=0) / n, Y[out], r[out]

    for _ in range(200):
        g, Y, r = gradient(v)
        H = np.eye(d) / b + np.eye(d) * float((1 - D / r).sum()) / n
        H += (Y.T * (D / r**3)) @ Y / n
        step = np.linalg.solve(H.astype(float), -g.astype(float))
        factor = 1.0
        while factor > 1e-10 and np.abs(gradient(v + factor * step)[0]).max() > np.abs(g).max() * (1 - 1e-4 * factor):
            factor /= 2
        v = v + factor * step
    Y = Z + v
    return Y * np.minimum(1, D / np.maximum(np.sqrt((Y**2).sum(axis=1)), np.longdouble(1e-300)))[:, None]


# ---------------------------------------------------------------------------------------------------------- balls


@pytest.mark.parametrize("b", STRENGTHS)
@pytest.mark.parametrize("case", CASES)
def test_balls_of_a_clique(case, b):
    Z, D = CASES[case]
    X = Z.copy()
    rounds = project_balls_clique(X, *Z.shape, b, D)
    assert np.linalg.norm(X, axis=1).max() <= D * (1 + 1e-12)
    assert rounds < 30
    if np.linalg.norm(Z, axis=1).max() <= D and (b < math.inf or spread(Z) == 0):
        assert rounds == 0
        assert (X == Z).all()
        return
    size = max(D, np.abs(Z).max())
    solved = programme(Z, b, D)
    assert distance(X, Z, b) <= distance(solved / max(1, np.linalg.norm(solved, axis=1).max() / D), Z, b) * (1 + 1e-9)
    np.testing.assert_allclose(X, solved, rtol=0, atol=1e-4 * size)  # the solver finds the cost, not its place, exactly
    if b < math.inf:
        exact = certified(X, Z, clique(len(Z), b).dense(1.0), D)
        np.testing.assert_allclose(X, exact, rtol=0, atol=max(1e-12, 1e-15 * b) * size)
    again = X.copy()
    assert project_balls_clique(again, *Z.shape, b, D) == 0
    assert (again == X).all()


@pytest.mark.parametrize(("b", "tolerance"), [(0.5, 1e-13), (1e3, 1e-12), (1e6, 1e-10), (1e9, 1e-7)])
@pytest.mark.parametrize("case", ["random", "far", "one outside", "barely outside", "zero rows", "small D"])
def test_balls_with_extra_digits(case, b, tolerance):
    Z, D = CASES[case]
    X = Z.copy()
    project_balls_clique(X, *Z.shape, b, D)
    np.testing.assert_allclose(X, shift_oracle(Z, b, D).astype(float), rtol=0, atol=tolerance * max(D, np.abs(Z).max()))


def test_the_fixed_point_of_the_clique():
    """x_i = Proj_D(z_i + b/(1+b) (xbar - zbar))."""
    Z, D = CASES["random"]
    for b in (0.0, 0.5, 6.0, 50.0):
        X = Z.copy()
        project_balls_clique(X, *Z.shape, b, D)
        Y = Z + b / (1 + b) * (X.mean(axis=0) - Z.mean(axis=0))
        Y *= np.minimum(1, D / np.linalg.norm(Y, axis=1))[:, None]
        np.testing.assert_allclose(X, Y, rtol=0, atol=1e-13)


@given(
    seed=st.integers(0, 10**6), n=st.integers(1, 8), d=st.integers(1, 6), b=st.floats(0, 1e4), scale=st.floats(0.1, 10)
)
@settings(deadline=None, max_examples=100)
def test_the_variational_inequality(seed, n, d, b, scale):
    """<A (x - z), w - x> >= 0 for every w in the set; and for V_sigma likewise."""
    rng = np.random.default_rng(seed)
    Z = scale * rng.normal(size=(n, d)) * rng.choice([0.1, 1.0, 5.0], size=(n, 1))
    A = clique(n, b).dense(1.0)
    W = rng.normal(size=(50, n, d))
    W /= np.maximum(1, np.linalg.norm(W, axis=2, keepdims=True))
    limit = (n - 1) * rng.uniform(0.01, 1.0) ** 2
    centres = W.mean(axis=1, keepdims=True)
    sizes = ((W - centres) ** 2).sum(axis=(1, 2), keepdims=True)
    V = centres + (W - centres) * np.minimum(1, np.sqrt(limit / np.maximum(sizes, 1e-300)))
    balls, both = Z.copy(), Z.copy()
    project_balls_clique(balls, n, d, b, 1.0)
    project_v_sigma(both, n, d, b, 1.0, limit)
    assert spread(both) <= limit * (1 + 1e-9) + 1e-15
    for X, inside in ((balls, W), (both, V)):
        assert np.linalg.norm(X, axis=1).max() <= 1 + 1e-12
        gradient = A @ (X - Z)
        assert (gradient * (inside - X)).sum(axis=(1, 2)).min() >= -1e-9 * (1 + np.abs(gradient).sum())


def test_many_tasks():
    """Thousands of rows, all b: a handful of steps of Newton's method."""
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(3000, 20)) * rng.choice([0.05, 1.0], size=(3000, 1)) + rng.normal(size=20) * 0.2
    for b in (1.0, 3000.0, 1e8):
        X = Z.copy()
        assert project_balls_clique(X, 3000, 20, b, 1.0) <= 15
        assert np.linalg.norm(X, axis=1).max() <= 1 + 1e-12
        Y = Z + b / (1 + b) * (X.mean(axis=0) - Z.mean(axis=0))
        np.testing.assert_allclose(X, Y * np.minimum(1, 1 / np.linalg.norm(Y, axis=1))[:, None], rtol=0, atol=1e-12)


def weights(kind, n):
    W = np.zeros((n, n))
    if kind == "star":
        W[0, 1:] = W[1:, 0] = 1.0
    elif kind == "path":
        W[np.arange(n - 1), np.arange(1, n)] = W[np.arange(1, n), np.arange(n - 1)] = 2.0
    return W


@pytest.mark.parametrize("kind", ["star", "path", "none", "any"])
@pytest.mark.parametrize("case", CASES)
def test_balls_of_any_matrix(case, kind):
    Z, D = CASES[case]
    n = len(Z)
    B = np.random.default_rng(3).normal(size=(n, n))
    A = B @ B.T + 0.3 * np.eye(n) if kind == "any" else laplacian(weights(kind, n), 3.0).dense(1.0)
    X = Z.copy()
    sweeps = project_balls_general(X, *Z.shape, A, D, np.full_like(Z, np.nan))
    assert np.linalg.norm(X, axis=1).max() <= D * (1 + 1e-12)
    if np.linalg.norm(Z, axis=1).max() <= D:
        assert sweeps == 0
        assert (X == Z).all()
        return
    assert 0 < sweeps < projections.SWEEPS
    size = max(D, np.abs(Z).max())
    solved = programme(Z, None, D, A=A)
    assert np.sum((X - Z) * (A @ (X - Z))) <= np.sum((solved - Z) * (A @ (solved - Z))) * (1 + 1e-7)
    np.testing.assert_allclose(X, solved, rtol=0, atol=1e-4 * size)
    np.testing.assert_allclose(X, certified(X, Z, A, D), rtol=0, atol=1e-11 * size)
    again = X.copy()
    assert project_balls_general(again, *Z.shape, A, D, np.empty_like(Z)) == 0


@pytest.mark.parametrize("case", CASES)
def test_general_and_clique_agree(case):
    Z, D = CASES[case]
    for b in (0.0, 0.5, 20.0):
        X, Y = Z.copy(), Z.copy()
        project_balls_clique(X, *Z.shape, b, D)
        project_balls_general(Y, *Z.shape, clique(len(Z), b).dense(1.0), D, np.empty_like(Z))
        np.testing.assert_allclose(X, Y, rtol=0, atol=1e-10 * max(D, np.abs(Z).max()))


# -------------------------------------------------------------------------------------------------------- variance


@pytest.mark.parametrize("sigma", [1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("b", [0.5, 2.0, 20.0])
def test_v_sigma_with_hardly_any_variance(b, sigma):
    """As sigma goes to 0 all rows go to their mean, or to the point of the ball next to it: at the rate of sigma."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        n, d = rng.integers(2, 7), rng.integers(1, 5)
        Z = rng.normal(size=(n, d)) * 10 ** rng.uniform(-1, 1)
        X = Z.copy()
        project_v_sigma(X, n, d, b, 1.0, (n - 1) * sigma**2)
        mean = Z.mean(axis=0)
        expected = mean * min(1.0, 1.0 / np.linalg.norm(mean))
        assert np.abs(X - expected).max() <= 30 * sigma


@pytest.mark.parametrize("sigma", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("b", STRENGTHS)
@pytest.mark.parametrize("case", CASES)
def test_v_sigma(case, b, sigma):
    Z, D = CASES[case]
    n = len(Z)
    limit = (n - 1) * sigma**2 * D**2
    X = Z.copy()
    rounds = project_v_sigma(X, *Z.shape, b, D, limit)
    assert np.linalg.norm(X, axis=1).max() <= D * (1 + 1e-12)
    assert spread(X) <= limit * (1 + 1e-12) + 1e-30 * D**2
    if np.linalg.norm(Z, axis=1).max() <= D and spread(Z) <= (0.0 if math.isinf(b) else limit):
        assert rounds == 0
        assert (X == Z).all()
        return
    again = X.copy()
    assert project_v_sigma(again, *Z.shape, b, D, limit) == 0
    if sigma == 0.0 or math.isinf(b):
        mean = Z.mean(axis=0)
        exact = np.tile(mean * min(1.0, D / max(np.linalg.norm(mean), 1e-300)), (n, 1))
        np.testing.assert_allclose(X, exact, rtol=0, atol=1e-14 * np.abs(Z).max())
        return
    size = max(D, np.abs(Z).max())
    solved = programme(Z, b, D, limit)
    assert distance(X, Z, b) <= distance(solved, Z, b) * (1 + 1e-7)
    np.testing.assert_allclose(X, solved, rtol=0, atol=1e-4 * size)
    exact = certified(X, Z, clique(n, b).dense(1.0), D, limit if n > 1 else math.inf)
    np.testing.assert_allclose(X, exact, rtol=0, atol=max(1e-11, 1e-14 * b) * size)


@pytest.mark.parametrize("case", CASES)
def test_the_variance_alone(case):
    Z, _ = CASES[case]
    for limit in (0.0, 0.3, 1e9):
        X = Z.copy()
        done = project_variance(X, *Z.shape, limit)
        assert spread(X) <= limit * (1 + 1e-12) + 1e-28 * np.abs(Z).max() ** 2
        np.testing.assert_allclose(X.mean(axis=0), Z.mean(axis=0), rtol=0, atol=1e-15 * np.abs(Z).max() * 10)
        assert (done == 0) == (X == Z).all()
        if done:
            mean = Z.mean(axis=0)
            factor = math.sqrt(limit / spread(Z))
            np.testing.assert_allclose(X, mean + factor * (Z - mean), rtol=0, atol=1e-14 * np.abs(Z).max())
            assert project_variance(X, *Z.shape, limit) == 0


def test_the_two_constraints_meet_their_parts():
    Z, D = CASES["random"]
    for b in (0.5, 1e3):
        wide, balls = Z.copy(), Z.copy()
        project_v_sigma(wide, *Z.shape, b, D, 1e9)
        project_balls_clique(balls, *Z.shape, b, D)
        np.testing.assert_allclose(wide, balls, rtol=0, atol=1e-15)
        roomy, scaled = Z.copy(), Z.copy()
        project_v_sigma(roomy, *Z.shape, b, 1e9, 0.3)
        project_variance(scaled, *Z.shape, 0.3)
        np.testing.assert_allclose(roomy, scaled, rtol=0, atol=1e-14)


def test_only_the_live_part_is_touched():
    Z, D = CASES["random"]
    n, d = Z.shape
    for project in (
        lambda X, n, d: project_balls_clique(X, n, d, 2.0, D),
        lambda X, n, d: project_balls_clique(X, n, d, math.inf, D),
        lambda X, n, d: project_balls_general(X, n, d, clique(n, 2.0).dense(1.0), D, np.empty((n + 3, d + 2))),
        lambda X, n, d: project_variance(X, n, d, 0.1),
        lambda X, n, d: project_v_sigma(X, n, d, 2.0, D, 0.1),
    ):
        small, large = Z.copy(), np.full((n + 3, d + 2), 77.0)
        large[:n, :d] = Z
        project(small, n, d)
        project(large, n, d)
        assert (small == large[:n, :d]).all()
        assert (large[n:] == 77.0).all()
        assert (large[:, d:] == 77.0).all()


# ---------------------------------------------------------------------------------------------------- links, simplex


@pytest.mark.parametrize("r", [1.001, 1.5, 2.0, 3.0, 50.0, 1e4])
def test_links_are_gradients_and_inverses(r):
    v = np.random.default_rng(4).normal(size=12)
    v[3] = 0.0
    out, back = np.empty(12), np.empty(12)
    link(r, v, out)
    size = np.abs(v).max() * (np.abs(v / np.abs(v).max()) ** r).sum() ** (1 / r)
    np.testing.assert_allclose(out, np.sign(v) * (np.abs(v) / size) ** (r - 1) * size, rtol=1e-9, atol=1e-300)
    assert out @ v == pytest.approx(size**2, rel=1e-12)  # f(v).v = |v|_r^2
    link(r / (r - 1), out, back)
    if r <= 50.0:  # beyond, small entries vanish
        np.testing.assert_allclose(back, v, rtol=1e-9, atol=0)
    scaled = np.empty(12)
    for scale in (1e200, 1e-200):
        link(r, scale * v, scaled)
        np.testing.assert_allclose(scaled / scale, out, rtol=1e-8, atol=1e-80)
    link(r, v, v)
    assert (v == out).all()
    link(r, np.zeros(3), back[:3])
    assert (back[:3] == 0.0).all()


def simplex_programme(theta, p):
    y = cp.Variable(len(theta))
    cost = 0.5 * cp.square(cp.pnorm(y, p, approx=False)) - theta @ y
    solve(cp.Problem(cp.Minimize(cost), [y >= 0, cp.sum(y) == 1]))
    return y.value


@pytest.mark.parametrize("p", [2.0, 1.7, 1.3, 2 * math.log(8) / (2 * math.log(8) - 1)])
@pytest.mark.parametrize("scale", [0.01, 0.3, 3.0])
def test_the_simplex_in_p_norms(p, scale):
    for seed in range(3):
        theta = scale * np.random.default_rng(seed).normal(size=8)
        y = np.empty(8)
        project_simplex_pnorm(p, theta, y)
        assert y.sum() == pytest.approx(1.0, abs=1e-15)
        assert (y >= 0.0).all()
        np.testing.assert_allclose(y, simplex_programme(theta, p), rtol=0, atol=1e-4)
        f = np.empty(8)
        link(p, y, f)  # f_p(y) = theta + nu where y > 0, and theta + nu <= 0 elsewhere
        nu = (f - theta)[y > 0]
        np.testing.assert_allclose(nu, nu[0], rtol=0, atol=1e-11)
        assert (theta[y == 0.0] + nu[0] <= 1e-12).all()


def test_special_points_of_the_simplex():
    y = np.empty(5)
    for p in (1.01, 1.5, 2.0):
        for theta, exact in (
            (np.zeros(5), np.full(5, 0.2)),
            (np.full(5, -1e6), np.full(5, 0.2)),
            (np.array([0, 1e9, 0, 0, 0.0]), np.eye(5)[1]),
        ):
            project_simplex_pnorm(p, theta, y)
            np.testing.assert_allclose(y, exact, rtol=0, atol=1e-14)
        start = np.array([0.1, 0.5, 0.0, 0.15, 0.25])
        theta = np.empty(5)
        link(p, start, theta)
        project_simplex_pnorm(p, theta, y)  # a point of the simplex stays
        np.testing.assert_allclose(y, start, rtol=0, atol=1e-13)
        shifted = np.empty(5)
        project_simplex_pnorm(p, theta + 3.0, shifted)  # the simplex does not see constants
        np.testing.assert_allclose(shifted, y, rtol=0, atol=1e-11)
    project_simplex_pnorm(1.5, np.array([-3.0]), y[:1])
    assert y[0] == 1.0


# ------------------------------------------------------------------------------------------------- compiled and plain

DIGEST = """
import hashlib, math
import numpy as np
from weft.learners.descent.links import project_simplex_pnorm
from weft.learners.descent.projections import project_balls_clique, project_balls_general, project_v_sigma
rng, digest = np.random.default_rng(7), hashlib.sha256()
Z = 2.0 * rng.normal(size=(6, 4))
for b in (0.0, 0.5, 1e3, 1e6, math.inf):
    X = Z.copy()
    rounds = [project_balls_clique(X, 6, 4, b, 1.0)]
    digest.update(X.tobytes())
    X = Z.copy()
    rounds.append(project_v_sigma(X, 6, 4, b, 1.0, 0.7))
    digest.update(X.tobytes() + bytes(rounds))
A = np.eye(6) + 2.0 * (np.eye(6) - 1 / 6)
X = Z.copy()
project_balls_general(X, 6, 4, A, 1.0, np.empty_like(X))
digest.update(X.tobytes())
for p in (1.1, 1.5, 2.0):
    y = np.empty(4)
    project_simplex_pnorm(p, Z[0].copy(), y)
    digest.update(y.tobytes())
print(digest.hexdigest())
"""


def test_compiled_equals_plain(monkeypatch):
    digests = set()
    for plain in ("0", "1"):
        monkeypatch.setenv("WEFT_PLAIN", plain)
        digests.add(subprocess.run([sys.executable, "-c", DIGEST], check=True, capture_output=True, text=True).stdout)
    assert len(digests) == 1
