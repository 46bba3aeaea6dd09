"""What gradient descent on cliques keeps (`cliques`): a part of every task, a shared one of every clique."""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.jit import inlined
from weft.graphs.interaction import CliqueBlocks
from weft.learners.descent.positions import CliqueScalar, Count
from weft.learners.descent.rule import LEADER, VARIANCE, Rule, rate_of
from weft.storage.pairs import Pairs, dense
from weft.storage.saving import live
from weft.storage.state import Plan


class Clusters(NamedTuple):
    """The cluster of every task, `own` and `shared` of every cluster; none: one clique of all tasks that occur."""

    order: Ints  # the position of every task in the graph's own order
    label: Ints
    own: Floats
    shared: Floats


class Parts(NamedTuple):
    """z (own), m or M (shared), and the sum of z or zbar (sums)."""

    pairs: Pairs
    own: Floats
    shared: Floats
    sums: Floats
    counts: Ints  # by `Count`
    scalars: Floats  # by `CliqueScalar`
    clusters: Clusters  # follows from the parameters, so not part of a file

    @property
    def order(self) -> Ints:
        """The position of every task in the graph's own order."""
        return self.clusters.order


def plan(clusters: int = 1, variance: bool = False) -> Plan:
    """With the variance projection a new task starts with all coordinates of the mean: a table."""
    axes: dict[str, tuple[str | int, ...]] = {
        "own": ("pair",),
        "shared": (clusters, "feature"),
        "sums": ("feature",),
        "counts": (2,),
        "scalars": (len(CliqueScalar),),
    }
    return Plan(
        axes,
        always_dense=variance,
        counts={"counts": ("task", "task")},
        counters={"scalars": (CliqueScalar.ROUNDS, CliqueScalar.SINCE)},
    )


ONE_CLIQUE = Clusters(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


def blank(tasks: int, clusters: Clusters = ONE_CLIQUE) -> Parts:
    """`tasks` are declared, nothing is learned."""
    scalars = np.zeros(len(CliqueScalar))
    scalars[CliqueScalar.SCALE] = 1.0
    shared, counts = np.zeros((max(len(clusters.own), 1), 0)), np.array([tasks, 0])
    return Parts(dense(0, 1), np.zeros(0), shared, np.zeros(0), counts, scalars, clusters)


def blank_on_graph(A: CliqueBlocks, order: Ints) -> Parts:
    """The same on disjoint cliques; slot i is task order[i] of A."""
    own, shared = map(np.ascontiguousarray, A.coefficients(-1.0))
    return blank(len(order), Clusters(order, A.components[order], own, shared))


@inlined
def factor_of(rule: Rule, state: Parts) -> float:
    """What the parts are multiplied with to be models now: s, or the rate of follow-the-leader."""
    if rule.rate >= LEADER:
        eta = state.scalars[CliqueScalar.ETA] if state.counts[Count.TUNED] > 0 else 0.0
        return rate_of(rule, eta, 0.0, state.scalars[CliqueScalar.ROUNDS] + 1.0)
    return float(state.scalars[CliqueScalar.SCALE])


def both_parts(rule: Rule, state: Parts, plan: Plan, tasks: int, features: int) -> tuple[Array, Array]:
    """The own and the shared part of all models, each (tasks, features); a model is their sum."""
    parts, factor = live(state, plan, tasks, features), factor_of(rule, state)
    own = np.zeros((tasks, features))
    own[parts["pairs"][:, 0], parts["pairs"][:, 1]] = factor * parts["own"]
    label = state.clusters.label if rule.clusters else np.zeros(tasks, np.int64)
    if rule.projection == VARIANCE:
        return own - factor * parts["sums"], np.repeat(parts["shared"], tasks, axis=0)
    return own, factor * parts["shared"][label]
