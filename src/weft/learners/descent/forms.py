"""How the models of multitask mirror descent are kept: the state, the kernels, and what can be read from them.

`euclidean_form` picks the cheapest of three: parts on cliques, sums on graphs, a table of all models where a projection
moves every task. `OnDuals` is the table of dual vectors. A learner hands over its rule and its graph.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from weft.compiled.arrays import Array, Ints
from weft.graphs.interaction import CliqueBlocks, General
from weft.graphs.reading import Graph
from weft.learner import Distances, Kernels, Shares
from weft.learners.descent import (
    cliques,
    cliques_state,
    distances,
    dual_growth,
    dual_table,
    graph,
    mirror_descent,
    shares,
    table,
)
from weft.learners.descent.distances import Mean, mean_of_clique, mean_on_graph
from weft.learners.descent.file_checks import check_cliques, check_dual, check_factor, check_table
from weft.learners.descent.forgetting import from_cliques, from_duals, from_table
from weft.learners.descent.mirror_map import P_NORM
from weft.learners.descent.mirror_rule import MirrorRule, root_of
from weft.learners.descent.rule import BALL, V_SIGMA, VARIANCE, Rule, tune
from weft.names import Name
from weft.storage.state import Plan


class Named(NamedTuple):
    """A graph between named tasks, and its interaction matrix in the order of their names."""

    graph: Graph
    matrix: CliqueBlocks | General


class Form(Protocol):
    """What a learner needs of the form in which its models are kept."""

    @property
    def hyper(self) -> Rule | MirrorRule:
        """The parameters as compiled code takes them."""

    @property
    def plan(self) -> Plan:
        """The axes of the state's arrays."""

    @property
    def kernels(self) -> Kernels:
        """The rule."""

    def init(self, tasks: Sequence[Name]) -> Any:
        """The state before the first event."""

    def parts(self, state: Any, tasks: int, features: int) -> tuple[Array, Array]:
        """What a task has for itself, and what it has from others, (tasks, features) each; models are their sums."""

    def explain(self, state: Any, slot: int, indices: Ints) -> Shares:
        """Where the weights of a task come from, for some features."""

    def distances(self, state: Any, tasks: int, features: int) -> Distances:
        """How far every task is from those that it is tied to."""

    def clique_b(self, N: int) -> float:
        """b of the clique of N tasks."""

    @property
    def least_features(self) -> int:
        """The fewest features that there can be."""

    @property
    def prepares(self) -> bool:
        """Is something computed for a task at its first event?"""

    def prepare(self, state: Any, needed: Ints) -> Any:
        """The state with what is computed for these tasks."""

    def admit(self, state: Any, features: int) -> None:
        """Features 0 .. features-1 count from now on, whether or not they hold anything."""


class _Defaults:
    """What most forms do not need."""

    @property
    def least_features(self) -> int:
        return 0

    @property
    def prepares(self) -> bool:
        return False

    def prepare(self, state: Any, needed: Ints) -> Any:
        return state

    def admit(self, state: Any, features: int) -> None:
        pass


@dataclass(frozen=True)
class _Euclidean(_Defaults):
    """Gradient descent with a rule; `named` is None on the clique of all tasks that occur."""

    hyper: Rule
    named: Named | None

    def clique_b(self, N: int) -> float:
        return float(tune(self.hyper, N).b)

    def mean_of(self, state: Any, tasks: int) -> Mean:
        return _mean_of(self.named, state, tasks)


@dataclass(frozen=True)
class OnCliques(_Euclidean):
    """A part of every task, and a shared one of every clique."""

    kernels: Kernels = Kernels(cliques.predict, cliques.learn, cliques.predict_one, cliques.learn_one)

    @cached_property
    def plan(self) -> Plan:
        clusters = 1 if self.named is None else int(self.named.matrix.components.max()) + 1
        plan = cliques_state.plan(clusters, self.hyper.projection == VARIANCE)
        return replace(plan, check=partial(check_cliques, self.hyper), forget=partial(from_cliques, self.hyper))

    def init(self, tasks: Sequence[Name]) -> cliques_state.Parts:
        if self.named is None:
            return cliques_state.blank(len(tasks))
        assert isinstance(self.named.matrix, CliqueBlocks)
        return cliques_state.blank_on_graph(self.named.matrix, self.named.graph.order(tasks))

    def parts(self, state: Any, tasks: int, features: int) -> tuple[Array, Array]:
        return cliques_state.both_parts(self.hyper, state, self.plan, tasks, features)

    def explain(self, state: Any, slot: int, indices: Ints) -> Shares:
        return shares.on_cliques(self.hyper, state, slot, indices)

    def distances(self, state: Any, tasks: int, features: int) -> Distances:
        if self.hyper.projection == VARIANCE:
            return distances.of_tables(*self.parts(state, tasks, features), self.mean_of(state, tasks))
        return distances.of_cliques(self.hyper, state, self.plan, tasks, features)


@dataclass(frozen=True)
class OnGraph(_Euclidean):
    """The sum of every task's steps; rows of A^-1 are solved for when their task arrives."""

    plan: Plan = replace(graph.PLAN, check=check_factor)
    kernels: Kernels = Kernels(graph.predict, graph.learn, graph.predict_one, graph.learn_one)

    @property
    def prepares(self) -> bool:
        return True

    @property
    def matrix(self) -> General:
        assert self.named is not None
        assert isinstance(self.named.matrix, General)
        return self.named.matrix

    def init(self, tasks: Sequence[Name]) -> graph.Sums:
        assert self.named is not None
        return graph.blank_on_graph(self.matrix, self.named.graph.order(tasks))

    def prepare(self, state: Any, needed: Ints) -> Any:
        return graph.with_rows(state, self.matrix, needed)

    def parts(self, state: Any, tasks: int, features: int) -> tuple[Array, Array]:
        return graph.both_parts(self.hyper, state, self.matrix, features)

    def explain(self, state: Any, slot: int, indices: Ints) -> Shares:
        return shares.on_graph(self.hyper, state, slot, indices)

    def distances(self, state: Any, tasks: int, features: int) -> Distances:
        return distances.of_graph(self.hyper, state, self.matrix, self.mean_of(state, tasks), features)


@dataclass(frozen=True)
class OnTable(_Euclidean):
    """All models in a table, for projections that move every task."""

    kernels: Kernels = Kernels(table.predict, table.learn, table.predict_one, table.learn_one)

    @cached_property
    def plan(self) -> Plan:
        return replace(table.PLAN, check=partial(check_table, self.hyper), forget=partial(from_table, self.hyper))

    def init(self, tasks: Sequence[Name]) -> table.Models:
        if self.named is None:
            return table.blank(len(tasks))
        return table.blank_on_graph(self.named.matrix, self.named.graph.order(tasks))

    def parts(self, state: Any, tasks: int, features: int) -> tuple[Array, Array]:
        return table.both_parts(state, tasks, features)

    def explain(self, state: Any, slot: int, indices: Ints) -> Shares:
        return shares.on_models(self.hyper, state, slot, indices)

    def distances(self, state: Any, tasks: int, features: int) -> Distances:
        return distances.of_tables(*self.parts(state, tasks, features), self.mean_of(state, tasks))


def euclidean_form(rule: Rule, named: Named | None) -> OnCliques | OnGraph | OnTable:
    """The cheapest form of gradient descent; `named` is None on the clique of all tasks that occur."""
    if rule.projection in (BALL, V_SIGMA):
        return OnTable(rule, named)
    if named is not None and isinstance(named.matrix, General):
        return OnGraph(rule, named)
    return OnCliques(rule, named)


@dataclass(frozen=True)
class OnDuals(_Defaults):
    """Dual vectors with a mirror map."""

    hyper: MirrorRule
    named: Named | None
    kernels: Kernels = Kernels(
        mirror_descent.predict, mirror_descent.learn, mirror_descent.predict_one, mirror_descent.learn_one
    )

    @property
    def least_features(self) -> int:
        """A simplex has two corners at least."""
        return 0 if self.hyper.kind == P_NORM else 2

    @cached_property
    def plan(self) -> Plan:
        return replace(dual_table.PLAN, check=partial(check_dual, self.hyper), forget=partial(from_duals, self.hyper))

    def init(self, tasks: Sequence[Name]) -> dual_table.Table:
        if self.named is None:
            return dual_table.blank(len(tasks))
        order = self.named.graph.order(tasks)
        return dual_table.blank(len(tasks), self.named.matrix.dense(-0.5)[np.ix_(order, order)], order)

    def admit(self, state: Any, features: int) -> None:
        dual_growth.admit(self.hyper, state, features)

    def parts(self, state: Any, tasks: int, features: int) -> tuple[Array, Array]:
        own, shared = dual_table.both_parts(self.hyper, state, tasks, features)
        share = self._own_share(state)
        return (own, shared) if share is None else (share[:, None] * own, shared + (1.0 - share[:, None]) * own)

    def explain(self, state: Any, slot: int, indices: Ints) -> Shares:
        found, share = shares.on_duals(self.hyper, state, slot, indices), self._own_share(state)
        if share is None or slot >= len(share):
            return found
        others = (1.0 - share[slot]) * found.own + found.neighbours.sum(axis=0)
        return shares.two(share[slot] * found.own, others)

    def _own_share(self, state: Any) -> Array | None:
        """On disjoint cliques A^{-1/2}_ii = own + shared, of which `own` is the task's: own / (own + shared)."""
        if self.named is None or not isinstance(self.named.matrix, CliqueBlocks):
            return None
        own, shared = self.named.matrix.coefficients(-0.5)
        return np.asarray((own / (own + shared))[self.named.matrix.components[state.order]])

    def distances(self, state: Any, tasks: int, features: int) -> Distances:
        return distances.of_tables(*self.parts(state, tasks, features), _mean_of(self.named, state, tasks))

    def clique_b(self, N: int) -> float:
        return float(root_of(self.hyper, N)[0])


def _mean_of(named: Named | None, state: Any, tasks: int) -> Mean:
    """The mean of a task's neighbours: of all others, of its cluster, or by the edges of a graph."""
    if named is None:
        return mean_of_clique(np.zeros(tasks, np.int64))
    if isinstance(named.matrix, CliqueBlocks):
        return mean_of_clique(named.matrix.components[state.order])
    return mean_on_graph(named.graph, state.order)
