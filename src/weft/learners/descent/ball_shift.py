"""The common shift that projects all tasks of a clique on balls: the core of `projections`.

In the norm of A = I + b (I - J) the projection of z_1, ..., z_n on the balls |x_i| <= D is x_i = Proj_D(z_i + v) with
v = (b/(1+b)) (xbar - zbar). This v is the minimiser of |v|^2 / (2b) + sum_i dist(z_i + v, ball)^2 / (2n), a convex
function of d variables with a continuous gradient. The linear systems of Newton's method are a multiple of the identity
plus one rank per row outside, so conjugate gradients need few steps, and memory O(n + d).
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import helper, helper_no_alloc
from weft.maths.vectors import Vector

ROUNDS = 100
HALVINGS = 40
NEGLIGIBLE = 1e-30
"""A smaller b, whose inverse might overflow, is 0: the shift is at most b times the mean excess."""


class Balls(NamedTuple):
    """The problem: rows z_i = s x_i + c, i < n, with x_i = X[i, :d], the strength b, and the radius D of the balls."""

    X: Floats
    n: int
    d: int
    s: float
    c: Vector
    b: float
    D: float


class Shift(NamedTuple):
    """A shift v, u = c + v, and the lengths r_i = |s x_i + u|."""

    v: Vector
    u: Vector
    r: Vector


@helper
def no_shift(n: int, d: int) -> Shift:
    """v = 0, with room for the rest."""
    return Shift(np.zeros(d), np.empty(d), np.empty(n))


@helper_no_alloc
def length(balls: Balls, i: int, u: Vector) -> float:
    """|s x_i + u|."""
    X, s, total = balls.X, balls.s, 0.0
    for j in range(balls.d):
        y = s * X[i, j] + u[j]
        total += y * y
    return math.sqrt(total)


@helper_no_alloc
def potential(balls: Balls, v: Vector, u: Vector, r: Vector, g: Vector) -> float:
    """|v|^2 / (2b) + sum_i [r_i - D]_+^2 / (2n), r_i = |s x_i + u|, u = c + v; fills u, r and the gradient g."""
    X, n, d, s, c, b, D = balls
    value = 0.0
    for j in range(d):
        u[j] = c[j] + v[j]
        g[j] = v[j] / b
        value += v[j] * g[j]
    for i in range(n):
        r[i] = length(balls, i, u)
        if r[i] > D:
            over = r[i] - D
            value += over * over / n
            over /= r[i] * n
            for j in range(d):
                g[j] += over * (s * X[i, j] + u[j])
    return 0.5 * value


@helper
def newton_direction(balls: Balls, shift: Shift, g: Vector, p: Vector) -> None:
    """p with (m I + sum D y y' / (n r^3)) p = -g, m = 1/b + sum (1 - D/r) / n, both sums over the rows y outside.

    By conjugate gradients: stopped early, p still leads downhill.
    """
    n, d, b, D, r = balls.n, balls.d, balls.b, balls.D, shift.r
    rest, way, image = np.empty(d), np.empty(d), np.empty(d)
    multiple, outside, before = 1.0 / b, 0, 0.0
    for i in range(n):
        if r[i] > D:
            multiple += (r[i] - D) / (r[i] * n)
            outside += 1
    for j in range(d):
        p[j] = 0.0
        rest[j] = way[j] = -g[j]
        before += g[j] * g[j]
    goal = 1e-24 * before
    for _ in range(min(2 * min(outside, d) + 10, 500)):
        if before <= goal:
            break
        curve(balls, shift, multiple, way, image)
        curvature, after = 0.0, 0.0
        for j in range(d):
            curvature += way[j] * image[j]
        step = before / curvature
        for j in range(d):
            p[j] += step * way[j]
            rest[j] -= step * image[j]
            after += rest[j] * rest[j]
        for j in range(d):
            way[j] = rest[j] + after / before * way[j]
        before = after


@helper_no_alloc
def curve(balls: Balls, shift: Shift, multiple: float, way: Vector, image: Vector) -> None:
    """image = (m I + sum D y y' / (n r^3)) way, over the rows y outside."""
    X, n, d, s, _, _, D = balls
    u, r = shift.u, shift.r
    for j in range(d):
        image[j] = multiple * way[j]
    for i in range(n):
        if r[i] > D:
            dot = 0.0
            for j in range(d):
                dot += (s * X[i, j] + u[j]) * way[j]
            dot *= D / (n * r[i] * r[i] * r[i])
            for j in range(d):
                image[j] += dot * (s * X[i, j] + u[j])


@helper_no_alloc
def lost_in_rounding(balls: Balls, shift: Shift, g: Vector) -> bool:
    """Whether the gradient is no larger than the rounding of its terms."""
    n, d, D, v, r = balls.n, balls.d, balls.D, shift.v, shift.r
    outside, squares, size = 0.0, 0.0, 0.0
    for i in range(n):
        if r[i] > D:
            outside += 1.0
    for j in range(d):
        squares += g[j] * g[j]
        size += v[j] * v[j]
    return math.sqrt(squares) <= 2e-16 * (D * outside / n + math.sqrt(size) / balls.b)


@helper
def common_shift(balls: Balls, shift: Shift) -> int:
    """The shift that projects the rows on the balls, from the guess `shift.v`; fills `shift`.

    Newton's method, halving steps that do not descend enough. It ends when a step is below 1e-13 of D and |v|, or where
    the gradient is rounding of the lengths r (which moves v by some 1e-16 b D at most). Should that take more than
    `ROUNDS` steps, the last v is used: Proj_D(s x_i + u) is in the balls for every v.
    """
    n, d, D = balls.n, balls.d, balls.D
    v, u, r = shift
    g, p, trial = np.empty(d), np.empty(d), np.empty(d)
    if balls.b < NEGLIGIBLE:
        for j in range(d):
            v[j] = 0.0
            u[j] = balls.c[j]
        for i in range(n):
            r[i] = length(balls, i, u)
        return 1
    value = potential(balls, v, u, r, g)
    for iteration in range(ROUNDS):
        if iteration > 0 and lost_in_rounding(balls, shift, g):
            return iteration
        newton_direction(balls, shift, g, p)
        slope, size = 0.0, 0.0
        for j in range(d):
            slope += g[j] * p[j]
            size += p[j] * p[j]
        size = math.sqrt(size)
        step, new = 1.0, value
        for _ in range(HALVINGS):
            for j in range(d):
                trial[j] = v[j] + step * p[j]
            new = potential(balls, trial, u, r, g)
            if new <= value * (1.0 + 1e-15) + 1e-4 * step * slope:
                break
            step *= 0.5
        moved = 0.0
        for j in range(d):
            v[j] = trial[j]
            moved += v[j] * v[j]
        value = new
        if step * size <= 1e-13 * (D + math.sqrt(moved)):
            return iteration + 1
    return ROUNDS
