"""The table of dual vectors that mirror descent keeps, its rule, and what changes when tasks or features come.

`theta` has a column per task (`mirror`); b, A^{-1/2}, the rate and the ball follow from the rule, the number
of tasks N and the number of features d, and are computed again when either changes.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.jit import compiled, helper
from weft.learners.descent.mirror import (
    BEYOND,
    ENTROPY,
    OFFSET,
    P_NORM,
    P_SIMPLEX,
    PEAK,
    SUM,
    column_norm,
    image,
    refresh,
)
from weft.storage.batch import Batch
from weft.storage.state import Plan

CONSTANT, HORIZON, ANYTIME, ADAPTIVE, LEADER, LEADER_SQRT = range(6)
"""How eta_t is found: a number, for T rounds, for t rounds in round t, from the gradients, and two of the leader."""

TASKS, TUNED, FEATURES = range(3)
"""Positions in `counts`: tasks seen, those that the scalars hold for, features that count."""

ETA, B, OWN, SHARED, LARGEST, SQUARES, STEEPEST, P, SCALE, LABELLED, ROUNDS, TOUCHED = range(12)
"""Positions in `scalars`: base rate, b, A^{-1/2} in two numbers, max A^-1_ii, sum of |g|^2, largest |g|, p, s, rounds
with a label, rounds with a gradient, and non-zeros since the sums were made."""


TOUCHES = 16
"""Sums are made anew when this many times d non-zeros have changed them."""
FOLD = 1e-100
"""A factor s below this is multiplied into the table."""


class MirrorRule(NamedTuple):
    """The parameters as compiled code takes them; NaN stands for what follows from the others."""

    loss: int
    epsilon: float
    kind: int
    rate: int
    b: float
    simplex_b: bool  # b = (1 - sigma^2)/sigma^2, else b = N
    ball: bool  # models are kept in the ball sum |y_k|_p^2 <= radius^2
    graph: bool
    p: float = math.nan
    eta: float = math.nan
    D: float = math.nan
    L: float = math.nan
    sigma: float = math.nan
    T: float = math.nan
    radius: float = math.nan


@compiled
def simplex_b(sigma: float) -> float:
    """b = (1 - sigma^2)/sigma^2 (Prop. 8)."""
    if sigma == 0.0:
        return np.inf
    return max(0.0, (1.0 - sigma * sigma) / (sigma * sigma))


class Table(NamedTuple):
    """theta (or y), the shared part of it, sums per task, which features count, counts and scalars."""

    theta: Floats
    shared: Floats
    sums: Floats
    known: Ints
    counts: Ints
    scalars: Floats
    root: Floats  # A^{-1/2} of a graph, which follows from the parameters
    order: Ints


PLAN = Plan(
    {
        "theta": ("feature", "task"),
        "shared": ("feature",),
        "sums": ("task", 3),
        "known": ("feature",),
        "counts": (3,),
        "scalars": (12,),
    },
    counts={"known": (1,), "counts": ("task", "task", "feature")},
)


def blank(tasks: int, root: Array | None = None, order: Ints | None = None) -> Table:
    """`tasks` are declared, nothing is learned."""
    counts, scalars = np.zeros(3, np.int64), np.zeros(12)
    counts[TASKS], scalars[SCALE] = tasks, 1.0
    none = np.zeros((0, 0))
    return Table(
        none,
        np.zeros(0),
        np.zeros((0, 3)),
        np.zeros(0, np.int64),
        counts,
        scalars,
        none.copy() if root is None else np.ascontiguousarray(root),
        np.zeros(0, np.int64) if order is None else order,
    )


def both_parts(rule: MirrorRule, state: Table, tasks: int, features: int) -> tuple[Array, Array]:
    """What a task has for itself, and what it has from the others: both (tasks, features)."""
    y = np.zeros((tasks, features))
    if tasks:
        _images(rule, state, factor_of(rule, state), y)
    if rule.graph:
        own = state.root.diagonal()[:, None] * y
        return own, state.root @ y - own
    own = state.scalars[OWN] * y
    if math.isinf(state.scalars[B]):
        return own, y
    return own, state.scalars[SHARED] * np.repeat(y.sum(axis=0, keepdims=True), tasks, axis=0)


@compiled
def _images(rule: MirrorRule, state: Table, f: float, out: Floats) -> None:
    """y of all tasks."""
    theta, _, sums, known, _, scalars, _, _ = state
    columns, q = columns_of(state), conjugate(scalars[P])
    for i in range(out.shape[0]):
        k = 0 if columns == 1 else i
        for j in range(out.shape[1]):
            if rule.kind == P_NORM or known[j] != 0:
                out[i, j] = scalars[SCALE] * image(rule.kind, q, f, theta[j, k], sums, k)


# --- what contains N or d ------------------------------------------------------------------------------------------


@helper
def _p_of(rule: MirrorRule, d: int) -> float:
    """p as given, or on the simplex 2 ln d / (2 ln d - 1), at most 2 (Prop. 5)."""
    if not math.isnan(rule.p):
        return rule.p
    if d < 3:
        return 2.0
    return min(2.0, 2.0 * math.log(d) / (2.0 * math.log(d) - 1.0))


@helper
def _curvature(rule: MirrorRule, p: float, d: int) -> tuple[float, float]:
    """lambda, and C = max B_psi(., 1/d) on the simplex."""
    if rule.kind == ENTROPY:
        return 1.0, math.log(max(d, 1))
    return p - 1.0, 0.5 * (1.0 - math.pow(max(d, 1), 2.0 / p - 2.0))


@compiled
def root_of(rule: MirrorRule, N: int) -> tuple[float, float, float]:
    """b for N tasks, and A^{-1/2} = own I + shared 11^T."""
    b = rule.b
    if math.isnan(b):
        if rule.simplex_b:
            b = simplex_b(rule.sigma)
        else:
            b = 0.0 if rule.sigma >= 1.0 else float(N)
    if math.isinf(b):
        return b, 0.0, 1.0 / N
    root = math.sqrt(1.0 + b)
    return b, 1.0 / root, b / (1.0 + root) / root / N


@helper
def _retune(rule: MirrorRule, state: Table, N: int, d: int) -> None:
    """b, A^{-1/2} and the rate for N tasks and d features."""
    counts, scalars, root = state.counts, state.scalars, state.root
    b, own, shared = root_of(rule, N)
    largest = 1.0 / N if math.isinf(b) else 1.0 / (1.0 + b) + b / (1.0 + b) / N
    if rule.graph:
        largest = 0.0
        for i in range(N):
            square = 0.0
            for k in range(N):
                square += root[i, k] * root[i, k]
            largest = max(largest, square)
    p = _p_of(rule, d) if rule.kind != ENTROPY else 1.0
    lam, C = _curvature(rule, p, d)
    eta = rule.eta
    if math.isnan(eta):
        if rule.kind != P_NORM:  # Prop. 8, with f = 1 + sigma^2 (N-1) = N max A^-1_ii
            eta = N * math.sqrt(2.0 * lam * C / (N * largest))
        else:  # Prop. 5 and 6
            eta = radius_of(rule, b, N) * math.sqrt(lam / largest)
    counts[TUNED] = N
    scalars[ETA], scalars[B], scalars[OWN], scalars[SHARED] = eta, b, own, shared
    scalars[LARGEST], scalars[P] = largest, p


@compiled
def radius_of(rule: MirrorRule, b: float, N: int) -> float:
    """rho^2 = 2 N D^2 (1 + b sigma^2 (N-1)/N), unless it is given."""
    if not math.isnan(rule.radius):
        return rule.radius
    spread = 0.0 if math.isinf(b) else b * rule.sigma * rule.sigma * (N - 1.0) / N
    return rule.D * math.sqrt(2.0 * N * (1.0 + spread))


@compiled
def columns_of(state: Table) -> int:
    """How many columns the table has: one if all are equal."""
    return 1 if math.isinf(state.scalars[B]) else int(state.counts[TASKS])


@helper
def conjugate(p: float) -> float:
    return np.inf if p <= 1.0 else p / (p - 1.0)


@compiled
def factor_of(rule: MirrorRule, state: Table) -> float:
    """f of the softmax: eta_t for the leader, else 1."""
    if rule.rate == LEADER:
        return rule.eta
    if rule.rate == LEADER_SQRT:
        return rule.eta / math.sqrt(state.scalars[ROUNDS] + 1.0)
    return 1.0


@helper
def _begin(rule: MirrorRule, state: Table) -> None:
    """Every declared task at its start, as soon as there are tasks and features."""
    theta, _, _, known, counts, _, _, _ = state
    if counts[TUNED] > 0 or counts[TASKS] == 0:
        return
    if rule.kind == P_SIMPLEX:
        for k in range(counts[TASKS]):
            for j in range(theta.shape[0]):
                theta[j, k] = 1.0 / counts[FEATURES] if known[j] != 0 else 0.0
    _retune(rule, state, counts[TASKS], counts[FEATURES])
    refresh_all(rule, state, factor_of(rule, state))


@helper
def _welcome_tasks(rule: MirrorRule, state: Table, N: int) -> None:
    """New tasks start at the shared part; on the simplex of p-norms, at the mean. Everybody is projected once."""
    theta, shared, sums, known, counts, scalars, _, _ = state
    before = counts[TASKS]
    counts[TASKS] = N
    if counts[TUNED] == 0:
        _begin(rule, state)
        return
    for k in range(before, N):
        for j in range(theta.shape[0]):
            theta[j, k] = shared[j]
            if rule.kind == P_SIMPLEX:
                total = 0.0
                for other in range(before):
                    total += theta[j, other]
                theta[j, k] = total / before
    _retune(rule, state, N, counts[FEATURES])
    if rule.kind != P_SIMPLEX:
        for k in range(before, columns_of(state)):
            refresh(rule.kind, conjugate(scalars[P]), factor_of(rule, state), theta, known, sums, k)
    if rule.ball:
        into_ball(rule, state, conjugate(scalars[P]))


@helper
def _welcome_feature(rule: MirrorRule, state: Table, j: int) -> None:
    """One feature more counts: it enters with dual weight 0, or with its share of the simplex."""
    theta, _, sums, known, counts, _, _, _ = state
    known[j] = 1
    d = counts[FEATURES]
    counts[FEATURES] = d + 1
    if counts[TUNED] == 0:
        return
    if rule.kind == P_SIMPLEX:
        for k in range(counts[TASKS]):
            for f in range(theta.shape[0]):
                theta[f, k] *= d / (d + 1.0)
            theta[j, k] = 1.0 / (d + 1.0)
    elif rule.kind == ENTROPY:
        for k in range(columns_of(state)):
            if -sums[k, OFFSET] > BEYOND:
                refresh(rule.kind, 1.0, factor_of(rule, state), theta, known, sums, k)
            else:
                sums[k, SUM] += math.exp(-sums[k, OFFSET])
                sums[k, PEAK] = max(sums[k, PEAK], sums[k, SUM])
    _retune(rule, state, counts[TASKS], d + 1)


@helper
def refresh_all(rule: MirrorRule, state: Table, f: float) -> None:
    theta, _, sums, known, _, scalars, _, _ = state
    scalars[TOUCHED] = 0.0
    if rule.kind != P_SIMPLEX:
        for k in range(columns_of(state)):
            refresh(rule.kind, conjugate(scalars[P]), f, theta, known, sums, k)


@compiled
def admit(rule: MirrorRule, state: Table, features: int) -> None:
    """Features 0 .. features-1 count from now on."""
    for j in range(features):
        if state.known[j] == 0:
            _welcome_feature(rule, state, j)
    _begin(rule, state)


@helper
def welcome(rule: MirrorRule, state: Table, batch: Batch, lo: int, hi: int) -> None:
    """Tasks and features that a round brings for the first time."""
    task, _, row, indptr, indices, _, _ = batch
    N = state.counts[TASKS]
    for i in range(lo, hi):
        N = max(N, task[i] + 1)
        if rule.kind != P_NORM:
            for e in range(indptr[row[i]], indptr[row[i] + 1]):
                if state.known[indices[e]] == 0:
                    _welcome_feature(rule, state, indices[e])
    if state.counts[TUNED] != N:
        _welcome_tasks(rule, state, N)


@helper
def into_ball(rule: MirrorRule, state: Table, q: float) -> None:
    """sum_k |y_k|_p^2 <= radius^2: the Bregman projection scales all columns alike."""
    theta, shared, sums, _, counts, scalars, _, _ = state
    rho, total, s = radius_of(rule, scalars[B], counts[TASKS]), 0.0, scalars[SCALE]
    for k in range(columns_of(state)):
        size = s * column_norm(q, sums, k)
        total += size * size
    if columns_of(state) == 1:
        total *= counts[TASKS]
    if total > rho * rho:
        scalars[SCALE] *= rho / math.sqrt(total)
    if scalars[SCALE] < FOLD:
        s = scalars[SCALE]
        for j in range(theta.shape[0]):
            shared[j] *= s
            for k in range(theta.shape[1]):
                theta[j, k] *= s
        scalars[SCALE] = 1.0
        refresh_all(rule, state, 1.0)
