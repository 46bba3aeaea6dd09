"""Exact projections of the tasks' models in the norm of the interaction matrix, in place and compiled.

X holds one row per task; only X[:n, :d] is read and written. With z_i the rows before, |X - Z|_A^2 = sum_ij A_ij
<x_i - z_i, x_j - z_j> becomes least (Cesa-Bianchi, Laforgue, Paudice and Pontil 2022, Multitask Online Mirror Descent,
Sec. 3 and 4). The sets are

* the product of balls |x_i| <= D, for a clique A = I + b (I - J) or any dense A;
* bounded spread, sum_i |x_i - xbar|^2 <= limit, limit = (N-1) sigma^2 D^2;
* V_sigma: both.

Every kernel returns its number of iterations; 0 means that X was inside already (up to a relative 1e-13) and was not
touched. At b = inf all models are one: the projections then make the rows equal, at their mean clipped to D.

Interpretation. The paper leaves open how to project. `ball_shift` says how the balls of a clique are done.

>>> X = np.array([[3.0, 0.0], [0.0, 0.5]])
>>> project_balls_clique(X, 2, 2, 0.0, 1.0), X.tolist()
(1, [[1.0, 0.0], [0.0, 0.5]])
"""

import math

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import compiled, helper, helper_no_alloc
from weft.learners.descent.ball_shift import Balls, Shift, common_shift, no_shift
from weft.maths.vectors import Vector

SLACK = 1e-13
"""What counts as inside: rounding of an earlier projection must not start another."""
ROUNDS = 100
SWEEPS = 20_000


@helper
def inside(X: Floats, n: int, d: int, D: float) -> bool:
    """Whether no row is longer than D."""
    most = D * (1.0 + SLACK)
    for i in range(n):
        total = 0.0
        for j in range(d):
            total += X[i, j] * X[i, j]
        if total > most * most:
            return False
    return True


@helper
def mean_row(X: Floats, n: int, d: int, mean: Vector) -> None:
    """The mean of the rows; exactly a row where all are equal."""
    for j in range(d):
        mean[j] = 0.0
    for i in range(1, n):
        for j in range(d):
            mean[j] += X[i, j] - X[0, j]
    for j in range(d):
        mean[j] = X[0, j] + mean[j] / n


@helper
def deviation(X: Floats, n: int, d: int, mean: Vector) -> float:
    """sum_i |x_i - mean|^2."""
    total = 0.0
    for i in range(n):
        for j in range(d):
            gap = X[i, j] - mean[j]
            total += gap * gap
    return total


@helper
def spread_fits(total: float, limit: float, n: int, d: int, mean: Vector) -> bool:
    """Whether total <= limit, up to the rounding of rows of the mean's length."""
    squares = 0.0
    for j in range(d):
        squares += mean[j] * mean[j]
    return math.sqrt(total) <= math.sqrt(limit) * (1.0 + SLACK) + 4e-16 * math.sqrt(n * squares)


@helper_no_alloc
def set_rows(balls: Balls, shift: Shift) -> None:
    """x_i <- Proj_D(s x_i + u), r being the lengths before the projection."""
    X, n, d, s, _, _, D = balls
    u, r = shift.u, shift.r
    for i in range(n):
        factor = D / r[i] if r[i] > D else 1.0
        for j in range(d):
            X[i, j] = factor * (s * X[i, j] + u[j])


@helper
def project_equal(X: Floats, n: int, d: int, D: float) -> int:
    """All rows become their mean, clipped to D."""
    mean = np.empty(d)
    mean_row(X, n, d, mean)
    if deviation(X, n, d, mean) == 0.0 and inside(X, n, d, D):
        return 0
    total = 0.0
    for j in range(d):
        total += mean[j] * mean[j]
    size = math.sqrt(total)
    factor = D / size if size > D else 1.0
    for i in range(n):
        for j in range(d):
            X[i, j] = factor * mean[j]
    return 1


@compiled
def project_balls_clique(X: Floats, n: int, d: int, b: float, D: float) -> int:
    """Onto |x_i| <= D in the norm of I + b (I - J), 0 <= b <= inf: x_i = Proj_D(z_i + (b/(1+b)) (xbar - zbar))."""
    if math.isinf(b):
        return project_equal(X, n, d, D)
    if inside(X, n, d, D):
        return 0
    balls, shift = Balls(X, n, d, 1.0, np.zeros(d), 0.0 if n == 1 else b, D), no_shift(n, d)
    iterations = common_shift(balls, shift)
    set_rows(balls, shift)
    return iterations


@compiled
def project_balls_general(X: Floats, n: int, d: int, A: Floats, D: float, Z: Floats) -> int:
    """Onto |x_i| <= D in the norm of any symmetric positive definite A; Z is scratch with room for X[:n, :d].

    Exact minimisation over one row after the other, x_i = Proj_D(z_i - sum_{j != i} A_ij (x_j - z_j) / A_ii), until the
    changes left, judged by their rate of decrease, are below 1e-12 of D, or `SWEEPS` sweeps are done (the rows are in
    the balls after any number of them). The worse the condition of A, the slower: for cliques take the kernel above.
    """
    if inside(X, n, d, D):
        return 0
    shift = np.empty(d)
    moved = np.zeros(n, np.bool_)
    for i in range(n):
        for j in range(d):
            Z[i, j] = X[i, j]
    before = 0.0
    for sweep in range(SWEEPS):
        largest = 0.0
        for i in range(n):
            for j in range(d):
                shift[j] = 0.0
            for k in range(n):
                if k != i and moved[k] and A[i, k] != 0.0:
                    for j in range(d):
                        shift[j] += A[i, k] * (X[k, j] - Z[k, j])
            total, change = 0.0, 0.0
            for j in range(d):
                shift[j] = Z[i, j] - shift[j] / A[i, i]
                total += shift[j] * shift[j]
            factor = D / math.sqrt(total) if total > D * D else 1.0
            for j in range(d):
                gap = factor * shift[j] - X[i, j]
                X[i, j] = factor * shift[j]
                change += gap * gap
            moved[i] = moved[i] or change > 0.0
            largest = max(largest, change)
        largest = math.sqrt(largest)
        rate = min(largest / before, 1.0) if before > 0.0 else 1.0
        before = largest
        if largest <= 1e-16 * D or largest * rate <= 1e-12 * D * (1.0 - rate):
            return sweep + 1
    return SWEEPS


@compiled
def project_variance(X: Floats, n: int, d: int, limit: float) -> int:
    """Onto sum_i |x_i - xbar|^2 <= limit: the mean stays, the deviations shrink. The same for every clique."""
    mean = np.empty(d)
    mean_row(X, n, d, mean)
    total = deviation(X, n, d, mean)
    if spread_fits(total, limit, n, d, mean):
        return 0
    factor = math.sqrt(limit / total)
    for i in range(n):
        for j in range(d):
            X[i, j] = mean[j] + factor * (X[i, j] - mean[j])
    return 1


@helper_no_alloc
def clipped_deviation(balls: Balls, shift: Shift, mean: Vector) -> float:
    """sum_i |y_i - ybar|^2 of y_i = Proj_D(s x_i + u); `mean` is scratch."""
    X, n, d, s, _, _, D = balls
    u, r = shift.u, shift.r
    for j in range(d):
        mean[j] = 0.0
    for i in range(n):
        factor = D / r[i] if r[i] > D else 1.0
        for j in range(d):
            mean[j] += factor * (s * X[i, j] + u[j]) / n
    total = 0.0
    for i in range(n):
        factor = D / r[i] if r[i] > D else 1.0
        for j in range(d):
            gap = factor * (s * X[i, j] + u[j]) - mean[j]
            total += gap * gap
    return total


@compiled
def project_v_sigma(X: Floats, n: int, d: int, b: float, D: float, limit: float) -> int:
    """Onto |x_i| <= D and sum_i |x_i - xbar|^2 <= limit in the norm of I + b (I - J); limit 0: the mean, clipped.

    With a multiplier kappa >= 0 of the second constraint, the deviations of z shrink by s = (1+b)/(1+b+kappa) and the
    balls are those of b + kappa. The spread that is left grows with s, and its root is linear in s but for the balls: a
    search by false position (the Illinois rule) in s between the value without balls and 1, by halves after 20 steps.
    After `ROUNDS` steps the last one is used; it is in the set as any other.
    """
    if math.isinf(b) or limit <= 0.0:
        return project_equal(X, n, d, D)
    mean, scratch = np.empty(d), np.empty(d)
    mean_row(X, n, d, mean)
    total = deviation(X, n, d, mean)
    fits = spread_fits(total, limit, n, d, mean)
    if fits and inside(X, n, d, D):
        return 0
    low = 1.0 if fits else math.sqrt(limit / total)
    c, shift = np.empty(d), no_shift(n, d)
    goal, high, s = math.sqrt(limit), 1.0, low
    below, above, side, iterations = 0.0, 0.0, 0, 0
    for attempt in range(ROUNDS):
        for j in range(d):
            c[j] = (1.0 - s) * mean[j]
        balls = Balls(X, n, d, s, c, (b + (1.0 - s)) / s if n > 1 else 0.0, D)
        iterations += common_shift(balls, shift)
        gap = math.sqrt(clipped_deviation(balls, shift, scratch)) - goal
        if abs(gap) <= SLACK * goal + 4e-16 * D * math.sqrt(float(n)) or (s == 1.0 and gap < 0.0):
            break
        if gap < 0.0:
            low, below = s, gap
            above = 0.5 * above if side < 0 else above
            side = -1
        else:
            high, above = s, gap
            below = 0.5 * below if side > 0 else below
            side = 1
        if high - low <= 1e-16 * high:
            break
        if attempt == 0:
            s = 1.0
            continue
        s = low + (high - low) * (below / (below - above))
        if attempt > 20 or not low < s < high:  # rounding, or a bad bracket
            s = 0.5 * (low + high)
    set_rows(Balls(X, n, d, s, c, b, D), shift)
    project_variance(X, n, d, limit)  # of the rounding; the rows stay in the balls, for their mean is there
    return iterations
