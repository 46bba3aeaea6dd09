"""What else has to go when a task is forgotten: sums over tasks, and everything that follows from their number.

The models of the other tasks stay as they are, up to a projection for one task fewer.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from weft.compiled.arrays import Array
from weft.learners.descent import cliques_ball, dual_growth, table
from weft.learners.descent.mirror_rule import MirrorRule
from weft.learners.descent.positions import CliqueScalar, Count, DualScalar, TableScalar
from weft.learners.descent.rule import MAHALANOBIS, VARIANCE, Rule

Arrays = Mapping[str, Array]


def from_cliques(rule: Rule, before: Arrays, after: dict[str, Array], slot: int) -> None:
    """Of `cliques`."""
    S, scalars, N = CliqueScalar, after["scalars"], _count_down(after["counts"], slot)
    if N and after["counts"][Count.TUNED]:
        found = cliques_ball.numbers_for(rule, N)
        scalars[[S.ETA, S.B, S.OWN, S.SHARED, S.LIMIT]] = found
        if rule.projection in (MAHALANOBIS, VARIANCE):
            _measure(rule, after, N)


def _measure(rule: Rule, arrays: dict[str, Array], N: int) -> None:
    """The sums over tasks, and how far the models are out of their ball, from the parts that are left."""
    S, scalars, shared = CliqueScalar, arrays["scalars"], arrays["shared"]
    own, feature, sums = arrays["own"], arrays["pairs"][:, 1], np.zeros(len(arrays["sums"]))
    np.add.at(sums, feature, own)
    squares, s, b = float(own @ own), float(scalars[S.SCALE]), float(scalars[S.B])
    if rule.projection == VARIANCE:  # M + s (z_i - zbar): the mean of those that are left
        mean = sums / N
        shared[0] += s * (mean - arrays["sums"])
        arrays["sums"] = mean
        size = squares - N * float(mean @ mean)
    else:
        arrays["sums"] = sums
        m, total = shared[0], float(sums @ sums)
        scalars[S.ZZ], scalars[S.SS], scalars[S.SM], scalars[S.MM] = squares, total, float(sums @ m), float(m @ m)
        spread = 0.0 if math.isinf(b) else (1.0 + b) * squares - b / N * total
        size = spread + 2.0 * scalars[S.SM] + N * scalars[S.MM]
    size, limit = max(0.0, s * s * size), float(scalars[S.LIMIT])
    if size > limit:
        scalars[S.SCALE] *= math.sqrt(limit / size) if limit > 0.0 else 1.0
    scalars[S.Q], scalars[S.Q_REST] = min(size, limit), 0.0


def from_table(rule: Rule, before: Arrays, after: dict[str, Array], slot: int) -> None:
    """Of `table`."""
    S, scalars, N = TableScalar, after["scalars"], _count_down(after["counts"], slot)
    if N and after["counts"][Count.TUNED]:
        scalars[[S.ETA, S.B, S.OWN, S.SHARED]] = table.numbers_for(rule, N)
        scalars[S.LARGEST] = scalars[S.OWN] + scalars[S.SHARED]


def from_duals(rule: MirrorRule, before: Arrays, after: dict[str, Array], slot: int) -> None:
    """Of `dual_table`, where one column may stand for all."""
    S, scalars, N = DualScalar, after["scalars"], _count_down(after["counts"], slot)
    if N and math.isinf(scalars[S.B]):
        after["theta"][:, 0], after["sums"][0] = before["theta"][:, 0], before["sums"][0]
    if N and after["counts"][Count.TUNED]:
        numbers = dual_growth.numbers_for(rule, np.zeros((0, 0)), N, int(after["counts"][Count.FEATURES]))
        scalars[[S.ETA, S.B, S.OWN, S.SHARED, S.LARGEST, S.P]] = numbers


def from_tables(rules: Sequence[Rule], before: Arrays, after: dict[str, Array], slot: int) -> None:
    """Of Hedge over tables, an expert per rule."""
    for k, rule in enumerate(rules):
        from_table(rule, before, {name: after[name][k] for name in ("counts", "scalars")}, slot)


def from_dual_tables(rules: Sequence[MirrorRule], before: Arrays, after: dict[str, Array], slot: int) -> None:
    """Of Hedge over tables of dual vectors, an expert per rule."""
    tables = ("theta", "sums", "counts", "scalars")
    for k, rule in enumerate(rules):
        held, left = ({name: arrays[name][k] for name in tables} for arrays in (before, after))
        from_duals(rule, held, left, slot)


def _count_down(counts: Array, slot: int) -> int:
    """One task fewer; how many are left."""
    if slot < counts[Count.TASKS]:
        counts[Count.TASKS] -= 1
    if counts[Count.TUNED]:
        counts[Count.TUNED] = counts[Count.TASKS]
    return int(counts[Count.TASKS])
