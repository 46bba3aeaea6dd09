r"""The balls of gradient descent on cliques, at a cost of O(1) per round: how far the models are out, and the way back.

The models are s (z_i + m), or M + s (z_i - zbar), so that scaling s projects all of them. On the Mahalanobis ball
Q = |x|_A^2 obeys

    Q += -2 eta <x, g> + eta^2 H          H = sum_ij A^-1_ij <g_i, g_j>, A^-1_ii |g|^2 for a single row

and x is scaled when Q passes rho^2 (Cesa-Bianchi, Laforgue, Paudice and Pontil 2022, Sec. 4). The four sums that give Q
for another N are kept as well, for when a new task arrives: sum |z_i|^2, |sum z|^2, <sum z, m> and |m|^2. On the
variance ball it is Q = sum |x_i - xbar|^2, with its limit (N-1) sigma^2 D^2.
"""

import math
from typing import NamedTuple

from weft.compiled.jit import helper_no_alloc, inlined
from weft.learners.descent.cliques_state import Parts
from weft.learners.descent.exact_sums import add_exactly, squares_in_any_order
from weft.learners.descent.positions import CliqueScalar as S
from weft.learners.descent.positions import Count
from weft.learners.descent.rule import MAHALANOBIS, VARIANCE, Rule, tune
from weft.storage.pairs import TASK_STRIDE, rows_in_use

FOLD = 1e-100
"""A factor s below this is multiplied into the parts."""


class Products(NamedTuple):
    """<v_i, g_i> summed over the rows of a round, for v = x, z, m, and the sum of z (or zbar)."""

    x: float
    z: float
    m: float
    sums: float


class Norms(NamedTuple):
    """Of a round's gradient: sum_i |g_i|^2, |sum_i g_i|^2, and H = sum_ij A^-1_ij <g_i, g_j>."""

    g2: float
    G2: float
    H: float


@inlined
def numbers_for(rule: Rule, N: int) -> tuple[float, float, float, float, float]:
    """What follows from the rule and N tasks alone: eta, b, `own` and `shared` of A^-1, and the limit of Q."""
    b, eta, rho = tune(rule, N)
    own = 0.0 if math.isinf(b) else 1.0 / (1.0 + b)
    shared = (1.0 if math.isinf(b) else b / (1.0 + b)) / N
    limit = 0.0
    if rule.projection == MAHALANOBIS:
        limit = rho * rho
    elif rule.projection == VARIANCE:
        limit = (N - 1) * rule.sigma * rule.sigma * rule.D * rule.D
    return eta, b, own, shared, limit


@helper_no_alloc
def retune(rule: Rule, state: Parts, N: int) -> None:
    """What contains N, for N tasks; newcomers start at the shared part, and all tasks are projected once."""
    pairs, own, _, sums, counts, scalars, _ = state
    before = counts[Count.TASKS]
    counts[Count.TASKS], counts[Count.TUNED] = N, N
    scalars[S.ETA], scalars[S.B], scalars[S.OWN], scalars[S.SHARED], scalars[S.LIMIT] = numbers_for(rule, N)
    if rule.projection == MAHALANOBIS:
        if scalars[S.ROUNDS] > 0 and not rule.clusters:
            _remeasure(state)
            _shrink(state)
    elif rule.projection == VARIANCE:
        width = pairs.layout[TASK_STRIDE]
        for j in range(before, N):
            for f in range(min(width, len(sums))):
                own[j * width + f] = sums[f]


@helper_no_alloc
def project(rule: Rule, state: Parts, eta: float, products: Products, norms: Norms) -> None:
    """What a step of size eta did to Q and to the four sums; then back into the ball."""
    scalars, N = state.scalars, state.counts[Count.TASKS]
    s, g2, G2 = scalars[S.SCALE], norms.g2, norms.G2
    if rule.projection == VARIANCE:
        step = eta * scalars[S.OWN] if scalars[S.LIMIT] > 0.0 else 0.0
        _add_to_q(state, -2.0 * step * s * (products.z - products.sums) + step * step * (g2 - G2 / N))
    else:
        _add_to_q(state, -2.0 * eta * products.x + eta * eta * norms.H)
        own, shared = eta * scalars[S.OWN] / s, eta * scalars[S.SHARED] / s
        scalars[S.ZZ] += -2.0 * own * products.z + own * own * g2
        scalars[S.SS] += -2.0 * own * products.sums + own * own * G2
        scalars[S.SM] += -own * products.m - shared * products.sums + own * shared * G2
        scalars[S.MM] += -2.0 * shared * products.m + shared * shared * G2
        scalars[S.SINCE] += 1.0
        if scalars[S.SINCE] >= rule.resync and not rule.clusters:
            _resynchronise(state)
    _shrink(state)
    if scalars[S.SCALE] < FOLD:
        _fold(rule, state)


@helper_no_alloc
def _add_to_q(state: Parts, value: float) -> None:
    scalars = state.scalars
    scalars[S.Q], scalars[S.Q_REST] = add_exactly(scalars[S.Q], scalars[S.Q_REST], value)


@helper_no_alloc
def _remeasure(state: Parts) -> None:
    """Q = |x|_A^2 from the four sums."""
    scalars, N = state.scalars, state.counts[Count.TASKS]
    b, s = scalars[S.B], scalars[S.SCALE]
    spread = 0.0
    if not math.isinf(b):
        spread = (1.0 + b) * scalars[S.ZZ] - b / N * scalars[S.SS]
    scalars[S.Q] = max(0.0, s * s * (spread + 2.0 * scalars[S.SM] + N * scalars[S.MM]))
    scalars[S.Q_REST] = 0.0


@helper_no_alloc
def _resynchronise(state: Parts) -> None:
    """The four sums, and Q, from the parts themselves."""
    pairs, own, shared, sums, _, scalars, _ = state
    scalars[S.SINCE] = 0.0
    scalars[S.ZZ] = squares_in_any_order(pairs, own)
    scalars[S.SS] = scalars[S.SM] = scalars[S.MM] = 0.0
    for f in range(len(sums)):
        scalars[S.SS] += sums[f] * sums[f]
        scalars[S.SM] += sums[f] * shared[0, f]
        scalars[S.MM] += shared[0, f] * shared[0, f]
    _remeasure(state)


@helper_no_alloc
def _shrink(state: Parts) -> None:
    """If Q is above its limit, scale to it."""
    scalars = state.scalars
    size = max(0.0, scalars[S.Q] + scalars[S.Q_REST])
    if size > scalars[S.LIMIT]:
        scalars[S.SCALE] *= math.sqrt(scalars[S.LIMIT] / size)
        scalars[S.Q], scalars[S.Q_REST] = scalars[S.LIMIT], 0.0


@helper_no_alloc
def _fold(rule: Rule, state: Parts) -> None:
    """s = 1, with the same models."""
    pairs, own, shared, sums, _, scalars, _ = state
    s = scalars[S.SCALE]
    for p in range(rows_in_use(pairs, own)):
        own[p] *= s
    for f in range(len(sums)):
        sums[f] *= s
        if rule.projection == MAHALANOBIS:
            for c in range(shared.shape[0]):
                shared[c, f] *= s
    scalars[S.ZZ] *= s * s
    scalars[S.SS] *= s * s
    scalars[S.SM] *= s * s
    scalars[S.MM] *= s * s
    scalars[S.SCALE] = 1.0
