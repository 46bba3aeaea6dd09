r"""Multitask Perceptrons with a fixed interaction matrix: a mistake of one task moves all that it is tied to.

Cavallanti, Cesa-Bianchi and Gentile (2010), Linear algorithms for online multitask classification; FOML in the tables
of Murugesan et al. (2016). On a mistake of task i, for all tasks j,

    w_j += C y (A^-1)_ji x,     A^-1 = (N I + b 11') / ((1 + b) N)     on the clique of all N tasks

>>> import weft
>>> model = weft.Model("foml", b=1.0, tasks=["ann", "bob"])
>>> model.learn_one({"free": 1.0}, 1, "ann"), model.learn_one({"free": 1.0}, 1, "bob")
(0.0, 0.25)
>>> model.weights().tolist(), model.relations().tolist()
([[0.75], [0.25]], [[0.75, 0.25], [0.25, 0.75]])

Interpretation. b is N unless it is given, so that A^-1 = (I + 11') / (N + 1), the complete graph: then it is
`mt-perceptron` with the linear kernel. b = 0 makes the tasks independent, b = inf one model. With tasks that turn up
later, what every task has put in is spread anew, by the A^-1 of now. `condition="margin"` learns on margins below 1
instead of mistakes. In a round of several rows all are scored first, and every row then looks at its margin again. A
row of zeros changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from weft.compiled.arrays import Array, Ints
from weft.graphs import reading as graphs
from weft.graphs.interaction import CliqueBlocks, General, interaction
from weft.graphs.reading import Graph
from weft.learner import Hooks, Kernels, Shares, Target, Traits
from weft.learners.own_parts import shares, weight_matrix
from weft.learners.parameters import Choice, Parsed, Real, check, number, parameter
from weft.learners.relations import foml_parts
from weft.learners.relations import rounds as relation_rounds
from weft.learners.relations.relation_steps import FIXED
from weft.maths.losses import HINGE
from weft.names import Name
from weft.storage.pairs import read_row
from weft.storage.saving import live
from weft.storage.state import Plan


@dataclass(frozen=True)
class Foml:
    """Multitask Perceptrons with fixed relations: a mistake of one task moves all that it is tied to.

    Take it when you know the relations and want the simplest rule that uses them.

    `w_j += C y A^-1_ji x` for every task j on a mistake of task i. Defaults: the complete graph, which is
    `mt-perceptron` with the linear kernel, at O(non-zeros) per event.
    """

    name: ClassVar[str] = "foml"
    paper: ClassVar[str] = "Cavallanti et al. 2010"
    target: ClassVar[Target] = "binary"
    tally_loss: ClassVar[tuple[int, float]] = (HINGE, 0.0)
    hooks: ClassVar[Hooks] = Hooks()

    b: float | None = parameter(
        None,
        "how strongly all tasks are tied together: 0 not at all, inf one model; None: the number of tasks",
        Real(at_least=0, infinite=True, optional=True),
    )
    graph: Graph | None = parameter(
        None,
        "which tasks teach each other; None: all, with strength b",
        Parsed(
            'None, "complete", "none", a list of edges (tuples of names), a list of cliques (lists of names), '
            "a pair (weight matrix, names), or a dict of one of these",
            lambda value: None if value is None else graphs.parse(value),
        ),
    )
    condition: str = parameter(
        "mistake", "when a task learns: on mistakes, or on margins below 1", Choice(relation_rounds.CONDITIONS)
    )
    C: float = parameter(1.0, "size of a step", Real(above=0))

    def __post_init__(self) -> None:
        check(self)
        if self.graph is not None and self.b is not None and self.graph.kind != "complete":
            raise ValueError(f"{self.name}: b={self.b:g} and graph are both given; b ties all tasks together")

    # --- the interaction matrix ---

    @property
    def traits(self) -> Traits:
        return Traits(
            task_names=() if self.graph is None else self.graph.names,
            counts_tasks=True,
            mistake_driven=self.condition == "mistake",
            blas=isinstance(self.matrix, General),
        )

    @cached_property
    def matrix(self) -> CliqueBlocks | General | None:
        """A of a graph between named tasks; None: a clique of whoever turns up."""
        if self.graph is None or self.graph.grows:
            return None
        return interaction(self.graph, self.graph.names)

    @property
    def _by_table(self) -> bool:
        """Does A^-1 of a general graph move all weights in a table?"""
        return isinstance(self.matrix, General)

    def relations(self, state: Any, tasks: int) -> Array:
        """A^-1."""
        if self._by_table:
            return np.array(state.inverse)
        factors = [foml_parts.factors(self.hyper, state, k) for k in range(tasks)]
        label = state.cliques.label if self.matrix is not None else np.zeros(tasks, np.int64)
        own, shared = (np.array([pair[at] for pair in factors]) for at in range(2))
        found: Array = np.diag(own) + shared[:, None] * (label[:, None] == label[None, :])
        return found

    # --- what the model needs ---

    @property
    def plan(self) -> Plan:
        if self._by_table:
            return relation_rounds.plan(FIXED)
        return foml_parts.plan(1 if self.matrix is None else int(self.matrix.components.max()) + 1)

    @property
    def hyper(self) -> Any:
        """The parameters as compiled code takes them."""
        condition = relation_rounds.CONDITIONS.index(self.condition)
        if self._by_table:
            return relation_rounds.Hyper(condition, self.C, FIXED, 0.0, 0.0)
        b = 0.0 if self.graph is not None and self.graph.kind == "none" else number(self.b)
        return foml_parts.Hyper(condition, self.C, b, self.matrix is not None)

    @property
    def kernels(self) -> Kernels:
        return relation_rounds.KERNELS if self._by_table else foml_parts.KERNELS

    def init(self, tasks: Sequence[Name] = ()) -> Any:
        if self.matrix is None:
            return foml_parts.blank(len(tasks))
        assert self.graph is not None
        order = self.graph.order(tasks)
        if isinstance(self.matrix, General):
            return relation_rounds.blank_on_graph(self.matrix.dense(-1.0), order)
        return foml_parts.blank_on_graph(self.matrix, order)

    def weights(self, state: Any, tasks: int, features: int) -> Array:
        if self._by_table:
            return weight_matrix(state, self.plan, tasks, features)
        parts, own = live(state, self.plan, tasks, features), np.zeros((tasks, features))
        own[parts["pairs"][:, 0], parts["pairs"][:, 1]] = parts["own"]
        for k in range(tasks):
            alone, together = foml_parts.factors(self.hyper, state, k)
            c = state.cliques.label[k] if self.matrix is not None else 0
            own[k] = alone * own[k] + together * parts["shared"][c]
        return own

    def explain(self, state: Any, slot: int, tasks: int, indices: Ints) -> Shares:
        if self._by_table:
            return shares(state, slot, indices)
        nobody = np.zeros(0, np.int64), np.zeros((0, len(indices)))
        if self.matrix is not None and slot >= len(state.cliques.label):
            return Shares(np.zeros(len(indices)), np.zeros(len(indices)), *nobody)
        alone, together = foml_parts.factors(self.hyper, state, slot)
        c = state.cliques.label[slot] if self.matrix is not None else 0
        own = read_row(state.pairs, state.own, slot, indices)
        return Shares(alone * own, together * state.shared[c, indices], *nobody)
