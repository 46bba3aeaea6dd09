"""What changes in a table of dual vectors when tasks or features come, and the ball that holds the models.

b, A^{-1/2}, the rate and the ball follow from the rule, the number of tasks N and the number of features d
(`mirror_rule`), and are computed again when either changes.
"""

import math

from weft.compiled.arrays import Floats
from weft.compiled.jit import compiled, helper_no_alloc, inlined
from weft.learners.descent.dual_table import Table, columns_of, map_of
from weft.learners.descent.mirror_map import BEYOND, ENTROPY, P_NORM, P_SIMPLEX, column_norm, refresh
from weft.learners.descent.mirror_rule import MirrorRule, conjugate, curvature, p_of, radius_of, root_of
from weft.learners.descent.positions import ColumnSum, Count
from weft.learners.descent.positions import DualScalar as S
from weft.storage.batch import Batch

FOLD = 1e-100
"""A factor s below this is multiplied into the table."""


@helper_no_alloc
def _retune(rule: MirrorRule, state: Table, N: int, d: int) -> None:
    """b, A^{-1/2} and the rate for N tasks and d features."""
    counts, scalars = state.counts, state.scalars
    counts[Count.TUNED] = N
    eta, b, own, shared, largest, p = numbers_for(rule, state.root, N, d)
    scalars[S.ETA], scalars[S.B], scalars[S.OWN], scalars[S.SHARED] = eta, b, own, shared
    scalars[S.LARGEST], scalars[S.P] = largest, p


@inlined
def numbers_for(rule: MirrorRule, root: Floats, N: int, d: int) -> tuple[float, float, float, float, float, float]:
    """What follows from the rule, N tasks and d features alone: eta, b, A^{-1/2} of a clique, max A^-1_ii, and p."""
    b, own, shared = root_of(rule, N)
    largest = 1.0 / N if math.isinf(b) else 1.0 / (1.0 + b) + b / (1.0 + b) / N
    if rule.graph:
        largest = 0.0
        for i in range(N):
            square = 0.0
            for k in range(N):
                square += root[i, k] * root[i, k]
            largest = max(largest, square)
    p = p_of(rule, d) if rule.kind != ENTROPY else 1.0
    lam, C = curvature(rule, p, d)
    eta = rule.eta
    if math.isnan(eta):
        if rule.kind != P_NORM:  # Prop. 8, with f = 1 + sigma^2 (N-1) = N max A^-1_ii
            eta = N * math.sqrt(2.0 * lam * C / (N * largest))
        else:  # Prop. 5 and 6
            eta = radius_of(rule, b, N) * math.sqrt(lam / largest)
    return eta, b, own, shared, largest, p


@helper_no_alloc
def _begin(rule: MirrorRule, state: Table) -> None:
    """Every declared task at its start, as soon as there are tasks and features."""
    theta, _, _, known, counts, _, _, _ = state
    if counts[Count.TUNED] > 0 or counts[Count.TASKS] == 0:
        return
    if rule.kind == P_SIMPLEX:
        for k in range(counts[Count.TASKS]):
            for j in range(theta.shape[0]):
                theta[j, k] = 1.0 / counts[Count.FEATURES] if known[j] != 0 else 0.0
    _retune(rule, state, counts[Count.TASKS], counts[Count.FEATURES])
    refresh_all(rule, state)


@helper_no_alloc
def _welcome_tasks(rule: MirrorRule, state: Table, N: int) -> None:
    """New tasks start at the shared part; on the simplex of p-norms, at the mean. All tasks are projected once."""
    theta, shared, sums, known, counts, _, _, _ = state
    before = counts[Count.TASKS]
    counts[Count.TASKS] = N
    if counts[Count.TUNED] == 0:
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
    _retune(rule, state, N, counts[Count.FEATURES])
    if rule.kind != P_SIMPLEX:
        for k in range(before, columns_of(state)):
            refresh(map_of(rule, state), theta, known, sums, k)
    if rule.ball:
        into_ball(rule, state)


@helper_no_alloc
def _welcome_feature(rule: MirrorRule, state: Table, j: int) -> None:
    """One feature more counts: it enters with dual weight 0, or with its share of the simplex."""
    theta, _, sums, known, counts, _, _, _ = state
    known[j] = 1
    d = counts[Count.FEATURES]
    counts[Count.FEATURES] = d + 1
    if counts[Count.TUNED] == 0:
        return
    if rule.kind == P_SIMPLEX:
        for k in range(counts[Count.TASKS]):
            for f in range(theta.shape[0]):
                theta[f, k] *= d / (d + 1.0)
            theta[j, k] = 1.0 / (d + 1.0)
    elif rule.kind == ENTROPY:
        for k in range(columns_of(state)):
            if -sums[k, ColumnSum.OFFSET] > BEYOND:
                refresh(map_of(rule, state), theta, known, sums, k)
            else:
                sums[k, ColumnSum.SUM] += math.exp(-sums[k, ColumnSum.OFFSET])
                sums[k, ColumnSum.PEAK] = max(sums[k, ColumnSum.PEAK], sums[k, ColumnSum.SUM])
    _retune(rule, state, counts[Count.TASKS], d + 1)


@helper_no_alloc
def refresh_all(rule: MirrorRule, state: Table) -> None:
    """The sums of all columns, from their entries."""
    theta, _, sums, known, _, scalars, _, _ = state
    scalars[S.TOUCHED] = 0.0
    if rule.kind != P_SIMPLEX:
        for k in range(columns_of(state)):
            refresh(map_of(rule, state), theta, known, sums, k)


@compiled
def admit(rule: MirrorRule, state: Table, features: int) -> None:
    """Features 0 .. features-1 count from now on."""
    for j in range(features):
        if state.known[j] == 0:
            _welcome_feature(rule, state, j)
    _begin(rule, state)


@helper_no_alloc
def welcome(rule: MirrorRule, state: Table, batch: Batch, lo: int, hi: int) -> None:
    """Tasks and features that a round brings for the first time."""
    task, _, row, indptr, indices, _, _, _ = batch
    N = state.counts[Count.TASKS]
    for i in range(lo, hi):
        N = max(N, task[i] + 1)
        if rule.kind != P_NORM:
            for e in range(indptr[row[i]], indptr[row[i] + 1]):
                if state.known[indices[e]] == 0:
                    _welcome_feature(rule, state, indices[e])
    if state.counts[Count.TUNED] != N:
        _welcome_tasks(rule, state, N)


@helper_no_alloc
def into_ball(rule: MirrorRule, state: Table) -> None:
    """sum_k |y_k|_p^2 <= radius^2: the Bregman projection scales all columns alike."""
    theta, shared, sums, _, counts, scalars, _, _ = state
    rho, total, s = radius_of(rule, scalars[S.B], counts[Count.TASKS]), 0.0, scalars[S.SCALE]
    q = conjugate(scalars[S.P])
    for k in range(columns_of(state)):
        size = s * column_norm(q, sums, k)
        total += size * size
    if columns_of(state) == 1:
        total *= counts[Count.TASKS]
    if total > rho * rho:
        scalars[S.SCALE] *= rho / math.sqrt(total)
    if scalars[S.SCALE] < FOLD:
        s = scalars[S.SCALE]
        for j in range(theta.shape[0]):
            shared[j] *= s
            for k in range(theta.shape[1]):
                theta[j, k] *= s
        scalars[S.SCALE] = 1.0
        refresh_all(rule, state)
