"""How the models of multitask mirror descent are kept: the state, the kernels, and what can be read from them.

`EuclideanForm` picks the cheapest of three: parts on cliques, neighbours on graphs, a dense table where a projection
moves every task. `MirrorForm` is the table of dual vectors. A learner hands over its rule and its graph.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Ints
from weft.graphs.interaction import CliqueBlocks, General
from weft.graphs.reading import Graph
from weft.learner import Distances, Kernels, Shares
from weft.learners.descent import dense as descent_dense
from weft.learners.descent import distances as descent_distances
from weft.learners.descent import dual as descent_mirror
from weft.learners.descent import graph as descent_graph
from weft.learners.descent import mirror_table
from weft.learners.descent import parts as descent_parts
from weft.learners.descent import shares as descent_shares
from weft.learners.descent.distances import Mean, mean_of_clique, mean_on_graph
from weft.learners.descent.mirror import P_NORM
from weft.learners.descent.mirror_table import MirrorRule
from weft.learners.descent.strengths import BALL, V_SIGMA, VARIANCE, Rule
from weft.names import Name
from weft.storage.state import Plan


class Named(NamedTuple):
    """A graph between named tasks, and its interaction matrix in the order of their names."""

    graph: Graph
    matrix: CliqueBlocks | General


@dataclass(frozen=True)
class EuclideanForm:
    """Gradient descent: `named` is None on the clique of whoever turns up."""

    hyper: Rule
    named: Named | None
    least_features: int = 0

    @property
    def module(self) -> ModuleType:
        if self.hyper.projection in (BALL, V_SIGMA):
            return descent_dense
        return descent_graph if self.named and isinstance(self.named.matrix, General) else descent_parts

    @property
    def plan(self) -> Plan:
        if self.module is descent_parts:
            clusters = 1 if self.named is None else int(self.named.matrix.components.max()) + 1
            return descent_parts.plan(clusters, self.hyper.projection == VARIANCE)
        plan: Plan = self.module.PLAN
        return plan

    @property
    def kernels(self) -> Kernels:
        module = self.module
        return Kernels(module.predict, module.learn, module.predict_one, module.learn_one)

    def init(self, tasks: Sequence[Name]) -> Any:
        if self.named is None:
            return self.module.blank(len(tasks))
        return self.module.blank_on_graph(self.named.matrix, self.named.graph.order(tasks))

    @property
    def prepares(self) -> bool:
        """Are rows of A^-1 solved for when their task turns up?"""
        return self.module is descent_graph

    def prepare(self, state: Any, needed: Ints) -> Any:
        assert self.named is not None
        assert isinstance(self.named.matrix, General)
        return descent_graph.with_rows(state, self.named.matrix, needed)

    def parts(self, state: Any, tasks: int, features: int) -> tuple[Array, Array]:
        if self.module is descent_parts:
            return descent_parts.both_parts(self.hyper, state, self.plan, tasks, features)
        if self.named is not None and isinstance(self.named.matrix, General) and self.module is descent_graph:
            return descent_graph.both_parts(self.hyper, state, self.named.matrix, features)
        return descent_dense.both_parts(state, tasks, features)

    def explain(self, state: Any, slot: int, indices: Ints) -> Shares:
        if self.module is descent_parts:
            return descent_shares.on_parts(self.hyper, state, slot, indices)
        read = descent_shares.on_graph if self.module is descent_graph else descent_shares.on_models
        return read(self.hyper, state, slot, indices)

    def distances(self, state: Any, tasks: int, features: int) -> Distances:
        if self.module is descent_parts and self.hyper.projection != VARIANCE:
            return descent_distances.of_parts(self.hyper, state, self.plan, tasks, features)
        if self.module is descent_graph:
            assert self.named is not None
            assert isinstance(self.named.matrix, General)
            mean_of = _mean_of(self.named, state, tasks)
            return descent_distances.of_graph(self.hyper, state, self.named.matrix, mean_of, features)
        return descent_distances.of_tables(*self.parts(state, tasks, features), _mean_of(self.named, state, tasks))


@dataclass(frozen=True)
class MirrorForm:
    """Dual vectors with a mirror map."""

    hyper: MirrorRule
    named: Named | None
    prepares: bool = False
    plan: Plan = mirror_table.PLAN
    kernels: Kernels = Kernels(
        descent_mirror.predict, descent_mirror.learn, descent_mirror.predict_one, descent_mirror.learn_one
    )

    @property
    def least_features(self) -> int:
        """A simplex has two corners at least."""
        return 0 if self.hyper.kind == P_NORM else 2

    def init(self, tasks: Sequence[Name]) -> Any:
        if self.named is None:
            return mirror_table.blank(len(tasks))
        order = self.named.graph.order(tasks)
        return mirror_table.blank(len(tasks), self.named.matrix.dense(-0.5)[np.ix_(order, order)], order)

    def prepare(self, state: Any, needed: Ints) -> Any:
        return state

    def admit(self, state: Any, features: int) -> None:
        """Features 0 .. features-1 count from now on."""
        mirror_table.admit(self.hyper, state, features)

    def parts(self, state: Any, tasks: int, features: int) -> tuple[Array, Array]:
        own, shared = mirror_table.both_parts(self.hyper, state, tasks, features)
        alone = self._alone(state)
        return (own, shared) if alone is None else (alone[:, None] * own, shared + (1.0 - alone[:, None]) * own)

    def explain(self, state: Any, slot: int, indices: Ints) -> Shares:
        found, alone = descent_shares.on_mirror(self.hyper, state, slot, indices), self._alone(state)
        if alone is None or slot >= len(alone):
            return found
        others = (1.0 - alone[slot]) * found.own + found.neighbours.sum(axis=0)
        return descent_shares.two(alone[slot] * found.own, others)

    def _alone(self, state: Any) -> Array | None:
        """On disjoint cliques A^{-1/2}_ii = own + shared, of which `own` is the task's: own / (own + shared)."""
        if self.named is None or not isinstance(self.named.matrix, CliqueBlocks):
            return None
        own, shared = self.named.matrix.coefficients(-0.5)
        return np.asarray((own / (own + shared))[self.named.matrix.components[state.order]])

    def distances(self, state: Any, tasks: int, features: int) -> Distances:
        return descent_distances.of_tables(*self.parts(state, tasks, features), _mean_of(self.named, state, tasks))


def _mean_of(named: Named | None, state: Any, tasks: int) -> Mean:
    """The mean of a task's neighbours: of all others, of its cluster, or by the edges of a graph."""
    if named is None:
        return mean_of_clique(np.zeros(tasks, np.int64))
    if isinstance(named.matrix, CliqueBlocks):
        return mean_of_clique(named.matrix.components[state.order])
    return mean_on_graph(named.graph, state.order)
