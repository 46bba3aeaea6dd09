r"""Gradient descent on a clique of tasks, or on disjoint cliques, at a cost of O(non-zeros) per event.

A^-1 = own I + shared 11^T, with own = 1/(1+b) and shared = b/((1+b)N), moves every task by the same vector, and the
active one by another of its own. So two parts, updated where the row has entries, stand for all N models:

    x_i = s (z_i + m)              z_i -= (eta own / s) g      m -= (eta shared / s) g
    x_i = M + s (z_i - zbar)       projection="variance": the mean apart from the deviations

With disjoint cliques every cluster has an m, and `own` and `shared` of its own. The factor s is how projections stay
lazy. On the Mahalanobis ball Q = |x|_A^2 obeys Q += -2 eta <x_i, g> + eta^2 A^-1_ii |g|^2, and x is scaled when Q
passes the radius; the sums that give Q for another N are kept as well, for when a new task turns up: sum |z_i|^2,
|sum z|^2, <sum z, m> and |m|^2. On the variance ball the same with Q = sum |x_i - xbar|^2. In a round of several rows g
is a compound gradient, and sum_ij A^-1_ij <g_i, g_j> takes the place of A^-1_ii |g|^2.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.jit import Handle, compiled, helper
from weft.graphs.interaction import CliqueBlocks
from weft.learners.descent.strengths import (
    ADAPTIVE,
    LEADER,
    MAHALANOBIS,
    VARIANCE,
    Rule,
    add_exactly,
    rate_of,
    squares_in_any_order,
    tune,
)
from weft.maths.losses import loss_value, slope
from weft.maths.rounds import widest_round
from weft.storage.batch import Batch, set_single, status
from weft.storage.pairs import HASHED, TASK_STRIDE, Pairs, dense, find_row, fits, slot_space
from weft.storage.state import Plan, live
from weft.storage.two_parts import add_parts, add_vector, ask_ahead, dot_parts, dot_vector

TASKS, TUNED = 0, 1
"""Positions in `counts`: tasks seen, and those that the scalars hold for."""

SCALE, Q, Q_REST, SQUARES, ETA, B, OWN, SHARED, LIMIT, ZZ, SS, SM, MM, ROUNDS, SINCE = range(15)
"""Positions in `scalars`: s, Q with its rest, sum of |g|^2, eta or c, b, own, shared, limit of Q, the four sums,
rounds with a gradient, and those since the sums were made."""

FOLD = 1e-100
"""A factor s below this is multiplied into the parts."""


class Clusters(NamedTuple):
    """The cluster of every task, `own` and `shared` of every cluster; none: one clique of whoever turns up."""

    order: Ints  # where a task stands in the graph's own order
    label: Ints
    own: Floats
    shared: Floats


class Parts(NamedTuple):
    """z (own), m or M (shared), and the sum of z or zbar (sums)."""

    pairs: Pairs
    own: Floats
    shared: Floats
    sums: Floats
    counts: Ints
    scalars: Floats
    clusters: Clusters  # follows from the parameters, so not part of a file

    @property
    def order(self) -> Ints:
        """Where a task stands in the graph's own order."""
        return self.clusters.order


def plan(clusters: int = 1, variance: bool = False) -> Plan:
    """With the variance projection a new task starts with all coordinates of the mean: a table."""
    axes: dict[str, tuple[str | int, ...]] = {
        "own": ("pair",),
        "shared": (clusters, "feature"),
        "sums": ("feature",),
        "counts": (2,),
        "scalars": (15,),
    }
    return Plan(axes, always_dense=variance, counts={"counts": ("task", "task")})


ONE_CLIQUE = Clusters(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


def blank(tasks: int, clusters: Clusters = ONE_CLIQUE) -> Parts:
    """`tasks` are declared, nothing is learned."""
    scalars = np.zeros(15)
    scalars[SCALE] = 1.0
    shared, counts = np.zeros((max(len(clusters.own), 1), 0)), np.array([tasks, 0])
    return Parts(dense(0, 1), np.zeros(0), shared, np.zeros(0), counts, scalars, clusters)


def blank_on_graph(A: CliqueBlocks, order: Ints) -> Parts:
    """The same on disjoint cliques; slot i is task order[i] of A."""
    own, shared = map(np.ascontiguousarray, A.coefficients(-1.0))
    return blank(len(order), Clusters(order, A.components[order], own, shared))


def both_parts(rule: Rule, state: Parts, plan: Plan, tasks: int, features: int) -> tuple[Array, Array]:
    """The own and the shared part of all models, each (tasks, features); a model is their sum."""
    parts, factor = live(state, plan, tasks, features), factor_of(rule, state)
    own = np.zeros((tasks, features))
    own[parts["pairs"][:, 0], parts["pairs"][:, 1]] = factor * parts["own"]
    label = state.clusters.label if rule.clusters else np.zeros(tasks, np.int64)
    if rule.projection == VARIANCE:
        return own - factor * parts["sums"], np.repeat(parts["shared"], tasks, axis=0)
    return own, factor * parts["shared"][label]


@helper
def _retune(rule: Rule, state: Parts, N: int) -> None:
    """What contains N, for N tasks; newcomers start at the shared part, and everybody is projected once."""
    pairs, own, _, sums, counts, scalars, _ = state
    before = counts[TASKS]
    b, eta, rho = tune(rule, N)
    counts[TASKS], counts[TUNED] = N, N
    scalars[ETA], scalars[B] = eta, b
    scalars[OWN] = 0.0 if math.isinf(b) else 1.0 / (1.0 + b)
    scalars[SHARED] = (1.0 if math.isinf(b) else b / (1.0 + b)) / N
    if rule.projection == MAHALANOBIS:
        scalars[LIMIT] = rho * rho
        if scalars[ROUNDS] > 0 and not rule.clusters:
            _remeasure(state)
            _shrink(state)
    elif rule.projection == VARIANCE:
        scalars[LIMIT] = (N - 1) * rule.sigma * rule.sigma * rule.D * rule.D
        width = pairs.layout[TASK_STRIDE]
        for j in range(before, N):
            for f in range(min(width, len(sums))):
                own[j * width + f] = sums[f]


@helper
def _remeasure(state: Parts) -> None:
    """Q = |x|_A^2 from the four sums."""
    _, _, _, _, counts, scalars, _ = state
    N, b, s = counts[TASKS], scalars[B], scalars[SCALE]
    spread = 0.0
    if not math.isinf(b):
        spread = (1.0 + b) * scalars[ZZ] - b / N * scalars[SS]
    scalars[Q] = max(0.0, s * s * (spread + 2.0 * scalars[SM] + N * scalars[MM]))
    scalars[Q_REST] = 0.0


@helper
def _resynchronise(state: Parts) -> None:
    """The four sums, and Q, from the parts themselves."""
    pairs, own, shared, sums, _, scalars, _ = state
    scalars[SINCE] = 0.0
    scalars[ZZ] = squares_in_any_order(pairs, own)
    scalars[SS] = scalars[SM] = scalars[MM] = 0.0
    for f in range(len(sums)):
        scalars[SS] += sums[f] * sums[f]
        scalars[SM] += sums[f] * shared[0, f]
        scalars[MM] += shared[0, f] * shared[0, f]
    _remeasure(state)


@helper
def _shrink(state: Parts) -> None:
    """If Q is above its limit, scale to it."""
    scalars = state.scalars
    size = max(0.0, scalars[Q] + scalars[Q_REST])
    if size > scalars[LIMIT]:
        scalars[SCALE] *= math.sqrt(scalars[LIMIT] / size)
        scalars[Q], scalars[Q_REST] = scalars[LIMIT], 0.0


@helper
def _fold(rule: Rule, state: Parts) -> None:
    """s = 1, with the same models."""
    _, own, shared, sums, _, scalars, _ = state
    s = scalars[SCALE]
    for p in range(len(own)):
        own[p] *= s
    for f in range(len(sums)):
        sums[f] *= s
        if rule.projection == MAHALANOBIS:
            for c in range(shared.shape[0]):
                shared[c, f] *= s
    for at in range(ZZ, MM + 1):
        scalars[at] *= s * s
    scalars[SCALE] = 1.0


@compiled
def factor_of(rule: Rule, state: Parts) -> float:
    """What the parts are multiplied with to be models now."""
    if rule.rate >= LEADER:
        eta = state.scalars[ETA] if state.counts[TUNED] > 0 else 0.0
        return rate_of(rule, eta, 0.0, state.scalars[ROUNDS] + 1.0)
    return float(state.scalars[SCALE])


@helper
def _together(batch: Batch, lo: int, hi: int, g: Floats, label: Ints, c: int | np.int64, total: Floats) -> float:
    """|sum of the gradients g x of a round, of the tasks of cluster c|^2; `total` is scratch, zero again after."""
    task, _, row, indptr, indices, values, _ = batch
    for i in range(lo, hi):
        if g[i - lo] != 0.0 and (c < 0 or label[task[i]] == c):
            for e in range(indptr[row[i]], indptr[row[i] + 1]):
                total[indices[e]] += g[i - lo] * values[e]
    square = 0.0
    for i in range(lo, hi):
        if g[i - lo] != 0.0 and (c < 0 or label[task[i]] == c):
            for e in range(indptr[row[i]], indptr[row[i] + 1]):
                square += total[indices[e]] * total[indices[e]]
                total[indices[e]] = 0.0
    return square


@compiled
def predict(rule: Rule, state: Parts, batch: Batch, scores: Floats) -> None:
    pairs, own, shared, sums, counts, _, clusters = state
    layout, keys, table = pairs
    task, _, row, indptr, indices, values, _ = batch
    slots, s = slot_space(pairs, batch), factor_of(rule, state)
    for i in range(len(scores)):
        j, c, begin, end = task[i], 0, indptr[row[i]], indptr[row[i] + 1]
        if rule.clusters:
            if j >= len(clusters.label):
                scores[i] = 0.0
                continue
            c = clusters.label[j]
        z, m, _ = dot_parts(layout, keys, table, own, shared, j, c, indices, values, begin, end, slots)
        scores[i] = s * (z + m)
        if rule.projection == VARIANCE:  # a task that is not known yet stands at the mean
            zbar = dot_vector(sums, indices, values, begin, end)[0]
            scores[i] = m + s * (z - zbar) if j < counts[TASKS] else m


@compiled
def learn(rule: Rule, state: Parts, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    pairs, own, shared, sums, counts, scalars, clusters = state
    layout, keys, table = pairs
    task, label, row, indptr, indices, values, rounds = batch
    slots, widest = slot_space(pairs, batch), widest_round(rounds)
    g, squares, zs, ms, extras = (
        np.empty(widest),
        np.empty(widest),
        np.empty(widest),
        np.empty(widest),
        np.empty(widest),
    )
    projects = rule.projection == MAHALANOBIS or rule.projection == VARIANCE
    total = np.zeros(shared.shape[1] if widest > 1 and (projects or rule.rate == ADAPTIVE) else 0)
    alone = math.isinf(rule.b)  # nobody has a part of its own
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if layout[HASHED] and not fits(pairs, batch, lo, hi):
            return t
        N = counts[TASKS]
        for i in range(lo, hi):
            N = max(N, task[i] + 1)
        if counts[TUNED] != N:
            _retune(rule, state, N)
        # scores and slopes of the round
        s = factor_of(rule, state) if rule.rate >= LEADER else scalars[SCALE]
        g2, moving, last, labelled = 0.0, 0, 0, False
        for i in range(lo, hi):
            j, a, begin, end = task[i], i - lo, indptr[row[i]], indptr[row[i] + 1]
            c = clusters.label[j] if rule.clusters else 0
            extras[a] = 0.0
            if alone:
                zs[a] = 0.0
                ms[a], squares[a] = dot_vector(shared[0], indices, values, begin, end)
            else:
                ask_ahead(layout, keys, table, own, shared, task, row, indptr, indices, i)
                zs[a], ms[a], squares[a] = dot_parts(
                    layout, keys, table, own, shared, j, c, indices, values, begin, end, slots
                )
            scores[i] = s * (zs[a] + ms[a])
            if projects:
                extras[a] = dot_vector(sums, indices, values, begin, end)[0]
                if rule.projection == VARIANCE:
                    scores[i] = ms[a] + s * (zs[a] - extras[a])
            g[a] = slope(rule.loss, scores[i], label[i], rule.epsilon)
            if g[a] * g[a] * squares[a] > 0.0:
                moving, last = moving + 1, a
            g2 += g[a] * g[a] * squares[a]
            labelled = labelled or not math.isnan(label[i])
        if not labelled:
            continue
        # |g|^2 alone, together, and in the norm of A^-1
        G2, H = g2, 0.0
        if projects or rule.rate == ADAPTIVE:
            if not rule.clusters:
                if moving > 1:
                    G2 = _together(batch, lo, hi, g, clusters.label, np.int64(-1), total)
                H = scalars[OWN] * g2 + scalars[SHARED] * G2
            elif moving <= 1:
                c = clusters.label[task[lo + last]]
                H = (clusters.own[c] + clusters.shared[c]) * g2
            else:
                for a in range(hi - lo):
                    c = clusters.label[task[lo + a]]
                    H += clusters.own[c] * g[a] * g[a] * squares[a]
                for c in range(len(clusters.own)):
                    H += clusters.shared[c] * _together(batch, lo, hi, g, clusters.label, c, total)
        if rule.rate == ADAPTIVE:
            scalars[SQUARES] += g2 if moving == 1 else H / _largest_diagonal(rule, state)
        eta = rate_of(rule, scalars[ETA], scalars[SQUARES], scalars[ROUNDS] + 1.0)
        if trace.shape[0]:
            for a in range(hi - lo):
                i = lo + a
                if not math.isnan(label[i]):
                    trace[i, 0] = loss_value(rule.loss, scores[i], label[i], rule.epsilon)
                    trace[i, 1], trace[i, 2] = eta, g[a] * g[a] * squares[a]
                    trace[i, 3] = scalars[OWN] + scalars[SHARED]
                    if rule.clusters:
                        c = clusters.label[task[i]]
                        trace[i, 3] = clusters.own[c] + clusters.shared[c]
        if g2 == 0.0:
            continue
        scalars[ROUNDS] += 1.0
        # every row moves its task's part and the shared one
        step = -1.0 if rule.rate >= LEADER else -eta / s
        for a in range(hi - lo):
            i = lo + a
            if g[a] == 0.0:
                continue
            j, c, begin, end = task[i], 0, indptr[row[i]], indptr[row[i] + 1]
            own_step, shared_step = step * g[a] * scalars[OWN], step * g[a] * scalars[SHARED]
            if rule.clusters:
                c = clusters.label[j]
                own_step, shared_step = step * g[a] * clusters.own[c], step * g[a] * clusters.shared[c]
            if rule.projection == VARIANCE:
                shared_step = -eta * g[a] / N
                if scalars[LIMIT] == 0.0:
                    own_step = 0.0  # nobody may leave the mean
            if own_step == 0.0:
                add_vector(shared[c], indices, values, begin, end, shared_step)
            else:
                if layout[HASHED] and hi - lo > 1:
                    find_row(keys, table, own, j, indices, begin, end, slots)
                add_parts(
                    layout, keys, table, own, shared, j, c, indices, values, begin, end, own_step, shared_step, slots
                )
            if projects and not rule.clusters:
                share = own_step / N if rule.projection == VARIANCE else own_step
                add_vector(sums, indices, values, begin, end, share)
        if projects:
            _project(rule, state, scores, lo, hi, g, zs, ms, extras, g2, G2, H, eta)
    return len(rounds) - 1


@helper
def _largest_diagonal(rule: Rule, state: Parts) -> float:
    """max_i A^-1_ii."""
    scalars, clusters = state.scalars, state.clusters
    largest = float(scalars[OWN] + scalars[SHARED])
    if rule.clusters:
        largest = 0.0
        for c in range(len(clusters.own)):
            largest = max(largest, clusters.own[c] + clusters.shared[c])
    return largest


@helper
def _project(
    rule: Rule,
    state: Parts,
    scores: Floats,
    lo: int,
    hi: int,
    g: Floats,
    zs: Floats,
    ms: Floats,
    extras: Floats,
    g2: float,
    G2: float,
    H: float,
    eta: float,
) -> None:
    """What the step did to Q and to the four sums; then back into the ball."""
    counts, scalars = state.counts, state.scalars
    s, N = scalars[SCALE], counts[TASKS]
    xg, zg, mg, sg = 0.0, 0.0, 0.0, 0.0
    for a in range(hi - lo):
        xg += g[a] * scores[lo + a]
        zg += g[a] * zs[a]
        mg += g[a] * ms[a]
        sg += g[a] * extras[a]
    if rule.projection == VARIANCE:
        step = eta * scalars[OWN] if scalars[LIMIT] > 0.0 else 0.0
        add_exactly(scalars, Q, -2.0 * step * s * (zg - sg) + step * step * (g2 - G2 / N))
    else:
        add_exactly(scalars, Q, -2.0 * eta * xg + eta * eta * H)
        own, shared = eta * scalars[OWN] / s, eta * scalars[SHARED] / s
        scalars[ZZ] += -2.0 * own * zg + own * own * g2
        scalars[SS] += -2.0 * own * sg + own * own * G2
        scalars[SM] += -own * mg - shared * sg + own * shared * G2
        scalars[MM] += -2.0 * shared * mg + shared * shared * G2
        scalars[SINCE] += 1.0
        if scalars[SINCE] >= rule.resync and not rule.clusters:
            _resynchronise(state)
    _shrink(state)
    if scalars[SCALE] < FOLD:
        _fold(rule, state)


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    rule, state, batch, scores, _ = handle.parts
    bad = set_single(batch, task, 0.0, count)
    if bad < 0:
        predict(rule, state, batch, scores)
    return bad


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    rule, state, batch, scores, trace = handle.parts
    bad = set_single(batch, task, label, count)
    return bad if bad >= 0 else status(learn(rule, state, batch, batch.rounds[0], scores, trace))
