"""What the learners of multitask mirror descent share: parameters, the interaction matrix, and what a model reads.

Cesa-Bianchi, Laforgue, Paudice and Pontil (2022). A learner's interaction matrix A comes from `b` (a clique of all
tasks, however many arrive) or from `graph`; how its models are kept is up to its form (`forms`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from weft.compiled.arrays import Array, Ints
from weft.graphs import reading as graphs
from weft.graphs.interaction import General, clique, interaction
from weft.graphs.reading import Graph
from weft.learner import Distances, Hooks, Kernels, Shares, Target, Traits
from weft.learners.descent.forms import Form, Named
from weft.learners.descent.mirror_rule import MirrorRule
from weft.learners.descent.rule import BALL, MAHALANOBIS, NONE, TRACE, V_SIGMA, Rule
from weft.learners.parameters import Choice, Parsed, Real, check, number, parameter
from weft.maths.losses import CLASSIFY, CODES
from weft.names import Name
from weft.storage.state import Plan

LOSSES = ("logistic", "hinge", "square", "absolute", "epsilon-insensitive")
DEFAULT_D, DEFAULT_SIGMA = 1.0, 0.3
"""What is assumed of the models when nothing is given."""

SIGMA = "how much tasks differ, a standard deviation"
LIPSCHITZ_PARAMETER = parameter(
    None, "bound on the dual norm of every gradient; None: the largest so far", Real(above=0, optional=True)
)
HORIZON_PARAMETER = parameter(None, "number of rounds to come; None: unknown", Real(above=0, optional=True))


def _parse_graph(value: Any) -> Graph | None:
    return None if value is None else graphs.parse(value)


@dataclass(frozen=True)
class Descent:
    """Parameters of every learner here, and what follows from them."""

    name: ClassVar[str]
    paper: ClassVar[str] = "Cesa-Bianchi et al. 2022"

    b: float | None = parameter(
        None,
        "how strongly all tasks are tied together: 0 not at all, inf one model; None: by rule, from the number of "
        "tasks or sigma",
        Real(at_least=0, infinite=True, optional=True),
    )
    graph: Graph | None = parameter(
        None,
        "which tasks teach each other; None: all, with strength b",
        Parsed(
            'None, "complete", "none", a list of edges (tuples of names), a list of cliques (lists of names), '
            "a pair (weight matrix, names), or a dict of one of these",
            _parse_graph,
        ),
    )
    graph_strength: float = parameter(
        1.0, "multiplies the Laplacian of a graph given by edges, cliques or weights", Real(above=0)
    )
    loss: str = parameter(
        "logistic",
        "logistic and hinge classify; square, absolute and epsilon-insensitive predict a number",
        Choice(LOSSES),
    )
    epsilon: float = parameter(0.1, "deviations up to this cost nothing (epsilon-insensitive loss)", Real(at_least=0))

    def __post_init__(self) -> None:
        check(self)
        if self.graph is not None and self.b is not None and self.graph.kind != "complete":
            raise ValueError(
                f"{self.name}: b={self.b:g} and graph are both given; b ties all tasks together, "
                "graph_strength belongs to a graph"
            )
        if self.graph_strength != 1.0 and self.graph_kind in (*graphs.WORDS, "matrix"):
            raise ValueError(f"{self.name}: graph_strength multiplies the Laplacian of edges, cliques or weights")
        self._settle()

    def _settle(self) -> None:
        """Refuse what does not fit together."""

    def need(self, names: tuple[str, ...], what: str) -> None:
        """Refuse if one of these parameters is not given."""
        missing = [name for name in names if getattr(self, name) is None]
        if missing:
            raise ValueError(f"{self.name}: {what} needs {', '.join(names)}; missing: {', '.join(missing)}")

    # --- the interaction matrix ---

    @property
    def graph_kind(self) -> str:
        return "complete" if self.graph is None else self.graph.kind

    @cached_property
    def named(self) -> Named | None:
        """The graph between named tasks, or None: one clique of all tasks that occur."""
        if self.graph is None or self.graph.grows:
            return None
        return Named(self.graph, interaction(self.graph, self.graph.names, strength=self.graph_strength))

    @property
    def given_b(self) -> float:
        """b of the clique, NaN if it follows from the number of tasks."""
        if self.named is not None or self.graph_kind == "none":
            return 0.0
        return math.nan if self.b is None else self.b

    def clique_b(self, N: int) -> float:
        """b of the clique of N tasks."""
        return self.form.clique_b(N)

    def largest_norm(self, D: float, sigma: float) -> float:
        """The most that |u|_A can be on the graph, for |u_i| <= D and Var(u) <= sigma^2 D^2.

        |u|_A^2 = sum |u_i|^2 + u^T (A - I) u. A Laplacian A - I does not see the mean, so that the second term is at
        most its largest eigenvalue times (N-1) Var(u); on a clique that eigenvalue is b.
        """
        assert self.named is not None
        A = self.named.matrix
        if self.graph_kind == "matrix":
            return D * math.sqrt(A.largest_eigenvalue * A.N)
        return D * math.sqrt(A.N + (A.largest_eigenvalue - 1.0) * (A.N - 1) * sigma * sigma)

    def mirror_rule(
        self, kind: int, rate: int, *, simplex_b: bool = False, ball: bool = False, **numbers: float | None
    ) -> MirrorRule:
        """The rule of mirror descent with this map (`mirror_map`), and with those numbers that are given."""
        return MirrorRule(
            loss=CODES[self.loss],
            epsilon=self.epsilon,
            kind=kind,
            rate=rate,
            b=self.given_b,
            simplex_b=simplex_b,
            ball=ball,
            graph=self.named is not None,
            **{name: number(value) for name, value in numbers.items()},
        )

    # --- for the model ---

    @cached_property
    def form(self) -> Form:
        """How the models are kept."""
        raise NotImplementedError

    @property
    def hyper(self) -> Any:
        return self.form.hyper

    @property
    def plan(self) -> Plan:
        return self.form.plan

    @property
    def kernels(self) -> Kernels:
        return self.form.kernels

    @property
    def traits(self) -> Traits:
        rule, projection = self.form.hyper, NONE
        if isinstance(rule, Rule):
            projection = rule.projection
        elif rule.ball:
            projection = MAHALANOBIS
        return Traits(
            task_names=() if self.graph is None else self.graph.names,
            counts_tasks=True,
            least_features=self.form.least_features,
            projects=projection == MAHALANOBIS,
            iterates=projection in (BALL, V_SIGMA),
            conservative=self.loss != "logistic",
            blas=self.named is not None and isinstance(self.named.matrix, General),
            takes_weights=True,  # every step is along a gradient, which the weight multiplies
            trace=TRACE,
        )

    @property
    def hooks(self) -> Hooks:
        return Hooks(admit=self.admit, prepare=self.prepare) if self.form.prepares else Hooks(admit=self.admit)

    @property
    def target(self) -> Target:
        return "binary" if self.loss in CLASSIFY else "real"

    @property
    def tally_loss(self) -> tuple[int, float]:
        return CODES[self.loss], self.epsilon

    def init(self, tasks: Sequence[Name] = ()) -> Any:
        return self.form.init(tasks)

    def prepare(self, state: Any, needed: Ints) -> Any:
        """The state with what its form computes for a task at its first event."""
        return self.form.prepare(state, needed)

    def admit(self, state: Any, features: int) -> None:
        """Features 0 .. features-1 count from now on, whether or not they hold anything."""
        self.form.admit(state, features)

    def parts(self, state: Any, tasks: int, features: int) -> tuple[Array, Array]:
        """What a task has for itself, and what it has from others, (tasks, features) each; models are their sums."""
        return self.form.parts(state, tasks, features)

    def weights(self, state: Any, tasks: int, features: int) -> Array:
        own, shared = self.parts(state, tasks, features)
        return own + shared

    def explain(self, state: Any, slot: int, tasks: int, indices: Ints) -> Shares:
        """Where the weights of a task come from, for some features."""
        return self.form.explain(state, slot, indices)

    def distances(self, state: Any, tasks: int, features: int) -> Distances:
        """How far every task is from those that it is tied to."""
        return self.form.distances(state, tasks, features)

    def relations(self, state: Any, tasks: int) -> Array:
        """A^-1: how much of a step of one task moves another."""
        if self.named is not None:
            return self.named.matrix.dense(-1.0)[np.ix_(state.order, state.order)]
        return clique(tasks, self.clique_b(tasks)).dense(-1.0) if tasks else np.zeros((0, 0))
