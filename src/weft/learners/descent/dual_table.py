"""The table of dual vectors that mirror descent with an entropy or a p-norm keeps: a column per task (`mirror_map`)."""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.jit import compiled, inlined
from weft.learners.descent.mirror_map import P_NORM, Map, image
from weft.learners.descent.mirror_rule import LEADER, LEADER_SQRT, MirrorRule, conjugate
from weft.learners.descent.positions import ColumnSum, Count
from weft.learners.descent.positions import DualScalar as S
from weft.storage.state import Plan


class Table(NamedTuple):
    """theta (or y), the shared part of it, sums per task, which features count, counts and scalars."""

    theta: Floats
    shared: Floats
    sums: Floats  # rows by `ColumnSum`
    known: Ints
    counts: Ints  # by `Count`
    scalars: Floats  # by `DualScalar`
    root: Floats  # A^{-1/2} of a graph, which follows from the parameters
    order: Ints  # the position of every task in the graph's own order


PLAN = Plan(
    {
        "theta": ("feature", "task"),
        "shared": ("feature",),
        "sums": ("task", len(ColumnSum)),
        "known": ("feature",),
        "counts": (len(Count),),
        "scalars": (len(S),),
    },
    counts={"known": (1,), "counts": ("task", "task", "feature")},
    counters={"scalars": (S.LABELLED, S.ROUNDS, S.TOUCHED)},
)


def blank(tasks: int, root: Array | None = None, order: Ints | None = None) -> Table:
    """`tasks` are declared, nothing is learned."""
    counts, scalars = np.zeros(len(Count), np.int64), np.zeros(len(S))
    counts[Count.TASKS], scalars[S.SCALE] = tasks, 1.0
    none = np.zeros((0, 0))
    return Table(
        none,
        np.zeros(0),
        np.zeros((0, len(ColumnSum))),
        np.zeros(0, np.int64),
        counts,
        scalars,
        none.copy() if root is None else np.ascontiguousarray(root),
        np.zeros(0, np.int64) if order is None else order,
    )


@inlined
def columns_of(state: Table) -> int:
    """How many columns the table has: one if all are equal."""
    return 1 if math.isinf(state.scalars[S.B]) else int(state.counts[Count.TASKS])


@inlined
def factor_of(rule: MirrorRule, state: Table) -> float:
    """f of the softmax: eta_t for the leader, else 1."""
    if rule.rate == LEADER:
        return rule.eta
    if rule.rate == LEADER_SQRT:
        return rule.eta / math.sqrt(state.scalars[S.ROUNDS] + 1.0)
    return 1.0


@inlined
def map_of(rule: MirrorRule, state: Table) -> Map:
    """The mirror map of the next round."""
    return Map(rule.kind, conjugate(state.scalars[S.P]), factor_of(rule, state))


def both_parts(rule: MirrorRule, state: Table, tasks: int, features: int) -> tuple[Array, Array]:
    """What a task has for itself, and what it has from the others: both (tasks, features)."""
    y = np.zeros((tasks, features))
    if tasks:
        columns = images(rule, state, np.arange(features))
        y[:] = columns[:tasks]  # the one column that stands for all, or one per task
    if rule.graph:
        own = state.root.diagonal()[:, None] * y
        return own, state.root @ y - own
    own = state.scalars[S.OWN] * y
    if math.isinf(state.scalars[S.B]):
        return own, y
    return own, state.scalars[S.SHARED] * np.repeat(y.sum(axis=0, keepdims=True), tasks, axis=0)


def images(rule: MirrorRule, state: Table, indices: Ints) -> Array:
    """y of all columns for these features: (columns, features)."""
    y = np.zeros((columns_of(state), len(indices)))
    _fill_images(rule, state, indices, y)
    return y


@compiled
def _fill_images(rule: MirrorRule, state: Table, indices: Ints, y: Floats) -> None:
    theta, sums, known, s, mirror = state.theta, state.sums, state.known, state.scalars[S.SCALE], map_of(rule, state)
    for e in range(len(indices)):
        j = indices[e]
        if rule.kind != P_NORM and known[j] == 0:
            continue
        for k in range(y.shape[0]):
            y[k, e] = s * image(mirror, theta[j, k], sums, k)
